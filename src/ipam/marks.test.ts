import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Marks } from './marks.ts'

test('the next part that is not marked is what looking at one after the other finds', () => {
  // Runs of marks, so that whole nodes fill up: 1,024 parts make a node, 1,048,576 would make the next level.
  const runs = fc.array(
    fc.record({
      first: fc.integer({ min: 0, max: 4_000 }),
      length: fc.integer({ min: 1, max: 2_500 }),
      isMarked: fc.boolean(),
    }),
    { maxLength: 8 },
  )
  fc.assert(
    fc.property(runs, fc.array(fc.integer({ min: 0, max: 7_000 }), { maxLength: 20 }), (runs, questions) => {
      const marks = new Marks()
      const marked = new Set<number>()
      for (const { first, length, isMarked } of runs) {
        for (let part = first; part < first + length; part++) {
          if (isMarked) {
            marks.add(part)
            marked.add(part)
          } else {
            marks.delete(part)
            marked.delete(part)
          }
        }
      }
      for (const part of questions) {
        let open = part
        while (marked.has(open)) open++
        expect(marks.nextOpen(part)).toBe(open)
      }
    }),
    { numRuns: 100 },
  )
})

test('steps over a million marks', () => {
  const marks = new Marks()
  for (let part = 0; part < 1_100_000; part++) marks.add(part)
  expect(marks.nextOpen(0)).toBe(1_100_000)
  marks.delete(700_001)
  expect(marks.nextOpen(3)).toBe(700_001)
  expect(marks.nextOpen(700_002)).toBe(1_100_000)
})
