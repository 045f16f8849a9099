import { isIP } from 'node:net'
import fc from 'fast-check'
import { Address4, Address6 } from 'ip-address'
import { describe, expect, it } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import {
  bitsOf,
  compareIP,
  type Family,
  fromValue,
  highestValue,
  type IP,
  isLinkLocal,
  isLoopback,
  isMapped,
  isMulticast,
  isSameIP,
  isUnspecified,
  parseIP,
  parseZonedIP,
  toIPText,
  toValue,
} from './address.ts'
import go from './go-netip.json' with { type: 'json' }
import { isMalformed } from './malformed.ts'

const ip = (text: string): IP => orThrow(parseIP(text))

const predicates: Record<string, (ip: IP) => boolean> = {
  loopback: isLoopback,
  'link-local': isLinkLocal,
  multicast: isMulticast,
  unspecified: isUnspecified,
  mapped: isMapped,
}

/** Whether an address is private is never asked. */
const withoutPrivate = (qualities = ''): string =>
  qualities
    .split(' ')
    .filter(quality => quality !== 'private')
    .join(' ')

const families: Family[] = [4, 6]
const groups = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), { minLength: 8, maxLength: 8 })
const value6 = groups.map(all => all.reduce((value, group) => (value << 16n) | BigInt(group), 0n))
const value4 = fc.integer({ min: 0, max: 0xffff_ffff }).map(BigInt)
const anyIP = fc.oneof(
  value4.map(value => fromValue(4, value)),
  value6.map(value => fromValue(6, value)),
  value4.map(value => fromValue(6, (0xffffn << 32n) | value)),
)

/** Address texts with a few characters lost, doubled, swapped or replaced: most are wrong by very little. */
const almostIP = fc
  .tuple(
    fc.oneof(anyIP.map(toIPText), fc.ipV4Extended(), fc.ipV6()),
    fc.array(fc.tuple(fc.nat(), fc.nat(), fc.constantFrom(...'0123456789abcfAF.:.:%/- gx'.split(''))), {
      maxLength: 3,
    }),
  )
  .map(([text, edits]) => {
    const characters = text.split('')
    for (const [where, how, character] of edits) {
      const index = where % (characters.length + 1)
      if (how % 3 === 0) characters.splice(index, 1)
      if (how % 3 === 1) characters.splice(index, 0, character)
      if (how % 3 === 2) characters.splice(index, 1, character)
    }
    return characters.join('')
  })

describe('the verdicts of Go', () => {
  it.each(go.addresses)('on %j', (text, canonical, qualities) => {
    const result = parseZonedIP(text)
    if (canonical === undefined) {
      expect(result).toHaveProperty('malformed')
      return
    }
    const { ip, zone } = orThrow(result)
    expect(zone === '' ? toIPText(ip) : `${toIPText(ip)}%${zone}`).toBe(canonical)
    const held = Object.keys(predicates).filter(name => predicates[name]?.(ip))
    if (zone === '' || !isUnspecified(ip)) expect(held.join(' ')).toBe(withoutPrivate(qualities)) // to Go, `::%lo` is specified
    if (zone !== '') expect(parseIP(text)).toHaveProperty('malformed')
  })

  it('are plenty on both sides', () => {
    const accepted = go.addresses.filter(row => row.length > 1).length
    expect(accepted).toBeGreaterThan(250)
    expect(go.addresses.length - accepted).toBeGreaterThan(200)
  })
})

