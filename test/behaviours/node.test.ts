// Addresses for pods of every CNI: what the plugin is answered on a node, for claims of virtual machines and for pods that have none.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { toHoldObject } from '../../src/api/hold.ts'
import { cniGroup, networksAnnotation, nodeLabel } from '../../src/api/names.ts'
import { spaceOfPool } from '../../src/api/space.ts'
import { claimUidLabel } from '../../src/controllers/office/hold/steps.ts'
import { parseIP } from '../../src/ip/address.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { attachmentKind } from '../../src/networks/network.ts'
import { ipamClaims } from '../../src/node/kinds.ts'
import { orThrow } from '../harness/or-throw.ts'
import { anAddressPool } from './builders.ts'
import { holds } from './kinds.ts'
import { aBridge, aClaimByHand, configOf, hasAddresses, interfaceOf, Machine } from './machines.ts'
import { aPlainPod, forceDelete, netnsOf, type Sandbox, TestNode } from './nodes.ts'
import { aWorld, type Stored, type World, type WorldOptions } from './world.ts'

const ranges = { ranges: [{ subnet: '10.9.0.0/24', rangeStart: '10.9.0.10', gateway: '10.9.0.1' }] }
const dual = {
  ranges: [
    { subnet: '10.9.0.0/24', rangeStart: '10.9.0.10' },
    { subnet: 'fd09::/64', gateway: 'fd09::1' },
  ],
}

const claimsOfNodes = async (world: World): Promise<readonly Stored[]> =>
  (await world.list(ipamClaims)).filter(({ metadata }) => metadata.labels?.[nodeLabel] !== undefined)

/** Of networks and of claims of the test: a server may have been used by others before. */
const heldIn = async (world: World): Promise<readonly string[]> =>
  ((await world.list(holds)) as Stored[])
    .filter(({ status }) => status.state === 'held')
    .filter(({ spec }) => [spec.poolRef.namespace, spec.claimRef.namespace].includes(world.home))
    .map(({ spec }) => spec.address)

const gateway = (address: string) => ({ address, gateway: '10.9.0.1' })

async function aGround(ipam: object = ranges, options: WorldOptions = {}) {
  const world = await aWorld(options)
  const network = await world.create(aBridge(ipam as Record<string, unknown>))
  const node = await TestNode.started(world)
  return { world, network, node }
}

/** As the desk does that keeps the addresses of nodes. */
async function holdForNode(world: World, network: Stored, { name }: TestNode, address: string): Promise<void> {
  const node = (await world.get({ apiVersion: 'v1', kind: 'Node', metadata: { name } })) as Stored
  const source = { apiGroup: cniGroup, kind: attachmentKind, namespace: world.home, name: network.metadata.name ?? '' }
  const spec = {
    space: spaceOfPool(source),
    ip: orThrow(parseIP(address)),
    bits: 32,
    pool: source,
    claim: { apiGroup: '', kind: 'Node', namespace: '', name, uid: node.metadata.uid ?? '' },
    owner: undefined,
  }
  const hold = toHoldObject(spec, '2030-01-01T00:00:00Z')
  await world.create({ ...hold, metadata: { ...hold.metadata, labels: { [claimUidLabel]: node.metadata.uid ?? '' } } })
}

