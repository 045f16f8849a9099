// Kinds that are installed and cannot be read: what needs them waits and says so, and nothing else does. What they would show is
// given to no claim meanwhile.

import { describe, expect, test } from 'vitest'
import { addressPoolKind } from '../../src/api/address-pool.ts'
import { inClusterPoolKind } from '../../src/api/in-cluster-pool.ts'
import { aClaim, aClusterAddressPool, anAddressFor, anAddressPool, aPool } from './builders.ts'
import { aBridge, anOVNNetwork, configOf, hasAddresses, Machine } from './machines.ts'
import { aFleet, aValue } from './migration-fleet.ts'
import { isServed, saysWhy, staysUnserved } from './promises.ts'
import { aClaimFor, aCUDN, aHome, isRendered, layer2 } from './user-defined-networks.ts'
import { aWorld, type World } from './world.ts'

/** Starts its desks anew, without the permission to read these kinds. */
async function withoutReading(world: World, ...plurals: readonly string[]): Promise<void> {
  await world.desk.stop()
  world.desk.forbid(({ method, path }) => method === 'GET' && plurals.some(plural => path.includes(`/${plural}?`)))
  await world.desk.start()
}

const mayReadAgain = (world: World): void => world.desk.forbid(() => false)

const states = (world: World): Record<string, string> =>
  Object.fromEntries(world.desk.states().map(({ name, state }) => [name, state]))

const reasonsOf = (world: World, desk: string): readonly string[] =>
  world.desk
    .states()
    .find(({ name }) => name === desk)
    ?.reasons() ?? []

/** As long as a reflector may wait before it asks again. */
const recoveryMs = 120_000

describe('An IPAddress that cannot be read', () => {
  test('is given to no virtual machine in a space that it shares with pools, while the capi desk is off', async () => {
    const world = await aWorld({ on: ['vm'] })
    const network = await world.create(anOVNNetwork())
    const { name: space } = configOf(network)
    const pool = await world.create(
      aClusterAddressPool().withAddresses('10.100.0.1-10.100.0.9').with({ space, prefix: 24 }),
    )
    await world.create(anAddressFor(aClaim().named('by-hand').on(pool), '10.100.0.1', { prefix: 24 }))
    await withoutReading(world, 'ipaddresses')
    const machine = await Machine.made(world, [network])
    await world.eventually(async () => {
      const [, said] = (await world.get(machine.claim()))?.status?.conditions ?? []
      expect(said?.message).toContain('cannot read ipaddresses.ipam.cluster.x-k8s.io')
    })
    // A network whose space has no pools is served: no IPAddress can show an address of it.
    const apart = await Machine.made(world, [await world.create(anOVNNetwork())])
    await hasAddresses(world, apart.claim(), ['10.100.0.1/24', 'fd00:100::1/64'])
    expect(world.desk.metrics()).toContain('mooring_kind_unread{resource="ipaddresses.ipam.cluster.x-k8s.io"} 1\n')
    expect(world.desk.log).toContainEqual(
      expect.objectContaining({ level: 'error', msg: 'a kind that can show an address in use cannot be read' }),
    )
    mayReadAgain(world)
    await world.eventually(() => hasAddresses(world, machine.claim(), ['10.100.0.2/24', 'fd00:100::1/64']), recoveryMs)
    expect(world.desk.metrics()).toContain('mooring_kind_unread{resource="ipaddresses.ipam.cluster.x-k8s.io"} 0\n')
  })
})

describe('An IPAddress that cannot be read any more', () => {
  test('still counts, and closes no space', async () => {
    const world = await aWorld({ on: ['vm'] })
    const network = await world.create(anOVNNetwork())
    const { name: space } = configOf(network)
    const pool = await world.create(
      aClusterAddressPool().withAddresses('10.100.0.1-10.100.0.9').with({ space, prefix: 24 }),
    )
    const shown = await world.create(anAddressFor(aClaim().named('by-hand').on(pool), '10.100.0.1', { prefix: 24 }))
    await world.heard(shown)
    world.desk.forbid(({ method, path }) => method === 'GET' && path.includes('/ipaddresses?'))
    await world.eventually(() => {
      world.desk.endWatches()
      expect(world.desk.metrics()).toContain('mooring_kind_unread{resource="ipaddresses.ipam.cluster.x-k8s.io"} 1\n')
    })
    const machine = await Machine.made(world, [network])
    await hasAddresses(world, machine.claim(), ['10.100.0.2/24', 'fd00:100::1/64'])
  })
})

describe('Pods that cannot be read', () => {
  test('stop the desk of virtual machines, and claims on pools of spaces that networks are in, and no other claim', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const { name: space } = configOf(network)
    const shared = await world.create(
      aClusterAddressPool().withAddresses('10.100.0.1-10.100.0.9').with({ space, prefix: 24 }),
    )
    const named = await world.create(anAddressPool().withAddresses('10.101.0.1-10.101.0.9'))
    const { kind, metadata } = named
    await world.create(aBridge({ type: 'mooring', pool: { kind, name: metadata.name } }))
    const apart = await world.create(aPool().withAddresses('10.0.7.1-10.0.7.9'))
    await withoutReading(world, 'pods')
    const [late, behind] = [await world.create(aClaim().on(shared)), await world.create(aClaim().on(named))]
    await isServed(world, await world.create(aClaim().on(apart)), '10.0.7.1')
    for (const claim of [late, behind]) await saysWhy(world, claim, 'PoolNotReady', /cannot read pods/)
    expect(states(world)).toMatchObject({ office: 'working', capi: 'working', vm: 'waiting' })
    expect(reasonsOf(world, 'vm')).toEqual([expect.stringMatching(/^pods cannot be read: /)])
    mayReadAgain(world)
    for (const claim of [late, behind]) await world.eventually(() => isServed(world, claim), recoveryMs)
    expect(states(world)).toMatchObject({ vm: 'working' })
  })
})

