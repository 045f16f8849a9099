// Launcher pods on networks of OVN-Kubernetes that Mooring gives out: what they are configured with, and what they are told.

import { describe, expect, test } from 'vitest'
import { events, macHolds } from '../behaviours/kinds.ts'
import type { Stored, Thing, World } from '../behaviours/world.ts'
import { aClaim, aMachine, aPod, aVMWorld, entriesOf, isServed, locksIn, nextName, waits } from './world.ts'

const blue = { name: 'blue', subnets: ['192.168.1.0/29'] }
const dual = { name: 'blue', subnets: ['10.9.0.0/28', 'fd00:9::/64'] }

const entry = {
  ip_addresses: ['192.168.1.1/29'],
  mac_address: '0a:58:c0:a8:01:01',
  ip_address: '192.168.1.1/29',
  role: 'secondary',
}

async function told(world: World, pod: Stored): Promise<{ readonly reason: string; readonly note: string }[]> {
  const { items } = await world.client.list(events, { namespace: pod.metadata.namespace ?? '' })
  const all = items as unknown as { regarding: { uid: string }; reason: string; note: string }[]
  return all.filter(({ regarding }) => regarding.uid === pod.metadata.uid).map(({ reason, note }) => ({ reason, note }))
}

const isTold = (world: World, pod: Stored, reason: string, note: RegExp | string = '') =>
  world.eventually(async () => {
    const found = await told(world, pod)
    expect(found.map(one => one.reason)).toEqual([reason])
    expect(found[0]?.note).toMatch(note)
  })

const isLeftAlone = (world: World, pod: Stored) =>
  world.always(async () => {
    expect(await entriesOf(world, pod)).toBeUndefined()
    expect(await told(world, pod)).toEqual([])
  }, 1_500)

const becomes = (world: World, pod: Thing, entries: object) =>
  world.eventually(async () => expect(await entriesOf(world, pod)).toEqual(entries))

async function aServedMachine(world: World, name?: string) {
  const machine = await aMachine(world, name)
  const claim = await world.create(aClaim({ owner: machine.vm }))
  await isServed(world, claim)
  return { ...machine, claim: claim.metadata.name ?? '', stored: claim }
}

