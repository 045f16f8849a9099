// A virtual machine asks for the MAC and the addresses it had elsewhere: it gets them, keeps them, and no other machine has them;
// or it is told why not. What a user of another namespace can ask for is at the end.

import { describe, expect, test } from 'vitest'
import { type KubeObject, keyOf as keyOfObject } from '../../src/kube/object.ts'
import { aClusterAddressPool, anAddressPool } from './builders.ts'
import {
  type Asking,
  aBridge,
  aClaimByHand,
  aHomeNetwork,
  anOVNNetwork,
  conditionOf,
  configOf,
  hasAddresses,
  heldBy,
  isTold,
  isWarned,
  keyOf,
  locksIn,
  Machine,
  macsBecome,
  macsIn,
  nextName,
  nothingIsHeld,
  type Plugged,
  says,
  toldTo,
  waitsFor,
  warningsOf,
} from './machines.ts'
import { isGone } from './promises.ts'
import { anEgressIPDefinition } from './user-defined-networks.ts'
import { aWorld, type Stored, type World } from './world.ts'

const card = '00:50:56:01:02:20'
const otherCard = '00:50:56:01:02:21'
const v4 = { subnets: '192.168.1.0/24' }
const dual = { subnets: '192.168.1.0/24,fd00:1::/64' }

/** On the pod network of the namespace of its network. */
const onPodNetwork = (world: World, network: Stored, asking: Asking, mac?: string, name = nextName('vm')) =>
  Machine.made(world, [{ name: 'net1', ...(mac !== undefined && { mac }) }], name, network.metadata.namespace, asking)

const on = (network: KubeObject, more: Partial<Plugged> = {}): Plugged => ({
  name: 'net1',
  attachment: network.metadata.name ?? '',
  ...more,
})

const asking = (...ips: string[]): Asking => ({ addresses: { net1: ips } })

async function deleted(machine: Machine, ...pods: Stored[]): Promise<void> {
  await machine.deleted()
  await machine.stopped(...pods)
  await machine.letGo()
  await isGone(machine.world, machine.claim())
}

const wordsOf = async (world: World, thing: Stored): Promise<string[]> =>
  (await warningsOf(world, thing)).map(({ reason, note }) => `${reason}: ${note}`)

describe('A machine that asks for its MAC and its address on a primary network', () => {
  test('has them in its pod, keeps them when it is stopped and moved, and gives them back when it goes (81, 91, 102, 136)', async () => {
    const world = await aWorld()
    const network = await aHomeNetwork(world, { ...v4, defaultGatewayIPs: '192.168.1.254' })
    const machine = await onPodNetwork(world, network, asking('192.168.1.5'), card)
    const pod = await machine.started()
    await hasAddresses(world, machine.claim(), ['192.168.1.5/24'])
    const entry = {
      ip_addresses: ['192.168.1.5/24'],
      mac_address: card,
      gateway_ips: ['192.168.1.254'],
      role: 'primary',
    }
    await isTold(world, pod, keyOfObject(network), entry)
    const held = { [card]: `${machine.name}.net1` }
    await macsBecome(world, network, held)
    await machine.stopped(pod)
    await world.idle(3_000)
    await macsBecome(world, network, held)
    const source = await machine.started()
    const target = await machine.migrating()
    for (const one of [source, target]) await isTold(world, one, keyOfObject(network), entry)
    await machine.ended(source)
    await world.idle(3_000)
    await macsBecome(world, network, held)
    await deleted(machine, target)
    await macsBecome(world, network, {})
    await nothingIsHeld(world, network)
  })

  test.each(['ovn-kubernetes', 'openshift-ovn-kubernetes'])(
    'may say so in the annotation of the default network, of whichever namespace that is: %s (110)',
    async namespace => {
      const world = await aWorld()
      const network = await aHomeNetwork(world, v4)
      const element = { name: 'default', namespace, mac: card, ips: ['192.168.1.5/24'] }
      const machine = await onPodNetwork(world, network, { defaultNetwork: element })
      const pod = await machine.started()
      await hasAddresses(world, machine.claim(), ['192.168.1.5/24'])
      await isTold(world, pod, keyOfObject(network), { mac_address: card, ip_addresses: ['192.168.1.5/24'] })
    },
  )

  test('and is without one has any address, and the MAC of it', async () => {
    const world = await aWorld()
    const network = await aHomeNetwork(world, { ...v4, defaultGatewayIPs: '192.168.1.254' })
    const machine = await onPodNetwork(world, network, {})
    const pod = await machine.started()
    await isTold(world, pod, keyOfObject(network), {
      ip_addresses: ['192.168.1.1/24'],
      mac_address: '0a:58:c0:a8:01:01',
    })
    expect(await macsIn(world, network)).toEqual({})
  })

  test('has what it asks for also when Mooring was away meanwhile', async () => {
    const world = await aWorld()
    const network = await aHomeNetwork(world, v4)
    await world.desk.stop()
    const machine = await onPodNetwork(world, network, asking('192.168.1.5'), card)
    const pod = await machine.started()
    await world.desk.start()
    await hasAddresses(world, machine.claim(), ['192.168.1.5/24'])
    await isTold(world, pod, keyOfObject(network), { mac_address: card })
    await world.desk.stop()
    await world.desk.start()
    await macsBecome(world, network, { [card]: `${machine.name}.net1` })
    await hasAddresses(world, machine.claim(), ['192.168.1.5/24'])
  })
})