describe('A pod that names no claim', () => {
  test('gets an address of its network, with prefix and gateway, held in the name of a claim that it owns', async () => {
    const { world, network, node } = await aGround()
    const pod = await aPlainPod(world, { node: node.name, on: [network] })
    expect(await node.add({ pod, on: network })).toEqual({
      exit: 0,
      printed: { cniVersion: '1.1.0', ips: [gateway('10.9.0.10/24')], dns: {} },
    })
    const [claim] = await claimsOfNodes(world)
    expect(claim?.metadata.ownerReferences).toMatchObject([{ kind: 'Pod', uid: pod.metadata.uid }])
    expect(await heldIn(world)).toEqual(['10.9.0.10'])
  })

  test('is given the same again by a second ADD, in another sandbox too', async () => {
    const { world, network, node } = await aGround()
    const pod = await aPlainPod(world, { node: node.name, on: [network] })
    const first = await node.add({ pod, on: network })
    expect(await node.add({ pod, on: network })).toEqual(first)
    expect(await node.del({ pod, on: network })).toEqual({ exit: 0, printed: undefined })
    expect(await node.add({ pod, on: network, container: 'c2' })).toEqual(first)
    expect(await heldIn(world)).toHaveLength(1)
  })

  test('gives its address back when it ends and its sandbox has gone, and not before', async () => {
    const { world, network, node } = await aGround()
    const pod = await aPlainPod(world, { node: node.name, on: [network] })
    await node.add({ pod, on: network })
    await forceDelete(world, pod)
    await world.always(async () => expect(await heldIn(world)).toHaveLength(1), 30_000)
    await node.del({ pod, on: network })
    await world.eventually(async () => expect(await heldIn(world)).toEqual([]))
    await world.eventually(async () => expect(await claimsOfNodes(world)).toEqual([]))
    expect(node.disk.files.size).toBe(0)
  })

  test('that is gone before it had a sandbox gives back what was prepared for it', async () => {
    const { world, network, node } = await aGround()
    const pod = await aPlainPod(world, { node: node.name, on: [network] })
    await world.eventually(async () => expect(await heldIn(world)).toHaveLength(1))
    await forceDelete(world, pod)
    await world.eventually(async () => expect(await heldIn(world)).toEqual([]))
    await world.eventually(() => expect(node.disk.files.size).toBe(0))
  })

  test('gets an address of each family, and name servers and routes of the network', async () => {
    const routes = [{ dst: '10.0.0.0/8', gw: '10.9.0.1', mtu: 1400 }]
    const { world, network, node } = await aGround({ ...dual, routes, dns: { nameservers: ['10.9.0.2'] } })
    const pod = await aPlainPod(world, { node: node.name, on: [network] })
    const { printed } = await node.add({ pod, on: network })
    expect(printed).toMatchObject({
      ips: [{ address: '10.9.0.10/24' }, { address: expect.stringMatching(/^fd09::.*\/64$/), gateway: 'fd09::1' }],
      routes,
      dns: { nameservers: ['10.9.0.2'] },
    })
  })

  test('gets gateway and name servers of the pool that its network names', async () => {
    const world = await aWorld()
    const pool = await world.create(
      anAddressPool()
        .withAddresses('10.8.0.10-10.8.0.20')
        .withGateway('10.8.0.1')
        .with({ nameservers: ['10.8.0.2'] }),
    )
    const network = await world.create(aBridge({ pool: { kind: 'AddressPool', name: pool.metadata.name } }))
    const node = await TestNode.started(world)
    const pod = await aPlainPod(world, { node: node.name, on: [network] })
    expect((await node.add({ pod, on: network })).printed).toMatchObject({
      ips: [{ address: '10.8.0.10/24', gateway: '10.8.0.1' }],
      dns: { nameservers: ['10.8.0.2'] },
    })
  })

  test('with two interfaces on one network has two addresses', async () => {
    const { world, network, node } = await aGround()
    const pod = await aPlainPod(world, { node: node.name, on: [network, network] })
    const first = await node.add({ pod, on: network, ifname: 'net1' })
    const second = await node.add({ pod, on: network, ifname: 'net2' })
    expect(
      [first.printed.ips, second.printed.ips]
        .flat()
        .map(({ address }: { address: string }) => address)
        .toSorted(),
    ).toEqual(['10.9.0.10/24', '10.9.0.11/24'])
  })

  test('gets the address that it asks for, or hears why not', async () => {
    const { world, network, node } = await aGround()
    const { name } = network.metadata
    const pod = await aPlainPod(world, {
      node: node.name,
      on: [{ name, ips: ['10.9.0.77'], mac: '02:00:00:00:00:77' }],
    })
    expect((await node.add({ pod, on: network })).printed.ips).toEqual([gateway('10.9.0.77/24')])
    const second = await aPlainPod(world, { node: node.name, on: [{ name, ips: ['10.9.0.77'] }] })
    const refused = await node.add({ pod: second, on: network })
    expect(refused).toMatchObject({ exit: 1, printed: { code: 11 } })
    expect(refused.printed.details).toMatch(/IPAddressConflict: .*10\.9\.0\.77/)
    const third = await aPlainPod(world, { node: node.name, on: [{ name, mac: '02:00:00:00:00:77' }] })
    expect((await node.add({ pod: third, on: network })).printed.details).toMatch(/MACAddressConflict/)
  })

  test('hears the reason of the desk when the network has no more', async () => {
    const { world, network, node } = await aGround({
      ranges: [{ subnet: '10.9.0.0/24', rangeStart: '10.9.0.10', rangeEnd: '10.9.0.10' }],
    })
    const first = await aPlainPod(world, { node: node.name, on: [network] })
    await node.add({ pod: first, on: network })
    const second = await aPlainPod(world, { node: node.name, on: [network] })
    const refused = await node.add({ pod: second, on: network })
    expect(refused.printed).toMatchObject({ code: 11, details: expect.stringMatching(/^SubnetExhausted: /) })
    await forceDelete(world, first)
    await node.del({ pod: first, on: network })
    await world.eventually(async () => expect((await node.add({ pod: second, on: network })).exit).toBe(0))
  })

  test('is told to come again while no controller serves claims', async () => {
    const { world, network, node } = await aGround()
    await world.desk.stop()
    const pod = await aPlainPod(world, { node: node.name, on: [network] })
    const { printed } = await node.add({ pod, on: network })
    expect(printed).toMatchObject({
      code: 11,
      details: expect.stringContaining('mooring controller has not served it'),
    })
    await world.desk.start()
    await world.eventually(async () => expect((await node.add({ pod, on: network })).exit).toBe(0))
  })
})

