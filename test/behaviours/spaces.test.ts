// Which space a pool gives addresses out of. A space is a set of addresses in which each may be held only once: a tenant with a
// pool in it can take addresses away from the other pools in it.

import { describe, expect, test } from 'vitest'
import { aClaim, aClusterAddressPool, anAddressPool, aPool } from './builders.ts'
import { aServedClaim, holdsOf, isServed, readyOf, saysWhy, staysUnserved } from './promises.ts'
import { aCUDN, aHome, aUDN, isRendered, layer2, primaryLabel } from './user-defined-networks.ts'
import { aWorld, type Stored, type World } from './world.ts'

/** No two tests share a space of the cluster. */
let count = 0
const run = Math.random().toString(36).slice(2, 7)
const aSpace = (): string => `Space_${run}.${++count}`

async function spaceOf(world: World, pool: Stored, space: string): Promise<void> {
  await world.eventually(async () => expect((await world.get(pool))?.status?.space).toBe(space))
}

async function isRefused(world: World, pool: Stored, sentence: RegExp): Promise<void> {
  await world.eventually(async () => {
    const ready = readyOf(await world.get(pool))
    expect(ready).toMatchObject({ status: 'False', reason: 'SpaceNotOffered' })
    expect(ready?.message).toMatch(sentence)
  })
}

async function isUndecided(world: World, pool: Stored, sentence: RegExp): Promise<void> {
  await world.eventually(async () => {
    const ready = readyOf(await world.get(pool))
    expect(ready).toMatchObject({ status: 'False', reason: 'SpaceUndecided' })
    expect(ready?.message).toMatch(sentence)
  })
}

describe('A tenant that names the space of another team', () => {
  test('is refused with a sentence, takes no address of it, and starves no claim', async () => {
    const world = await aWorld()
    const space = aSpace()
    const [red, blue] = [await world.anotherNamespace({ team: 'red' }), await world.anotherNamespace({ team: 'blue' })]
    const offered = { allowedNamespaces: { matchLabels: { team: 'red' } } }
    const lab = await world.create(
      aClusterAddressPool()
        .withAddresses('10.0.1.7')
        .with({ space, ...offered }),
    )
    const greedy = await world.create(anAddressPool().in(blue).withAddresses('10.0.1.0/24').with({ space }))
    await isRefused(
      world,
      greedy,
      new RegExp(`space ${space} is not offered to namespace ${blue}: .* choose another name`),
    )
    const thief = await world.create(aClaim().in(blue).on(greedy))
    await saysWhy(world, thief, 'PoolNotReady', /is not offered to namespace/)
    await aServedClaim(world, aClaim().in(red).on(lab), '10.0.1.7')
    await staysUnserved(world, thief)
    expect(await holdsOf(world, greedy)).toEqual([])
  })

  test('gets nothing by writing into the status what was not decided', async () => {
    const world = await aWorld()
    const space = aSpace()
    const blue = await world.anotherNamespace({ team: 'blue' })
    await world.create(aClusterAddressPool().with({ space, allowedNamespaces: { matchLabels: { team: 'red' } } }))
    const greedy = await world.create(anAddressPool().in(blue).withAddresses('10.0.1.0/24').with({ space }))
    await isRefused(world, greedy, /is not offered/)
    await world.patch(greedy, { status: { space } }, 'status')
    const thief = await world.create(aClaim().in(blue).on(greedy))
    await saysWhy(world, thief, 'PoolNotReady', /is not offered to namespace/)
    expect(await holdsOf(world, greedy)).toEqual([])
  })

  test('is refused when one of two pools of the space is not offered to it', async () => {
    const world = await aWorld()
    const space = aSpace()
    const blue = await world.anotherNamespace({ team: 'blue' })
    await world.create(aClusterAddressPool().withAddresses('10.0.1.0/25').with({ space }))
    await world.create(
      aClusterAddressPool()
        .withAddresses('10.0.1.128/25')
        .with({ space, allowedNamespaces: { matchLabels: { team: 'red' } } }),
    )
    const greedy = await world.create(anAddressPool().in(blue).withAddresses('10.0.1.128/25').with({ space }))
    await isRefused(world, greedy, /is not offered/)
  })

  test('is refused the own space of a pool of another namespace', async () => {
    const world = await aWorld()
    const theirs = await world.create(aPool().withAddresses('10.0.1.0/24'))
    const blue = await world.anotherNamespace()
    const space = `InClusterIPPool.ipam.cluster.x-k8s.io/${world.home}/${theirs.metadata.name}`
    const greedy = await world.create(anAddressPool().in(blue).withAddresses('10.0.1.0/24').with({ space }))
    await isRefused(world, greedy, /own space of a pool of another namespace/)
  })
})