describe('What is asked for is given', () => {
  test.each<[string, Record<string, unknown>, string[], string[]]>([
    ['of both families', dual, ['192.168.1.5', 'fd00:1::5'], ['192.168.1.5/24', 'fd00:1::5/64']],
    ['of both families, IPv6 first (H32)', dual, ['fd00:1::5', '192.168.1.5'], ['192.168.1.5/24', 'fd00:1::5/64']],
    ['of IPv4 alone, with any of IPv6 (85, 143)', dual, ['192.168.1.5'], ['192.168.1.5/24', 'fd00:1::1/64']],
    ['of IPv6 alone, with any of IPv4', dual, ['fd00:1::5'], ['192.168.1.1/24', 'fd00:1::5/64']],
    ['of a network of IPv6 (18)', { subnets: 'fd00:1::/64' }, ['fd00:1::5'], ['fd00:1::5/64']],
    ['in another spelling', dual, ['FD00:1:0::0005'], ['192.168.1.1/24', 'fd00:1::5/64']],
    ['as IPv4 in the form of IPv6 (23)', v4, ['::ffff:192.168.1.5'], ['192.168.1.5/24']],
    ['with the length of the subnet (V11)', v4, ['192.168.1.5/24'], ['192.168.1.5/24']],
    [
      'of what is reserved for requests',
      { ...v4, reservedSubnets: '192.168.1.0/28' },
      ['192.168.1.5'],
      ['192.168.1.5/24'],
    ],
    [
      'on a localnet (74)',
      { ...v4, topology: 'localnet', physicalNetworkName: 'p' },
      ['192.168.1.5'],
      ['192.168.1.5/24'],
    ],
  ])('exactly: %s', async (_, config, asked, ips) => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(config))
    const machine = await Machine.made(world, [network], undefined, undefined, asking(...asked))
    await hasAddresses(world, machine.claim(), ips)
  })

  test('on another network of the machine, with its MAC, by the name of the interface (84)', async () => {
    const world = await aWorld()
    const [first, second] = [await world.create(anOVNNetwork(v4)), await world.create(anOVNNetwork(v4))]
    const plugged = [on(first), { ...on(second, { mac: card }), name: 'net2' }]
    const machine = await Machine.made(world, plugged, undefined, undefined, { addresses: { net2: ['192.168.1.5'] } })
    const pod = await machine.started()
    await hasAddresses(world, machine.claim('net2'), ['192.168.1.5/24'])
    await isTold(world, pod, keyOf(second, world), { ip_addresses: ['192.168.1.5/24'], mac_address: card })
    await isTold(world, pod, keyOf(first, world), { ip_addresses: ['192.168.1.1/24'] })
    await macsBecome(world, second, { [card]: `${machine.name}.net2` })
  })

  test('on a bridge, of its own ranges and of a pool that it names', async () => {
    const world = await aWorld()
    const pool = await world.create(anAddressPool().with({ addresses: ['10.8.0.10-10.8.0.20'], prefix: 24 }))
    const ofRanges = await world.create(aBridge({ ranges: ['10.7.0.0/24'] }))
    const ofPool = await world.create(aBridge({ pool: { kind: 'AddressPool', name: pool.metadata.name } }))
    const asked = { addresses: { net1: ['10.7.0.5'], net2: ['10.8.0.15'] } }
    const machine = await Machine.made(world, [ofRanges, ofPool], undefined, undefined, asked)
    await hasAddresses(world, machine.claim('net1'), ['10.7.0.5/24'])
    await hasAddresses(world, machine.claim('net2'), ['10.8.0.15/24'])
  })
})

