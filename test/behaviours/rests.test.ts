import { describe, expect, test } from 'vitest'
import {
  aClaim,
  aCluster,
  aClusterAddressPool,
  anAddressFor,
  anAddressPool,
  aPool,
  ownerReferenceTo,
  type PoolDraft,
} from './builders.ts'
import { addressOf, aServedClaim, holdsOf, isGone, isServed, saysWhy, staysUnserved } from './promises.ts'
import { aWorld, isInProcess, type Stored, type Thing, type World } from './world.ts'

const uniqueSpace = () => `s${Math.random().toString(36).slice(2)}`

/** Made, served and gone: its address rests. */
async function released(world: World, claim: Thing): Promise<void> {
  await aServedClaim(world, claim)
  await world.delete(claim)
  await isGone(world, claim)
}

/** Long enough to be seen by a test a moment later, on a server that has much else to do. */
const restSeconds = isInProcess ? 4 : 8

async function theHold(world: World, pool: Thing): Promise<Stored> {
  const [hold] = await holdsOf(world, pool)
  if (hold === undefined) throw new Error('nothing is held')
  return hold
}

const secondsOf = ({ status }: Stored): number => (Date.parse(status.until) - Date.parse(status.since)) / 1000

describe('The rest of an address whose pool goes', () => {
  const entry = '10.0.1.7'
  const inSpace = (space: string, quarantineSeconds: number): PoolDraft =>
    aClusterAddressPool().withAddresses(entry).with({ space, quarantineSeconds })

  test('ends when that of another pool of the space which lists it would', async () => {
    const world = await aWorld()
    const space = uniqueSpace()
    const going = await world.create(inSpace(space, 3_000))
    const staying = await world.create(inSpace(space, 600))
    const claim = await aServedClaim(world, aClaim().on(going), entry)
    await world.delete(claim)
    await isGone(world, claim)
    const hold = await theHold(world, going)
    expect(secondsOf(hold)).toBe(3_000)
    await world.delete(going)
    await isGone(world, going)
    await world.eventually(async () => expect(secondsOf((await world.get(hold)) as Stored)).toBe(600))
    const next = aClaim().on(staying).asking(entry)
    await world.create(next)
    await saysWhy(world, next, 'AllocationFailed', ((await world.get(hold)) as Stored).status.until)
  })

  test('is over at once when no other pool lists it', async () => {
    const world = await aWorld()
    const space = uniqueSpace()
    const going = await world.create(inSpace(space, 3_000))
    await world.create(inSpace(space, 600).withAddresses('10.0.1.9'))
    await released(world, aClaim().on(going))
    const hold = await theHold(world, going)
    await world.delete(going)
    await isGone(world, hold)
  })

  test('goes on while the pool is there, also if it cannot be read any more', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses(entry).with({ addressReuseGracePeriodSeconds: 3_000 }))
    await released(world, aClaim().on(pool))
    const hold = await theHold(world, pool)
    await world.patch(pool, { spec: { addresses: ['10.0.1.7', '10.0.2.7-10.0.2.5'] } })
    await world.eventually(async () => {
      const ready = (await world.get(pool))?.status.conditions.find(({ type }: { type: string }) => type === 'Ready')
      expect(ready.reason).toBe('PoolMalformed')
    })
    await world.always(async () => expect(await world.get(hold)).toBeDefined(), 1_000)
  })

  test('goes on through a restart', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses(entry).with({ addressReuseGracePeriodSeconds: 3_000 }))
    await released(world, aClaim().on(pool))
    const hold = await theHold(world, pool)
    await world.desk.stop()
    await world.desk.start()
    await world.always(async () => expect(await world.get(hold)).toBeDefined(), 1_000)
  })
})

describe('A quarantine', () => {
  test.each([
    ['AddressPool', anAddressPool],
    ['ClusterAddressPool', aClusterAddressPool],
  ])('of more than thirty days is refused by the definition of %s', async (_, pool) => {
    const world = await aWorld()
    await expect(world.create(pool().with({ quarantineSeconds: 2_592_001 }))).rejects.toThrow('2592000')
    await world.create(pool().with({ quarantineSeconds: 2_592_000 }))
  })

  test('of more than thirty days, in a pool of the in-cluster provider, counts as thirty', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().with({ addressReuseGracePeriodSeconds: 2_147_483_647 }))
    await released(world, aClaim().on(pool))
    expect(secondsOf(await theHold(world, pool))).toBe(2_592_000)
  })
})

