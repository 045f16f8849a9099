// The webhook of InClusterIPPools and GlobalInClusterIPPools. The same specs are refused as ever, in the same words; what is
// accepted and probably not meant is warned about.

import { type Fault, invalid } from '../../../admission/fault.ts'
import type { Ruling } from '../../../admission/ruling.ts'
import { type Fields, fieldOf, integerAt, specOf, textAt, textsAt } from '../../../admission/spec.ts'
import { secondsMax } from '../../../api/in-cluster-pool.ts'
import type { Pool } from '../../../api/pool.ts'
import { bitsOf, type Family, fromValue, toIPText } from '../../../ip/address.ts'
import { toCIDR, toCIDRText, toNetwork } from '../../../ip/cidr.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { overlapsRange, type Range, rangeOfCIDR, toRangeText } from '../../../ip/range.ts'
import { hasIP, overlapsSet, toRangeSet } from '../../../ip/range-set.ts'
import { quarantineSecondsMax } from '../../../limits.ts'
import type { PoolFacts } from '../pool-facts.ts'
import { type Entries, familyOf, isMixed, mixedFamilies, readEntries } from './entries.ts'
import { gatewayFaults, parseGateway } from './gateway.ts'
import { admitPool, lostAddresses, nothingOffered, type PoolRules } from './pool-change.ts'
import { specialWarnings } from './special-ranges.ts'

/** `old` is undefined on create, `next` on delete. */
export const admitInClusterPool = (old: unknown, next: unknown, facts: PoolFacts, isCallerProven = false): Ruling =>
  admitPool(rules, { old, next, isCallerProven }, facts)

const rules: PoolRules = {
  faults: object => {
    const spec = specOf(object)
    return [...addressFaults(spec), ...graceFaults(spec)]
  },
  warnings: (object, pool) => [...addressWarnings(specOf(object), pool), ...graceWarnings(specOf(object))],
  lost: lostAddresses,
}

/** The fields that in-cluster pools share with ours. */
export function addressFaults(spec: Fields): Fault[] {
  const shape: Fault[] = []
  const texts = textsAt(spec, 'addresses', shape)
  const prefix = integerAt(spec, 'prefix', shape)
  const gateway = textAt(spec, 'gateway', shape)
  const addresses = readEntries(texts, 'spec.addresses')
  const excluded = readEntries(textsAt(spec, 'excludedAddresses', shape), 'spec.excludedAddresses')
  if (shape.length > 0) return shape
  const faults = [...listFaults(spec, addresses)]
  faults.push(...prefixFaults(spec, prefix ?? 0, addresses))
  faults.push(...gatewayFaults(gateway, addresses.families))
  faults.push(...excludedFaults(spec, addresses, excluded))
  return faults
}

function listFaults(spec: Fields, addresses: Entries): Fault[] {
  const value = fieldOf(spec, 'addresses')
  if (addresses.entries.length === 0 && addresses.faults.length === 0) {
    return [invalid('spec.addresses', value, 'addresses is required')]
  }
  if (!isMixed(addresses)) return [...addresses.faults]
  return [...addresses.faults, invalid('spec.addresses', value, mixedFamilies)]
}

/** The prefix, and with a good one whether all addresses are of the subnet that it spans from the lowest of them. */
function prefixFaults(spec: Fields, prefix: number, addresses: Entries): Fault[] {
  const value = fieldOf(spec, 'prefix')
  const family = familyOf(addresses)
  if (prefix < 0) return [invalid('spec.prefix', value, `a valid prefix is required: ${prefixAdvice(family)}`)]
  if (family === undefined) return []
  const subnet = subnetOf(family, prefix, addresses)
  if (subnet === undefined) {
    return [invalid('spec.prefix', value, `provided prefix is not valid: ${prefixAdvice(family)}`)]
  }
  const shown = toRangeText(subnet)
  return addresses.entries
    .filter(({ range }) => range.first < subnet.first || range.last > subnet.last)
    .map(({ at, text }) => {
      const problem = `provided address belongs to a different subnet than others: the lowest of them is in ${shown}`
      return invalid(`spec.addresses[${at}]`, text, problem)
    })
}