describe('What cannot be given is refused, in words:', () => {
  test.each<[string, Record<string, unknown>, string, string, RegExp]>([
    ['an address of no subnet', v4, '192.168.2.5', 'IPAddressOutOfSubnet', /192.168.2.5 is not among the addresses/],
    ['another length', v4, '192.168.1.5/16', 'IPPrefixMismatch', /192.168.1.5\/16 .* its length is 24/],
    ['a family that the network does not have', v4, 'fd00:1::5', 'IPFamilyMismatch', /fd00:1::5 is an IPv6 address/],
    [
      'what is excluded',
      { ...v4, excludeSubnets: '192.168.1.0/28' },
      '192.168.1.5',
      'IPAddressExcluded',
      /is excluded/,
    ],
    ['the address of the subnet', v4, '192.168.1.0', 'IPAddressReserved', /no address for a host/],
  ])('an address, namely %s', async (_, config, asked, reason, words) => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(config))
    const machine = await Machine.made(world, [network], undefined, undefined, asking(asked))
    const pod = await machine.started()
    await waitsFor(world, machine.claim(), reason, words)
    await isWarned(world, pod, reason)
    await nothingIsHeld(world, network)
  })

  test.each([
    ['the gateway', '192.168.1.254', 'IPAddressReserved', /is the gateway/],
    ['the management address', '192.168.1.2', 'IPAddressExcluded', /is excluded/],
  ])('%s of a primary network', async (_, asked, reason, words) => {
    const world = await aWorld()
    const network = await aHomeNetwork(world, { ...v4, defaultGatewayIPs: '192.168.1.254' })
    const machine = await onPodNetwork(world, network, asking(asked))
    await waitsFor(world, machine.claim(), reason, words)
  })

  test.each([
    ['the gateway', '0a:58:c0:a8:01:fe'],
    ['the management address', '0a:58:c0:a8:01:02'],
    ['another machine, which has none of its own', '0a:58:c0:a8:01:01'],
    ['an address that is free', '0a:58:c0:a8:01:63'],
  ])('the MAC of %s', async (_, mac) => {
    const world = await aWorld()
    const network = await aHomeNetwork(world, { ...v4, defaultGatewayIPs: '192.168.1.254' })
    await hasAddresses(world, (await onPodNetwork(world, network, {})).claim(), ['192.168.1.1/24'])
    const machine = await onPodNetwork(world, network, asking('192.168.1.5'), mac)
    await waitsFor(world, machine.claim(), 'MACAddressConflict', /is the MAC of 192.168.1/)
    expect(await macsIn(world, network)).toEqual({})
  })

  test('what cannot be read, and nothing else is given in its place (20, H31)', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const machine = await Machine.made(world, [network], undefined, undefined, asking('192.168.1'))
    await isWarned(world, (await world.get(machine.vm)) as Stored, 'InvalidRequest')
    await world.always(async () => expect(await world.get(machine.claim())).toBeUndefined(), 2_000)
    await machine.asks(asking('192.168.1.5'))
    await hasAddresses(world, machine.claim(), ['192.168.1.5/24'])
  })

  test('two addresses of one family (17)', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const machine = await Machine.made(world, [network], undefined, undefined, asking('192.168.1.5', '192.168.1.6'))
    await isWarned(world, (await world.get(machine.vm)) as Stored, 'InvalidRequest')
  })

  test('what would not last, with a word about it (H16)', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork({ ...v4, allowPersistentIPs: false }))
    const machine = await Machine.made(world, [network], undefined, undefined, asking('192.168.1.5'))
    await isWarned(world, (await world.get(machine.vm)) as Stored, 'RequestIgnored')
  })
})

