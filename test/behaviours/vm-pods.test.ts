// The pods that virtual machines run in: what they are told about their addresses, what happens with two of them at once, and
// which pods are told nothing.

import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../src/kube/object.ts'
import {
  anOVNNetwork,
  conditionOf,
  configOf,
  createPod,
  hasAddresses,
  isTold,
  isWarned,
  keyOf,
  locksIn,
  Machine,
  nextName,
  toldTo,
  waitsFor,
} from './machines.ts'
import { aWorld, type Stored, type World } from './world.ts'

describe('The pod of a virtual machine', () => {
  test('is told its addresses and a MAC made of the first one', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    const pod = await machine.started()
    await isTold(world, pod, keyOf(network, world), {
      ip_addresses: ['10.100.0.1/24', 'fd00:100::1/64'],
      mac_address: '0a:58:0a:64:00:01',
      role: 'secondary',
    })
  })

  test('is told the MAC that it asks for', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork({ subnets: '10.100.0.0/24' }))
    const mac = '02:00:5e:10:00:07'
    const machine = await Machine.made(world, [{ name: 'net1', attachment: network.metadata.name ?? '', mac }])
    const pod = await machine.started()
    await isTold(world, pod, keyOf(network, world), {
      ip_addresses: ['10.100.0.1/24'],
      ip_address: '10.100.0.1/24',
      mac_address: mac,
    })
  })

  test('that asks for a MAC that is none is told so, and its claim keeps its addresses', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork({ subnets: '10.100.0.0/24' }))
    const machine = await Machine.made(world, [network])
    const element = { name: network.metadata.name, mac: 'none', 'ipam-claim-reference': `${machine.name}.net1` }
    const pod = await machine.started({ annotations: { 'k8s.v1.cni.cncf.io/networks': JSON.stringify([element]) } })
    await isWarned(world, pod, 'InvalidMACAddress')
    expect(await toldTo(world, pod)).toEqual({})
    await hasAddresses(world, machine.claim(), ['10.100.0.1/24'])
  })

  test('keeps what others wrote into the same annotation', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    const theirs = {
      default: { ip_addresses: ['10.244.0.7/24'], mac_address: '0a:58:0a:f4:00:07', role: 'infrastructure-locked' },
    }
    await machine.started()
    const pod = await machine.aPod({ annotations: { 'k8s.ovn.org/pod-networks': JSON.stringify(theirs) } })
    await isTold(world, pod, keyOf(network, world), { mac_address: '0a:58:0a:64:00:01' })
    expect((await toldTo(world, pod)).default).toEqual(theirs.default)
  })

  test('is told nothing before it has a node', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    await machine.started()
    await hasAddresses(world, machine.claim())
    const pod = await machine.aPod({ node: '' })
    await world.always(async () => expect(await toldTo(world, pod)).toEqual({}), 1_000)
  })

  test('two interfaces on one network have two addresses', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork({ subnets: '10.100.0.0/24' }))
    const attachment = network.metadata.name ?? ''
    const machine = await Machine.made(world, [
      { name: 'net1', attachment },
      { name: 'net2', attachment },
    ])
    const pod = await machine.started()
    const key = keyOf(network, world)
    const [one, two] = [
      await hasAddresses(world, machine.claim('net1')),
      await hasAddresses(world, machine.claim('net2')),
    ]
    expect(one).not.toEqual(two)
    await isTold(world, pod, key, { ip_addresses: one })
    await isTold(world, pod, `${key}/1`, { ip_addresses: two })
  })

  test('of which the claim waits says why, and is told when it is served', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork({ subnets: '10.100.0.0/31', excludeSubnets: '10.100.0.0/31' }))
    const machine = await Machine.made(world, [network])
    const pod = await machine.started()
    await waitsFor(world, machine.claim(), 'SubnetExhausted')
    await isWarned(world, pod, 'SubnetExhausted')
    await world.patch(network, {
      spec: { config: JSON.stringify({ ...configOf(network), subnets: '10.100.0.0/24', excludeSubnets: undefined }) },
    })
    await isTold(world, pod, keyOf(network, world), { ip_addresses: ['10.100.0.1/24'] })
  })

  test('that names a claim which does not exist says so', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const fleeting = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    await machine.started()
    const element = { name: fleeting.metadata.name, namespace: world.home, 'ipam-claim-reference': nextName('none') }
    const pod = await machine.aPod({ annotations: { 'k8s.v1.cni.cncf.io/networks': JSON.stringify([element]) } })
    await isWarned(world, pod, 'IPAMClaimNotFound')
  })
})