describe('A call of the plugin', () => {
  test.each([
    ['0.3.1', { version: '4' }],
    ['0.4.0', { version: '4' }],
    ['1.0.0', {}],
    ['1.1.0', {}],
  ])('in version %s is answered in that version, with addresses and no interfaces', async (version, family) => {
    const { world, network, node } = await aGround()
    const pod = await aPlainPod(world, { node: node.name, on: [network] })
    expect(await node.add({ pod, on: network, version })).toEqual({
      exit: 0,
      printed: { cniVersion: version, ips: [{ ...family, ...gateway('10.9.0.10/24') }], dns: {} },
    })
    expect(await node.del({ pod, on: network, version })).toEqual({ exit: 0, printed: undefined })
  })

  test('that fails names the version that was asked for, a code and a sentence', async () => {
    const { world, network, node } = await aGround()
    const pod = await aPlainPod(world, { node: node.name, on: [network] })
    const { exit, printed } = await node.add({ pod, on: network, version: '0.4.0', ifname: 'net7' })
    expect(exit).toBe(1)
    expect(printed).toEqual({
      cniVersion: '0.4.0',
      code: 7,
      msg: expect.stringContaining('net7'),
      details: expect.any(String),
    })
  })

  test('may have fields in its configuration that are for others', async () => {
    const { world, network, node } = await aGround()
    const pod = await aPlainPod(world, { node: node.name, on: [network] })
    const config = {
      capabilities: { mac: true },
      runtimeConfig: { mac: '02:00:00:00:00:01' },
      args: { cni: {} },
      odd: [7],
    }
    expect((await node.add({ pod, on: network, config })).exit).toBe(0)
  })

  test('DEL ends well twice, without a network namespace, without its pod, and for what was never added', async () => {
    const { world, network, node } = await aGround()
    const pod = await aPlainPod(world, { node: node.name, on: [network] })
    const wellDone = { exit: 0, printed: undefined }
    expect(await node.del({ pod, on: network })).toEqual(wellDone)
    await node.add({ pod, on: network })
    await forceDelete(world, pod)
    const { name = '' } = pod.metadata
    const env = { CNI_COMMAND: 'DEL', CNI_CONTAINERID: `${name}-c1`, CNI_IFNAME: 'net1', CNI_PATH: '/opt/cni/bin' }
    for (let i = 0; i < 2; i++) expect(await node.raw(env, JSON.stringify(configOf(network)))).toEqual(wellDone)
    await world.eventually(async () => expect(await heldIn(world)).toEqual([]))
  })

  test('CHECK passes for what ADD answered, and for no other container, interface or address', async () => {
    const { world, network, node } = await aGround()
    const pod = await aPlainPod(world, { node: node.name, on: [network] })
    const { printed } = await node.add({ pod, on: network })
    expect(await node.check({ pod, on: network }, printed)).toEqual({ exit: 0, printed: undefined })
    // As the plugin passes it on that asked for the address, and has made the interface.
    const whole = { ...printed, interfaces: [{ name: 'net1' }], ips: [{ ...printed.ips[0], interface: 0 }] }
    expect((await node.check({ pod, on: network }, whole)).exit).toBe(0)
    const others: [Partial<Sandbox>, unknown][] = [
      [{ container: 'c2' }, printed],
      [{ ifname: 'net2' }, printed],
      [{}, { ...printed, ips: [] }],
      [{}, { ...printed, ips: [{ address: '10.9.0.11/24' }] }],
    ]
    for (const [change, prevResult] of others) {
      const answered = await node.check({ pod, on: network, ...change }, prevResult)
      expect(answered).toMatchObject({ exit: 1, printed: { code: 3 } })
    }
    await node.del({ pod, on: network })
    expect((await node.check({ pod, on: network }, printed)).printed).toMatchObject({ code: 3 })
  })

  test('STATUS of a node that gives addresses says nothing', async () => {
    const { node } = await aGround()
    expect(await node.status()).toEqual({ exit: 0, printed: undefined })
  })

  test('for a pod that was made this moment makes its claim once, and asks once about its hold', async () => {
    const { world, network, node } = await aGround()
    const from = node.asked.length
    const pod = await aPlainPod(world, { node: node.name, on: [network] })
    expect((await node.add({ pod, on: network })).exit).toBe(0)
    const asked = node.asked.slice(from).filter(one => /ipamclaims|holds/.test(one) && !/^(list|watch)/.test(one))
    expect(asked).toEqual(['create ipamclaims', 'get holds'])
  })
})

