import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { fromMACValue, isLocallyAdministered, isMulticastMAC, type MACText, parseMAC, toMACValue } from './mac.ts'

const mac = (text: string): MACText => orThrow(parseMAC(text))
const anyValue = fc.bigInt({ min: 0n, max: 2n ** 48n - 1n })

it('turns every form of one address into one text', () => {
  fc.assert(
    fc.property(anyValue, fc.boolean(), (value, isUpper) => {
      const digits = value.toString(16).padStart(12, '0')
      const pairs = digits.match(/../g) ?? []
      const forms = [pairs.join(':'), pairs.join('-'), (digits.match(/..../g) ?? []).join('.'), digits]
      for (const form of forms) {
        expect(parseMAC(isUpper ? form.toUpperCase() : form)).toBe(pairs.join(':'))
      }
      expect(fromMACValue(value)).toBe(pairs.join(':'))
      expect(toMACValue(mac(digits))).toBe(value)
    }),
  )
})

it.each([
  '',
  '02:00:5e:10:00',
  '02:00:5e:10:00:01:02',
  '02:00:5e:10:00:01:02:03',
  '2:0:5e:10:0:1',
  '02:00:5e-10:00:01',
  '02:00:5e:10:00:0g',
  '02:00:5e:10:00:01 ',
  ' 02:00:5e:10:00:01',
  '02:00:5e:10:00:01\n',
  '02:00:5e:10:00:',
  ':02:00:5e:10:00:01',
  '0200:5e10:0001',
  '0200.5e10.000',
  '02.00.5e.10.00.01',
  '0200-5e10-0001',
  '02005e1000',
  '02005e10000102',
  '0x02005e1000',
  '02:00:5e:10:00:０1',
])('refuses %j', text => {
  expect(parseMAC(text)).toEqual({
    malformed: `${JSON.stringify(text)} is not a MAC address: write six pairs of hexadecimal digits, such as 02:00:5e:10:00:01`,
  })
})

describe('the first octet', () => {
  it.each([
    ['00:00:5e:00:53:01', false, false],
    ['01:00:5e:00:00:01', false, true],
    ['02:00:5e:10:00:01', true, false],
    ['33:33:00:00:00:01', true, true],
    ['ff:ff:ff:ff:ff:ff', true, true],
    ['fc:00:00:00:00:00', false, false],
  ])('of %s: locally administered %s, multicast %s', (text, isLocal, isGroup) => {
    expect(isLocallyAdministered(mac(text))).toBe(isLocal)
    expect(isMulticastMAC(mac(text))).toBe(isGroup)
  })

  it('keeps its bits through every form', () => {
    fc.assert(
      fc.property(anyValue, value => {
        const text = fromMACValue(value)
        expect(isMulticastMAC(text)).toBe(((value >> 40n) & 1n) === 1n)
        expect(isLocallyAdministered(text)).toBe(((value >> 41n) & 1n) === 1n)
      }),
    )
  })
})

it('refuses a number of more than 48 bits', () => {
  expect(() => fromMACValue(1n << 48n)).toThrow(RangeError)
  expect(() => fromMACValue(-1n)).toThrow(RangeError)
})
