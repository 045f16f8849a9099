// What a user of a namespace can write to claims, virtual machines and pods, and what that cannot do to other machines.

import { describe, expect, test } from 'vitest'
import { defaultNetworkRules } from '../../src/controllers/office/networks.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { aClaim, aClusterAddressPool, anAddressPool } from './builders.ts'
import {
  aBridge,
  aClaimByHand,
  anOVNNetwork,
  conditionOf,
  configOf,
  hasAddresses,
  heldBy,
  interfaceOf,
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
} from './machines.ts'
import { aServedClaim, eventsAbout, isGone } from './promises.ts'
import { aWorld, type Stored, type World } from './world.ts'

const v4 = { subnets: '10.100.0.0/24' }

/** A machine that runs, and is told its addresses. */
async function aVictim(world: World, network: KubeObject) {
  const machine = await Machine.made(world, [network])
  const pod = await machine.started()
  const ips = await hasAddresses(world, machine.claim())
  await isTold(world, pod, keyOf(network, world), { ip_addresses: ips })
  const vm = (await world.get(machine.vm)) as Stored
  return { machine, pod, ips, vm }
}

describe('A claim that a user makes in the name of a machine', () => {
  test('by owner and label takes nothing from the claim of the machine, and goes with the machine', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const { machine, pod, ips, vm } = await aVictim(world, network)
    const forged = await world.create(
      aClaimByHand(network, {
        ownerReferences: [ownerOf(vm)],
        labels: { 'kubevirt.io/vm': machine.name },
        finalizers: ['kubevirt.io/persistent-ipam'],
      }),
    )
    const before = (await world.get(machine.claim())) as Stored
    await world.idle(5_000)
    await hasAddresses(world, machine.claim(), ips)
    expect((await world.get(machine.claim()))?.metadata.uid).toBe(before.metadata.uid)
    await machine.deleted()
    await machine.stopped(pod)
    await machine.letGo()
    await isGone(world, machine.claim())
    await isGone(world, forged)
    await nothingIsHeld(world, network)
  })

  test('that is not there yet, by its name, is not adopted, and keeps no other claim from being made', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const name = nextName('vm')
    const squatter = await world.create(aClaimByHand(network, { name: `${name}.net1` }))
    await hasAddresses(world, squatter)
    const machine = await Machine.made(world, [network, network], name)
    await isWarned(world, (await world.get(machine.vm)) as Stored, 'ClaimNameTaken')
    await hasAddresses(world, machine.claim('net2'))
    expect((await world.get(squatter))?.metadata.ownerReferences).toBeUndefined()
  })

  test('of another namespace is nothing to the machine, nor to its claim', async () => {
    const world = await aWorld()
    const other = await world.anotherNamespace()
    const annotations = { 'mooring.dev/allowed-namespaces': other }
    const network = await world.create(anOVNNetwork(v4, { annotations }))
    const { machine, pod, ips, vm } = await aVictim(world, network)
    const forged = aClaimByHand(network, {
      name: `${machine.name}.net1`,
      namespace: other,
      ownerReferences: [ownerOf(vm)],
      labels: { 'kubevirt.io/vm': machine.name },
    })
    await world.create(forged)
    await world.idle(3_000)
    await world.delete(forged)
    await isGone(world, forged)
    await hasAddresses(world, machine.claim(), ips)
    await isTold(world, pod, keyOf(network, world), { ip_addresses: ips })
    await world.eventually(async () => expect(await locksIn(world, configOf(network).name)).toHaveLength(1))
  })

  test('that shows the address of another machine does not get it, nor keeps it after', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const { machine, pod, ips } = await aVictim(world, network)
    const forged = await world.create(aClaimByHand(network))
    await hasAddresses(world, forged)
    const second = aClaimByHand(network)
    await world.create(second)
    await world.patch(second, { status: { ips } }, 'status').catch(() => undefined)
    await world.idle(3_000)
    await hasAddresses(world, machine.claim(), ips)
    expect((await toldTo(world, pod))[keyOf(network, world)]).toMatchObject({ ip_addresses: ips })
    await world.delete(second)
    await isGone(world, second)
    await hasAddresses(world, machine.claim(), ips)
  })
})

describe('A claim that a user makes, which shows the address of a machine that runs', () => {
  test('goes at once when it is deleted, and the machine keeps what it has', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const { machine, pod, ips } = await aVictim(world, network)
    await world.desk.stop()
    const forged = await world.create(aClaimByHand(network, { finalizers: ['kubevirt.io/persistent-ipam'] }))
    await world.patch(forged, { status: { ips } }, 'status')
    await world.desk.start()
    await says(world, forged, 'IPAddressConflict', ips)
    await world.delete(forged)
    await isGone(world, forged)
    await hasAddresses(world, machine.claim(), ips)
    expect((await toldTo(world, pod))[keyOf(network, world)]).toMatchObject({ ip_addresses: ips })
  })
})

