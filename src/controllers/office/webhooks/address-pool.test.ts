import { describe, expect, test } from 'vitest'
import { held, nothing, pools } from '../../../../test/harness/pool-facts.ts'
import { reasonsOf } from '../../../../test/harness/reasons-of.ts'
import type { PoolFacts } from '../pool-facts.ts'
import { admitAddressPool } from './address-pool.ts'

type Spec = Record<string, unknown>

function aPool(spec: Spec, metadata: object = {}, kind: string = 'AddressPool') {
  const namespace = kind === 'AddressPool' ? { namespace: 'default' } : {}
  return { apiVersion: 'mooring.dev/v1alpha1', kind, metadata: { name: 'vms', ...namespace, ...metadata }, spec }
}

const good: Spec = { addresses: ['10.0.0.10-10.0.0.20'], prefix: 24, gateway: '10.0.0.1' }

const create = (spec: Spec, facts: PoolFacts = nothing) => admitAddressPool(undefined, aPool(spec), facts)
const update = (old: Spec, next: Spec, facts: PoolFacts) => admitAddressPool(aPool(old), aPool(next), facts)

describe('a spec that is wrong', () => {
  test.each<[string, Spec, string]>([
    ['lists nothing', { ...good, addresses: [] }, 'spec.addresses: Invalid value: []: addresses is required'],
    [
      'names a space that no network can be called',
      { ...good, space: '-a' },
      'spec.space: Invalid value: "-a": begin with a letter or digit, go on with letters, digits, "_", "." and "-"; or ' +
        'write the key of a pool, Kind.group/name',
    ],
    [
      'has an unknown strategy',
      { ...good, strategy: 'best' },
      'spec.strategy: Invalid value: "best": write one of lowestFree, random, leastRecentlyUsed',
    ],
    [
      'has a negative quarantine',
      { ...good, quarantineSeconds: -1 },
      'spec.quarantineSeconds: Invalid value: -1: quarantineSeconds must not be negative',
    ],
    [
      'keeps something that is no address',
      { ...good, preAllocations: { web: 'ten' } },
      'spec.preAllocations[web]: Invalid value: "ten": "ten" is not an IP address: write one such as 192.0.2.1 or 2001:db8::1',
    ],
    [
      'keeps an address of the other family',
      { ...good, preAllocations: { web: 'fd00::1' } },
      'spec.preAllocations[web]: Invalid value: "fd00::1": is IPv6 in a pool of IPv4',
    ],
    [
      'keeps one address for two claims',
      { ...good, preAllocations: { web: '10.0.0.11', db: '10.0.0.11' } },
      'spec.preAllocations[db]: Forbidden: 10.0.0.11 is kept for web already',
    ],
    [
      'keeps one address for two claims, spelled in two ways',
      { addresses: ['fd00::/64'], prefix: 64, preAllocations: { web: 'fd00::5', db: 'fd00:0::0005' } },
      'spec.preAllocations[db]: Forbidden: fd00::5 is kept for web already',
    ],
    [
      'has a nameserver that is no address',
      { ...good, nameservers: ['10.0.0.2', 'dns'] },
      'spec.nameservers[1]: Invalid value: "dns": "dns" is not an IP address: write one such as 192.0.2.1 or 2001:db8::1',
    ],
    [
      'has a negative quota',
      { ...good, quota: { perNamespace: -1 } },
      'spec.quota.perNamespace: Invalid value: -1: must be a whole number that is not negative',
    ],
    [
      'has a quarantine beyond thirty days',
      { ...good, quarantineSeconds: 2_592_001 },
      'spec.quarantineSeconds: Invalid value: 2592001: quarantineSeconds must not be more than 2592000',
    ],
    [
      'drains garbage',
      { ...good, draining: ['garbage'] },
      'spec.draining[0]: Invalid value: "garbage": provided address is not a valid IP, range, nor CIDR: ' +
        '"garbage" is not an IP address: write one such as 192.0.2.1 or 2001:db8::1',
    ],
    [
      'drains the other family',
      { ...good, draining: ['fd00::1'] },
      'spec.draining[0]: Invalid value: "fd00::1": is IPv6 in a pool of IPv4',
    ],
    [
      'has an unknown policy',
      { ...good, overlapPolicy: 'maybe' },
      'spec.overlapPolicy: Invalid value: "maybe": write one of "off" (in quotes), warn, deny',
    ],
  ])('is refused if it %s', (_, spec, fault) => {
    expect(reasonsOf(create(spec))).toEqual([fault])
  })

  test('that the ledger could not use is refused, whatever the single fields say', () => {
    const ruling = create({ ...good, allowedNamespaces: { matchLabels: 'all' } })
    expect(ruling.kind).toBe('invalid')
    expect(reasonsOf(ruling).join()).toContain('spec.allowedNamespaces.matchLabels is not a map of texts')
  })

  test('with hostile keys is answered like any other', () => {
    const preAllocations = JSON.parse('{"__proto__": "ten", "constructor": "10.0.0.11"}')
    expect(reasonsOf(create({ ...good, preAllocations }))).toHaveLength(1)
  })
})

