// What very many claims of one namespace cost another. Counted in claims that come first, not in time: on a busy machine all is
// slow.

import { describe, expect, test } from 'vitest'
import { aClaim, aClusterAddressPool, anAddressPool } from './builders.ts'
import { events } from './kinds.ts'
import { aServedClaim, eventsAbout, holdsOf, isGone, isServed, readyOf, saysWhy } from './promises.ts'
import { aWorld, type Stored, type World } from './world.ts'

const flood = 200
/** Claims that are worked on at once: so many may be done by the time that the one which began beside them is. */
const atOnce = 64
/** The same of pools. */
const poolsAtOnce = 8

/** How many claims of a namespace something was done about before anything was done about this one. Every write is logged. */
function countBefore({ desk }: World, { metadata }: Pick<Stored, 'metadata'>, namespace: string): number {
  const own = desk.log.findIndex(line => line.claim === metadata.name && line.namespace === metadata.namespace)
  expect(own).toBeGreaterThanOrEqual(0)
  const before = desk.log.slice(0, own).filter(line => line.namespace === namespace && line.claim !== undefined)
  return new Set(before.map(({ claim }) => claim)).size
}

/** Not all at once, on a server that has other users. What is made is deleted too: later tests use the same server. */
async function each<T>(things: readonly T[], act: (thing: T) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < things.length; at += 50) await Promise.all(things.slice(at, at + 50).map(act))
}

/** Another hold like this one, of a claim that never was. */
function aStray(hold: Stored, address: string, namespace: string, name: string): Stored {
  const { uid: _, resourceVersion: __, ...metadata } = hold.metadata
  const [was, is] = [hold.spec.address, address].map(text => text.replaceAll('.', '-'))
  const spec = { ...hold.spec, address, claimRef: { ...hold.spec.claimRef, namespace, name, uid: name } }
  return { ...hold, metadata: { ...metadata, name: metadata.name?.replace(was, is) ?? '' }, spec }
}

describe('A namespace that makes very many claims at once', () => {
  test.each([
    ['on the same pool', true],
    ['on pools that do not exist, each on another', false],
  ])('%s, holds up the claim of another by few of its own', async (_, isSame) => {
    const world = await aWorld()
    const pool = await world.create(aClusterAddressPool().withAddresses('10.16.0.0/22').withPrefix(22))
    await aServedClaim(world, aClaim().on(pool))
    const crowded = await world.anotherNamespace()
    await world.desk.stop()
    const claims = Array.from({ length: flood }, () => {
      const claim = aClaim().in(crowded)
      return claim.on(isSame ? pool : aClusterAddressPool())
    })
    await each(claims, claim => world.create(claim))
    // Ages are told in seconds.
    await world.pass(1_100)
    const late = await world.create(aClaim().on(pool))
    await world.desk.start()
    await isServed(world, late)
    expect(countBefore(world, late, crowded)).toBeLessThanOrEqual(2 * atOnce)
    await each(claims, claim => world.delete(claim))
  })

  test('gets an answer to each of them in its condition, but not as many events', async () => {
    const world = await aWorld()
    const crowded = await world.anotherNamespace()
    const claims = Array.from({ length: 160 }, () => aClaim().in(crowded).on(aClusterAddressPool()))
    await each(claims, claim => world.create(claim))
    for (const claim of claims) await saysWhy(world, claim, 'PoolNotReady', 'does not exist')
    await world.eventually(() => expect(world.desk.metrics()).toMatch(/mooring_events_dropped_total\{.*capi"\} [1-9]/))
    const recorded = (await world.list(events)).filter(({ metadata }) => metadata.namespace === crowded)
    expect(recorded.length).toBeGreaterThan(0)
    expect(recorded.length).toBeLessThan(claims.length)
    const lines = world.desk.log.filter(({ msg }) => msg === 'events were dropped')
    expect(lines[0]).toMatchObject({ controller: 'mooring.dev/capi', namespace: crowded })
    const late = await world.create(aClaim().on(aClusterAddressPool()))
    await world.eventually(async () => expect(await eventsAbout(world, late.metadata.uid ?? '')).toHaveLength(1))
    await each(claims, claim => world.delete(claim))
  })
})

describe('A namespace that leaves very many holds behind', () => {
  test('holds up the one that another left by few of its own', async () => {
    const world = await aWorld()
    const pool = await world.create(aClusterAddressPool().withAddresses('10.16.0.0/22').withPrefix(22))
    await aServedClaim(world, aClaim().on(pool))
    const [hold] = (await holdsOf(world, pool)) as [Stored]
    const crowded = await world.anotherNamespace()
    await world.desk.stop()
    const strays = Array.from({ length: flood }, (_, i) =>
      aStray(hold, `10.16.${1 + (i >> 8)}.${i & 255}`, crowded, `gone-${i}`),
    )
    await each(strays, stray => world.create(stray))
    // A list comes in the order of names.
    const late = await world.create(aStray(hold, '10.16.3.250', world.home, 'gone'))
    await world.desk.start()
    await isGone(world, late)
    const own = { metadata: { namespace: world.home, name: 'gone' } }
    expect(countBefore(world, own, crowded)).toBeLessThanOrEqual(2 * atOnce)
  })
})

describe('A namespace that makes very many pools at once', () => {
  test('holds up the pool of another by few of its own', async () => {
    const world = await aWorld()
    const crowded = await world.anotherNamespace()
    await world.desk.stop()
    const pools = Array.from({ length: 80 }, () => anAddressPool().in(crowded))
    await each(pools, pool => world.create(pool))
    const late = await world.create(anAddressPool().named('zz-late'))
    const since = world.desk.writes.length
    await world.desk.start()
    await world.eventually(async () => expect(readyOf(await world.get(late))?.status).toBe('True'))
    const writes = world.desk.writes.slice(since)
    const own = writes.findIndex(write => write.includes(`/namespaces/${world.home}/addresspools/zz-late`))
    const before = writes.slice(0, own).filter(write => write.includes(`/namespaces/${crowded}/addresspools/`))
    expect(before.length).toBeLessThanOrEqual(2 * poolsAtOnce)
    await each(pools, pool => world.delete(pool))
  })
})
