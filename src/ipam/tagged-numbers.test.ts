import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { NarrowNumbers, type TaggedNumbers, WideNumbers } from './tagged-numbers.ts'

// A universe of 6,000 numbers: some chunks of 1,024 fill up, some stay nearly empty, and the wide ones cross from one
// region of 2^32 to the next.
const universe = 6_000
const runs = fc.array(
  fc.record({
    first: fc.integer({ min: 0, max: universe - 1 }),
    length: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 3_000 })),
    tag: fc.constantFrom(0, 0, 2, 3, 2 ** 32 - 2),
    isDownwards: fc.boolean(),
  }),
  { maxLength: 12 },
)
const spans = fc.array(fc.tuple(fc.nat({ max: universe - 1 }), fc.nat({ max: universe - 1 })), { maxLength: 12 })

function agreesWithAMap<N extends number | bigint>(make: () => TaggedNumbers<N>, at: (offset: number) => N): void {
  fc.assert(
    fc.property(fc.nat({ max: universe }), runs, spans, (taken, runs, spans) => {
      const numbers = make()
      const model = new Map<number, number>()
      const start = { first: 0, length: taken, tag: 2, isDownwards: false }
      for (const { first, length, tag, isDownwards } of [start, ...runs]) {
        const offsets = Array.from({ length: Math.min(length, universe - first) }, (_, i) => first + i)
        for (const offset of isDownwards ? offsets.toReversed() : offsets) {
          const before = model.get(offset) ?? 0
          if (numbers.setTag(at(offset), tag) !== before) throw new Error(`${offset} was to have the tag ${before}`)
          if (tag === 0) model.delete(offset)
          else model.set(offset, tag)
        }
        // Asked in between, so that what a search remembers is put to the test by what changes after it.
        expect(numbers.nextFree(at(0), at(universe - 1))).toBe(lowest(model, 0, universe - 1, at))
      }
      expect(numbers.size).toBe(model.size)
      for (const [a, b] of spans) {
        const [first, last] = [Math.min(a, b), Math.max(a, b)]
        const within = [...model].filter(([offset]) => first <= offset && offset <= last)
        const odd = within.filter(([, tag]) => tag % 2 === 1).length
        expect(numbers.tagOf(at(a))).toBe(model.get(a) ?? 0)
        expect(numbers.nextFree(at(first), at(last))).toBe(lowest(model, first, last, at))
        expect(numbers.countTaken(at(first), at(last))).toEqual({ taken: within.length, odd })
        const seen: (readonly [N, number])[] = []
        numbers.eachTaken(at(first), at(last), (tag, n) => seen.push([n, tag]))
        expect(new Map(seen)).toEqual(new Map(within.map(([offset, tag]) => [at(offset), tag])))
        expect(seen.length).toBe(within.length)
      }
    }),
    { numRuns: 40 },
  )
}

function lowest<N>(
  model: ReadonlyMap<number, number>,
  first: number,
  last: number,
  at: (offset: number) => N,
): N | undefined {
  for (let offset = first; offset <= last; offset++) if (!model.has(offset)) return at(offset)
  return undefined
}

describe('tagged numbers agree with a plain map', () => {
  test('at the low end of 32 bits', () => {
    agreesWithAMap(
      () => new NarrowNumbers(),
      offset => offset,
    )
  })

  test('at the high end of 32 bits', () => {
    agreesWithAMap(
      () => new NarrowNumbers(),
      offset => 2 ** 32 - universe + offset,
    )
  })

  test('across a boundary of 2^32 in 128 bits', () => {
    const base = (0x2001_0db8n << 96n) + 2n ** 32n - 2_500n
    agreesWithAMap(
      () => new WideNumbers(),
      offset => base + BigInt(offset),
    )
  })
})
