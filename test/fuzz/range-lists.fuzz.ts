// Lists of entries as sets, beside a list of ranges that is looked through.

import { type Family, fromValue } from '../../src/ip/address.ts'
import { isMalformed } from '../../src/ip/malformed.ts'
import { parseEntry, type Range } from '../../src/ip/range.ts'
import {
  complement,
  difference,
  hasIP,
  intersection,
  isSubset,
  overlapsSet,
  type RangeSet,
  sizeOf,
  toRangeSet,
} from '../../src/ip/range-set.ts'
import { type FuzzTarget, must } from './target.ts'

const highest = (family: Family): bigint => (family === 4 ? 2n ** 32n : 2n ** 128n) - 1n
const isIn = (ranges: readonly Range[], value: bigint): boolean =>
  ranges.some(({ first, last }) => first <= value && value <= last)

/** Where something may change: the ends of every range and what is beside them. */
function places(family: Family, ranges: readonly Range[]): bigint[] {
  const all = ranges.flatMap(({ first, last }) => [first - 1n, first, last, last + 1n])
  return [...new Set([0n, highest(family), ...all])].filter(value => value >= 0n && value <= highest(family))
}

/** Counted from one place to the next. */
function slowSize(family: Family, ranges: readonly Range[]): bigint {
  const cuts = [...new Set([0n, highest(family) + 1n, ...ranges.flatMap(({ first, last }) => [first, last + 1n])])]
  cuts.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  let size = 0n
  cuts.forEach((from, i) => {
    const to = cuts[i + 1]
    if (to !== undefined && isIn(ranges, from)) size += to - from
  })
  return size
}

function mustBeCanonical({ ranges }: RangeSet): void {
  ranges.forEach(({ first, last }, i) => {
    const before = ranges[i - 1]
    must(first <= last && (before === undefined || first > before.last + 1n), 'ranges ascend and never touch')
  })
}

/** Set laws are looked at in lists of this many; longer ones have to be read, in time. */
const lookedThroughMax = 60

function check(family: Family, one: readonly Range[], other: readonly Range[]): void {
  const [a, b] = [toRangeSet(family, one), toRangeSet(family, other)]
  const sets = { a, b, and: intersection(a, b), not: complement(a), less: difference(a, b) }
  Object.values(sets).forEach(mustBeCanonical)
  if (one.length + other.length > lookedThroughMax) return
  must(sizeOf(a) === slowSize(family, one), 'it has as many addresses')
  for (const value of places(family, [...one, ...other])) {
    const ip = fromValue(family, value)
    const [inA, inB] = [isIn(one, value), isIn(other, value)]
    must(hasIP(a, ip) === inA && hasIP(b, ip) === inB, 'it has the addresses that are listed, and no others')
    must(hasIP(sets.and, ip) === (inA && inB) && hasIP(sets.not, ip) === !inA, 'and, not')
    must(hasIP(sets.less, ip) === (inA && !inB), 'less')
  }
  must(sizeOf(a) === sizeOf(sets.and) + sizeOf(sets.less), 'a set is what it shares and what it does not')
  must(sizeOf(a) + sizeOf(sets.not) === highest(family) + 1n, 'a set and the rest are all')
  must(isSubset(a, b) === (sizeOf(sets.less) === 0n) && overlapsSet(a, b) === sizeOf(sets.and) > 0n, 'questions')
}

const many = Array.from({ length: 5_000 }, (_, i) => `10.${i >> 8}.${i & 255}.0-10.${(i * 7) >> 8}.255.255`)
const nested = Array.from({ length: 3_000 }, (_, i) => `10.0.${i >> 8}.${i & 255}-10.255.${255 - (i >> 8)}.0`)

export const rangeLists: FuzzTarget = {
  name: 'lists of ranges',
  corpus: [
    '10.0.0.0/24\n10.0.1.0/24\n10.0.0.128-10.0.1.7|10.0.0.255',
    '0.0.0.0/0\n255.255.255.255|0.0.0.0',
    '::/0|ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff\n::1-::9',
    'fd00::1\nfd00::3\nfd00::2|fd00::/126',
    `${many.join('\n')}|${nested.join('\n')}`,
  ],
  dictionary: ['\n', '|', '10.0.0.5\n', '::1-::7\n', '0.0.0.0/0\n', '255.255.255.255', '/31', '-10.0.1.1'],
  run(input) {
    const lists = input
      .toString('latin1')
      .split('|', 2)
      .map(list => list.split('\n').map(parseEntry))
      .map(list => list.filter((range): range is Range => !isMalformed(range)))
    for (const family of [4, 6] as const) {
      const [one = [], other = []] = lists.map(list => list.filter(range => range.family === family))
      check(family, one, other)
    }
  },
}
