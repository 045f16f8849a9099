import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalQuantity, formatQuantity, parseQuantity, roundUpToMilli } from './quantity.ts'

describe('the one text of an amount', () => {
  test.each<[unknown, unknown]>([
    ['0.5', '500m'],
    [0.5, '500m'],
    ['1000m', '1'],
    ['1500m', '1500m'],
    ['1000', '1k'],
    ['1500', '1500'],
    ['1024Mi', '1Gi'],
    ['1536Mi', '1536Mi'],
    ['1Ki', '1Ki'],
    ['1023', '1023'],
    ['0.5Ki', '512'],
    ['0.1Gi', '107374182400m'],
    ['1e3', '1e3'],
    ['1E3', '1e3'],
    ['10e2', '1e3'],
    ['-2k', '-2k'],
    ['+1', '1'],
    ['.5', '500m'],
    ['1.', '1'],
    ['0Gi', '0'],
    ['00012', '12'],
    [' 3 ', '3'],
  ])('%j is written %j', (written, text) => {
    expect(canonicalQuantity(written)).toBe(text)
  })

  test.each(['', '.', 'x', '1 Gi', '1GiB', '1ki', '--1', '1e', '1e999999', '1'.repeat(500), 'NaN'])(
    '%j is no amount and stays as it is',
    text => {
      expect(parseQuantity(text)).toBeUndefined()
      expect(canonicalQuantity(text)).toBe(text)
    },
  )

  test('writing and reading gives the same amount', () => {
    const formats = fc.constantFrom('decimal' as const, 'exponent' as const, 'binary' as const)
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }), formats, (nanos, format) => {
        expect(parseQuantity(formatQuantity({ nanos, format }))?.nanos).toBe(nanos)
      }),
    )
  })
})

test('less than a thousandth is rounded up to one', () => {
  expect(roundUpToMilli('100u')).toBe('1m')
  expect(roundUpToMilli('1001u')).toBe('2m')
  expect(roundUpToMilli('1500m')).toBe('1500m')
})
