// Networks that users define: a UserDefinedNetwork for its namespace, a ClusterUserDefinedNetwork for several. Where
// OVN-Kubernetes does not run, Mooring makes their NetworkAttachmentDefinitions, as OVN-Kubernetes would.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { defaultNetworkRules } from '../../src/controllers/office/networks.ts'
import { ApiError } from '../../src/kube/api-error.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { hasAddresses, isTold, Machine, nextName, says as saysOfClaim, waitsFor } from './machines.ts'
import { isGone } from './promises.ts'
import {
  aClaimFor,
  aClaimThatAsks,
  aCUDN,
  aHome,
  anEgressIPDefinition,
  aPodOn,
  attachmentOf,
  aUDN,
  createdOf,
  finalizer,
  isNotRendered,
  isRendered,
  layer2,
  localnet,
  primaryLabel,
  says,
} from './user-defined-networks.ts'
import { aWorld, isInProcess, type Stored, type World } from './world.ts'

const dual = { subnets: ['10.0.0.0/24', 'fd00:10::/64'] }
const secondary = (config: object = {}) => layer2({ role: 'Secondary', ...config })

/** Drafts of both kinds, with the same network. */
const both = (world: World, network: Readonly<Record<string, unknown>>): Stored[] =>
  network.topology === 'Localnet' ? [aCUDN('nobody', network)] : [aUDN(world.home, network), aCUDN('nobody', network)]

