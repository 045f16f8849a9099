// Virtual machines when their networks change, go, come back, are not theirs, or cannot be read; and names of every kind.

import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../src/kube/object.ts'
import { anAddressPool } from './builders.ts'
import {
  aBridge,
  anAttachment,
  anOVNNetwork,
  claimsOf,
  conditionOf,
  configOf,
  elementsOf,
  hasAddresses,
  interfaceOf,
  isTold,
  isWarned,
  keyOf,
  locksIn,
  Machine,
  nextName,
  nothingIsHeld,
  waitsFor,
} from './machines.ts'
import { isGone } from './promises.ts'
import { aWorld, type Stored } from './world.ts'

const configured = (network: KubeObject, changes: object) => ({
  spec: { config: JSON.stringify({ ...configOf(network), ...changes }) },
})

const v4 = { subnets: '10.100.0.0/24' }

describe('A network that is changed', () => {
  test('to a wider subnet serves a machine that waits, and those that have addresses keep them', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork({ subnets: '10.100.0.0/31', excludeSubnets: '10.100.0.0/32' }))
    const first = await Machine.made(world, [network])
    const had = await hasAddresses(world, first.claim())
    const second = await Machine.made(world, [network])
    await waitsFor(world, second.claim(), 'SubnetExhausted')
    await world.patch(network, configured(network, { subnets: '10.100.0.0/24', excludeSubnets: undefined }))
    await hasAddresses(world, second.claim())
    await hasAddresses(world, first.claim(), had)
  })

  test('to a narrower subnet takes nothing away, and says what is outside of it', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork({ ...v4, excludeSubnets: '10.100.0.0/27' }))
    const machine = await Machine.made(world, [network])
    await hasAddresses(world, machine.claim(), ['10.100.0.32/24'])
    await world.patch(network, configured(network, { subnets: '10.100.0.0/28', excludeSubnets: undefined }))
    await world.eventually(async () =>
      expect(conditionOf(await world.get(machine.claim()))).toMatchObject({
        status: 'True',
        message: expect.stringContaining('10.100.0.32/24 is outside of what its network has now'),
      }),
    )
    await hasAddresses(world, machine.claim(), ['10.100.0.32/24'])
    const pod = await machine.started()
    await isTold(world, pod, keyOf(network, world), { ip_addresses: ['10.100.0.32/24'] })
    await hasAddresses(world, (await Machine.made(world, [network])).claim(), ['10.100.0.1/28'])
  })

  test('to exclude what a machine has leaves it with the machine, and gives it to no other', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const machine = await Machine.made(world, [network])
    const had = await hasAddresses(world, machine.claim())
    await world.patch(network, configured(network, { excludeSubnets: '10.100.0.0/30' }))
    await hasAddresses(world, (await Machine.made(world, [network])).claim(), ['10.100.0.4/24'])
    await hasAddresses(world, machine.claim(), had)
  })

  test('to keep no addresses makes no more claims, and takes none away', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const machine = await Machine.made(world, [network])
    const had = await hasAddresses(world, machine.claim())
    await world.patch(network, configured(network, { allowPersistentIPs: false }))
    await world.heard((await world.get(network)) as Stored)
    const late = await Machine.made(world, [network])
    await world.always(async () => expect(await world.get(late.claim())).toBeUndefined(), 1_000)
    await hasAddresses(world, machine.claim(), had)
  })

  test('so that it cannot be read takes nothing away, and a machine that comes waits and is told', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork(v4))
    const machine = await Machine.made(world, [network])
    const pod = await machine.started()
    const had = await hasAddresses(world, machine.claim())
    await isTold(world, pod, keyOf(network, world), { ip_addresses: had })
    const good = configOf(network)
    await world.patch(network, { spec: { config: '{' } })
    const late = await Machine.made(world, [network])
    await isWarned(world, (await world.get(late.vm)) as Stored, 'NetworkRefused')
    await hasAddresses(world, machine.claim(), had)
    await world.patch(network, { spec: { config: JSON.stringify(good) } })
    await hasAddresses(world, late.claim())
    await hasAddresses(world, machine.claim(), had)
  })
})