describe('A second machine that asks for', () => {
  test('the address of another waits for it, says so, harms nothing, and gets it when the other is gone (90, 140)', async () => {
    const world = await aWorld()
    const network = await aHomeNetwork(world, v4)
    const first = await onPodNetwork(world, network, asking('192.168.1.5'))
    const running = await first.started()
    await hasAddresses(world, first.claim(), ['192.168.1.5/24'])
    const second = await onPodNetwork(world, network, asking('192.168.1.5'))
    const pod = await second.started()
    const words = 'Requested IP 192.168.1.5 is already assigned in the network'
    await waitsFor(world, second.claim(), 'IPAddressConflict', words)
    const stored = await world.get(second.claim())
    expect(conditionOf(stored, 'IPAllocated')).toMatchObject({
      status: 'False',
      reason: 'IPAlreadyExists',
      message: words,
    })
    await isWarned(world, pod, 'IPAddressConflict')
    expect((await wordsOf(world, pod)).join()).toContain(words)
    await hasAddresses(world, first.claim(), ['192.168.1.5/24'])
    expect(await toldTo(world, pod)).toEqual({})
    await deleted(first, running)
    await hasAddresses(world, second.claim(), ['192.168.1.5/24'])
    await isTold(world, pod, keyOfObject(network), { ip_addresses: ['192.168.1.5/24'] })
    // Nothing rests here: between the release of one and the service of the other there is nothing to hear of.
    expect((await warningsOf(world, pod)).map(({ reason }) => reason)).toEqual(['IPAddressConflict'])
  })

  test.each([
    ['192.168.1.5', '::ffff:192.168.1.5'],
    ['192.168.1.5', '::FFFF:C0A8:0105'],
    ['fd00:1::5', 'FD00:0001:0::0005'],
    ['fd00:1::5', 'fd00:1::0.0.0.5'],
  ])('the address %s of another in another spelling, %s, asks for the same', async (ip, spelling) => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(dual))
    const first = await Machine.made(world, [network], undefined, undefined, asking(ip))
    await hasAddresses(world, first.claim())
    const second = await Machine.made(world, [network], undefined, undefined, asking(spelling))
    const words = `Requested IP ${ip} is already assigned in the network`
    await waitsFor(world, second.claim(), 'IPAddressConflict', words)
    expect(await heldBy(world, await world.get(second.claim()))).toEqual([])
  })

  test('the address of one that is stopped waits too, and gets another when it asks for that', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const first = await Machine.made(world, [network], undefined, undefined, asking('192.168.1.5'))
    await hasAddresses(world, first.claim(), ['192.168.1.5/24'])
    const second = await Machine.made(world, [network], undefined, undefined, asking('192.168.1.5'))
    await waitsFor(world, second.claim(), 'IPAddressConflict')
    await second.asks(asking('192.168.1.6'))
    await hasAddresses(world, second.claim(), ['192.168.1.6/24'])
  })

  test('the MAC of another, running or stopped, gets nothing, says so, and is served when the other is gone (71, 101, 103)', async () => {
    const world = await aWorld()
    const network = await aHomeNetwork(world, v4)
    const first = await onPodNetwork(world, network, {}, card)
    const running = await first.started()
    await hasAddresses(world, first.claim())
    await first.stopped(running)
    const second = await onPodNetwork(world, network, asking('192.168.1.5'), card)
    const pod = await second.started()
    await waitsFor(world, second.claim(), 'MACAddressConflict', /00:50:56:01:02:20 is held by another claim/)
    await isWarned(world, pod, 'MACAddressConflict')
    expect(await heldBy(world, await world.get(second.claim()))).toEqual([])
    await macsBecome(world, network, { [card]: `${first.name}.net1` })
    await first.deleted()
    await first.letGo()
    await hasAddresses(world, second.claim(), ['192.168.1.5/24'])
    await isTold(world, pod, keyOfObject(network), { mac_address: card })
    await macsBecome(world, network, { [card]: `${second.name}.net1` })
    expect((await warningsOf(world, pod)).map(({ reason }) => reason)).toEqual(['MACAddressConflict'])
  })

  test('the MAC of another in another spelling asks for the same', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const first = await Machine.made(world, [on(network, { mac: '02:ab:00:00:00:01' })])
    await hasAddresses(world, first.claim())
    const second = await Machine.made(world, [on(network, { mac: '02-AB-00-00-00-01' })])
    await waitsFor(world, second.claim(), 'MACAddressConflict')
  })

  test('the MAC of a machine on another network has it', async () => {
    const world = await aWorld()
    const networks = [await world.create(anOVNNetwork(v4)), await world.create(anOVNNetwork(v4))]
    for (const network of networks) {
      const machine = await Machine.made(world, [on(network, { mac: card })])
      await hasAddresses(world, machine.claim())
      await macsBecome(world, network, { [card]: `${machine.name}.net1` })
    }
  })
})