describe('The definitions of networks that users define', () => {
  test.each<[string, Readonly<Record<string, unknown>>]>([
    ['the smallest', layer2()],
    ['a gateway', layer2({ defaultGatewayIPs: ['10.0.0.5'] })],
    ['gateways of both families', layer2({ ...dual, defaultGatewayIPs: ['10.0.0.5', 'fd00:10::5'] })],
    ['infrastructure', layer2({ infrastructureSubnets: ['10.0.0.0/30'] })],
    ['a gateway of it', layer2({ infrastructureSubnets: ['10.0.0.0/30'], defaultGatewayIPs: ['10.0.0.2'] })],
    ['a reserve', layer2({ reservedSubnets: ['10.0.0.200/29'] })],
    ['both apart', layer2({ reservedSubnets: ['10.0.0.200/29'], infrastructureSubnets: ['10.0.0.0/30'] })],
    [
      'everything in both families',
      layer2({
        ...dual,
        reservedSubnets: ['10.0.0.200/29', 'fd00:10::100/120'],
        infrastructureSubnets: ['10.0.0.0/30', 'fd00:10::/126'],
        defaultGatewayIPs: ['10.0.0.2', 'fd00:10::2'],
        joinSubnets: ['100.70.0.0/16', 'fd70::/64'],
        ipam: { lifecycle: 'Persistent' },
        mtu: 1400,
      }),
    ],
    ['IPv6 alone', layer2({ subnets: ['fd00:10::/64'], defaultGatewayIPs: ['fd00:10::5'] })],
    ['a secondary network', secondary()],
    ['no addresses', { topology: 'Layer2', layer2: { role: 'Secondary', ipam: { mode: 'Disabled' } } }],
    ['a small MTU without IPv6', layer2({ mtu: 600 })],
    ['layer3', { topology: 'Layer3', layer3: { role: 'Primary', subnets: [{ cidr: '10.0.0.0/16', hostSubnet: 24 }] } }],
    ['localnet', localnet({ excludeSubnets: ['10.0.0.0/28'], vlan: { mode: 'Access', access: { id: 7 } } })],
    [
      'localnet without addresses',
      { topology: 'Localnet', localnet: { role: 'Secondary', physicalNetworkName: 'x', ipam: { mode: 'Disabled' } } },
    ],
  ])('accept %s', async (_, network) => {
    const world = await aWorld()
    for (const draft of both(world, network)) expect((await world.create(draft)).spec).toEqual(draft.spec)
  })

  test.each<[string, Readonly<Record<string, unknown>>]>([
    ['Subnets is required with ipam.mode is Enabled or unset', { topology: 'Layer2', layer2: { role: 'Secondary' } }],
    ['Subnets must be unset when ipam.mode is Disabled', secondary({ ipam: { mode: 'Disabled' } })],
    [
      'Disabled ipam.mode is only supported for Secondary network',
      { topology: 'Layer2', layer2: { role: 'Primary', ipam: { mode: 'Disabled' } } },
    ],
    ['JoinSubnets is only supported for Primary network', secondary({ joinSubnets: ['100.70.0.0/16'] })],
    ['MTU should be greater than or equal to 1280 when IPv6 subnet is used', layer2({ ...dual, mtu: 1279 })],
    ['defaultGatewayIPs is only supported for Primary network', secondary({ defaultGatewayIPs: ['10.0.0.1'] })],
    [
      'defaultGatewayIPs must belong to one of the subnets specified in the subnets field',
      layer2({ defaultGatewayIPs: ['10.0.1.1'] }),
    ],
    [
      'defaultGatewayIPs must belong to one of the subnets specified in the subnets field',
      layer2({ ...dual, defaultGatewayIPs: ['10.0.0.1', 'fd00:11::1'] }),
    ],
    ['defaultGatewayIPs must be specified for all IP families', layer2({ ...dual, defaultGatewayIPs: ['10.0.0.1'] })],
    [
      'reservedSubnets must be unset when subnets is unset',
      {
        topology: 'Layer2',
        layer2: { role: 'Secondary', ipam: { mode: 'Disabled' }, reservedSubnets: ['10.0.0.0/28'] },
      },
    ],
    ['reservedSubnets is only supported for Primary network', secondary({ reservedSubnets: ['10.0.0.0/28'] })],
    [
      'infrastructureSubnets must be unset when subnets is unset',
      {
        topology: 'Layer2',
        layer2: { role: 'Secondary', ipam: { mode: 'Disabled' }, infrastructureSubnets: ['10.0.0.0/28'] },
      },
    ],
    [
      'infrastructureSubnets is only supported for Primary network',
      secondary({ infrastructureSubnets: ['10.0.0.0/28'] }),
    ],
    [
      'defaultGatewayIPs have to belong to infrastructureSubnets',
      layer2({ infrastructureSubnets: ['10.0.0.0/30'], defaultGatewayIPs: ['10.0.0.5'] }),
    ],
    [
      'defaultGatewayIPs have to belong to infrastructureSubnets',
      layer2({ ...dual, infrastructureSubnets: ['10.0.0.0/30'], defaultGatewayIPs: ['10.0.0.2', 'fd00:10::2'] }),
    ],
    [
      'reservedSubnets must be subnetworks of the networks specified in the subnets field',
      layer2({ reservedSubnets: ['10.0.1.0/28'] }),
    ],
    [
      'reservedSubnets must be subnetworks of the networks specified in the subnets field',
      layer2({ ...dual, reservedSubnets: ['10.0.0.0/28', 'fd00:11::/120'] }),
    ],
    [
      'infrastructureSubnets must be subnetworks of the networks specified in the subnets field',
      layer2({ infrastructureSubnets: ['10.0.0.0/23'] }),
    ],
    [
      'infrastructureSubnets and reservedSubnets must not overlap',
      layer2({ infrastructureSubnets: ['10.0.0.0/30'], reservedSubnets: ['10.0.0.0/28'] }),
    ],
    [
      'infrastructureSubnets and reservedSubnets must not overlap',
      layer2({ infrastructureSubnets: ['10.0.0.0/28'], reservedSubnets: ['10.0.0.200/29', '10.0.0.8/30'] }),
    ],
    [
      'infrastructureSubnets must be a masked network address (no host bits set)',
      layer2({ infrastructureSubnets: ['10.0.0.1/30'] }),
    ],
    [
      'reservedSubnets must be a masked network address (no host bits set)',
      layer2({ reservedSubnets: ['10.0.0.201/29'] }),
    ],
    [
      'lifecycle Persistent is only supported when ipam.mode is Enabled',
      {
        topology: 'Layer2',
        layer2: { role: 'Secondary', ipam: { mode: 'Disabled', lifecycle: 'Persistent' } },
      },
    ],
    [
      'When 2 CIDRs are set, they must be from different IP families',
      layer2({ subnets: ['10.0.0.0/24', '10.0.1.0/24'] }),
    ],
    [
      'When 2 IPs are set, they must be from different IP families',
      layer2({ ...dual, defaultGatewayIPs: ['10.0.0.1', '10.0.0.2'] }),
    ],
    ['CIDR is invalid', layer2({ subnets: ['10.0.0.0/33'] })],
    ['CIDR is invalid', layer2({ reservedSubnets: ['10.0.0.0'] })],
    ['IP is invalid', layer2({ defaultGatewayIPs: ['10.0.0.256'] })],
    ['spec.layer2 is required when topology is Layer2 and forbidden otherwise', { topology: 'Layer2' }],
    [
      'spec.layer3 is required when topology is Layer3 and forbidden otherwise',
      { ...layer2(), layer3: { role: 'Primary', subnets: [{ cidr: '10.0.0.0/16' }] } },
    ],
    ['spec.localnet is required when topology is Localnet and forbidden otherwise', { topology: 'Localnet' }],
    [
      'Subnets is required with ipam.mode is Enabled or unset, and forbidden otherwise',
      localnet({ ipam: { mode: 'Disabled' } }),
    ],
    [
      'excludeSubnets must be unset when subnets is unset',
      {
        topology: 'Localnet',
        localnet: {
          role: 'Secondary',
          physicalNetworkName: 'x',
          ipam: { mode: 'Disabled' },
          excludeSubnets: ['10.0.0.0/28'],
        },
      },
    ],
    ['MTU should be greater than or equal to 1280 when an IPv6 subnet is used', localnet({ ...dual, mtu: 1279 })],
    ['physicalNetworkName cannot contain `,` or `:` characters', localnet({ physicalNetworkName: 'a,b' })],
    [
      "vlan access config is required when vlan mode is 'Access', and forbidden otherwise",
      localnet({ vlan: { mode: 'Access' } }),
    ],
    ['Unsupported value: "Primary"', localnet({ role: 'Primary' })],
    ['should be greater than or equal to 576', layer2({ mtu: 575 })],
    ['should be less than or equal to 4094', localnet({ vlan: { mode: 'Access', access: { id: 4095 } } })],
  ])('refuse with "%s"', async (message, network) => {
    const world = await aWorld()
    for (const draft of both(world, network)) {
      const refusal = await world.create(draft).then(
        () => 'accepted',
        error => (error instanceof ApiError ? error.message : `${error}`),
      )
      expect(refusal).toContain(message)
    }
  })

  test.each<[string, Readonly<Record<string, unknown>>, object]>([
    ['Layer2 is immutable', layer2(), { layer2: { defaultGatewayIPs: ['10.0.0.5'] } }],
    ['Layer2 is immutable', layer2(), { layer2: { role: 'Secondary' } }],
    [
      'Topology is immutable',
      layer2(),
      { topology: 'Layer3', layer2: null, layer3: { role: 'Primary', subnets: [{ cidr: '10.0.0.0/16' }] } },
    ],
    ['Localnet is immutable', localnet(), { localnet: { physicalNetworkName: 'other' } }],
  ])('refuse a change with "%s"', async (message, network, change) => {
    const world = await aWorld()
    for (const draft of both(world, network)) {
      const stored = await world.create(draft)
      const spec = draft.kind === 'UserDefinedNetwork' ? change : { network: change }
      await expect(world.patch(stored, { spec })).rejects.toThrow(message)
    }
  })
})

