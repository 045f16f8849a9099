// Virtual machines across crashes and restarts of Mooring, beside a second process, and beside what others left: claims that
// cannot be right, addresses that two claims or two pods show.

import { describe, expect, test } from 'vitest'
import { ipamClaims } from '../../src/controllers/vm/kinds.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import type { WireRequest } from '../../src/kube/wire.ts'
import { aClusterAddressPool } from './builders.ts'
import {
  aBridge,
  aClaimByHand,
  anOVNNetwork,
  configOf,
  hasAddresses,
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
} from './machines.ts'
import { isGone } from './promises.ts'
import { aWorld, type Stored, type World } from './world.ts'

type Moment = readonly [string, (request: WireRequest) => boolean]

/** Kills the desk at the first such request; answers a wait for that. */
function killedAt(world: World, isMoment: (request: WireRequest) => boolean): () => Promise<void> {
  let isReached = false
  world.desk.killBefore(request => {
    isReached ||= isMoment(request)
    return isReached
  })
  return async () => {
    await world.eventually(() => expect(isReached).toBe(true))
    await world.desk.kill()
  }
}

const second = (isMoment: (request: WireRequest) => boolean) => {
  let count = 0
  return (request: WireRequest) => isMoment(request) && ++count > 1
}

const isHeld = ({ method, path }: WireRequest) => method === 'POST' && path.includes('/holds')
const isRested = ({ method, path }: WireRequest) => method === 'PATCH' && path.includes('/holds/')

describe('A process that is killed', () => {
  const starting: readonly Moment[] = [
    ['a claim is made', ({ method, path }) => method === 'POST' && path.includes('/ipamclaims')],
    ['its first address is held', isHeld],
    ['its second address is held', second(isHeld)],
    ['the claim says them', ({ method, path }) => method === 'PATCH' && /ipamclaims\/[^/]+\/status/.test(path)],
    ['the machine shows them', ({ method, path }) => method === 'PATCH' && path.includes('/virtualmachines/')],
    ['the pod is told', ({ method, path }) => method === 'PATCH' && /pods\/[^/]+\/status/.test(path)],
  ]

  test.each(starting)('just before %s finishes after its restart, and nothing is taken twice', async (_, isMoment) => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const dead = killedAt(world, isMoment)
    const machine = await Machine.made(world, [network])
    const pod = await machine.started()
    await dead()
    // It would get the addresses first, if they were free.
    const rival = await Machine.made(world, [network])
    await world.desk.start()
    const ips = await hasAddresses(world, machine.claim())
    for (const ip of await hasAddresses(world, rival.claim())) expect(ips).not.toContain(ip)
    await isTold(world, pod, keyOf(network, world), { ip_addresses: ips })
    await world.eventually(async () => expect(await locksIn(world, configOf(network).name)).toHaveLength(4))
  })

  const ending: readonly Moment[] = [
    ['the first address is given back', isRested],
    ['the second address is given back', second(isRested)],
    ['the claim may go', ({ method, path }) => method === 'PATCH' && /ipamclaims\/[^/]+(\?|$)/.test(path)],
  ]

  test.each(ending)('just before %s leaves nothing behind after its restart', async (_, isMoment) => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    const pod = await machine.started()
    await isTold(world, pod, keyOf(network, world), { ip_addresses: await hasAddresses(world, machine.claim()) })
    await machine.deleted()
    const dead = killedAt(world, isMoment)
    await machine.stopped(pod)
    await machine.letGo()
    await dead()
    await world.desk.start()
    await isGone(world, machine.claim())
    await nothingIsHeld(world, network)
  })

  test('just before the claim of an unplugged interface is deleted deletes it after its restart', async () => {
    const world = await aWorld()
    const [blue, green] = [await world.create(anOVNNetwork()), await world.create(anOVNNetwork())]
    const machine = await Machine.made(world, [blue, green])
    const kept = await hasAddresses(world, machine.claim('net1'))
    await hasAddresses(world, machine.claim('net2'))
    const dead = killedAt(world, ({ method, path }) => method === 'DELETE' && path.includes('/ipamclaims/'))
    await machine.replug([blue])
    await dead()
    await world.desk.start()
    await isGone(world, machine.claim('net2'))
    await nothingIsHeld(world, green)
    await hasAddresses(world, machine.claim('net1'), kept)
  })
})

