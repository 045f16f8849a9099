import { describe, expect, test } from 'vitest'
import { type AttachmentParts, anAttachment, mooring, ovn } from '../../test/harness/attachments.ts'
import { orThrow } from '../../test/harness/or-throw.ts'
import { parseClusterUDN } from '../api/cluster-user-defined-network.ts'
import type { Pool } from '../api/pool.ts'
import { parseIP, toIPText } from '../ip/address.ts'
import { toRangeText } from '../ip/range.ts'
import { poolSetOf, whyNotOffered } from '../ipam/pool-set.ts'
import { isOfMooring, isOVN, parseAttachment } from './attachment.ts'
import { comesBefore, differencesOf, mooringNetworkOf, type OVNAttachment, offeredBy, ovnNetworkOf } from './network.ts'

function read(config: object, key = 'red/vms', parts: AttachmentParts = {}): OVNAttachment {
  const attachment = orThrow(parseAttachment(anAttachment(key, ovn(config), parts)))
  if (!isOVN(attachment)) throw new Error(JSON.stringify(attachment.reading))
  return attachment
}

const openOf = (pool: Pool | undefined): string[] =>
  pool === undefined ? [] : poolSetOf(pool).open.ranges.map(range => toRangeText({ ...range, family: pool.family }))

const networkOf = (config: object) => ovnNetworkOf(read(config), {})

describe('a network of OVN-Kubernetes gives out', () => {
  test.each([
    ['what is neither network nor broadcast address', {}, ['10.0.0.1-10.0.0.254']],
    ['what is not excluded', { subnets: '10.1.1.0/24', excludeSubnets: '10.1.1.0/29' }, ['10.1.1.8-10.1.1.254']],
    [
      'what is not reserved for requests',
      { subnets: '10.1.1.0/24', reservedSubnets: '10.1.1.0/28,10.1.1.240/28', excludeSubnets: '10.1.1.200/29' },
      ['10.1.1.16-10.1.1.199', '10.1.1.208-10.1.1.239'],
    ],
    [
      'what is not for infrastructure',
      {
        role: 'primary',
        subnets: '192.168.100.0/24',
        infrastructureSubnets: '192.168.100.0/30',
        reservedSubnets: '192.168.100.200/29',
        defaultGatewayIPs: '192.168.100.2',
      },
      ['192.168.100.4-192.168.100.199', '192.168.100.208-192.168.100.254'],
    ],
    ['no gateway and no management address of a primary network', { role: 'primary' }, ['10.0.0.3-10.0.0.254']],
    [
      'the first address where the gateway is another',
      { role: 'primary', defaultGatewayIPs: '10.0.0.5' },
      ['10.0.0.1', '10.0.0.3-10.0.0.4', '10.0.0.6-10.0.0.254'],
    ],
    [
      'no management address that has no room in the infrastructure',
      { role: 'primary', subnets: '10.0.0.0/29', infrastructureSubnets: '10.0.0.6/32' },
      ['10.0.0.1', '10.0.0.3-10.0.0.5'],
    ],
    ['all but the first of IPv6', { subnets: 'fd00::/120' }, ['fd00::1-fd00::ff']],
  ])('%s', (_, config, open) => {
    expect(networkOf(config).pools.flatMap(pool => openOf(pool))).toEqual(open)
  })

  test('what is reserved to a claim that asks for it, and never what is excluded or of the subnet itself', () => {
    const [pool] = networkOf({
      subnets: '10.1.1.0/24',
      reservedSubnets: '10.1.1.0/28,10.1.1.240/28',
      excludeSubnets: '10.1.1.200/29',
    }).pools
    const why = (text: string) => pool && whyNotOffered(pool, orThrow(parseIP(text)))
    expect(why('10.1.1.5')).toBeUndefined()
    expect(why('10.1.1.202')).toBe('excluded')
    expect(why('10.1.1.0')).toBe('reserved')
    expect(why('10.1.1.255')).toBe('reserved')
  })

  test('one pool per family, out of the space of its name', () => {
    const { pools, source, ovn } = networkOf({ role: 'primary', subnets: '10.0.0.0/24,fd00::/64' })
    expect(pools.map(({ family, space, isOneOfTwo, prefix }) => [family, space, isOneOfTwo, prefix])).toEqual([
      [4, 'blue', true, 24],
      [6, 'blue', true, 64],
    ])
    expect(source).toEqual({ apiGroup: 'k8s.cni.cncf.io', kind: 'Network', namespace: '', name: 'blue' })
    expect(ovn?.gateways.map(toIPText)).toEqual(['10.0.0.1', 'fd00::1'])
  })

  test('nothing by itself where it has no subnet', () => {
    expect(networkOf({ subnets: '' }).pools).toEqual([])
  })
})

