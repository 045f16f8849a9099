import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { bitsOf, fromValue, parseIP, toIPText } from './address.ts'
import {
  type CIDR,
  containsCIDR,
  containsIP,
  firstIP,
  hasHostBits,
  lastIP,
  overlapsCIDR,
  parseCIDR,
  toCIDR,
  toCIDRText,
  toNetwork,
} from './cidr.ts'
import go from './go-netip.json' with { type: 'json' }

const cidr = (text: string): CIDR => orThrow(parseCIDR(text))

/** CIDRs that often nest and meet: few distinct leading bits, any length. */
const anyCIDR = fc
  .tuple(fc.constantFrom(4 as const, 6 as const), fc.constantFrom(0n, 1n, -1n, 0b1010n), fc.nat({ max: 128 }))
  .map(([family, pattern, bits]) => {
    const value = BigInt.asUintN(bitsOf(family), (pattern << BigInt(bitsOf(family) - 4)) | pattern)
    return toCIDR(fromValue(family, value), bits % (bitsOf(family) + 1))
  })

describe('the verdicts of Go', () => {
  it.each(go.prefixes)('on %j', (text, canonical, network, last) => {
    const result = parseCIDR(text)
    const strict = parseCIDR(text, { hostBits: 'refuse' })
    if (canonical === undefined) {
      expect(result).toHaveProperty('malformed')
      expect(strict).toHaveProperty('malformed')
      return
    }
    const parsed = orThrow(result)
    expect(toCIDRText(parsed)).toBe(canonical)
    expect(toCIDRText(toNetwork(parsed))).toBe(network)
    expect(toIPText(lastIP(parsed))).toBe(last)
    expect(hasHostBits(parsed)).toBe(canonical !== network)
    if (canonical === network) expect(strict).toEqual(parsed)
    else expect(strict).toEqual({ malformed: expect.stringContaining(`write ${network} for the network`) })
  })
})

describe('containment', () => {
  it.each([
    ['0.0.0.0/0', '255.255.255.255', true],
    ['10.0.0.0/31', '10.0.0.1', true],
    ['10.0.0.0/31', '10.0.0.2', false],
    ['10.0.0.1/32', '10.0.0.1', true],
    ['10.0.0.1/32', '10.0.0.0', false],
    ['10.0.0.77/24', '10.0.0.1', true],
    ['::/0', 'ffff::', true],
    ['::/0', '10.0.0.1', false],
    ['0.0.0.0/0', '::', false],
    ['10.0.0.0/8', '::ffff:10.0.0.1', false],
    ['fd00::/127', 'fd00::1', true],
    ['fd00::/127', 'fd00::2', false],
    ['fd00::1/128', 'fd00::1', true],
    ['fd00::1/128', 'fd00::', false],
    ['2001:db8::/33', '2001:db8:7fff::', true],
    ['2001:db8::/33', '2001:db8:8000::', false],
    ['2001:db8::/65', '2001:db8::8000:0:0:0', false],
    ['2001:db8::/97', '2001:db8::8000:0', false],
  ])('%s holds %s: %s', (outer, inner, answer) => {
    expect(containsIP(cidr(outer), orThrow(parseIP(inner)))).toBe(answer)
  })

  it('is a partial order, and agrees with the first and last address', () => {
    fc.assert(
      fc.property(anyCIDR, anyCIDR, anyCIDR, (a, b, c) => {
        expect(containsCIDR(a, a)).toBe(true)
        if (containsCIDR(a, b) && containsCIDR(b, a)) {
          expect(toCIDRText(toNetwork(a))).toBe(toCIDRText(toNetwork(b)))
        }
        if (containsCIDR(a, b) && containsCIDR(b, c)) expect(containsCIDR(a, c)).toBe(true)
        expect(containsCIDR(a, b)).toBe(containsIP(a, firstIP(b)) && containsIP(a, lastIP(b)))
      }),
      { numRuns: 2000 },
    )
  })

  it('or disjointness: two networks overlap only if one holds the other, whichever is asked first', () => {
    fc.assert(
      fc.property(anyCIDR, anyCIDR, (a, b) => {
        expect(overlapsCIDR(a, b)).toBe(overlapsCIDR(b, a))
        expect(overlapsCIDR(a, b)).toBe(containsIP(a, firstIP(b)) || containsIP(b, firstIP(a)))
      }),
      { numRuns: 2000 },
    )
  })
})

it.each([
  ['10.0.0.0', '"10.0.0.0" is not a CIDR: write an address, "/" and a prefix length, such as 10.0.0.0/24'],
  [
    '10.0.0.0/33',
    '"10.0.0.0/33" is not a CIDR: the prefix length of IPv4 is a plain number of 0 to 32; write it such as 10.0.0.0/32',
  ],
  [
    '10.0.0/8',
    '"10.0.0/8" is not a CIDR: "10.0.0" is not an IP address: IPv4 has four decimal numbers, here are 3; write one such as 192.0.2.1',
  ],
  [
    'fe80::1%eth0/64',
    '"fe80::1%eth0/64" is not a CIDR: "fe80::1%eth0" names a zone, which has no meaning here: write fe80::1',
  ],
])('refuses %s in words to act on', (text, sentence) => {
  expect(parseCIDR(text)).toEqual({ malformed: sentence })
})

it.each([-1, 33, 1.5, Number.NaN])('cannot be made with prefix length %d on IPv4', bits => {
  expect(() => toCIDR(orThrow(parseIP('10.0.0.1')), bits)).toThrow(RangeError)
})