describe('A virtual machine on a network of another CNI', () => {
  test('has the same address in every pod, on every node, and keeps it over DEL', async () => {
    const { world, network, node } = await aGround()
    const other = await TestNode.started(world)
    const machine = await Machine.made(world, [network])
    const [address] = await hasAddresses(world, machine.claim())
    const ifname = interfaceOf('net1')
    const pod = await machine.started({ node: node.name })
    const first = await node.add({ pod, on: network, ifname })
    expect(first.printed.ips).toEqual([gateway(address ?? '')])
    await node.del({ pod, on: network, ifname })
    await forceDelete(world, pod)
    await hasAddresses(world, machine.claim(), [address ?? ''])
    const moved = await machine.started({ node: other.name })
    expect((await other.add({ pod: moved, on: network, ifname })).printed.ips).toEqual(first.printed.ips)
    await world.eventually(() => expect(node.disk.files.size).toBe(0))
    expect(await claimsOfNodes(world)).toEqual([])
  })

  test('shares its address with the second pod of a live migration, and with no pod of another machine, or of none', async () => {
    const { world, network, node } = await aGround()
    const other = await TestNode.started(world)
    const machine = await Machine.made(world, [network])
    await hasAddresses(world, machine.claim())
    const ifname = interfaceOf('net1')
    const source = await machine.started({ node: node.name })
    const target = await machine.aPod({ node: other.name })
    const first = await node.add({ pod: source, on: network, ifname })
    expect((await other.add({ pod: target, on: network, ifname })).printed.ips).toEqual(first.printed.ips)
    const stranger = await Machine.made(world, [network])
    const thief = await stranger.started({
      node: other.name,
      annotations: { [networksAnnotation]: machine.networksText(true) },
    })
    const element = { name: network.metadata.name, 'ipam-claim-reference': `${machine.name}.net1` }
    const plain = await aPlainPod(world, { node: other.name, on: [element] })
    const answers = [await other.add({ pod: thief, on: network, ifname }), await other.add({ pod: plain, on: network })]
    const refused = { code: 100, details: 'it is of another pod or virtual machine' }
    expect(answers.map(({ printed }) => printed)).toMatchObject([refused, refused])
  })
})

