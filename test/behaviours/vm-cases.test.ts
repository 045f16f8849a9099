// Cases of persistent addresses as ipam-extensions, OVN-Kubernetes and KubeVirt have them (docs/reference/persistent-ip-cases.md),
// where they are not told with the other stories: what pods are told on their way in, names, MACs and keys, claims that come from
// others, and addresses that the end of a pod does not free.

import { describe, expect, test } from 'vitest'
import { ipamClaims } from '../../src/controllers/vm/kinds.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import {
  aClaimByHand,
  anOVNNetwork,
  aPrimaryNetwork,
  claimsOf,
  conditionOf,
  configOf,
  elementsOf,
  hasAddresses,
  heldBy,
  isTold,
  isWarned,
  keyOf,
  locksIn,
  Machine,
  nextName,
  nothingIsHeld,
  ownerOf,
  says,
  toldTo,
  waitsFor,
  wishing,
} from './machines.ts'
import { eventsAbout, isGone } from './promises.ts'
import { aCUDN, aHome, isRendered, layer2 } from './user-defined-networks.ts'
import { aWorld, type Stored, type World } from './world.ts'

const v4 = { subnets: '10.100.0.0/24' }
/** A single address. */
const tiny = { subnets: '10.100.0.0/30', excludeSubnets: '10.100.0.2/32' }
const networksKey = 'k8s.v1.cni.cncf.io/networks'
const podNetworksKey = 'k8s.ovn.org/pod-networks'
const primaryKey = 'k8s.ovn.org/primary-udn-ipamclaim'

const asking = (...elements: object[]) => ({ annotations: { [networksKey]: JSON.stringify(elements) } })

describe('A launcher pod on its way in', () => {
  test('in a namespace with a primary network is told the claim on it in an annotation, and nothing else', async () => {
    const world = await aWorld({ hasWebhooks: true })
    const home = await world.anotherNamespace()
    await world.create(aPrimaryNetwork(home))
    const machine = await Machine.made(world, [{ name: 'podnet' }], undefined, home)
    await hasAddresses(world, machine.claim('podnet'))
    const pod = await machine.started()
    const asked = { 'kubevirt.io/domain': machine.name, [networksKey]: '[]' }
    expect(pod.metadata.annotations).toEqual({ ...asked, [primaryKey]: `${machine.name}.podnet` })
  })

  test('is told the claim on a primary network once: what is written to the pod later is let through', async () => {
    const world = await aWorld({ hasWebhooks: true })
    const home = await world.anotherNamespace()
    const machine = await Machine.made(world, [{ name: 'podnet' }], undefined, home)
    const pod = await machine.started()
    await world.create(aPrimaryNetwork(home))
    await hasAddresses(world, machine.claim('podnet'))
    // As KubeVirt does when an interface is plugged in or out.
    const anew = { [networksKey]: '[ ]' }
    const changed = async (of: Stored, annotations: Readonly<Record<string, string>>) => {
      const written = await world.patch(of, { metadata: { annotations } })
      // What it is configured with comes at any time.
      return { ...written.metadata.annotations, [podNetworksKey]: undefined }
    }
    expect(await changed(pod, anew)).toEqual({ ...pod.metadata.annotations, ...anew })
    const told = await machine.aPod()
    const other = { ...told.metadata.annotations, ...anew, [primaryKey]: 'another' }
    expect(await changed(told, other)).toEqual(other)
  })

  test('without networks is let in, although its instance is not there', async () => {
    const world = await aWorld({ hasWebhooks: true })
    const machine = await Machine.lone(world, [])
    const annotations = { 'kubevirt.io/domain': 'none', [networksKey]: undefined }
    const pod = await machine.aPod({ annotations })
    expect(pod.metadata.annotations).toEqual({ 'kubevirt.io/domain': 'none' })
  })

  test('with networks is refused while its instance is not there', async () => {
    const world = await aWorld({ hasWebhooks: true })
    const machine = await Machine.lone(world, [await world.create(anOVNNetwork())])
    const pod = machine.aPod({ annotations: { 'kubevirt.io/domain': 'none' }, isReferred: false })
    await expect(pod).rejects.toThrow(/there is no VirtualMachineInstance "none" in the namespace of the pod/)
  })

  test('on a NetworkAttachmentDefinition that was made a moment ago is to be made again', async () => {
    const world = await aWorld({ hasWebhooks: true })
    await (await Machine.lone(world, [])).started()
    world.desk.watchDelayMs = 3_000
    const machine = await Machine.lone(world, [await world.create(anOVNNetwork())])
    await expect(machine.started({ isReferred: false })).rejects.toThrow(/was made a moment ago: try again/)
    const pod = await world.eventually(() => machine.aPod({ isReferred: false }))
    expect(elementsOf(pod)).toMatchObject([{ 'ipam-claim-reference': `${machine.name}.net1` }])
  })

  test('with ordinal names of interfaces is told the claims in the order of its networks, without absent ones', async () => {
    const world = await aWorld({ hasWebhooks: true })
    const network = await world.create(anOVNNetwork())
    const attachment = network.metadata.name ?? ''
    const machine = await Machine.made(world, [
      { name: 'zero', attachment, state: 'absent' },
      { name: 'first', attachment },
      { name: 'second', attachment },
    ])
    await hasAddresses(world, machine.claim('first'))
    const [one, two] = ['net1', 'net2'].map(name => ({ name: attachment, namespace: world.home, interface: name }))
    const pod = await machine.started(asking(one ?? {}, two ?? {}))
    expect(elementsOf(pod)).toEqual([
      { ...one, 'ipam-claim-reference': `${machine.name}.first` },
      { ...two, 'ipam-claim-reference': `${machine.name}.second` },
    ])
  })
})

