import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import type { Pool } from '../api/pool.ts'
import { toPool } from '../api/to-pool.ts'
import { parseIP } from '../ip/address.ts'
import { capacityOf } from './capacity.ts'
import { overlapsOf } from './overlap.ts'
import { SpaceIndex } from './space-index.ts'
import { conditionsOfPool, statusOfPool } from './status.ts'

const now = '2030-01-01T00:00:00Z'
const later = '2030-01-01T01:00:00Z'

interface PoolOptions {
  readonly name?: string
  readonly namespace?: string
  readonly kind?: string
  readonly metadata?: Record<string, unknown>
}

function aPool(
  spec: Record<string, unknown>,
  { name = 'vms', namespace = 'default', kind = 'AddressPool', metadata = {} }: PoolOptions = {},
): Pool {
  const apiVersion = kind.endsWith('AddressPool') ? 'mooring.dev/v1alpha1' : 'ipam.cluster.x-k8s.io/v1alpha2'
  return orThrow(toPool({ apiVersion, kind, metadata: { name, namespace, generation: 3, ...metadata }, spec }))
}

function holding(pool: Pool, ...addresses: string[]): SpaceIndex {
  const index = new SpaceIndex()
  const claim = { apiGroup: 'g', kind: 'IPAddressClaim', namespace: 'default', name: 'c', uid: 'u' }
  for (const address of addresses) {
    const ip = orThrow(parseIP(address))
    index.put({ ip, bits: pool.bits, pool: pool.identity, claim, owner: undefined, state: 'held', since: now })
  }
  return index
}

const seenOf = (pool: Pool, index: SpaceIndex, others: Pool[] = []) => ({
  pool,
  capacity: capacityOf(pool, index),
  overlaps: overlapsOf(pool, others),
  joining: { space: pool.space },
})

const said = (pool: Pool, index: SpaceIndex, others: Pool[] = []): string[] =>
  conditionsOfPool(seenOf(pool, index, others)).map(({ type, status, reason }) => `${type}=${status} ${reason}`)

const spec = { addresses: ['10.0.0.10-10.0.0.12'], prefix: 24 }

