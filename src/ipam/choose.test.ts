import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import type { Pool } from '../api/pool.ts'
import { toPool } from '../api/to-pool.ts'
import { type IP, parseIP, toIPText } from '../ip/address.ts'
import { type Choice, choose, type Wish } from './choose.ts'
import { type IndexedHold, SpaceIndex } from './space-index.ts'

const ip = (text: string) => orThrow(parseIP(text))

function aPool(spec: Record<string, unknown>, { kind = 'ClusterAddressPool', metadata = {} } = {}): Pool {
  return orThrow(toPool({ apiVersion: 'mooring.dev/v1alpha1', kind, metadata: { name: 'vms', ...metadata }, spec }))
}

function aPrefixPool(spec: Record<string, unknown>): Pool {
  const apiVersion = 'ipam.cluster.x-k8s.io/v1alpha2'
  return orThrow(toPool({ apiVersion, kind: 'GlobalInClusterPrefixPool', metadata: { name: 'nets' }, spec }))
}

const claimOf = (name: string, namespace = 'default') => ({
  apiGroup: 'ipam.cluster.x-k8s.io',
  kind: 'IPAddressClaim',
  namespace,
  name,
  uid: `uid-of-${namespace}-${name}`,
})

const aWish = (wish: Partial<Wish> = {}): Wish => ({
  claim: claimOf('web'),
  namespaceLabels: {},
  owner: undefined,
  keptFor: ['default/web', 'web'],
  requested: undefined,
  random: 0,
  ...wish,
})

function aHold(pool: Pool, address: string, hold: Partial<IndexedHold> = {}): IndexedHold {
  return {
    ip: ip(address),
    bits: pool.bits,
    pool: pool.identity,
    claim: claimOf('neighbour'),
    owner: undefined,
    state: 'held',
    since: '2030-01-01T00:00:00Z',
    ...hold,
  }
}

function holding(pool: Pool, ...addresses: string[]): SpaceIndex {
  const index = new SpaceIndex()
  for (const address of addresses) index.put(aHold(pool, address))
  return index
}

const outcomeOf = (choice: Choice): string =>
  choice.kind === 'refused' ? choice.reason : `${choice.kind} ${toIPText(choice.ip)}`

