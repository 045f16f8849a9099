// A world on a server that runs by itself, found by its kubeconfig: a real cluster, or `mooring up`. The desk is in this
// process; every test has namespaces of its own, and time passes as it does.

import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { inject, onTestFinished } from 'vitest'
import { createClient } from '../../src/kube/client.ts'
import { createDiscovery } from '../../src/kube/discovery.ts'
import { findConnection } from '../../src/kube/kubeconfig.ts'
import { createUndiciWire } from '../../src/kube/wire-undici.ts'
import { pause, realClock } from '../../src/runtime/clock.ts'
import { aDesk } from './desk.ts'
import { kindOf } from './kinds.ts'
import type { Ground } from './world.ts'

/** Undefined: everything in this process. */
export function serverByEnvironment(): 'embedded' | 'cluster' | undefined {
  const name = process.env.MOORING_BEHAVIOURS_SERVER
  return name === 'embedded' || name === 'cluster' ? name : undefined
}

const readFile = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

const run = Math.random().toString(36).slice(2, 7)
let count = 0

export async function aServerWorld(): Promise<Ground> {
  const clock = realClock
  const { kubeconfig } = inject('behaviours')
  const connection = findConnection({ env: {}, home: homedir(), readFile }, { kubeconfig })
  const { wire, close } = createUndiciWire({ connection, clock, readFile })
  const discovery = createDiscovery({ wire, clock, name: 'tester' })
  const client = createClient({ wire, clock, versionOf: discovery.versionOf, name: 'tester' })
  const home = `behaviour-${run}-${++count}`
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: home } }
  await client.create(kindOf(namespace), namespace)
  onTestFinished(close)
  const start = async () => {
    const desk = aDesk(wire, clock)
    await desk.start()
    onTestFinished(() => desk.stop())
    return desk
  }
  const desk = await start()
  return {
    client,
    clock,
    desk,
    anotherDesk: start,
    home,
    pass: milliseconds => pause(clock, Math.max(20, milliseconds)),
  }
}
