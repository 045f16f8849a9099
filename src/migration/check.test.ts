// What a cluster must have for a migration network, in the words of Harvester, all that is missing at once.

import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { parseClusterNetwork, parseSetting, parseVlanConfig, parseVlanStatus } from '../api/harvester.ts'
import { parseMigrationNetwork } from '../api/migration-network.ts'
import { parseEntry } from '../ip/range.ts'
import { toRangeSet } from '../ip/range-set.ts'
import {
  type Checked,
  type CheckedNode,
  type ClusterFacts,
  checkMigrationNetwork,
  checkSettingValue,
  checkTuning,
  overlapProblems,
  peersOf,
} from './check.ts'
import { describeProblem } from './problem.ts'
import { type MigrationRange, readRanges } from './range.ts'

const cn = 'migration'
const labels = { 'network.harvesterhci.io/clusternetwork': cn }

const aNode = (name: string, node: Partial<CheckedNode> = {}): CheckedNode => ({
  name,
  labels: {},
  isReady: true,
  isDeleting: false,
  addresses: ['192.0.2.1'],
  ...node,
})

const witness = (value: string) => ({ labels: { 'node-role.harvesterhci.io/witness': value } })

const aClusterNetwork = (name = cn) => orThrow(parseClusterNetwork({ metadata: { name } }))

const aVlanConfig = (nodes: unknown, name = 'vc', mtu = 0, clusterNetwork = cn) =>
  orThrow(
    parseVlanConfig({
      metadata: {
        name,
        labels: { 'network.harvesterhci.io/clusternetwork': clusterNetwork },
        annotations: { 'network.harvesterhci.io/matched-nodes': JSON.stringify(nodes) },
      },
      spec: { clusterNetwork, uplink: { linkAttributes: { mtu } } },
    }),
  )

const aVlanStatus = (node: string, ready = 'True') =>
  orThrow(
    parseVlanStatus({
      metadata: { name: `${cn}-${node}`, labels },
      status: { node, conditions: ready === '' ? [] : [{ type: 'ready', status: ready }] },
    }),
  )

const aSetting = (name: string, value: string, otherwise = '') =>
  orThrow(parseSetting({ metadata: { name }, value, default: otherwise }))

const names = ['n1', 'n2', 'n3']

const whole: ClusterFacts = {
  nodes: names.map(name => aNode(name)),
  consumers: 0,
  clusterNetworks: [aClusterNetwork()],
  vlanConfigs: [aVlanConfig(names)],
  vlanStatuses: names.map(name => aVlanStatus(name)),
  settings: [],
  spaces: [],
}

const plain = { clusterNetwork: cn, vlan: 100, range: '10.1.2.0/24' }

const check = (value: object, facts: Partial<ClusterFacts> = {}): Checked =>
  checkSettingValue(JSON.stringify({ ...plain, ...value }), { ...whole, ...facts })

const messages = ({ problems }: Checked): string[] => problems.map(({ message }) => message)

describe('a value', () => {
  test('that fits the cluster is accepted', () => {
    expect(check({})).toEqual({ problems: [], warnings: [] })
  })

  test('that is empty is accepted in any cluster, however broken it is', () => {
    const broken = { ...whole, nodes: [], clusterNetworks: [], settings: [aSetting('storage-network', '{')] }
    expect(checkSettingValue('', broken)).toEqual({ problems: [], warnings: [] })
  })

  test('is told all that is wrong with it at once, in the order of its fields, each with what to do', () => {
    const { problems } = check(
      { vlan: 5000, range: '10.1.2.1/24', exclude: ['x'] },
      { vlanConfigs: [aVlanConfig(['n2'])], vlanStatuses: [aVlanStatus('n2', 'False')] },
    )
    expect(problems.map(describeProblem)).toEqual([
      '/vlan: the valid value range for VLAN IDs is 0 to 4094: write 0 for untagged, or the number of the VLAN',
      '/range: range should be subnet CIDR 10.1.2.0/24: write 10.1.2.0/24',
      '/exclude/0: invalid CIDR address: x: write a CIDR such as 10.1.2.0/28',
      '/clusterNetwork: vs migration-n2 status is not Ready: see its condition ready; repair the uplink of node n2',
      '/clusterNetwork: vlanconfig does not span n1, n3: have a VlanConfig select these nodes too',
    ])
  })
})