describe('The claims of a virtual machine', () => {
  test('wait for a NetworkAttachmentDefinition that is not there, each for its own', async () => {
    const world = await aWorld()
    const [network, late] = [await world.create(anOVNNetwork()), anOVNNetwork()]
    const machine = await Machine.made(world, [late, network])
    await hasAddresses(world, machine.claim('net2'))
    expect(await world.get(machine.claim('net1'))).toBeUndefined()
    await world.create(late)
    await hasAddresses(world, machine.claim('net1'))
  })

  test('are none where it is on no network, or is gone before it is seen, and nothing is written', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    await world.desk.stop()
    const brief = await Machine.made(world, [network])
    await brief.deleted()
    await brief.letGo()
    await world.delete(await world.create(aClaimByHand(network)))
    await world.desk.start()
    const unplugged = await Machine.made(world, [])
    await unplugged.started()
    const other = await Machine.made(world, [network])
    await hasAddresses(world, other.claim(), ['10.100.0.1/24'])
    expect((await world.list(ipamClaims)).map(({ metadata }) => metadata.name)).toEqual([`${other.name}.net1`])
    expect(await locksIn(world, configOf(network).name)).toHaveLength(1)
    expect(await eventsAbout(world, (await world.get(unplugged.vm))?.metadata.uid ?? '')).toEqual([])
    expect(world.desk.writes.filter(write => [brief.name, unplugged.name].some(name => write.includes(name)))).toEqual(
      [],
    )
  })

  test('name the interface in the pod as KubeVirt does', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const interfaces = {
      tenantred: 'pod0897838e099',
      red: 'podb1f51a511f1',
      blue: 'pod16477688c0e',
      anet: 'pod8f202bdbf25',
      'net-0': 'pod900d2c01c91',
      network1: 'poda7662f44d65',
      network2: 'pod27f4a77f94e',
    }
    const attachment = network.metadata.name ?? ''
    const machine = await Machine.made(
      world,
      Object.keys(interfaces).map(name => ({ name, attachment })),
    )
    for (const [name, inPod] of Object.entries(interfaces)) {
      await hasAddresses(world, machine.claim(name))
      expect((await world.get(machine.claim(name)))?.spec.interface).toBe(inPod)
    }
  })

  test('are its own where another machine has claims that would have the same name', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const attachment = network.metadata.name ?? ''
    const name = nextName('vm')
    const machines = [
      await Machine.made(world, [{ name: 'c', attachment }], `${name}.b`),
      await Machine.made(world, [{ name: 'b_c', attachment }], name),
      await Machine.made(world, [{ name: 'B_c', attachment }], nextName('vm')),
    ]
    const ips: string[] = []
    for (const machine of machines) {
      const [claim] = await world.eventually(async () => {
        const all = await claimsOf(world, machine)
        expect(all).toHaveLength(1)
        return all
      })
      ips.push(...(await hasAddresses(world, claim as Stored)))
    }
    expect(new Set(ips).size).toBe(6)
  })

  test('say which pod has them, and in both conditions that they are served', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const machine = await Machine.made(world, [network])
    const pod = await machine.started()
    await hasAddresses(world, machine.claim())
    await world.eventually(async () => {
      const claim = await world.get(machine.claim())
      expect(claim?.status.ownerPod).toEqual({ name: pod.metadata.name })
      const said = { status: 'True', reason: 'SuccessfulAllocation', message: 'IP 10.100.0.1 allocated successfully' }
      expect(conditionOf(claim)).toMatchObject(said)
      expect(conditionOf(claim, 'IPAllocated')).toMatchObject(said)
    })
    expect(pod.metadata.name).toMatch(/^virt-launcher-/)
  })

  test('go although one of them is gone by then', async () => {
    const world = await aWorld()
    const networks = [await world.create(anOVNNetwork()), await world.create(anOVNNetwork())] as const
    const machine = await Machine.made(world, networks)
    for (const name of ['net1', 'net2']) await hasAddresses(world, machine.claim(name))
    // It hears of the machine before it hears of the claim.
    world.desk.watchDelayMs = 2_000
    await machine.deleted('Orphan')
    await machine.letGo()
    await isGone(world, machine.vm, 60_000)
    await world.patch(machine.claim('net1'), { metadata: { finalizers: null } })
    await world.delete(machine.claim('net1'))
    world.desk.watchDelayMs = 0
    await isGone(world, machine.claim('net2'))
    for (const network of networks) await nothingIsHeld(world, network)
  })

  test('stay where an interface is taken out and put back before a controller that is behind sees it', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    const ips = await hasAddresses(world, machine.claim())
    world.desk.watchDelayMs = 1_000
    await machine.replug([])
    await machine.replug([network])
    await world.idle(3_000)
    await hasAddresses(world, machine.claim(), ips)
    expect((await world.get(machine.claim()))?.metadata.deletionTimestamp).toBeUndefined()
  })
})

