// Pool: what all six kinds of pool come down to, once their texts have been judged. It has one family: an object that offers
// addresses of both makes two pools. The ledger knows only this shape, so
// no rule of choosing, counting or permitting exists twice. What is offered in the end (`src/ipam/pool-set.ts`) follows
// from it and is not stored in it.

import { bitsOf, type Family, type IP, parseIP } from '../ip/address.ts'
import type { CIDR } from '../ip/cidr.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import { parseEntry, type Range } from '../ip/range.ts'
import { emptySet, type RangeSet, toRangeSet } from '../ip/range-set.ts'
import { hasDeletionTimestamp, hasPausedAnnotation, type Identity, identityKey, type Metadata } from './object.ts'
import type { LabelSelector } from './selector.ts'

export const strategies = ['lowestFree', 'random', 'leastRecentlyUsed'] as const
export type Strategy = (typeof strategies)[number]

export const overlapPolicies = ['off', 'warn', 'deny'] as const
export type OverlapPolicy = (typeof overlapPolicies)[number]

export interface Quota {
  /** How many addresses all claims of one namespace may hold together. */
  readonly perNamespace?: number
  /** How many released addresses of one namespace may rest; while more do, its claims get no new one. */
  readonly perNamespaceQuarantined?: number
  /** How many addresses all claims for one Cluster may hold together. */
  readonly perCluster?: number
}

export interface Pool {
  readonly identity: Identity
  /** As in an owner reference. */
  readonly apiVersion: string
  readonly metadata: Metadata
  /** What `spec.space` says; undefined where it says nothing. */
  readonly spaceAsked: string | undefined
  /** Pools that share it can never give one address to two claims. Empty while it is not decided (`src/ipam/joining.ts`). */
  readonly space: string
  /** Its object offers addresses of the other family too. */
  readonly isOneOfTwo: boolean
  readonly family: Family
  /** What is given out: single addresses (all bits of the family) or prefixes of this many bits. */
  readonly bits: number
  /** What a holder writes behind its address: the length of the subnet, or of the prefix it was given. */
  readonly prefix: number
  readonly addresses: RangeSet
  readonly excluded: RangeSet
  /** Existing holders stay, no other claim gets any of these. */
  readonly draining: RangeSet
  /** Given only to claims that ask for one of these by its address. */
  readonly onRequest: RangeSet
  readonly gateway: IP | undefined
  /** As its author wrote it: an IPAddress repeats it letter by letter. Empty if there is none. */
  readonly gatewayText: string
  /**
   * What a network that an administrator defined keeps for itself in its whole space: gateway, management address and what is
   * configured for more of their kind. It is among what is excluded.
   */
  readonly infrastructure: readonly CIDR[]
  /** The network, broadcast and subnet-router addresses are given out too. */
  readonly givesReserved: boolean
  /** Where whole prefixes are given out, the gateway is shown to holders and blocks nothing. */
  readonly givesGateway: boolean
  readonly strategy: Strategy
  readonly quarantineSeconds: number
  /** Claim name, or namespace/name, to the address kept for it. */
  readonly reservations: ReadonlyMap<string, IP>
  readonly quota: Quota
  /** Undefined where any namespace that can name the pool may use it. */
  readonly allowedNamespaces: LabelSelector | undefined
  readonly overlapPolicy: OverlapPolicy
  readonly nameservers: readonly string[]
  readonly isDeleting: boolean
  readonly isPaused: boolean
}

/** What the kinds differ in; all that is left out has its plain default. */
export interface PoolParts {
  readonly identity: Identity
  readonly apiVersion: string
  readonly metadata: Metadata
  readonly space: string
  readonly spaceAsked?: string | undefined
  readonly isOneOfTwo?: boolean
  readonly family: Family
  readonly prefix: number
  readonly addresses: RangeSet
  readonly excluded: RangeSet
  readonly gateway: IP | undefined
  readonly gatewayText: string
  readonly bits?: number
  readonly draining?: RangeSet
  readonly onRequest?: RangeSet
  readonly infrastructure?: readonly CIDR[]
  readonly givesReserved?: boolean
  readonly givesGateway?: boolean
  readonly strategy?: Strategy
  readonly quarantineSeconds?: number
  readonly reservations?: ReadonlyMap<string, IP>
  readonly quota?: Quota
  readonly allowedNamespaces?: LabelSelector | undefined
  readonly overlapPolicy?: OverlapPolicy
  readonly nameservers?: readonly string[]
}

export function makePool(parts: PoolParts): Pool {
  return {
    spaceAsked: undefined,
    isOneOfTwo: false,
    bits: bitsOf(parts.family),
    draining: emptySet(parts.family),
    onRequest: emptySet(parts.family),
    infrastructure: [],
    givesReserved: false,
    givesGateway: false,
    strategy: 'lowestFree',
    quarantineSeconds: 0,
    reservations: new Map(),
    quota: {},
    allowedNamespaces: undefined,
    overlapPolicy: 'warn',
    nameservers: [],
    isDeleting: hasDeletionTimestamp(parts.metadata),
    isPaused: hasPausedAnnotation(parts.metadata),
    ...parts,
  }
}

/** One text per pool: that of its object, and the family where the object has both. */
export function poolKey({ identity, family, isOneOfTwo }: Pick<Pool, 'identity' | 'family' | 'isOneOfTwo'>): string {
  return isOneOfTwo ? `${identityKey(identity)} IPv${family}` : identityKey(identity)
}

// --- texts of a spec, judged; what is wrong with them goes to `faults` ---

/** The first family that a list of entries speaks of, whatever else is wrong with the list. */
export function familyOf(entries: readonly string[], path: string, wanted: string): Family | Malformed {
  let problem: Malformed | undefined
  for (const entry of entries) {
    const range = parseEntry(entry)
    if (!isMalformed(range)) return range.family
    problem ??= { malformed: `${path}[0] ${range.malformed}` }
  }
  return problem ?? { malformed: `${path} is empty: list ${wanted}` }
}

export function setOf(entries: readonly string[], family: Family, path: string, faults: string[]): RangeSet {
  const ranges: Range[] = []
  entries.forEach((entry, i) => {
    const range = parseEntry(entry)
    if (isMalformed(range)) faults.push(`${path}[${i}] ${range.malformed}`)
    else if (range.family !== family) faults.push(`${path}[${i}] is IPv${range.family} in a pool of IPv${family}`)
    else ranges.push(range)
  })
  return toRangeSet(family, ranges)
}

export function addressIn(text: string, family: Family, path: string, faults: string[]): IP | undefined {
  const ip = parseIP(text)
  if (isMalformed(ip)) {
    faults.push(`${path} ${ip.malformed}`)
    return undefined
  }
  if (ip.family === family) return ip
  faults.push(`${path} is IPv${ip.family} in a pool of IPv${family}`)
  return undefined
}
