// How fast the four writes of a binding can be sent at all: by the same client, through the same functions, by so many at once,
// without anybody deciding or watching anything.

import { setCondition } from '../src/api/condition.ts'
import { claimReference } from '../src/api/ip-address-claim.ts'
import { createReport, sayStatus, storeChoice } from '../src/controllers/capi/steps.ts'
import { createCaches } from '../src/controllers/capi/world.ts'
import { takeHold } from '../src/controllers/hold/steps.ts'
import { pools } from '../src/controllers/kinds.ts'
import { claimOf, poolOf } from '../src/controllers/parsed.ts'
import { parseIP } from '../src/ip/address.ts'
import { isMalformed, type Malformed } from '../src/ip/malformed.ts'
import type { KubeObject } from '../src/kube/object.ts'
import { timestamp } from '../src/kube/timestamp.ts'
import { realClock } from '../src/runtime/clock.ts'
import { CpuOfAll, createClaim, createPool, inParallel, namespace, type Side } from './claims-side.ts'

/** Bindings per second. Nobody serves the pool meanwhile. */
export async function bareRate(side: Side, pool: string, count: number, clients: number): Promise<number> {
  const { client } = side
  const clock = realClock
  const octet = 160 + barePools++
  await createPool(side, pool, `10.${octet}.0.0/16`, 16)
  const kind = pools.find(({ kind }) => kind === 'InClusterIPPool')
  const stored = kind && (await client.get(kind, { name: pool, namespace }))
  const world = { client, clock, caches: createCaches() }
  const serving = must(poolOf(stored as KubeObject))
  const names = Array.from({ length: count }, (_, i) => `${pool}-${i}`)
  const made: KubeObject[] = []
  await inParallel(names, 64, async name => made.push(await createClaim(side, name, pool)))
  const cpu = new CpuOfAll(side)
  const started = performance.now()
  await inParallel([...made.entries()], clients, async ([i, object]) => {
    const claim = must(claimOf(object))
    const address = `10.${octet}.${(i + 1) >> 8}.${(i + 1) & 255}`
    const spec = {
      space: serving.space,
      ip: must(parseIP(address)),
      bits: serving.bits,
      pool: serving.identity,
      claim: claimReference(claim),
      owner: undefined,
    }
    await takeHold(world, spec)
    const network = { prefix: serving.prefix, gateway: serving.gatewayText }
    const chosen = must(claimOf(await storeChoice(world, claim, address, network)))
    await createReport(world, chosen, serving, address)
    const fact = {
      type: 'Ready',
      status: 'True',
      reason: 'AddressAllocated',
      message: `${address} is allocated`,
    } as const
    const conditions = setCondition([], { ...fact, observedGeneration: 1 }, timestamp(clock))
    await sayStatus(world, chosen, { addressName: claim.metadata.name, conditions })
  })
  const rate = made.length / ((performance.now() - started) / 1000)
  console.error(`  ${rate.toFixed(1)} per second; processor time per claim: ${cpu.per(made.length)}`)
  return rate
}

let barePools = 0

function must<T extends object>(value: T | Malformed): T {
  if (isMalformed(value)) throw new Error(value.malformed)
  return value
}
