import { describe, expect, test } from 'vitest'
import { aClaim, aCluster, aGlobalPool, anAddressFor, aPool, type ClaimDraft, ownerReferenceTo } from './builders.ts'
import { claims, holds, reports } from './kinds.ts'
import {
  addressOf,
  aServedClaim,
  eventsAbout,
  holdsOf,
  isGone,
  isServed,
  reportIsGone,
  saysWhy,
  staysUnserved,
} from './promises.ts'
import { aWorld, type Stored, type World } from './world.ts'

const guard = 'ipam.cluster.x-k8s.io/ReleaseAddress'

/** A claim as the in-cluster provider leaves it: finalizer, IPAddress, reference; no condition, no choice, no hold. */
async function servedByAnother(world: World, pool: Stored, draft: ClaimDraft, address: string): Promise<Stored> {
  const claim = await world.create(draft.guardedBy(guard))
  await bareReport(world, pool, claim, draft, address)
  await world.patch(claim, { status: { addressRef: { name: claim.metadata.name } } }, 'status')
  return claim
}

async function bareReport(
  world: World,
  pool: Stored,
  claim: Stored,
  draft: ClaimDraft,
  address: string,
  spec: Readonly<Record<string, unknown>> = {},
) {
  const { object } = anAddressFor(draft, address, spec)
  const metadata = {
    ...object.metadata,
    finalizers: ['ipam.cluster.x-k8s.io/ProtectAddress'],
    ownerReferences: [ownerReferenceTo(claim), { ...ownerReferenceTo(pool), controller: false }],
  }
  return world.create({ ...object, metadata })
}

describe('What the in-cluster provider served', () => {
  test('is kept as it is, and gets its holds', async () => {
    const world = await aWorld()
    await world.desk.stop()
    const pool = await world.create(aPool())
    const made: Stored[] = []
    for (const address of ['10.0.1.1', '10.0.1.2', '10.0.1.200']) {
      made.push(await servedByAnother(world, pool, aClaim().on(pool), address))
    }
    const before = await world.list(reports)
    const late = await world.create(aClaim().named('a-first-of-all-names').on(pool))
    await world.desk.start()
    for (const claim of made) await isServed(world, claim)
    await isServed(world, late, '10.0.1.3')
    const after = (await world.list(reports)).filter(({ metadata }) => metadata.name !== late.metadata.name)
    expect(after).toEqual(before)
    expect(await holdsOf(world, pool)).toHaveLength(4)
  })

  test('is released by us, also when it was on its way out already, and rests like any other', async () => {
    const world = await aWorld()
    await world.desk.stop()
    const pool = await world.create(aPool().with({ addressReuseGracePeriodSeconds: 300 }))
    const claim = await servedByAnother(world, pool, aClaim().on(pool), '10.0.1.1')
    await world.delete(claim)
    await world.desk.start()
    await isGone(world, claim)
    await reportIsGone(world, claim)
    await aServedClaim(world, aClaim().on(pool), '10.0.1.2')
  })

  test('stays ready whatever a claim that is not bound shows', async () => {
    const world = await aWorld()
    await world.desk.stop()
    const pool = await world.create(aPool())
    const claim = await servedByAnother(world, pool, aClaim().on(pool), '10.0.1.44')
    const stranger = await world.create(aClaim().on(pool).annotated({ 'mooring.dev/address': '10.0.1.44' }))
    const byHand = aClaim().on(pool)
    await world.create(anAddressFor(byHand, '10.0.1.44'))
    await world.desk.start()
    await isServed(world, claim, '10.0.1.44')
    await staysUnserved(world, stranger, 1_000)
    expect(await holdsOf(world, pool)).toHaveLength(1)
  })

  test('twice by mistake rests only when the last of the two claims has gone', async () => {
    const world = await aWorld()
    await world.desk.stop()
    const pool = await world.create(aPool().with({ addressReuseGracePeriodSeconds: 300 }))
    const first = await servedByAnother(world, pool, aClaim().on(pool), '10.0.1.44')
    const second = await servedByAnother(world, pool, aClaim().on(pool), '10.0.1.44')
    await world.delete(first)
    await world.desk.start()
    await isGone(world, first)
    await isServed(world, second, '10.0.1.44')
  })

  test('only half, a finalizer and no more, is served as new', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    await aServedClaim(world, aClaim().on(pool).guardedBy(guard), '10.0.1.1')
  })

  test('without a status yet keeps its IPAddress', async () => {
    const world = await aWorld()
    await world.desk.stop()
    const pool = await world.create(aPool())
    const draft = aClaim().on(pool).guardedBy(guard)
    const claim = await world.create(draft)
    await bareReport(world, pool, claim, draft, '10.0.1.44')
    await world.desk.start()
    await isServed(world, claim, '10.0.1.44')
  })
})