describe('A pod that names the claim of another machine', () => {
  test('gets none of its addresses, says so, and the claim does not change', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const [victim, thief] = [await Machine.made(world, [network]), await Machine.made(world, [network])]
    const pod = await victim.started()
    await thief.started()
    await isTold(world, pod, keyOf(network, world), { ip_addresses: await hasAddresses(world, victim.claim()) })
    const before = await world.eventually(async () => {
      const claim = await world.get(victim.claim())
      expect(claim?.status.ownerPod).toEqual({ name: pod.metadata.name })
      return claim
    })
    const element = {
      name: network.metadata.name,
      namespace: world.home,
      'ipam-claim-reference': `${victim.name}.net1`,
    }
    const second = await thief.aPod({ annotations: { 'k8s.v1.cni.cncf.io/networks': JSON.stringify([element]) } })
    await isWarned(world, second, 'IPAMClaimOfAnotherVM')
    expect(await toldTo(world, second)).toEqual({})
    expect(await world.get(victim.claim())).toEqual(before)
  })

  test('and is of no machine is told nothing, and the claim does not change', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    const pod = await machine.started()
    await isTold(world, pod, keyOf(network, world), { ip_addresses: await hasAddresses(world, machine.claim()) })
    await world.idle(1_000)
    const before = await world.get(machine.claim())
    const annotations = {
      'kubevirt.io/domain': machine.name,
      'k8s.v1.cni.cncf.io/networks': machine.networksText(true),
    }
    const plain = await createPod(world, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: nextName('plain'), namespace: world.home, annotations },
      spec: { nodeName: 'node-1', containers: [{ name: 'x', image: 'x' }] },
    } as KubeObject)
    await world.always(async () => expect(await toldTo(world, plain)).toEqual({}), 2_000)
    expect(await world.get(machine.claim())).toEqual(before)
  })

  test('of another network gets none of its addresses', async () => {
    const world = await aWorld()
    const [blue, green] = [await world.create(anOVNNetwork()), await world.create(anOVNNetwork())]
    const machine = await Machine.made(world, [blue, green])
    await machine.started()
    await hasAddresses(world, machine.claim('net1'))
    const element = { name: green.metadata.name, namespace: world.home, 'ipam-claim-reference': `${machine.name}.net1` }
    const pod = await machine.aPod({ annotations: { 'k8s.v1.cni.cncf.io/networks': JSON.stringify([element]) } })
    await isWarned(world, pod, 'IPAMClaimOfAnotherNetwork')
    expect(await toldTo(world, pod)).toEqual({})
  })
})