describe('a claim that asks for nothing in particular', () => {
  const pool = aPool({ addresses: ['10.0.0.0/29'], prefix: 29, gateway: '10.0.0.1' })

  test('gets the lowest address that is neither reserved nor the gateway', () => {
    expect(outcomeOf(choose(pool, new SpaceIndex(), aWish()))).toBe('take 10.0.0.2')
  })

  test('gets the lowest free one, whatever the order of the list', () => {
    const listed = aPool({ addresses: ['10.0.0.3', '10.0.0.2'], prefix: 24 })
    expect(outcomeOf(choose(listed, new SpaceIndex(), aWish()))).toBe('take 10.0.0.2')
    expect(outcomeOf(choose(listed, holding(listed, '10.0.0.2'), aWish()))).toBe('take 10.0.0.3')
  })

  test('reads that none is left, in the words that users already search their logs for', () => {
    const full = holding(pool, '10.0.0.2', '10.0.0.3', '10.0.0.4', '10.0.0.5', '10.0.0.6')
    const choice = choose(pool, full, aWish())
    expect(outcomeOf(choice)).toBe('PoolExhausted')
    expect(choice).toMatchObject({ message: expect.stringContaining('no address available') })
  })

  test('finds the address it left in quarantine, and another claim does not get it', () => {
    const index = new SpaceIndex()
    index.put(aHold(pool, '10.0.0.4', { claim: claimOf('web'), state: 'quarantined' }))
    index.put(aHold(pool, '10.0.0.2', { state: 'quarantined' }))
    expect(outcomeOf(choose(pool, index, aWish()))).toBe('retake 10.0.0.4')
    expect(outcomeOf(choose(pool, index, aWish({ claim: claimOf('new') })))).toBe('take 10.0.0.3')
  })

  test('finds the address that its machine had under a claim of another name', () => {
    const machine = { apiGroup: 'cluster.x-k8s.io', kind: 'Machine', namespace: 'default', name: 'm-1' }
    const index = new SpaceIndex()
    index.put(aHold(pool, '10.0.0.5', { owner: machine, state: 'quarantined' }))
    expect(outcomeOf(choose(pool, index, aWish({ owner: machine })))).toBe('retake 10.0.0.5')
  })

  test('finds its own address before a lower one that another claim of the same machine had', () => {
    const machine = { apiGroup: 'cluster.x-k8s.io', kind: 'Machine', namespace: 'default', name: 'm-1' }
    const index = new SpaceIndex()
    index.put(aHold(pool, '10.0.0.4', { owner: machine, state: 'quarantined' }))
    index.put(aHold(pool, '10.0.0.5', { claim: claimOf('web'), owner: machine, state: 'quarantined' }))
    expect(outcomeOf(choose(pool, index, aWish({ owner: machine })))).toBe('retake 10.0.0.5')
  })

  test('gets back what it left in a namespace with the same uid, or with one that was not noted', () => {
    const left = (namespaceUID?: string) => {
      const index = new SpaceIndex()
      const claim = { ...claimOf('web'), ...(namespaceUID !== undefined && { namespaceUID }) }
      index.put(aHold(pool, '10.0.0.4', { claim, state: 'quarantined' }))
      return index
    }
    const wish = (namespaceUID: string) => aWish({ claim: { ...claimOf('web'), namespaceUID } })
    expect(outcomeOf(choose(pool, left('one'), wish('one')))).toBe('retake 10.0.0.4')
    expect(outcomeOf(choose(pool, left(), wish('one')))).toBe('retake 10.0.0.4')
    expect(outcomeOf(choose(pool, left('one'), wish('other')))).toBe('take 10.0.0.2')
    expect(outcomeOf(choose(pool, left('one'), aWish()))).toBe('take 10.0.0.2')
  })

  test('does not get back what another object shows meanwhile', () => {
    const index = new SpaceIndex()
    index.put(aHold(pool, '10.0.0.4', { claim: claimOf('web'), state: 'quarantined' }))
    const isShown = (one: IP) => toIPText(one) === '10.0.0.4'
    expect(outcomeOf(choose(pool, index, aWish({ isShown })))).toBe('take 10.0.0.2')
    expect(outcomeOf(choose(pool, index, aWish({ isShown, requested: '10.0.0.4' })))).toBe('AddressQuarantined')
  })

  test('does not get back what has been excluded or is being drained meanwhile', () => {
    const index = new SpaceIndex()
    index.put(aHold(pool, '10.0.0.4', { claim: claimOf('web'), state: 'quarantined' }))
    const spec = { addresses: ['10.0.0.0/29'], prefix: 29 }
    expect(outcomeOf(choose(aPool({ ...spec, excludedAddresses: ['10.0.0.4'] }), index, aWish()))).toBe('take 10.0.0.1')
    expect(outcomeOf(choose(aPool({ ...spec, draining: ['10.0.0.4-10.0.0.6'] }), index, aWish()))).toBe('take 10.0.0.1')
  })
})

describe('a claim that asks for an address', () => {
  const pool = aPool({
    addresses: ['10.0.0.0/24'],
    prefix: 24,
    gateway: '10.0.0.1',
    excludedAddresses: ['10.0.0.7'],
    draining: ['10.0.0.200-10.0.0.210'],
    preAllocations: { 'db-0': '10.0.0.50', 'prod/db-1': '10.0.0.51' },
  })
  const index = holding(pool, '10.0.0.9')
  index.put(aHold(pool, '10.0.0.10', { state: 'quarantined' }))
  index.put(aHold(pool, '10.0.0.11', { state: 'quarantined', claim: claimOf('web') }))

  test.each([
    ['10.0.0.20', 'take 10.0.0.20'],
    ['10.0.0.11', 'retake 10.0.0.11'],
    ['10.0.0.9', 'AddressInUse'],
    ['10.0.0.10', 'AddressQuarantined'],
    ['10.0.0.7', 'AddressExcluded'],
    ['10.0.0.1', 'AddressReserved'],
    ['10.0.0.0', 'AddressReserved'],
    ['10.0.0.255', 'AddressReserved'],
    ['10.0.0.50', 'AddressReserved'],
    ['10.0.0.205', 'AddressDraining'],
    ['10.0.1.4', 'AddressOutOfRange'],
    ['fd00::1', 'WrongFamily'],
    ['not-a-valid-ip', 'NotAnAddress'],
    ['10.0.0.020', 'NotAnAddress'],
  ])('%s: %s', (requested, outcome) => {
    expect(outcomeOf(choose(pool, index, aWish({ requested })))).toBe(outcome)
  })

  test('never learns which other claim holds it', () => {
    const choice = choose(pool, index, aWish({ requested: '10.0.0.9' }))
    expect(JSON.stringify(choice)).not.toContain('neighbour')
  })

  test('gets what the pool keeps for it, by name or by namespace and name', () => {
    expect(outcomeOf(choose(pool, index, aWish({ keptFor: ['any/db-0', 'db-0'] })))).toBe('take 10.0.0.50')
    expect(outcomeOf(choose(pool, index, aWish({ keptFor: ['prod/db-1', 'db-1'] })))).toBe('take 10.0.0.51')
    expect(outcomeOf(choose(pool, index, aWish({ claim: claimOf('new'), keptFor: ['dev/db-1', 'db-1'] })))).toBe(
      'take 10.0.0.2',
    )
  })

  test('gets what is kept under the first of its keys that has something', () => {
    expect(outcomeOf(choose(pool, index, aWish({ keptFor: ['02:00:5e:10:00:01', 'prod/db-1', 'db-0'] })))).toBe(
      'take 10.0.0.51',
    )
  })

  test('may ask for exactly what is kept for it, in any spelling, and for nothing else', () => {
    const v6 = aPool({ addresses: ['2001:db8::/64'], prefix: 64, preAllocations: { web: '2001:db8::0005' } })
    expect(outcomeOf(choose(v6, new SpaceIndex(), aWish({ requested: '2001:DB8:0::5' })))).toBe('take 2001:db8::5')
    expect(outcomeOf(choose(v6, new SpaceIndex(), aWish({ requested: '2001:db8::6' })))).toBe('RequestsConflict')
  })
})