describe('A network that is deleted', () => {
  test('while machines run takes nothing from them, and they give back what they had in the end', async () => {
    const world = await aWorld()
    const network = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [network])
    const pod = await machine.started()
    const had = await hasAddresses(world, machine.claim())
    await world.delete(network)
    await world.idle(5_000)
    await hasAddresses(world, machine.claim(), had)
    await machine.deleted()
    await machine.stopped(pod)
    await machine.letGo()
    await isGone(world, machine.claim())
    await nothingIsHeld(world, network)
  })

  test('and comes back has its machines with the addresses that they had, and gives these to no other', async () => {
    const world = await aWorld()
    const network = anOVNNetwork()
    await world.create(network)
    const machine = await Machine.made(world, [network])
    const had = await hasAddresses(world, machine.claim())
    await world.delete(network)
    await isGone(world, network)
    await world.create(network)
    const late = await Machine.made(world, [network])
    for (const ip of await hasAddresses(world, late.claim())) expect(had).not.toContain(ip)
    await hasAddresses(world, machine.claim(), had)
  })

  test('and comes back with another subnet leaves a stopped machine with what it had, and says so', async () => {
    const world = await aWorld()
    const network = anOVNNetwork(v4)
    await world.create(network)
    const machine = await Machine.made(world, [network])
    const had = await hasAddresses(world, machine.claim())
    await world.delete(network)
    await isGone(world, network)
    await world.create({ ...network, ...configured(network, { subnets: '10.200.0.0/24' }) } as KubeObject)
    await world.eventually(async () =>
      expect(conditionOf(await world.get(machine.claim()))?.message).toContain(
        `${had[0]} is outside of what its network has now`,
      ),
    )
    await hasAddresses(world, machine.claim(), had)
    await hasAddresses(world, (await Machine.made(world, [network])).claim(), ['10.200.0.1/24'])
    // A process that starts finds it so, and serves every other claim.
    await world.desk.stop()
    await world.desk.start()
    await hasAddresses(world, (await Machine.made(world, [network])).claim(), ['10.200.0.2/24'])
    await hasAddresses(world, machine.claim(), had)
  })
})

describe('A virtual machine with several networks', () => {
  test('has addresses on those that are good, beside others that are foreign, missing or cannot be read', async () => {
    const world = await aWorld({ hasWebhooks: true })
    const foreign = await world.create(anAttachment({ type: 'bridge', ipam: { type: 'host-local' } }))
    const broken = await world.create(anAttachment('{"type": "ovn-k8s-cni-overlay", '))
    const lists = await world.create(anAttachment({ type: 'macvlan', subnets: ['10.0.0.0/8'] }))
    const layer3 = await world.create(anOVNNetwork({ topology: 'layer3' }))
    const good = await world.create(anOVNNetwork())
    const machine = await Machine.made(world, [foreign, broken, anAttachment({}), lists, layer3, good])
    const pod = await machine.started({ isReferred: false })
    const ips = await hasAddresses(world, machine.claim('net6'))
    const elements = elementsOf(pod)
    expect(elements.map(element => element['ipam-claim-reference'])).toEqual([
      ...Array.from({ length: 5 }, () => undefined),
      `${machine.name}.net6`,
    ])
    await isTold(world, pod, keyOf(good, world), { ip_addresses: ips })
    expect((await claimsOf(world, machine)).map(({ metadata }) => metadata.name)).toEqual([`${machine.name}.net6`])
  })

  test('on a list of plugins has its claim as on one plugin', async () => {
    const world = await aWorld()
    const name = nextName('listed')
    const plugin = { type: 'ovn-k8s-cni-overlay', topology: 'layer2', ...v4, allowPersistentIPs: true }
    const network = await world.create(anAttachment({ cniVersion: '1.0.0', name, plugins: [plugin] }))
    const machine = await Machine.made(world, [network])
    await hasAddresses(world, machine.claim(), ['10.100.0.1/24'])
    expect((await world.get(machine.claim()))?.spec.network).toBe(name)
  })

  test('in the place of the pod network by Multus has no claim there', async () => {
    const world = await aWorld()
    const [network, other] = [await world.create(anOVNNetwork()), await world.create(anOVNNetwork())]
    const machine = await Machine.made(world, [network, other])
    await hasAddresses(world, machine.claim('net1'))
    const networks = [
      { name: 'net1', multus: { networkName: network.metadata.name, default: true } },
      { name: 'net2', multus: { networkName: other.metadata.name } },
    ]
    const name = nextName('vm')
    const spec = (await world.get(machine.vm))?.spec
    const template = { ...spec.template, spec: { ...spec.template.spec, networks } }
    await world.create({
      apiVersion: 'kubevirt.io/v1',
      kind: 'VirtualMachine',
      metadata: { name },
      spec: { ...spec, template },
    } as KubeObject)
    await hasAddresses(world, machine.claimNamed(`${name}.net2`))
    expect(await world.get(machine.claimNamed(`${name}.net1`))).toBeUndefined()
  })
})