describe('Claims that others made for a virtual machine', () => {
  /** As ipam-extensions makes it: the interface is left empty. */
  const upstreamClaim = (network: Stored, owner: Stored, ending: string): KubeObject =>
    aClaimByHand(network, {
      name: `${owner.metadata.name}.${ending}`,
      labels: { 'kubevirt.io/vm': owner.metadata.name },
      finalizers: ['kubevirt.io/persistent-ipam'],
      ownerReferences: [ownerOf(owner)],
    })

  test.each([
    ['podnet', 'podnet'],
    ['random_net', 'random.net'],
    ['Net_1', 'net.1'],
  ])('of ipam-extensions are kept, and its pods are told them: an interface %s has .%s', async (name, ending) => {
    const world = await aWorld({ hasWebhooks: true })
    const network = await world.create(anOVNNetwork())
    await world.desk.stop()
    const machine = await Machine.made(world, [{ name, attachment: network.metadata.name ?? '' }])
    const vm = (await world.get(machine.vm)) as Stored
    const claim = await world.create(upstreamClaim(network, vm, ending))
    await world.desk.start()
    const ips = await hasAddresses(world, claim)
    const pod = await machine.started({ isReferred: false })
    expect(elementsOf(pod)).toMatchObject([{ 'ipam-claim-reference': claim.metadata.name }])
    await isTold(world, pod, keyOf(network, world), { ip_addresses: ips })
    expect((await claimsOf(world, machine)).map(({ metadata }) => metadata.uid)).toEqual([claim.metadata.uid])
  })

  test('are those of an instance that the machine adopts: they are adopted too, and stay when it is stopped', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.lone(world, [network])
    const pod = await machine.started()
    const ips = await hasAddresses(world, machine.claim())
    const before = await world.get(machine.claim())
    const template = { spec: (await world.get(machine.vmi))?.spec }
    const draft = { ...machine.vm, spec: { runStrategy: 'Always', template } }
    const vm = await world.create(draft)
    await world.patch(machine.vmi, { metadata: { ownerReferences: [ownerOf(vm)] } })
    await world.eventually(async () =>
      expect((await world.get(machine.claim()))?.metadata.ownerReferences).toEqual([ownerOf(vm)]),
    )
    await machine.stopped(pod)
    await world.idle(3_000)
    await hasAddresses(world, machine.claim(), ips)
    expect((await world.get(machine.claim()))?.metadata.uid).toBe(before?.metadata.uid)
  })
})

