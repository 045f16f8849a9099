// The webhook of AddressPools and ClusterAddressPools: the fields of the in-cluster pools under the same rules, then our own.

import { type Fault, forbidden, invalid } from '../../../admission/fault.ts'
import type { Ruling } from '../../../admission/ruling.ts'
import { type Fields, fieldOf, specOf, textAt, textsAt } from '../../../admission/spec.ts'
import { overlapPolicies, type Pool, type Quota, strategies } from '../../../api/pool.ts'
import { isRecord } from '../../../api/shape.ts'
import { isSpaceName, spaceNameAdvice } from '../../../api/space.ts'
import { ownPoolKindOf } from '../../../api/to-pool.ts'
import { type Family, type IP, parseIP, toIPText } from '../../../ip/address.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { isSubdomain } from '../../../ip/object-name.ts'
import { keysOfKept } from '../../../ipam/choose.ts'
import { type NotOffered, whyNotOffered } from '../../../ipam/pool-set.ts'
import { quarantineSecondsMax } from '../../../limits.ts'
import type { PoolFacts } from '../pool-facts.ts'
import { type Entries, familyOf, readEntries } from './entries.ts'
import { addressFaults, addressWarnings, outside, secondsFaults } from './in-cluster-pool.ts'
import { admitPool, lostAddresses, type PoolRules } from './pool-change.ts'

/** `old` is undefined on create, `next` on delete. */
export const admitAddressPool = (old: unknown, next: unknown, facts: PoolFacts, isCallerProven = false): Ruling =>
  admitPool(rules, { old, next, isCallerProven }, facts)

const rules: PoolRules = {
  faults: object => {
    const spec = specOf(object)
    return [...addressFaults(spec), ...ownFaults(spec)]
  },
  warnings: (object, pool, facts) => ownWarnings(specOf(object), pool, facts),
  refusal: spaceRefusal,
  lost: lostAddresses,
}

/**
 * Holds are named after their space: a pool that changes it would leave its holders behind in the old one, and nothing
 * would keep it from giving their addresses out again in the new one.
 */
function spaceRefusal(old: unknown, next: unknown, isHeld: () => boolean): string | undefined {
  const [before, after] = [fieldOf(specOf(old), 'space') ?? '', fieldOf(specOf(next), 'space') ?? '']
  if (before === after || !isHeld()) return undefined
  return 'spec.space cannot be changed while addresses are held: create another pool in the other space'
}

function ownFaults(spec: Fields): Fault[] {
  const shape: Fault[] = []
  const addresses = readEntries(textsAt(spec, 'addresses', []), 'spec.addresses')
  const family = familyOf(addresses)
  const space = textAt(spec, 'space', shape)
  const nameservers = textsAt(spec, 'nameservers', shape)
  const draining = readEntries(textsAt(spec, 'draining', shape), 'spec.draining')
  const faults = [...shape]
  if (space !== '' && !isSpaceName(space)) {
    faults.push(invalid('spec.space', space, spaceNameAdvice))
  }
  faults.push(
    ...choiceFaults(spec, 'strategy', strategies),
    ...secondsFaults(spec, 'quarantineSeconds', quarantineSecondsMax),
  )
  faults.push(...preAllocationFaults(spec, family), ...nameserverFaults(nameservers), ...quotaFaults(spec))
  faults.push(...draining.faults, ...otherFamily(draining, family, 'spec.draining'))
  faults.push(...choiceFaults(spec, 'overlapPolicy', overlapPolicies))
  return faults
}

function choiceFaults(spec: Fields, key: string, allowed: readonly string[]): Fault[] {
  const value = fieldOf(spec, key)
  if (value === undefined || (typeof value === 'string' && allowed.includes(value))) return []
  // YAML reads a bare off as false.
  const words = allowed.map(word => (word === 'off' ? '"off" (in quotes)' : word))
  return [invalid(`spec.${key}`, value, `write one of ${words.join(', ')}`)]
}

function nameserverFaults(nameservers: readonly string[]): Fault[] {
  return nameservers.flatMap((text, i) => {
    const ip = parseIP(text)
    return isMalformed(ip) ? [invalid(`spec.nameservers[${i}]`, text, ip.malformed)] : []
  })
}

const quotaKeys: readonly (keyof Quota)[] = ['perNamespace', 'perNamespaceQuarantined', 'perCluster']

