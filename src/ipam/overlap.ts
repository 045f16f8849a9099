// Pools that offer the same addresses. Within one space that is harmless, the ledger gives each address to one claim, but
// it is seldom meant: both pools count the address as theirs. Between pools that are each a space of their own it means
// that one address can be held twice, which is meant behind NAT and a mistake nearly everywhere else. Pools whose authors
// named two different spaces have said that they have nothing to do with each other.

import { type Identity, identityKey } from '../api/object.ts'
import type { Pool } from '../api/pool.ts'
import { spaceOfNamespace, spaceOfPool } from '../api/space.ts'
import { toRangeText } from '../ip/range.ts'
import { difference, intersection, isEmpty, type RangeSet } from '../ip/range-set.ts'

export interface Overlap {
  readonly other: Identity
  /** The addresses both list, excluded ones left out. */
  readonly addresses: RangeSet
  /** Then no address is held twice; else one may be. */
  readonly sharesSpace: boolean
}

/** In the order of the pools' names, so that the same pools make the same sentence. */
export function overlapsOf(pool: Pool, others: Iterable<Pool>): Overlap[] {
  const mine = identityKey(pool.identity)
  const overlaps: Overlap[] = []
  for (const other of others) {
    if (identityKey(other.identity) === mine || other.family !== pool.family || !mayMeet(pool, other)) continue
    const addresses = intersection(listed(pool), listed(other))
    if (isEmpty(addresses)) continue
    overlaps.push({ other: other.identity, addresses, sharesSpace: isSameSpace(pool, other) })
  }
  return overlaps.sort((a, b) => (identityKey(a.other) < identityKey(b.other) ? -1 : 1))
}

/**
 * Whether `pool` must not list what `other` lists. A pool refuses what it says itself. What another pool says binds it where an
 * administrator wrote that, or an author of its own namespace: else a tenant could keep all others from listing anything.
 */
export function deniesOverlap(pool: Pool, other: Pool): boolean {
  if (pool.overlapPolicy === 'deny') return true
  const { namespace } = other.identity
  return other.overlapPolicy === 'deny' && (namespace === '' || namespace === pool.identity.namespace)
}

/**
 * Whether readers of a pool may know which other pool it is and what that one lists: those of a pool of the cluster read
 * all pools, those of a namespace the pools of that namespace.
 */
export const isVisible = (pool: Identity, other: Identity): boolean =>
  pool.namespace === '' || pool.namespace === other.namespace

/** For a reader that may not know more. */
export function vagueText(pool: Identity, other: Identity): string {
  if (other.namespace === '') return pool.namespace === '' ? 'another pool of the cluster' : 'a pool of the cluster'
  if (pool.namespace === '') return 'a pool of a namespace'
  return other.namespace === pool.namespace ? 'another pool of this namespace' : 'a pool of another namespace'
}

/** Said of pools that the reader does not see, whichever their space is: else names of spaces could be found by trying. */
export const vagueRisk = 'an address may be held twice unless both pools are of one space'

/** `10.0.0.1-10.0.0.9 and 1 more range`. */
export function rangesText({ ranges }: RangeSet): string {
  const [first, ...more] = ranges
  const text = first === undefined ? '' : toRangeText(first)
  if (more.length === 0) return text
  return `${text} and ${more.length} more ${more.length === 1 ? 'range' : 'ranges'}`
}

function mayMeet(one: Pool, other: Pool): boolean {
  return isSameSpace(one, other) || isOwnSpace(one) || isOwnSpace(other)
}

/** A pool whose space is not decided yet gets one of two; two such pools of a namespace get the same. */
function isSameSpace(one: Pool, other: Pool): boolean {
  if (one.space === '' && other.space === '') {
    return one.spaceAsked === other.spaceAsked && one.identity.namespace === other.identity.namespace
  }
  return possibleSpaces(one).some(space => possibleSpaces(other).includes(space))
}

function possibleSpaces({ space, spaceAsked, identity }: Pool): readonly string[] {
  if (space !== '' || spaceAsked === undefined) return [space]
  return [spaceAsked, spaceOfNamespace(identity.namespace, spaceAsked)]
}

const isOwnSpace = ({ space, identity }: Pool): boolean => space === spaceOfPool(identity)

const lists = new WeakMap<Pool, RangeSet>()

function listed(pool: Pool): RangeSet {
  const known = lists.get(pool)
  if (known !== undefined) return known
  const set = difference(pool.addresses, pool.excluded)
  lists.set(pool, set)
  return set
}
