// Virtual machines keep their addresses for life, and give them back when they are deleted. What KubeVirt does is done by hand
// here (machines.ts), so that a story can stop between any two steps.

import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../src/kube/object.ts'
import { aClusterAddressPool, anAddressPool } from './builders.ts'
import {
  aBridge,
  anOVNNetwork,
  claimsOf,
  conditionOf,
  configOf,
  hasAddresses,
  interfaceOf,
  locksIn,
  Machine,
  nextName,
  nothingIsHeld,
  ownerOf,
  waitsFor,
} from './machines.ts'
import { eventsAbout, isGone } from './promises.ts'
import { aWorld, type Stored } from './world.ts'

describe('A virtual machine', () => {
  test('gets an address of each family of its network', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    await machine.started()
    await hasAddresses(world, machine.claim(), ['10.100.0.1/24', 'fd00:100::1/64'])
  })

  test('has one claim for each interface, owned by it, labelled and guarded', async () => {
    const world = await aWorld()
    const [blue, green] = [await world.create(anOVNNetwork()), await world.create(anOVNNetwork())]
    const machine = await Machine.made(world, [blue, green])
    const vm = (await world.get(machine.vm)) as Stored
    for (const [name, network] of [
      ['net1', blue],
      ['net2', green],
    ] as const) {
      const claim = await world.eventually(async () => {
        const stored = await world.get(machine.claim(name))
        expect(stored).toBeDefined()
        return stored as Stored
      })
      expect(claim.metadata.ownerReferences).toEqual([ownerOf(vm)])
      expect(claim.metadata.labels).toMatchObject({ 'kubevirt.io/vm': machine.name })
      expect(claim.metadata.finalizers).toEqual(['kubevirt.io/persistent-ipam'])
      expect(claim.spec).toEqual({ network: configOf(network).name, interface: interfaceOf(name) })
    }
  })

  test('has no claim on a network that does not keep addresses', async () => {
    const world = await aWorld()
    const fleeting = await world.create(anOVNNetwork({ allowPersistentIPs: false }))
    const lasting = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [fleeting, lasting])
    await hasAddresses(world, machine.claim('net2'))
    expect(await world.get(machine.claim('net1'))).toBeUndefined()
  })

  test('keeps its addresses when it is stopped and started', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    const pod = await machine.started()
    const before = await hasAddresses(world, machine.claim())
    await machine.stopped(pod)
    await world.idle(30_000)
    await hasAddresses(world, machine.claim(), before)
    await machine.started()
    await hasAddresses(world, machine.claim(), before)
  })

  test('shares no address with another, whichever of them runs', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const first = await Machine.made(world, [network])
    const pod = await first.started()
    const had = await hasAddresses(world, first.claim())
    await first.stopped(pod)
    const second = await Machine.made(world, [network])
    await second.started()
    for (const ip of await hasAddresses(world, second.claim())) expect(had).not.toContain(ip)
  })

  test('gives its addresses back when it is deleted', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    const pod = await machine.started()
    await hasAddresses(world, machine.claim())
    await machine.deleted()
    await machine.stopped(pod)
    await machine.letGo()
    await isGone(world, machine.vm)
    await isGone(world, machine.claim())
    await nothingIsHeld(world, network)
  })

  test('shows its addresses where KubeVirt does not overwrite them', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    const ips = await hasAddresses(world, machine.claim())
    await world.eventually(async () => {
      const shown = (await world.get(machine.vm))?.metadata.annotations?.['mooring.dev/network-interfaces']
      expect(JSON.parse(shown ?? '[]')).toEqual([{ interfaceName: 'net1', ips }])
    })
  })

  test('whose names would give two claims one name has a claim for each interface', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const attachment = network.metadata.name ?? ''
    const machine = await Machine.made(world, [
      { name: 'Net_1', attachment },
      { name: 'net.1'.replace('.', '-'), attachment },
      { name: 'net_1', attachment },
    ])
    const claims = await world.eventually(async () => {
      const all = await claimsOf(world, machine)
      expect(all).toHaveLength(3)
      for (const claim of all) expect(conditionOf(claim)).toMatchObject({ status: 'True' })
      return all
    })
    expect(new Set(claims.flatMap(claim => claim.status.ips)).size).toBe(6)
  })
})