describe('A space that is offered to a namespace', () => {
  test('is shared: an address is held once, whichever pool gave it', async () => {
    const world = await aWorld()
    const space = aSpace()
    const red = await world.anotherNamespace({ team: 'red' })
    const allowedNamespaces = { matchLabels: { team: 'red' } }
    const wide = await world.create(
      aClusterAddressPool().withAddresses('10.0.1.7-10.0.1.8').with({ space, allowedNamespaces }),
    )
    const own = await world.create(anAddressPool().in(red).withAddresses('10.0.1.7-10.0.1.8').with({ space }))
    await spaceOf(world, own, space)
    await aServedClaim(world, aClaim().in(red).on(wide), '10.0.1.7')
    await aServedClaim(world, aClaim().in(red).on(own), '10.0.1.8')
    const [hold] = await holdsOf(world, own)
    expect(hold?.spec.space).toBe(space)
    await saysWhy(world, await world.create(aClaim().in(red).on(own)), 'PoolExhausted')
  })

  test('is closed again when the namespace loses the label; holders keep what they have', async () => {
    const world = await aWorld()
    const space = aSpace()
    const red = await world.anotherNamespace({ team: 'red' })
    await world.create(aClusterAddressPool().with({ space, allowedNamespaces: { matchLabels: { team: 'red' } } }))
    const own = await world.create(anAddressPool().in(red).withAddresses('10.0.1.0/24').with({ space }))
    const early = await aServedClaim(world, aClaim().in(red).on(own))
    await world.patch(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: red } },
      { metadata: { labels: { team: null } } },
    )
    await isRefused(world, own, /is not offered/)
    await saysWhy(world, await world.create(aClaim().in(red).on(own)), 'PoolNotReady')
    await isServed(world, early)
  })

  test('opens when the namespace gets the label: what waits is served', async () => {
    const world = await aWorld()
    const space = aSpace()
    const red = await world.anotherNamespace()
    await world.create(aClusterAddressPool().with({ space, allowedNamespaces: { matchLabels: { team: 'red' } } }))
    const own = await world.create(anAddressPool().in(red).withAddresses('10.0.1.0/24').with({ space }))
    const claim = await world.create(aClaim().in(red).on(own))
    await saysWhy(world, claim, 'PoolNotReady', /is not offered/)
    await world.patch(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: red } },
      { metadata: { labels: { team: 'red' } } },
    )
    await isServed(world, claim)
    await spaceOf(world, own, space)
  })
})

describe('A name that no pool of the cluster has', () => {
  test("is a space of the namespace's own, and shared by its pools alone", async () => {
    const world = await aWorld()
    const space = aSpace()
    const other = await world.anotherNamespace()
    const [one, two] = [
      await world.create(anAddressPool().withAddresses('10.0.1.7').with({ space })),
      await world.create(anAddressPool().withAddresses('10.0.1.7').with({ space })),
    ]
    const strangers = await world.create(anAddressPool().in(other).withAddresses('10.0.1.7').with({ space }))
    await aServedClaim(world, aClaim().on(one), '10.0.1.7')
    await saysWhy(world, await world.create(aClaim().on(two)), 'PoolExhausted')
    await aServedClaim(world, aClaim().in(other).on(strangers), '10.0.1.7')
    await spaceOf(world, one, `${world.home}/${space}`)
    await spaceOf(world, strangers, `${other}/${space}`)
  })

  test('stays that when a pool of the cluster gets the name later', async () => {
    const world = await aWorld()
    const space = aSpace()
    const own = await world.create(anAddressPool().withAddresses('10.0.1.7-10.0.1.8').with({ space }))
    await aServedClaim(world, aClaim().on(own), '10.0.1.7')
    const late = await world.create(aClusterAddressPool().withAddresses('10.0.1.7').with({ space }))
    await aServedClaim(world, aClaim().on(late), '10.0.1.7')
    await aServedClaim(world, aClaim().on(own), '10.0.1.8')
    await spaceOf(world, own, `${world.home}/${space}`)
    await world.desk.stop()
    await world.desk.start()
    await spaceOf(world, own, `${world.home}/${space}`)
  })

  test('stays that for all pools of the namespace, also for those that are made later', async () => {
    const world = await aWorld()
    const space = aSpace()
    const early = await world.create(anAddressPool().withAddresses('10.0.1.7').with({ space }))
    await spaceOf(world, early, `${world.home}/${space}`)
    await world.heard(await world.create(aClusterAddressPool().withAddresses('10.0.1.7').with({ space })))
    const late = await world.create(anAddressPool().withAddresses('10.0.1.7').with({ space }))
    await aServedClaim(world, aClaim().on(early), '10.0.1.7')
    await saysWhy(world, await world.create(aClaim().on(late)), 'PoolExhausted')
    await spaceOf(world, late, `${world.home}/${space}`)
  })
})