describe('A machine that has its addresses', () => {
  test('and then asks for others keeps them, and is told', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const machine = await Machine.made(world, [network], undefined, undefined, asking('192.168.1.5'))
    await hasAddresses(world, machine.claim(), ['192.168.1.5/24'])
    await machine.asks(asking('192.168.1.6'))
    const vm = (await world.get(machine.vm)) as Stored
    await isWarned(world, vm, 'RequestNotApplied')
    expect((await wordsOf(world, vm)).join()).toMatch(
      /asks for 192.168.1.6, and its IPAMClaim .* has 192.168.1.5\/24: remove the interface/,
    )
    await hasAddresses(world, machine.claim(), ['192.168.1.5/24'])
    await machine.replug([])
    await isGone(world, machine.claim())
    await machine.replug([network])
    await hasAddresses(world, machine.claim(), ['192.168.1.6/24'])
  })

  test('and then another MAC keeps its addresses, and lets go of the former MAC when no pod runs with it', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const machine = await Machine.made(world, [on(network, { mac: card })])
    const pod = await machine.started()
    const ips = await hasAddresses(world, machine.claim())
    await isTold(world, pod, keyOf(network, world), { mac_address: card })
    const name = `${machine.name}.net1`
    // As KubeVirt has it only the template changes; the instance shows what runs.
    await world.patch(machine.claim(), { metadata: { annotations: { 'mooring.dev/requested-mac': otherCard } } })
    await macsBecome(world, network, { [card]: name })
    await machine.stopped(pod)
    await machine.replug([on(network, { mac: otherCard })])
    await macsBecome(world, network, { [otherCard]: name })
    const again = await machine.started()
    await isTold(world, again, keyOf(network, world), { mac_address: otherCard, ip_addresses: ips })
    await hasAddresses(world, machine.claim(), ips)
  })

  test('and then the MAC of another keeps its addresses, says so, and its pods are not served with it', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const other = await Machine.made(world, [on(network, { mac: otherCard })])
    await hasAddresses(world, other.claim())
    const machine = await Machine.made(world, [on(network, { mac: card })])
    const ips = await hasAddresses(world, machine.claim())
    await machine.replug([on(network, { mac: otherCard })])
    await says(world, machine.claim(), 'MACAddressConflict', ips)
    const pod = await machine.started()
    await isWarned(world, pod, 'MACAddressConflict')
    expect(await toldTo(world, pod)).toEqual({})
    expect(await heldBy(world, await world.get(machine.claim()))).toHaveLength(ips.length)
    await deleted(other)
    await isTold(world, pod, keyOf(network, world), { mac_address: otherCard, ip_addresses: ips })
  })
})

describe('A pod that a process is late to tell the MAC of its claim', () => {
  const asks = (machine: Machine, network: Stored, mac: string) => machine.replug([on(network, { mac })])

  async function asker(world: World, network: Stored, mac: string): Promise<Machine> {
    const machine = await Machine.made(world, [on(network, { mac })])
    await hasAddresses(world, machine.claim())
    return machine
  }

  test('is not told a former one, which another machine has by then', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const [machine, other] = [await asker(world, network, card), await asker(world, network, otherCard)]
    await macsBecome(world, network, { [card]: `${machine.name}.net1`, [otherCard]: `${other.name}.net1` })
    let late = ''
    world.desk.killBefore(({ method, path, body = '' }) => {
      const isMoment = method === 'PATCH' && /\/pods\/[^/]+\/status/.test(path)
      if (isMoment && late === '') late = body
      return isMoment
    })
    const pod = await machine.started()
    await world.eventually(() => expect(late).toContain(card))
    // While the claim waits for its next MAC, its pod is told nothing.
    await asks(machine, network, otherCard)
    await world.patch(machine.claim(), { metadata: { annotations: { 'mooring.dev/requested-mac': otherCard } } })
    await world.desk.start()
    await macsBecome(world, network, { [otherCard]: `${other.name}.net1` })
    const third = await asker(world, network, card)
    await macsBecome(world, network, { [card]: `${third.name}.net1`, [otherCard]: `${other.name}.net1` })
    await expect(world.patch(pod, JSON.parse(late), 'status')).rejects.toThrow()
    expect(await toldTo(world, pod)).toEqual({})
    // Nor does the mark keep from it what its claim has.
    await deleted(third)
    await asks(machine, network, card)
    await isTold(world, pod, keyOf(network, world), { mac_address: card })
  })
})