describe('other judges', () => {
  it('agrees with node on texts that are nearly right', () => {
    fc.assert(
      fc.property(almostIP, text => {
        fc.pre(!text.includes('%')) // node takes an empty zone and any zone on IPv6; Go does not
        const result = parseIP(text)
        expect(isMalformed(result) ? 0 : result.family).toBe(isIP(text))
      }),
      { numRuns: 5000 },
    )
  })

  it('agrees with node on arbitrary texts', () => {
    fc.assert(
      fc.property(fc.string(), text => {
        fc.pre(!text.includes('%'))
        const result = parseIP(text)
        expect(isMalformed(result) ? 0 : result.family).toBe(isIP(text))
      }),
    )
  })

  it('gives the canonical text another library gives', () => {
    fc.assert(
      fc.property(anyIP, ip => {
        fc.pre(!isMapped(ip)) // printed with a dotted tail by us and by Go
        const theirs =
          ip.family === 4
            ? Address4.fromBigInt(toValue(ip)).correctForm()
            : Address6.fromBigInt(toValue(ip)).correctForm()
        expect(toIPText(ip)).toBe(theirs)
      }),
      { numRuns: 2000 },
    )
  })

  it('reads the number another library reads', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), text => {
        const theirs = text.includes(':') ? new Address6(text).bigInt() : new Address4(text).bigInt()
        expect(toValue(ip(text))).toBe(theirs)
      }),
      { numRuns: 2000 },
    )
  })
})

describe('text and value', () => {
  it('reads back what it prints', () => {
    fc.assert(
      fc.property(anyIP, address => {
        expect(ip(toIPText(address))).toEqual(address)
        expect(fromValue(address.family, toValue(address))).toEqual(address)
      }),
      { numRuns: 2000 },
    )
  })

  it('prints one text for every spelling of one address', () => {
    fc.assert(
      fc.property(value6, fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }), (value, choices) => {
        const digits = value.toString(16).padStart(32, '0').match(/.{4}/g) ?? []
        const long = digits.map((group, i) => (choices[i] ? group.toUpperCase() : group)).join(':')
        const short = digits.map(group => group.replace(/^0{1,3}/, '')).join(':')
        const low = value & 0xffff_ffffn
        const dotted = `${digits.slice(0, 6).join(':')}:${toIPText(fromValue(4, low))}`
        const texts = [long, short, dotted].map(text => toIPText(ip(text)))
        expect(new Set(texts)).toEqual(new Set([toIPText(fromValue(6, value))]))
      }),
    )
  })

  it('prints different texts for different addresses', () => {
    fc.assert(
      fc.property(anyIP, anyIP, (a, b) => {
        expect(toIPText(a) === toIPText(b)).toBe(isSameIP(a, b))
      }),
    )
  })

  it.each(families)('refuses numbers that IPv%i does not have', family => {
    expect(() => fromValue(family, -1n)).toThrow(RangeError)
    expect(() => fromValue(family, highestValue(family) + 1n)).toThrow(RangeError)
    expect(highestValue(family)).toBe(2n ** BigInt(bitsOf(family)) - 1n)
  })
})

describe('order', () => {
  // Around powers of two, where a carry or a sign bit crosses from word to word.
  const nearEdge = fc
    .tuple(fc.constantFrom(...families), fc.nat({ max: 128 }), fc.bigInt({ min: -2n, max: 2n }))
    .map(([family, bit, offset]) => ({ family, value: (1n << BigInt(Math.min(bit, bitsOf(family)))) + offset }))
    .filter(({ family, value }) => value >= 0n && value <= highestValue(family))
  const near = fc.oneof(
    anyIP,
    nearEdge.map(({ family, value }) => fromValue(family, value)),
  )

  it('is that of the numbers, with IPv4 before IPv6', () => {
    fc.assert(
      fc.property(near, near, (a, b) => {
        const [x, y] = [toValue(a), toValue(b)]
        const byNumber = a.family !== b.family ? a.family - b.family : x < y ? -1 : x > y ? 1 : 0
        expect(Math.sign(compareIP(a, b))).toBe(Math.sign(byNumber))
      }),
      { numRuns: 2000 },
    )
  })
})