describe('A network of another namespace', () => {
  test('serves machines of the namespaces that it lists; claims are where the machines are', async () => {
    const world = await aWorld({ hasWebhooks: true })
    const other = await world.anotherNamespace()
    const annotations = { 'mooring.dev/allowed-namespaces': world.home }
    const network = await world.create(anOVNNetwork(v4, { namespace: other, annotations }))
    const machine = await Machine.made(world, [network])
    const pod = await machine.started({ isReferred: false })
    const ips = await hasAddresses(world, machine.claim(), ['10.100.0.1/24'])
    await isTold(world, pod, `${other}/${network.metadata.name}`, { ip_addresses: ips })
  })

  test('serves no machine of a namespace that it does not list, and does not tell whether it exists', async () => {
    const world = await aWorld()
    const other = await world.anotherNamespace()
    const network = await world.create(anOVNNetwork(v4, { namespace: other }))
    const machine = await Machine.made(world, [network])
    await waitsFor(world, machine.claim(), 'NetworkNotFound', /is not offered to namespace/)
    expect(await locksIn(world, configOf(network).name)).toEqual([])
    await world.patch(network, { metadata: { annotations: { 'mooring.dev/allowed-namespaces': world.home } } })
    await hasAddresses(world, machine.claim())
  })
})

describe('Names', () => {
  test.each([
    ['of 63 characters', 63],
    ['of 64 characters', 64],
    ['of 250 characters', 250],
  ])('of virtual machines %s are served from the claim to the pod, and end clean', async (_, length) => {
    const world = await aWorld({ hasWebhooks: true })
    const network = await world.create(anOVNNetwork())
    const name = `${nextName('vm')}${'x'.repeat(length)}`.slice(0, length)
    const machine = await Machine.made(world, [network], name)
    const pod = await machine.started({ isReferred: false })
    const claim = await world.eventually(async () => {
      const [first] = await claimsOf(world, machine)
      expect(first).toBeDefined()
      return first as Stored
    })
    const ips = await hasAddresses(world, claim)
    await isTold(world, pod, keyOf(network, world), { ip_addresses: ips })
    await machine.deleted()
    await machine.stopped(pod)
    await machine.letGo()
    await isGone(world, claim)
    await nothingIsHeld(world, network)
  })

  test.each(['Tenant_RED', 'UPPER', 'a.b_c', 'under_score', 'x'.repeat(200)])(
    'of networks like %s are served, and each is another network',
    async text => {
      const world = await aWorld()
      const name = `${nextName('n')}${text}`
      const [network, folded] = [
        await world.create(anOVNNetwork({ ...v4, name })),
        await world.create(anOVNNetwork({ ...v4, name: `${name.toLowerCase().replaceAll('_', '-')}-` })),
      ]
      const machine = await Machine.made(world, [network, folded])
      await hasAddresses(world, machine.claim('net1'), ['10.100.0.1/24'])
      await hasAddresses(world, machine.claim('net2'), ['10.100.0.1/24'])
      expect((await world.get(machine.claim()))?.spec.network).toBe(name)
      expect(await locksIn(world, name)).toHaveLength(1)
    },
  )

  test('of interfaces with upper case and underscores have a claim of their own, which the pod is told', async () => {
    const world = await aWorld({ hasWebhooks: true })
    const network = await world.create(anOVNNetwork(v4))
    const attachment = network.metadata.name ?? ''
    const machine = await Machine.made(world, [
      { name: 'Net_1', attachment },
      { name: 'net_1', attachment },
    ])
    const pod = await machine.started({ isReferred: false })
    const claims = await world.eventually(async () => {
      const all = await claimsOf(world, machine)
      expect(all).toHaveLength(2)
      return all
    })
    const elements = elementsOf(pod)
    for (const claim of claims) {
      await hasAddresses(world, claim)
      const element = elements.find(one => one['ipam-claim-reference'] === claim.metadata.name)
      expect(element?.interface).toBe(claim.spec.interface)
    }
    expect(claims.map(({ spec }) => spec.interface).toSorted()).toEqual(['Net_1', 'net_1'].map(interfaceOf).toSorted())
  })
})

