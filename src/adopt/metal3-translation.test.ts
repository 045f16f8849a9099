import { describe, expect, test } from 'vitest'
import { parseIPAddressClaim } from '../api/ip-address-claim.ts'
import type { Metadata } from '../api/object.ts'
import { isMalformed } from '../ip/malformed.ts'
import { type Metal3Address, parseMetal3Pool } from './metal3.ts'
import { type Metal3Objects, translateMetal3 } from './metal3-translation.ts'

const nothing: Metadata = {
  name: '',
  namespace: 'metal',
  uid: '',
  resourceVersion: '',
  generation: 0,
  creationTimestamp: '',
  deletionTimestamp: undefined,
  labels: {},
  annotations: {},
  finalizers: [],
  ownerReferences: [],
}

function aPool(spec: object, name = 'rack') {
  const pool = parseMetal3Pool({ metadata: { name, namespace: 'metal' }, spec })
  return isMalformed(pool) ? { ...pool, name: `metal/${name}` } : pool
}

const plain = { pools: [{ start: '10.0.0.10', end: '10.0.0.20' }], prefix: 24, gateway: '10.0.0.1' }

function anAddress(address: string, claimName: string, kind: Metal3Address['kind'] = 'capi'): Metal3Address {
  const name = `${kind}-${claimName}-${address.replaceAll(/[.:]/g, '-')}`
  return { kind, metadata: { ...nothing, name }, poolName: 'rack', claimName, address }
}

function aClaim(name: string, more: { metadata?: object; spec?: object } = {}) {
  const claim = parseIPAddressClaim({
    apiVersion: 'ipam.cluster.x-k8s.io/v1beta1',
    metadata: { name, namespace: 'metal', uid: `uid-${name}`, ...more.metadata },
    spec: { poolRef: { apiGroup: 'ipam.metal3.io', kind: 'IPPool', name: 'rack' }, ...more.spec },
  })
  if (isMalformed(claim)) throw new Error(claim.malformed)
  return claim
}

const translate = (objects: Partial<Metal3Objects>) =>
  translateMetal3({ pools: [aPool(plain)], addresses: [], ipClaims: [], claims: [], holds: [], ...objects })

