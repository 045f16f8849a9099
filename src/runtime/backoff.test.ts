import fc from 'fast-check'
import { expect, test } from 'vitest'
import { seededRandom } from '../../test/harness/seeded-random.ts'
import { backoffMs } from './backoff.ts'

test('a delay is bounded on both sides, whatever the failures and whatever chance says', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 1_000_000 }),
      fc.integer({ min: 1, max: 10_000 }),
      fc.integer({ min: 1, max: 1_000_000 }),
      fc.double({ min: 1, max: 10, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
      (failures, firstMs, maxMs, factor, jitter, chance) => {
        const delayMs = backoffMs(failures, { firstMs, maxMs, factor, jitter }, () => chance)
        expect(delayMs).toBeGreaterThanOrEqual(Math.min(firstMs, maxMs) * (1 - jitter) * 0.999)
        expect(delayMs).toBeLessThanOrEqual(maxMs)
        expect(Number.isFinite(delayMs)).toBe(true)
      },
    ),
  )
})

test('delays grow with failures and start small', () => {
  const backoff = { firstMs: 10, maxMs: 1_000, factor: 2, jitter: 0 }
  expect([1, 2, 3, 4, 20].map(failures => backoffMs(failures, backoff, () => 0))).toEqual([10, 20, 40, 80, 1_000])
})

test('a seed gives the same numbers again, evenly spread', () => {
  const [one, other] = [seededRandom(7), seededRandom(7)]
  const numbers = Array.from({ length: 1_000 }, one)
  expect(numbers).toEqual(Array.from({ length: 1_000 }, other))
  expect(numbers.every(number => number >= 0 && number < 1)).toBe(true)
  const mean = numbers.reduce((sum, number) => sum + number, 0) / numbers.length
  expect(mean).toBeGreaterThan(0.45)
  expect(mean).toBeLessThan(0.55)
})