describe('IPPools of networks that cannot be read', () => {
  test('stop the desks of networks, which say so, and no other', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses('10.0.8.1-10.0.8.9'))
    await withoutReading(world, 'ippool.k8s.cni.cncf.io/v1alpha/ippools')
    await isServed(world, await world.create(aClaim().on(pool)), '10.0.8.1')
    const waiting = Object.keys(states(world)).filter(desk => states(world)[desk] === 'waiting')
    expect(waiting).toEqual(['vm', 'import', 'migration'])
    const reason = expect.stringMatching(/^ippools\.ippool\.k8s\.cni\.cncf\.io cannot be read: /)
    for (const desk of ['vm', 'import']) expect(reasonsOf(world, desk)).toContainEqual(reason)
    mayReadAgain(world)
    await world.eventually(() => expect(states(world)).toMatchObject({ vm: 'working', import: 'working' }), recoveryMs)
  })
})

describe('ClusterUserDefinedNetworks that cannot be read', () => {
  test('stop the desk that renders them and no other, and nothing new is given where networks are', async () => {
    const world = await aWorld()
    const home = await aHome(world, { team: 'unread' })
    const spec = layer2({ subnets: ['10.0.0.0/24'], infrastructureSubnets: ['10.0.0.0/28'] })
    const network = await world.create(aCUDN('unread', spec))
    await isRendered(world, network, home)
    const space = `cluster_udn_${network.metadata.name}`
    const shared = await world.create(aClusterAddressPool().withAddresses('10.0.0.9', '10.0.0.99').with({ space }))
    const apart = await world.create(aPool().withAddresses('10.0.10.1-10.0.10.9'))
    await withoutReading(world, 'clusteruserdefinednetworks')
    const claim = await world.create(aClaim().on(shared))
    const interfaceClaim = await world.create(aClaimFor(space, home))
    await isServed(world, await world.create(aClaim().on(apart)), '10.0.10.1')
    await saysWhy(world, claim, 'PoolNotReady', /cannot read clusteruserdefinednetworks/)
    await world.eventually(async () => {
      const said = (await world.get(interfaceClaim))?.status?.conditions
      expect(JSON.stringify(said)).toContain('cannot read clusteruserdefinednetworks.k8s.ovn.org')
    })
    const waiting = Object.keys(states(world)).filter(desk => states(world)[desk] === 'waiting')
    expect(waiting).toEqual(['import'])
    expect(reasonsOf(world, 'import')).toEqual([
      expect.stringMatching(/^clusteruserdefinednetworks\.k8s\.ovn\.org cannot be read: /),
    ])
    mayReadAgain(world)
    // The first addresses of the network are kept for the infrastructure.
    await world.eventually(() => isServed(world, claim, '10.0.0.99'), recoveryMs)
    await world.eventually(() => hasAddresses(world, interfaceClaim, ['10.0.0.16/24']), recoveryMs)
    expect(states(world)).toMatchObject({ import: 'working' })
  })
})

describe('Claims of Cluster API that cannot be read', () => {
  test('stop the desk of Machines, also where it is alone', async () => {
    const world = await aWorld({ on: ['machine'] })
    await withoutReading(world, 'ipaddressclaims')
    await world.eventually(() => expect(states(world)).toEqual({ office: 'working', machine: 'waiting' }))
    expect(reasonsOf(world, 'machine')).toEqual([
      expect.stringMatching(/^ipaddressclaims\.ipam\.cluster\.x-k8s\.io cannot be read: /),
    ])
    mayReadAgain(world)
    await world.eventually(() => expect(states(world)).toMatchObject({ machine: 'working' }), recoveryMs)
  })
})

describe('A kind of pool that cannot be read', () => {
  test('is told to its claims, and closes neither claims on other pools nor the webhooks of those', async () => {
    const world = await aWorld()
    const unread = await world.create(aPool().withAddresses('10.0.9.1-10.0.9.9'))
    const read = await world.create(anAddressPool().withAddresses('10.0.9.1-10.0.9.9'))
    await withoutReading(world, 'inclusterippools')
    const claim = await world.create(aClaim().on(unread))
    await saysWhy(world, claim, 'PoolNotReady', /cannot read inclusterippools/)
    await isServed(world, await world.create(aClaim().on(read)), '10.0.9.1')
    const [pools] = world.desk.webhookSets()
    expect(pools?.facts(inClusterPoolKind)).toBeUndefined()
    expect(pools?.facts(addressPoolKind)).toBeDefined()
    await staysUnserved(world, claim)
    mayReadAgain(world)
    await world.eventually(() => isServed(world, claim, '10.0.9.1'), recoveryMs)
  })
})

describe('A kind that shows addresses in use, and cannot be read', () => {
  test('keeps nodes waiting for addresses of a migration network, until it can be read again', async () => {
    const fleet = await aFleet({ nodes: ['node-1'] })
    const { world } = fleet
    await withoutReading(world, 'ipamclaims')
    await fleet.set(aValue({ ipam: 'mooring', range: '10.1.2.0/29' }))
    await fleet.says({
      reason: 'WaitingForAddresses',
      message: expect.stringMatching(/node-1: .*cannot read ipamclaims/),
    })
    mayReadAgain(world)
    // Nothing is written to the node meanwhile.
    await fleet.says({ status: 'True', reason: 'Completed' }, recoveryMs)
  })
})