describe('a claim that may not', () => {
  const spec = { addresses: ['10.0.0.0/24'], prefix: 24 }
  const clusterClaim = { ...claimOf('web'), clusterName: 'blue' }

  test.each([
    ['PoolDeleting', aPool(spec, { metadata: { deletionTimestamp: '2030-01-01T00:00:00Z' } })],
    ['PoolPaused', aPool(spec, { metadata: { annotations: { 'cluster.x-k8s.io/paused': 'false' } } })],
    ['NamespaceNotAllowed', aPool({ ...spec, allowedNamespaces: { matchLabels: { team: 'blue' } } })],
    ['QuotaReached', aPool({ ...spec, quota: { perNamespace: 1 } })],
    ['QuotaReached', aPool({ ...spec, quota: { perCluster: 1 } })],
  ])('is refused with %s', (reason, pool) => {
    const index = new SpaceIndex()
    index.put(aHold(pool, '10.0.0.9', { claim: { ...clusterClaim, name: 'first' } }))
    expect(outcomeOf(choose(pool, index, aWish({ claim: clusterClaim })))).toBe(reason)
  })

  describe('while too much rests that its namespace released', () => {
    const pool = aPool({ ...spec, quota: { perNamespaceQuarantined: 1 } })
    const index = new SpaceIndex()
    const resting = ['10.0.0.9', '10.0.0.8', '10.0.0.7']
    resting.forEach((address, i) => {
      const until = `2030-01-0${i + 1}T00:00:00Z`
      index.put(aHold(pool, address, { claim: claimOf(`left-${i}`), state: 'quarantined', until }))
    })

    test('reads until when, and nothing of others', () => {
      expect(choose(pool, index, aWish())).toEqual({
        kind: 'refused',
        reason: 'RestQuotaReached',
        message:
          'more addresses that namespace default released of ClusterAddressPool vms rest than ' +
          'spec.quota.perNamespaceQuarantined allows: the claim is served after 2030-01-02T00:00:00Z, or under the name of ' +
          'a released claim',
      })
    })

    test('gets back what it left, and a claim of another namespace is served', () => {
      expect(outcomeOf(choose(pool, index, aWish({ claim: claimOf('left-1') })))).toBe('retake 10.0.0.8')
      expect(outcomeOf(choose(pool, index, aWish({ claim: claimOf('web', 'prod') })))).toBe('take 10.0.0.1')
    })

    test('may have a new one when no more rest than may', () => {
      const fewer = new SpaceIndex()
      fewer.put(aHold(pool, '10.0.0.9', { claim: claimOf('left'), state: 'quarantined' }))
      expect(outcomeOf(choose(pool, fewer, aWish()))).toBe('take 10.0.0.1')
    })
  })

  test('reads how much its namespace may hold', () => {
    const pool = aPool({ ...spec, quota: { perNamespace: 1 } })
    expect(choose(pool, holding(pool, '10.0.0.9'), aWish())).toMatchObject({
      message:
        'namespace default already holds its quota of 1 address of ClusterAddressPool vms: delete a claim of it, or have ' +
        'spec.quota.perNamespace raised',
    })
  })

  test('waits while it is not decided which space its pool is in', () => {
    const pool = aPool({ ...spec, space: 'blue' }, { kind: 'AddressPool', metadata: { namespace: 'default' } })
    expect(outcomeOf(choose(pool, new SpaceIndex(), aWish()))).toBe('SpaceUndecided')
  })

  test('is not counted against what others hold', () => {
    const pool = aPool({ ...spec, quota: { perNamespace: 1, perCluster: 1 } })
    const index = new SpaceIndex()
    index.put(aHold(pool, '10.0.0.9', { claim: { ...clusterClaim, namespace: 'prod' } }))
    index.put(aHold(pool, '10.0.0.10', { claim: clusterClaim, state: 'quarantined' }))
    expect(outcomeOf(choose(pool, index, aWish({ claim: { ...clusterClaim, name: 'new' } })))).toBe('take 10.0.0.1')
  })

  test('gets in once its namespace carries the label', () => {
    const pool = aPool({ ...spec, allowedNamespaces: { matchLabels: { team: 'blue' } } })
    expect(outcomeOf(choose(pool, new SpaceIndex(), aWish({ namespaceLabels: { team: 'blue' } })))).toBe(
      'take 10.0.0.1',
    )
    expect(outcomeOf(choose(pool, new SpaceIndex(), aWish({ namespaceLabels: undefined })))).toBe('NamespaceNotAllowed')
  })
})

