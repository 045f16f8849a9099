import { describe, expect, test } from 'vitest'
import { aClaim, aGlobalPool, aPool, type PoolDraft } from './builders.ts'
import { coreVersion } from './definitions.ts'
import { claims, reports } from './kinds.ts'
import {
  aServedClaim,
  eventsAbout,
  holdsBecome,
  isGone,
  isServed,
  ownWrites,
  readyOf,
  reportIsGone,
  saysWhy,
  staysUnserved,
} from './promises.ts'
import { aWorld, isInProcess } from './world.ts'

const bothKinds: readonly (readonly [string, () => PoolDraft])[] = [
  ['a pool of its namespace', aPool],
  ['a global pool', aGlobalPool],
]

describe.each(bothKinds)('A claim on %s', (_, pool) => {
  test('gets the lowest address that is neither reserved nor the gateway', async () => {
    const world = await aWorld()
    const listed = await world.create(
      pool().withAddresses('10.0.1.0', '10.0.1.1', '10.0.1.2', '10.0.1.255').withGateway('10.0.1.1'),
    )
    await aServedClaim(world, aClaim().on(listed), '10.0.1.2')
  })

  test('waits when only reserved addresses and the gateway are left', async () => {
    const world = await aWorld()
    const listed = await world.create(
      pool().withAddresses('10.0.1.0', '10.0.1.1', '10.0.1.2', '10.0.1.255').withGateway('10.0.1.1'),
    )
    await aServedClaim(world, aClaim().on(listed), '10.0.1.2')
    const second = aClaim().on(listed)
    await world.create(second)
    await saysWhy(world, second, 'PoolExhausted', 'no address available')
    await staysUnserved(world, second)
  })

  test('gets what is left between excluded addresses, in order', async () => {
    const world = await aWorld()
    const listed = await world.create(
      pool().withAddresses('10.1.1.0/24').withGateway('10.1.1.1').without('10.1.1.2-10.1.1.5', '10.1.1.7'),
    )
    for (const address of ['10.1.1.6', '10.1.1.8', '10.1.1.9']) await aServedClaim(world, aClaim().on(listed), address)
  })

  test('gets the lowest address, in whatever order they are listed', async () => {
    const world = await aWorld()
    const listed = await world.create(pool().withAddresses('10.0.1.3', '10.0.1.2'))
    await aServedClaim(world, aClaim().on(listed), '10.0.1.2')
  })

  test('gets an IPAddress without gateway where the pool has none', async () => {
    const world = await aWorld()
    const listed = await world.create(pool().withAddresses('10.0.1.1-10.0.1.254'))
    const claim = await aServedClaim(world, aClaim().on(listed), '10.0.1.1')
    expect((await world.report(claim))?.spec).toEqual({
      claimRef: { name: claim.metadata.name },
      poolRef: claim.spec.poolRef,
      address: '10.0.1.1',
      prefix: 24,
    })
  })

  test('is owner and controller of its IPAddress, which its pool owns too and a finalizer protects', async () => {
    const world = await aWorld()
    const listed = await world.create(pool().withGateway('10.0.1.1'))
    const claim = await aServedClaim(world, aClaim().on(listed))
    const report = await world.report(claim)
    expect(report?.metadata.finalizers).toEqual(['ipam.cluster.x-k8s.io/ProtectAddress'])
    expect(report?.metadata.ownerReferences).toEqual([
      {
        apiVersion: `ipam.cluster.x-k8s.io/${coreVersion}`,
        kind: 'IPAddressClaim',
        name: claim.metadata.name,
        uid: claim.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
      {
        apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2',
        kind: listed.kind,
        name: listed.metadata.name,
        uid: listed.metadata.uid,
        controller: false,
        blockOwnerDeletion: true,
      },
    ])
    expect(report?.spec.gateway).toBe('10.0.1.1')
    expect(claim.metadata.finalizers).toEqual(['ipam.cluster.x-k8s.io/ReleaseAddress'])
  })

  test('waits for a pool that does not exist, says so, and is served when it comes', async () => {
    const world = await aWorld()
    await world.create(pool())
    const wanted = pool()
    const claim = aClaim().on(wanted)
    await world.create(claim)
    await saysWhy(world, claim, 'PoolNotReady', 'does not exist')
    await staysUnserved(world, claim)
    await world.create(wanted)
    await isServed(world, claim, '10.0.1.1')
  })

  test('waits while the only address is taken', async () => {
    const world = await aWorld()
    const listed = await world.create(pool().withAddresses('10.0.1.7'))
    await aServedClaim(world, aClaim().on(listed), '10.0.1.7')
    const second = aClaim().on(listed)
    await world.create(second)
    await staysUnserved(world, second, 10_000)
  })

  test('that is deleted gives its address to the next one', async () => {
    const world = await aWorld()
    const listed = await world.create(pool().withAddresses('10.0.1.7'))
    const first = await aServedClaim(world, aClaim().on(listed))
    const second = aClaim().on(listed)
    await world.create(second)
    await saysWhy(world, second, 'PoolExhausted')
    await world.delete(first)
    await isGone(world, first)
    await isServed(world, second, '10.0.1.7')
  })

  test('keeps its IPAddress as it is, whatever happens around it', async () => {
    const world = await aWorld()
    const listed = await world.create(pool())
    const claim = await aServedClaim(world, aClaim().on(listed))
    const before = await world.report(claim)
    await world.patch(listed, { spec: { gateway: '10.0.1.1', excludedAddresses: ['10.0.1.1-10.0.1.9'] } })
    await world.patch(claim, { metadata: { labels: { seen: 'yes' } } })
    await aServedClaim(world, aClaim().on(listed))
    await world.always(async () => expect(await world.report(claim)).toEqual(before))
  })
})

describe('A claim', () => {
  test('on a pool of a kind that we do not know is left to others', async () => {
    const world = await aWorld()
    const claim = aClaim().on({
      apiVersion: 'ipam.cluster.x-k8s.io/v1',
      kind: 'UnknownIPPool',
      metadata: { name: 'x' },
    })
    const made = await world.create(claim)
    await world.always(async () => expect(await world.get(claim)).toEqual(made))
    await staysUnserved(world, claim, 0)
    expect(ownWrites(world)).toEqual([])
  })

  test.each(['example.com', 'ipam.metal3.io'])('on a pool of the group %s is left to others', async group => {
    const world = await aWorld()
    const claim = aClaim().on({ apiVersion: `${group}/v1`, kind: 'InClusterIPPool', metadata: { name: 'x' } })
    const made = await world.create(claim)
    await world.always(async () => expect(await world.get(claim)).toEqual(made))
    await world.delete(claim)
    await isGone(world, claim)
    expect(ownWrites(world)).toEqual([])
  })

  test('on a pool of another namespace finds none', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().in(await world.anotherNamespace()))
    const claim = aClaim().on(pool)
    await world.create(claim)
    await saysWhy(world, claim, 'PoolNotReady', 'does not exist')
  })

  test('on a kind that is misspelt, in a group of Mooring alone, says which kinds there are', async () => {
    const world = await aWorld()
    const misspelt = { apiVersion: 'mooring.dev/v1alpha1', kind: 'ClusterAdressPool', metadata: { name: 'lab' } }
    const claim = aClaim().on(misspelt)
    await world.create(claim)
    const sentence =
      'has no kind "ClusterAdressPool" of pool: make another claim, whose spec.poolRef.kind is AddressPool or'
    await saysWhy(world, claim, 'PoolNotReady', sentence)
    await staysUnserved(world, claim)
    await world.delete(claim)
    await isGone(world, claim)
  })

  test('that was never served goes at once', async () => {
    const world = await aWorld()
    const claim = aClaim().on(aPool())
    await world.create(claim)
    await saysWhy(world, claim, 'PoolNotReady')
    await world.delete(claim)
    await isGone(world, claim)
  })

  test('with our finalizer and no address goes without an error', async () => {
    const world = await aWorld()
    const claim = aClaim().on(aPool()).guardedBy('ipam.cluster.x-k8s.io/ReleaseAddress')
    await world.create(claim)
    await world.delete(claim)
    await isGone(world, claim)
  })

  test('that goes before it was served does not hold up the claim behind it', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses('10.0.1.7'))
    const first = await aServedClaim(world, aClaim().on(pool))
    const second = aClaim().on(pool)
    const third = aClaim().on(pool)
    await world.create(second)
    await saysWhy(world, second, 'PoolExhausted')
    await world.create(third)
    await world.delete(second)
    await world.delete(first)
    await isServed(world, third, '10.0.1.7')
  })

  test('is served although its neighbour asks for what cannot be', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const bad = aClaim().on(pool).asking('not-a-valid-ip')
    const good = aClaim().on(pool)
    await world.create(bad)
    await world.create(good)
    await isServed(world, good, '10.0.1.1')
    await saysWhy(world, bad, 'AllocationFailed', 'not-a-valid-ip')
  })

  test('says in an event what it says in its condition', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses('10.0.1.7'))
    const first = await aServedClaim(world, aClaim().on(pool))
    const second = await world.create(aClaim().on(pool))
    await saysWhy(world, second, 'PoolExhausted')
    await world.eventually(async () => {
      const told = await eventsAbout(world, first.metadata.uid ?? '')
      expect(told).toEqual([{ type: 'Normal', reason: 'AddressAllocated' }])
      const refused = await eventsAbout(world, second.metadata.uid ?? '')
      expect(refused).toEqual([{ type: 'Warning', reason: 'PoolExhausted' }])
    })
  })

  test('has the observed generation in its condition, and when it came about', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const claim = await aServedClaim(world, aClaim().on(pool))
    // Where v1beta1 is all there is, conditions have no place for it.
    const generation = coreVersion === 'v1beta2' && { observedGeneration: 1 }
    expect(readyOf(claim)).toEqual({
      type: 'Ready',
      status: 'True',
      reason: 'AddressAllocated',
      message: '10.0.1.1 is allocated',
      ...generation,
      lastTransitionTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    })
  })

  test('of one name in two namespaces is two claims: a global pool gives them two addresses', async () => {
    const world = await aWorld()
    const pool = await world.create(aGlobalPool().withGateway('10.0.1.1'))
    const there = await world.anotherNamespace()
    await aServedClaim(world, aClaim().named('twin').on(pool), '10.0.1.2')
    await aServedClaim(world, aClaim().named('twin').on(pool).in(there), '10.0.1.3')
  })
})

