import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseMAC } from './mac.ts'

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
