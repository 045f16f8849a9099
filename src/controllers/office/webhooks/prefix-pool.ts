// The webhooks of InClusterPrefixPools and GlobalInClusterPrefixPools: pools whose claims get a whole IPv6 prefix.

import { type Fault, invalid } from '../../../admission/fault.ts'
import { allowed, patched, type Ruling } from '../../../admission/ruling.ts'
import { type Fields, fieldOf, integerAt, specOf, textAt, textsAt } from '../../../admission/spec.ts'
import type { Pool } from '../../../api/pool.ts'
import { allocationPrefixLengthDefault } from '../../../api/prefix-pool.ts'
import { isRecord } from '../../../api/shape.ts'
import { toIPText } from '../../../ip/address.ts'
import { hasHostBits, parseCIDR } from '../../../ip/cidr.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { hasIP } from '../../../ip/range-set.ts'
import type { PoolFacts } from '../pool-facts.ts'
import { readEntries } from './entries.ts'
import { parseGateway } from './gateway.ts'
import { outside } from './in-cluster-pool.ts'
import { admitPool, lostPrefixes, nothingOffered, type PoolRules } from './pool-change.ts'
import { specialWarnings } from './special-ranges.ts'

/** `old` is undefined on create, `next` on delete. */
export const admitPrefixPool = (old: unknown, next: unknown, facts: PoolFacts, isCallerProven = false): Ruling =>
  admitPool(rules, { old, next, isCallerProven }, facts)

/** The faults of a pool without a spec are reported by the validating webhook. */
export function prefixPoolDefaults(object: unknown): Ruling {
  const length = fieldOf(specOf(object), 'allocationPrefixLength')
  const isMissing = length === undefined || length === 0
  if (!isMissing || !isRecord(object) || !isRecord(object.spec)) return allowed()
  return patched([{ op: 'add', path: '/spec/allocationPrefixLength', value: allocationPrefixLengthDefault }])
}

const rules: PoolRules = {
  faults: object => prefixFaults(specOf(object)),
  warnings: (object, pool) => prefixWarnings(specOf(object), pool),
  refusal: (old, next) =>
    lengthOf(specOf(old)) === lengthOf(specOf(next)) ? undefined : 'spec.allocationPrefixLength is immutable',
  lost: lostPrefixes,
}

function lengthOf(spec: Fields, faults: Fault[] = []): number | undefined {
  const length = integerAt(spec, 'allocationPrefixLength', faults)
  return length === 0 ? allocationPrefixLengthDefault : length
}

function prefixFaults(spec: Fields): Fault[] {
  const shape: Fault[] = []
  const prefixes = textsAt(spec, 'prefixes', shape)
  const length = lengthOf(spec, shape)
  const gateway = textAt(spec, 'gateway', shape)
  const excluded = textsAt(spec, 'excludedPrefixes', shape)
  if (length === undefined || shape.length > 0) return shape
  const isLength = length >= 1 && length <= 128
  const faults: Fault[] = []
  if (prefixes.length === 0) faults.push(invalid('spec.prefixes', fieldOf(spec, 'prefixes'), 'prefixes is required'))
  for (const [at, text] of prefixes.entries()) faults.push(...sourceFaults(text, at, isLength ? length : 128))
  if (!isLength) {
    const value = fieldOf(spec, 'allocationPrefixLength')
    faults.push(invalid('spec.allocationPrefixLength', value, 'allocationPrefixLength must be between 1 and 128'))
  }
  faults.push(...gatewayFaults(gateway), ...excludedFaults(excluded))
  return faults
}

/** One fault per entry: an entry that is no CIDR has no length to complain about. */
function sourceFaults(text: string, at: number, length: number): Fault[] {
  const cidr = parseCIDR(text)
  const fault = (problem: string): Fault[] => [invalid(`spec.prefixes[${at}]`, text, problem)]
  if (isMalformed(cidr)) return fault(`provided entry is not a valid IPv6 CIDR: ${cidr.malformed}`)
  if (cidr.ip.family === 4) return fault('only IPv6 prefixes are supported')
  if (hasHostBits(cidr)) return fault('CIDR must be network-aligned')
  if (cidr.bits > length) return fault(`CIDR prefix length must be <= allocationPrefixLength (${length})`)
  return []
}

function gatewayFaults(text: string): Fault[] {
  if (text === '') return []
  const gateway = parseGateway(text)
  if (isMalformed(gateway)) return [invalid('spec.gateway', text, gateway.malformed)]
  return gateway.family === 6 ? [] : [invalid('spec.gateway', text, 'provided gateway must be IPv6')]
}

function excludedFaults(texts: readonly string[]): Fault[] {
  const { entries, faults } = readEntries(
    texts,
    'spec.excludedPrefixes',
    'provided entry is not a valid IP, range, nor CIDR',
  )
  const ofOther = entries.filter(({ range }) => range.family === 4)
  return [
    ...faults,
    ...ofOther.map(({ at, text }) =>
      invalid(`spec.excludedPrefixes[${at}]`, text, 'only IPv6 excluded prefixes are supported'),
    ),
  ]
}

function prefixWarnings(spec: Fields, pool: Pool): string[] {
  const warnings: string[] = []
  if (pool.bits === 128) {
    warnings.push(
      'spec.allocationPrefixLength: 128 behaves like host-address allocation; InClusterIPPool is the kind for that',
    )
    if (pool.gateway !== undefined && hasIP(pool.addresses, pool.gateway)) {
      const gateway = toIPText(pool.gateway)
      warnings.push(`spec.gateway: ${gateway} is inside spec.prefixes and is not reserved: a claim may get it too`)
    }
  }
  const excluded = readEntries(textsAt(spec, 'excludedPrefixes', []), 'spec.excludedPrefixes')
  return [
    ...warnings,
    ...specialWarnings(pool, 'spec.prefixes'),
    ...outside(excluded, pool, 'spec.excludedPrefixes'),
    ...nothingOffered(pool),
  ]
}