describe('An instance without a virtual machine', () => {
  test('has a claim of its own, until its last pod is gone', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.lone(world, [network])
    const pod = await machine.started()
    await hasAddresses(world, machine.claim())
    const vmi = (await world.get(machine.vmi)) as Stored
    expect((await world.get(machine.claim()))?.metadata.ownerReferences).toEqual([ownerOf(vmi)])
    await world.delete(machine.vmi)
    await world.always(async () => expect(await locksIn(world, configOf(network).name)).toHaveLength(2), 1_000)
    await machine.ended(pod)
    await machine.letGoOfInstance()
    await isGone(world, machine.claim())
    await nothingIsHeld(world, network)
  })
})

describe('Interfaces that come and go', () => {
  test('by hot-plug: a claim more', async () => {
    const world = await aWorld()
    const [blue, green] = [await world.create(anOVNNetwork()), await world.create(anOVNNetwork())]
    const machine = await Machine.made(world, [blue])
    await machine.started()
    const before = await hasAddresses(world, machine.claim('net1'))
    await machine.replug([blue, green])
    await hasAddresses(world, machine.claim('net2'))
    await hasAddresses(world, machine.claim('net1'), before)
  })

  test('by hot-unplug: its claim goes once no pod has the interface any more', async () => {
    const world = await aWorld()
    const [blue, green] = [await world.create(anOVNNetwork()), await world.create(anOVNNetwork())]
    const machine = await Machine.made(world, [blue, green])
    const pod = await machine.started()
    const kept = await hasAddresses(world, machine.claim('net1'))
    await hasAddresses(world, machine.claim('net2'))
    const [one = {}, two = {}] = [blue, green].map((network, at) => ({
      name: `net${at + 1}`,
      attachment: network.metadata.name ?? '',
    })) as { name: string; attachment: string }[]
    await machine.replug([one as { name: string }, { ...(two as { name: string }), state: 'absent' }])
    await world.always(async () => expect(await world.get(machine.claim('net2'))).toBeDefined(), 1_000)
    await world.patch(pod, { metadata: { annotations: { 'k8s.v1.cni.cncf.io/networks': machine.networksText(true) } } })
    await machine.replug([blue])
    await isGone(world, machine.claim('net2'))
    await nothingIsHeld(world, green)
    await hasAddresses(world, machine.claim('net1'), kept)
  })

  test('by another network behind the same interface: a claim there, and what it had here is given back', async () => {
    const world = await aWorld()
    const blue = await world.create(anOVNNetwork())
    const green = await world.create(anOVNNetwork({ subnets: '10.200.0.0/24' }))
    const machine = await Machine.made(world, [blue])
    const pod = await machine.started()
    await hasAddresses(world, machine.claim())
    await machine.replug([green])
    const claim = await world.eventually(async () => {
      const [other, ...more] = (await claimsOf(world, machine)).filter(
        ({ spec }) => spec.network === configOf(green).name,
      )
      expect(more).toEqual([])
      return machine.claimNamed(other?.metadata.name ?? '')
    })
    await hasAddresses(world, claim, ['10.200.0.1/24'])
    // The pod still runs with the former one.
    await world.always(async () => expect(await locksIn(world, configOf(blue).name)).toHaveLength(2), 1_000)
    await machine.stopped(pod)
    await nothingIsHeld(world, blue)
    await isGone(world, machine.claim())
    await hasAddresses(world, claim, ['10.200.0.1/24'])
  })
})

