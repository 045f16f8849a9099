// Which spaces are known to be on which wire, and who may say so.

import { describe, expect, test } from 'vitest'
import { anAttachment, ovn, withoutOVN } from '../../../test/harness/attachments.ts'
import { toRangeText } from '../../ip/range.ts'
import type { KubeObject } from '../../kube/object.ts'
import { Ledger } from '../office/ledger.ts'
import { defaultNetworkRules, Networks } from '../office/networks.ts'
import { Sources } from '../office/sources.ts'
import { createViews } from '../office/views.ts'
import { spacesOnWires } from './wires.ts'

const home = 'kubevirt'
const ranges = { type: 'mooring', ranges: ['10.1.2.0/24'] }
const lab = { type: 'mooring', pool: { kind: 'ClusterAddressPool', name: 'lab' } }

interface Others {
  /** Of the pool of the cluster; its own unless said. */
  readonly space?: string
  /** Of tenants. */
  readonly pools?: readonly KubeObject[]
  readonly networks?: Readonly<Record<string, object>>
}

/** In namespaces that are there, with a pool of the cluster that is offered to red alone. */
function spacesOf(key: string, config: object, others: Others = {}) {
  const { space, pools = [], networks = {} } = others
  const views = createViews()
  const sources = new Sources(views, new Ledger())
  new Networks(views, sources, defaultNetworkRules, withoutOVN)
  for (const name of ['red', 'blue', home]) {
    views.namespaces.put({ metadata: { name, resourceVersion: '1', labels: { team: name } } } as unknown as KubeObject)
  }
  views.pools.get('ClusterAddressPool.mooring.dev')?.put({
    apiVersion: 'mooring.dev/v1alpha1',
    kind: 'ClusterAddressPool',
    metadata: { name: 'lab', uid: 'lab', resourceVersion: '1' },
    spec: {
      addresses: ['10.9.0.0/29'],
      excludedAddresses: ['10.9.0.4/30'],
      prefix: 24,
      ...(space !== undefined && { space }),
      allowedNamespaces: { matchLabels: { team: 'red' } },
    },
  } as unknown as KubeObject)
  for (const pool of pools) views.pools.get('AddressPool.mooring.dev')?.put(pool)
  for (const [of, network] of Object.entries({ ...networks, [key]: config })) {
    views.attachments.put(anAttachment(of, network) as KubeObject)
  }
  return spacesOnWires(views, sources, home).map(({ space, wire, addresses, isOfCluster }) => ({
    space,
    wire,
    listed: addresses.flatMap(set => set.ranges.map(toRangeText)),
    isOfCluster,
  }))
}

test.each<[string, object, object]>([
  ['a bridge', { type: 'bridge', bridge: 'br0', vlan: 7 }, { link: { bridge: 'br0' }, vlan: 7 }],
  ['a bridge without a name', { type: 'bridge' }, { link: { bridge: 'cni0' }, vlan: 0 }],
  ['macvlan', { type: 'macvlan', master: 'eth1' }, { link: { parent: 'eth1' }, vlan: 0 }],
  ['a VLAN', { type: 'vlan', master: 'eth1', vlanId: 7 }, { link: { parent: 'eth1' }, vlan: 7 }],
])('a network by %s is on its wire', (_, plugin, wire) => {
  expect(spacesOf('red/net', { ...plugin, ipam: ranges })).toMatchObject([{ wire, listed: ['10.1.2.0-10.1.2.255'] }])
})

test('a network of a plugin that is not known is on no wire, nor is one whose addresses are not of Mooring', () => {
  expect(spacesOf('red/net', { type: 'ptp', ipam: ranges })).toEqual([])
  expect(spacesOf('red/net', { type: 'macvlan', ipam: ranges })).toEqual([])
  expect(
    spacesOf('red/net', { type: 'bridge', bridge: 'br0', ipam: { type: 'whereabouts', range: '10.1.2.0/24' } }),
  ).toEqual([])
})

test('what a tenant says of a wire is not what an administrator says, whichever bridge is named', () => {
  const bridge = { type: 'bridge', bridge: 'mgmt-br' }
  expect(spacesOf('red/net', { ...bridge, ipam: ranges })).toMatchObject([{ isOfCluster: false }])
  expect(spacesOf(`${home}/net`, { ...bridge, ipam: ranges })).toMatchObject([{ isOfCluster: true }])
})

test('a pool of the cluster is where a namespace says it is, if it is offered to that namespace', () => {
  const bridge = { type: 'bridge', bridge: 'br0', ipam: lab }
  const space = 'ClusterAddressPool.mooring.dev/lab'
  expect(spacesOf('red/net', bridge)).toMatchObject([{ space, listed: ['10.9.0.0-10.9.0.3'], isOfCluster: true }])
  expect(spacesOf('blue/net', bridge)).toMatchObject([{ space, isOfCluster: false }])
})

describe('what a tenant lists of the space of such a pool', () => {
  const bridge = { type: 'bridge', bridge: 'br0', ipam: lab }
  const ofAdministrator = { space: 'blue', listed: ['10.9.0.0-10.9.0.3'], isOfCluster: true }
  const aTenants = (namespace: string): KubeObject =>
    ({
      apiVersion: 'mooring.dev/v1alpha1',
      kind: 'AddressPool',
      metadata: { name: 'own', namespace, uid: namespace, resourceVersion: '1' },
      spec: { addresses: ['10.0.0.0/8'], prefix: 8, space: 'blue' },
      status: { space: 'blue' },
    }) as unknown as KubeObject

  test.each(['red/net', `${home}/net`])('is told apart, by a pool that joined it: of %s', key => {
    expect(spacesOf(key, bridge, { space: 'blue', pools: [aTenants('red')] })).toMatchObject([
      ofAdministrator,
      { space: 'blue', listed: ['10.0.0.0-10.255.255.255'], isOfCluster: false },
    ])
  })

  test('is not told, by a pool that is not offered it', () => {
    expect(spacesOf('red/net', bridge, { space: 'blue', pools: [aTenants('blue')] })).toMatchObject([ofAdministrator])
  })

  test('is told apart, by a network of its name', () => {
    const networks = { 'red/blue': ovn({ subnets: '10.0.0.0/8' }) }
    const [first, second] = spacesOf('red/net', bridge, { space: 'blue', networks })
    expect(first).toMatchObject(ofAdministrator)
    expect(second).toMatchObject({ space: 'blue', isOfCluster: false })
  })
})

test('the migration network itself is not in its own way', () => {
  expect(spacesOf(`${home}/vm-migration-network-0123456789`, { type: 'bridge', bridge: 'br0', ipam: ranges })).toEqual(
    [],
  )
  expect(spacesOf('red/vm-migration-network-0123456789', { type: 'bridge', bridge: 'br0', ipam: ranges })).toHaveLength(
    1,
  )
})
