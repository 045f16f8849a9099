import { describe, expect, test } from 'vitest'
import {
  aClaim,
  aGlobalPool,
  aGlobalPrefixPool,
  anAddressFor,
  anAddressPool,
  aPool,
  aPrefixPool,
  type PoolDraft,
} from './builders.ts'
import { aServedClaim, isGone, saysWhy } from './promises.ts'
import { aWorld, type Stored, type Thing, type World } from './world.ts'

interface Counts {
  readonly total: number | string
  readonly used: number
  readonly free: number | string
  readonly outOfRange?: number
}

/** Large counts do not fit a number; all are compared as people read them. */
async function counts(world: World, pool: Thing, wanted: Counts): Promise<void> {
  await world.eventually(async () => {
    const said: Record<string, unknown> = (await world.get(pool))?.status?.ipAddresses ?? {}
    const text = (value: unknown) => String(value)
    const { total, used, free, outOfRange } = said
    expect({ total: text(total), used: text(used), free: text(free), outOfRange: text(outOfRange) }).toEqual({
      total: text(wanted.total),
      used: text(wanted.used),
      free: text(wanted.free),
      outOfRange: text(wanted.outOfRange ?? 0),
    })
  })
}

async function says(world: World, pool: Thing, type: string, condition: object): Promise<void> {
  await world.eventually(async () => {
    const said: { type: string }[] = (await world.get(pool))?.status?.conditions ?? []
    expect(said.find(one => one.type === type)).toMatchObject(condition)
  })
}

const both: readonly (readonly [string, () => PoolDraft])[] = [
  ['a pool', aPool],
  ['a global pool', aGlobalPool],
]

describe.each(both)('The status of %s', (_, pool) => {
  test.each([
    ['counts what it offers', ['10.0.0.10-10.0.0.20'], undefined, 0, { total: 11, used: 0, free: 11 }],
    ['counts one that is used', ['10.0.0.10-10.0.0.20'], undefined, 1, { total: 11, used: 1, free: 10 }],
    ['counts two that are used', ['10.0.0.10-10.0.0.20'], undefined, 2, { total: 11, used: 2, free: 9 }],
    ['does not count a gateway in range', ['10.0.0.10-10.0.0.20'], '10.0.0.10', 1, { total: 10, used: 1, free: 9 }],
    ['does not miss a gateway elsewhere', ['10.0.0.10-10.0.0.20'], '10.0.0.1', 1, { total: 11, used: 1, free: 10 }],
    ['does not count the network', ['10.0.0.0-10.0.0.1'], '10.0.0.2', 1, { total: 1, used: 1, free: 0 }],
  ] as const)('counts what is there: it %s', async (_, addresses, gateway, claims, wanted) => {
    const world = await aWorld()
    const draft = pool().withAddresses(...addresses)
    const listed = await world.create(gateway === undefined ? draft : draft.withGateway(gateway))
    for (let i = 0; i < claims; i++) await aServedClaim(world, aClaim().on(listed))
    await counts(world, listed, wanted)
  })

  test('counts the last address of an IPv6 subnet', async () => {
    const world = await aWorld()
    const listed = await world.create(pool().withAddresses('fe80::ffff').withPrefix(120).withGateway('fe80::a'))
    await aServedClaim(world, aClaim().on(listed), 'fe80::ffff')
    await counts(world, listed, { total: 1, used: 1, free: 0 })
  })

  test.each(['fe80::1/20', '2001:db8::/64', 'fe80::1/65'])('says as much as it can of %s', async entry => {
    const world = await aWorld()
    const listed = await world.create(
      pool().withAddresses(entry).withPrefix(64).with({ allocateReservedIPAddresses: true }),
    )
    await aServedClaim(world, aClaim().on(listed))
    const total = '9223372036854775807'
    // One is used: where the true number is just above what fits, none seems to be missing.
    await counts(world, listed, { total, used: 1, free: total })
  })

  test('goes back when a claim goes', async () => {
    const world = await aWorld()
    const listed = await world.create(pool().withAddresses('10.0.0.10-10.0.0.20'))
    const claim = await aServedClaim(world, aClaim().on(listed))
    await counts(world, listed, { total: 11, used: 1, free: 10 })
    await world.delete(claim)
    await isGone(world, claim)
    await counts(world, listed, { total: 11, used: 0, free: 11 })
  })

  test('counts what it no longer offers apart, and is never negative', async () => {
    const world = await aWorld()
    const listed = await world.create(pool().withAddresses('10.0.0.0/24').with({ allocateReservedIPAddresses: true }))
    for (let i = 0; i < 4; i++) await aServedClaim(world, aClaim().on(listed))
    await world.patch(listed, { spec: { addresses: ['10.0.0.1-10.0.0.255'], allocateReservedIPAddresses: false } })
    await counts(world, listed, { total: 254, used: 4, free: 251, outOfRange: 1 })
    await world.patch(listed, { spec: { addresses: ['10.0.0.1'] } })
    await counts(world, listed, { total: 1, used: 4, free: 0, outOfRange: 3 })
  })

  test('counts an IPAddress that was made by hand', async () => {
    const world = await aWorld()
    const listed = await world.create(pool().withAddresses('10.0.0.10-10.0.0.20'))
    await world.create(anAddressFor(aClaim().on(listed), '10.0.0.12'))
    await counts(world, listed, { total: 11, used: 1, free: 10 })
  })

  test('goes on while it is paused', async () => {
    const world = await aWorld()
    const listed = await world.create(pool().withAddresses('10.0.0.10-10.0.0.20').paused())
    await counts(world, listed, { total: 11, used: 0, free: 11 })
    await says(world, listed, 'Ready', { status: 'False', reason: 'PoolPaused' })
  })

  test('says when it is exhausted', async () => {
    const world = await aWorld()
    const listed = await world.create(pool().withAddresses('10.0.0.10'))
    await says(world, listed, 'Exhausted', { status: 'False' })
    const claim = await aServedClaim(world, aClaim().on(listed))
    await says(world, listed, 'Exhausted', { status: 'True' })
    await world.delete(claim)
    await says(world, listed, 'Exhausted', { status: 'False' })
  })
})

