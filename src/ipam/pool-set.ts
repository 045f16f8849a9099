// What a pool offers: its addresses without the excluded ones, the reserved ones and the gateway. Computed once per version
// of a pool, and as ranges, so a pool of 2^64 addresses costs what its spec is long.
//
// Reserved are, in the subnet that the lowest listed address and `prefix` span, the first address, and for IPv4 the last
// too. A subnet of one or two addresses reserves nothing: a /31 is a link between two hosts (RFC 3021), a /127 likewise
// (RFC 6164), and a /32 or /128 is one host; with the rule applied to the letter such a pool would be empty.

import type { Pool } from '../api/pool.ts'
import { bitsOf, type Family, fromValue, type IP, toValue } from '../ip/address.ts'
import { toCIDR } from '../ip/cidr.ts'
import { type Range, rangeOfCIDR, rangeOfIP } from '../ip/range.ts'
import { difference, hasIP, hasValue, intersection, type RangeSet, sizeOf, toRangeSet } from '../ip/range-set.ts'
import { blocksInside, blocksTouching, narrowBitsMax, wideNumber } from './blocks.ts'

/** All sets are of blocks, by number (`blocks.ts`); where single addresses are given out, that is their value. */
export interface PoolSet {
  readonly family: Family
  readonly bits: number
  /** Everything the pool may ever give out. */
  readonly offered: RangeSet
  readonly total: bigint
  /** Of the offered ones: kept for a claim that is named. */
  readonly kept: RangeSet
  /** Of the offered ones: on their way out of use. */
  readonly draining: RangeSet
  /** Of the offered ones: for claims that ask for them. */
  readonly onRequest: RangeSet
  /** What every claim may get: offered, neither kept nor draining nor given on request only. */
  readonly open: RangeSet
  readonly openSize: bigint
  /** How many open blocks there are before each range of `open`. */
  readonly openBefore: readonly bigint[]
  /** The ends of `open` once more, in the numbers that blocks of this length have; the other one is empty. */
  readonly narrowEnds: Ends<number>
  readonly wideEnds: Ends<bigint>
}

export interface Ends<N> {
  readonly firsts: readonly N[]
  readonly lasts: readonly N[]
}

const known = new WeakMap<Pool, PoolSet>()
/** Claims come in series, and most of a series on one pool. */
let last: { readonly pool: Pool; readonly set: PoolSet } | undefined

export function poolSetOf(pool: Pool): PoolSet {
  if (last?.pool === pool) return last.set
  const set = known.get(pool) ?? compute(pool)
  known.set(pool, set)
  last = { pool, set }
  return set
}

function compute(pool: Pool): PoolSet {
  const { family, bits, addresses, excluded, reservations } = pool
  const offered = blocksInside(difference(difference(addresses, excluded), ownAddresses(pool)), bits)
  const keptBlocks = [...reservations.values()].map(ip => singleBlock(family, wideNumber(ip, bits)))
  const kept = intersection(offered, toRangeSet(family, keptBlocks))
  const draining = intersection(offered, toRangeSet(family, blocksTouching(pool.draining, bits)))
  const onRequest = intersection(offered, toRangeSet(family, blocksTouching(pool.onRequest, bits)))
  const open = difference(difference(difference(offered, kept), draining), onRequest)
  const isNarrow = bits <= narrowBitsMax
  return {
    family,
    bits,
    offered,
    total: sizeOf(offered),
    kept,
    draining,
    onRequest,
    open,
    openSize: sizeOf(open),
    openBefore: sizesBefore(open),
    narrowEnds: isNarrow ? endsOf(open, Number) : noEnds,
    wideEnds: isNarrow ? noEnds : endsOf(open, value => value),
  }
}

const noEnds = { firsts: [], lasts: [] }

function endsOf<N>({ ranges }: RangeSet, as: (value: bigint) => N): Ends<N> {
  return { firsts: ranges.map(({ first }) => as(first)), lasts: ranges.map(({ last }) => as(last)) }
}

const singleBlock = (family: Family, n: bigint): Range => ({ family, first: n, last: n })

function sizesBefore({ ranges }: RangeSet): bigint[] {
  let before = 0n
  return ranges.map(({ first, last }) => {
    const mine = before
    before += last - first + 1n
    return mine
  })
}

/** The addresses of the subnet that are not for hosts, and the gateway. */
function ownAddresses(pool: Pool): RangeSet {
  const ranges = reservedIn(pool).map(rangeOfIP)
  if (pool.gateway !== undefined && !pool.givesGateway) ranges.push(rangeOfIP(pool.gateway))
  return toRangeSet(pool.family, ranges)
}

function reservedIn({ family, addresses, prefix, givesReserved }: Pool): IP[] {
  const lowest = addresses.ranges[0]?.first
  if (lowest === undefined || givesReserved || bitsOf(family) - prefix < 2) return []
  const subnet = rangeOfCIDR(toCIDR(fromValue(family, lowest), prefix))
  const first = fromValue(family, subnet.first)
  return family === 4 ? [first, fromValue(family, subnet.last)] : [first]
}

export type NotOffered = 'outOfRange' | 'excluded' | 'gateway' | 'reserved'

/** Why a block is not offered, or undefined where it is. The gateway is named first: it is what its author knows. */
export function whyNotOffered(pool: Pool, ip: IP): NotOffered | undefined {
  const set = poolSetOf(pool)
  const block = wideNumber(ip, pool.bits)
  if (hasValue(set.offered, block)) return undefined
  if (!hasValue(blocksInside(pool.addresses, pool.bits), block)) return 'outOfRange'
  if (pool.gateway !== undefined && !pool.givesGateway && toValue(pool.gateway) === toValue(ip)) return 'gateway'
  return hasIP(ownAddresses(pool), ip) ? 'reserved' : 'excluded'
}