describe('of the attachments of one network', () => {
  const old = read({}, 'red/b', { created: '2026-01-01T00:00:00Z' })
  const young = read({}, 'red/a', { created: '2026-01-02T00:00:00Z' })

  test('the oldest is the first, and of two of one second the one whose name is first', () => {
    expect(comesBefore(old, young, undefined)).toBe(true)
    expect(comesBefore(young, old, undefined)).toBe(false)
    const twin = read({}, 'red/c', { created: '2026-01-01T00:00:00Z' })
    expect(comesBefore(old, twin, undefined)).toBe(true)
    expect(comesBefore(twin, old, undefined)).toBe(false)
  })

  test('one that is being deleted comes last', () => {
    const going = read({}, 'red/b', { metadata: { deletionTimestamp: '2026-01-03T00:00:00Z' } })
    expect(comesBefore(young, going, undefined)).toBe(true)
  })

  test('one that was made of the ClusterUserDefinedNetwork comes before older ones', () => {
    const udn = orThrow(
      parseClusterUDN({
        metadata: { name: 'a', uid: 'udn' },
        spec: { namespaceSelector: { matchLabels: { team: 'x' } } },
      }),
    )
    const owner = { apiVersion: 'k8s.ovn.org/v1', kind: 'ClusterUserDefinedNetwork', name: 'a', controller: true }
    const made = (key: string, uid: string) =>
      read({}, key, { created: '2026-01-02T00:00:00Z', metadata: { ownerReferences: [{ ...owner, uid }] } })
    expect(comesBefore(made('red/a', 'udn'), old, udn)).toBe(true)
    // Any user may write an owner reference: one of another uid, or on another name, counts for nothing.
    expect(comesBefore(made('red/a', 'guess'), old, udn)).toBe(false)
    expect(comesBefore(made('red/other', 'udn'), old, udn)).toBe(false)
    expect(offeredBy(old, udn)).toMatchObject({ matchLabels: { team: 'x' } })
  })

  test('one whose own namespace and name the name is made of comes before older ones', () => {
    const own = read({ name: 'red_net' }, 'red/net', { created: '2026-01-02T00:00:00Z' })
    const squatter = read({ name: 'red_net' }, 'evil/net', { created: '2026-01-01T00:00:00Z' })
    expect(comesBefore(own, squatter, undefined)).toBe(true)
    expect(comesBefore(squatter, own, undefined)).toBe(false)
  })

  test('others have to say the same as the first', () => {
    expect(differencesOf(young, old)).toEqual([])
    const other = read({ subnets: '10.0.1.0/24', allowPersistentIPs: true, topology: 'localnet', vlanID: 7 })
    expect(differencesOf(other, old)).toEqual(['topology', 'subnets', 'allowPersistentIPs', 'vlanID'])
  })
})

describe('a network with addresses of its own attachment', () => {
  const own = (ipam: object) => {
    const attachment = orThrow(parseAttachment(anAttachment('red/vms', mooring(ipam))))
    if (!isOfMooring(attachment)) throw new Error(JSON.stringify(attachment.reading))
    return mooringNetworkOf(attachment)
  }

  test('has its addresses held by claims, or by nodes: then no virtual machine keeps one', () => {
    expect(own({ ranges: ['10.0.0.0/24'] })).toMatchObject({ holder: 'claim', allowsPersistentIPs: true })
    expect(own({ ranges: ['10.0.0.0/24'], holder: 'node' })).toMatchObject({
      holder: 'node',
      allowsPersistentIPs: false,
    })
  })

  test('is a space of its own', () => {
    const { pools, name } = own({ ranges: ['10.0.0.0/24'] })
    expect(name).toBe('vms')
    expect(pools.map(({ space }) => space)).toEqual(['NetworkAttachmentDefinition.k8s.cni.cncf.io/red/vms'])
  })

  test('gives out its ranges without gateway and what is excluded', () => {
    const subnet = '10.0.0.0/24'
    const { pools } = own({
      ranges: [
        { subnet, rangeStart: '10.0.0.10', rangeEnd: '10.0.0.19', gateway: '10.0.0.12' },
        { subnet, rangeStart: '10.0.0.250' },
        'fd00::/126',
      ],
      excludeRanges: ['10.0.0.14-10.0.0.15', 'fd00::2'],
    })
    expect(pools.map(openOf)).toEqual([
      ['10.0.0.10-10.0.0.11', '10.0.0.13', '10.0.0.16-10.0.0.19', '10.0.0.250-10.0.0.254'],
      ['fd00::1', 'fd00::3'],
    ])
  })

  test('has none of its own where it names a pool', () => {
    const { pools, source } = own({ pool: { kind: 'AddressPool', name: 'lab' } })
    expect(pools).toEqual([])
    expect(source).toMatchObject({ kind: 'AddressPool', namespace: 'red', name: 'lab' })
  })
})