describe('The name of a network that is defined, and has no NetworkAttachmentDefinition yet', () => {
  const kinds: [string, (world: World) => Promise<{ red: string; network: Stored; space: string }>][] = [
    [
      'ClusterUserDefinedNetwork',
      async world => {
        const team = aSpace()
        const red = await world.anotherNamespace({ team })
        const network = await world.create(aCUDN(team, layer2()))
        return { red, network, space: `cluster_udn_${network.metadata.name}` }
      },
    ],
    [
      'UserDefinedNetwork',
      async world => {
        const red = await world.anotherNamespace()
        const network = await world.create(aUDN(red, layer2()))
        return { red, network, space: `${red}_${network.metadata.name}` }
      },
    ],
  ]

  test.each(kinds)('is waited for by a pool that names it, which then shares its addresses: %s', async (_, define) => {
    const world = await aWorld()
    const { red, network, space } = await define(world)
    const pool = await world.create(anAddressPool().in(red).withAddresses('10.0.0.3').with({ space }))
    await isUndecided(world, pool, /is defined and cannot be used yet/)
    const claim = await world.create(aClaim().in(red).on(pool))
    await saysWhy(world, claim, 'PoolNotReady')
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: red } }
    await world.patch(namespace, { metadata: { labels: { [primaryLabel]: '' } } })
    await isRendered(world, network, red)
    await spaceOf(world, pool, space)
    await isServed(world, claim, '10.0.0.3')
  })
})

describe('The gateway of a pool of the cluster', () => {
  test('is given to no claim by another pool of its space', async () => {
    const world = await aWorld()
    const space = aSpace()
    await world.create(aClusterAddressPool().withAddresses('10.0.1.0/24').withGateway('10.0.1.7').with({ space }))
    const other = await world.create(aClusterAddressPool().withAddresses('10.0.1.7-10.0.1.8').with({ space }))
    await aServedClaim(world, aClaim().on(other), '10.0.1.8')
    await saysWhy(world, await world.create(aClaim().on(other)), 'PoolExhausted')
    await saysWhy(world, await world.create(aClaim().on(other).asking('10.0.1.7')), 'AllocationFailed')
  })

  test('is kept by a pool of a namespace from its own claims alone', async () => {
    const world = await aWorld()
    const space = aSpace()
    const wide = await world.create(aClusterAddressPool().withAddresses('10.0.1.7').with({ space }))
    const own = await world.create(anAddressPool().withAddresses('10.0.1.0/24').withGateway('10.0.1.7').with({ space }))
    await spaceOf(world, own, space)
    await aServedClaim(world, aClaim().on(wide), '10.0.1.7')
  })
})

describe('A former gateway of a pool of a namespace', () => {
  test('is given to no claim by another pool of its space, until the space is closed to it', async () => {
    const world = await aWorld()
    const space = aSpace()
    const [red, other] = [await world.anotherNamespace({ team: 'red' }), await world.anotherNamespace({ team: 'red' })]
    const offered = { allowedNamespaces: { matchLabels: { team: 'red' } } }
    const wide = await world.create(
      aClusterAddressPool()
        .withAddresses('10.0.1.7')
        .with({ space, ...offered }),
    )
    const own = await world.create(
      anAddressPool().in(red).withAddresses('10.0.1.0/24').withGateway('10.0.1.7').with({ space }),
    )
    await spaceOf(world, own, space)
    await aServedClaim(world, aClaim().in(red).on(own))
    await world.patch(own, { spec: { gateway: '10.0.1.1' } })
    const late = await world.create(aClaim().in(other).on(wide))
    await saysWhy(world, late, 'PoolExhausted')
    await world.patch(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: red } },
      { metadata: { labels: { team: null } } },
    )
    await isServed(world, late, '10.0.1.7')
  })
})

