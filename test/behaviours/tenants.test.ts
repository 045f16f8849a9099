// What a tenant can write, and what it does to others: nothing. Each field is tried where no webhook and no policy stands in
// the way; choices are in choices.test.ts, spaces in spaces.test.ts, what policies refuse in webhooks.test.ts.

import { describe, expect, test } from 'vitest'
import {
  aClaim,
  aCluster,
  aClusterAddressPool,
  anAddressFor,
  anAddressPool,
  aPool,
  aPrefixPool,
  ownerReferenceTo,
} from './builders.ts'
import { aServedClaim, holdsOf, isGone, readyOf, saysWhy } from './promises.ts'
import { aWorld } from './world.ts'

/** Offered to namespaces with this label alone. */
const offer = { allowedNamespaces: { matchLabels: { tier: 'prod' } } }
const bound = { status: 'True', reason: 'AddressAllocated', lastTransitionTime: '2026-01-01T00:00:00Z' }
const conditions = [{ type: 'Ready', message: '', ...bound }]

describe('A tenant that writes the status of a claim, and an IPAddress that fits', () => {
  test('takes nothing from the claim that has the address', async () => {
    const world = await aWorld()
    const prod = await world.anotherNamespace({ tier: 'prod' })
    const pool = await world.create(aClusterAddressPool().with(offer))
    const victim = await aServedClaim(world, aClaim().in(prod).on(pool), '10.0.1.1')
    const held = await holdsOf(world, pool)
    const draft = aClaim().on(pool).annotated({ 'mooring.dev/address': '10.0.1.1' })
    const thief = await world.create(draft)
    const { object } = anAddressFor(draft, '10.0.1.1')
    await world.create({ ...object, metadata: { ...object.metadata, ownerReferences: [ownerReferenceTo(thief)] } })
    await world.patch(thief, { status: { addressRef: { name: thief.metadata.name }, conditions } }, 'status')
    await saysWhy(world, thief, 'AllocationFailed', /is held by another claim/)
    await world.patch(victim, { metadata: { labels: { looked: 'at' } } })
    await world.always(async () => {
      expect(await holdsOf(world, pool)).toEqual(held)
      expect(readyOf(await world.get(victim))).toMatchObject({ status: 'True' })
    }, 1_000)
  })

  test('writes no annotation by that path', async () => {
    const world = await aWorld()
    const claim = await world.create(aClaim().on(aPool()))
    const metadata = { annotations: { 'mooring.dev/address': '10.0.1.7' }, labels: { touched: 'yes' } }
    const after = await world.patch(claim, { metadata, status: { conditions } }, 'status')
    expect(after.metadata.annotations).toBeUndefined()
    expect(after.metadata.labels).toBeUndefined()
  })
})

describe('Owners that a claim names', () => {
  test('do not give it what a claim with such an owner left in another namespace', async () => {
    const world = await aWorld()
    const there = await world.anotherNamespace()
    const pool = await world.create(aClusterAddressPool().with({ quarantineSeconds: 3_000 }))
    const theirs = await world.create(aCluster().named('db').in(there))
    const victim = await aServedClaim(world, aClaim().named('vpn').in(there).on(pool).ownedBy(theirs), '10.0.1.1')
    await world.delete(victim)
    await isGone(world, victim)
    const mine = await world.create(aCluster().named('db'))
    await aServedClaim(world, aClaim().named('vpn').on(pool).ownedBy(mine), '10.0.1.2')
    await aServedClaim(world, aClaim().in(there).on(pool).ownedBy(theirs), '10.0.1.1')
  })
})

describe('The quota of a namespace', () => {
  test('counts its claims, whichever Cluster they say that they are for', async () => {
    const world = await aWorld()
    const pool = await world.create(aClusterAddressPool().with({ quota: { perNamespace: 1, perCluster: 1 } }))
    const [one, other] = [aCluster(), aCluster()]
    await world.create(one)
    await world.create(other)
    await aServedClaim(world, aClaim().on(pool).forCluster(one.name))
    for (const claim of [aClaim().forCluster(other.name), aClaim().labelledForCluster(other.name), aClaim()]) {
      await saysWhy(
        world,
        await world.create(claim.on(pool)),
        'AllocationFailed',
        /already holds its quota of 1 address/,
      )
    }
  })
})

describe('A pool of a namespace in a space of the cluster', () => {
  const seven = '10.0.1.7'
  test.each([
    ['gateway', { gateway: seven }],
    ['excludedAddresses', { excludedAddresses: [seven] }],
    ['preAllocations', { preAllocations: { mine: seven } }],
    ['draining', { draining: [seven] }],
    ['quota', { quota: { perNamespace: 0 } }],
  ])('keeps by its %s no address from claims of other pools', async (field, spec) => {
    const world = await aWorld()
    const space = `tenants-${field.toLowerCase()}-${world.home}`
    const wide = await world.create(aClusterAddressPool().withAddresses(seven).with({ space }))
    const own = await world.create(anAddressPool().with({ space, ...spec }))
    await world.eventually(async () => expect((await world.get(own))?.status?.space).toBe(space))
    await aServedClaim(world, aClaim().on(wide), seven)
  })
})

describe('Prefixes that a tenant lists', () => {
  test('are kept from no pool of another namespace', async () => {
    const world = await aWorld()
    const there = await world.anotherNamespace()
    const mine = await world.create(aPrefixPool('fd00::/64'))
    const theirs = await world.create(aPrefixPool('fd00::/64').in(there))
    await aServedClaim(world, aClaim().on(mine), 'fd00::')
    await aServedClaim(world, aClaim().in(there).on(theirs), 'fd00::')
  })
})

describe('A text of two hundred thousand letters', () => {
  const long = 'B'.repeat(200_000)

  test.each(['mooring.dev/requested-address', 'ipAddress'])('as %s is told in a short sentence', async annotation => {
    const world = await aWorld()
    const pool = await world.create(anAddressPool())
    const claim = await world.create(
      aClaim()
        .on(pool)
        .annotated({ [annotation]: long }),
    )
    await saysWhy(world, claim, 'AllocationFailed', /^what the claim asks for cannot be read: .{1,300}$/)
    await aServedClaim(world, aClaim().on(pool))
  })

  test.each([
    ['addresses', [long]],
    ['excludedAddresses', [long]],
    ['gateway', long],
  ])('as %s is refused by the definition of every pool', async (field, value) => {
    const world = await aWorld()
    for (const pool of [aPool(), anAddressPool(), aClusterAddressPool()]) {
      await expect(world.create(pool.with({ [field]: value }))).rejects.toThrow(/Too long/)
    }
  })
})
