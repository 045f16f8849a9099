// How fast the four writes of a binding can be sent at all: by the same client, through the same functions, by so many at once,
// without any process that decides or watches.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { buildProgram } from '../scripts/build/program.ts'
import { setCondition } from '../src/api/condition.ts'
import { claimReference } from '../src/api/ip-address-claim.ts'
import { componentsOf } from '../src/controllers/assemble.ts'
import { claimOf } from '../src/controllers/capi/parsed.ts'
import { createReport, storeChoice, writeStatus } from '../src/controllers/capi/steps.ts'
import { createCaches } from '../src/controllers/capi/world.ts'
import { desks } from '../src/controllers/desks.ts'
import { takeHold } from '../src/controllers/office/hold/steps.ts'
import { pools } from '../src/controllers/office/kinds.ts'
import { poolOf } from '../src/controllers/office/parsed.ts'
import { parseIP } from '../src/ip/address.ts'
import { isMalformed, type Malformed } from '../src/ip/malformed.ts'
import { type KubeObject, nameOfKind } from '../src/kube/object.ts'
import { timestamp } from '../src/kube/timestamp.ts'
import { realClock } from '../src/runtime/clock.ts'
import { CpuOfAll, createClaim, createPool, inParallel, namespace, type Side } from './claims-side.ts'

/** Bindings per second. No controller serves the pool meanwhile. */
export async function bareRate(side: Side, pool: string, count: number, clients: number): Promise<number> {
  const bind = await writerOf(side, pool)
  const names = Array.from({ length: count }, (_, i) => `${pool}-${i}`)
  const made: KubeObject[] = []
  await inParallel(names, 64, async name => made.push(await createClaim(side, name, pool)))
  const cpu = new CpuOfAll(side)
  const started = performance.now()
  await inParallel([...made.entries()], clients, ([i, object]) => bind(object, i))
  const rate = made.length / ((performance.now() - started) / 1000)
  console.error(`  ${rate.toFixed(1)} per second; processor time per claim: ${cpu.per(made.length)}`)
  return rate
}

/** Measures, each time, the milliseconds of processor time that it takes to read and parse all that the controller lists when it starts. */
export async function bareLists({ cluster }: Side): Promise<() => Promise<number>> {
  const built = join(import.meta.dirname, '..', 'dist', 'bench')
  await buildProgram(built, join(import.meta.dirname, 'lists-bare.ts'))
  const components = componentsOf(
    desks,
    desks.map(({ name }) => name),
  )
  const kinds = new Map(components.flatMap(of => of.kinds.map(({ kind }) => [nameOfKind(kind), kind])))
  return async () => {
    const args = [join(built, 'main.js'), cluster.kubeconfig, JSON.stringify([...kinds.values()])]
    return Number((await promisify(execFile)(process.execPath, args)).stdout)
  }
}

/** Milliseconds until each claim is seen bound, one at a time, with as long a rest between two as there is otherwise. */
export async function bareTimes(side: Side, pool: string, count: number, restMs: number): Promise<number[]> {
  const bind = await writerOf(side, pool)
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    const name = `${pool}-${i}`
    const startedMs = performance.now()
    await bind(await createClaim(side, name, pool), i)
    await side.bound.wait(name, 60_000)
    times.push((side.bound.atMs(name) ?? Number.NaN) - startedMs)
    await delay(restMs)
  }
  return times
}

/** A pool of its own, and the four writes that bind its n-th claim. */
async function writerOf(side: Side, name: string): Promise<(claim: KubeObject, n: number) => Promise<void>> {
  const { client } = side
  const clock = realClock
  const octet = 160 + barePools++
  await createPool(side, name, `10.${octet}.0.0/16`, 16)
  const kind = pools.find(({ kind }) => kind === 'InClusterIPPool')
  const stored = kind && (await client.get(kind, { name, namespace }))
  const world = { client, clock, caches: createCaches(), note: () => {} }
  const pool = must(poolOf(stored as KubeObject))
  const network = { prefix: pool.prefix, gateway: pool.gatewayText }
  return async (object, n) => {
    const claim = must(claimOf(object))
    const address = `10.${octet}.${(n + 1) >> 8}.${(n + 1) & 255}`
    const spec = {
      space: pool.space,
      ip: must(parseIP(address)),
      bits: pool.bits,
      pool: pool.identity,
      claim: claimReference(claim, undefined),
      owner: undefined,
    }
    await takeHold(world, spec)
    const chosen = must(claimOf(await storeChoice(world, claim, address, network)))
    await createReport(world, chosen, pool, { address, ...network })
    const message = `${address} is allocated`
    const fact = { type: 'Ready', status: 'True', reason: 'AddressAllocated', message } as const
    const conditions = setCondition([], { ...fact, observedGeneration: 1 }, timestamp(clock))
    await writeStatus(world, chosen, { addressName: claim.metadata.name, conditions })
  }
}

let barePools = 0

function must<T extends object>(value: T | Malformed): T {
  if (isMalformed(value)) throw new Error(value.malformed)
  return value
}