describe('A claim that was made by hand', () => {
  test('is for the first pod that names it, and for the next when that has gone', async () => {
    const { world, network, node } = await aGround()
    const claim = await world.create(aClaimByHand(network))
    const [address = ''] = await hasAddresses(world, claim)
    const element = { name: network.metadata.name, 'ipam-claim-reference': claim.metadata.name }
    const first = await aPlainPod(world, { node: node.name, on: [element] })
    const second = await aPlainPod(world, { node: node.name, on: [element] })
    const answers = [await node.add({ pod: first, on: network }), await node.add({ pod: second, on: network })]
    expect(answers.map(({ exit }) => exit).toSorted()).toEqual([0, 1])
    const [winner, loser] = answers[0]?.exit === 0 ? [first, second] : [second, first]
    await world.delete(claim)
    await world.always(async () => expect(await heldIn(world)).toHaveLength(1), 15_000)
    await forceDelete(world, winner)
    await node.del({ pod: winner, on: network })
    await forceDelete(world, loser)
    await world.eventually(async () => expect(await heldIn(world)).toEqual([]), 30_000)
    expect(address).toMatch(/^10\.9\.0\./)
  })
})

describe('A network whose addresses are held by nodes', () => {
  const ofNodes = { ...ranges, holder: 'node' }

  test('tells a pod that its node has none yet, and its address when it has', async () => {
    const { world, network, node } = await aGround(ofNodes)
    const pod = await aPlainPod(world, { node: node.name, on: [network] })
    const waits = await node.add({ pod, on: network })
    expect(waits.printed).toMatchObject({ code: 11, msg: expect.stringContaining('has no address on network') })
    await holdForNode(world, network, node, '10.9.0.50')
    expect((await node.add({ pod, on: network })).printed.ips).toEqual([gateway('10.9.0.50/24')])
    const second = await aPlainPod(world, { node: node.name, on: [network] })
    expect((await node.add({ pod: second, on: network })).printed).toMatchObject({
      code: 11,
      details: expect.stringContaining('there is one for a node'),
    })
    await node.del({ pod, on: network })
    expect((await node.add({ pod: second, on: network })).printed.ips).toEqual([gateway('10.9.0.50/24')])
  })

  test('tells a pod the first of two that are held for its node: the other one rests soon', async () => {
    // Without the desk that puts it to rest.
    const { world, network, node } = await aGround(ofNodes, { on: ['vm'] })
    for (const address of ['10.9.0.51', '10.9.0.50']) await holdForNode(world, network, node, address)
    const both = ((await world.list(holds)) as Stored[]).filter(({ spec }) => spec.claimRef.name === node.name)
    const order = ({ metadata }: Stored) => `${metadata.creationTimestamp} ${metadata.name}`
    const [first] = both.toSorted((one, other) => (order(one) < order(other) ? -1 : 1))
    const pod = await aPlainPod(world, { node: node.name, on: [network] })
    const { ips } = (await node.add({ pod, on: network })).printed
    expect(ips).toEqual([gateway(`${first?.spec.address}/24`)])
  })

  test('tells it to no pod of another namespace', async () => {
    const { world, network, node } = await aGround(ofNodes)
    await world.patch(network, { metadata: { annotations: { 'mooring.dev/allowed-namespaces': '*' } } })
    await holdForNode(world, network, node, '10.9.0.50')
    const namespace = await world.anotherNamespace()
    const { name } = network.metadata
    const pod = await aPlainPod(world, { node: node.name, namespace, on: [{ name, namespace: world.home }] })
    expect((await node.add({ pod, on: network })).printed).toMatchObject({ code: 100 })
  })
})

