import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { type Family, fromValue, highestValue } from './address.ts'
import { parseEntry, type Range, toRangeText } from './range.ts'
import {
  complement,
  difference,
  hasIP,
  hasValue,
  intersection,
  isEmpty,
  isSubset,
  overlapsSet,
  type RangeSet,
  sizeOf,
  toRangeSet,
} from './range-set.ts'

const set = (family: Family, ...entries: string[]): RangeSet =>
  toRangeSet(
    family,
    entries.map(text => orThrow(parseEntry(text))),
  )
const wholeFamily = (family: Family): RangeSet =>
  toRangeSet(family, [{ family, first: 0n, last: highestValue(family) }])
const union = (a: RangeSet, b: RangeSet): RangeSet => toRangeSet(a.family, [...a.ranges, ...b.ranges])
const texts = (set: RangeSet): string[] => set.ranges.map(toRangeText)

// The model: a universe of sixteen addresses, a subset of it as an array of booleans. The universes lie at both edges of
// each family, where an off-by-one leaves the family, and in the middle.
const universeSize = 16
const universes: { family: Family; base: bigint }[] = ([4, 6] as const).flatMap(family => [
  { family, base: 0n },
  { family, base: highestValue(family) - BigInt(universeSize) + 1n },
  { family, base: highestValue(family) >> 1n },
])
const universe = fc.constantFrom(...universes)
const members = fc.array(fc.boolean(), { minLength: universeSize, maxLength: universeSize })

function build({ family, base }: { family: Family; base: bigint }, chosen: readonly boolean[]): RangeSet {
  const ranges: Range[] = []
  for (const [i, isIn] of chosen.entries()) {
    if (isIn) ranges.push({ family, first: base + BigInt(i), last: base + BigInt(i) })
  }
  return toRangeSet(family, ranges)
}

describe('against a naive model', () => {
  it('union, intersection, difference and complement hold exactly the right addresses', () => {
    fc.assert(
      fc.property(universe, members, members, (where, a, b) => {
        const [x, y] = [build(where, a), build(where, b)]
        const everything = build(where, Array(universeSize).fill(true))
        const zip = (combine: (p: boolean, q: boolean) => boolean) =>
          build(
            where,
            a.map((p, i) => combine(p, b[i] ?? false)),
          )
        expect(union(x, y)).toEqual(zip((p, q) => p || q))
        expect(intersection(x, y)).toEqual(zip((p, q) => p && q))
        expect(difference(x, y)).toEqual(zip((p, q) => p && !q))
        expect(intersection(complement(x), everything)).toEqual(zip(p => !p))
        expect(sizeOf(x)).toBe(BigInt(a.filter(Boolean).length))
        expect(overlapsSet(x, y)).toBe(a.some((p, i) => p && b[i]))
        expect(isSubset(x, y)).toBe(a.every((p, i) => !p || b[i]))
        expect(isEmpty(x)).toBe(!a.includes(true))
      }),
      { numRuns: 1000 },
    )
  })

  it('knows its members and how many they are', () => {
    fc.assert(
      fc.property(universe, members, (where, chosen) => {
        const set = build(where, chosen)
        for (const [i, isIn] of chosen.entries()) {
          expect(hasValue(set, where.base + BigInt(i))).toBe(isIn)
          expect(hasIP(set, fromValue(where.family, where.base + BigInt(i)))).toBe(isIn)
        }
        expect(sizeOf(set)).toBe(BigInt(chosen.filter(isIn => isIn).length))
      }),
      { numRuns: 1000 },
    )
  })

  it('keeps its ranges sorted, apart and inside the family', () => {
    fc.assert(
      fc.property(universe, members, members, (where, a, b) => {
        for (const set of [union(build(where, a), build(where, b)), complement(build(where, a))]) {
          let floor = -1n
          for (const range of set.ranges) {
            expect(range.first > floor).toBe(true)
            expect(range.last >= range.first).toBe(true)
            floor = range.last + 1n
          }
          expect(floor <= highestValue(where.family) + 1n).toBe(true)
        }
      }),
    )
  })

  it('does not care in which order ranges come, or how often', () => {
    const ranges = fc.array(
      fc
        .tuple(fc.integer({ min: 0, max: 15 }), fc.integer({ min: 0, max: 6 }))
        .map(([first, more]): Range => ({ family: 4, first: BigInt(first), last: BigInt(first + more) })),
    )
    fc.assert(
      fc.property(ranges, ranges, (a, b) => {
        const together = toRangeSet(4, [...a, ...b, ...a])
        expect(together).toEqual(union(toRangeSet(4, b.toReversed()), toRangeSet(4, a)))
        for (let value = 0n; value < 24n; value++) {
          expect(hasValue(together, value)).toBe([...a, ...b].some(r => r.first <= value && value <= r.last))
        }
      }),
    )
  })
})