describe('Two processes at once', () => {
  test('give no address twice, and none of a claim or a machine is made or told twice', async () => {
    const world = await aWorld()
    await world.anotherDesk()
    const network = await world.create(anOVNNetwork())
    const machines = await Promise.all(Array.from({ length: 8 }, () => Machine.made(world, [network])))
    const had: string[] = []
    for (const machine of machines) {
      const pod = await machine.started()
      const ips = await hasAddresses(world, machine.claim())
      await isTold(world, pod, keyOf(network, world), { ip_addresses: ips })
      had.push(...ips)
    }
    expect(new Set(had).size).toBe(16)
    expect(await locksIn(world, configOf(network).name)).toHaveLength(16)
    const made = (await world.list(ipamClaims)).filter(({ spec }) => spec.network === configOf(network).name)
    expect(made).toHaveLength(8)
  })

  test('give back what a machine had once it is gone', async () => {
    const world = await aWorld()
    await world.anotherDesk()
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    const pod = await machine.started()
    await hasAddresses(world, machine.claim())
    await machine.deleted()
    await machine.stopped(pod)
    await machine.letGo()
    await isGone(world, machine.claim())
    await nothingIsHeld(world, network)
  })
})

/** Claims that have addresses from before Mooring. */
async function served(world: World, network: KubeObject, ips: readonly string[]): Promise<Stored> {
  const claim = await world.create(aClaimByHand(network))
  await world.patch(claim, { status: { ips } }, 'status')
  return claim
}

const entryOf = (network: KubeObject, world: World, ip: string) => ({
  [keyOf(network, world)]: { ip_addresses: [ip], mac_address: '0a:58:0a:64:00:09', role: 'secondary' },
})

/** The one that was made first; of one second the one with the lower uid. */
const byAge = ({ metadata: one }: Stored, { metadata: other }: Stored) => {
  const [made, otherMade] = [one, other].map(({ creationTimestamp, uid }) => `${creationTimestamp} ${uid}`)
  return String(made) < String(otherMade) ? -1 : 1
}