function prefixAdvice(family: Family | undefined): string {
  if (family === undefined) return 'write the length of the subnet, such as 24'
  return `write the length of the subnet, 0 to ${bitsOf(family)} for IPv${family}`
}

function subnetOf(family: Family, prefix: number, { entries }: Entries): Range | undefined {
  const lowest = toRangeSet(
    family,
    entries.map(({ range }) => range),
  ).ranges[0]
  if (lowest === undefined || prefix > bitsOf(family)) return undefined
  return rangeOfCIDR(toCIDR(fromValue(family, lowest.first), prefix))
}

function excludedFaults(spec: Fields, addresses: Entries, excluded: Entries): Fault[] {
  const value = fieldOf(spec, 'excludedAddresses')
  const faults = [...excluded.faults]
  if (isMixed(excluded)) faults.push(invalid('spec.excludedAddresses', value, mixedFamilies))
  const isOfOther = [...excluded.families].some(family => addresses.families.has(family === 4 ? 6 : 4))
  if (isOfOther) {
    const problem = 'addresses and excluded addresses are of mixed IP families'
    faults.push(invalid('spec.excludedAddresses', value, problem))
  }
  return faults
}

const graceField = 'addressReuseGracePeriodSeconds'

/** Existing pools may ask for more than counts: that is no fault of theirs, see the warnings. */
const graceFaults = (spec: Fields): Fault[] => secondsFaults(spec, graceField, secondsMax)

export function secondsFaults(spec: Fields, key: string, most: number): Fault[] {
  const faults: Fault[] = []
  const seconds = integerAt(spec, key, faults) ?? 0
  const value = fieldOf(spec, key)
  if (seconds < 0) faults.push(invalid(`spec.${key}`, value, `${key} must not be negative`))
  if (seconds > most) faults.push(invalid(`spec.${key}`, value, `${key} must not be more than ${most}`))
  return faults
}

// --- odd but legal ---

/** Of a spec without faults. */
export function addressWarnings(spec: Fields, pool: Pool): string[] {
  const addresses = readEntries(textsAt(spec, 'addresses', []), 'spec.addresses')
  const excluded = readEntries(textsAt(spec, 'excludedAddresses', []), 'spec.excludedAddresses')
  return [
    ...repeated(addresses),
    ...specialWarnings(pool, 'spec.addresses'),
    ...gatewayWarnings(textAt(spec, 'gateway', []), pool),
    ...outside(excluded, pool, 'spec.excludedAddresses'),
    ...nothingOffered(pool),
  ]
}

function graceWarnings(spec: Fields): string[] {
  const seconds = integerAt(spec, graceField, []) ?? 0
  if (seconds <= quarantineSecondsMax) return []
  return [`spec.${graceField}: ${seconds} counts as ${quarantineSecondsMax}, which is thirty days`]
}

/** Each entry is held against those before it; a list longer than this is made by a program that knows what it wants. */
const comparedMax = 500

function repeated({ entries }: Entries): string[] {
  if (entries.length > comparedMax) return []
  return entries.flatMap(({ text, range }, i) => {
    const before = entries.slice(0, i).find(other => overlapsRange(other.range, range))
    if (before === undefined) return []
    return [`spec.addresses[${i}]: ${text} shares addresses with ${before.text}; each is offered once`]
  })
}

function gatewayWarnings(text: string, pool: Pool): string[] {
  const gateway = text === '' ? undefined : parseGateway(text)
  const lowest = pool.addresses.ranges[0]
  // Prefix 0 says nothing about the subnet.
  if (gateway === undefined || isMalformed(gateway) || lowest === undefined || pool.prefix === 0) return []
  const subnet = toNetwork(toCIDR(fromValue(pool.family, lowest.first), pool.prefix))
  if (hasIP(toRangeSet(pool.family, [rangeOfCIDR(subnet)]), gateway)) return []
  return [`spec.gateway: ${toIPText(gateway)} is outside of the subnet ${toCIDRText(subnet)}`]
}

export function outside({ entries }: Entries, pool: Pool, field: string): string[] {
  return entries.flatMap(({ at, text, range }) => {
    if (range.family !== pool.family || overlapsSet(pool.addresses, { family: pool.family, ranges: [range] })) return []
    return [`${field}[${at}]: ${text} is not among the addresses of the pool and has no effect`]
  })
}