describe('A claim that is deleted', () => {
  test.each(['Foreground', 'Orphan'] as const)('with its dependents handled as %s leaves nothing behind', async how => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const claim = await aServedClaim(world, aClaim().on(pool))
    await world.delete(claim, how)
    await isGone(world, claim)
    await reportIsGone(world, claim)
    await holdsBecome(world, pool, 0)
  })

  test('again and again under one name is served each time', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses('10.0.1.7'))
    const draft = aClaim().on(pool)
    for (let i = 0; i < 5; i++) {
      await aServedClaim(world, draft, '10.0.1.7')
      await world.delete(draft)
      await isGone(world, draft)
    }
  })

  test('in the moment in which it is made leaves nothing behind', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const made = Array.from({ length: 20 }, () => aClaim().on(pool))
    await Promise.all(
      made.map(async claim => {
        await world.create(claim)
        await world.delete(claim)
      }),
    )
    await world.eventually(async () => {
      expect(await world.list(claims)).toEqual([])
      expect(await world.list(reports)).toEqual([])
    })
    await holdsBecome(world, pool, 0)
    await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
  })
})

describe('Pools that have nothing to do with each other', () => {
  test('in two namespaces give out the same address, each its own', async () => {
    const world = await aWorld()
    const there = await world.anotherNamespace()
    const here = await world.create(aPool().named('same').withAddresses('10.0.1.7'))
    const away = await world.create(aPool().named('same').withAddresses('10.0.1.7').in(there))
    await aServedClaim(world, aClaim().on(here), '10.0.1.7')
    await aServedClaim(world, aClaim().on(away).in(there), '10.0.1.7')
  })

  test('of one name, one global and one not, give out the same address, each its own', async () => {
    const world = await aWorld()
    const global = aGlobalPool().withAddresses('10.0.1.7')
    await world.create(global)
    const local = await world.create(
      aPool()
        .named(global.object.metadata.name ?? '')
        .withAddresses('10.0.1.7'),
    )
    await aServedClaim(world, aClaim().on(global), '10.0.1.7')
    await aServedClaim(world, aClaim().on(local), '10.0.1.7')
  })
})