describe('odd but legal', () => {
  test.each<[string, Spec, string]>([
    ['out of range', { web: '10.0.0.99' }, 'is not among the addresses of the pool'],
    ['the gateway', { web: '10.0.0.1' }, 'is not among the addresses of the pool'],
    ['excluded', { web: '10.0.0.12' }, 'is excluded'],
  ])('an address is kept for a claim that is %s', (_, preAllocations, why) => {
    const { kind, warnings } = create({ ...good, excludedAddresses: ['10.0.0.12'], preAllocations })
    expect(kind).toBe('allowed')
    expect(warnings).toEqual([expect.stringContaining(why)])
  })

  test.each([
    ['a name that no claim can have', 'AddressPool', 'Bad Name', 'no claim can be called so'],
    ['a namespace that no claim can be in', 'ClusterAddressPool', 'Lab/web', 'no claim can be called so'],
    ['a plain name, in a pool of the cluster', 'ClusterAddressPool', 'web', 'write namespace/name'],
    ['a claim of another namespace', 'AddressPool', 'elsewhere/web', 'only claims of its own namespace'],
  ])('an address is kept for %s', (_, kind, key, why) => {
    const pool = aPool({ ...good, preAllocations: { [key]: '10.0.0.11' } }, {}, kind)
    expect(admitAddressPool(undefined, pool, nothing)).toEqual({
      kind: 'allowed',
      warnings: [expect.stringMatching(`${why}.*10.0.0.11 is kept, and no claim gets it`)],
    })
  })

  test('an address is kept that another claim holds', () => {
    const holder = { apiGroup: '', kind: 'IPAddressClaim', namespace: 'default', name: 'db', uid: 'u' }
    const facts = { ...nothing, holderAt: () => holder }
    const warningsOf = (preAllocations: Spec) => admitAddressPool(undefined, aPool({ ...good, preAllocations }), facts)
    expect(warningsOf({ web: '10.0.0.11' }).warnings).toEqual([
      'spec.preAllocations[web]: 10.0.0.11 is held by another claim: the claim will wait for it',
    ])
    expect(warningsOf({ db: '10.0.0.11' }).warnings).toEqual([])
    expect(warningsOf({ 'default/db': '10.0.0.11' }).warnings).toEqual([])
  })

  test.each([
    ['loopback', '127.0.0.0/24', '127.0.0.0-127.0.0.255 is loopback'],
    ['multicast', '224.0.0.0/24', '224.0.0.0-224.0.0.255 is multicast'],
    ['unspecified', '0.0.0.0/30', '0.0.0.0-0.0.0.3 is no address of a host'],
    ['link-local', '169.254.1.0/24', '169.254.1.0-169.254.1.255 is link-local'],
    ['all of IPv4', '0.0.0.0/0', 'lists every IPv4 address there is'],
    ['all of IPv6', '::/0', 'lists every IPv6 address there is'],
    ['IPv6 loopback', '::1', '::1 is loopback'],
    ['IPv4-mapped', '::ffff:10.0.0.0/120', '::ffff:10.0.0.0-::ffff:10.0.0.255 is IPv4 written as IPv6'],
    ['IPv6 multicast', 'ff02::1:0/112', 'ff02::1:0-ff02::1:ffff is multicast'],
    ['IPv6 link-local', 'fe80::/120', 'fe80::-fe80::ff is link-local'],
  ])('addresses are %s', (_, entry, why) => {
    const { kind, warnings } = create({ addresses: [entry], prefix: 0 })
    expect(kind).toBe('allowed')
    expect(warnings).toEqual([expect.stringContaining(why)])
  })

  test('another gateway or prefix than holders are told', () => {
    const facts = {
      ...nothing,
      toldOf: () => [
        { prefix: 24, gateway: '10.0.0.1', count: 3 },
        { prefix: 24, gateway: '10.0.0.2', count: 1 },
      ],
    }
    const warningsOf = (spec: Spec) => admitAddressPool(aPool(good), aPool({ ...good, ...spec }), facts).warnings
    expect(warningsOf({ gateway: '10.0.0.2' })).toEqual([
      expect.stringMatching(/^spec.gateway: 3 IPAddresses say another gateway/),
    ])
    expect(warningsOf({ prefix: 25 })).toEqual([
      expect.stringMatching(/^spec.prefix: 4 IPAddresses say another prefix/),
    ])
    expect(warningsOf({ quarantineSeconds: 7 })).toEqual([])
  })

  test('draining what is not there', () => {
    expect(create({ ...good, draining: ['10.0.0.99'] }).warnings).toEqual([
      'spec.draining[0]: 10.0.0.99 is not among the addresses of the pool and has no effect',
    ])
  })

  test('a namespaced pool that says which namespaces may use it', () => {
    const { warnings } = create({ ...good, allowedNamespaces: { matchLabels: { a: 'b' } } })
    expect(warnings).toEqual([expect.stringContaining('spec.allowedNamespaces')])
  })

  test('a pool for all namespaces that says so is not odd', () => {
    const pool = aPool({ ...good, allowedNamespaces: { matchLabels: { a: 'b' } } }, {}, 'ClusterAddressPool')
    expect(admitAddressPool(undefined, pool, nothing)).toEqual({ kind: 'allowed', warnings: [] })
  })
})