describe('A node that is cut off from the API', () => {
  test('serves DEL and CHECK, answers ADD for what it knows, and says why the rest waits', async () => {
    const { world, network, node } = await aGround()
    const known = await aPlainPod(world, { node: node.name, on: [network] })
    const { printed } = await node.add({ pod: known, on: network })
    node.cut()
    await node.restarted()
    const late = await aPlainPod(world, { node: node.name, on: [network] })
    expect((await node.check({ pod: known, on: network }, printed)).exit).toBe(0)
    expect((await node.add({ pod: late, on: network })).printed).toMatchObject({
      code: 11,
      details: expect.stringContaining('cut off'),
    })
    expect((await node.status()).printed).toMatchObject({ code: 50 })
    expect(await node.del({ pod: known, on: network })).toEqual({ exit: 0, printed: undefined })
    expect((await node.add({ pod: known, on: network, container: 'c2' })).printed).toEqual(printed)
    expect((await node.del({ pod: late, on: network })).exit).toBe(0)
    node.heal()
    await world.eventually(async () => expect((await node.status()).exit).toBe(0), 60_000)
    await world.eventually(async () => expect((await node.add({ pod: late, on: network })).exit).toBe(0))
  })

  test('lets the claims of pods go when it is back', async () => {
    const { world, network, node } = await aGround()
    const pod = await aPlainPod(world, { node: node.name, on: [network] })
    await node.add({ pod, on: network })
    node.cut()
    await forceDelete(world, pod)
    await node.del({ pod, on: network })
    await world.always(async () => expect(await heldIn(world)).toHaveLength(1), 5_000)
    node.heal()
    await world.eventually(async () => expect(await heldIn(world)).toEqual([]), 120_000)
  })
})

describe('What no pod has', () => {
  test('is returned after the machine was started anew, and what a pod has stays', async () => {
    const { world, network, node } = await aGround()
    const [gone, stays] = [
      await aPlainPod(world, { node: node.name, on: [network] }),
      await aPlainPod(world, { node: node.name, on: [network] }),
    ]
    await node.add({ pod: gone, on: network })
    const kept = await node.add({ pod: stays, on: network })
    await forceDelete(world, gone)
    await node.restarted()
    await world.always(async () => expect(await heldIn(world)).toHaveLength(2), 5_000)
    await node.restarted({ withMachine: true })
    await world.eventually(async () => expect(await heldIn(world)).toHaveLength(1))
    expect((await node.add({ pod: stays, on: network, container: 'c2' })).printed).toEqual(kept.printed)
  })

  test('is returned by GC, unless its network namespace is still there', async () => {
    const { world, network, node } = await aGround()
    const pods: Stored[] = []
    for (let i = 0; i < 3; i++) pods.push(await aPlainPod(world, { node: node.name, on: [network] }))
    const [running, crashed, listed] = pods as [Stored, Stored, Stored]
    for (const pod of pods) await node.add({ pod, on: network })
    node.netns.add(netnsOf(running))
    for (const pod of pods) await forceDelete(world, pod)
    await node.gc(network, [{ containerID: `${listed.metadata.name}-c1`, ifname: 'net1' }])
    await world.eventually(async () => expect(await heldIn(world)).toHaveLength(2))
    await world.always(async () => expect(await heldIn(world)).toHaveLength(2), 5_000)
    expect((await node.check({ pod: crashed, on: network }, { ips: [] })).printed).toMatchObject({ code: 3 })
  })

  test('is not returned by GC while its pod is there, whatever the runtime lists', async () => {
    const { world, network, node } = await aGround()
    const pod = await aPlainPod(world, { node: node.name, on: [network] })
    const { printed } = await node.add({ pod, on: network })
    expect(await node.gc(network, [])).toEqual({ exit: 0, printed: undefined })
    expect((await node.check({ pod, on: network }, printed)).exit).toBe(0)
  })

  test('is returned by the controller when the Node is gone for good', async () => {
    const { world, network, node } = await aGround()
    const pod = await aPlainPod(world, { node: node.name, on: [network] })
    await node.add({ pod, on: network })
    node.cut()
    await forceDelete(world, pod)
    await world.always(async () => expect(await heldIn(world)).toHaveLength(1), 30_000)
    await world.delete({ apiVersion: 'v1', kind: 'Node', metadata: { name: node.name } })
    await world.eventually(async () => expect(await heldIn(world)).toEqual([]), 60_000)
  })
})

