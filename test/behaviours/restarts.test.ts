import { describe, expect, test } from 'vitest'
import type { WireRequest } from '../../src/kube/wire.ts'
import { aClaim, aCluster, aPool } from './builders.ts'
import { claims, reports } from './kinds.ts'
import {
  addressOf,
  aServedClaim,
  holdsBecome,
  holdsOf,
  isGone,
  isServed,
  ownWrites,
  reportIsGone,
  saysWhy,
} from './promises.ts'
import { aWorld, type Stored, type World } from './world.ts'

async function manyClaims(world: World, pool: Stored, count: number): Promise<void> {
  for (let made = 0; made < count; made += 50) {
    await Promise.all(Array.from({ length: 50 }, () => world.create(aClaim().on(pool))))
  }
}

/** Which claim has which address, by the claims' own status. */
async function served(world: World): Promise<Map<string, string>> {
  const shown = new Map((await world.list(reports)).map(({ metadata, spec }) => [metadata.name ?? '', spec.address]))
  const bound = (await world.list(claims)).filter(({ status }) => status?.addressRef !== undefined)
  return new Map(bound.map(({ metadata }) => [metadata.name ?? '', shown.get(metadata.name ?? '') ?? '']))
}

async function allAreServed(world: World, pool: Stored, count: number): Promise<Map<string, string>> {
  await world.eventually(async () => expect((await served(world)).size).toBe(count), 60_000)
  const holders = await served(world)
  expect(new Set(holders.values()).size).toBe(count)
  await world.eventually(async () => expect(await holdsOf(world, pool)).toHaveLength(count))
  return holders
}

const wide = () => aPool().withAddresses('10.8.0.0/22').withPrefix(22)

describe('Many claims', () => {
  test('are each served once although the process is killed in the middle', async () => {
    const world = await aWorld()
    const pool = await world.create(wide())
    let reported = 0
    world.desk.killBefore(({ method, path }) => method === 'POST' && path.includes('/ipaddresses') && ++reported > 40)
    await manyClaims(world, pool, 100)
    await world.eventually(() => expect(reported).toBeGreaterThan(40))
    await world.desk.kill()
    const before = await served(world)
    expect(before.size).toBeLessThan(100)
    await world.desk.start()
    const after = await allAreServed(world, pool, 100)
    for (const [claim, address] of before) expect(after.get(claim)).toBe(address)
  })

  test('are each served once although two processes think that they are alone', async () => {
    const world = await aWorld()
    const pool = await world.create(wide())
    await world.anotherDesk()
    await manyClaims(world, pool, 100)
    await allAreServed(world, pool, 100)
  })

  test('are each served once although watches are seconds late', async () => {
    const world = await aWorld()
    const pool = await world.create(wide())
    const other = await world.anotherDesk()
    other.watchDelayMs = 3_000
    world.desk.watchDelayMs = 2_000
    await manyClaims(world, pool, 50)
    await world.pass(2_500)
    const [first, second] = await world.list(claims)
    for (const claim of [first, second]) if (claim !== undefined) await world.delete(claim)
    await manyClaims(world, pool, 50)
    await allAreServed(world, pool, 98)
  })
})

const bindingWrites: readonly (readonly [string, (request: WireRequest) => boolean])[] = [
  ['its address is held', ({ method, path }) => method === 'POST' && path.includes('/holds')],
  ['the choice is stored', ({ method, path }) => method === 'PATCH' && /ipaddressclaims\/[^/]+\?/.test(path)],
  ['it is reported', ({ method, path }) => method === 'POST' && path.includes('/ipaddresses')],
  ['the claim says so', ({ method, path }) => method === 'PATCH' && /ipaddressclaims\/[^/]+\/status/.test(path)],
]