describe('A claim that a user makes, which shows the address of a machine that runs and holds another', () => {
  test('goes at once when it is deleted, with what it holds', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const { machine, ips } = await aVictim(world, network)
    let isHeld = false
    world.desk.killBefore(({ method, path }) => {
      isHeld ||= method === 'PATCH' && /ipamclaims\/by-hand[^/]+\/status/.test(path)
      return isHeld
    })
    const forged = await world.create(aClaimByHand(network))
    await world.eventually(() => expect(isHeld).toBe(true))
    await world.desk.kill()
    await world.patch(forged, { status: { ips } }, 'status')
    await world.desk.start()
    await says(world, forged, 'IPAddressConflict', ips)
    await world.delete(forged)
    await isGone(world, forged)
    await hasAddresses(world, machine.claim(), ips)
    await world.eventually(async () => expect(await locksIn(world, configOf(network).name)).toHaveLength(1))
  })
})

describe('A user who changes the claim of a machine that runs', () => {
  test('to belong to another machine gets no address of it: none is given out while the pod can run', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const { machine, pod, ips } = await aVictim(world, network)
    const thief = await Machine.made(world, [])
    const owner = ownerOf((await world.get(thief.vm)) as Stored)
    await world.patch(machine.claim(), {
      metadata: { ownerReferences: [owner], labels: { 'kubevirt.io/vm': thief.name } },
    })
    await thief.deleted()
    await thief.letGo()
    await isGone(world, thief.vm)
    await world.idle(3_000)
    const other = await Machine.made(world, [network])
    expect(await hasAddresses(world, other.claim())).not.toEqual(ips)
    expect((await toldTo(world, pod))[keyOf(network, world)]).toMatchObject({ ip_addresses: ips })
  })

  test('by taking its finalizer off, or deleting it so, gets no address of it while the pod can run', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const { machine, ips } = await aVictim(world, network)
    await world.desk.stop()
    await world.patch(machine.claim(), { metadata: { finalizers: [] } })
    await world.delete(machine.claim())
    await isGone(world, machine.claim())
    const other = await Machine.made(world, [network])
    await world.desk.start()
    expect(await hasAddresses(world, other.claim())).not.toEqual(ips)
  })

  test('to belong to no machine has it go back to the machine, or stay as it is, with its addresses', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const { machine, ips, vm } = await aVictim(world, network)
    await world.patch(machine.claim(), { metadata: { ownerReferences: null } })
    await world.eventually(async () =>
      expect((await world.get(machine.claim()))?.metadata.ownerReferences).toEqual([ownerOf(vm)]),
    )
    await hasAddresses(world, machine.claim(), ips)
  })

  test('in its status is told so, and the machine keeps what it has', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const { machine, pod, ips } = await aVictim(world, network)
    const write = world.patch(machine.claim(), { status: { ips: ['10.100.0.77/24'] } }, 'status')
    // The definition of the kind refuses it; where another's is installed, Mooring finds it.
    await expect(write).rejects.toThrow(/status\.ips/)
    await hasAddresses(world, machine.claim(), ips)
    expect((await toldTo(world, pod))[keyOf(network, world)]).toMatchObject({ ip_addresses: ips })
  })
})

describe('A pod that a user makes in the name of a machine', () => {
  test('without its instance as controller has none of its addresses, says so, and does not become the pod of the claim', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const { machine, pod } = await aVictim(world, network)
    const thief = await Machine.made(world, [network])
    await thief.started()
    const annotations = {
      'kubevirt.io/domain': machine.name,
      'k8s.v1.cni.cncf.io/networks': machine.networksText(true),
    }
    const forged = await thief.aPod({ annotations })
    await isWarned(world, forged, 'PodOfAnotherInstance')
    await world.always(async () => expect(await toldTo(world, forged)).toEqual({}), 3_000)
    expect((await world.get(machine.claim()))?.status.ownerPod).toEqual({ name: pod.metadata.name })
  })

  test('that shows any address keeps no other machine from its own, and frees none when it goes', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const { machine, ips } = await aVictim(world, network)
    const thief = await Machine.made(world, [network])
    await thief.started()
    const shown = { [keyOf(network, world)]: { ip_addresses: ips, mac_address: '0a:58:0a:64:00:01' } }
    const forged = await thief.aPod({ annotations: { 'k8s.ovn.org/pod-networks': JSON.stringify(shown) } })
    await world.idle(2_000)
    await hasAddresses(world, machine.claim(), ips)
    await thief.ended(forged)
    await world.desk.stop()
    await world.desk.start()
    const other = await Machine.made(world, [network])
    expect(await hasAddresses(world, other.claim())).not.toEqual(ips)
    await hasAddresses(world, machine.claim(), ips)
  })
})

