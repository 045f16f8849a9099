// A set of addresses of one family, as sorted ranges that neither overlap nor touch. Every operation costs what the ranges
// cost, never what the addresses cost: nothing here enumerates, so a /0 or a /48 is as cheap as a /30. Because touching
// ranges are merged, two sets hold the same addresses if and only if their ranges are the same.
//
// Sets are values: operations return new ones. To mix families in one operation is a bug of the caller and throws.

import { type Family, highestValue, type IP, toValue } from './address.ts'
import { type Range, sizeOfRange } from './range.ts'

export interface RangeSet {
  readonly family: Family
  /** Ascending; each starts at least two above the end of the one before. */
  readonly ranges: readonly Range[]
}

export const emptySet = (family: Family): RangeSet => ({ family, ranges: [] })

/** The set of all addresses in these ranges, which may come in any order, overlap and repeat. */
export function toRangeSet(family: Family, ranges: Iterable<Range>): RangeSet {
  const sorted: Range[] = []
  for (const range of ranges) {
    assertSameFamily(family, range.family)
    sorted.push(range)
  }
  sorted.sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0))
  return { family, ranges: merge(sorted) }
}

function merge(sorted: readonly Range[]): Range[] {
  const merged: Range[] = []
  let open: Range | undefined
  for (const range of sorted) {
    if (open === undefined) {
      open = range
      continue
    }
    if (range.first > open.last + 1n) {
      merged.push(open)
      open = range
      continue
    }
    if (range.last > open.last) open = { family: open.family, first: open.first, last: range.last }
  }
  if (open !== undefined) merged.push(open)
  return merged
}

// --- algebra ---

export function intersection(a: RangeSet, b: RangeSet): RangeSet {
  assertSameFamily(a.family, b.family)
  const ranges: Range[] = []
  let i = 0
  let j = 0
  for (;;) {
    const left = a.ranges[i]
    const right = b.ranges[j]
    if (left === undefined || right === undefined) return { family: a.family, ranges }
    const startsWithLeft = left.first > right.first
    const endsWithLeft = left.last < right.last
    const first = startsWithLeft ? left.first : right.first
    const last = endsWithLeft ? left.last : right.last
    if (first <= last) ranges.push({ family: a.family, first, last })
    if (endsWithLeft) i++
    else j++
  }
}

/** Every address of the family that is not in the set. */
export function complement({ family, ranges }: RangeSet): RangeSet {
  const gaps: Range[] = []
  let next = 0n
  for (const { first, last } of ranges) {
    if (first > next) gaps.push({ family, first: next, last: first - 1n })
    next = last + 1n
  }
  const highest = highestValue(family)
  if (next <= highest) gaps.push({ family, first: next, last: highest })
  return { family, ranges: gaps }
}

/** What is in `a` and not in `b`. */
export const difference = (a: RangeSet, b: RangeSet): RangeSet => intersection(a, complement(b))

// --- questions ---

export const isEmpty = (set: RangeSet): boolean => set.ranges.length === 0

export const isSubset = (inner: RangeSet, outer: RangeSet): boolean => isEmpty(difference(inner, outer))

export const overlapsSet = (a: RangeSet, b: RangeSet): boolean => !isEmpty(intersection(a, b))

export function sizeOf(set: RangeSet): bigint {
  let size = 0n
  for (const range of set.ranges) size += sizeOfRange(range)
  return size
}

/** Whether the address is in the set. An address of the other family never is. */
export const hasIP = (set: RangeSet, ip: IP): boolean => ip.family === set.family && hasValue(set, toValue(ip))

export function hasValue(set: RangeSet, value: bigint): boolean {
  const range = set.ranges[rangeAtOrAfter(set, value)]
  return range !== undefined && range.first <= value
}

/** The index of the range that holds the value, else of the first one after it; the number of ranges if there is none. */
export function rangeAtOrAfter({ ranges }: RangeSet, value: bigint): number {
  let low = 0
  let high = ranges.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const range = ranges[middle]
    if (range !== undefined && range.last < value) low = middle + 1
    else high = middle
  }
  return low
}

function assertSameFamily(a: Family, b: Family): void {
  if (a !== b) throw new TypeError(`a set of IPv${a} addresses cannot be mixed with IPv${b}`)
}