describe('While a pod of a virtual machine can still run', () => {
  test.each(['Background', 'Foreground'] as const)(
    'its addresses stay its own, deleted with the policy %s',
    async policy => {
      const world = await aWorld()
      const network = await world.create(anOVNNetwork())
      const machine = await Machine.made(world, [network])
      const pod = await machine.started()
      await hasAddresses(world, machine.claim())
      await machine.deleted(policy === 'Foreground' ? 'Foreground' : undefined)
      await world.delete(machine.vmi)
      await world.always(async () => expect(await locksIn(world, configOf(network).name)).toHaveLength(2), 2_000)
      await machine.ended(pod)
      await machine.letGoOfInstance()
      await machine.letGo()
      await isGone(world, machine.claim())
      await nothingIsHeld(world, network)
    },
  )

  test('its claim that is deleted by hand stays with its addresses, until the machine is deleted too', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    const pod = await machine.started()
    await hasAddresses(world, machine.claim())
    await world.delete(machine.claim())
    await machine.stopped(pod)
    await world.always(async () => expect(await locksIn(world, configOf(network).name)).toHaveLength(2), 1_000)
    // It starts with them again.
    const again = await machine.started()
    await world.eventually(async () =>
      expect((await world.get(again))?.metadata.annotations?.['k8s.ovn.org/pod-networks']).toContain('10.100.0.1/24'),
    )
    await machine.stopped(again)
    await machine.deleted()
    await machine.letGo()
    await isGone(world, machine.claim())
    await nothingIsHeld(world, network)
  })

  test('an orphaned instance keeps its addresses; they are given back when it goes', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    const pod = await machine.started()
    const before = await hasAddresses(world, machine.claim())
    await machine.deleted('Orphan')
    await machine.letGo()
    await isGone(world, machine.vm)
    await world.idle(5_000)
    await hasAddresses(world, machine.claim(), before)
    await machine.stopped(pod)
    await isGone(world, machine.claim())
    await nothingIsHeld(world, network)
  })
})

describe('A virtual machine that went while no controller ran', () => {
  test('leaves nothing behind', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    const pod = await machine.started()
    await hasAddresses(world, machine.claim())
    await world.desk.stop()
    await machine.deleted()
    await machine.stopped(pod)
    await machine.letGo()
    await isGone(world, machine.vm)
    await world.desk.start()
    await isGone(world, machine.claim())
    await nothingIsHeld(world, network)
  })
})

describe('A network of another CNI whose addresses come from Mooring', () => {
  test('takes them from the pool that it names', async () => {
    const world = await aWorld()
    const pool = await world.create(aClusterAddressPool().withAddresses('10.7.0.10-10.7.0.20').withGateway('10.7.0.1'))
    const bridge = await world.create(aBridge({ pool: { kind: 'ClusterAddressPool', name: pool.metadata.name } }))
    const machine = await Machine.made(world, [bridge])
    await machine.started()
    await hasAddresses(world, machine.claim(), ['10.7.0.10/24'])
    await world.eventually(async () =>
      expect((await world.get(pool))?.status).toMatchObject({ addresses: { held: 1 } }),
    )
  })

  test('takes them from ranges of its own, in a space of its own', async () => {
    const world = await aWorld()
    const ranges = ['10.8.0.0/28']
    const name = nextName('bridge')
    const [one, two] = [
      await world.create(aBridge({ ranges }, { name })),
      await world.create(aBridge({ ranges }, { name })),
    ]
    const machine = await Machine.made(world, [one, two])
    await machine.started()
    const had = [await hasAddresses(world, machine.claim('net1')), await hasAddresses(world, machine.claim('net2'))]
    expect(had[0]).toEqual(had[1])
  })

  test('serves only namespaces that its pool is offered to', async () => {
    const world = await aWorld()
    const pool = await world.create(
      aClusterAddressPool().with({ allowedNamespaces: { matchLabels: { tier: nextName('prod') } } }),
    )
    const bridge = await world.create(aBridge({ pool: { kind: 'ClusterAddressPool', name: pool.metadata.name } }))
    const machine = await Machine.made(world, [bridge])
    await waitsFor(world, machine.claim(), 'NotPermitted', /is not offered to namespace/)
  })

  test('keeps to the quota of its pool, and the next machine is served when one goes', async () => {
    const world = await aWorld()
    const pool = await world.create(anAddressPool().with({ quota: { perNamespace: 1 } }))
    const bridge = await world.create(aBridge({ pool: { kind: 'AddressPool', name: pool.metadata.name } }))
    const [first, second] = [await Machine.made(world, [bridge]), await Machine.made(world, [bridge])]
    await hasAddresses(world, first.claim())
    await waitsFor(world, second.claim(), 'QuotaReached')
    await first.deleted()
    await first.letGo()
    await hasAddresses(world, second.claim())
  })
})