describe('On a network that OVN-Kubernetes gives out, a user who writes addresses into the status of a claim', () => {
  const networkRules = { ...defaultNetworkRules, vmIPAM: 'observe' } as const

  /** As OVN-Kubernetes writes it, or a user who may write statuses: the roles for users do not permit it. */
  async function showing(world: World, network: Stored, ips: readonly string[], namespace = world.home) {
    const claim = await world.create(aClaimByHand(network, { namespace }))
    await world.patch(claim, { status: { ips } }, 'status')
    return claim
  }

  const isHeldFor = (world: World, claim: Stored, ...addresses: string[]) =>
    world.eventually(async () => expect(await heldBy(world, claim)).toEqual(addresses))

  test('of a namespace that the network is not offered to keeps none from a claim that is given them', async () => {
    const world = await aWorld({ networkRules })
    const network = await world.create(anOVNNetwork(v4))
    const forged = await showing(world, network, ['10.100.0.7/24'], await world.anotherNamespace())
    await isWarned(world, forged, 'NetworkNotOffered')
    const claim = await showing(world, network, ['10.100.0.7/24'])
    await isHeldFor(world, claim, '10.100.0.7')
    expect(await heldBy(world, forged)).toEqual([])
    expect(await eventsAbout(world, claim.metadata.uid ?? '')).toEqual([])
  })

  /** The status stays what the other program wrote. */
  async function isToldByEventAlone(world: World, name: string) {
    const namespace = await world.anotherNamespace()
    const refused = await world.create(anOVNNetwork({ ...v4, name }, { namespace }))
    await world.heard(refused)
    const claim = await showing(world, refused, ['10.100.0.7/24'], namespace)
    await isWarned(world, claim, 'NetworkNotOffered')
    await world.always(async () => {
      expect((await world.get(claim))?.status).toEqual({ ips: ['10.100.0.7/24'] })
    }, 2_000)
    expect(await heldBy(world, claim)).toEqual([])
  }

  test('of a namespace whose NetworkAttachmentDefinition is refused is told by an event alone', async () => {
    const world = await aWorld({ networkRules })
    // A name that is its own by right: which of the two is older does not matter.
    const name = nextName('net')
    const network = await world.create(anOVNNetwork({ ...v4, name: `${world.home}_${name}` }, { name }))
    await world.heard(network)
    await isToldByEventAlone(world, configOf(network).name)
  })

  test('of a namespace whose NetworkAttachmentDefinition has the name of a space that is not offered to it, likewise', async () => {
    const world = await aWorld({ networkRules })
    const allowedNamespaces = { matchLabels: { 'kubernetes.io/metadata.name': world.home } }
    const space = nextName('space')
    const pool = aClusterAddressPool().withAddresses('10.100.0.0/24').with({ space, allowedNamespaces })
    await world.heard(await world.create(pool))
    await isToldByEventAlone(world, space)
  })

  test('that no subnet of the network has keeps none from a pool that has them in the same space', async () => {
    const world = await aWorld({ networkRules })
    const other = await world.anotherNamespace()
    const network = await world.create(anOVNNetwork(v4, { annotations: { 'mooring.dev/allowed-namespaces': other } }))
    await world.heard(network)
    const space = configOf(network).name
    const pool = await world.create(anAddressPool().withAddresses('10.100.1.0/30').with({ space }))
    const forged = await showing(world, network, ['10.100.1.1/24'], other)
    await isWarned(world, forged, 'IPAddressOutOfSubnet')
    await aServedClaim(world, aClaim().on(pool), '10.100.1.1')
    expect(await heldBy(world, forged)).toEqual([])
  })

  test('of another claim leaves that claim with them', async () => {
    const world = await aWorld({ networkRules })
    const other = await world.anotherNamespace()
    const network = await world.create(anOVNNetwork(v4, { annotations: { 'mooring.dev/allowed-namespaces': other } }))
    const claim = await showing(world, network, ['10.100.0.7/24'])
    await isHeldFor(world, claim, '10.100.0.7')
    const forged = await showing(world, network, ['10.100.0.7/24'], other)
    await isWarned(world, forged, 'IPAddressConflict')
    await world.delete(forged)
    await isGone(world, forged)
    await isHeldFor(world, claim, '10.100.0.7')
  })
})