describe('a change of what is offered', () => {
  const smaller = { ...good, addresses: ['10.0.0.15-10.0.0.20'] }

  test('is refused when a held address would be outside', () => {
    expect(update(good, smaller, held('10.0.0.10'))).toMatchObject({
      kind: 'refused',
      message: 'pool addresses do not contain allocated addresses: [10.0.0.10-10.0.0.10]',
    })
  })

  test('is accepted when what goes is listed as draining', () => {
    const next = { ...smaller, draining: ['10.0.0.10-10.0.0.14'] }
    expect(update(good, next, held('10.0.0.10')).kind).toBe('allowed')
  })

  test('is refused for those of the held addresses that are not draining', () => {
    const next = { ...smaller, draining: ['10.0.0.10-10.0.0.12'] }
    expect(update(good, next, held('10.0.0.10', '10.0.0.13'))).toMatchObject({
      message: 'pool addresses do not contain allocated addresses: [10.0.0.13-10.0.0.13]',
    })
  })

  test('is accepted when a range begins to drain', () => {
    expect(update(good, { ...good, draining: ['10.0.0.10'] }, held('10.0.0.10')).kind).toBe('allowed')
  })

  test('does not take a pool with holders to another space', () => {
    const next = { ...good, space: 'blue' }
    expect(update(good, next, held('10.0.0.10'))).toMatchObject({ message: expect.stringContaining('spec.space') })
    expect(update(good, next, nothing).kind).toBe('allowed')
  })
})

describe('addresses that another pool lists too', () => {
  const blue = { ...good, space: 'blue' }
  const other = (spec: Spec) => pools(aPool(spec, { name: 'other' }))

  test.each<[string, Spec, Spec, 'allowed' | 'invalid', number]>([
    ['are warned about', blue, blue, 'allowed', 1],
    ['are refused if this pool says so', { ...blue, overlapPolicy: 'deny' }, blue, 'invalid', 0],
    ['are refused if the other pool says so', blue, { ...blue, overlapPolicy: 'deny' }, 'invalid', 0],
    ['are accepted without a warning if this pool says so', { ...blue, overlapPolicy: 'off' }, blue, 'allowed', 0],
    ['are warned about although the other pool says so', blue, { ...blue, overlapPolicy: 'off' }, 'allowed', 1],
    ['are accepted without a warning in another space', blue, { ...blue, space: 'red' }, 'allowed', 0],
    [
      'are none if they are excluded',
      { ...blue, excludedAddresses: ['10.0.0.10-10.0.0.15'] },
      { ...blue, addresses: ['10.0.0.10-10.0.0.15'] },
      'allowed',
      0,
    ],
    ['are none beside each other', { ...blue, addresses: ['10.0.0.30'] }, blue, 'allowed', 0],
  ])('%s', (_, mine, theirs, kind, warnings) => {
    const ruling = create(mine, other(theirs))
    expect(ruling.kind).toBe(kind)
    expect(ruling.warnings).toHaveLength(warnings)
  })

  test('are named with the ranges and the pool', () => {
    expect(
      reasonsOf(
        admitAddressPool(
          undefined,
          aPool({ ...blue, overlapPolicy: 'deny' }),
          other({ ...blue, addresses: ['10.0.0.18-10.0.0.30'] }),
          true,
        ),
      ),
    ).toEqual([
      'spec.addresses: Invalid value: "10.0.0.18-10.0.0.20": AddressPool default/other lists the same addresses in this space',
    ])
  })

  test('do not keep a pool from being put right that listed them before', () => {
    const strict = { ...blue, overlapPolicy: 'deny' }
    const fewer = { ...strict, addresses: ['10.0.0.15-10.0.0.20'] }
    const more = { ...strict, addresses: ['10.0.0.10-10.0.0.30'] }
    const wide = { ...blue, addresses: ['10.0.0.0/24'] }
    expect(update(strict, fewer, other(wide))).toMatchObject({ kind: 'allowed', warnings: [expect.anything()] })
    expect(update(strict, more, other(wide)).kind).toBe('invalid')
    expect(update(blue, strict, other(wide)).kind).toBe('invalid')
  })

  test('are not those of the pool itself', () => {
    expect(update(blue, { ...blue, prefix: 25 }, pools(aPool(blue)))).toEqual({ kind: 'allowed', warnings: [] })
  })
})