describe('A tenant', () => {
  test('gets no address of a network that is not offered to the namespace', async () => {
    const { world, network, node } = await aGround()
    const namespace = await world.anotherNamespace()
    const pod = await aPlainPod(world, {
      node: node.name,
      namespace,
      on: [{ name: network.metadata.name, namespace: world.home }],
    })
    expect((await node.add({ pod, on: network })).printed).toMatchObject({
      code: 11,
      details: expect.stringMatching(/NetworkNotFound|NetworkNotOffered/),
    })
    expect(await heldIn(world)).toEqual([])
  })

  test('cannot put an address of one network on another, whatever is written to the claim', async () => {
    const { world, network, node } = await aGround()
    const own = await world.create(aBridge({ ranges: ['10.9.0.0/24'] }, { name: 'own' }))
    const claim = await world.create(aClaimByHand(own))
    await hasAddresses(world, claim)
    const attachment = `${world.home}/${network.metadata.name}`
    await world.patch(claim, {
      metadata: { annotations: { 'mooring.dev/attachment': attachment } },
      spec: { network: configOf(network).name },
    })
    const pod = await aPlainPod(world, {
      node: node.name,
      on: [{ name: network.metadata.name, 'ipam-claim-reference': claim.metadata.name }],
    })
    expect((await node.add({ pod, on: network })).printed).toMatchObject({
      code: 100,
      msg: expect.stringContaining('does not hold'),
    })
  })

  test('cannot use the claim that was made for another pod', async () => {
    const { world, network, node } = await aGround()
    const victim = await aPlainPod(world, { node: node.name, on: [network] })
    await node.add({ pod: victim, on: network })
    const [claim] = await claimsOfNodes(world)
    const thief = await aPlainPod(world, {
      node: node.name,
      on: [{ name: network.metadata.name, 'ipam-claim-reference': claim?.metadata.name }],
    })
    expect((await node.add({ pod: thief, on: network })).printed).toMatchObject({ code: 100 })
  })

  test('cannot be in the way of the claim of a pod in any namespace but its own, nor hold up the node', async () => {
    const { world, network, node } = await aGround()
    const other = await world.anotherNamespace()
    await aPlainPod(world, {
      node: node.name,
      namespace: other,
      on: [{ name: 'x'.repeat(200), interface: '../../etc' }],
    })
    await world.create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'odd', namespace: other, annotations: { [networksAnnotation]: '[{' } },
      spec: { nodeName: node.name, containers: [{ name: 'a', image: 'a' }] },
    } as KubeObject)
    const pod = await aPlainPod(world, { node: node.name, on: [network] })
    expect((await node.add({ pod, on: network })).exit).toBe(0)
  })

  test('gets nothing by the name of a pod of another node, or of another uid', async () => {
    const { world, network, node } = await aGround()
    const elsewhere = await aPlainPod(world, { node: 'elsewhere', on: [network] })
    expect((await node.add({ pod: elsewhere, on: network })).printed).toMatchObject({ code: 100 })
    const pod = await aPlainPod(world, { node: node.name, on: [network] })
    const former = { ...pod, metadata: { ...pod.metadata, uid: 'former' } }
    expect((await node.add({ pod: former, on: network })).printed).toMatchObject({ code: 11 })
  })
})

test('The samples of a node: a machine and a pod on one bridge have addresses of its pool', async () => {
  const world = await aWorld()
  const read = (file: string): KubeObject[] =>
    parseAllDocuments(readFileSync(`config/samples/node/${file}.yaml`, 'utf8')).map(document => document.toJS())
  for (const one of ['namespace', 'network', 'virtualmachine'].flatMap(read)) await world.create(one)
  const claim = {
    apiVersion: 'k8s.cni.cncf.io/v1alpha1',
    kind: 'IPAMClaim',
    metadata: { name: 'press.floor', namespace: 'plant' },
  }
  await hasAddresses(world, claim, ['10.70.1.10/24'])
  const node = await TestNode.started(world)
  const [draft] = read('pod') as Stored[]
  const pod = await world.create({ ...draft, spec: { ...draft?.spec, nodeName: node.name } } as KubeObject)
  const [network] = read('network')
  expect((await node.add({ pod, on: network as KubeObject })).printed).toMatchObject({
    ips: [{ address: '10.70.1.50/24', gateway: '10.70.1.1' }],
    routes: [{ dst: '10.70.0.0/16' }],
    dns: { nameservers: ['10.70.1.2'] },
  })
})
