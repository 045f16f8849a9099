import { expect, test } from 'vitest'
import { parseJSON } from './json.ts'

test('integers beyond 2^53 stay exact', () => {
  expect(parseJSON('[9007199254740993,-18446744073709551616]').value).toEqual([9007199254740993n, -(2n ** 64n)])
})

test.each([['1e999'], ['9'.repeat(400)], ['-'.concat('9'.repeat(1_000_000))]])(
  'a number beyond what any reader holds is refused in a short sentence, and at once: %#',
  text => {
    expect(() => parseJSON(`{"a":${text}}`)).toThrow(
      /^json: cannot unmarshal number .{1,90} into Go value of type float64$/,
    )
  },
)