describe('A network that a user defines', () => {
  test('has a NetworkAttachmentDefinition of its name in its namespace, guarded and under its control', async () => {
    const world = await aWorld()
    const red = await aHome(world)
    const annotations = { owner: 'ann', 'k8s.ovn.org/secret': 'x' }
    const udn = await world.create(
      aUDN(red, layer2({ ipam: { lifecycle: 'Persistent' } }), { labels: { a: 'b' }, annotations }),
    )
    const { name = '', uid } = udn.metadata
    const made = await isRendered(world, udn, red)
    const done = world.desk.log.filter(({ desk }) => desk === 'import').map(({ msg, object }) => `${msg}: ${object}`)
    expect(done).toContain(`an object is made: NetworkAttachmentDefinition ${red}/${made.metadata.name}`)
    expect(made.metadata).toMatchObject({
      labels: { a: 'b', 'k8s.ovn.org/user-defined-network': '' },
      annotations: { owner: 'ann' },
      finalizers: [finalizer],
      ownerReferences: [
        {
          apiVersion: 'k8s.ovn.org/v1',
          kind: 'UserDefinedNetwork',
          name,
          uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    })
    expect(Object.keys(made.metadata.annotations ?? {})).toEqual(['owner'])
    expect(JSON.parse(made.spec.config)).toEqual({
      cniVersion: '1.1.0',
      type: 'ovn-k8s-cni-overlay',
      name: `${red}_${name}`,
      netAttachDefName: `${red}/${name}`,
      topology: 'layer2',
      role: 'primary',
      subnets: '10.0.0.0/24',
      allowPersistentIPs: true,
      joinSubnet: '100.65.0.0/16,fd99::/64',
      transitSubnet: '100.88.0.0/16,fd97::/64',
    })
    await says(
      world,
      udn,
      'True',
      'NetworkAttachmentDefinitionCreated',
      /^NetworkAttachmentDefinition has been created$/,
    )
  })

  test('says its network name, its gateways and its management addresses', async () => {
    const world = await aWorld()
    const red = await aHome(world)
    const udn = await world.create(aUDN(red, layer2({ ...dual, infrastructureSubnets: ['10.0.0.4/30'] })))
    await world.eventually(async () => {
      expect((await world.get(udn))?.metadata.annotations).toMatchObject({
        'mooring.dev/network-name': `${red}_${udn.metadata.name}`,
        'mooring.dev/gateways': '10.0.0.4,fd00:10::1',
        'mooring.dev/management-addresses': '10.0.0.5,fd00:10::2',
      })
      expect((await world.get(udn))?.status?.networkName).toBe(`${red}_${udn.metadata.name}`)
    })
    await world.patch(udn, { status: { networkName: 'another' } }, 'status')
    await world.eventually(async () => {
      expect((await world.get(udn))?.status?.networkName).toBe(`${red}_${udn.metadata.name}`)
    })
  })

  test.each<[string, string, readonly string[], string, string]>([
    ['10.0.0.0/24', '', [], '10.0.0.1', '10.0.0.2'],
    ['10.0.0.0/24', '10.0.0.5', [], '10.0.0.5', '10.0.0.2'],
    ['10.0.0.0/24', '10.0.0.2', [], '10.0.0.2', '10.0.0.1'],
    ['10.0.0.0/24', '', ['10.0.0.4/30'], '10.0.0.4', '10.0.0.5'],
    ['10.0.0.0/24', '', ['10.0.0.0/30'], '10.0.0.1', '10.0.0.2'],
    ['10.0.0.0/24', '10.0.0.2', ['10.0.0.0/30'], '10.0.0.2', '10.0.0.1'],
    ['10.0.0.0/24', '10.0.0.254', ['10.0.0.254/32', '10.0.0.250/32'], '10.0.0.254', '10.0.0.250'],
    ['2001:db8::/64', '', ['2001:db8::/126'], '2001:db8::1', '2001:db8::2'],
  ])(
    'of %s with gateway "%s" and infrastructure %j chooses %s and %s',
    async (subnet, given, infra, gateway, other) => {
      const world = await aWorld()
      const red = await aHome(world)
      const config = {
        subnets: [subnet],
        ...(given !== '' && { defaultGatewayIPs: [given] }),
        ...(infra.length > 0 && { infrastructureSubnets: infra }),
      }
      const udn = await world.create(aUDN(red, layer2(config)))
      await world.eventually(async () => {
        const shown = { 'mooring.dev/gateways': gateway, 'mooring.dev/management-addresses': other }
        expect((await world.get(udn))?.metadata.annotations).toMatchObject(shown)
      })
    },
  )

  test('and is primary needs a label on its namespace; a secondary one does not', async () => {
    const world = await aWorld()
    const bare = await world.anotherNamespace()
    const primary = await world.create(aUDN(bare, layer2()))
    const other = await world.create(aUDN(bare, secondary()))
    const made = await isRendered(world, other, bare)
    expect(JSON.parse(made.spec.config)).not.toHaveProperty('joinSubnet')
    await says(
      world,
      primary,
      'False',
      'SyncError',
      /^invalid primary network state for namespace ".*": a valid primary/,
    )
    expect(await world.get(attachmentOf(primary, bare))).toBeUndefined()
  })

  test('and is primary is refused beside another primary one, until that is gone', async () => {
    const world = await aWorld()
    const red = await aHome(world)
    const first = await world.create(aUDN(red, layer2()))
    await isRendered(world, first, red)
    const second = await world.create(aUDN(red, layer2()))
    const sentence = `primary network already exist in namespace "${red}": "${first.metadata.name}"`
    await says(world, second, 'False', 'SyncError', new RegExp(`^${sentence}$`))
    await world.delete(first)
    await isGone(world, first)
    await says(world, second, 'True', 'NetworkAttachmentDefinitionCreated', /created/)
  })

  test('leaves what another user has under its name alone, and says so', async () => {
    const world = await aWorld()
    const red = await aHome(world)
    const name = nextName('udn')
    const theirs = {
      apiVersion: 'k8s.cni.cncf.io/v1',
      kind: 'NetworkAttachmentDefinition',
      metadata: { name, namespace: red },
      spec: { config: '{"type":"bridge"}' },
    }
    const foreign = await world.create(theirs)
    const udn = await world.create(aUDN(red, layer2(), { name }))
    await says(
      world,
      udn,
      'False',
      'SyncError',
      /^foreign NetworkAttachmentDefinition with the desired name already exist/,
    )
    expect((await world.get(foreign))?.spec.config).toBe('{"type":"bridge"}')
    await world.delete(foreign)
    await says(world, udn, 'True', 'NetworkAttachmentDefinitionCreated', /created/)
  })

  test.each<[string, object]>([
    ['its config', { spec: { config: '{"type":"bridge"}' } }],
    ['its labels', { metadata: { labels: { 'k8s.ovn.org/user-defined-network': null, more: 'x' } } }],
    ['its annotations', { metadata: { annotations: { owner: 'eve' } } }],
    ['its finalizer', { metadata: { finalizers: null } }],
  ])('restores %s, and keeps what others noted', async (_, change) => {
    const world = await aWorld()
    const red = await aHome(world)
    const udn = await world.create(aUDN(red, layer2(), { annotations: { owner: 'ann' } }))
    const made = await isRendered(world, udn, red)
    await says(world, udn, 'True', 'NetworkAttachmentDefinitionCreated', /created/)
    await world.patch(made, { metadata: { annotations: { 'k8s.ovn.org/note': 'kept' } } })
    await world.patch(made, change)
    await world.eventually(async () => {
      const now = await world.get(made)
      expect(now?.spec).toEqual(made.spec)
      expect(now?.metadata.labels).toEqual(made.metadata.labels)
      expect(now?.metadata.finalizers).toEqual(made.metadata.finalizers)
      expect(now?.metadata.annotations).toEqual({ owner: 'ann', 'k8s.ovn.org/note': 'kept' })
    })
  })

  test('makes its NetworkAttachmentDefinition again when a user deletes it', async () => {
    const world = await aWorld()
    const red = await aHome(world)
    const udn = await world.create(aUDN(red, layer2()))
    const made = await isRendered(world, udn, red)
    await world.delete(made)
    await world.eventually(async () => {
      const again = await world.get(made)
      expect(again?.metadata.uid ?? 'gone').not.toMatch(new RegExp(`gone|${made.metadata.uid}`))
    })
    await says(world, udn, 'True', 'NetworkAttachmentDefinitionCreated', /created/)
  })

  test.each<[string, Readonly<Record<string, unknown>>, RegExp]>([
    ['a gateway that is no host', { defaultGatewayIPs: ['10.0.0.255'] }, /10\.0\.0\.255 is no address for a host/],
    [
      'a reserve with the management address in it',
      { reservedSubnets: ['10.0.0.0/28'] },
      /has 10\.0\.0\.1 in it, the gateway/,
    ],
    [
      'subnets that overlap what it uses within',
      { subnets: ['100.65.3.0/24'] },
      /joinSubnet: 100\.65\.0\.0\/16 and 100\.65\.3\.0\/24/,
    ],
  ])('is not made with %s, which the definition lets through', async (_, config, message) => {
    const world = await aWorld()
    const red = await aHome(world)
    const udn = await world.create(aUDN(red, layer2(config)))
    await says(world, udn, 'False', 'SyncError', message)
    expect(await world.get(attachmentOf(udn, red))).toBeUndefined()
  })

  test('goes with its NetworkAttachmentDefinition', async () => {
    const world = await aWorld()
    const red = await aHome(world)
    const udn = await world.create(aUDN(red, layer2()))
    await isRendered(world, udn, red)
    await world.delete(udn)
    await isGone(world, udn)
    await isNotRendered(world, udn, red)
  })

  test('goes with it also when a user has made it unrecognizable', async () => {
    const world = await aWorld()
    const red = await aHome(world)
    const udn = await world.create(aUDN(red, layer2()))
    const made = await isRendered(world, udn, red)
    await says(world, udn, 'True', 'NetworkAttachmentDefinitionCreated', /created/)
    await world.desk.stop()
    const labels = { 'k8s.ovn.org/user-defined-network': null }
    await world.patch(made, { metadata: { labels }, spec: { config: '{"type":"bridge"}' } })
    await world.delete(udn)
    await world.anotherDesk()
    await isGone(world, udn)
    await isGone(world, made)
  })

  test('of layer3 is left alone', async () => {
    const world = await aWorld()
    const red = await aHome(world)
    const network = { topology: 'Layer3', layer3: { role: 'Primary', subnets: [{ cidr: '10.0.0.0/16' }] } }
    const udn = await world.create(aUDN(red, network))
    await world.heard(udn)
    await world.always(async () => expect(await world.get(udn)).toEqual(udn), 1_000)
  })
})

describe('A process that renders networks and is killed', () => {
  /** The process is killed before the n-th of its writes to networks; false if it has done all with fewer. */
  async function killBefore(world: World, nth: number, act: () => Promise<unknown>, isDone: () => Promise<boolean>) {
    let left = nth
    world.desk.killBefore(({ method, path }) => {
      if (left > 0 && method !== 'GET' && /userdefinednetworks|network-attachment/.test(path)) left--
      return left === 0
    })
    await act()
    await world.eventually(async () => expect(left === 0 || (await isDone())).toBe(true))
    await world.desk.kill()
    return left === 0
  }

  const isCreated = async (world: World, udn: Stored) =>
    (createdOf(await world.get(udn)) as { status?: string } | undefined)?.status === 'True'

  // The finalizer, the NetworkAttachmentDefinition, the status; then nothing is left to be cut.
  test.each([1, 2, 3, 4])('before write %i of the rendering is followed by one that ends it', async nth => {
    const world = await aWorld()
    const red = await aHome(world)
    const udn = aUDN(red, layer2())
    const isCut = await killBefore(
      world,
      nth,
      () => world.create(udn),
      () => isCreated(world, udn),
    )
    expect(isCut).toBe(nth < 4)
    await world.desk.start()
    await isRendered(world, udn, red)
    await says(world, udn, 'True', 'NetworkAttachmentDefinitionCreated', /created/)
  })

  // The NetworkAttachmentDefinition is deleted, then let go; then the network itself.
  test.each([1, 2, 3])('before write %i of the end of a network leaves nothing behind', async nth => {
    const world = await aWorld()
    const red = await aHome(world)
    const udn = await world.create(aUDN(red, layer2()))
    await says(world, udn, 'True', 'NetworkAttachmentDefinitionCreated', /created/)
    const hasGone = async () => (await world.get(udn)) === undefined
    expect(await killBefore(world, nth, () => world.delete(udn), hasGone)).toBe(true)
    await world.desk.start()
    await isGone(world, udn)
    await isNotRendered(world, udn, red)
  })

  test('leaves what it had made as it is when it comes back: nothing is written again', async () => {
    const world = await aWorld()
    const red = await aHome(world)
    const udn = await world.create(aUDN(red, layer2()))
    const made = await isRendered(world, udn, red)
    await says(world, udn, 'True', 'NetworkAttachmentDefinitionCreated', /created/)
    const before = (await world.get(udn)) as Stored
    await world.desk.stop()
    const again = await world.anotherDesk()
    await world.idle(20_000)
    expect([await world.get(udn), await world.get(made)]).toEqual([before, made])
    expect(again.writes.filter(write => /userdefinednetworks|network-attachment/.test(write))).toEqual([])
  })
})

describe('A network for several namespaces', () => {
  const aTeam = async (world: World, count: number) => {
    const team = nextName('team')
    const namespaces: string[] = []
    for (let n = 0; n < count; n++) namespaces.push(await aHome(world, { team }))
    return { team, namespaces }
  }
  const join = (world: World, namespace: string, team: string | null) =>
    world.patch(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      { metadata: { labels: { team } } },
    )

  test('is in each namespace that it selects, with one network name', async () => {
    const world = await aWorld()
    const { team, namespaces } = await aTeam(world, 2)
    const cudn = await world.create(aCUDN(team, layer2()))
    for (const namespace of namespaces) {
      const { name, netAttachDefName } = JSON.parse((await isRendered(world, cudn, namespace)).spec.config)
      expect([name, netAttachDefName]).toEqual([
        `cluster_udn_${cudn.metadata.name}`,
        `${namespace}/${cudn.metadata.name}`,
      ])
    }
    const list = `\\[${namespaces.toSorted().join(', ')}\\]`
    const created = new RegExp(`^NetworkAttachmentDefinition has been created in following namespaces: ${list}$`)
    await says(world, cudn, 'True', 'NetworkAttachmentDefinitionCreated', created)
  })

  test('follows namespaces that come and go by their labels, and by its own selector', async () => {
    const world = await aWorld()
    const { team, namespaces } = await aTeam(world, 1)
    const late = await aHome(world)
    const cudn = await world.create(aCUDN(team, layer2()))
    await isRendered(world, cudn, namespaces[0] ?? '')
    await join(world, late, team)
    await isRendered(world, cudn, late)
    await join(world, late, null)
    await isNotRendered(world, cudn, late)
    const selector = { matchLabels: null, matchExpressions: [{ key: 'team', operator: 'In', values: ['nobody'] }] }
    await world.patch(cudn, { spec: { namespaceSelector: selector } })
    await isNotRendered(world, cudn, namespaces[0] ?? '')
    await says(world, cudn, 'True', 'NetworkAttachmentDefinitionCreated', /namespaces: \[\]$/)
  })

  test('and is primary leaves out a namespace without the label, says so, and serves the others', async () => {
    const world = await aWorld()
    const { team, namespaces } = await aTeam(world, 1)
    const bare = await world.anotherNamespace({ team })
    const cudn = await world.create(aCUDN(team, layer2()))
    await isRendered(world, cudn, namespaces[0] ?? '')
    const sentence = `^invalid primary network state for namespace "${bare}": .*"${primaryLabel}" must both be present$`
    await says(world, cudn, 'False', 'NetworkAttachmentDefinitionSyncError', new RegExp(sentence))
    expect(await world.get(attachmentOf(cudn, bare))).toBeUndefined()
  })

  test('may be localnet', async () => {
    const world = await aWorld()
    const { team, namespaces } = await aTeam(world, 1)
    const network = localnet({
      excludeSubnets: ['10.0.0.0/28'],
      vlan: { mode: 'Access', access: { id: 7 } },
      ipam: { lifecycle: 'Persistent' },
    })
    const cudn = await world.create(aCUDN(team, network))
    const [namespace = ''] = namespaces
    expect(JSON.parse((await isRendered(world, cudn, namespace)).spec.config)).toEqual({
      cniVersion: '1.1.0',
      type: 'ovn-k8s-cni-overlay',
      name: `cluster_udn_${cudn.metadata.name}`,
      netAttachDefName: `${namespace}/${cudn.metadata.name}`,
      topology: 'localnet',
      role: 'secondary',
      mtu: 1500,
      subnets: '10.0.0.0/24',
      excludeSubnets: '10.0.0.0/28',
      physicalNetworkName: 'lab',
      vlanID: 7,
      allowPersistentIPs: true,
    })
  })

  test('leaves a namespace that is deleted', async () => {
    const world = await aWorld()
    const { team, namespaces } = await aTeam(world, 2)
    const [going = '', staying = ''] = namespaces
    const cudn = await world.create(aCUDN(team, layer2()))
    await isRendered(world, cudn, going)
    await world.delete({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: going } })
    await isNotRendered(world, cudn, going)
    await says(world, cudn, 'True', 'NetworkAttachmentDefinitionCreated', new RegExp(`: \\[${staying}\\]$`))
  })

  test('leaves nothing behind that was made of it while no process ran', async () => {
    const world = await aWorld()
    const { team, namespaces } = await aTeam(world, 1)
    const cudn = await world.create(aCUDN(team, layer2()))
    const made = await isRendered(world, cudn, namespaces[0] ?? '')
    await says(world, cudn, 'True', 'NetworkAttachmentDefinitionCreated', /created/)
    await world.desk.stop()
    await world.patch(cudn, { metadata: { finalizers: null } })
    await world.delete(cudn)
    await world.anotherDesk()
    await isGone(world, made)
  })

  test('is one space: machines of all its namespaces share it, and none has its gateway or management address', async () => {
    const world = await aWorld()
    const { team, namespaces } = await aTeam(world, 2)
    const network = layer2({
      subnets: ['10.0.0.0/29'],
      defaultGatewayIPs: ['10.0.0.5'],
      ipam: { lifecycle: 'Persistent' },
    })
    const cudn = await world.create(aCUDN(team, network))
    const [red = '', blue = ''] = namespaces
    for (const namespace of namespaces) await world.heard(await isRendered(world, cudn, namespace))
    const given: string[] = []
    for (const namespace of [red, blue, red, blue]) {
      const machine = await Machine.made(world, [{ name: 'main' }], nextName('vm'), namespace)
      given.push(...(await hasAddresses(world, machine.claim('main'))))
    }
    // Neither .0 and .7, nor the gateway .5, nor the management address .2.
    expect(given.toSorted()).toEqual(['10.0.0.1/29', '10.0.0.3/29', '10.0.0.4/29', '10.0.0.6/29'])
    const last = await Machine.made(world, [{ name: 'main' }], nextName('vm'), red)
    await waitsFor(world, last.claim('main'), 'SubnetExhausted')
  })

  test('gives out nothing of its infrastructure, in either family, also to claims that ask for it', async () => {
    const world = await aWorld()
    const { team, namespaces } = await aTeam(world, 1)
    const [red = ''] = namespaces
    const config = {
      subnets: ['10.0.0.0/29', 'fd00:10::/125'],
      infrastructureSubnets: ['10.0.0.4/30', 'fd00:10::/126'],
      defaultGatewayIPs: ['10.0.0.6', 'fd00:10::2'],
      ipam: { lifecycle: 'Persistent' },
    }
    const cudn = await world.create(aCUDN(team, layer2(config)))
    await world.heard(await isRendered(world, cudn, red))
    const network = `cluster_udn_${cudn.metadata.name}`
    await world.desk.stop()
    // The gateway, the management address, one that neither has, and the first and last of the subnet.
    const refused = await Promise.all(
      ['10.0.0.6', '10.0.0.4', '10.0.0.5', '10.0.0.0', '10.0.0.7'].map(ip =>
        aClaimThatAsks(world, network, red, `${ip}/29`, 'fd00:10::5/125'),
      ),
    )
    const refusedToo = await Promise.all(
      ['fd00:10::2', 'fd00:10::1', 'fd00:10::3', 'fd00:10::'].map(ip =>
        aClaimThatAsks(world, network, red, '10.0.0.3/29', `${ip}/125`),
      ),
    )
    await world.desk.start()
    for (const claim of [...refused, ...refusedToo]) await saysOfClaim(world, claim, /^IPAddress/, claim.status.ips)
    for (const claim of [...refused, ...refusedToo]) {
      await world.delete(claim)
      await isGone(world, claim)
    }
    const given: string[] = []
    for (let n = 0; n < 3; n++) {
      given.push(...(await hasAddresses(world, await world.create(aClaimFor(network, red)))))
    }
    expect(given.filter(ip => ip.endsWith('/29')).toSorted()).toEqual(['10.0.0.1/29', '10.0.0.2/29', '10.0.0.3/29'])
    for (const ip of given.filter(one => one.endsWith('/125'))) expect(ip).toMatch(/^fd00:10::[4-7]\/125$/)
    await waitsFor(world, await world.create(aClaimFor(network, red)), 'SubnetExhausted')
  })

  test('keeps its reserve for claims that ask for an address of it', async () => {
    const world = await aWorld()
    const { team, namespaces } = await aTeam(world, 1)
    const [red = ''] = namespaces
    const config = { subnets: ['10.0.0.0/28'], reservedSubnets: ['10.0.0.8/29'], ipam: { lifecycle: 'Persistent' } }
    const cudn = await world.create(aCUDN(team, layer2(config)))
    await world.heard(await isRendered(world, cudn, red))
    const network = `cluster_udn_${cudn.metadata.name}`
    const claimOf = (name: string) => aClaimFor(network, red, name)
    await world.desk.stop()
    const asking = await world.create(claimOf('asking'))
    await world.patch(asking, { status: { ips: ['10.0.0.9/28'] } }, 'status')
    const tooMuch = await world.create(claimOf('too-much'))
    await world.patch(tooMuch, { status: { ips: ['10.0.0.1/28'] } }, 'status')
    await world.desk.start()
    await hasAddresses(world, asking, ['10.0.0.9/28'])
    await world.eventually(async () => {
      const { conditions } = ((await world.get(tooMuch)) as Stored).status
      expect(conditions).toContainEqual(expect.objectContaining({ type: 'IPsAllocated', status: 'False' }))
    })
    const given: string[] = []
    for (let n = 0; n < 5; n++) {
      const claim = await world.create(claimOf(`claim-${n}`))
      given.push(...(await hasAddresses(world, claim)))
    }
    expect(given.toSorted()).toEqual(['10.0.0.3/28', '10.0.0.4/28', '10.0.0.5/28', '10.0.0.6/28', '10.0.0.7/28'])
    await waitsFor(world, await world.create(claimOf('late')), 'SubnetExhausted')
  })
})

describe('The sample of a network for machines that move in', () => {
  test('is rendered, and a machine on it has an address that is neither kept nor reserved', async () => {
    const world = await aWorld()
    const [namespace, network] = parseAllDocuments(readFileSync('config/samples/import/network.yaml', 'utf8')).map(
      document => document.toJS() as KubeObject,
    )
    const { name: home = '' } = (await world.create(namespace as KubeObject)).metadata
    const cudn = await world.create(network as KubeObject)
    await world.heard(await isRendered(world, cudn, home))
    await world.eventually(async () => {
      const { metadata, status } = (await world.get(cudn)) as Stored
      expect(metadata.annotations).toMatchObject({
        'mooring.dev/gateways': '192.168.100.254',
        'mooring.dev/management-addresses': '192.168.100.252',
      })
      expect(status).toMatchObject({ networkName: 'cluster_udn_office' })
    })
    const machine = await Machine.made(world, [{ name: 'main' }], nextName('vm'), home)
    const [ip] = await hasAddresses(world, machine.claim('main'), ['192.168.100.1/24'])
    const pod = await machine.started({
      annotations: { 'k8s.ovn.org/primary-udn-ipamclaim': `${machine.name}.main` },
    })
    await isTold(world, pod, `${home}/${cudn.metadata.name}`, {
      ip_addresses: [ip],
      gateway_ips: ['192.168.100.254'],
      mac_address: '0a:58:c0:a8:64:01',
      role: 'primary',
    })
  })
})

describe('A network that is in use', () => {
  const isHeld = async (world: World, network: Stored, namespace: string, message: RegExp) => {
    const reason = network.kind === 'UserDefinedNetwork' ? 'SyncError' : 'NetworkAttachmentDefinitionSyncError'
    await says(world, network, 'False', reason, message)
    expect(await world.get(attachmentOf(network, namespace))).toBeDefined()
  }

  test('by a pod stays until the pod is gone, and names it', async () => {
    const world = await aWorld()
    const red = await aHome(world)
    const udn = await world.create(aUDN(red, layer2()))
    await isRendered(world, udn, red)
    const key = `${red}/${udn.metadata.name}`
    const pod = await world.eventually(() => world.create(aPodOn(red, key)))
    await world.delete(udn)
    const why = `failed to delete NetworkAttachmentDefinition [${key}]: network in use by the following pods: [${red}/${pod.metadata.name}]`
    await isHeld(world, udn, red, new RegExp(`^${why.replace(/[[\]]/g, '\\$&')}$`))
    await world.client.delete(
      { group: '', versions: ['v1'], plural: 'pods', kind: 'Pod', namespaced: true },
      { namespace: red, name: pod.metadata.name ?? '' },
      { graceSeconds: 0 },
    )
    await isGone(world, udn, 60_000)
  })

  test('by a claim of a machine that does not run stays until the claim is gone, and names it', async () => {
    const world = await aWorld()
    const team = nextName('team')
    const [red, blue] = [await aHome(world, { team }), await aHome(world, { team })]
    const cudn = await world.create(aCUDN(team, layer2({ ipam: { lifecycle: 'Persistent' } })))
    for (const namespace of [red, blue]) await world.heard(await isRendered(world, cudn, namespace))
    const claim = await world.create(aClaimFor(`cluster_udn_${cudn.metadata.name}`, red))
    await hasAddresses(world, claim)
    await world.delete(cudn)
    await isHeld(
      world,
      cudn,
      red,
      new RegExp(`in use by the following IPAMClaims: .${red}/${claim.metadata.name}.; their`),
    )
    await world.delete(claim)
    await isGone(world, cudn, 60_000)
    for (const namespace of [red, blue]) await isNotRendered(world, cudn, namespace)
  })

  test('stays in a namespace that it no longer selects, while a claim there needs it', async () => {
    const world = await aWorld()
    const team = nextName('team')
    const red = await aHome(world, { team })
    const cudn = await world.create(aCUDN(team, layer2({ ipam: { lifecycle: 'Persistent' } })))
    await world.heard(await isRendered(world, cudn, red))
    const claim = await world.create(aClaimFor(`cluster_udn_${cudn.metadata.name}`, red))
    await hasAddresses(world, claim)
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: red } }
    await world.patch(namespace, { metadata: { labels: { team: null } } })
    await isHeld(world, cudn, red, /in use by the following IPAMClaims/)
    await world.delete(claim)
    await world.eventually(async () => expect(await world.get(attachmentOf(cudn, red))).toBeUndefined(), 60_000)
  })

  test('is not held up by a claim of a namespace that it is not for', async () => {
    const world = await aWorld()
    const [red, other] = [await aHome(world), await world.anotherNamespace()]
    const udn = await world.create(aUDN(red, layer2()))
    await isRendered(world, udn, red)
    await world.create(aClaimFor(`${red}_${udn.metadata.name}`, other))
    await world.delete(udn)
    await isGone(world, udn)
  })
})