describe('A pool of Metal3', () => {
  test.each<[string, object, object]>([
    ['a start and an end', { start: '10.0.0.10', end: '10.0.0.20' }, { addresses: ['10.0.0.10-10.0.0.20'] }],
    [
      'a subnet, from behind its first address to its last',
      { subnet: '10.0.0.0/24' },
      { addresses: ['10.0.0.1-10.0.0.255'] },
    ],
    ['a subnet with host bits, from behind them', { subnet: '10.0.0.64/24' }, { addresses: ['10.0.0.65-10.0.0.255'] }],
    ['a start in a subnet', { start: '10.0.0.9', subnet: '10.0.0.0/28' }, { addresses: ['10.0.0.9-10.0.0.15'] }],
    ['an end in a subnet', { end: '10.0.0.9', subnet: '10.0.0.0/28' }, { addresses: ['10.0.0.1-10.0.0.9'] }],
    ['IPv6', { start: '2001:db8::0005', end: '2001:db8::a' }, { addresses: ['2001:db8::5-2001:db8::a'] }],
  ])('offers what its entry lists: %s', (_what, entry, spec) => {
    const { pools, verdicts } = translate({ pools: [aPool({ pools: [entry], prefix: 24 })] })
    expect(verdicts).toEqual([])
    expect(pools).toMatchObject([{ kind: 'AddressPool', metadata: { name: 'rack', namespace: 'metal' }, spec }])
  })

  test.each<[string, object, string]>([
    ['a start alone has no end', { pools: [{ start: '10.0.0.1' }] }, 'has no end'],
    ['an end alone has no start', { pools: [{ end: '10.0.0.1' }] }, 'neither start nor subnet'],
    ['an entry ends before it starts', { pools: [{ start: '10.0.0.9', end: '10.0.0.1' }] }, 'ends before it starts'],
    ['an entry mixes families', { pools: [{ start: '10.0.0.9', end: '2001:db8::1' }] }, 'two families'],
    ['a subnet cannot be read', { pools: [{ subnet: '10.0.0.0/99' }] }, 'subnet'],
    ['there is no entry', { pools: [] }, 'spec.pools is empty'],
  ])('is refused, and nothing of it is offered: %s', (_what, spec, why) => {
    const { pools, verdicts } = translate({
      pools: [aPool(spec)],
      addresses: [anAddress('10.0.0.11', 'web')],
      claims: [aClaim('web')],
    })
    expect(pools).toEqual([])
    expect(verdicts.map(({ outcome }) => outcome)).toEqual(['refused', 'refused'])
    expect(verdicts[0]?.message).toContain(why)
  })

  test('becomes several where its entries differ in what they show to holders, and they share a space', () => {
    const entries = [
      { start: '10.0.0.10', end: '10.0.0.20' },
      { start: '10.0.1.10', end: '10.0.1.20', prefix: 26, gateway: '10.0.1.1', dnsServers: ['10.0.1.2'] },
      { start: '10.0.0.30', end: '10.0.0.40' },
    ]
    const { pools } = translate({ pools: [aPool({ ...plain, pools: entries, dnsServers: ['10.0.0.2'] })] })
    expect(pools.map(({ metadata, spec }) => [metadata.name, spec.addresses, spec.prefix, spec.gateway])).toEqual([
      ['rack', ['10.0.0.10-10.0.0.20', '10.0.0.30-10.0.0.40'], 24, '10.0.0.1'],
      ['rack-2', ['10.0.1.10-10.0.1.20'], 26, '10.0.1.1'],
    ])
    expect(pools.map(({ spec }) => spec.nameservers)).toEqual([['10.0.0.2'], ['10.0.1.2']])
    expect(pools[0]?.spec.space).toMatch(/^metal3-[0-9a-f]{16}$/)
    expect(pools[1]?.spec.space).toBe(pools[0]?.spec.space)
  })

  test('that becomes several leaves the names of others alone', () => {
    const entries = [
      { start: '10.0.0.10', end: '10.0.0.20' },
      { start: '10.0.1.10', end: '10.0.1.20', prefix: 26 },
    ]
    const { pools } = translate({ pools: [aPool({ ...plain, pools: entries }), aPool(plain, 'rack-2')] })
    expect(pools.map(({ metadata }) => metadata.name)).toEqual(['rack', 'rack-part-2', 'rack-2'])
  })

  test('goes on choosing as it did, and belongs to its Cluster', () => {
    const { pools } = translate({ pools: [aPool({ ...plain, allocationStrategy: 'random', clusterName: 'blue' })] })
    expect(pools[0]?.spec.strategy).toBe('random')
    expect(pools[0]?.metadata.labels).toEqual({ 'cluster.x-k8s.io/cluster-name': 'blue' })
  })

  test('keeps its promises, spelled as Mooring spells them', () => {
    const spec = { pools: [{ subnet: '2001:db8::/64' }], preAllocations: { web: '2001:db8::0005' } }
    expect(translate({ pools: [aPool(spec)] }).pools[0]?.spec.preAllocations).toEqual({ web: '2001:db8::5' })
  })

  test.each([
    ['of an address outside of the pool', { web: '10.9.9.9' }, 'no entry of the pool lists it'],
    ['which is no address', { web: 'ten' }, 'it is no address'],
    ['and another claim has it', { db: '10.0.0.11' }, 'another claim has it'],
    ['and the claim has another', { web: '10.0.0.12' }, 'web has 10.0.0.11'],
  ])('says which promise it cannot keep: one %s', (_what, preAllocations, why) => {
    const { pools, verdicts } = translate({
      pools: [aPool({ ...plain, preAllocations })],
      addresses: [anAddress('10.0.0.11', 'web')],
      claims: [aClaim('web')],
    })
    expect(verdicts.filter(({ outcome }) => outcome === 'refused').map(({ message }) => message)).toEqual([
      expect.stringContaining(why),
    ])
    expect(pools[0]?.spec.preAllocations).toEqual({ web: '10.0.0.11' })
  })
})