describe('A network that is full', () => {
  const small = { subnets: '10.100.0.0/30' }

  test('lets a machine wait, says so, and serves it when an address is given back', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(small))
    const machines = [await Machine.made(world, [network]), await Machine.made(world, [network])]
    for (const machine of machines) await hasAddresses(world, machine.claim())
    const third = await Machine.made(world, [network])
    await waitsFor(world, third.claim(), 'SubnetExhausted', /no address/)
    expect(conditionOf(await world.get(third.claim()), 'IPAllocated')).toMatchObject({ status: 'False' })
    await machines[0]?.deleted()
    await machines[0]?.letGo()
    await hasAddresses(world, third.claim())
  })

  test('in one family gives neither, and says which', async () => {
    const world = await aWorld()
    const network = await world.create(
      anOVNNetwork({ subnets: '10.100.0.0/29,fd00:100::/127', excludeSubnets: 'fd00:100::1/128' }),
    )
    const first = await Machine.made(world, [network])
    await hasAddresses(world, first.claim())
    const second = await Machine.made(world, [network])
    await waitsFor(world, second.claim(), 'SubnetExhausted', /v6/)
    expect(await locksIn(world, configOf(network).name)).toHaveLength(2)
  })
})

describe('A claim that a user makes by hand', () => {
  test('is served, and is not deleted by Mooring', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const claim = {
      apiVersion: 'k8s.cni.cncf.io/v1alpha1',
      kind: 'IPAMClaim',
      metadata: { name: nextName('by-hand') },
      spec: { network: configOf(network).name, interface: '' },
    }
    await world.create(claim as KubeObject)
    await hasAddresses(world, claim as KubeObject, ['10.100.0.1/24', 'fd00:100::1/64'])
    await world.idle(60_000)
    await hasAddresses(world, claim as KubeObject)
    await world.delete(claim as KubeObject)
    await isGone(world, claim as KubeObject)
    await nothingIsHeld(world, network)
  })

  test('on a network that does not exist waits for it', async () => {
    const world = await aWorld()
    const network = anOVNNetwork()
    const claim = {
      apiVersion: 'k8s.cni.cncf.io/v1alpha1',
      kind: 'IPAMClaim',
      metadata: { name: nextName('by-hand') },
      spec: { network: configOf(network).name, interface: '' },
    } as KubeObject
    await world.create(claim)
    await waitsFor(world, claim, 'NetworkNotFound')
    await world.create(network)
    await hasAddresses(world, claim)
  })
})

describe('A machine whose claim has the name of a foreign one', () => {
  test('waits, says so, and has its own when that is gone', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const name = nextName('vm')
    const foreign = {
      apiVersion: 'k8s.cni.cncf.io/v1alpha1',
      kind: 'IPAMClaim',
      metadata: { name: `${name}.net1` },
      spec: { network: configOf(network).name, interface: '' },
    } as KubeObject
    await world.create(foreign)
    await hasAddresses(world, foreign)
    const machine = await Machine.made(world, [network], name)
    const vm = (await world.get(machine.vm)) as Stored
    await world.eventually(async () =>
      expect((await eventsAbout(world, vm.metadata.uid ?? '')).length).toBeGreaterThan(0),
    )
    expect((await world.get(machine.claim()))?.metadata.ownerReferences).toBeUndefined()
    await world.delete(foreign)
    await world.eventually(async () =>
      expect((await world.get(machine.claim()))?.metadata.ownerReferences).toEqual([ownerOf(vm)]),
    )
    await hasAddresses(world, machine.claim())
  })
})
