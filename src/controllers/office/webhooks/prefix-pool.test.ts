import { describe, expect, test } from 'vitest'
import { held, nothing } from '../../../../test/harness/pool-facts.ts'
import { reasonsOf } from '../../../../test/harness/reasons-of.ts'
import type { PoolFacts } from '../pool-facts.ts'
import { admitPrefixPool, prefixPoolDefaults } from './prefix-pool.ts'

type Spec = Record<string, unknown>

const kinds = ['InClusterPrefixPool', 'GlobalInClusterPrefixPool'] as const

function aPool(spec: Spec, kind: string = 'InClusterPrefixPool') {
  const namespace = kind === 'InClusterPrefixPool' ? { namespace: 'default' } : {}
  return { apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2', kind, metadata: { name: 'nodes', ...namespace }, spec }
}

const good: Spec = { prefixes: ['fd00::/62'], allocationPrefixLength: 64 }

const create = (spec: Spec) => admitPrefixPool(undefined, aPool(spec), nothing)

describe('a spec that is wrong', () => {
  test.each<[string, Spec, string]>([
    ['lists nothing', { prefixes: [] }, 'spec.prefixes: Invalid value: []: prefixes is required'],
    [
      'lists a host',
      { prefixes: ['fd00::1'] },
      'spec.prefixes[0]: Invalid value: "fd00::1": provided entry is not a valid IPv6 CIDR: ' +
        '"fd00::1" is not a CIDR: write an address, "/" and a prefix length, such as 10.0.0.0/24',
    ],
    [
      'lists a host with a length',
      { prefixes: ['fd00::1/64'] },
      'spec.prefixes[0]: Invalid value: "fd00::1/64": CIDR must be network-aligned',
    ],
    [
      'lists less than one prefix',
      { prefixes: ['fd00::/65'], allocationPrefixLength: 64 },
      'spec.prefixes[0]: Invalid value: "fd00::/65": CIDR prefix length must be <= allocationPrefixLength (64)',
    ],
    [
      'lists IPv4',
      { prefixes: ['10.0.0.0/8'] },
      'spec.prefixes[0]: Invalid value: "10.0.0.0/8": only IPv6 prefixes are supported',
    ],
    [
      'has a gateway of IPv4',
      { ...good, gateway: '10.0.0.1' },
      'spec.gateway: Invalid value: "10.0.0.1": provided gateway must be IPv6',
    ],
    [
      'has a gateway that is no address',
      { ...good, gateway: 'invalid' },
      'spec.gateway: Invalid value: "invalid": ParseAddr("invalid"): unable to parse IP',
    ],
    [
      'excludes IPv4',
      { ...good, excludedPrefixes: ['10.0.0.0/24'] },
      'spec.excludedPrefixes[0]: Invalid value: "10.0.0.0/24": only IPv6 excluded prefixes are supported',
    ],
    [
      'excludes garbage',
      { ...good, excludedPrefixes: ['garbage'] },
      'spec.excludedPrefixes[0]: Invalid value: "garbage": provided entry is not a valid IP, range, nor CIDR: ' +
        '"garbage" is not an IP address: write one such as 192.0.2.1 or 2001:db8::1',
    ],
    [
      'gives out more than an address has',
      { ...good, allocationPrefixLength: 129 },
      'spec.allocationPrefixLength: Invalid value: 129: allocationPrefixLength must be between 1 and 128',
    ],
    [
      'gives out a negative length',
      { ...good, allocationPrefixLength: -1 },
      'spec.allocationPrefixLength: Invalid value: -1: allocationPrefixLength must be between 1 and 128',
    ],
  ])('is refused if it %s', (_, spec, fault) => {
    expect(create(spec)).toMatchObject({ kind: 'invalid' })
    expect(reasonsOf(create(spec))).toEqual([fault])
    expect(reasonsOf(admitPrefixPool(aPool(good), aPool(spec), nothing))).toEqual([fault])
    expect(admitPrefixPool(aPool(spec), undefined, nothing).kind).toBe('allowed')
  })
})

describe('a spec that is right', () => {
  test.each<[string, Spec, readonly string[]]>([
    ['prefixes of the usual length', good, []],
    ['no length', { prefixes: ['fd00::/48'] }, []],
    ['a gateway outside, and the usual length', { ...good, gateway: 'fd10::1' }, []],
    ['a gateway inside, and the usual length', { ...good, gateway: 'fd00::1' }, []],
  ])('is accepted without a warning: %s', (_, spec, warnings) => {
    expect(create(spec)).toEqual({ kind: 'allowed', warnings })
  })

  test('warns that a length of 128 gives out addresses', () => {
    const { kind, warnings } = create({ prefixes: ['fd00::/120'], allocationPrefixLength: 128 })
    expect(kind).toBe('allowed')
    expect(warnings).toEqual([expect.stringContaining('behaves like host-address allocation')])
  })

  test('warns that a gateway among the addresses may be given out too', () => {
    const { warnings } = create({ prefixes: ['fd00::/120'], allocationPrefixLength: 128, gateway: 'fd00::1' })
    expect(warnings).toEqual([
      expect.stringContaining('behaves like host-address allocation'),
      expect.stringContaining('fd00::1 is inside spec.prefixes'),
    ])
  })
})

describe.each(kinds)('a change of %s', kind => {
  const update = (old: Spec, next: Spec, facts: PoolFacts) =>
    admitPrefixPool(aPool(old, kind), aPool(next, kind), facts)

  test('is refused when it cuts off a prefix that is held', () => {
    const next = { ...good, prefixes: ['fd00:0:0:1::/64'] }
    expect(update(good, next, held('fd00:0:0:2::/64', 'fd00::/64'))).toMatchObject({
      kind: 'refused',
      message: 'existing allocations become non-allocatable: [fd00:: fd00:0:0:2::]',
    })
  })

  test('is refused when it excludes one address of a prefix that is held', () => {
    const next = { ...good, excludedPrefixes: ['fd00::7'] }
    expect(update(good, next, held('fd00::/64'))).toMatchObject({
      message: 'existing allocations become non-allocatable: [fd00::]',
    })
  })

  test('is accepted when no claim holds what goes', () => {
    const next = { ...good, prefixes: ['fd00:0:0:1::/64'] }
    expect(update(good, next, held('fd00:0:0:1::/64')).kind).toBe('allowed')
  })

  test('is refused when it changes the length of what is given out', () => {
    const [old, next] = [{ prefixes: ['fd00::/48'], allocationPrefixLength: 56 }, { prefixes: ['fd00::/48'] }]
    expect(update(old, next, nothing)).toMatchObject({ message: 'spec.allocationPrefixLength is immutable' })
  })

  test('is accepted when it writes out the length that was meant', () => {
    const [old, next] = [{ prefixes: ['fd00::/48'] }, { prefixes: ['fd00::/48'], allocationPrefixLength: 64 }]
    expect(update(old, next, nothing).kind).toBe('allowed')
  })

  test('is refused as a deletion while a prefix is held', () => {
    expect(admitPrefixPool(aPool(good, kind), undefined, held('fd00::/64')).kind).toBe('refused')
  })
})

describe('defaults', () => {
  const usual = { op: 'add', path: '/spec/allocationPrefixLength', value: 64 }

  test.each([
    [{ prefixes: [] }, [usual]],
    [{ allocationPrefixLength: 0 }, [usual]],
    [{ allocationPrefixLength: 56 }, undefined],
  ])('of %j are %j', (spec, patch) => {
    expect(prefixPoolDefaults(aPool(spec))).toEqual({ kind: 'allowed', warnings: [], ...(patch && { patch }) })
  })

  test('of a pool without a spec are none: a patch could not be applied', () => {
    expect(prefixPoolDefaults({ metadata: { name: 'vms' } })).toEqual({ kind: 'allowed', warnings: [] })
  })
})
