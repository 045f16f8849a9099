// Which addresses networks of OVN-Kubernetes give to virtual machines: which one is the first, what is asked for in the status of
// a claim, and that they last, on every topology.

import { describe, expect, test } from 'vitest'
import {
  aClaimByHand,
  anOVNNetwork,
  aPrimaryNetwork,
  configOf,
  hasAddresses,
  isTold,
  keyOf,
  locksIn,
  Machine,
  nothingIsHeld,
  says,
  waitsFor,
  wishing,
} from './machines.ts'
import { isGone } from './promises.ts'
import { aWorld } from './world.ts'

const localnet = { topology: 'localnet', physicalNetworkName: 'physnet' }

describe('A network gives out', () => {
  test('one address of each family after the other', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    for (const at of [1, 2, 3]) {
      const machine = await Machine.made(world, [network])
      await hasAddresses(world, machine.claim(), [`10.100.0.${at}/24`, `fd00:100::${at}/64`])
    }
  })

  test.each<[string, Record<string, unknown>, string[]]>([
    ['that excludes its first eight', { subnets: '10.1.1.0/24', excludeSubnets: '10.1.1.0/29' }, ['10.1.1.8/24']],
    [
      'that reserves both ends',
      { subnets: '10.1.1.0/24', reservedSubnets: '10.1.1.0/28,10.1.1.240/28', excludeSubnets: '10.1.1.200/29' },
      ['10.1.1.16/24'],
    ],
    ['of IPv6 alone', { subnets: 'fd00:1::/64' }, ['fd00:1::1/64']],
    ['on a localnet', { ...localnet, subnets: '10.3.0.0/24' }, ['10.3.0.1/24']],
    ['of two addresses', { subnets: '10.4.0.0/30' }, ['10.4.0.1/30']],
    ['written with spaces', { subnets: ' 10.5.0.0/24 , fd00:5::/64 ' }, ['10.5.0.1/24', 'fd00:5::1/64']],
  ])('the first of a subnet %s', async (_, config, ips) => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(config))
    const machine = await Machine.made(world, [network])
    await hasAddresses(world, machine.claim(), ips)
  })

  test('neither gateway nor management address in the place of the pod network', async () => {
    const world = await aWorld()
    const home = await world.anotherNamespace()
    const config = {
      subnets: '192.168.100.0/24',
      infrastructureSubnets: '192.168.100.0/30',
      reservedSubnets: '192.168.100.200/29',
      defaultGatewayIPs: '192.168.100.2',
    }
    await world.create(aPrimaryNetwork(home, config))
    const machine = await Machine.made(world, [{ name: 'podnet' }], undefined, home)
    await hasAddresses(world, machine.claim('podnet'), ['192.168.100.4/24'])
    expect((await world.get(machine.claim('podnet')))?.spec.interface).toBe('eth0')
  })

  test.each([
    ['excludes them too', { excludeSubnets: '10.100.0.1/32,10.100.0.2/32' }, '10.100.0.3/24'],
    ['reserves a range that has them', { reservedSubnets: '10.100.0.0/28' }, '10.100.0.16/24'],
  ])('them neither where the network %s', async (_, config, ip) => {
    const world = await aWorld()
    const home = await world.anotherNamespace()
    await world.create(aPrimaryNetwork(home, { subnets: '10.100.0.0/24', ...config }))
    const machine = await Machine.made(world, [{ name: 'podnet' }], undefined, home)
    await hasAddresses(world, machine.claim('podnet'), [ip])
  })

  test('none where it has no subnets, and says so', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork({ subnets: undefined }))
    const machine = await Machine.made(world, [network])
    await waitsFor(world, machine.claim(), 'NetworkNotFound', /has no subnets/)
  })
})

