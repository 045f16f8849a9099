import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import type { Pool } from '../api/pool.ts'
import { toPool } from '../api/to-pool.ts'
import { parseCIDR } from '../ip/cidr.ts'
import { isMalformed } from '../ip/malformed.ts'
import { sizeOf } from '../ip/range-set.ts'
import { poolSetOf } from './pool-set.ts'
import { isOffered } from './prefixes.ts'

function aPool(spec: Record<string, unknown>, kind = 'InClusterIPPool'): Pool {
  const apiVersion = 'ipam.cluster.x-k8s.io/v1alpha2'
  return orThrow(toPool({ apiVersion, kind, metadata: { name: 'vms', namespace: 'default' }, spec }))
}

const total = (spec: Record<string, unknown>): bigint => poolSetOf(aPool(spec)).total

describe('what a pool offers', () => {
  test.each<[string, Record<string, unknown>, bigint]>([
    ['a range beside its gateway', { addresses: ['10.0.0.10-10.0.0.20'], prefix: 24, gateway: '10.0.0.1' }, 11n],
    ['a range around its gateway', { addresses: ['10.0.0.10-10.0.0.20'], prefix: 24, gateway: '10.0.0.10' }, 10n],
    ['no network address', { addresses: ['10.0.0.0-10.0.0.1'], prefix: 24, gateway: '10.0.0.2' }, 1n],
    ['a subnet of length 0', { addresses: ['192.168.0.3-192.168.0.10'], prefix: 0, gateway: '192.168.0.1' }, 8n],
    [
      'a /24 without an upper half',
      { addresses: ['10.0.0.0/24'], prefix: 24, excludedAddresses: ['10.0.0.128/25'], gateway: '10.0.0.1' },
      126n,
    ],
    [
      'a /24 without a range',
      { addresses: ['10.0.0.0/24'], prefix: 24, excludedAddresses: ['10.0.0.2-10.0.0.20'], gateway: '10.0.0.1' },
      234n,
    ],
    [
      'everything but the gateway, where reserved ones are given too',
      { addresses: ['10.0.0.0/24'], prefix: 24, gateway: '10.0.0.1', allocateReservedIPAddresses: true },
      255n,
    ],
    ['the last address of an IPv6 subnet', { addresses: ['fe80::ffff'], prefix: 120, gateway: 'fe80::a' }, 1n],
    ['an IPv6 subnet without its first address', { addresses: ['fd00::/120'], prefix: 120 }, 255n],
    [
      'no broadcast address of the subnet its lowest address spans',
      { addresses: ['192.168.0.1', '192.168.0.255', '192.168.255.255'], prefix: 16 },
      2n,
    ],
    ['both addresses of a /31', { addresses: ['10.0.0.0/31'], prefix: 31 }, 2n],
    ['the address of a /32', { addresses: ['10.0.0.7'], prefix: 32 }, 1n],
    ['both addresses of a /127', { addresses: ['fd00::/127'], prefix: 127 }, 2n],
    ['the address of a /128', { addresses: ['fd00::7'], prefix: 128 }, 1n],
    [
      'entries that overlap, once',
      { addresses: ['10.0.0.4-10.0.0.9', '10.0.0.8-10.0.0.12', '10.0.0.5'], prefix: 24 },
      9n,
    ],
    ['more than a number can count', { addresses: ['fe80::1/20'], prefix: 20 }, 2n ** 108n - 1n],
    ['nothing, if all is excluded', { addresses: ['10.0.0.4'], prefix: 24, excludedAddresses: ['10.0.0.0/24'] }, 0n],
  ])('%s', (_, spec, size) => {
    expect(total(spec)).toBe(size)
  })

  test.each([
    [{ addresses: [], prefix: 24 }, 'is empty'],
    [{ addresses: ['garbage'], prefix: 24 }, 'spec.addresses[0] "garbage"'],
    [{ addresses: ['10.0.0.1', 'nonsense', 'fd00::1'], prefix: 24 }, 'spec.addresses[1]'],
    [{ addresses: ['10.0.0.1'], prefix: 64 }, 'spec.prefix is 64, and IPv4 has 32 bits'],
    [{ addresses: ['10.0.0.1'], prefix: 24, gateway: 'fd00::1' }, 'spec.gateway is IPv6'],
    [{ addresses: ['10.0.0.1'], prefix: 24, excludedAddresses: ['fd00::1'] }, 'spec.excludedAddresses[0] is IPv6'],
  ])('%o is malformed, and it is said where', (spec, sentence) => {
    const apiVersion = 'ipam.cluster.x-k8s.io/v1alpha2'
    const pool = toPool({ apiVersion, kind: 'InClusterIPPool', metadata: { name: 'vms' }, spec })
    expect(isMalformed(pool) ? pool.malformed : '').toContain(sentence)
  })
})

describe('a pool of prefixes', () => {
  const prefixPool = (spec: Record<string, unknown>): Pool => aPool(spec, 'InClusterPrefixPool')

  test.each<[Record<string, unknown>, bigint]>([
    [{ prefixes: ['fd00::/62'] }, 4n],
    [{ prefixes: ['fd40::/48'], allocationPrefixLength: 56 }, 256n],
    [{ prefixes: ['fd00::/63', 'fd00::/62', 'fd00:0:0:8::/62'], allocationPrefixLength: 64 }, 8n],
    [{ prefixes: ['fd00::/62'], excludedPrefixes: ['fd00:0:0:1::7'] }, 3n],
    [{ prefixes: ['10.0.0.0/16'], allocationPrefixLength: 24 }, 256n],
  ])('%o offers %s', (spec, size) => {
    expect(sizeOf(poolSetOf(prefixPool(spec)).offered)).toBe(size)
  })

  test('offers whole prefixes of its own length only', () => {
    const pool = prefixPool({ prefixes: ['fd00::/62'], excludedPrefixes: ['fd00:0:0:3::/64'] })
    const offered = (text: string): boolean => isOffered(pool, orThrow(parseCIDR(text)))
    expect([offered('fd00:0:0:2::/64'), offered('fd00:0:0:3::/64'), offered('fd00:0:0:2::/63')]).toEqual([
      true,
      false,
      false,
    ])
  })
})