describe('A process that starts', () => {
  test('and finds claims, machines and pods with what they have writes nothing to them', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    const pod = await machine.started()
    const ips = await hasAddresses(world, machine.claim())
    await isTold(world, pod, keyOf(network, world), { ip_addresses: ips })
    await world.eventually(async () => {
      expect((await world.get(machine.claim()))?.status.ownerPod).toEqual({ name: pod.metadata.name })
      expect((await world.get(machine.vm))?.metadata.annotations).toHaveProperty(['mooring.dev/network-interfaces'])
    })
    const seen = async () => {
      const objects = [await world.get(machine.claim()), await world.get(machine.vm), await world.get(pod)]
      const held = (await locksIn(world, configOf(network).name)).filter(({ spec }) =>
        ips.includes(`${spec.address}/24`),
      )
      return [...objects, ...held].map(object => object?.metadata.resourceVersion)
    }
    await world.idle(2_000)
    const before = await seen()
    expect(before).toHaveLength(4)
    await world.desk.stop()
    await world.desk.start()
    await hasAddresses(world, (await Machine.made(world, [network])).claim())
    await world.idle(2_000)
    expect(await seen()).toEqual(before)
  })
})

describe('What a launcher pod is told', () => {
  test.each([
    ['192.168.0.3/24', '192.168.0.0/24', '192.168.0.0/31,192.168.0.2/32', '0a:58:c0:a8:00:03'],
    ['2001:db8::1/64', '2001:db8::/64', undefined, '0a:58:5a:fd:19:e8'],
    ['fd10::2/64', 'fd10::/64', 'fd10::/127', '0a:58:da:be:69:67'],
  ])('beside %s is the MAC that OVN-Kubernetes makes of it', async (ip, subnets, excludeSubnets, mac) => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork({ subnets, excludeSubnets }))
    const machine = await Machine.made(world, [network])
    const pod = await machine.started()
    await isTold(world, pod, keyOf(network, world), { ip_addresses: [ip], mac_address: mac })
  })

  test('of several interfaces on one NetworkAttachmentDefinition has keys that count them', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const machine = await Machine.made(world, [network, network, network])
    const pod = await machine.started()
    const key = keyOf(network, world)
    const keys = [key, `${key}/1`, `${key}/2`]
    await world.eventually(async () => expect(Object.keys(await toldTo(world, pod)).toSorted()).toEqual(keys))
    for (const [at, one] of keys.entries())
      await isTold(world, pod, one, { ip_addresses: await hasAddresses(world, machine.claim(`net${at + 1}`)) })
  })

  test('on a network without subnets is what it asks for, and nothing if it asks for nothing', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork({ subnets: undefined, allowPersistentIPs: false }))
    const machine = await Machine.made(world, [network])
    const element = { name: network.metadata.name, namespace: world.home }
    const silent = await machine.started(asking(element))
    const pod = await machine.aPod(asking({ ...element, ips: ['172.16.0.9/16'] }))
    await isTold(world, pod, keyOf(network, world), {
      ip_addresses: ['172.16.0.9/16'],
      mac_address: '0a:58:ac:10:00:09',
    })
    expect(await toldTo(world, silent)).toEqual({})
    expect(await eventsAbout(world, silent.metadata.uid ?? '')).toEqual([])
  })

  test('is not changed once it is there; where the claim has other addresses, the pod says so', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const machine = await Machine.made(world, [network])
    await machine.started()
    await hasAddresses(world, machine.claim(), ['10.100.0.1/24'])
    const entry = { ip_addresses: ['10.100.0.9/24'], mac_address: '0a:58:0a:64:00:09', role: 'secondary' }
    const stored = { [keyOf(network, world)]: entry }
    const pod = await machine.aPod({ annotations: { [podNetworksKey]: JSON.stringify(stored) } })
    await isWarned(world, pod, 'AddressesDiffer')
    expect(await toldTo(world, pod)).toEqual(stored)
  })

  test('is nothing where it asks for an address that its claim does not have, and any spelling of one that it has will do', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    await machine.started()
    const ips = await hasAddresses(world, machine.claim(), ['10.100.0.1/24', 'fd00:100::1/64'])
    const element = {
      name: network.metadata.name,
      namespace: world.home,
      'ipam-claim-reference': `${machine.name}.net1`,
    }
    const wrong = await machine.aPod(asking({ ...element, ips: ['10.100.0.5/24', 'fd00:100::1/64'] }))
    await isWarned(world, wrong, 'IPNotInClaim')
    expect(await toldTo(world, wrong)).toEqual({})
    const right = await machine.aPod(asking({ ...element, ips: ['FD00:100:0::0001/64', '10.100.0.1/24'] }))
    await isTold(world, right, keyOf(network, world), { ip_addresses: ips })
  })
})

