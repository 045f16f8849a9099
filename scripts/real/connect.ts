// A client of a server that runs by itself, as tests and benchmarks use it: the product's own, found by a kubeconfig.

import { homedir } from 'node:os'
import { readFile } from '../../src/cli/connect.ts'
import type { Client } from '../../src/kube/client.ts'
import type { Discovery } from '../../src/kube/discovery.ts'
import { findConnection } from '../../src/kube/kubeconfig.ts'
import { speak } from '../../src/kube/speak.ts'
import type { Wire } from '../../src/kube/wire.ts'
import { createUndiciWire } from '../../src/kube/wire-undici.ts'
import { type Clock, realClock } from '../../src/runtime/clock.ts'

export interface Connected {
  readonly client: Client
  readonly discovery: Discovery
  readonly wire: Wire
  readonly clock: Clock
  readonly close: () => Promise<void>
}

export function connect(kubeconfig: string, name = 'tester'): Connected {
  const clock = realClock
  const connection = findConnection({ env: {}, home: homedir(), readFile }, { kubeconfig })
  const { wire, close } = createUndiciWire({ connection, clock, readFile })
  const { client, discovery } = speak({ wire, clock, name, absentMs: 0 })
  return { client, discovery, wire, clock, close }
}
