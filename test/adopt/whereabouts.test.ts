import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { adoptWith } from '../../src/cli/adopt.ts'
import { exitCodes } from '../../src/cli/failure.ts'
import { attachments, ipamClaims, pods } from '../../src/controllers/office/kinds.ts'
import { defineKind, type Kind, type KubeObject } from '../../src/kube/object.ts'
import { holds } from '../behaviours/kinds.ts'
import { interfaceOf, Machine } from '../behaviours/machines.ts'
import { aWorld, type Stored, type World } from '../behaviours/world.ts'

const group = 'whereabouts.cni.cncf.io'
const pluralOf = {
  IPPool: 'ippools',
  OverlappingRangeIPReservation: 'overlappingrangeipreservations',
} as const
type TheirKind = keyof typeof pluralOf

/** Its kinds, as far as their names and versions go. */
const definitions: readonly KubeObject[] = Object.entries(pluralOf).map(([kind, plural]) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}))

const kindOf = (kind: TheirKind): Kind =>
  defineKind<KubeObject>({ group, versions: ['v1alpha1'], plural: pluralOf[kind], kind, namespaced: true })

const aWhereaboutsWorld = (): Promise<World> => aWorld({ define: shipped => [...shipped, ...definitions] })

function theirs(world: World, kind: TheirKind, name: string, spec: object): Promise<KubeObject> {
  const metadata = { name, namespace: world.home }
  return world.client.create(kindOf(kind), { apiVersion: `${group}/v1alpha1`, kind, metadata, spec } as KubeObject)
}

/** One IPPool: distance from the first address to the pod and the interface. */
const aRange = (
  world: World,
  range: string,
  given: Readonly<Record<string, readonly [pod: string, ifname?: string]>>,
) =>
  theirs(world, 'IPPool', range.replaceAll(/[:/]/g, '-'), {
    range,
    allocations: Object.fromEntries(
      Object.entries(given).map(([offset, [pod, ifname = 'net1']]) => [
        offset,
        { id: `sandbox-${offset}`, podref: `${world.home}/${pod}`, ifname },
      ]),
    ),
  })

const onWhereabouts = { range: '10.7.0.0/24', gateway: '10.7.0.1' }

function aNetwork(world: World, name = 'vms', ipam: object = onWhereabouts, namespace = world.home): Promise<Stored> {
  const config = { cniVersion: '1.0.0', name, type: 'bridge', bridge: 'br0', ipam: { type: 'whereabouts', ...ipam } }
  return world.create({
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { name, namespace },
    spec: { config: JSON.stringify(config) },
  } as KubeObject)
}

/** `shows`: what Multus wrote about its first interface. */
function aPod(world: World, name: string, { networks = 'vms', shows = [] as readonly string[] } = {}): Promise<Stored> {
  const status = [{ name: `${world.home}/vms`, interface: 'net1', ips: shows }]
  return world.create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: world.home,
      annotations: {
        'k8s.v1.cni.cncf.io/networks': networks,
        ...(shows.length > 0 && { 'k8s.v1.cni.cncf.io/network-status': JSON.stringify(status) }),
      },
    },
    spec: { nodeName: 'node-a', containers: [{ name: 'main', image: 'main' }] },
  } as KubeObject)
}

/** What Multus writes, later. */
const shows = (world: World, name: string, status: string): Promise<KubeObject> =>
  world.client.mergePatch(
    pods,
    { namespace: world.home, name },
    { metadata: { annotations: { 'k8s.v1.cni.cncf.io/network-status': status } } },
  )

interface Said {
  readonly code: number
  readonly text: string
  readonly addresses: readonly { address: string; outcome: string; reason: string; message: string; claim: string }[]
}

async function adopt(world: World, { dryRun = false, output = 'json' } = {}): Promise<Said> {
  let text = ''
  const tools = { client: world.client, nowMs: world.clock.now(), ownLease: 'mooring-controller' }
  const options = { from: 'whereabouts', back: false, dryRun, output, namespace: '', watchFilter: '' }
  const code = await adoptWith(tools, options, line => {
    text += line
  })
  return { code, text, addresses: output === 'json' ? inOrder(JSON.parse(text).addresses) : [] }
}

/** `10.7.0.2` before `10.7.0.11`. */
const inOrder = (addresses: Said['addresses']): Said['addresses'] =>
  addresses.toSorted((a, b) => Number(a.address.split('.')[3]) - Number(b.address.split('.')[3]))

