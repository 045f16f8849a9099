import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hasLongNumber, parseBody } from './body.ts'

test('sixteen digits in a row are found wherever they stand', () => {
  const piece = fc.oneof(fc.stringMatching(/^[a-z":, ]{0,20}$/), fc.stringMatching(/^[0-9]{1,20}$/))
  fc.assert(
    fc.property(fc.array(piece), pieces => {
      const text = pieces.join('')
      expect(hasLongNumber(text)).toBe(/\d{16}/.test(text))
    }),
  )
})

test('an integer beyond 2^53 stays exact', () => {
  expect(parseBody('{"a":9007199254740993,"b":1}')).toEqual({ a: 9007199254740993n, b: 1 })
})