describe('a pool with a strategy', () => {
  test('random begins anywhere and finds the last free one', () => {
    const pool = aPool({ addresses: ['10.0.0.1-10.0.0.4'], prefix: 24, strategy: 'random' })
    expect(outcomeOf(choose(pool, new SpaceIndex(), aWish({ random: 0.5 })))).toBe('take 10.0.0.3')
    expect(outcomeOf(choose(pool, new SpaceIndex(), aWish({ random: 1 - 2 ** -53 })))).toBe('take 10.0.0.4')
    const nearlyFull = holding(pool, '10.0.0.2', '10.0.0.3', '10.0.0.4')
    expect(outcomeOf(choose(pool, nearlyFull, aWish({ random: 0.9 })))).toBe('take 10.0.0.1')
  })

  test('least recently used prefers what no claim had, then what was given back longest ago', () => {
    const pool = aPool({ addresses: ['10.0.0.1-10.0.0.3'], prefix: 24, strategy: 'leastRecentlyUsed' })
    const index = holding(pool, '10.0.0.1', '10.0.0.2')
    index.remove({ ip: ip('10.0.0.2'), bits: 32 }, 1_000)
    index.remove({ ip: ip('10.0.0.1'), bits: 32 }, 2_000)
    expect(outcomeOf(choose(pool, index, aWish()))).toBe('take 10.0.0.3')
    index.put(aHold(pool, '10.0.0.3'))
    expect(outcomeOf(choose(pool, index, aWish()))).toBe('take 10.0.0.2')
    index.put(aHold(pool, '10.0.0.2'))
    expect(outcomeOf(choose(pool, index, aWish()))).toBe('take 10.0.0.1')
  })
})

describe('a pool of prefixes', () => {
  const pool = aPrefixPool({ prefixes: ['fd00::/62'], gateway: 'fd00::1' })

  test('gives the lowest free one, the first included', () => {
    expect(outcomeOf(choose(pool, new SpaceIndex(), aWish()))).toBe('take fd00::')
    expect(outcomeOf(choose(pool, holding(pool, 'fd00::'), aWish()))).toBe('take fd00:0:0:1::')
  })

  test('takes a request as its first address or as a CIDR', () => {
    expect(outcomeOf(choose(pool, new SpaceIndex(), aWish({ requested: 'fd00:0:0:2::' })))).toBe('take fd00:0:0:2::')
    expect(outcomeOf(choose(pool, new SpaceIndex(), aWish({ requested: 'fd00:0:0:2::/64' })))).toBe('take fd00:0:0:2::')
    expect(outcomeOf(choose(pool, new SpaceIndex(), aWish({ requested: 'fd00:0:0:2::/63' })))).toBe('NotCanonical')
    expect(outcomeOf(choose(pool, new SpaceIndex(), aWish({ requested: 'fd00:0:0:2::7' })))).toBe('NotCanonical')
  })

  test('steps over what holds of another length cover', () => {
    const index = new SpaceIndex()
    index.put({ ...aHold(pool, 'fd00::'), bits: 63 })
    index.put({ ...aHold(pool, 'fd00:0:0:2::7'), bits: 128 })
    expect(outcomeOf(choose(pool, index, aWish()))).toBe('take fd00:0:0:3::')
  })
})
