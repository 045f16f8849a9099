import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { releasesRememberedMax } from '../limits.ts'
import type { Ends } from './pool-set.ts'
import { RangeSearch } from './range-search.ts'
import { NarrowNumbers, type TaggedNumbers, WideNumbers } from './tagged-numbers.ts'

/** Ranges of `size` numbers with as many between them that are not offered. */
function rangesOf<N>(count: number, size: number, at: (offset: number) => N): Ends<N> {
  const starts = Array.from({ length: count }, (_, i) => 2 * size * i)
  return { firsts: starts.map(at), lasts: starts.map(start => at(start + size - 1)) }
}

/** The numbers with their search, and how many ranges were looked into. */
function counted(numbers: TaggedNumbers<number>) {
  const seen = { looks: 0 }
  const search = new RangeSearch<number>({
    nextFree: (from, last) => {
      seen.looks++
      return numbers.nextFree(from, last)
    },
  })
  const free = (n: number): void => {
    numbers.setTag(n, 0)
    search.noteFreed(n)
  }
  return { search, seen, free }
}

describe('a search through many ranges', () => {
  const ranges = 10_000
  const ends = rangesOf(ranges, 4, n => n)
  const full = (): NarrowNumbers => {
    const numbers = new NarrowNumbers()
    for (let range = 0; range < ranges - 1; range++) for (let i = 0; i < 4; i++) numbers.setTag(8 * range + i, 2)
    return numbers
  }

  test('looks once into each that is full, and then no more', () => {
    const { search, seen } = counted(full())
    expect(search.nextFree(ends, 0, undefined)).toBe(8 * (ranges - 1))
    expect(seen.looks).toBe(ranges)
    expect(search.nextFree(ends, 0, undefined)).toBe(8 * (ranges - 1))
    expect(search.nextFree(ends, 5_000, 8 * 5_000 + 2)).toBe(8 * (ranges - 1))
    expect(seen.looks).toBe(ranges + 2)
  })

  test('finds at once what was freed, and looks into nothing else for it', () => {
    const numbers = full()
    const { search, seen, free } = counted(numbers)
    search.nextFree(ends, 0, undefined)
    seen.looks = 0
    for (const range of [9_000, 3, 5_000]) {
      free(8 * range + 2)
      expect(search.nextFree(ends, 0, undefined)).toBe(8 * range + 2)
      numbers.setTag(8 * range + 2, 2)
    }
    expect(search.nextFree(ends, 0, undefined)).toBe(8 * (ranges - 1))
    expect(seen.looks).toBeLessThanOrEqual(7)
  })

  test('that missed more than is remembered looks into everything again', () => {
    const numbers = full()
    const { search, free } = counted(numbers)
    search.nextFree(ends, 0, undefined)
    free(8 * 17)
    for (let i = 0; i <= releasesRememberedMax; i++) search.noteFreed(8 * 9_000)
    expect(search.nextFree(ends, 0, undefined)).toBe(8 * 17)
  })
})

describe('whatever is taken and freed in between, two pools find what looking at one after the other finds', () => {
  const count = 12
  const size = 3
  const universe = 2 * size * count
  const steps = fc.array(
    fc.record({ offset: fc.nat({ max: universe - 1 }), isTaken: fc.boolean(), isAsked: fc.boolean() }),
    { maxLength: 200 },
  )

  function holds<N extends number | bigint>(make: () => TaggedNumbers<N>, at: (offset: number) => N): void {
    fc.assert(
      fc.property(steps, fc.nat({ max: count - 1 }), (steps, from) => {
        const numbers = make()
        const search = new RangeSearch(numbers)
        const pools = [
          { ends: rangesOf(count, size, at), within: (n: number) => n % (2 * size) < size, size },
          { ends: rangesOf(count * size, 1, at), within: (n: number) => n % 2 === 0, size: 1 },
        ]
        // At first nearly all is taken: that is where a mark too many would show.
        const taken = new Set(Array.from({ length: universe - 1 }, (_, i) => i))
        for (const offset of taken) numbers.setTag(at(offset), 2)
        for (const { offset, isTaken, isAsked } of steps) {
          if (isTaken) taken.add(offset)
          else taken.delete(offset)
          const before = numbers.setTag(at(offset), isTaken ? 2 : 0)
          if (!isTaken && before !== 0) search.noteFreed(at(offset))
          if (!isAsked) continue
          for (const { ends, within, size } of pools) {
            const start = 2 * size * from
            const free = Array.from({ length: universe }, (_, i) => i).filter(n => within(n) && !taken.has(n))
            const found = (n: number | undefined): N | undefined => (n === undefined ? undefined : at(n))
            expect(search.nextFree(ends, 0, undefined)).toBe(found(free[0]))
            expect(search.nextFree(ends, from, undefined)).toBe(found(free.find(n => n >= start)))
            expect(search.nextFree(ends, from, at(start + size - 1))).toBe(found(free.find(n => n >= start + size - 1)))
          }
        }
      }),
      { numRuns: 60 },
    )
  }

  test('in IPv4', () => {
    holds(
      () => new NarrowNumbers(),
      offset => 0xc0a8_03e0 + offset,
    )
  })

  test('in a /48', () => {
    holds(
      () => new WideNumbers(),
      offset => (0x2001_0db8n << 96n) + 2n ** 32n - 30n + BigInt(offset),
    )
  })
})
