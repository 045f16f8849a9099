// What is made of a value: the NetworkAttachmentDefinition, its name, and in what a stored one differs.

import { describe, expect, test } from 'vitest'
import { parseMigrationNetwork } from '../api/migration-network.ts'
import { isMalformed } from '../ip/malformed.ts'
import { attachmentName, configOf, differencesFrom, toAttachment } from './attachment.ts'
import { readMigrationNetwork, readSettingValue, type Wanted } from './wanted.ts'

function wantedOf(value: object): Wanted {
  const read = readSettingValue(JSON.stringify(value))
  if (read === 'default' || 'problems' in read) throw new Error(JSON.stringify(read))
  return read.wanted
}

function networkOf(spec: object): Wanted {
  const network = parseMigrationNetwork({ metadata: { name: 'vm-migration-network' }, spec })
  if (isMalformed(network)) throw new Error(network.malformed)
  const read = readMigrationNetwork(network)
  if ('problems' in read) throw new Error(JSON.stringify(read))
  return read.wanted
}

const plain = { clusterNetwork: 'migration', vlan: 1, range: '172.16.0.0/24' }

describe('the NetworkAttachmentDefinition of a Setting', () => {
  test('has the namespace, label, annotation and configuration of Harvester', () => {
    expect(toAttachment(wantedOf(plain))).toEqual({
      apiVersion: 'k8s.cni.cncf.io/v1',
      kind: 'NetworkAttachmentDefinition',
      metadata: {
        name: expect.stringMatching(/^vm-migration-network-[0-9a-f]{10}$/),
        namespace: 'harvester-system',
        labels: { 'vm-migration-network.settings.harvesterhci.io/hash': wantedOf(plain).hash },
        annotations: { 'vm-migration-network.settings.harvesterhci.io': 'true' },
      },
      spec: {
        config:
          '{"cniVersion":"0.3.1","type":"bridge","bridge":"migration-br","promiscMode":true,"vlan":1,' +
          '"ipam":{"type":"whereabouts","range":"172.16.0.0/24"}}',
      },
    })
  })

  test('has exclusions without host bits, and only where there are some', () => {
    expect(configOf(wantedOf({ ...plain, exclude: ['172.16.0.15/28', '172.16.0.200'] }))).toMatchObject({
      ipam: { type: 'whereabouts', range: '172.16.0.0/24', exclude: ['172.16.0.0/28', '172.16.0.200/32'] },
    })
    expect(configOf(wantedOf({ ...plain, exclude: [] }))).toHaveProperty('ipam', {
      type: 'whereabouts',
      range: '172.16.0.0/24',
    })
  })

  test('says VLAN 0 as 1, the number of what is not tagged', () => {
    expect(configOf(wantedOf({ ...plain, vlan: 0 }))).toHaveProperty('vlan', 1)
  })

  test('has a list of ranges for two families', () => {
    const dual = { ...plain, rangeV6: 'fd00:1::/64', rangeV6Start: 'fd00:1::', rangeV6End: 'fd00:1::ff' }
    expect(configOf(wantedOf({ ...dual, exclude: ['172.16.0.1/32'] }))).toHaveProperty('ipam', {
      type: 'whereabouts',
      ipRanges: [
        { range: '172.16.0.0/24', exclude: ['172.16.0.1/32'] },
        { range: 'fd00:1::/64', range_start: 'fd00:1::1', range_end: 'fd00:1::ff' },
      ],
    })
  })

  test('takes addresses from the ledger where the value says so, one for each node', () => {
    expect(configOf(wantedOf({ ...plain, ipam: 'mooring', exclude: ['172.16.0.0/28'] }))).toHaveProperty('ipam', {
      type: 'mooring',
      holder: 'node',
      ranges: [{ subnet: '172.16.0.0/24', rangeStart: '172.16.0.16', rangeEnd: '172.16.0.254' }],
      excludeRanges: ['172.16.0.0/28'],
    })
  })
})

describe('the NetworkAttachmentDefinition of a MigrationNetwork', () => {
  test.each<[string, object, object]>([
    ['a bridge', { bridge: 'br-migration', vlan: 7 }, { type: 'bridge', bridge: 'br-migration', vlan: 7 }],
    ['an interface that pods share', { parent: 'eth1' }, { type: 'macvlan', master: 'eth1', mode: 'bridge' }],
    ['a VLAN of an interface', { parent: 'eth1', vlan: 7 }, { type: 'vlan', master: 'eth1', vlanId: 7 }],
    ['an MTU', { bridge: 'br0', mtu: 9000 }, { type: 'bridge', bridge: 'br0', mtu: 9000 }],
  ])('is on %s', (_, link, config) => {
    expect(configOf(networkOf({ ...link, range: '10.1.2.0/24' }))).toMatchObject(config)
  })

  test('says no VLAN where it is not tagged, however that is written', () => {
    for (const vlan of [0, 1])
      expect(configOf(networkOf({ bridge: 'br0', vlan, range: '10.1.2.0/24' }))).not.toHaveProperty('vlan')
  })

  test('is in the namespace of KubeVirt', () => {
    expect(toAttachment(networkOf({ bridge: 'br0', range: '10.1.2.0/24' })).metadata.namespace).toBe('kubevirt')
    const kubevirt = { namespace: 'virt', name: 'kv' }
    expect(toAttachment(networkOf({ bridge: 'br0', range: '10.1.2.0/24', kubevirt })).metadata.namespace).toBe('virt')
  })
})

describe('its name', () => {
  const name = attachmentName(wantedOf(plain))

  test.each<[string, object]>([
    ['exclusions change', { exclude: ['172.16.0.1/32'] }],
    ['nothing changes in meaning', { vlan: 0, exclude: [] }],
  ])('stays where %s: no pod restarts', (_, change) => {
    expect(attachmentName(wantedOf({ ...plain, ...change }))).toBe(name)
  })

  test.each<[string, object]>([
    ['the VLAN changes', { vlan: 2 }],
    ['the cluster network changes', { clusterNetwork: 'other' }],
    ['the subnet changes', { range: '172.16.0.0/23' }],
    ['the plugin that gives addresses changes', { ipam: 'mooring' }],
  ])('is another one where %s: a pod that runs cannot take that on', (_, change) => {
    expect(attachmentName(wantedOf({ ...plain, ...change }))).not.toBe(name)
  })
})

describe('what a stored configuration differs in', () => {
  const wanted = wantedOf(plain)
  const stored = configOf(wanted)

  test('is nothing for another order of keys', () => {
    const reversed = Object.fromEntries(Object.entries(stored).reverse())
    expect(differencesFrom(JSON.stringify(reversed), wanted)).toEqual([])
  })

  test('is nothing for the MTU that Harvester adds', () => {
    expect(differencesFrom(JSON.stringify({ ...stored, mtu: 9000 }), wanted)).toEqual([])
  })

  test('is the fields that were edited by hand', () => {
    const edited = {
      ...stored,
      vlan: 9,
      ipam: { type: 'whereabouts', range: '172.16.0.0/24', exclude: ['172.16.0.9/32'] },
    }
    expect(differencesFrom(JSON.stringify(edited), wanted)).toEqual([
      { field: 'vlan', stored: 9, wanted: 1 },
      { field: 'ipam.exclude', stored: ['172.16.0.9/32'], wanted: undefined },
    ])
  })

  test.each(['', 'no JSON', '[]', '7'])('is all of it for %j', text => {
    expect(differencesFrom(text, wanted)).toEqual([{ field: '', stored: text, wanted: stored }])
  })
})
