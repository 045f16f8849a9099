// A client for the cluster that a command was pointed at: by `--kubeconfig` and `--context`, by the account of the pod it
// runs in, or by the files kubectl reads, in that order.

import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import type { Client } from '../kube/client.ts'
import type { Discovery } from '../kube/discovery.ts'
import { type ConnectionChoice, findConnection, KubeconfigError } from '../kube/kubeconfig.ts'
import { speak } from '../kube/speak.ts'
import type { Wire } from '../kube/wire.ts'
import { createUndiciWire } from '../kube/wire-undici.ts'
import { realClock } from '../runtime/clock.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { exitCodes, Failure, isErrno } from './failure.ts'

export interface Connected {
  readonly client: Client
  readonly wire: Wire
  readonly discovery: Discovery
  /** `https://10.96.0.1:443` */
  readonly server: string
  /** The namespace of the context, or of the pod. */
  readonly namespace: string
  /** Drops every connection. */
  close(): Promise<void>
}

/** Nothing is asked yet: a server that is away is met by the first request. */
export function connect(choice: ConnectionChoice, name: string, metrics?: Metrics): Connected {
  try {
    const connection = findConnection({ env: process.env, home: homedir(), readFile }, choice)
    const clock = realClock
    const { wire, close } = createUndiciWire({ connection, clock, readFile })
    const { client, discovery } = speak({ wire, clock, name, metrics })
    return { client, wire, discovery, server: connection.server, namespace: connection.namespace, close }
  } catch (error) {
    throw toFailure(error, 'Name a kubeconfig with --kubeconfig, or one of its contexts with --context.')
  }
}

/** What is wrong with a kubeconfig, without what is in it: it holds tokens and keys. */
export function toFailure(cause: unknown, advice: string): unknown {
  // Codes of Node's own checks tell of a mistake in the program.
  const isOfSystem = isErrno(cause) && !String(cause.code).startsWith('ERR_')
  if (!(cause instanceof KubeconfigError) && !isOfSystem) return cause
  return new Failure(exitCodes.environment, cause.message, advice, { cause })
}

/** Undefined where there is no such file. */
export function readFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}
