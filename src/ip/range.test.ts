import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { fromValue, parseIP, toIPText } from './address.ts'
import go from './go-netip.json' with { type: 'json' }
import { overlapsRange, parseEntry, parseRange, type Range, rangeOfIP, sizeOfRange, toRangeText } from './range.ts'

const entry = (text: string): Range => orThrow(parseEntry(text))
const highest6 = 2n ** 128n - 1n

describe('the verdicts of Go', () => {
  it.each(go.ranges)('on %j', (text, first, last) => {
    const result = parseRange(text)
    if (first === undefined) {
      expect(result).toHaveProperty('malformed')
      if (text.includes('-')) expect(parseEntry(text)).toHaveProperty('malformed')
      return
    }
    const range = orThrow(result)
    expect(parseEntry(text)).toEqual(range)
    expect(toIPText(fromValue(range.family, range.first))).toBe(first)
    expect(toIPText(fromValue(range.family, range.last))).toBe(last)
  })
})

describe('an entry of a list', () => {
  it.each([
    ['10.0.0.7', '10.0.0.7'],
    ['10.0.0.7/32', '10.0.0.7'],
    ['10.0.0.7/24', '10.0.0.0-10.0.0.255'],
    ['10.0.0.9-10.0.0.9', '10.0.0.9'],
    ['fe80::1%eth0', 'fe80::1'],
    ['fe80::1%a-fe80::2%b', 'fe80::1-fe80::2'],
    ['2001:DB8::/127', '2001:db8::-2001:db8::1'],
    ['::ffff:10.0.0.1', '::ffff:10.0.0.1'],
    ['0.0.0.0/0', '0.0.0.0-255.255.255.255'],
  ])('%s means %s', (text, range) => {
    expect(toRangeText(entry(text))).toBe(range)
  })

  it.each([
    [
      'fe80::1%eth-0',
      '"fe80::1%eth-0" is not a range, its end is wrong: "0" is not an IP address: write one such as 192.0.2.1 or 2001:db8::1',
    ],
    [
      'fe80::%eth0/64',
      '"fe80::%eth0/64" is not a CIDR: "fe80::%eth0" names a zone, which has no meaning here: write fe80::',
    ],
    ['10.0.0.9-10.0.0.1', '"10.0.0.9-10.0.0.1" ends before it starts: write 10.0.0.1-10.0.0.9'],
    ['10.0.0.1-::1', '"10.0.0.1-::1" mixes IPv4 and IPv6: write both ends of a range in one family'],
    [
      '192.168.1.4/21-192.168.1.2',
      '"192.168.1.4/21-192.168.1.2" is not a range, its start is wrong: "192.168.1.4/21" has a prefix length: write the address alone, without "/"',
    ],
  ])('refuses %s in words to act on', (text, sentence) => {
    expect(parseEntry(text)).toEqual({ malformed: sentence })
  })

  it.each(['', '-', '/', 'a-b-', 'a-b-c', '10.0.0.0/33', '::/129', '10.0.0.0/08', '1.2.3.4.5', '192.168.1.2612'])(
    'refuses %j',
    text => {
      expect(parseEntry(text)).toHaveProperty('malformed')
    },
  )

  it('is read back from what is printed', () => {
    const anyRange = fc
      .tuple(fc.boolean(), fc.bigInt({ min: 0n, max: highest6 }), fc.bigInt({ min: 0n, max: highest6 }))
      .map(([isV4, a, b]): Range => {
        const [first, last] = a < b ? [a, b] : [b, a]
        return isV4 ? { family: 4, first: first >> 96n, last: last >> 96n } : { family: 6, first, last }
      })
    fc.assert(
      fc.property(anyRange, range => {
        expect(parseEntry(toRangeText(range))).toEqual(range)
      }),
    )
  })
})

it('overlaps both ways or not at all, and never across families', () => {
  const near = fc
    .tuple(fc.constantFrom(4 as const, 6 as const), fc.bigInt({ min: 0n, max: 9n }), fc.bigInt({ min: 0n, max: 5n }))
    .map(([family, first, more]): Range => ({ family, first, last: first + more }))
  fc.assert(
    fc.property(near, near, (a, b) => {
      let shared = false
      for (let value = a.first; value <= a.last; value++) {
        shared ||= a.family === b.family && b.first <= value && value <= b.last
      }
      expect(overlapsRange(a, b)).toBe(shared)
      expect(overlapsRange(b, a)).toBe(shared)
    }),
  )
})

it('counts both ends', () => {
  expect(sizeOfRange(rangeOfIP(orThrow(parseIP('10.0.0.1'))))).toBe(1n)
  expect(sizeOfRange(entry('10.0.0.1-10.0.0.9'))).toBe(9n)
  expect(sizeOfRange(entry('::/0'))).toBe(2n ** 128n)
})
