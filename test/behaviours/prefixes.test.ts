import { describe, expect, test } from 'vitest'
import { aClaim, aGlobalPrefixPool, anAddressFor, aPrefixPool, type PoolDraft } from './builders.ts'
import { aServedClaim, isGone, readyOf, reportIsGone, saysWhy } from './promises.ts'
import { aWorld } from './world.ts'

const bothKinds: readonly (readonly [string, (...prefixes: string[]) => PoolDraft])[] = [
  ['a prefix pool of its namespace', aPrefixPool],
  ['a global prefix pool', aGlobalPrefixPool],
]

describe.each(bothKinds)('A claim on %s', (_, pool) => {
  test('gets a whole prefix, with the gateway of the pool', async () => {
    const world = await aWorld()
    const listed = await world.create(pool('fd00::/62').withGateway('fd10::1'))
    for (const address of ['fd00::', 'fd00:0:0:1::']) {
      const claim = await aServedClaim(world, aClaim().on(listed), address)
      expect((await world.report(claim))?.spec).toMatchObject({ address, prefix: 64, gateway: 'fd10::1' })
    }
  })

  test('is told its prefix with its length', async () => {
    const world = await aWorld()
    const listed = await world.create(pool('fd00::/63'))
    const claim = await aServedClaim(world, aClaim().on(listed), 'fd00::')
    expect(readyOf(claim)?.message).toBe('fd00::/64 is allocated')
    const wish = aClaim().on(listed).asking('fd00::')
    await world.create(wish)
    await saysWhy(world, wish, 'AllocationFailed', /^fd00::\/64 is held by claim/)
  })

  test('gets the lowest one of several sources', async () => {
    const world = await aWorld()
    const listed = await world.create(pool('fd00:0:0:1::/64', 'fd10::/48').with({ allocationPrefixLength: 64 }))
    for (const address of ['fd00:0:0:1::', 'fd10::']) await aServedClaim(world, aClaim().on(listed), address)
  })

  test('gets each prefix once where sources overlap', async () => {
    const world = await aWorld()
    const listed = await world.create(pool('fd00::/63', 'fd00::/62', 'fd00:0:0:8::/62'))
    const prefixes = ['fd00::', 'fd00:0:0:1::', 'fd00:0:0:2::', 'fd00:0:0:3::', 'fd00:0:0:8::']
    for (const address of prefixes) await aServedClaim(world, aClaim().on(listed), address)
  })

  test('gets prefixes of the length that the pool names', async () => {
    const world = await aWorld()
    const listed = await world.create(pool('fd40::/48').with({ allocationPrefixLength: 56 }))
    for (const address of ['fd40::', 'fd40:0:0:100::']) {
      const claim = await aServedClaim(world, aClaim().on(listed), address)
      expect((await world.report(claim))?.spec.prefix).toBe(56)
    }
  })

  test('gets no excluded prefix, but the one with the gateway', async () => {
    const world = await aWorld()
    const listed = await world.create(
      pool('fd00::/62')
        .withGateway('fd00::1')
        .with({ excludedPrefixes: ['fd00:0:0:1::/64'] }),
    )
    for (const address of ['fd00::', 'fd00:0:0:2::']) await aServedClaim(world, aClaim().on(listed), address)
  })

  test('waits when no prefix is left, and gets the next that is released', async () => {
    const world = await aWorld()
    const listed = await world.create(pool('fd00::/64'))
    const first = await aServedClaim(world, aClaim().on(listed), 'fd00::')
    const second = aClaim().on(listed)
    await world.create(second)
    await saysWhy(world, second, 'PoolExhausted', 'no prefix available')
    await world.delete(first)
    await isGone(world, first)
    await reportIsGone(world, first)
    await world.eventually(async () => expect((await world.report(second))?.spec.address).toBe('fd00::'))
  })

  test('gets IPv4 prefixes too', async () => {
    const world = await aWorld()
    const listed = await world.create(pool('10.0.0.0/22').with({ allocationPrefixLength: 24 }))
    for (const address of ['10.0.0.0', '10.0.1.0']) await aServedClaim(world, aClaim().on(listed), address)
  })

  test('gets the prefix it asks for, and says so when that is none', async () => {
    const world = await aWorld()
    const listed = await world.create(pool('fd00::/62'))
    await aServedClaim(world, aClaim().on(listed).asking('fd00:0:0:2::/64'), 'fd00:0:0:2::')
    const claim = aClaim().on(listed).asking('fd00:0:0:1::7')
    await world.create(claim)
    await saysWhy(world, claim, 'AllocationFailed', 'ask for fd00:0:0:1::/64')
  })
})

describe('An IPAddress made by hand inside a prefix', () => {
  test('keeps the whole prefix from others', async () => {
    const world = await aWorld()
    const pool = await world.create(aPrefixPool('fd00::/62'))
    await world.create(anAddressFor(aClaim().on(pool), 'fd00::1234', { prefix: 64 }))
    await aServedClaim(world, aClaim().on(pool), 'fd00:0:0:1::')
  })
})