describe('A launcher pod in the namespace of a primary network', () => {
  const gotNothing = async (world: World, pod: Stored, reason: string) => {
    await isWarned(world, pod, reason)
    expect(await toldTo(world, pod)).toEqual({})
  }

  /** Without the webhook, which would name the claim, or refuse the pod. */
  async function aMachineOnIt(world: World) {
    const home = await world.anotherNamespace()
    const network = await world.create(aPrimaryNetwork(home))
    const machine = await Machine.made(world, [{ name: 'podnet' }], undefined, home)
    await hasAddresses(world, machine.claim('podnet'))
    await machine.started()
    return { machine, network }
  }

  test('that names no claim for it is told so (106)', async () => {
    const world = await aWorld()
    const { machine } = await aMachineOnIt(world)
    await gotNothing(world, await machine.aPod({ isReferred: false }), 'IPAMClaimMissing')
  })

  test.each([
    ['no JSON', '[{'],
    ['of two elements', '[{"name": "default"}, {"name": "default", "ipam-claim-reference": "x"}]'],
  ])('whose default network is %s is told so (112)', async (_, text) => {
    const world = await aWorld()
    const { machine } = await aMachineOnIt(world)
    const annotations = { 'v1.multus-cni.io/default-network': text }
    await gotNothing(world, await machine.aPod({ isReferred: false, annotations }), 'InvalidDefaultNetwork')
  })

  test('that names it among its other networks is told so (98)', async () => {
    const world = await aWorld()
    const { machine, network } = await aMachineOnIt(world)
    const element = { name: network.metadata.name, 'ipam-claim-reference': `${machine.name}.podnet` }
    await gotNothing(world, await machine.aPod({ isReferred: false, ...asking(element) }), 'PrimaryNetworkSelected')
  })

  test('and whose machine is not on the pod network is told nothing (105)', async () => {
    const world = await aWorld()
    const home = await world.anotherNamespace()
    await world.create(aPrimaryNetwork(home))
    const network = await world.create(anOVNNetwork(v4, { namespace: home }))
    const machine = await Machine.made(world, [network], undefined, home)
    const pod = await machine.started()
    await isTold(world, pod, keyOf(network, world), { ip_addresses: await hasAddresses(world, machine.claim()) })
    expect(Object.keys(await toldTo(world, pod))).toEqual([keyOf(network, world)])
    expect(await eventsAbout(world, pod.metadata.uid ?? '')).toEqual([])
  })

  test('that several namespaces have is told by the NetworkAttachmentDefinition of its own (113)', async () => {
    const world = await aWorld()
    const team = nextName('team')
    const homes = [await aHome(world, { team }), await aHome(world, { team })]
    const udn = await world.create(aCUDN(team, layer2({ ipam: { lifecycle: 'Persistent' } })))
    for (const home of homes) {
      const network = await isRendered(world, udn, home)
      const machine = await Machine.made(world, [{ name: 'podnet' }], undefined, home)
      const ips = await hasAddresses(world, machine.claim('podnet'))
      const pod = await machine.started()
      await isTold(world, pod, keyOf(network, world), { ip_addresses: ips, role: 'primary' })
    }
  })
})