describe('the laws of sets', () => {
  // Ends anywhere in the family, so that sizes are huge and most sets are unlike any toy.
  const anySet = fc
    .tuple(fc.constantFrom(4 as const, 6 as const), fc.array(fc.bigInt({ min: 0n, max: 2n ** 128n - 1n })))
    .map(([family, ends]) => {
      const sorted = (family === 4 ? ends.map(end => end >> 96n) : ends).toSorted((a, b) =>
        a < b ? -1 : a > b ? 1 : 0,
      )
      const ranges: Range[] = []
      for (let i = 0; i + 1 < sorted.length; i += 2)
        ranges.push({ family, first: sorted[i] ?? 0n, last: sorted[i + 1] ?? 0n })
      return toRangeSet(family, ranges)
    })
  const pair = fc.tuple(anySet, anySet).filter(([a, b]) => a.family === b.family)

  it('hold for sets of any size', () => {
    fc.assert(
      fc.property(pair, ([a, b]) => {
        const whole = wholeFamily(a.family)
        expect(complement(complement(a))).toEqual(a)
        expect(complement(union(a, b))).toEqual(intersection(complement(a), complement(b)))
        expect(union(a, b)).toEqual(union(b, a))
        expect(intersection(a, b)).toEqual(intersection(b, a))
        expect(union(difference(a, b), intersection(a, b))).toEqual(a)
        expect(sizeOf(a) + sizeOf(b)).toBe(sizeOf(union(a, b)) + sizeOf(intersection(a, b)))
        expect(sizeOf(a) + sizeOf(complement(a))).toBe(sizeOf(whole))
        expect(isSubset(intersection(a, b), a)).toBe(true)
      }),
    )
  })
})

describe('size costs nothing', () => {
  it('an offer of everything without three holdings is three ranges', () => {
    const held = set(6, '::', '2001:db8::/48', 'fd00::1')
    const free = difference(wholeFamily(6), held)
    expect(texts(free)).toEqual([
      '::1-2001:db7:ffff:ffff:ffff:ffff:ffff:ffff',
      '2001:db8:1::-fd00::',
      'fd00::2-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
    ])
    expect(sizeOf(free)).toBe(2n ** 128n - 2n ** 80n - 2n)
  })

  it('touches as many ranges in a /0 or a /48 as in a /30', () => {
    const touchedWith = (offer: string, family: Family): number => {
      let touched = 0
      const counted = (set: RangeSet): RangeSet => ({
        family,
        ranges: new Proxy(set.ranges, {
          get(target, key, receiver) {
            if (typeof key === 'string' && /^\d+$/.test(key)) touched++
            return Reflect.get(target, key, receiver)
          },
        }),
      })
      const offered = set(family, offer)
      const first = offered.ranges[0]?.first ?? 0n
      const held = toRangeSet(family, [
        { family, first, last: first },
        { family, first: first + 2n, last: first + 2n },
      ])
      union(counted(offered), counted(held))
      intersection(counted(offered), counted(held))
      difference(counted(offered), counted(held))
      complement(counted(held))
      hasValue(counted(offered), first + 3n)
      return touched
    }
    const small = touchedWith('10.0.0.0/30', 4)
    expect(touchedWith('0.0.0.0/0', 4)).toBeLessThanOrEqual(small)
    expect(touchedWith('fd00::/48', 6)).toBeLessThanOrEqual(small)
    expect(touchedWith('::/0', 6)).toBeLessThanOrEqual(small)
  })

  it('finds a member among 100 000 ranges by halving', () => {
    const family = 6
    let touched = 0
    const ranges = Array.from(
      { length: 100_000 },
      (_, i): Range => ({ family, first: BigInt(i) * 4n, last: BigInt(i) * 4n + 1n }),
    )
    const counted = new Proxy(ranges, {
      get(target, key, receiver) {
        touched++
        return Reflect.get(target, key, receiver)
      },
    })
    expect(hasValue({ family, ranges: counted }, 200_001n)).toBe(true)
    expect(hasValue({ family, ranges: counted }, 200_002n)).toBe(false)
    expect(touched).toBeLessThan(60)
  })
})

describe('entries of a pool', () => {
  it('merge where they overlap or touch', () => {
    expect(texts(set(4, '10.0.0.8/29', '10.0.0.1-10.0.0.7', '10.0.0.3', '10.0.0.20'))).toEqual([
      '10.0.0.1-10.0.0.15',
      '10.0.0.20',
    ])
  })
})

describe('families', () => {
  it('do not mix in one operation', () => {
    expect(() => intersection(wholeFamily(4), wholeFamily(6))).toThrow(TypeError)
    expect(() => difference(wholeFamily(4), wholeFamily(6))).toThrow(TypeError)
    expect(() => toRangeSet(4, wholeFamily(6).ranges)).toThrow(TypeError)
  })

  it('are told apart even where the numbers are equal', () => {
    expect(hasIP(wholeFamily(4), fromValue(6, 1n))).toBe(false)
  })
})