describe('A user who writes addresses into the annotations of pods', () => {
  const showing = (world: World, network: KubeObject, ip: string) => ({
    'k8s.ovn.org/pod-networks': JSON.stringify({ [keyOf(network, world)]: { ip_addresses: [ip] } }),
  })
  const attached = (world: World, network: KubeObject, ip: string) => ({
    'k8s.v1.cni.cncf.io/network-status': JSON.stringify([
      { name: keyOf(network, world), interface: interfaceOf('net1'), ips: [ip] },
    ]),
  })

  test('decides for no claim but that of the machine whose pod it is', async () => {
    const world = await aWorld()
    await world.desk.stop()
    const network = await world.create(anOVNNetwork(v4))
    const [machine, thief] = [await Machine.made(world, [network]), await Machine.made(world, [network])]
    await machine.started()
    await thief.started()
    const forged = {
      'kubevirt.io/domain': machine.name,
      'k8s.v1.cni.cncf.io/networks': machine.networksText(true),
      ...showing(world, network, '10.100.0.77/24'),
    }
    await thief.aPod({ annotations: forged })
    await world.desk.start()
    expect(await hasAddresses(world, machine.claim())).not.toEqual(['10.100.0.77/24'])
    expect(await hasAddresses(world, thief.claim())).not.toEqual(['10.100.0.77/24'])
  })

  test('gets nothing of a network that is not offered to the namespace', async () => {
    const world = await aWorld()
    await world.desk.stop()
    const other = await world.anotherNamespace()
    const network = await world.create(anOVNNetwork(v4, { namespace: other }))
    const thief = await Machine.made(world, [network])
    await thief.started({ annotations: showing(world, network, '10.100.0.77/24') })
    await world.desk.start()
    await waitsFor(world, thief.claim(), 'NetworkNotFound', /is not offered to namespace/)
    expect(await locksIn(world, configOf(network).name)).toEqual([])
  })

  test('gets neither what its pool keeps for another, nor more than the quota of the namespace', async () => {
    const world = await aWorld()
    await world.desk.stop()
    const rules = { quota: { perNamespace: 1 }, preAllocations: { 'elsewhere/db': '10.101.0.77' } }
    const pool = await world.create(aClusterAddressPool().withAddresses('10.101.0.1-10.101.0.99').with(rules))
    const network = await world.create(aBridge({ pool: { kind: 'ClusterAddressPool', name: pool.metadata.name } }))
    const thief = await Machine.made(world, [network])
    await thief.started({ annotations: attached(world, network, '10.101.0.77') })
    await world.desk.start()
    await hasAddresses(world, thief.claim(), ['10.101.0.1/24'])
    await world.desk.stop()
    const second = await Machine.made(world, [network])
    await second.started({ annotations: attached(world, network, '10.101.0.78') })
    await world.desk.start()
    await waitsFor(world, second.claim(), 'QuotaReached')
  })

  test('chooses among the free ones at most, as by any request', async () => {
    const world = await aWorld()
    await world.desk.stop()
    const quota = { perNamespace: 1 }
    const pool = await world.create(aClusterAddressPool().withAddresses('10.101.0.1-10.101.0.99').with({ quota }))
    const network = await world.create(aBridge({ pool: { kind: 'ClusterAddressPool', name: pool.metadata.name } }))
    const machine = await Machine.made(world, [network])
    await machine.started({ annotations: attached(world, network, '10.101.0.78') })
    await world.desk.start()
    await hasAddresses(world, machine.claim(), ['10.101.0.78/24'])
  })
})

describe('A second machine that asks for the address of another', () => {
  test('is told so in the words of the proposal, has none, and the first is not disturbed', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const { machine, pod, ips } = await aVictim(world, network)
    await world.desk.stop()
    const second = await world.create(aClaimByHand(network))
    await world.patch(second, { status: { ips } }, 'status')
    await world.desk.start()
    await says(world, second, 'IPAddressConflict', ips)
    const message = `Requested IP ${ips[0]?.split('/')[0]} is already assigned in the network`
    const stored = await world.get(second)
    expect(conditionOf(stored)).toMatchObject({ message })
    expect(conditionOf(stored, 'IPAllocated')).toMatchObject({ status: 'False', reason: 'IPAlreadyExists', message })
    await hasAddresses(world, machine.claim(), ips)
    await machine.deleted()
    await machine.stopped(pod)
    await machine.letGo()
    await hasAddresses(world, second, ips)
  })
})