describe('A process that starts', () => {
  const v4 = { subnets: '10.100.0.0/24' }

  test('beside claims that cannot be read, or are outside of the subnet, serves every other', async () => {
    const world = await aWorld()
    await world.desk.stop()
    const network = await world.create(anOVNNetwork(v4))
    const unreadable = await served(world, network, ['no address'])
    const outside = await served(world, network, ['10.99.0.7/24'])
    const wrong = await served(world, network, ['10.100.0.8/16'])
    const other = await served(world, network, ['fd00:100::7/64'])
    const good = await served(world, network, ['10.100.0.7/24'])
    const machine = await Machine.made(world, [network])
    await world.desk.start()
    await hasAddresses(world, good, ['10.100.0.7/24'])
    await hasAddresses(world, machine.claim(), ['10.100.0.1/24'])
    await says(world, unreadable, 'InvalidIPAddress', ['no address'])
    await says(world, outside, 'IPAddressOutOfSubnet', ['10.99.0.7/24'])
    await says(world, wrong, 'IPPrefixMismatch', ['10.100.0.8/16'])
    await says(world, other, 'IPFamilyMismatch', ['fd00:100::7/64'])
  })

  test('and finds one address with two claims leaves it with the first, tells the other, and gives it to no third', async () => {
    const world = await aWorld()
    await world.desk.stop()
    const network = await world.create(anOVNNetwork(v4))
    const ips = ['10.100.0.1/24']
    const [first, second] = [await served(world, network, ips), await served(world, network, ips)].sort(byAge)
    await world.desk.start()
    const machine = await Machine.made(world, [network])
    await hasAddresses(world, first as Stored, ips)
    await says(world, second as Stored, 'IPAddressConflict', ips)
    await isWarned(world, second as Stored, 'IPAddressConflict')
    expect(await hasAddresses(world, machine.claim())).not.toEqual(ips)
    await world.desk.stop()
    await world.desk.start()
    await hasAddresses(world, first as Stored, ips)
    await world.delete(first as Stored)
    await hasAddresses(world, second as Stored, ips)
  })

  test('and finds one address with two claims leaves it with the one whose machine runs', async () => {
    const world = await aWorld()
    await world.desk.stop()
    const network = await world.create(anOVNNetwork(v4))
    const ips = ['10.100.0.1/24']
    const shown = entryOf(network, world, '10.100.0.1/24')
    const machines = [await Machine.made(world, [network]), await Machine.made(world, [network])]
    const claims: Stored[] = []
    for (const machine of machines) {
      const name = `${machine.name}.net1`
      const ownerReferences = [ownerOf((await world.get(machine.vm)) as Stored)]
      const labels = { 'kubevirt.io/vm': machine.name }
      const claim = await world.create(aClaimByHand(network, { name, ownerReferences, labels }))
      claims.push(await world.patch(claim, { status: { ips } }, 'status'))
    }
    const [first, second] = claims.toSorted(byAge) as [Stored, Stored]
    const running = machines.find(machine => `${machine.name}.net1` === second.metadata.name) as Machine
    const stopped = machines.find(machine => machine !== running) as Machine
    await running.started({ annotations: { 'k8s.ovn.org/pod-networks': JSON.stringify(shown) } })
    await world.desk.start()
    await hasAddresses(world, second, ips)
    await says(world, first, 'IPAddressConflict', ips)
    const pod = await stopped.started()
    await isWarned(world, pod, 'IPAddressConflict')
    expect(await toldTo(world, pod)).toEqual({})
  })

  test('and finds one address with two pods gives it to no third, and leaves both as they are', async () => {
    const world = await aWorld()
    await world.desk.stop()
    const network = await world.create(anOVNNetwork(v4))
    const shown = entryOf(network, world, '10.100.0.1/24')
    const annotations = { 'k8s.ovn.org/pod-networks': JSON.stringify(shown) }
    const machines = [await Machine.made(world, [network]), await Machine.made(world, [network])]
    const pods: Stored[] = []
    for (const machine of machines) pods.push(await machine.started({ annotations }))
    await world.desk.start()
    const third = await Machine.made(world, [network])
    expect(await hasAddresses(world, third.claim())).not.toContain('10.100.0.1/24')
    for (const machine of machines) expect(await hasAddresses(world, machine.claim())).not.toContain('10.100.0.1/24')
    for (const pod of pods) {
      expect(await toldTo(world, pod)).toEqual(shown)
      await isWarned(world, pod, 'AddressesDiffer')
    }
  })

  test('and finds a pod with addresses whose claim has none gives these to the claim, and to the next pod', async () => {
    const world = await aWorld()
    await world.desk.stop()
    const network = await world.create(anOVNNetwork())
    const ips = ['10.100.0.9/24', 'fd00:100::9/64']
    const shown = { [keyOf(network, world)]: { ip_addresses: ips, mac_address: '0a:58:0a:64:00:09' } }
    const machine = await Machine.made(world, [network])
    const annotations = { 'k8s.ovn.org/pod-networks': JSON.stringify(shown) }
    // It started before there were claims.
    const pod = await machine.started({ annotations, isReferred: false })
    await world.desk.start()
    await hasAddresses(world, machine.claim(), ips)
    expect(await toldTo(world, pod)).toEqual(shown)
    await machine.stopped(pod)
    await isTold(world, await machine.started(), keyOf(network, world), { ip_addresses: ips })
  })

  test.each([
    ['outside of the subnet', '10.99.0.9/24'],
    ['excluded', '10.100.0.200/24'],
    ['of another machine', '10.100.0.1/24'],
  ])('and finds a pod with an address %s leaves the pod as it is, and says that it will change', async (_, ip) => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork({ ...v4, excludeSubnets: '10.100.0.200/32' }))
    const other = await Machine.made(world, [network])
    await hasAddresses(world, other.claim(), ['10.100.0.1/24'])
    await world.desk.stop()
    const shown = entryOf(network, world, ip)
    const machine = await Machine.made(world, [network])
    const pod = await machine.started({ annotations: { 'k8s.ovn.org/pod-networks': JSON.stringify(shown) } })
    await world.desk.start()
    await hasAddresses(world, machine.claim(), ['10.100.0.2/24'])
    await isWarned(world, pod, 'AddressesDiffer')
    expect(await toldTo(world, pod)).toEqual(shown)
  })

  test('after an interface was unplugged and a machine orphaned meanwhile tidies up', async () => {
    const world = await aWorld()
    const [blue, green] = [await world.create(anOVNNetwork()), await world.create(anOVNNetwork())]
    const machine = await Machine.made(world, [blue, green])
    const pod = await machine.started()
    const kept = await hasAddresses(world, machine.claim('net1'))
    await hasAddresses(world, machine.claim('net2'))
    await world.desk.stop()
    await machine.replug([blue])
    await world.patch(pod, { metadata: { annotations: { 'k8s.v1.cni.cncf.io/networks': machine.networksText(true) } } })
    await machine.deleted('Orphan')
    await machine.letGo()
    await isGone(world, machine.vm)
    await world.desk.start()
    await isGone(world, machine.claim('net2'))
    await nothingIsHeld(world, green)
    await hasAddresses(world, machine.claim('net1'), kept)
    await machine.stopped(pod)
    await isGone(world, machine.claim('net1'))
    await nothingIsHeld(world, blue)
  })
})

