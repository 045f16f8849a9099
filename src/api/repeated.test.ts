import { expect, test } from 'vitest'
import { Repeated } from './repeated.ts'

test('what comes again under a key is the one that came first', () => {
  const repeated = new Repeated<readonly string[]>()
  const first = ['a']
  expect(repeated.of('a', first)).toBe(first)
  expect(repeated.of('a', ['a'])).toBe(first)
  expect(repeated.of('b', ['b'])).toEqual(['b'])
})

test('what is remembered is bounded', () => {
  const repeated = new Repeated<readonly number[]>()
  const first = repeated.of('0', [0])
  for (let i = 1; i <= 10_000; i++) repeated.of(String(i), [i])
  expect(repeated.of('0', [0])).not.toBe(first)
})