describe('Where OVN-Kubernetes renders', () => {
  const untouched = (world: World, ...things: Stored[]) =>
    world.always(async () => {
      for (const thing of things) expect(await world.get(thing)).toEqual(thing)
    }, 2_000)

  test('a network that has its finalizer from it is left alone', async () => {
    const world = await aWorld()
    const red = await aHome(world)
    const udn = await world.create(aUDN(red, layer2(), { finalizers: [finalizer] }))
    await world.heard(udn)
    await untouched(world, udn)
    expect(await world.get(attachmentOf(udn, red))).toBeUndefined()
  })

  test('a network is left alone once OVN-Kubernetes has said that its nodes have it', async () => {
    const world = await aWorld()
    const red = await aHome(world)
    const udn = await world.create(aUDN(red, secondary()))
    const made = await isRendered(world, udn, red)
    await says(world, udn, 'True', 'NetworkAttachmentDefinitionCreated', /created/)
    const condition = {
      type: 'NetworkAllocationSucceeded',
      status: 'True',
      reason: 'NetworkAllocationSucceeded',
      message: 'all',
      lastTransitionTime: '2030-01-01T00:00:00Z',
    }
    const conditions = [createdOf(await world.get(udn)), condition]
    await world.patch(udn, { status: { conditions } }, 'status')
    const [network, attachment] = [(await world.get(udn)) as Stored, (await world.get(made)) as Stored]
    await world.heard(network)
    await world.heard(attachment)
    const changed = await world.patch(attachment, { spec: { config: '{"type":"bridge"}' } })
    await untouched(world, network, changed)
  })

  test('no network is touched while its other kinds are installed, and what was rendered before stays', async () => {
    // A server of its own: it gets a kind that no other test is to meet.
    const world = await aWorld({ define: definitions => definitions })
    const red = await aHome(world)
    const before = await world.create(aUDN(red, secondary()))
    const made = await isRendered(world, before, red)
    await says(world, before, 'True', 'NetworkAttachmentDefinitionCreated', /created/)
    const installed = await world.create(anEgressIPDefinition)
    await world.pass(5_000)
    const fresh = await world.create(aUDN(red, layer2()))
    await world.heard(fresh)
    const changed = await world.patch(made, { metadata: { labels: { more: 'x' } } })
    await untouched(world, fresh, changed)
    await world.delete(installed)
    await isGone(world, installed)
    // On a server, minutes are minutes.
    if (!isInProcess) return
    await world.pass(20 * 60_000)
    await world.patch(fresh, { metadata: { labels: { again: '' } } })
    await isRendered(world, fresh, red)
  })

  test.each<['render' | 'observe', boolean]>([
    ['render', true],
    ['observe', false],
  ])('--udn=%s decides for all networks', async (udnMode, isMade) => {
    const networkRules = { ...defaultNetworkRules, udn: udnMode }
    const world = await aWorld({ networkRules })
    const red = await aHome(world)
    const theirs = await world.create(aUDN(red, secondary(), { finalizers: [finalizer] }))
    const fresh = await world.create(aUDN(red, secondary()))
    await world.heard(fresh)
    if (isMade) for (const udn of [theirs, fresh]) await isRendered(world, udn, red)
    else await untouched(world, theirs, fresh)
  })
})