describe('the VLAN', () => {
  test.each<[object, readonly string[]]>([
    [{ vlan: 4095 }, ['the valid value range for VLAN IDs is 0 to 4094']],
    [{ vlan: 4094 }, []],
    [{ vlan: 0 }, []],
    [{ clusterNetwork: 'mgmt', vlan: 1 }, ['network with vlan id 1 not allowed on mgmt cluster']],
    [{ clusterNetwork: 'mgmt', vlan: 0 }, ['network with vlan id 0 not allowed on mgmt cluster']],
    [{ clusterNetwork: 'mgmt', vlan: 2 }, []],
  ])('of %j is judged', (value, expected) => expect(messages(check(value))).toEqual(expected))
})

describe('the cluster network', () => {
  test.each<[string, object, Partial<ClusterFacts>, readonly string[]]>([
    [
      'that is not there',
      { clusterNetwork: 'other' },
      {},
      ['cluster network other not found because clusternetworks.network.harvesterhci.io "other" not found'],
    ],
    ['that is not named', { clusterNetwork: '' }, {}, ['cluster network  not found because clusterNetwork is empty']],
    [
      'that can have no bridge of its name',
      { clusterNetwork: 'a'.repeat(13) },
      {},
      [`cluster network ${'a'.repeat(13)} not found because no cluster network can be called so`],
    ],
    ['that no node has set up', {}, { vlanStatuses: [] }, ['vlan status not present for cluster network migration']],
    [
      'that is not ready on a node',
      {},
      { vlanStatuses: [aVlanStatus('n1'), aVlanStatus('n2', 'False'), aVlanStatus('n3')] },
      ['vs migration-n2 status is not Ready'],
    ],
    [
      'that does not say whether it is ready on a node',
      {},
      { vlanStatuses: [aVlanStatus('n1'), aVlanStatus('n2', ''), aVlanStatus('n3', 'Unknown')] },
      ['vs migration-n2 status is not Ready', 'vs migration-n3 status is not Ready'],
    ],
    ['that no VlanConfig is for', {}, { vlanConfigs: [] }, ['vlan config not present for cluster network migration']],
    ['that several nodes do not have', {}, { vlanConfigs: [aVlanConfig(['n2'])] }, ['vlanconfig does not span n1, n3']],
    [
      'whose VlanConfig matches nothing yet',
      {},
      { vlanConfigs: [orThrow(parseVlanConfig({ metadata: { name: 'vc', labels } }))] },
      ['vlanconfig does not span n1, n2, n3'],
    ],
    [
      'that a node is to have, and has not set up yet',
      {},
      { vlanStatuses: [aVlanStatus('n1')] },
      ['vlan status not present for cluster network migration on n2, n3'],
    ],
  ])('%s is refused', (_, value, facts, expected) => expect(messages(check(value, facts))).toEqual(expected))

  test.each<[string, object, Partial<ClusterFacts>]>([
    ['of one VlanConfig without nodes and one with all', {}, { vlanConfigs: [aVlanConfig([]), aVlanConfig(names)] }],
    ['of two VlanConfigs with some each', {}, { vlanConfigs: [aVlanConfig(['n1']), aVlanConfig(['n2', 'n3'])] }],
    [
      'of two VlanConfigs that overlap on a node, which Harvester refuses before',
      {},
      { vlanConfigs: [aVlanConfig(['n1', 'n2']), aVlanConfig(['n2', 'n3'], 'other')] },
    ],
    [
      'of VlanConfigs with different MTUs, which Harvester refuses before',
      {},
      { vlanConfigs: [aVlanConfig(['n1'], 'vc', 1500), aVlanConfig(['n2', 'n3'], 'other', 9000)] },
    ],
    [
      'whose annotation of an MTU says nonsense, which the network controller of Harvester answers for',
      {},
      {
        clusterNetworks: [
          orThrow(
            parseClusterNetwork({
              metadata: { name: cn, annotations: { 'network.harvesterhci.io/uplink-mtu': '575 or so' } },
            }),
          ),
        ],
      },
    ],
    [
      'of management, whatever a VlanConfig of a user says of it',
      { clusterNetwork: 'mgmt' },
      { vlanConfigs: [aVlanConfig(['n1'], 'vc', 0, 'mgmt')], vlanStatuses: [aVlanStatus('n1', 'False')] },
    ],
    ['without a witness', {}, { nodes: [...whole.nodes, aNode('w', witness('true'))] }],
    ['of management, which every node has', { clusterNetwork: 'mgmt' }, { vlanConfigs: [], vlanStatuses: [] }],
  ])('%s is accepted', (_, value, facts) => expect(messages(check(value, facts))).toEqual([]))
})