describe('A quota of what rests', () => {
  const shared = (quota: object, quarantineSeconds = 3_000): PoolDraft =>
    aClusterAddressPool().withAddresses('10.0.1.1-10.0.1.11').withPrefix(24).with({ quota, quarantineSeconds })

  test('lets a namespace have as many addresses at rest as it may hold, and one that comes back is served', async () => {
    const world = await aWorld()
    const pool = await world.create(shared({ perNamespace: 1 }))
    const first = aClaim().on(pool)
    await released(world, first)
    await released(world, aClaim().on(pool))
    const third = aClaim().on(pool)
    await world.create(third)
    const { until } = (await theHold(world, pool)).status
    await saysWhy(world, third, 'AllocationFailed', /rest than spec\.quota\.perNamespaceQuarantined allows/)
    await saysWhy(world, third, 'AllocationFailed', until.slice(0, 16))
    const there = await world.anotherNamespace()
    await aServedClaim(world, aClaim().on(pool).in(there), '10.0.1.3')
    await aServedClaim(world, first, '10.0.1.1')
    expect(await addressOf(world, third)).toBeUndefined()
  })

  test('serves the claim that waits when a rest is over', async () => {
    const world = await aWorld()
    const pool = await world.create(shared({ perNamespaceQuarantined: 0 }, restSeconds))
    await released(world, aClaim().on(pool))
    const next = aClaim().on(pool)
    await world.create(next)
    await staysUnserved(world, next, 2_000)
    await isServed(world, next)
  })

  test('serves the claim that waits when a released address goes back to its holder', async () => {
    const world = await aWorld()
    const pool = await world.create(shared({ perNamespaceQuarantined: 0 }))
    const first = aClaim().on(pool)
    await released(world, first)
    const next = aClaim().on(pool)
    await world.create(next)
    await saysWhy(world, next, 'AllocationFailed', 'perNamespaceQuarantined')
    await aServedClaim(world, first, '10.0.1.1')
    await isServed(world, next, '10.0.1.2')
  })
})

describe('A namespace that is deleted and made again', () => {
  test.each([
    ['name of a claim', (): Promise<Stored | undefined> => Promise.resolve(undefined)],
    ['owner', (world: World, namespace: string) => world.create(aCluster().named('machine').in(namespace))],
  ])('does not get back, by the %s, what rests for the former one', async (_, anOwner) => {
    const world = await aWorld()
    const there = await world.anotherNamespace()
    const pool = await world.create(aClusterAddressPool().with({ quarantineSeconds: 3_000 }))
    const owned = async (name: string) => {
      const owner = await anOwner(world, there)
      const claim = aClaim().named(name).on(pool).in(there)
      return owner === undefined ? claim : claim.ownedBy(owner)
    }
    await aServedClaim(world, await owned('vpn'), '10.0.1.1')
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: there } }
    await world.delete(namespace)
    await isGone(world, namespace, 60_000)
    await world.eventually(async () => expect((await theHold(world, pool)).status.state).toBe('quarantined'))
    await world.create(namespace)
    await aServedClaim(world, await owned('vpn'), '10.0.1.2')
  })

  test('gets it back with a claim that a move brings there, and its IPAddress', async () => {
    const world = await aWorld()
    const there = await world.anotherNamespace()
    const pool = await world.create(aClusterAddressPool().with({ quarantineSeconds: 3_000 }))
    const draft = aClaim().named('vpn').on(pool).in(there)
    await aServedClaim(world, draft, '10.0.1.1')
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: there } }
    await world.delete(namespace)
    await isGone(world, namespace, 60_000)
    await world.eventually(async () => expect((await theHold(world, pool)).status.state).toBe('quarantined'))
    await world.create(namespace)
    const moved = draft.annotated({ 'mooring.dev/address': '10.0.1.1' })
    const claim = await world.create(moved)
    await saysWhy(world, claim, 'AllocationFailed', /^10\.0\.1\.1, which this claim asks for as its own, .* rests/)
    const { object } = anAddressFor(moved, '10.0.1.1')
    await world.create({ ...object, metadata: { ...object.metadata, ownerReferences: [ownerReferenceTo(claim)] } })
    await isServed(world, draft, '10.0.1.1')
  })
})

describe('A hold that a user deleted while it was held', () => {
  test('goes when its claim does: its address needs no rest', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().with({ addressReuseGracePeriodSeconds: 3_000 }))
    const claim = await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
    const hold = await theHold(world, pool)
    await world.delete(hold)
    await world.always(async () => expect(await world.get(hold)).toBeDefined(), 500)
    await world.delete(claim)
    await isGone(world, hold)
    await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
  })
})