describe('A live migration', () => {
  async function running(world: World) {
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    const source = await machine.started()
    const ips = await hasAddresses(world, machine.claim())
    await isTold(world, source, keyOf(network, world), { ip_addresses: ips })
    return { network, machine, source, ips }
  }

  const ownerPodIs = (world: World, machine: Machine, pod: Stored) =>
    world.eventually(async () =>
      expect((await world.get(machine.claim()))?.status.ownerPod).toEqual({ name: pod.metadata.name }),
    )

  test('has both pods with the same addresses and MAC, shows both, and ends with the target', async () => {
    const world = await aWorld()
    const { network, machine, source, ips } = await running(world)
    const target = await machine.migrating()
    await isTold(world, target, keyOf(network, world), { ip_addresses: ips })
    expect(await toldTo(world, target)).toEqual(await toldTo(world, source))
    await world.eventually(async () => {
      const message = conditionOf(await world.get(machine.claim()))?.message
      expect(message).toContain(source.metadata.name)
      expect(message).toContain(target.metadata.name)
    })
    await ownerPodIs(world, machine, source)
    await world.patch(target, {
      metadata: { annotations: { 'kubevirt.io/migration-target-ready-timestamp': '2026-01-01T00:00:00Z' } },
    })
    await ownerPodIs(world, machine, target)
    await machine.ended(source)
    await ownerPodIs(world, machine, target)
    await hasAddresses(world, machine.claim(), ips)
    expect(await locksIn(world, configOf(network).name)).toHaveLength(2)
  })

  test('that fails leaves everything with the source', async () => {
    const world = await aWorld()
    const { network, machine, source, ips } = await running(world)
    const target = await machine.migrating()
    await isTold(world, target, keyOf(network, world), { ip_addresses: ips })
    await machine.completed(target, 'Failed')
    await ownerPodIs(world, machine, source)
    await world.delete(target)
    await hasAddresses(world, machine.claim(), ips)
    await ownerPodIs(world, machine, source)
  })
})

describe('The webhook of pods', () => {
  test('names the claim of each interface, and changes nothing else', async () => {
    const world = await aWorld({ hasWebhooks: true })
    const network = await world.create(anOVNNetwork())
    const fleeting = await world.create(anOVNNetwork({ allowPersistentIPs: false }))
    const machine = await Machine.made(world, [network, fleeting])
    await machine.started()
    const pod = await machine.aPod({ isReferred: false })
    const elements = JSON.parse(pod.metadata.annotations?.['k8s.v1.cni.cncf.io/networks'] ?? '[]')
    const asked = JSON.parse(machine.networksText(false))
    expect(elements).toEqual([{ ...asked[0], 'ipam-claim-reference': `${machine.name}.net1` }, asked[1]])
  })

  test('names the claim again when KubeVirt writes the annotation anew', async () => {
    const world = await aWorld({ hasWebhooks: true })
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    await machine.started()
    const pod = await machine.aPod({ isReferred: false })
    const annotations = { 'k8s.v1.cni.cncf.io/networks': machine.networksText(false) }
    const after = await world.patch(pod, { metadata: { annotations } })
    expect(after.metadata.annotations?.['k8s.v1.cni.cncf.io/networks']).toContain(`"${machine.name}.net1"`)
  })

  test('refuses an annotation that cannot be read, with a sentence', async () => {
    const world = await aWorld({ hasWebhooks: true })
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    await machine.started()
    const bad = machine.aPod({ annotations: { 'k8s.v1.cni.cncf.io/networks': '[{"name": 7}]' } })
    await expect(bad).rejects.toThrow(/network selection element/)
  })

  test('leaves other pods alone', async () => {
    const world = await aWorld({ hasWebhooks: true })
    const network = await world.create(anOVNNetwork())
    const networks = JSON.stringify([{ name: network.metadata.name }])
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: nextName('pod'), annotations: { 'k8s.v1.cni.cncf.io/networks': networks } },
      spec: { containers: [{ name: 'main', image: 'main' }] },
    }
    const made = await createPod(world, pod)
    expect(made.metadata.annotations?.['k8s.v1.cni.cncf.io/networks']).toBe(networks)
  })

  test('serves a machine beside which another network cannot be read', async () => {
    const world = await aWorld({ hasWebhooks: true })
    await world.create(anOVNNetwork({ subnets: ['no', 'text'] }))
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    await machine.started()
    const pod = await machine.aPod({ isReferred: false })
    expect(pod.metadata.annotations?.['k8s.v1.cni.cncf.io/networks']).toContain(`"${machine.name}.net1"`)
  })
})