describe('What a network keeps for itself', () => {
  test.each<[string, Readonly<Record<string, unknown>>, string, readonly string[]]>([
    ['its gateway and management address', {}, '10.0.0.1-10.0.0.3', ['10.0.0.3']],
    [
      'all of its infrastructure',
      { infrastructureSubnets: ['10.0.0.8/29'] },
      '10.0.0.7-10.0.0.16',
      ['10.0.0.7', '10.0.0.16'],
    ],
    [
      'an infrastructure of very many addresses',
      { subnets: ['fd00:10::/64'], infrastructureSubnets: ['fd00:10::/65'] },
      'fd00:10::3-fd00:10:0:0:8000::',
      ['fd00:10:0:0:8000::'],
    ],
  ])('is given to no claim by another pool of its space: %s', async (_, config, range, given) => {
    const world = await aWorld()
    const team = aSpace()
    const red = await aHome(world, { team })
    const cudn = await world.create(aCUDN(team, layer2(config)))
    await isRendered(world, cudn, red)
    const space = `cluster_udn_${cudn.metadata.name}`
    const pool = await world.create(aClusterAddressPool().withAddresses(range).with({ space }))
    for (const ip of given) await aServedClaim(world, aClaim().on(pool), ip)
    await saysWhy(world, await world.create(aClaim().on(pool)), 'PoolExhausted')
    await world.eventually(async () => {
      const { addresses, conditions } = (await world.get(pool))?.status ?? {}
      expect(addresses).toMatchObject({ free: 0, held: given.length })
      expect(conditions).toContainEqual(expect.objectContaining({ type: 'Exhausted', status: 'True' }))
    })
  })

  test('is kept by a network of a tenant from its own claims alone', async () => {
    const world = await aWorld()
    const red = await aHome(world)
    const udn = await world.create(aUDN(red, layer2({ infrastructureSubnets: ['10.0.0.0/30'] })))
    await isRendered(world, udn, red)
    const space = `${red}_${udn.metadata.name}`
    const wide = await world.create(aClusterAddressPool().withAddresses('10.0.0.1-10.0.0.3').with({ space }))
    for (const ip of ['10.0.0.1', '10.0.0.2', '10.0.0.3']) await aServedClaim(world, aClaim().on(wide), ip)
  })
})

describe('The space of another pool', () => {
  test('is joined by naming the pool, within a namespace', async () => {
    const world = await aWorld()
    const first = await world.create(aPool().withAddresses('10.0.1.7'))
    const space = `InClusterIPPool.ipam.cluster.x-k8s.io/${world.home}/${first.metadata.name}`
    const second = await world.create(anAddressPool().withAddresses('10.0.1.7').with({ space }))
    await aServedClaim(world, aClaim().on(first), '10.0.1.7')
    await saysWhy(world, await world.create(aClaim().on(second)), 'PoolExhausted')
    await spaceOf(world, second, space)
  })

  test('is waited for by a pool that names it first', async () => {
    const world = await aWorld()
    const first = aPool().withAddresses('10.0.1.7')
    const space = `InClusterIPPool.ipam.cluster.x-k8s.io/${world.home}/${first.object.metadata.name}`
    const [own, wide] = [
      await world.create(anAddressPool().withAddresses('10.0.1.7').with({ space })),
      await world.create(aClusterAddressPool().withAddresses('10.0.1.7').with({ space })),
    ]
    for (const pool of [own, wide]) {
      await world.eventually(async () =>
        expect(readyOf(await world.get(pool))).toMatchObject({ status: 'False', reason: 'SpaceUndecided' }),
      )
    }
    await world.create(first)
    for (const pool of [own, wide]) await spaceOf(world, pool, space)
    await aServedClaim(world, aClaim().on(wide), '10.0.1.7')
    await saysWhy(world, await world.create(aClaim().on(own)), 'PoolExhausted')
  })

  test('is not taken for the space that the other pool itself names: a pool that names it is told that one', async () => {
    const world = await aWorld()
    const space = aSpace()
    const first = await world.create(anAddressPool().withAddresses('10.0.1.7').with({ space }))
    await spaceOf(world, first, `${world.home}/${space}`)
    const key = `AddressPool.mooring.dev/${world.home}/${first.metadata.name}`
    for (const draft of [anAddressPool(), aClusterAddressPool()]) {
      const pool = await world.create(draft.withAddresses('10.0.1.7').with({ space: key }))
      await world.eventually(async () => {
        const ready = readyOf(await world.get(pool))
        expect(ready?.status).toBe('False')
        expect(ready?.message).toContain(`is in space`)
      })
      await saysWhy(world, await world.create(aClaim().on(pool)), 'PoolNotReady', /is in space/)
    }
  })

  test('is joined by a ClusterAddressPool, in whichever namespace the pool is', async () => {
    const world = await aWorld()
    const first = await world.create(aPool().withAddresses('10.0.1.7'))
    const space = `InClusterIPPool.ipam.cluster.x-k8s.io/${world.home}/${first.metadata.name}`
    const second = await world.create(aClusterAddressPool().withAddresses('10.0.1.7').with({ space }))
    await aServedClaim(world, aClaim().on(first), '10.0.1.7')
    await saysWhy(world, await world.create(aClaim().on(second)), 'PoolExhausted')
  })
})