describe('An address that Metal3 has given out', () => {
  test('is kept for its claim, which has to be made anew and asks for just that', () => {
    const metadata = {
      labels: { app: 'web' },
      annotations: { team: 'a', 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
    }
    const { pools, claims, verdicts } = translate({
      addresses: [anAddress('10.0.0.11', 'web')],
      claims: [aClaim('web', { metadata, spec: { clusterName: 'blue' } })],
    })
    expect(verdicts).toMatchObject([{ outcome: 'recreate', claim: 'metal/web', address: '10.0.0.11' }])
    expect(pools[0]?.spec.preAllocations).toEqual({ web: '10.0.0.11' })
    expect(claims).toEqual([
      {
        apiVersion: 'ipam.cluster.x-k8s.io/v1beta1',
        kind: 'IPAddressClaim',
        metadata: {
          name: 'web',
          namespace: 'metal',
          labels: { app: 'web' },
          annotations: { team: 'a', 'mooring.dev/address': '10.0.0.11' },
        },
        spec: { clusterName: 'blue', poolRef: { apiGroup: 'mooring.dev', kind: 'AddressPool', name: 'rack' } },
      },
    ])
  })

  test('to a claim of its own kind is kept for a claim of the same name', () => {
    const { pools, claims, verdicts } = translate({
      addresses: [anAddress('10.0.0.11', 'web', 'metal3')],
      ipClaims: [{ ...nothing, name: 'web' }],
    })
    expect(verdicts).toMatchObject([{ outcome: 'kept' }])
    expect(pools[0]?.spec.preAllocations).toEqual({ web: '10.0.0.11' })
    expect(claims).toEqual([])
  })

  test.each<[string, string, Partial<Metal3Objects>]>([
    ['whose claim is gone', 'ClaimMissing', { addresses: [anAddress('10.0.0.11', 'web')] }],
    ['that names no claim', 'ClaimMissing', { addresses: [anAddress('10.0.0.11', '')] }],
    ['that is no address', 'NotAnAddress', { addresses: [anAddress('10.0.0', 'web')], claims: [aClaim('web')] }],
    [
      'of a pool that does not exist',
      'PoolMissing',
      { addresses: [{ ...anAddress('10.0.0.11', 'web'), poolName: 'none' }], claims: [aClaim('web')] },
    ],
  ])('%s is refused', (_what, reason, objects) => {
    const { pools, verdicts } = translate(objects)
    expect(verdicts).toMatchObject([{ outcome: 'refused', reason }])
    expect(pools[0]?.spec.preAllocations).toBeUndefined()
    if (reason === 'ClaimMissing') expect(pools[0]?.spec.excludedAddresses).toEqual(['10.0.0.11'])
  })

  test('twice is kept for no claim any more', () => {
    const { pools, verdicts } = translate({
      addresses: [anAddress('10.0.0.11', 'web'), anAddress('10.0.0.11', 'db'), anAddress('10.0.0.12', 'app')],
      claims: [aClaim('web'), aClaim('db'), aClaim('app')],
    })
    expect(verdicts.map(({ reason }) => reason)).toEqual(['Duplicate', 'Duplicate', 'PoolNeverChanges'])
    expect(pools[0]?.spec).toMatchObject({ excludedAddresses: ['10.0.0.11'], preAllocations: { app: '10.0.0.12' } })
  })

  test('outside its pool goes with its claim all the same, and an IPAddress proves it', () => {
    const { pools, claims, verdicts } = translate({
      addresses: [anAddress('10.9.9.9', 'web')],
      claims: [aClaim('web')],
    })
    expect(verdicts).toMatchObject([{ outcome: 'recreate' }])
    expect(claims).toMatchObject([
      { kind: 'IPAddress', metadata: { name: 'web', namespace: 'metal' }, spec: { address: '10.9.9.9', prefix: 24 } },
      { kind: 'IPAddressClaim', metadata: { name: 'web', annotations: { 'mooring.dev/address': '10.9.9.9' } } },
    ])
    expect(pools[0]?.spec.preAllocations).toBeUndefined()
  })

  test('at the end of a subnet goes on being one for hosts', () => {
    const { pools } = translate({
      pools: [aPool({ pools: [{ subnet: '10.0.0.0/24' }], prefix: 24 })],
      addresses: [anAddress('10.0.0.255', 'web')],
      claims: [aClaim('web')],
    })
    expect(pools[0]?.spec.allocateReservedIPAddresses).toBe(true)
  })

  test('that no promise has room for is kept from all claims', () => {
    const addresses: Metal3Address[] = []
    for (let i = 0; i < 1_003; i++) addresses.push(anAddress(`10.1.${i >> 8}.${i & 255}`, `web-${i}`, 'metal3'))
    const { pools } = translate({
      pools: [aPool({ pools: [{ start: '10.1.0.0', end: '10.1.9.0' }], prefix: 16 })],
      addresses,
      ipClaims: addresses.map(({ claimName }) => ({ ...nothing, name: claimName })),
    })
    expect(Object.keys(pools[0]?.spec.preAllocations ?? {})).toHaveLength(1_000)
    expect(pools[0]?.spec.excludedAddresses).toEqual(['10.1.3.232-10.1.3.234'])
  })

  test('whose claim is on its way out is left to Metal3, and kept', () => {
    const { pools, verdicts } = translate({
      addresses: [anAddress('10.0.0.11', 'web')],
      claims: [aClaim('web', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } })],
    })
    expect(verdicts).toMatchObject([{ outcome: 'leaves' }])
    expect(pools[0]?.spec.preAllocations).toEqual({ web: '10.0.0.11' })
  })
})