const bothPrefix: readonly (readonly [string, (...prefixes: string[]) => PoolDraft])[] = [
  ['a prefix pool', aPrefixPool],
  ['a global prefix pool', aGlobalPrefixPool],
]

describe.each(bothPrefix)('The status of the prefixes of %s', (_, pool) => {
  test.each([
    ['fd00::/62', 64, 4],
    ['fd40::/48', 56, 256],
  ])('counts the prefixes of %s by their length %i', async (prefix, allocationPrefixLength, total) => {
    const world = await aWorld()
    const listed = await world.create(pool(prefix).with({ allocationPrefixLength }))
    await counts(world, listed, { total, used: 0, free: total })
    await aServedClaim(world, aClaim().on(listed))
    await counts(world, listed, { total, used: 1, free: total - 1 })
  })

  test('counts a prefix that it no longer offers apart', async () => {
    const world = await aWorld()
    const listed = await world.create(pool('fd03::/62'))
    await aServedClaim(world, aClaim().on(listed), 'fd03::')
    await world.patch(listed, { spec: { excludedPrefixes: ['fd03::/64'], gateway: 'fd03::1' } })
    await counts(world, listed, { total: 3, used: 1, free: 3, outOfRange: 1 })
  })
})

describe('Pools that list the same addresses', () => {
  test('say so, both, until it is no longer true', async () => {
    const world = await aWorld()
    const one = await world.create(aPool().withAddresses('172.31.77.0/25'))
    const other = await world.create(aPool().withAddresses('172.31.77.100-172.31.77.200'))
    for (const pool of [one, other]) {
      await says(world, pool, 'Overlapping', { status: 'True', reason: 'AddressesShared' })
    }
    await world.patch(other, { spec: { addresses: ['172.31.77.200'] } })
    for (const pool of [one, other]) await says(world, pool, 'Overlapping', { status: 'False' })
  })
})

describe('The status of an AddressPool', () => {
  test('counts what is drained, kept and rests, each once', async () => {
    const world = await aWorld()
    const pool = await world.create(
      anAddressPool()
        .withAddresses('10.0.1.10-10.0.1.19')
        .with({ quarantineSeconds: 300, draining: ['10.0.1.18-10.0.1.19'], preAllocations: { db: '10.0.1.17' } }),
    )
    await aServedClaim(world, aClaim().on(pool))
    const resting = await aServedClaim(world, aClaim().on(pool))
    await world.delete(resting)
    await isGone(world, resting)
    await addressCounts(world, pool, { total: 10, free: 5, held: 1, quarantined: 1, reserved: 1, draining: 2 })
  })

  test('says when a range is drained', async () => {
    const world = await aWorld()
    const pool = await world.create(anAddressPool().withAddresses('10.0.1.10-10.0.1.19'))
    const claim = await aServedClaim(world, aClaim().on(pool), '10.0.1.10')
    await world.patch(pool, { spec: { draining: ['10.0.1.10'] } })
    await says(world, pool, 'Drained', { status: 'False' })
    await world.delete(claim)
    await says(world, pool, 'Drained', { status: 'True' })
  })
})

describe('A pool without a single usable address', () => {
  test('says so, and its claims wait', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses('10.0.1.7').without('10.0.1.7'))
    await says(world, pool, 'Ready', { status: 'False', reason: 'NothingOffered' })
    await saysWhy(world, await world.create(aClaim().on(pool)), 'PoolExhausted')
  })
})

async function addressCounts(world: World, pool: Stored, wanted: object): Promise<void> {
  await world.eventually(async () => expect((await world.get(pool))?.status?.addresses).toMatchObject(wanted))
}