describe('A claim that was made before its machine', () => {
  const beforehand = (network: KubeObject, name: string, asks: object, metadata: object = {}) => {
    const claim = aClaimByHand(network, { name, namespace: network.metadata.namespace, ...metadata })
    return { ...claim, spec: { ...(claim as Stored).spec, ...asks } } as KubeObject
  }

  test.each<[string, (vm: string, network: string) => string]>([
    ['interface', vm => `${vm}.net1`],
    ['network', (vm, network) => `${vm}.${network}`],
  ])('under the name of the %s keeps its MAC and address for it, and becomes its own', async (_, nameOf) => {
    const world = await aWorld()
    const network = await aHomeNetwork(world, v4)
    const vm = nextName('vm')
    const name = nameOf(vm, configOf(network).name)
    const claim = await world.create(beforehand(network, name, { ips: ['192.168.1.5/24'], mac: card }))
    await hasAddresses(world, claim, ['192.168.1.5/24'])
    await macsBecome(world, network, { [card]: name })
    const machine = await onPodNetwork(world, network, {}, card, vm)
    await world.eventually(async () =>
      expect((await world.get(claim))?.metadata.ownerReferences).toMatchObject([{ kind: 'VirtualMachine', name: vm }]),
    )
    const annotations = { 'k8s.ovn.org/primary-udn-ipamclaim': name }
    const pod = await machine.started({ annotations })
    await isTold(world, pod, keyOfObject(network), { ip_addresses: ['192.168.1.5/24'], mac_address: card })
    expect(await heldBy(world, await world.get(claim))).toEqual(['192.168.1.5'])
    const owner = { kind: 'VirtualMachine', name: vm }
    await world.eventually(async () =>
      expect((await locksIn(world, configOf(network).name)).map(({ spec }) => spec.owner)).toMatchObject([owner]),
    )
  })

  test('may ask in annotations, and keeps asking when the machine asks for nothing', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const vm = nextName('vm')
    const annotations = { 'mooring.dev/requested-ips': '192.168.1.5', 'mooring.dev/requested-mac': card }
    const blocker = await Machine.made(world, [network], undefined, undefined, asking('192.168.1.5'))
    await hasAddresses(world, blocker.claim())
    await world.create(beforehand(network, `${vm}.net1`, {}, { annotations }))
    const machine = await Machine.made(world, [network], vm)
    await waitsFor(world, machine.claim(), 'IPAddressConflict')
    await world.idle(2_000)
    expect((await world.get(machine.claim()))?.metadata.annotations).toMatchObject(annotations)
    await deleted(blocker)
    await hasAddresses(world, machine.claim(), ['192.168.1.5/24'])
  })
})