describe('The address of a virtual machine', () => {
  const staysHeld = (world: World, network: Stored) =>
    world.always(async () => expect(await locksIn(world, configOf(network).name)).toHaveLength(1), 1_000)

  test('is freed neither by the end of its pod, nor by a pod that is deleted after the machine', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(tiny))
    const machine = await Machine.made(world, [network])
    const first = await machine.started()
    const ips = await hasAddresses(world, machine.claim(), ['10.100.0.1/30'])
    await machine.completed(first, 'Failed')
    await staysHeld(world, network)
    await machine.ended(first)
    await staysHeld(world, network)
    const late = await machine.aPod()
    await isTold(world, late, keyOf(network, world), { ip_addresses: ips })
    // It stays to be seen after the garbage collector deleted it.
    await world.patch(late, { metadata: { finalizers: ['example.org/seen'] } })
    await machine.completed(late)
    await machine.deleted()
    await machine.stopped()
    await machine.letGo()
    await isGone(world, machine.claim())
    const other = await Machine.made(world, [network])
    await hasAddresses(world, other.claim(), ips)
    await world.patch(late, { metadata: { finalizers: null } })
    await isGone(world, late)
    await staysHeld(world, network)
    await hasAddresses(world, other.claim(), ips)
    await waitsFor(world, (await Machine.made(world, [network])).claim(), 'SubnetExhausted')
  })

  test('stays its own while its pod cannot be told, and the pod is told when that is possible', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    world.desk.forbid(({ method, path }) => method === 'PATCH' && /\/pods\/[^/]+\/status/.test(path))
    const machine = await Machine.made(world, [network])
    const pod = await machine.started()
    const ips = await hasAddresses(world, machine.claim(), ['10.100.0.1/24'])
    await hasAddresses(world, (await Machine.made(world, [network])).claim(), ['10.100.0.2/24'])
    expect(await toldTo(world, pod)).toEqual({})
    world.desk.forbid(() => false)
    await world.eventually(
      async () => expect((await toldTo(world, pod))[keyOf(network, world)]).toMatchObject({ ip_addresses: ips }),
      120_000,
    )
  })

  test('that a second claim shows is not exchanged for another there: it waits, and has it when it is free', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    const [ip = ''] = await hasAddresses(world, machine.claim())
    const ips = [ip, 'fd00:100::9/64']
    const second = await wishing(world, network, ips)
    await says(world, second, 'IPAddressConflict', ips)
    expect(await heldBy(world, second)).toEqual([])
    await machine.deleted()
    await machine.letGo()
    await hasAddresses(world, second, ips)
  })

  test('of a lone instance stays while the instance says that it has pods, although none is to be seen', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const machine = await Machine.lone(world, [network])
    const pod = await machine.started()
    await hasAddresses(world, machine.claim())
    const activePods = { [pod.metadata.uid ?? '']: 'node-1' }
    await world.patch(machine.vmi, { status: { activePods } })
    await world.delete(machine.vmi, 'Foreground')
    await machine.ended(pod)
    await world.eventually(async () =>
      expect((await world.get(machine.claim()))?.metadata.deletionTimestamp).toBeDefined(),
    )
    await staysHeld(world, network)
    await world.patch(machine.vmi, { status: { activePods: null } })
    await isGone(world, machine.claim())
    await nothingIsHeld(world, network)
    await machine.letGoOfInstance()
  })
})

describe('A network that has the name that OVN-Kubernetes makes', () => {
  /** Times of creation are stored to the second. */
  async function older(world: World, network: KubeObject): Promise<Stored> {
    const stored = await world.create(network)
    await world.idle(1_100)
    return stored
  }

  test('of a namespace and a name is of that namespace, although another one was there first', async () => {
    const world = await aWorld()
    const [home, elsewhere] = [await world.anotherNamespace(), await world.anotherNamespace()]
    const own = nextName('net')
    const name = `${home}_${own}`
    const squatting = await older(world, anOVNNetwork({ ...v4, name }, { namespace: elsewhere }))
    const network = await world.create(anOVNNetwork({ subnets: '10.200.0.0/24', name }, { name: own, namespace: home }))
    await world.heard(network)
    const machine = await Machine.made(world, [network], undefined, home)
    await hasAddresses(world, machine.claim(), ['10.200.0.1/24'])
    const squatter = await Machine.made(world, [squatting], undefined, elsewhere)
    await isWarned(world, (await world.get(squatter.vm)) as Stored, 'NetworkRefused')
    expect(await locksIn(world, name)).toHaveLength(1)
  })

  test('of a ClusterUserDefinedNetwork is what was made of that, for the namespaces that it selects', async () => {
    const world = await aWorld()
    const team = nextName('team')
    const [home, elsewhere, outside] = [
      await world.anotherNamespace({ team }),
      await world.anotherNamespace(),
      await world.anotherNamespace(),
    ]
    const udnName = nextName('net')
    const name = `cluster_udn_${udnName}`
    const squatting = await older(world, anOVNNetwork({ ...v4, name }, { namespace: elsewhere }))
    const persistent = { role: 'Secondary', subnets: ['10.200.0.0/24'], ipam: { lifecycle: 'Persistent' } }
    const udn = await world.create(aCUDN(team, layer2(persistent), { name: udnName }))
    const network = await isRendered(world, udn, home)
    const machine = await Machine.made(world, [network], undefined, home)
    await hasAddresses(world, machine.claim(), ['10.200.0.1/24'])
    const joining = await world.create(anOVNNetwork({ subnets: '10.200.0.0/24', name }, { namespace: outside }))
    for (const [attachment, namespace] of [
      [squatting, elsewhere],
      [joining, outside],
    ] as const) {
      const refused = await Machine.made(world, [attachment], undefined, namespace)
      await isWarned(world, (await world.get(refused.vm)) as Stored, 'NetworkRefused')
    }
    expect(await locksIn(world, name)).toHaveLength(1)
  })
})
