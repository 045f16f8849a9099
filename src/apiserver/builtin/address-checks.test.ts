import { describe, expect, it } from 'vitest'
import { describeFault } from '../faults.ts'
import { checkEndpointIP, checkIP, checkPrefix, familyOfPrefix } from './address-checks.ts'

describe('addresses of endpoints', () => {
  it.each(['10.0.0.1', '010.000.0.01', '2001:db8::1', '::ffff:10.0.0.1'])('%s is one', address => {
    expect([...checkIP(address, 'ip'), ...checkEndpointIP(address, 'ip')]).toEqual([])
  })

  it.each([
    ['x', 'must be a valid IP address'],
    ['0.0.0.0', 'may not be unspecified (0.0.0.0)'],
    ['::', 'may not be unspecified (::)'],
    ['127.1.2.3', 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
    ['::1', 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
    ['169.254.1.1', 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
    ['fe80::1', 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
    ['224.0.0.5', 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
  ])('%s is none', (address, why) => {
    expect(checkEndpointIP(address, 'ip').map(describeFault)).toEqual([`ip: Invalid value: "${address}": ${why}`])
  })
})

describe('prefixes', () => {
  it.each([
    ['10.0.0.0/8', 4],
    ['2001:db8::/64', 6],
    ['10.0.0.0', 0],
    ['10.0.0.0/33', 0],
    ['10.0.0.0/8/8', 0],
    ['x/8', 0],
    ['10.0.0.0/-1', 0],
  ])('%s is of family %i', (prefix, family) => {
    expect(familyOfPrefix(prefix)).toBe(family)
    expect(checkPrefix(prefix, 'p')).toHaveLength(family === 0 ? 1 : 0)
  })
})