describe('A virtual machine that is made anew under its name at once', () => {
  test('waits for the claim of the earlier one, while a pod of that can still run', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const former = await Machine.made(world, [network])
    const pod = await former.started()
    const had = await hasAddresses(world, former.claim())
    await former.deleted()
    await world.delete(former.vmi)
    await former.letGoOfInstance()
    await former.letGo()
    await isGone(world, former.vm)
    const machine = await Machine.made(world, [network], former.name)
    const vm = (await world.get(machine.vm)) as Stored
    await isWarned(world, vm, 'ClaimNameTaken')
    expect((await world.get(machine.claim()))?.status.ips).toEqual(had)
    await machine.ended(pod)
    await world.eventually(async () =>
      expect((await world.get(machine.claim()))?.metadata.ownerReferences).toEqual([ownerOf(vm)]),
    )
    await hasAddresses(world, machine.claim())
    expect(await locksIn(world, configOf(network).name)).toHaveLength(2)
  })

  test('has the same address again where its pool keeps released addresses for a while', async () => {
    const world = await aWorld()
    const pool = await world.create(
      aClusterAddressPool().withAddresses('10.7.0.10-10.7.0.20').with({ quarantineSeconds: 600 }),
    )
    const bridge = await world.create(aBridge({ pool: { kind: 'ClusterAddressPool', name: pool.metadata.name } }))
    const former = await Machine.made(world, [bridge])
    const had = await hasAddresses(world, former.claim())
    const claim = (await world.get(former.claim())) as Stored
    await former.deleted()
    await former.letGo()
    await isGone(world, former.vm)
    const stranger = await Machine.made(world, [bridge])
    const machine = await Machine.made(world, [bridge], former.name)
    await world.eventually(async () =>
      expect((await world.get(machine.claim()))?.metadata.uid ?? claim.metadata.uid).not.toBe(claim.metadata.uid),
    )
    await hasAddresses(world, machine.claim(), had)
    expect(await hasAddresses(world, stranger.claim())).not.toEqual(had)
  })

  test('has the same addresses each time, however often', async () => {
    const world = await aWorld()
    const pool = await world.create(
      aClusterAddressPool().withAddresses('10.7.0.10-10.7.0.11').with({ quarantineSeconds: 600 }),
    )
    const bridge = await world.create(aBridge({ pool: { kind: 'ClusterAddressPool', name: pool.metadata.name } }))
    const name = nextName('vm')
    const had: (readonly string[])[] = []
    for (let round = 0; round < 3; round++) {
      const machine = await Machine.made(world, [bridge], name)
      const pod = await machine.started()
      had.push(await hasAddresses(world, machine.claim()))
      await machine.deleted()
      await machine.stopped(pod)
      await machine.letGo()
      await isGone(world, machine.claim())
    }
    expect(new Set(had.flat()).size).toBe(1)
  })
})