describe('A launcher pod', () => {
  test('is configured with the addresses of its claim, and a MAC made of the first', async () => {
    const world = await aVMWorld([blue])
    const { vmi, claim } = await aServedMachine(world)
    await becomes(world, await world.create(aPod(vmi, { claim })), { 'default/blue': entry })
  })

  test('is configured with both families, and with the MAC that it asks for', async () => {
    const world = await aVMWorld([dual])
    const { vmi, claim, stored } = await aServedMachine(world)
    await world.patch(stored, { metadata: { annotations: { 'mooring.dev/requested-mac': '02:00:5e:10:00:01' } } })
    const elements = [{ name: 'blue', mac: '0200.5E10.0001', 'ipam-claim-reference': claim }]
    await becomes(world, await world.create(aPod(vmi, { elements })), {
      'default/blue': {
        ip_addresses: ['10.9.0.1/28', 'fd00:9::1/64'],
        mac_address: '02:00:5e:10:00:01',
        role: 'secondary',
      },
    })
  })

  test('is told the MAC that its claim asks for, also by a process that has not heard of the change', async () => {
    const world = await aVMWorld([blue])
    const { vmi, claim, stored } = await aServedMachine(world)
    const [former, next] = ['02:00:5e:10:00:01', '02:00:5e:10:00:02']
    const isHeld = (mac: string) =>
      world.eventually(async () => {
        const { items } = await world.client.list(macHolds)
        expect((items as Stored[]).map(({ spec }) => spec.mac)).toEqual([mac])
      })
    const asksFor = (mac: string) =>
      world.patch(stored, { metadata: { annotations: { 'mooring.dev/requested-mac': mac } } })
    await asksFor(former)
    await isHeld(former)
    const other = await world.anotherDesk({ desks: world.desks })
    await isHeld(former)
    world.desk.loseAnswers(({ method, path }) => method === 'GET' && /\/(ipamclaims|macholds)(\?|$)/.test(path))
    world.desk.endWatches()
    await asksFor(next)
    await isHeld(next)
    await other.stop()
    const pod = await world.create(aPod(vmi, { claim }))
    await world.always(
      async () => expect(JSON.stringify((await entriesOf(world, pod)) ?? {})).not.toContain(former),
      1_500,
    )
    world.desk.loseAnswers(() => false)
    await becomes(world, pod, { 'default/blue': { ...entry, mac_address: next } })
  })

  test('on a primary network is told its gateways', async () => {
    const world = await aVMWorld([{ ...blue, isPrimary: true, gateways: ['192.168.1.6'] }])
    const { vmi, claim } = await aServedMachine(world)
    const annotations = { 'k8s.ovn.org/primary-udn-ipamclaim': claim }
    await becomes(world, await world.create(aPod(vmi, { elements: [], annotations })), {
      'default/blue': { ...entry, gateway_ips: ['192.168.1.6'], gateway_ip: '192.168.1.6', role: 'primary' },
    })
  })

  test('on a primary network finds its claim by the default network, which counts before the older annotation', async () => {
    const world = await aVMWorld([{ ...blue, isPrimary: true }])
    const { vmi, claim, stored } = await aServedMachine(world)
    await world.patch(stored, { metadata: { annotations: { 'mooring.dev/requested-mac': '02:00:5e:10:00:01' } } })
    const element = { name: 'default', namespace: 'ovn-kubernetes', mac: '02:00:5e:10:00:01' }
    const annotations = {
      'k8s.ovn.org/primary-udn-ipamclaim': 'another',
      'v1.multus-cni.io/default-network': JSON.stringify([{ ...element, 'ipam-claim-reference': claim }]),
    }
    await becomes(world, await world.create(aPod(vmi, { elements: [], annotations })), {
      'default/blue': { ...entry, mac_address: '02:00:5e:10:00:01', role: 'primary' },
    })
  })

  test('that names its primary network among the others is told so (98)', async () => {
    const world = await aVMWorld([{ ...blue, isPrimary: true }])
    const { vmi, claim } = await aServedMachine(world)
    const pod = await world.create(aPod(vmi, { claim }))
    await isTold(world, pod, 'PrimaryNetworkSelected', /takes the place of the pod network/)
    expect(await entriesOf(world, pod)).toBeUndefined()
  })

  test('gets no MAC that its claim does not hold', async () => {
    const world = await aVMWorld([blue])
    const { vmi, claim } = await aServedMachine(world)
    const elements = [{ name: 'blue', mac: '02:00:5e:10:00:01', 'ipam-claim-reference': claim }]
    const pod = await world.create(aPod(vmi, { elements }))
    await isTold(world, pod, 'MACNotInClaim', /02:00:5e:10:00:01 is not held by IPAMClaim/)
    expect(await entriesOf(world, pod)).toBeUndefined()
  })

  test('with two interfaces on one network has an entry for each, beside those of others', async () => {
    const world = await aVMWorld([blue])
    const { vm, vmi, claim } = await aServedMachine(world)
    const second = await world.create(aClaim({ owner: vm, name: nextName('second') }))
    await isServed(world, second)
    const elements = [claim, second.metadata.name].map(name => ({ name: 'blue', 'ipam-claim-reference': name }))
    const others = { default: { ip_addresses: ['10.244.0.9/24'], mac_address: '0a:58:0a:f4:00:09', role: 'primary' } }
    const annotations = { 'k8s.ovn.org/pod-networks': JSON.stringify(others) }
    await becomes(world, await world.create(aPod(vmi, { elements, annotations })), {
      ...others,
      'default/blue': entry,
      'default/blue/1': {
        ...entry,
        ip_addresses: ['192.168.1.2/29'],
        ip_address: '192.168.1.2/29',
        mac_address: '0a:58:c0:a8:01:02',
      },
    })
  })

  test('is configured when its claim comes, and when it is bound', async () => {
    const world = await aVMWorld([])
    const { vm, vmi } = await aMachine(world)
    const pod = await world.create(aPod(vmi, { claim: `${vm.metadata.name}.blue` }))
    await world.always(async () => expect(await entriesOf(world, pod)).toBeUndefined(), 1_000)
    world.networks.put(blue)
    await world.create(aClaim({ owner: vm }))
    await becomes(world, pod, { 'default/blue': entry })
  })

  test('is configured when it is scheduled, and not before', async () => {
    const world = await aVMWorld([blue])
    const { vmi, claim } = await aServedMachine(world)
    const pod = await world.create(aPod(vmi, { claim, node: '' }))
    await isLeftAlone(world, pod)
  })

  test.each<[string, Parameters<typeof aPod>[1]]>([
    ['on the network of its host', { isHostNetwork: true }],
    ['on a network of another CNI', { elements: [{ name: 'foreign-1' }] }],
    ['on none of ours', { elements: [{ name: 'unheard-of' }] }],
    ['that is none of a virtual machine', { labels: { 'kubevirt.io': 'virt-handler' } }],
  ])('%s is left alone', async (_, parts) => {
    const world = await aVMWorld([blue])
    const { vmi, claim } = await aServedMachine(world)
    await isLeftAlone(world, await world.create(aPod(vmi, { claim, ...parts })))
  })

  test('that asks for addresses on a network without subnets has them', async () => {
    const world = await aVMWorld([{ name: 'blue', subnets: [] }])
    const { vmi } = await aMachine(world)
    const pod = await world.create(aPod(vmi, { elements: [{ name: 'blue', ips: ['172.16.0.9/16'] }] }))
    await becomes(world, pod, {
      'default/blue': {
        ...entry,
        ip_addresses: ['172.16.0.9/16'],
        ip_address: '172.16.0.9/16',
        mac_address: '0a:58:ac:10:00:09',
      },
    })
  })

  test('keeps an entry that it has, and says so where the claim has other addresses', async () => {
    const world = await aVMWorld([blue])
    const { vmi, claim } = await aServedMachine(world)
    const stored = { 'default/blue': { ...entry, ip_addresses: ['192.168.1.5/29'], ip_address: '192.168.1.5/29' } }
    const annotations = { 'k8s.ovn.org/pod-networks': JSON.stringify(stored) }
    const pod = await world.create(aPod(vmi, { claim, annotations }))
    await isTold(world, pod, 'AddressesDiffer', /other addresses than its IPAMClaim/)
    expect(await entriesOf(world, pod)).toEqual(stored)
  })

  test('and its target of a live migration have the same addresses and MAC', async () => {
    const world = await aVMWorld([blue])
    const { vmi, claim } = await aServedMachine(world)
    await becomes(world, await world.create(aPod(vmi, { claim })), { 'default/blue': entry })
    await becomes(world, await world.create(aPod(vmi, { claim, node: 'node-2' })), { 'default/blue': entry })
  })

  test('on a network that OVN-Kubernetes gives out is left to it', async () => {
    const world = await aVMWorld([{ ...blue, isObserved: true }])
    const { vm, vmi } = await aMachine(world)
    const claim = await world.create(aClaim({ owner: vm }))
    await world.patch(claim, { status: { ips: ['192.168.1.1/29'] } }, 'status')
    await isLeftAlone(world, await world.create(aPod(vmi, { claim: claim.metadata.name ?? '' })))
  })
})

