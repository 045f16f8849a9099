import { expect, test } from 'vitest'
import { releasesRememberedMax } from '../limits.ts'
import { ReleaseOrder } from './release-order.ts'
import { NarrowNumbers } from './tagged-numbers.ts'

test('the oldest release comes first, and of one time the lower number', () => {
  const order = new ReleaseOrder<number>(new NarrowNumbers())
  for (const [n, time] of [
    [7, 30],
    [5, 10],
    [9, 20],
    [4, 10],
  ] as const)
    order.note(n, time)
  expect([...order.oldestFirst()]).toEqual([4, 5, 9, 7])
})

test('a number that is taken and released again counts once, by its last release', () => {
  const order = new ReleaseOrder<number>(new NarrowNumbers())
  order.note(5, 10)
  order.note(6, 20)
  order.forget(5)
  order.note(5, 30)
  expect([...order.oldestFirst()]).toEqual([6, 5])
  expect([...order.oldestFirst()]).toEqual([6, 5])
})

test('the same release noted again and again leaves nothing behind', () => {
  const order = new ReleaseOrder<number>(new NarrowNumbers())
  for (let i = 0; i < 100_000; i++) order.note(5, 0)
  expect([...order.oldestFirst()]).toEqual([5])
  expect(order.size).toBe(1)
})

test('only so many are remembered, and it is the oldest that is forgotten', () => {
  const order = new ReleaseOrder<number>(new NarrowNumbers())
  for (let i = 0; i < releasesRememberedMax; i++) expect(order.note(i, i)).toBeUndefined()
  expect(order.note(2 ** 32 - 1, releasesRememberedMax)).toBe(0)
  expect([order.size, order.has(0), order.has(1)]).toEqual([releasesRememberedMax, false, true])
})