describe('A namespace that is deleted', () => {
  test('with machines in it ends clean, once their pods have ended', async () => {
    const world = await aWorld()
    const other = await world.anotherNamespace()
    const network = await world.create(anOVNNetwork({}, { namespace: other }))
    const machines = [
      await Machine.made(world, [network], nextName('vm'), other),
      await Machine.made(world, [network], nextName('vm'), other),
    ]
    const pods: Stored[] = []
    for (const machine of machines) {
      const pod = await machine.started()
      pods.push(pod)
      await isTold(world, pod, keyOf(network, world), { ip_addresses: await hasAddresses(world, machine.claim()) })
    }
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: other } }
    await world.delete(namespace)
    await world.eventually(async () => {
      for (const pod of pods) expect((await world.get(pod))?.metadata.deletionTimestamp).toBeDefined()
    })
    await world.always(async () => expect(await locksIn(world, configOf(network).name)).toHaveLength(4), 1_000)
    for (const [at, machine] of machines.entries()) await machine.ended(pods[at] as Stored)
    await world.eventually(async () => {
      for (const { vm } of machines) expect((await world.get(vm))?.metadata.deletionTimestamp).toBeDefined()
    }, 60_000)
    for (const machine of machines) {
      await machine.letGoOfInstance()
      await machine.letGo()
    }
    await isGone(world, namespace, 60_000)
    await nothingIsHeld(world, network)
  })
})

describe('The quota of a pool', () => {
  test('counts the machines of a namespace, stopped or not, and what it had is free for another machine', async () => {
    const world = await aWorld()
    const pool = await world.create(anAddressPool().with({ quota: { perNamespace: 2 } }))
    const bridge = await world.create(aBridge({ pool: { kind: 'AddressPool', name: pool.metadata.name } }))
    const machines = [await Machine.made(world, [bridge]), await Machine.made(world, [bridge])]
    for (const machine of machines) await machine.stopped(await machine.started())
    for (const machine of machines) await hasAddresses(world, machine.claim())
    const third = await Machine.made(world, [bridge, bridge])
    await waitsFor(world, third.claim('net1'), 'QuotaReached')
    await waitsFor(world, third.claim('net2'), 'QuotaReached')
    for (const machine of machines) {
      await machine.deleted()
      await machine.letGo()
    }
    await hasAddresses(world, third.claim('net1'))
    await hasAddresses(world, third.claim('net2'))
  })
})