describe('A launcher pod is told', () => {
  test('that its claim is not there, and in which namespace it is looked for', async () => {
    const world = await aVMWorld([blue])
    const { vmi } = await aMachine(world)
    const pod = await world.create(aPod(vmi, { claim: 'nowhere' }))
    await isTold(world, pod, 'IPAMClaimNotFound', /"nowhere" in the namespace of the pod/)
  })

  test('that it names no claim', async () => {
    const world = await aVMWorld([blue])
    const { vmi } = await aMachine(world)
    await isTold(world, await world.create(aPod(vmi)), 'IPAMClaimMissing', /names no IPAMClaim/)
  })

  test('that its claim is for another network (H18)', async () => {
    const world = await aVMWorld([blue, { name: 'red', subnets: ['192.168.2.0/29'] }])
    const { vm, vmi } = await aMachine(world)
    const claim = await world.create(aClaim({ owner: vm, network: 'red' }))
    await isServed(world, claim)
    const pod = await world.create(aPod(vmi, { claim: claim.metadata.name ?? '' }))
    await isTold(world, pod, 'IPAMClaimOfAnotherNetwork', /is for network "red"/)
    expect(await entriesOf(world, pod)).toBeUndefined()
  })

  test('that its claim belongs to another virtual machine, and nothing of the claim changes (H19)', async () => {
    const world = await aVMWorld([blue])
    const { claim, stored } = await aServedMachine(world)
    const before = await world.get(stored)
    const stranger = await aMachine(world)
    const pod = await world.create(aPod(stranger.vmi, { claim }))
    await isTold(world, pod, 'IPAMClaimOfAnotherVM', /belongs to another virtual machine/)
    expect(await entriesOf(world, pod)).toBeUndefined()
    expect(await world.get(stored)).toEqual(before)
  })

  test('that a claim made by hand is used by another virtual machine, until that ends', async () => {
    const world = await aVMWorld([blue])
    const claim = await world.create(aClaim())
    await isServed(world, claim)
    const name = claim.metadata.name ?? ''
    const first = await world.create(aPod((await aMachine(world)).vmi, { claim: name, name: 'first' }))
    await becomes(world, first, { 'default/blue': entry })
    await world.pass(1_500)
    const second = await world.create(aPod((await aMachine(world)).vmi, { claim: name, name: 'second' }))
    await isTold(world, second, 'IPAMClaimOfAnotherVM')
    await world.delete(first)
    await becomes(world, second, { 'default/blue': entry })
  })

  test('why its claim has no addresses, in the words of the claim', async () => {
    const world = await aVMWorld([{ ...blue, excludes: ['192.168.1.1-192.168.1.6'] }])
    const { vm, vmi } = await aMachine(world)
    const claim = await world.create(aClaim({ owner: vm }))
    await waits(world, claim, 'SubnetExhausted', /no address available/)
    const pod = await world.create(aPod(vmi, { claim: claim.metadata.name ?? '' }))
    await isTold(world, pod, 'SubnetExhausted', /no address available in Network blue/)
    world.networks.put(blue)
    await becomes(world, pod, { 'default/blue': entry })
  })

  test('that its network is not known', async () => {
    const world = await aVMWorld([])
    const { vmi } = await aMachine(world)
    const pod = await world.create(aPod(vmi, { claim: 'some' }))
    await isTold(world, pod, 'NetworkNotFound', /no NetworkAttachmentDefinition "default\/blue"/)
  })

  test('that it asks for an address that its claim does not have; the spelling does not count', async () => {
    const world = await aVMWorld([dual])
    const { vmi, claim } = await aServedMachine(world)
    const asks = (...ips: string[]) => ({ elements: [{ name: 'blue', ips, 'ipam-claim-reference': claim }] })
    const wrong = await world.create(aPod(vmi, asks('10.9.0.5/28', 'fd00:9::1/64')))
    await isTold(world, wrong, 'IPNotInClaim', /"10\.9\.0\.5\/28" is not among/)
    const right = await world.create(aPod(vmi, asks('FD00:9:0::0001/64', '10.9.0.1/28')))
    await world.eventually(async () =>
      expect(Object.keys((await entriesOf(world, right)) ?? {})).toEqual(['default/blue']),
    )
  })

  test('that its annotations cannot be read, and no other pod is harmed (H24)', async () => {
    const world = await aVMWorld([blue])
    const { vmi, claim } = await aServedMachine(world)
    const networks = { 'k8s.v1.cni.cncf.io/networks': '[{"name":' }
    await isTold(world, await world.create(aPod(vmi, { annotations: networks })), 'InvalidNetworks')
    const broken = { 'k8s.ovn.org/pod-networks': 'nonsense' }
    await isTold(world, await world.create(aPod(vmi, { claim, annotations: broken })), 'InvalidPodNetworks')
    await becomes(world, await world.create(aPod(vmi, { claim })), { 'default/blue': entry })
  })
})