describe('a refusal', () => {
  it.each([
    ['', '"" is not an IP address: write one such as 192.0.2.1 or 2001:db8::1'],
    ['host', '"host" is not an IP address: write one such as 192.0.2.1 or 2001:db8::1'],
    ['010.0.0.1', '"010.0.0.1" is not an IP address: 010 has a leading zero; write 10'],
    ['10.0.0.256', '"10.0.0.256" is not an IP address: 256 is more than 255; write four numbers of 0 to 255'],
    ['10.0.0', '"10.0.0" is not an IP address: IPv4 has four decimal numbers, here are 3; write one such as 192.0.2.1'],
    ['10..0.1', '"10..0.1" is not an IP address: a number is missing next to a "."; write four, such as 192.0.2.1'],
    [
      '10.0.0.x',
      '"10.0.0.x" is not an IP address: "x" is not a decimal number; write four of 0 to 255, such as 192.0.2.1',
    ],
    [' 10.0.0.1', '" 10.0.0.1" contains white space: write the address alone'],
    ['10.0.0.1\n', '"10.0.0.1\\n" contains white space: write the address alone'],
    ['10.0.0.1/24', '"10.0.0.1/24" has a prefix length: write the address alone, without "/"'],
    ['[::1]:80', '"[::1]:80" has brackets: write the address alone, without brackets or port'],
    ['10.0.0.1:80', '"10.0.0.1:80" has a port: write 10.0.0.1 alone'],
    ['fe80::1%eth0', '"fe80::1%eth0" names a zone, which has no meaning here: write fe80::1'],
    ['1::2::3', '"1::2::3" is not an IP address: "::" may stand once; write the other zero groups as 0'],
    [
      'fe80::g',
      '"fe80::g" is not an IP address: "g" is not a hexadecimal digit; write groups of 0 to ffff between colons',
    ],
    [
      '12345::',
      '"12345::" is not an IP address: 12345 is longer than four digits; write groups of 0 to ffff between colons',
    ],
    [
      '1:2:3',
      '"1:2:3" is not an IP address: IPv6 has eight groups, here are 3; write "::" once for a run of zero groups',
    ],
    [
      '1:2:3:4:5:6:7:8::',
      '"1:2:3:4:5:6:7:8::" is not an IP address: "::" stands for at least one group, but 8 are written out; IPv6 has eight',
    ],
    ['::1.2.3.04', '"::1.2.3.04" is not an IP address: in "1.2.3.04", 04 has a leading zero; write 4'],
    ['::1.2.3.4:1', '"::1.2.3.4:1" is not an IP address: 1.2.3.4 may stand only at the end'],
    ['::\u202e1.2.3.4:1', '"::\\u202e1.2.3.4:1" is not an IP address: "\\u202e1.2.3.4" may stand only at the end'],
    [
      '1:2:3:4:5:6:7:',
      '"1:2:3:4:5:6:7:" is not an IP address: a group is missing next to a ":"; write 0, or "::" once for a run of zero groups',
    ],
  ])('of %j says what to write instead', (text, sentence) => {
    expect(parseIP(text)).toEqual({ malformed: sentence })
  })

  it.each([
    ['fe80::1%', '"fe80::1%" has an empty zone: write an interface name after "%", or leave "%" out'],
    ['10.0.0.1%eth0', '"10.0.0.1%eth0" gives a zone to an IPv4 address: write 10.0.0.1'],
  ])('of the zone in %j says what to write instead', (text, sentence) => {
    expect(parseZonedIP(text)).toEqual({ malformed: sentence })
  })

  it('stays short for a text of any length', () => {
    for (const text of ['1', '1.', 'a:', '::', ' ', '\u0000', 'fe80::1%x'].map(part => part.repeat(100_000))) {
      const result = parseIP(text)
      expect(isMalformed(result) && result.malformed.length < 700).toBe(true)
    }
  })

  it('has a reason for every text that is refused', () => {
    fc.assert(
      fc.property(almostIP, text => {
        const result = parseZonedIP(text)
        if (isMalformed(result))
          expect(result.malformed).not.toMatch(/undefined|four decimal numbers, here are 4;|eight groups, here are 8;/)
      }),
      { numRuns: 2000 },
    )
  })
})