describe('A claim that clusterctl moves here', () => {
  test('keeps the address it had, and nothing happens before its Cluster goes on', async () => {
    const world = await aWorld()
    const cluster = aCluster().pausedBySpec()
    await world.create(cluster)
    const pool = await world.create(aPool())
    const draft = aClaim().on(pool).forCluster(cluster.name).annotated({ 'mooring.dev/address': '10.0.1.44' })
    const claim = await world.create(draft)
    const moved = await bareReport(world, pool, claim, draft, '10.0.1.44')
    await world.always(async () => {
      expect(await world.report(claim)).toEqual(moved)
      expect(await holdsOf(world, pool)).toEqual([])
    })
    await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
    await world.patch(cluster, { spec: { paused: false } })
    await isServed(world, claim, '10.0.1.44')
  })

  test('before its IPAddress keeps the address all the same', async () => {
    const world = await aWorld()
    const cluster = aCluster().pausedBySpec()
    await world.create(cluster)
    const pool = await world.create(aPool())
    const draft = aClaim().on(pool).forCluster(cluster.name).annotated({ 'mooring.dev/address': '10.0.1.44' })
    const claim = await world.create(draft)
    await staysUnserved(world, claim, 1_000)
    await world.patch(cluster, { spec: { paused: false } })
    await isServed(world, claim, '10.0.1.44')
  })
})

describe('A claim that clusterctl moves here, and that no paused Cluster holds up', () => {
  test('waits for its IPAddress where its pool has another gateway by now, and keeps what that says', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const subnet = { 'mooring.dev/subnet': '24 via 10.0.1.254' }
    const draft = aClaim()
      .on(pool)
      .annotated({ 'mooring.dev/address': '10.0.1.44', ...subnet })
    const claim = await world.create(draft)
    await saysWhy(world, claim, 'AllocationFailed', /create the IPAddress that the claim had/)
    await bareReport(world, pool, claim, draft, '10.0.1.44', { gateway: '10.0.1.254' })
    await isServed(world, claim, '10.0.1.44')
    expect((await world.report(claim))?.spec.gateway).toBe('10.0.1.254')
    expect((await world.get(claim))?.metadata.annotations).toMatchObject(subnet)
  })
})

describe('A claim that arrives with an address which another one holds', () => {
  test('says so, and the one that has it gets an event, and no claim loses anything', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const holder = await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
    const arrived = await world.create(aClaim().on(pool).annotated({ 'mooring.dev/address': '10.0.1.1' }))
    await saysWhy(world, arrived, 'AllocationFailed')
    await world.eventually(async () => {
      const told = await eventsAbout(world, holder.metadata.uid ?? '')
      expect(told).toContainEqual({ type: 'Warning', reason: 'AddressContested' })
    })
    await isServed(world, holder, '10.0.1.1')
    await world.delete(holder)
    await isServed(world, arrived, '10.0.1.1')
  })
})

describe('A namespace that is deleted', () => {
  test('takes its claims, addresses and pools with it, and what they held of others is free', async () => {
    const world = await aWorld()
    const there = await world.anotherNamespace()
    const [own, global] = [
      await world.create(aPool().in(there)),
      await world.create(aGlobalPool().withAddresses('10.0.1.7')),
    ]
    for (let i = 0; i < 3; i++) await aServedClaim(world, aClaim().on(own).in(there))
    const claim = await aServedClaim(world, aClaim().on(global).in(there))
    expect(await addressOf(world, claim)).toBe('10.0.1.7')
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: there } }
    await world.delete(namespace)
    await isGone(world, namespace, 60_000)
    await aServedClaim(world, aClaim().on(global), '10.0.1.7')
    const left = (await world.client.list(holds)).items as Stored[]
    expect(left.filter(({ spec }) => spec.claimRef.namespace === there)).toEqual([])
    expect((await world.list(claims)).filter(({ metadata }) => metadata.namespace === there)).toEqual([])
  })
})