describe('The address of a claim', () => {
  test('stays its own when its pod cannot be configured (H20)', async () => {
    const world = await aVMWorld([blue])
    world.desk.forbid(({ method, path }) => method === 'PATCH' && path.includes('/pods/'))
    const { vmi, claim } = await aServedMachine(world)
    const pod = await world.create(aPod(vmi, { claim }))
    await isServed(world, await world.create(aClaim()), ['192.168.1.2/29'])
    expect(await entriesOf(world, pod)).toBeUndefined()
    world.desk.forbid(() => false)
    await world.eventually(async () => expect(await entriesOf(world, pod)).toEqual({ 'default/blue': entry }), 120_000)
  })

  test('is not freed by the end of its pod, nor a second time by a pod that outlives it (H21, H22)', async () => {
    const world = await aVMWorld([blue])
    const { vm, vmi, claim, stored } = await aServedMachine(world)
    const pod = await world.create(aPod(vmi, { claim }))
    await becomes(world, pod, { 'default/blue': entry })
    await world.delete(pod)
    await world.always(() => isServed(world, stored, ['192.168.1.1/29']).then(() => {}), 1_000)
    for (const gone of [vmi, vm, stored]) await world.delete(gone)
    await world.eventually(async () => expect(await locksIn(world, 'blue')).toEqual([]))
    const other = await aServedMachine(world)
    expect((await world.get(other.stored))?.status.ips).toEqual(['192.168.1.1/29'])
    const late = await world.create(aPod(vmi, { claim, annotations: { 'k8s.ovn.org/pod-networks': '{}' } }))
    await world.delete(late)
    await world.always(() => isServed(world, other.stored, ['192.168.1.1/29']).then(() => {}), 1_000)
  })

  test('that a pod shows is given to no other claim, by a network that is offered to its namespace', async () => {
    const world = await aVMWorld([blue])
    const { vmi } = await aMachine(world)
    const annotations = { 'k8s.ovn.org/pod-networks': JSON.stringify({ 'default/blue': entry }) }
    await world.heard(await world.create(aPod(vmi, { annotations })))
    await isServed(world, await world.create(aClaim()), ['192.168.1.2/29'])
  })

  test('is not locked by what a tenant writes to a pod, where the network is not offered to the tenant', async () => {
    const world = await aVMWorld([{ ...blue, namespaces: ['default'] }])
    const elsewhere = await world.anotherNamespace()
    const shown = { 'default/blue': entry, 'elsewhere/blue': entry, 'default/blue/1': { ...entry, ip_address: 'x' } }
    const annotations = { 'k8s.ovn.org/pod-networks': JSON.stringify(shown) }
    const { vmi } = await aMachine(world)
    await world.heard(await world.create(aPod(vmi, { elements: [], annotations, forgedIn: elsewhere })))
    await isServed(world, await world.create(aClaim()), ['192.168.1.1/29'])
  })

  test('is not locked beyond the quota of a tenant by what it writes to pods', async () => {
    const world = await aVMWorld([{ ...blue, pool: { quota: { perNamespace: 1 } } }])
    const elsewhere = await world.anotherNamespace()
    const elements = [0, 1, 2, 3].map(() => ({ name: 'blue' }))
    const shown = [1, 2, 3].map(n => [`${elsewhere}/blue/${n}`, { ip_addresses: [`192.168.1.${n}/29`] }] as const)
    const annotations = { 'k8s.ovn.org/pod-networks': JSON.stringify(Object.fromEntries(shown)) }
    const { vmi } = await aMachine(world)
    await world.heard(await world.create(aPod(vmi, { elements, annotations, forgedIn: elsewhere })))
    await isServed(world, await world.create(aClaim()), ['192.168.1.2/29'])
  })

  test('is not given to a pod by a status that a tenant wrote', async () => {
    const world = await aVMWorld([blue])
    const victim = await aServedMachine(world)
    await world.desk.stop()
    const { vm, vmi } = await aMachine(world)
    const claim = await world.create(aClaim({ owner: vm }))
    const said = { reason: 'SuccessfulAllocation', message: 'x', lastTransitionTime: '2030-01-01T00:00:00Z' }
    const conditions = ['IPsAllocated', 'IPAllocated'].map(type => ({ type, status: 'True', ...said }))
    await world.patch(claim, { status: { ips: ['192.168.1.1/29'], conditions } }, 'status')
    const pod = await world.create(aPod(vmi, { claim: claim.metadata.name ?? '' }))
    await world.desk.start()
    await isTold(world, pod, 'IPAddressConflict', /Requested IP 192\.168\.1\.1 is already assigned in the network/)
    expect(await entriesOf(world, pod)).toBeUndefined()
    await isServed(world, victim.stored, ['192.168.1.1/29'])
  })
})
