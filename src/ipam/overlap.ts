// Pools that offer the same addresses. Within one space that is harmless, the ledger gives each address to one claim, but
// it is seldom meant: both pools count the address as theirs. Between pools that are each a space of their own it means
// that one address can be held twice, which is meant behind NAT and a mistake nearly everywhere else. Pools whose authors
// named two different spaces have said that they have nothing to do with each other.

import { type Identity, identityKey } from '../api/object.ts'
import type { Pool } from '../api/pool.ts'
import { spaceOfNamespace, spaceOfPool } from '../api/space.ts'
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