describe('the addresses', () => {
  const three = { range: '10.1.2.0/30' }
  const few = (n: number) => `allocatable IP address range is < ${n}, allocate sufficient range`

  test('are one for each node', () => {
    const { problems } = check(three)
    expect(problems.map(describeProblem)).toEqual([
      `/range: ${few(3)}: 2 can be given out, and 3 are needed: write a range of /29 or wider`,
    ])
  })

  test('are none for a witness', () => {
    const nodes = [aNode('n1'), aNode('n2'), aNode('w', witness('true'))]
    expect(messages(check(three, { nodes }))).toEqual([])
  })

  test('are asked of a node and counted for it by one question: a label of another value makes no witness', () => {
    const nodes = [aNode('n1'), aNode('n2'), aNode('w', witness('false'))]
    expect(messages(check(three, { nodes }))).toEqual(['vlanconfig does not span w', few(3)])
  })

  test('are counted for nodes that are down, too', () => {
    const nodes = [...names.slice(1).map(name => aNode(name)), aNode('n1', { isReady: false })]
    expect(messages(check(three, { nodes }))).toEqual([few(3)])
  })

  test('are more where other pods join the network', () => {
    const five = { range: '10.1.2.0/29', exclude: ['10.1.2.1'] }
    expect(messages(check(five, { consumers: 2 }))).toEqual([])
    expect(messages(check(five, { consumers: 3 }))).toEqual([few(6)])
  })

  test('that are all needed now are accepted with a warning', () => {
    expect(check({ range: '10.1.2.0/29', exclude: ['10.1.2.1', '10.1.2.2', '10.1.2.3'] })).toEqual({
      problems: [],
      warnings: [expect.stringContaining('all 3 addresses are needed now: a node that joins later gets none')],
    })
  })

  test('are at least one, also where no node is there', () => {
    const nothing = { range: '10.0.0.0/29', exclude: ['10.0.0.3/30', '10.0.0.7/30'] }
    expect(messages(check(nothing, { nodes: [] }))).toEqual([few(1)])
    expect(messages(check(nothing))).toEqual([few(3)])
  })

  test('are enough of each family', () => {
    const v6 = { rangeV6: 'fd00::/64', rangeV6Start: 'fd00::1', rangeV6End: 'fd00::2' }
    const nodes = names.map(name => aNode(name, { addresses: ['fd01::1'] }))
    const { problems } = check(v6, { nodes })
    expect(problems.map(describeProblem)).toEqual([
      `/rangeV6: ${few(3)}: 2 can be given out, and 3 are needed: write rangeV6Start and rangeV6End further apart`,
    ])
  })

  test.each<[string, Partial<CheckedNode>]>([
    ['has IPv4 alone', {}],
    ['is not ready', { addresses: ['fd01::1'], isReady: false }],
    ['is on its way out', { addresses: ['fd01::1'], isDeleting: true }],
  ])('of IPv6 are refused where the only node %s', (_, node) => {
    const v6 = { clusterNetwork: 'mgmt', rangeV6: 'fd00::/64', rangeV6Start: 'fd00::1', rangeV6End: 'fd00::9' }
    expect(messages(check(v6, { nodes: [aNode('n1', node)] }))).toEqual([
      'rangeV6 needs a cluster with IPv6, and no ready node has an IPv6 InternalIP',
    ])
  })
})

