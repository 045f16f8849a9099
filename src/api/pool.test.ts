import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { claimablePoolKinds } from './ip-address-claim.ts'
import { poolKey } from './pool.ts'
import { ownPoolKinds, toPool } from './to-pool.ts'

function anAddressPool(asked: string | undefined, given?: unknown, kind = 'AddressPool') {
  return {
    apiVersion: 'mooring.dev/v1alpha1',
    kind,
    metadata: { name: 'vms', ...(kind === 'AddressPool' && { namespace: 'team-a' }) },
    spec: { addresses: ['10.0.0.0/24'], prefix: 24, ...(asked !== undefined && { space: asked }) },
    ...(given !== undefined && { status: { space: given } }),
  }
}

test('a pool of which thousands of entries are wrong says so in a sentence that a condition can hold', () => {
  const wrong = anAddressPool(undefined)
  const addresses = ['10.0.0.1', ...Array(3_000).fill('\u202e10.0.0.300')]
  const pool = toPool({ ...wrong, spec: { ...wrong.spec, addresses } })
  expect(pool).toHaveProperty('malformed', expect.stringMatching(/^spec.addresses\[1\] .*; and 2990 more$/))
  expect(pool).toHaveProperty(
    'malformed.length',
    expect.toSatisfy((length: number) => length < 32_768),
  )
})

describe('the space of a pool', () => {
  test.each([
    ['its own, where it asks for none', anAddressPool(undefined), undefined, 'AddressPool.mooring.dev/team-a/vms'],
    [
      'its own, whatever its status says',
      anAddressPool(undefined, 'blue'),
      undefined,
      'AddressPool.mooring.dev/team-a/vms',
    ],
    ['the one a pool of the cluster names', anAddressPool('Blue_1', 'red', 'ClusterAddressPool'), 'Blue_1', 'Blue_1'],
    ['undecided, where nothing is stored', anAddressPool('blue'), 'blue', ''],
    ['the one it joined', anAddressPool('blue', 'blue'), 'blue', 'blue'],
    ["its namespace's own", anAddressPool('blue', 'team-a/blue'), 'blue', 'team-a/blue'],
    ['undecided, where another is stored', anAddressPool('blue', 'red'), 'blue', ''],
    ["undecided, where another namespace's is stored", anAddressPool('blue', 'team-b/blue'), 'blue', ''],
  ])('is %s', (_, object, spaceAsked, space) => {
    expect(toPool(object)).toMatchObject({ spaceAsked, space })
  })

  test('that no network can be called is malformed', () => {
    expect(toPool(anAddressPool('-blue'))).toHaveProperty('malformed', expect.stringContaining('spec.space "-blue"'))
  })
})

describe('the key of a pool', () => {
  const pool = orThrow(toPool(anAddressPool(undefined)))

  test('is that of its object, and names the family only where the object has both', () => {
    expect(pool && poolKey(pool)).toBe('AddressPool.mooring.dev/team-a/vms')
    expect(pool && poolKey({ ...pool, isOneOfTwo: true })).toBe('AddressPool.mooring.dev/team-a/vms IPv4')
    expect(pool && poolKey({ ...pool, isOneOfTwo: true, family: 6 })).toBe('AddressPool.mooring.dev/team-a/vms IPv6')
  })
})

test('an object that is no pool makes none, and says why', () => {
  expect(toPool({ kind: 'Node', apiVersion: 'v1' })).toHaveProperty('malformed')
})

test('every pool that a claim may name is one whose status we write', () => {
  expect(claimablePoolKinds.filter(kind => !ownPoolKinds.includes(kind))).toEqual([])
})
