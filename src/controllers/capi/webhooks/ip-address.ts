// The webhook of IPAddresses, by the rules of Cluster API: it is right in itself when it is created, agrees with its claim about
// the pool, and never changes. An address whose claim is not there is accepted: it may arrive before its claim does.

import { type Fault, invalid } from '../../../admission/fault.ts'
import { changeFaults } from '../../../admission/immutable.ts'
import { isCreated, type MatchCondition, specChanges } from '../../../admission/match-conditions.ts'
import { allowed, type Ruling } from '../../../admission/ruling.ts'
import { type Fields, fieldOf, integerAt, specOf, textAt } from '../../../admission/spec.ts'
import type { PoolReference } from '../../../api/ip-address-claim.ts'
import { isRecord } from '../../../api/shape.ts'
import { parseZonedIP } from '../../../ip/address.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import type { CapiFacts } from '../facts.ts'

/** Whether an address fits its claim cannot be said in CEL, and no user is so trusted that the webhook need not be asked. */
export const whenAddressMatters: readonly MatchCondition[] = [
  { name: 'address-is-new-or-changes', expression: `${isCreated} || ${specChanges}` },
]

/** `old` is undefined on create, `next` on delete. */
export function admitIPAddress(old: unknown, next: unknown, facts: CapiFacts): Ruling {
  if (next === undefined) return allowed()
  const faults = old === undefined ? faultsOf(next, facts) : changeFaults('IPAddress', old, next)
  return faults.length === 0 ? allowed() : { kind: 'forbidden', faults, warnings: [] }
}

function faultsOf(object: unknown, facts: CapiFacts): Fault[] {
  const spec = specOf(object)
  const shape: Fault[] = []
  const [address, gateway] = [textAt(spec, 'address', shape), textAt(spec, 'gateway', shape)]
  const prefix = integerAt(spec, 'prefix', shape)
  if (prefix === undefined || shape.length > 0) return shape
  const parsed = parseZonedIP(address)
  const faults: Fault[] = []
  if (isMalformed(parsed)) faults.push(invalid('spec.address', address, 'not a valid IP address'))
  const family = isMalformed(parsed) ? undefined : parsed.ip.family
  const prefixFault = (problem: string): Fault => invalid('spec.prefix', fieldOf(spec, 'prefix'), problem)
  if (prefix < 0) faults.push(prefixFault('prefix cannot be negative'))
  if (family === 4 && prefix > 32) faults.push(prefixFault('prefix is too large for an IPv4 address'))
  if (family === 6 && prefix > 128) faults.push(prefixFault('prefix is too large for an IPv6 address'))
  if (gateway !== '' && isMalformed(parseZonedIP(gateway))) {
    faults.push(invalid('spec.gateway', gateway, 'not a valid IP address'))
  }
  return [...faults, ...poolFaults(object, spec, facts)]
}

function poolFaults(object: unknown, spec: Fields, facts: CapiFacts): Fault[] {
  const pool = poolReferenceOf(spec)
  const faults = groupFaults(spec)
  const claimRef = fieldOf(spec, 'claimRef')
  const claim = textAt(isRecord(claimRef) ? claimRef : {}, 'name', [])
  const metadata = isRecord(object) ? fieldOf(object, 'metadata') : undefined
  const named = facts.poolOfClaim(textAt(isRecord(metadata) ? metadata : {}, 'namespace', []), claim)
  if (named === undefined || isSamePool(named, pool)) return faults
  const problem = 'the referenced pool is different from the pool referenced by the claim this address should fulfill'
  return [...faults, invalid('spec.poolRef', fieldOf(spec, 'poolRef'), problem)]
}

function poolReferenceOf(spec: Fields): PoolReference {
  const reference = fieldOf(spec, 'poolRef')
  const fields = isRecord(reference) ? reference : {}
  return {
    apiGroup: textAt(fields, 'apiGroup', []),
    kind: textAt(fields, 'kind', []),
    name: textAt(fields, 'name', []),
  }
}

/** The older version of these kinds lets the group be left out; then the pool cannot be found. */
export function groupFaults(spec: Fields): Fault[] {
  if (poolReferenceOf(spec).apiGroup !== '') return []
  return [invalid('spec.poolRef.apiGroup', null, 'the pool reference needs to contain a group')]
}

const isSamePool = (a: PoolReference, b: PoolReference): boolean =>
  a.apiGroup === b.apiGroup && a.kind === b.kind && a.name === b.name
