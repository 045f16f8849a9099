import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromValue, isSameIP, parseIP } from './address.ts'
import { orThrow } from './malformed.ts'
import { isScope, parseObjectName, parseScopedName, scopeCharsMax, toObjectName, toScopedName } from './object-name.ts'

const anyIP = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 32n - 1n }).map(value => fromValue(4, value)),
  fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }).map(value => fromValue(6, value)),
  fc.bigInt({ min: 0n, max: 2n ** 34n }).map(value => fromValue(6, value)),
)
const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,10}[a-z0-9])?$/)
const anyScope = fc.oneof(
  fc.array(label, { minLength: 1, maxLength: 3 }).map(labels => labels.join('.')),
  anyIP.map(toObjectName),
)

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
    const ip = orThrow(parseIP(text))
    expect(toObjectName(ip)).toBe(name)
    expect(parseObjectName(name)).toEqual(ip)
  })

  it('is a legal label, leads back to the address, and belongs to no other', () => {
    fc.assert(
      fc.property(anyIP, anyIP, (a, b) => {
        const name = toObjectName(a)
        expect(name).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/)
        expect(parseObjectName(name)).toEqual(a)
        expect(name === toObjectName(b)).toBe(isSameIP(a, b))
      }),
      { numRuns: 1000 },
    )
  })

  it.each([
    '',
    'ip',
    'ip-',
    'ip-10-0-0',
    'ip-10-0-0-01',
    'ip-10-0-0-256',
    'ip-10-0-0-1-',
    'ip-10.0.0.1',
    'IP-10-0-0-1',
    'xx-10-0-0-1',
    'ip4-10-0-0-1',
    'ip6-fd00--1',
    'ip6-FD00-0-0-0-0-0-0-1',
    'ip6-fd00-0-0-0-0-0-0-01',
    'ip6-0-0-0-0-0-0-10.0.0.1',
    'ip6-10-0-0-1',
    'ip-1-2-3-4-5-6-7-8',
    'ip-10-0-0-1.blue',
  ])('is not %j', name => {
    expect(parseObjectName(name)).toHaveProperty('malformed')
  })

  it('is read back only from the exact name', () => {
    fc.assert(
      fc.property(anyIP, fc.nat(), fc.constantFrom(...'0-1af.A:'.split('')), (ip, where, character) => {
        const name = toObjectName(ip)
        const index = where % (name.length + 1)
        const changed = name.slice(0, index) + character + name.slice(index)
        const result = parseObjectName(changed)
        if (!('malformed' in result)) expect(toObjectName(result)).toBe(changed)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('the name of an address in a scope', () => {
  it('leads back to both, and never collides across scopes', () => {
    fc.assert(
      fc.property(anyIP, anyScope, anyIP, anyScope, (ip, scope, otherIP, otherScope) => {
        const name = toScopedName(ip, scope)
        expect(name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/)
        expect(parseScopedName(name)).toEqual({ ip, scope })
        expect(name === toScopedName(otherIP, otherScope)).toBe(isSameIP(ip, otherIP) && scope === otherScope)
      }),
      { numRuns: 1000 },
    )
  })

  it('has room for the longest address in the longest scope', () => {
    const longest = fromValue(6, 2n ** 128n - 1n)
    const scope = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(scopeCharsMax - 192)}`
    expect(scope.length).toBe(scopeCharsMax)
    expect(toScopedName(longest, scope).length).toBe(253)
    expect(isScope(`${scope}d`)).toBe(false)
  })

  it.each(['', '.', 'a.', '.a', 'A', 'a_b', '-a', 'a-', 'a..b', 'a b', 'a'.repeat(64), 'é'])(
    'cannot end in the scope %j',
    scope => {
      expect(isScope(scope)).toBe(false)
      expect(() => toScopedName(fromValue(4, 0n), scope)).toThrow(RangeError)
      expect(parseScopedName(`ip-10-0-0-1.${scope}`)).toHaveProperty('malformed')
    },
  )

  it.each(['ip-10-0-0-1', 'blue', 'ip-10-0-0-256.blue'])('is not %j', name => {
    expect(parseScopedName(name)).toHaveProperty('malformed')
  })
})
