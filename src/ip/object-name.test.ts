import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { fromValue, type IP, isSameIP, parseIP } from './address.ts'
import { type MACText, parseMAC } from './mac.ts'
import { isScope, quoteUnlessName, scopeCharsMax, toMACObjectName, toObjectName } from './object-name.ts'

const anyIP = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 32n - 1n }).map(value => fromValue(4, value)),
  fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }).map(value => fromValue(6, value)),
  fc.bigInt({ min: 0n, max: 2n ** 34n }).map(value => fromValue(6, value)),
)
const anyMAC = fc
  .bigInt({ min: 0n, max: 2n ** 48n - 1n })
  .map(value => orThrow(parseMAC(value.toString(16).padStart(12, '0'))))
const legalLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

/** The way back. */
function addressOf(name: string): IP | MACText {
  if (name.startsWith('mac-')) return orThrow(parseMAC(name.slice(4)))
  if (name.startsWith('ip6-')) return orThrow(parseIP(name.slice(4).replaceAll('-', ':')))
  return orThrow(parseIP(name.slice(3).replaceAll('-', '.')))
}

describe('the name of an address', () => {
  it.each([
    ['10.0.0.1', 'ip-10-0-0-1'],
    ['0.0.0.0', 'ip-0-0-0-0'],
    ['255.255.255.255', 'ip-255-255-255-255'],
    ['::', 'ip6-0-0-0-0-0-0-0-0'],
    ['fd00::1', 'ip6-fd00-0-0-0-0-0-0-1'],
    ['2001:DB8::', 'ip6-2001-db8-0-0-0-0-0-0'],
    ['::ffff:10.0.0.1', 'ip6-0-0-0-0-0-ffff-a00-1'],
  ])('of %s is %s', (text, name) => {
    expect(toObjectName(orThrow(parseIP(text)))).toBe(name)
  })

  it('is a legal label, leads back to the address, and belongs to no other', () => {
    fc.assert(
      fc.property(anyIP, anyIP, (a, b) => {
        const name = toObjectName(a)
        expect(name).toMatch(legalLabel)
        expect(name.length).toBeLessThanOrEqual(43)
        expect(addressOf(name)).toEqual(a)
        expect(name === toObjectName(b)).toBe(isSameIP(a, b))
      }),
      { numRuns: 1000 },
    )
  })
})

describe('the name of a MAC address', () => {
  it('is the same for every spelling of it', () => {
    for (const text of ['0a:58:c0:a8:01:05', '0A-58-C0-A8-01-05', '0a58.c0a8.0105']) {
      expect(toMACObjectName(orThrow(parseMAC(text)))).toBe('mac-0a-58-c0-a8-01-05')
    }
  })

  it('is a legal label, leads back to the address, and is the name of no IP address', () => {
    fc.assert(
      fc.property(anyMAC, anyIP, (mac, ip) => {
        const name = toMACObjectName(mac)
        expect(name).toMatch(legalLabel)
        expect(addressOf(name)).toBe(mac)
        expect(name).not.toBe(toObjectName(ip))
      }),
    )
  })
})

describe('in a message', () => {
  it('a name stands as it is, and anything else is quoted and cut', () => {
    expect(quoteUnlessName('vms.lab-1')).toBe('vms.lab-1')
    expect(quoteUnlessName('\u202evms')).toBe('"\\u202evms"')
    expect(quoteUnlessName(`${'a'.repeat(63)}.`.repeat(4).slice(0, -1)).length).toBeLessThan(120)
  })
})

describe('a scope', () => {
  it('leaves room for the longest address', () => {
    const longest = toObjectName(fromValue(6, 2n ** 128n - 1n))
    const scope = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(scopeCharsMax - 192)}`
    expect(isScope(scope)).toBe(true)
    expect(`${longest}.${scope}`.length).toBe(253)
    expect(isScope(`${scope}d`)).toBe(false)
  })

  it.each(['', '.', 'a.', '.a', 'A', 'a_b', '-a', 'a-', 'a..b', 'a b', 'a'.repeat(64), 'é'])('is not %j', text => {
    expect(isScope(text)).toBe(false)
  })
})