/** What an administrator does with what is printed. */
async function applyNetworks(world: World): Promise<void> {
  const { text } = await adopt(world, { dryRun: true, output: 'yaml' })
  for (const document of parseAllDocuments(text)) {
    const object = document.toJS() as Stored
    if (object.kind !== 'NetworkAttachmentDefinition') continue
    const { name = '', namespace = '' } = object.metadata
    const patch = { spec: object.spec, metadata: { annotations: object.metadata.annotations ?? {} } }
    await world.client.mergePatch(attachments, { name, namespace }, patch)
  }
}

const addressesOf = async (world: World): Promise<string[]> =>
  (await world.list(holds)).map(hold => `${hold.spec.address} ${hold.spec.claimRef.name}`).sort()

const claimAt = (said: Said, address: string) => {
  const found = said.addresses.find(one => one.address === address)
  return { ...found, name: found?.claim.split('/')[1] ?? '' }
}

describe('Taking over from whereabouts', () => {
  test('keeps the address of a pod that runs, and no other claim gets it once the network is changed', async () => {
    const world = await aWhereaboutsWorld()
    await aNetwork(world)
    await aPod(world, 'web-0', { shows: ['10.7.0.2'] })
    await aRange(world, '10.7.0.0/24', { 2: ['web-0'] })
    const said = await adopt(world)
    expect(said).toMatchObject({ code: 0, addresses: [{ address: '10.7.0.2', outcome: 'kept' }] })
    const { name } = claimAt(said, '10.7.0.2')
    expect(await addressesOf(world)).toEqual([`10.7.0.2 ${name}`])
    await applyNetworks(world)
    await world.eventually(async () => {
      const claim = (await world.client.get(ipamClaims, { namespace: world.home, name })) as Stored
      expect(claim.status?.ips).toEqual(['10.7.0.2/24'])
      expect(claim.metadata.ownerReferences?.[0]).toMatchObject({ kind: 'Pod', name: 'web-0' })
    })
    for (const other of ['a', 'b', 'c']) {
      await world.create({
        apiVersion: 'k8s.cni.cncf.io/v1alpha1',
        kind: 'IPAMClaim',
        metadata: { name: other, namespace: world.home },
        spec: { network: 'vms', interface: 'net1' },
      } as KubeObject)
    }
    await world.eventually(async () => {
      const given = (await world.list(ipamClaims)).flatMap(claim => claim.status?.ips ?? [])
      expect(given).toHaveLength(4)
      expect(new Set(given).size).toBe(4)
    })
  })

  test('keeps the address of a virtual machine for the machine, not for its pod', async () => {
    const world = await aWhereaboutsWorld()
    const network = await aNetwork(world)
    const machine = await Machine.made(world, [network])
    await machine.started()
    const pod = (await world.list(pods)).find(one => one.metadata.labels?.['kubevirt.io'] === 'virt-launcher')
    const ifname = interfaceOf('net1')
    const status = JSON.stringify([{ name: `${world.home}/vms`, interface: ifname, ips: ['10.7.0.9'] }])
    await shows(world, pod?.metadata.name ?? '', status)
    await aRange(world, '10.7.0.0/24', { 9: [pod?.metadata.name ?? '', ifname] })
    const said = await adopt(world)
    expect(said.addresses).toMatchObject([{ outcome: 'kept', claim: `${world.home}/${machine.name}.net1` }])
    await applyNetworks(world)
    await world.eventually(async () => {
      const claim = await world.get(machine.claim())
      expect(claim?.status?.ips).toEqual(['10.7.0.9/24'])
      expect(claim?.metadata.ownerReferences?.[0]).toMatchObject({ kind: 'VirtualMachine', name: machine.name })
    })
  })

  test('writes nothing where it is only asked what would happen', async () => {
    const world = await aWhereaboutsWorld()
    await aNetwork(world)
    await aPod(world, 'web-0', { shows: ['10.7.0.2'] })
    await aRange(world, '10.7.0.0/24', { 2: ['web-0'] })
    expect((await adopt(world, { dryRun: true })).addresses).toMatchObject([{ outcome: 'kept' }])
    expect(await world.list(holds)).toEqual([])
    expect(await world.list(ipamClaims)).toEqual([])
  })

  test('says the same twice, and picks up what came in between', async () => {
    const world = await aWhereaboutsWorld()
    await aNetwork(world)
    await aPod(world, 'web-0', { shows: ['10.7.0.2'] })
    const range = await aRange(world, '10.7.0.0/24', { 2: ['web-0'] })
    await adopt(world)
    await aPod(world, 'web-1', { shows: ['10.7.0.3'] })
    const allocations = { 3: { id: 'x', podref: `${world.home}/web-1`, ifname: 'net1' } }
    await world.client.mergePatch(
      kindOf('IPPool'),
      { namespace: world.home, name: range.metadata.name ?? '' },
      { spec: { allocations } },
    )
    await applyNetworks(world)
    const said = await adopt(world)
    expect(said.addresses.map(({ address, outcome }) => `${address} ${outcome}`)).toEqual([
      '10.7.0.2 adopted',
      '10.7.0.3 kept',
    ])
    expect(await world.list(holds)).toHaveLength(2)
  })

  test('names every clash, and holds none of what clashes', async () => {
    const world = await aWhereaboutsWorld()
    await aNetwork(world, 'vms', { ...onWhereabouts, range_start: '10.7.0.10', exclude: ['10.7.0.32/28'] })
    for (const name of ['twin-a', 'twin-b', 'outside', 'excluded', 'stray', 'good']) await aPod(world, name)
    await aPod(world, 'lost', { networks: '' })
    await aRange(world, '10.7.0.0/24', {
      5: ['outside'],
      11: ['good'],
      20: ['twin-a'],
      35: ['excluded'],
      40: ['lost'],
    })
    await theirs(world, 'OverlappingRangeIPReservation', '10.7.0.20', {
      podref: `${world.home}/twin-b`,
      ifname: 'net1',
    })
    // The pod of a reservation has to show its address: a reservation alone may be left over.
    const shown = JSON.stringify([{ name: `${world.home}/vms`, interface: 'net1', ips: ['10.7.0.20'] }])
    await shows(world, 'twin-b', shown)
    const said = await adopt(world)
    expect(said.code).toBe(exitCodes.refused)
    expect(said.addresses.map(({ address, outcome, reason }) => `${address} ${outcome} ${reason}`)).toEqual([
      '10.7.0.5 refused NotOffered',
      '10.7.0.11 kept Kept',
      '10.7.0.20 refused Duplicate',
      '10.7.0.20 refused Duplicate',
      '10.7.0.35 refused NotOffered',
      '10.7.0.40 refused NetworkUnknown',
    ])
    expect(said.addresses[2]?.message).toContain('twin-b')
    expect((await addressesOf(world)).map(text => text.split(' ')[0])).toEqual(['10.7.0.11'])
  })

  test('lets go of what no pod has any more', async () => {
    const world = await aWhereaboutsWorld()
    await aNetwork(world)
    await aPod(world, 'moved', { shows: ['10.7.0.8'] })
    await aRange(world, '10.7.0.0/24', { 2: ['gone'], 3: ['moved'], 8: ['moved'] })
    await theirs(world, 'OverlappingRangeIPReservation', '10.7.0.4', { podref: `${world.home}/moved`, ifname: 'net1' })
    const said = await adopt(world)
    expect(said.addresses.map(({ address, outcome, reason }) => `${address} ${outcome} ${reason}`)).toEqual([
      '10.7.0.2 leaves PodGone',
      '10.7.0.3 leaves NotOnPod',
      '10.7.0.4 leaves NotOnPod',
      '10.7.0.8 kept Kept',
    ])
  })

  test('believes no pod about an address that whereabouts did not give it', async () => {
    const world = await aWhereaboutsWorld()
    await aNetwork(world)
    await aPod(world, 'victim', { shows: ['10.7.0.2'] })
    await aPod(world, 'liar', { shows: ['10.7.0.2'] })
    await aRange(world, '10.7.0.0/24', { 2: ['victim'], 3: ['liar'] })
    const said = await adopt(world)
    expect(said.addresses.map(({ address, outcome }) => `${address} ${outcome}`)).toEqual([
      '10.7.0.2 kept',
      '10.7.0.3 leaves',
    ])
    expect(claimAt(said, '10.7.0.2').claim).toContain('victim')
  })

  test('gives a range that several namespaces use to one pool, for these namespaces alone', async () => {
    const world = await aWhereaboutsWorld()
    const other = await world.anotherNamespace()
    await aNetwork(world)
    await aNetwork(world, 'vms', onWhereabouts, other)
    await aPod(world, 'web-0', { shows: ['10.7.0.2'] })
    await aRange(world, '10.7.0.0/24', { 2: ['web-0'] })
    const { text } = await adopt(world, { output: 'yaml' })
    const [pool] = parseAllDocuments(text)
      .map(document => document.toJS() as Stored)
      .filter(({ kind }) => kind === 'ClusterAddressPool')
    expect(pool?.spec.allowedNamespaces.matchExpressions[0].values.toSorted()).toEqual([world.home, other].toSorted())
    await applyNetworks(world)
    await world.eventually(async () => {
      const given = (await world.list(ipamClaims)).flatMap(claim => claim.status?.ips ?? [])
      expect(given).toEqual(['10.7.0.2/24'])
    })
  })
})