describe('Through stops, starts and live migrations', () => {
  test.each<[string, Record<string, unknown>]>([
    ['a layer2 network', {}],
    ['a localnet network', localnet],
    ['a layer2 network of IPv4', { subnets: '10.100.0.0/24' }],
    ['a layer2 network of IPv6', { subnets: 'fd00:100::/64' }],
  ])('a virtual machine on %s keeps its addresses', async (_, config) => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(config))
    const machine = await Machine.made(world, [network])
    const first = await machine.started()
    const ips = await hasAddresses(world, machine.claim())
    await isTold(world, first, keyOf(network, world), { ip_addresses: ips })
    await machine.stopped(first)
    const source = await machine.started()
    await isTold(world, source, keyOf(network, world), { ip_addresses: ips })
    const target = await machine.migrating()
    await isTold(world, target, keyOf(network, world), { ip_addresses: ips })
    await machine.ended(source)
    await hasAddresses(world, machine.claim(), ips)
    const back = await machine.migrating('node-1')
    await isTold(world, back, keyOf(network, world), { ip_addresses: ips })
    await machine.ended(target)
    await hasAddresses(world, machine.claim(), ips)
  })

  test.each<[string, Record<string, unknown>]>([
    ['a layer2 network', {}],
    ['a localnet network', localnet],
  ])('a lone instance on %s keeps its addresses in a live migration', async (_, config) => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(config))
    const machine = await Machine.lone(world, [network])
    const source = await machine.started()
    const ips = await hasAddresses(world, machine.claim())
    const target = await machine.migrating()
    await isTold(world, target, keyOf(network, world), { ip_addresses: ips })
    await machine.ended(source)
    await hasAddresses(world, machine.claim(), ips)
    await world.delete(machine.vmi)
    await machine.ended(target)
    await machine.letGoOfInstance()
    await isGone(world, machine.claim())
    await nothingIsHeld(world, network)
  })

  test('a virtual machine in the place of the pod network keeps its addresses', async () => {
    const world = await aWorld()
    const home = await world.anotherNamespace()
    await world.create(aPrimaryNetwork(home))
    const machine = await Machine.made(world, [{ name: 'podnet' }], undefined, home)
    const pod = await machine.started()
    const ips = await hasAddresses(world, machine.claim('podnet'))
    await machine.stopped(pod)
    const source = await machine.started()
    await machine.migrating()
    await machine.ended(source)
    await hasAddresses(world, machine.claim('podnet'), ips)
  })
})

describe('What the status of a claim shows before Mooring has seen it', () => {
  const config = {
    subnets: '10.1.1.0/24,fd00:1::/64',
    reservedSubnets: '10.1.1.0/28',
    excludeSubnets: '10.1.1.200/29',
  }

  test.each([
    ['any address of its subnets', ['10.1.1.77/24', 'fd00:1::77/64']],
    ['what is reserved for requests', ['10.1.1.5/24', 'fd00:1::5/64']],
    ['an IPv6 address far beyond the first 65536', ['10.1.1.78/24', 'fd00:1::ffff:0:0:5/64']],
    ['IPv6 first', ['fd00:1::79/64', '10.1.1.79/24']],
  ])('is served: %s', async (_, ips) => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(config))
    await hasAddresses(world, await wishing(world, network, ips), ips)
  })

  test.each([
    ['an excluded address', ['10.1.1.202/24', 'fd00:1::5/64'], 'IPAddressExcluded'],
    ['the network address', ['10.1.1.0/24', 'fd00:1::5/64'], 'IPAddressReserved'],
    ['the broadcast address', ['10.1.1.255/24', 'fd00:1::5/64'], 'IPAddressReserved'],
    ['an address of no subnet', ['10.1.2.5/24', 'fd00:1::5/64'], 'IPAddressOutOfSubnet'],
    ['another length than that of the subnet', ['10.1.1.5/16', 'fd00:1::5/64'], 'IPPrefixMismatch'],
    ['one family of two', ['10.1.1.5/24'], 'IPFamilyMismatch'],
    ['the other family of two', ['fd00:1::5/64'], 'IPFamilyMismatch'],
    ['two of one family', ['10.1.1.5/24', '10.1.1.6/24'], /InvalidIPAddress|IPFamilyMismatch/],
    ['no address', ['nothing'], 'InvalidIPAddress'],
    ['an address without its length', ['10.1.1.5', 'fd00:1::5'], 'InvalidIPAddress'],
  ])('is refused with its own reason: %s', async (_, ips, reason) => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(config))
    const claim = await wishing(world, network, ips)
    await says(world, claim, reason, ips)
    expect(await locksIn(world, configOf(network).name)).toEqual([])
    await hasAddresses(world, (await Machine.made(world, [network])).claim(), ['10.1.1.16/24', 'fd00:1::1/64'])
  })

  test('is refused where it is of a family that the network does not have', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork({ subnets: '10.1.1.0/24' }))
    const ips = ['10.1.1.5/24', 'fd00:1::5/64']
    await says(world, await wishing(world, network, ips), 'IPFamilyMismatch', ips)
  })
})

describe('A claim on a network that does not keep addresses', () => {
  test('is served where a user makes it, and a pod that names it is told', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork({ subnets: '10.100.0.0/24', allowPersistentIPs: false }))
    const claim = await world.create(aClaimByHand(network))
    const ips = await hasAddresses(world, claim)
    const machine = await Machine.made(world, [network])
    const element = { name: network.metadata.name, 'ipam-claim-reference': claim.metadata.name }
    const pod = await machine.started({ annotations: { 'k8s.v1.cni.cncf.io/networks': JSON.stringify([element]) } })
    await isTold(world, pod, keyOf(network, world), { ip_addresses: ips })
  })
})