describe('A process that is killed', () => {
  test.each(bindingWrites)('just before %s finishes after its restart, with the same address', async (_, isMoment) => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    let isReached = false
    world.desk.killBefore(request => {
      isReached ||= isMoment(request)
      return isReached
    })
    const claim = await world.create(aClaim().on(pool))
    await world.eventually(() => expect(isReached).toBe(true))
    await world.desk.kill()
    const shown = await world.report(claim)
    // The claim that is served first after the restart would get the address, if it were free.
    const rival = await world.create(aClaim().named('a-rival').on(pool))
    await world.desk.start()
    await isServed(world, claim)
    await isServed(world, rival)
    if (shown !== undefined) expect((await world.report(claim))?.metadata.uid).toBe(shown.metadata.uid)
    expect(await holdsOf(world, pool)).toHaveLength(2)
    expect(await addressOf(world, claim)).not.toBe(await addressOf(world, rival))
  })

  const releaseWrites: readonly (readonly [string, (request: WireRequest) => boolean])[] = [
    ['the report is freed', ({ method, path }) => method === 'PATCH' && path.includes('/ipaddresses/')],
    ['the report is deleted', ({ method, path }) => method === 'DELETE' && path.includes('/ipaddresses/')],
    ['the hold is released', ({ method, path }) => method === 'PATCH' && path.includes('/holds/')],
    ['the hold is deleted', ({ method, path }) => method === 'DELETE' && path.includes('/holds/')],
    ['the claim may go', ({ method, path }) => method === 'PATCH' && path.includes('/ipaddressclaims/')],
  ]

  test.each(releaseWrites)('just before %s lets everything go after its restart', async (_, isMoment) => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const claim = await aServedClaim(world, aClaim().on(pool))
    let isReached = false
    world.desk.killBefore(request => {
      isReached ||= isMoment(request)
      return isReached
    })
    await world.delete(claim)
    await world.eventually(() => expect(isReached).toBe(true))
    await world.desk.kill()
    await world.desk.start()
    await isGone(world, claim)
    await reportIsGone(world, claim)
    await holdsBecome(world, pool, 0)
    await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
  })

  test('learns after its restart of claims that were deleted meanwhile', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const claim = await aServedClaim(world, aClaim().on(pool))
    await world.desk.kill()
    await world.delete(claim)
    await world.desk.start()
    await isGone(world, claim)
    await holdsBecome(world, pool, 0)
    await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
  })
})

describe('Nothing is written', () => {
  async function aWorldAtRest(): Promise<World> {
    const world = await aWorld()
    const cluster = aCluster()
    await world.create(cluster)
    const pool = await world.create(
      aPool().withAddresses('10.0.1.10-10.0.1.14').with({ addressReuseGracePeriodSeconds: 3600 }),
    )
    for (let i = 0; i < 4; i++) await aServedClaim(world, aClaim().on(pool).forCluster(cluster.name))
    const resting = await aServedClaim(world, aClaim().on(pool))
    await world.delete(resting)
    await isGone(world, resting)
    const waiting = await world.create(aClaim().on(pool))
    await saysWhy(world, waiting, 'PoolExhausted')
    await saysWhy(world, await world.create(aClaim().on(aPool())), 'PoolNotReady')
    await world.create(aClaim().on(pool).paused())
    await world.create(aClaim().on(pool).forCluster('nowhere'))
    await world.idle(5_000)
    return world
  }

  test('by a world at rest', async () => {
    const world = await aWorldAtRest()
    const before = ownWrites(world).length
    await world.idle(60_000)
    expect(ownWrites(world).slice(before)).toEqual([])
  })

  test('by a restart, which looks at everything once', async () => {
    const world = await aWorldAtRest()
    await world.desk.stop()
    const before = ownWrites(world).length
    await world.desk.start()
    await world.idle(10_000)
    expect(ownWrites(world).slice(before)).toEqual([])
  })

  test('when watches end and begin again', async () => {
    const world = await aWorldAtRest()
    const before = ownWrites(world).length
    world.desk.endWatches()
    await world.idle(10_000)
    expect(ownWrites(world).slice(before)).toEqual([])
  })
})