describe('A hundred claims that a pool lets go at once', () => {
  test('do not go for the same address', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().paused())
    for (let i = 0; i < 100; i++) await world.create(aClaim().on(pool))
    await world.pass(1_000)
    await world.patch(pool, { metadata: { annotations: { 'cluster.x-k8s.io/paused': null } } })
    await world.eventually(async () => {
      const served = (await world.list(claims)).filter(({ status }) => status?.addressRef !== undefined)
      expect(served.length).toBe(100)
    }, 60_000)
    const taken = world.desk.writes.filter(write => write.startsWith('POST') && write.includes('/holds'))
    expect(taken.length).toBeLessThan(110)
  })
})

/** A server takes its time for each: some hundred are as many at once as it can work on. */
const many = isInProcess ? 1000 : 200

describe('A thousand claims at once', () => {
  test('get a thousand different addresses', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses('10.8.0.0/21').withPrefix(21))
    const made = Array.from({ length: many }, () => aClaim().on(pool))
    // A server takes some hundred requests at once, and refuses the rest.
    for (let i = 0; i < made.length; i += 100) {
      await Promise.all(made.slice(i, i + 100).map(claim => world.create(claim)))
    }
    await world.eventually(async () => {
      const served = (await world.list(claims)).filter(({ status }) => status?.addressRef !== undefined)
      expect(served.length).toBe(many)
    }, 60_000)
    const addresses = (await world.list(reports)).map(({ spec }) => spec.address)
    expect(new Set(addresses).size).toBe(many)
    // As many requests as a binding has writes, and few that were in vain.
    expect(world.desk.writes.filter(write => !write.includes('events')).length).toBeLessThan(4.4 * many)
    if (isInProcess) return
    // Other tests have to live with what this one leaves.
    for (let i = 0; i < made.length; i += 100) {
      await Promise.all(made.slice(i, i + 100).map(claim => world.delete(claim)))
    }
    await world.eventually(async () => expect(await world.list(claims)).toEqual([]), 120_000)
  })
})