describe('On a network whose addresses another program gives out', () => {
  const observed = { annotations: { 'k8s.ovn.org/network-id': '7' } }

  test('the MAC of a machine is held, and one that is taken is reported', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4, observed))
    const first = await Machine.made(world, [on(network, { mac: card })])
    await macsBecome(world, network, { [card]: `${first.name}.net1` })
    const second = await Machine.made(world, [on(network, { mac: card })])
    await world.eventually(async () => expect(await world.get(second.claim())).toBeDefined())
    await isWarned(world, (await world.get(second.claim())) as Stored, 'MACAddressConflict')
    expect((await world.get(second.claim()))?.status).toBeUndefined()
    await macsBecome(world, network, { [card]: `${first.name}.net1` })
  })

  /** It numbers networks some time after they were made. */
  test('no claim is given an address, from the first moment of a network on', async () => {
    const world = await aWorld({ define: definitions => [...definitions, anEgressIPDefinition] })
    const network = await world.create(anOVNNetwork(v4))
    const machine = await Machine.made(world, [network])
    const pod = await machine.started()
    const held = async () => (await locksIn(world, configOf(network).name)).map(({ spec }) => spec.address)
    await world.eventually(async () => expect(await world.get(machine.claim())).toBeDefined())
    await world.always(async () => {
      expect((await world.get(machine.claim()))?.status).toBeUndefined()
      expect((await world.get(pod))?.metadata.annotations).not.toHaveProperty(['k8s.ovn.org/pod-networks'])
      expect(await held()).toEqual([])
    }, 2_000)
    await world.patch(machine.claim(), { status: { ips: ['192.168.1.77/24'] } }, 'status')
    await world.eventually(async () => expect(await held()).toEqual(['192.168.1.77']))
  })

  test('that was installed later, claims keep what they have and are given nothing new', async () => {
    // A server of its own: it gets a kind that no other test is to meet.
    const world = await aWorld({ define: definitions => definitions })
    const network = await world.create(anOVNNetwork(v4))
    const before = await Machine.made(world, [network])
    const ips = await hasAddresses(world, before.claim())
    await world.create(anEgressIPDefinition)
    await world.pass(10_000)
    const after = await Machine.made(world, [network])
    await world.eventually(async () => expect(await world.get(after.claim())).toBeDefined())
    await world.always(async () => expect((await world.get(after.claim()))?.status).toBeUndefined(), 2_000)
    await hasAddresses(world, before.claim(), ips)
  })
})

describe('Webhooks', () => {
  test('tell a pod the MAC and the addresses of its machine, and refuse a pod that brings others (7, 14)', async () => {
    const world = await aWorld({ hasWebhooks: true })
    const network = await aHomeNetwork(world, v4)
    const machine = await onPodNetwork(world, network, asking('192.168.1.5'), card)
    await hasAddresses(world, machine.claim(), ['192.168.1.5/24'])
    const pod = await machine.started({ isReferred: false })
    const text = pod.metadata.annotations?.['v1.multus-cni.io/default-network'] ?? ''
    const element = { name: 'default', namespace: 'ovn-kubernetes', ips: ['192.168.1.5/24'], mac: card }
    expect(JSON.parse(text)).toEqual([{ ...element, 'ipam-claim-reference': `${machine.name}.net1` }])
    await isTold(world, pod, keyOfObject(network), { ip_addresses: ['192.168.1.5/24'], mac_address: card })
    const forged = { 'v1.multus-cni.io/default-network': '[{"name": "default", "ips": ["192.168.1.9/24"]}]' }
    await expect(machine.aPod({ isReferred: false, annotations: forged })).rejects.toThrow(
      /is not allowed on pod creation/,
    )
  })

  test('refuse a machine that asks for what it cannot have, with all that is wrong', async () => {
    const world = await aWorld({ hasWebhooks: true })
    const network = await world.create(anOVNNetwork(v4))
    // What is seen of the network a moment ago may be nothing yet.
    await hasAddresses(world, (await Machine.made(world, [network])).claim())
    const wrong = Machine.made(world, [on(network, { mac: '01:00:5e:00:00:01' })], undefined, undefined, asking('x'))
    await expect(wrong).rejects.toThrow(/"x".*group of cards/)
    // The webhook does not tell a caller that is not proven what the network has: the claim does.
    const outside = await Machine.made(world, [network], undefined, undefined, asking('192.168.2.5'))
    await waitsFor(world, outside.claim(), 'IPAddressOutOfSubnet', /192.168.2.5 is not among the addresses/)
  })
})