describe('another network of the system', () => {
  const rangesOf = (range: string, exclude: readonly string[] = []): readonly MigrationRange[] =>
    readRanges({ range, exclude, rangeV6: '', rangeV6Start: '', rangeV6End: '' }, { rules: 'plain' }).ranges
  const overlaps = (
    own: string,
    ranges: readonly MigrationRange[] | undefined,
    ...peers: Parameters<typeof overlapProblems>[2]
  ) => overlapProblems(own, ranges, peers).map(({ message }) => message)

  test('is not asked about where there is nothing to compare', () => {
    expect(
      overlaps('vm-migration-network', undefined, { name: 'storage-network', ranges: rangesOf('10.1.2.0/24') }),
    ).toEqual([])
    expect(overlaps('vm-migration-network', rangesOf('10.1.2.0/24'))).toEqual([])
  })

  test('may have the addresses beside', () => {
    const peer = { name: 'storage-network', ranges: rangesOf('192.168.2.0/24') }
    expect(overlaps('vm-migration-network', rangesOf('192.168.1.0/24'), peer)).toEqual([])
  })

  test.each([
    ['storage-network', 'vm-migration-network'],
    ['vm-migration-network', 'storage-network'],
    ['vm-migration-network', 'rwx-network'],
  ])('may not have the same: %s is told of %s', (own, name) => {
    expect(overlaps(own, rangesOf('192.168.1.0/24'), { name, ranges: rangesOf('192.168.1.0/24') })).toEqual([
      `${own}: the network configuration is overlapped with ${name}`,
    ])
  })

  test('may have the same subnet where exclusions part the two', () => {
    const none = rangesOf('192.168.1.0/30', ['192.168.1.1/32', '192.168.1.2/32'])
    expect(overlaps('storage-network', none, { name: 'rwx-network', ranges: rangesOf('192.168.1.1/32') })).toEqual([])
    const [upper, lower] = [rangesOf('10.0.0.0/24', ['10.0.0.0/25']), rangesOf('10.0.0.0/24', ['10.0.0.128/25'])]
    expect(overlaps('vm-migration-network', upper, { name: 'storage-network', ranges: lower })).toEqual([])
  })

  const storage = JSON.stringify({ clusterNetwork: 'storage', vlan: 5, range: '10.1.2.0/28', exclusiveVlan: true })
  test.each<[string, Partial<ClusterFacts>, readonly string[]]>([
    [
      'that has some of the addresses is named, with what to exclude',
      { settings: [aSetting('storage-network', storage), aSetting('rwx-network', '{"share-storage-network":true}')] },
      [
        '/range: vm-migration-network: the network configuration is overlapped with storage-network: exclude 10.1.2.1-10.1.2.14, or choose another range',
      ],
    ],
    [
      'is compared by its default where its value is empty',
      { settings: [aSetting('storage-network', '', storage)] },
      [expect.stringContaining('overlapped with storage-network')],
    ],
    [
      'of RWX volumes is compared where it has one of its own',
      { settings: [aSetting('rwx-network', `{"share-storage-network":false,"network":${storage}}`)] },
      [expect.stringContaining('overlapped with rwx-network')],
    ],
    [
      'of RWX volumes is not compared where it shares the storage network',
      { settings: [aSetting('rwx-network', `{"share-storage-network":true,"network":${storage}}`)] },
      [],
    ],
    [
      'that is not set is not compared',
      { settings: [aSetting('storage-network', ''), aSetting('rwx-network', '{"share-storage-network":false}')] },
      [],
    ],
    [
      'that cannot be read has to be corrected first',
      { settings: [aSetting('storage-network', '{')] },
      [
        'vm-migration-network: the network configuration of storage-network cannot be read: correct the setting storage-network first',
      ],
    ],
  ])('%s', (_, facts, expected) => {
    expect(check({}, facts).problems.map(describeProblem)).toEqual(expected)
  })

  test('is never the setting itself', () => {
    expect(peersOf('vm-migration-network', [aSetting('vm-migration-network', storage)])).toEqual([])
    expect(peersOf('storage-network', [aSetting('vm-migration-network', storage)])).toHaveLength(1)
  })
})