function quotaFaults(spec: Fields): Fault[] {
  const quota = fieldOf(spec, 'quota')
  if (quota === undefined) return []
  if (!isRecord(quota)) return [invalid('spec.quota', quota, `must be an object with ${quotaKeys.join(', ')}`)]
  return quotaKeys.flatMap(key => {
    const value = fieldOf(quota, key)
    if (value === undefined || (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0)) return []
    return [invalid(`spec.quota.${key}`, value, 'must be a whole number that is not negative')]
  })
}

function otherFamily({ entries }: Entries, family: Family | undefined, field: string): Fault[] {
  if (family === undefined) return []
  return entries
    .filter(({ range }) => range.family !== family)
    .map(({ at, text }) => invalid(`${field}[${at}]`, text, `is IPv${family === 4 ? 6 : 4} in a pool of IPv${family}`))
}

/** Each address is kept for one claim. That it is offered at all is a matter of the whole pool: see the warnings. */
function preAllocationFaults(spec: Fields, family: Family | undefined): Fault[] {
  const value = fieldOf(spec, 'preAllocations')
  if (value === undefined) return []
  if (!isRecord(value)) return [invalid('spec.preAllocations', value, 'must be a map of claim names to addresses')]
  const keptFor = new Map<string, string>()
  return Object.entries(value).flatMap(([claim, text]) => {
    const field = `spec.preAllocations[${claim}]`
    if (typeof text !== 'string') return [invalid(field, text, 'must be an address')]
    const ip = parseIP(text)
    if (isMalformed(ip)) return [invalid(field, text, ip.malformed)]
    if (family !== undefined && ip.family !== family) {
      return [invalid(field, text, `is IPv${ip.family} in a pool of IPv${family}`)]
    }
    const address = toIPText(ip)
    const other = keptFor.get(address)
    if (other !== undefined) return [forbidden(field, `${address} is kept for ${other} already`)]
    keptFor.set(address, claim)
    return []
  })
}

// --- odd but legal ---

function ownWarnings(spec: Fields, pool: Pool, facts: PoolFacts): string[] {
  const draining = readEntries(textsAt(spec, 'draining', []), 'spec.draining')
  return [
    ...addressWarnings(spec, pool),
    ...[...pool.reservations].flatMap(([claim, ip]) => keptWarnings(pool, claim, ip, facts)),
    ...allowedNamespacesWarning(spec, pool),
    ...outside(draining, pool, 'spec.draining'),
  ]
}

const notOfferedTexts: Readonly<Record<NotOffered, string>> = {
  outOfRange: 'is not among the addresses of the pool',
  excluded: 'is excluded',
  gateway: 'is the gateway',
  reserved: 'is reserved in its subnet',
}

/** One at most for each: what is no claim's need not be said to be taken. */
function keptWarnings(pool: Pool, key: string, ip: IP, facts: PoolFacts): string[] {
  const field = `spec.preAllocations[${key}]`
  const problem = whyNoClaim(pool, key)
  if (problem !== undefined) return [`${field}: ${problem}: ${toIPText(ip)} is kept, and no claim gets it`]
  const why = whyNotOffered(pool, ip)
  if (why !== undefined) return [`${field}: ${toIPText(ip)} ${notOfferedTexts[why]}: the claim will wait for it`]
  const holder = facts.holderAt(pool.space, ip)
  if (holder === undefined || keysOfKept(pool, holder).includes(key)) return []
  return [`${field}: ${toIPText(ip)} is held by another claim: the claim will wait for it`]
}

/** Why no claim can be meant by a key; undefined if one can. */
function whyNoClaim({ identity }: Pool, key: string): string | undefined {
  const isNamespaced = ownPoolKindOf(identity)?.isNamespaced === true
  const slash = key.indexOf('/')
  const [namespace, name] = [key.slice(0, Math.max(slash, 0)), key.slice(slash + 1)]
  const isName = name.length <= 253 && isSubdomain(name) && (slash === -1 || isSubdomain(namespace))
  if (!isName) return 'no claim can be called so'
  if (slash === -1) return isNamespaced ? undefined : 'in a pool of the cluster write namespace/name'
  if (!isNamespaced || namespace === identity.namespace) return undefined
  return 'only claims of its own namespace can name this pool'
}

function allowedNamespacesWarning(spec: Fields, { identity }: Pool): string[] {
  const isNamespaced = ownPoolKindOf(identity)?.isNamespaced === true
  if (!isNamespaced || fieldOf(spec, 'allowedNamespaces') === undefined) return []
  return ['spec.allowedNamespaces: a namespaced pool is offered to its own namespace only; the field has no effect']
}