describe('A user of one namespace', () => {
  test('cannot have by a request what another team was promised', async () => {
    const world = await aWorld()
    const team = await world.anotherNamespace()
    const pool = await world.create(
      aClusterAddressPool().with({
        addresses: ['10.8.0.10-10.8.0.20'],
        prefix: 24,
        preAllocations: { [`${team}/db.net1`]: '10.8.0.15' },
      }),
    )
    const network = await world.create(aBridge({ pool: { kind: 'ClusterAddressPool', name: pool.metadata.name } }))
    const machine = await Machine.made(world, [network], undefined, undefined, asking('10.8.0.15'))
    await waitsFor(world, machine.claim(), 'IPAddressReserved', /is kept for another claim/)
    // By a claim of the name in the own namespace neither.
    const namesake = await Machine.made(world, [network], 'db')
    await world.eventually(async () =>
      expect((await world.get(namesake.claim()))?.status?.ips?.[0]).not.toBe('10.8.0.15/24'),
    )
  })

  test('gets no MAC of another team on a network that both are in, and does not hear whose it is', async () => {
    const world = await aWorld()
    const other = await world.anotherNamespace()
    const annotations = { 'mooring.dev/allowed-namespaces': other }
    const network = await world.create(anOVNNetwork(v4, { annotations }))
    const victim = await Machine.made(world, [on(network, { mac: card })])
    const pod = await victim.started()
    await isTold(world, pod, keyOf(network, world), { mac_address: card })
    const attachment = `${world.home}/${network.metadata.name}`
    const thief = await Machine.made(world, [{ name: 'net1', attachment, mac: card }], nextName('vm'), other)
    await waitsFor(world, thief.claim(), 'MACAddressConflict')
    expect(conditionOf(await world.get(thief.claim()))?.message).not.toContain(victim.name)
    expect(conditionOf(await world.get(thief.claim()))?.message).not.toContain(world.home)
    await macsBecome(world, network, { [card]: `${victim.name}.net1` })
  })

  test('holds no MAC and no address of a network that is not offered to the namespace', async () => {
    const world = await aWorld()
    const other = await world.anotherNamespace()
    for (const metadata of [{}, { annotations: { 'k8s.ovn.org/network-id': '7' } }]) {
      const network = await world.create(anOVNNetwork(v4, metadata))
      const claim = aClaimByHand(network, { namespace: other })
      const spec = { ...(claim as Stored).spec, mac: card, ips: ['192.168.1.5'] }
      await world.create({ ...claim, spec } as KubeObject)
      await world.idle(2_000)
      expect(await macsIn(world, network)).toEqual({})
      await nothingIsHeld(world, network)
    }
  })

  test('gives a pod no MAC that its claim does not hold, whatever its networks say', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const victim = await Machine.made(world, [on(network, { mac: card })])
    await hasAddresses(world, victim.claim())
    const thief = await Machine.made(world, [network])
    await hasAddresses(world, thief.claim())
    const element = { name: network.metadata.name, mac: card, 'ipam-claim-reference': `${thief.name}.net1` }
    const pod = await thief.started({ annotations: { 'k8s.v1.cni.cncf.io/networks': JSON.stringify([element]) } })
    await isWarned(world, pod, 'MACNotInClaim')
    expect(await toldTo(world, pod)).toEqual({})
  })

  test('who writes the MAC of another machine to a claim harms that claim alone, and it keeps its addresses', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const victim = await Machine.made(world, [on(network, { mac: card })])
    const ips = await hasAddresses(world, victim.claim())
    const claim = await world.create(aClaimByHand(network))
    const own = await hasAddresses(world, claim)
    await world.patch(claim, { metadata: { annotations: { 'mooring.dev/requested-mac': card } } })
    await says(world, claim, 'MACAddressConflict', own)
    await world.patch(claim, { metadata: { annotations: { 'mooring.dev/requested-mac': null } } })
    await hasAddresses(world, claim, own)
    await hasAddresses(world, victim.claim(), ips)
    await macsBecome(world, network, { [card]: `${victim.name}.net1` })
  })

  test.each<[string, (network: KubeObject) => { plugged: readonly Plugged[]; asked: Asking }]>([
    [
      'a request as long as annotations may be',
      network => ({
        plugged: [on(network)],
        asked: {
          addresses: Object.fromEntries(Array.from({ length: 6_000 }, (_, i) => [`other-${i}`, ['192.168.1.5']])),
        },
      }),
    ],
    [
      'as many interfaces as a machine may have, all of them wrong',
      network => ({
        plugged: Array.from({ length: 256 }, (_, i) => ({ ...on(network, { mac: 'x' }), name: `n${i}` })),
        asked: {},
      }),
    ],
  ])('who writes %s keeps no other machine from its address', async (_, storyOf) => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const { plugged, asked } = storyOf(network)
    const loud = await Machine.made(world, plugged, undefined, undefined, asked)
    const machine = await Machine.made(world, [network], undefined, undefined, asking('192.168.1.77'))
    await hasAddresses(world, machine.claim(), ['192.168.1.77/24'])
    const said = await world.eventually(async () => {
      const words = await wordsOf(world, (await world.get(loud.vm)) as Stored)
      expect(words.length).toBeGreaterThan(0)
      return words
    })
    expect(said.length).toBeLessThanOrEqual(20)
  })
})