describe('a space of the ledger', () => {
  const set = toRangeSet(4, [orThrow(parseEntry('10.1.2.50-10.1.2.60'))])
  const space = {
    space: 'ClusterAddressPool.mooring.dev/lab',
    wire: { link: { bridge: 'migration-br' }, vlan: 100 },
    addresses: [set],
    isOfCluster: true,
  }
  const message =
    'vm-migration-network: the network configuration is overlapped with space ClusterAddressPool.mooring.dev/lab, which is on VLAN 100 of migration-br too'

  test('on the same wire has none of the addresses', () => {
    const { problems } = check({}, { spaces: [space] })
    expect(problems.map(describeProblem)).toEqual([
      `/range: ${message}: exclude 10.1.2.50-10.1.2.60, or choose another range`,
    ])
    expect(messages(check({ exclude: ['10.1.2.48/28'] }, { spaces: [space] }))).toEqual([])
  })

  test.each<[string, object]>([
    ['another VLAN', { vlan: 101 }],
    ['another bridge', { link: { bridge: 'other-br' } }],
    ['an interface', { link: { parent: 'migration-br' } }],
  ])('on %s may have them', (_, wire) => {
    expect(messages(check({}, { spaces: [{ ...space, wire: { ...space.wire, ...wire } }] }))).toEqual([])
  })

  test('that is untagged is on the same wire as VLAN 1', () => {
    const untagged = { ...space, wire: { link: { bridge: 'migration-br' }, vlan: 0 } }
    expect(messages(check({ vlan: 1 }, { spaces: [untagged] }))).toHaveLength(1)
  })

  test('that a tenant put on the wire warns, and keeps no administrator from it', () => {
    expect(check({}, { spaces: [{ ...space, isOfCluster: false }] })).toEqual({
      problems: [],
      warnings: [`${message}: exclude 10.1.2.50-10.1.2.60, or choose another range`],
    })
  })
})

describe('a MigrationNetwork', () => {
  const judge = (spec: object, facts: Partial<ClusterFacts> = {}) =>
    checkMigrationNetwork(orThrow(parseMigrationNetwork({ metadata: { name: 'vm-migration-network' }, spec })), {
      ...whole,
      clusterNetworks: [],
      ...facts,
    })

  test('asks no cluster network, and no IPv6 of the nodes', () => {
    expect(messages(judge({ bridge: 'br0', range: '10.1.2.0/24', rangeV6: 'fd00::/64' }))).toEqual([])
  })

  test('serves the nodes that it selects', () => {
    const nodes = [aNode('n1', { labels: { kvm: 'yes' } }), aNode('n2', { labels: { kvm: 'yes' } }), aNode('n3')]
    expect(messages(judge({ bridge: 'br0', range: '10.1.2.0/30', nodeSelector: { kvm: 'yes' } }, { nodes }))).toEqual(
      [],
    )
    expect(messages(judge({ bridge: 'br0', range: '10.1.2.0/30' }, { nodes }))).toEqual([
      'allocatable IP address range is < 3, allocate sufficient range',
    ])
  })

  test.each<[string, object, string]>([
    ['neither a bridge nor a parent', {}, 'neither bridge nor parent is named'],
    ['both', { bridge: 'br0', parent: 'eth1' }, 'both bridge and parent are named'],
    ['a bridge of a name that is too long', { bridge: 'a'.repeat(16) }, 'bridge is no name of a network interface'],
    ['a parent with a slash', { parent: '../x' }, 'parent is no name of a network interface'],
    ['an MTU that no link has', { bridge: 'br0', mtu: 100 }, 'an MTU is 0 or 576 to 9000'],
    ['a VLAN that there is not', { bridge: 'br0', vlan: 4095 }, 'the valid value range for VLAN IDs is 0 to 4094'],
  ])('with %s is refused', (_, spec, message) => {
    expect(messages(judge({ range: '10.1.2.0/24', ...spec }))).toEqual([message])
  })
})

describe('the setting kubevirt-migration', () => {
  test.each<[string, readonly string[]]>([
    ['{"network":"x"}', ['network field is configured by vm-migration-network setting']],
    ['{"nodeDrainTaintKey":"x"}', ['nodeDrainTaintKey field cannot be configured']],
    ['{"parallelMigrationsPerCluster":5,"network":null}', []],
    ['', []],
    ['{', []],
  ])('with %s is judged in what is not its own', (value, expected) => {
    expect(checkTuning(value).map(({ message }) => message)).toEqual(expected)
  })
})