describe('a pool says', () => {
  test('that it serves', () => {
    const pool = aPool(spec)
    expect(said(pool, new SpaceIndex())).toEqual([
      'Ready=True PoolServes',
      'Exhausted=False AddressesFree',
      'Overlapping=False NoOverlap',
    ])
  })

  test('that nothing is left, while it goes on serving claims that it keeps an address for', () => {
    const pool = aPool(spec)
    expect(said(pool, holding(pool, '10.0.0.10', '10.0.0.11', '10.0.0.12'))).toContain('Exhausted=True NoAddressFree')
  })

  test.each<[string, Pool]>([
    ['Ready=False PoolPaused', aPool(spec, { metadata: { annotations: { 'cluster.x-k8s.io/paused': '' } } })],
    ['Ready=False PoolDeleting', aPool(spec, { metadata: { deletionTimestamp: now } })],
    ['Ready=False NothingOffered', aPool({ ...spec, excludedAddresses: ['10.0.0.0/24'] })],
  ])('%s', (condition, pool) => {
    expect(said(pool, new SpaceIndex())[0]).toBe(condition)
  })

  test('how far the draining has come', () => {
    const pool = aPool({ ...spec, draining: ['10.0.0.12'] })
    expect(said(pool, holding(pool, '10.0.0.12'))).toContain('Drained=False HoldersRemain')
    expect(said(pool, new SpaceIndex())).toContain('Drained=True NoHolders')
  })

  test('that another lists the same addresses, and whether one may be held twice', () => {
    const pool = aPool(spec)
    const beside = aPool({ addresses: ['10.0.0.12-10.0.0.20'], prefix: 24 }, { name: 'other' })
    expect(said(pool, new SpaceIndex(), [pool, beside])).toContain('Overlapping=True AddressesShared')
    const [blue, alsoBlue, red] = ['blue', 'blue', 'red'].map((space, i) =>
      aPool({ ...spec, space }, { name: `p-${i}` }),
    )
    if (blue === undefined || alsoBlue === undefined || red === undefined) throw new Error('three pools were made')
    expect(said(blue, new SpaceIndex(), [alsoBlue])).toContain('Overlapping=True AddressesSharedInSpace')
    expect(said(blue, new SpaceIndex(), [red])).toContain('Overlapping=False NoOverlap')
    expect(said(aPool({ ...spec, overlapPolicy: 'off' }), new SpaceIndex(), [beside])).toHaveLength(2)
  })

  test('what its reader can do about an overlap, in fields that the kind of pool has', () => {
    const messageOf = (kind: string): string | undefined => {
      const [pool, other] = ['vms', 'others'].map(name =>
        aPool({ addresses: ['10.0.0.0/24'], prefix: 24 }, { kind, name }),
      )
      if (pool === undefined || other === undefined) return undefined
      return conditionsOfPool(seenOf(pool, new SpaceIndex(), [other])).find(({ type }) => type === 'Overlapping')
        ?.message
    }
    expect(messageOf('AddressPool')).toMatch(
      /give both pools the same spec\.space, or set spec\.overlapPolicy to "off" \(in quotes\)/,
    )
    expect(messageOf('InClusterIPPool')).toMatch(
      /take it out of one of the pools, or make them AddressPools or ClusterAddressPools of one spec\.space$/,
    )
    expect(messageOf('InClusterIPPool')).not.toContain('overlapPolicy')
  })

  test('a few of many overlaps, each sentence once, and the same however many more there are', () => {
    const messageOf = (others: Pool[]) =>
      conditionsOfPool(seenOf(aPool(spec), new SpaceIndex(), others)).find(({ type }) => type === 'Overlapping')
        ?.message
    const pools = (count: number, where: object) =>
      Array.from({ length: count }, (_, i) => aPool(spec, { name: `other-${i}`, ...where }))
    const elsewhere = pools(2_000, { namespace: 'elsewhere' })
    expect(messageOf(elsewhere)).toBe(messageOf(elsewhere.slice(0, 1)))
    const here = pools(2_000, {})
    expect(messageOf(here)).toMatch(/other-0 lists .*; .*other-1 lists .*; .*other-10 lists .* too; and so do others: /)
    expect(messageOf(here)).toBe(messageOf(here.slice(0, 1_999)))
  })

  test.each([
    ['a pool of another namespace', { namespace: 'elsewhere' }],
    ['a pool of the cluster', { kind: 'ClusterAddressPool', namespace: '' }],
  ])('no more of %s than that it lists some of the addresses, in whichever space', (text, where) => {
    const messageOf = (mine: object, theirs: object) => {
      const other = aPool({ addresses: ['10.0.0.11-10.0.0.200'], prefix: 24, ...theirs }, { name: 'secret', ...where })
      const wide = aPool({ addresses: ['10.0.0.0/24'], prefix: 24, ...mine })
      return conditionsOfPool(seenOf(wide, new SpaceIndex(), [other])).find(({ type }) => type === 'Overlapping')
    }
    const said = messageOf({}, {})
    expect(said?.message).toContain(`${text} lists some of these addresses too`)
    expect(JSON.stringify(said)).not.toMatch(/secret|elsewhere|10\.0\.0/)
    if (where.namespace === '') expect(messageOf({ space: 'blue' }, { space: 'blue' })).toEqual(said)
  })

  test('everything to the readers of a pool of the cluster', () => {
    const other = aPool({ addresses: ['10.0.0.11', '10.0.0.20'], prefix: 24 }, { name: 'lab', namespace: 'elsewhere' })
    const pool = aPool({ addresses: ['10.0.0.0/24'], prefix: 24 }, { kind: 'ClusterAddressPool', namespace: '' })
    const facts = conditionsOfPool(seenOf(pool, new SpaceIndex(), [other]))
    expect(JSON.stringify(facts)).toContain('AddressPool elsewhere/lab lists 10.0.0.11 and 1 more range too')
  })

  test('the same in the same bytes, and when a thing came about only once', () => {
    const pool = aPool(spec)
    const first = statusOfPool(seenOf(pool, new SpaceIndex()), [], now)
    const second = statusOfPool(seenOf(pool, new SpaceIndex()), first.conditions, later)
    expect(JSON.stringify(second)).toBe(JSON.stringify(first))
    expect(second.conditions).toBe(first.conditions)
    const full = statusOfPool(
      seenOf(pool, holding(pool, '10.0.0.10', '10.0.0.11', '10.0.0.12')),
      first.conditions,
      later,
    )
    const times = full.conditions.map(({ type, lastTransitionTime }) => [type, lastTransitionTime])
    expect(times).toEqual([
      ['Ready', now],
      ['Exhausted', later],
      ['Overlapping', now],
    ])
  })

  test('nothing any more about what no longer applies, and leaves conditions of others alone', () => {
    const foreign = { type: 'Audited', status: 'True', reason: 'ByHand', message: '', lastTransitionTime: now } as const
    const drained = {
      type: 'Drained',
      status: 'True',
      reason: 'NoHolders',
      message: '',
      lastTransitionTime: now,
    } as const
    const { conditions } = statusOfPool(seenOf(aPool(spec), new SpaceIndex()), [foreign, drained], later)
    expect(conditions.map(({ type }) => type)).toEqual(['Audited', 'Ready', 'Exhausted', 'Overlapping'])
  })

  test('its counts under the names its kind has for them, exact up to 64 bits', () => {
    const pool = aPool({ addresses: ['fd00::/64'], prefix: 64 }, { kind: 'InClusterIPPool' })
    expect(statusOfPool(seenOf(pool, holding(pool, 'fd00::5', 'fd01::5')), [], now)).toMatchObject({
      ipAddresses: { total: 2n ** 63n - 1n, free: 2n ** 63n - 1n, used: 2, outOfRange: 1 },
      observedGeneration: 3,
    })
    const ours = aPool({ ...spec, preAllocations: { a: '10.0.0.10' } })
    expect(statusOfPool(seenOf(ours, holding(ours, '10.0.0.11')), [], now)).toMatchObject({
      addresses: { total: 3, free: 1, held: 1, quarantined: 0, reserved: 1, draining: 0, outOfRange: 0 },
    })
  })

  test('never a negative number, although more is held than it offers', () => {
    const pool = aPool({ addresses: ['10.0.0.10'], prefix: 24 }, { kind: 'InClusterIPPool' })
    const seen = seenOf(pool, holding(pool, '10.0.0.10', '10.0.1.1', '10.0.1.2'))
    expect(statusOfPool(seen, [], now)).toMatchObject({ ipAddresses: { total: 1, free: 0, used: 3, outOfRange: 2 } })
  })
})
