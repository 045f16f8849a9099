import { describe, expect, test } from 'vitest'
import { toIPText } from '../ip/address.ts'
import { toCIDRText } from '../ip/cidr.ts'
import { isMalformed } from '../ip/malformed.ts'
import { parseReservation, parseWhereaboutsNetwork, parseWhereaboutsPool } from './whereabouts.ts'

const metadata = { name: 'x', namespace: 'kube-system' }
const aPool = (range: string, offsets: readonly string[]) =>
  parseWhereaboutsPool({
    metadata,
    spec: {
      range,
      allocations: Object.fromEntries(offsets.map(one => [one, { id: 'c', podref: 'lab/web-0', ifname: 'net1' }])),
    },
  })

describe('An IPPool of whereabouts', () => {
  test.each([
    ['10.7.0.0/24', '5', '10.7.0.5'],
    ['10.7.0.0/22', '1000', '10.7.3.232'],
    ['fd00::/64', '255', 'fd00::ff'],
    // Beyond what a number of JavaScript holds.
    ['fd00::/64', '9223372036854775807', 'fd00::7fff:ffff:ffff:ffff'],
  ])('of %s has at %s the address %s', (range, offset, address) => {
    const read = aPool(range, [offset])
    expect(isMalformed(read) ? read : read.map(({ ip, pod }) => [toIPText(ip), pod])).toEqual([[address, 'lab/web-0']])
  })

  test.each(['-1', 'x', '1.5', '9'.repeat(60)])('with an allocation at %s is refused whole, by that name', offset => {
    const read = aPool('10.7.0.0/24', ['5', offset])
    expect(isMalformed(read) && read.malformed).toContain('spec.allocations')
  })

  test('whose range is none is refused', () => {
    expect(isMalformed(aPool('here', ['1']))).toBe(true)
  })
})

test.each([
  ['10.7.0.5', '10.7.0.5'],
  ['blue-10.7.0.5', '10.7.0.5'],
  ['fd00--5', 'fd00::5'],
  ['fd00--0', 'fd00::'],
  ['blue-fd00--5', 'fd00::5'],
])('The reservation %s is of %s', (name, address) => {
  const read = parseReservation({ metadata: { ...metadata, name }, spec: { podref: 'lab/web-0' } })
  expect(isMalformed(read) ? read : toIPText(read.ip)).toBe(address)
})

test('A reservation whose name is no address is refused', () => {
  expect(isMalformed(parseReservation({ metadata, spec: {} }))).toBe(true)
})

const aNetwork = (ipam: object, more: object = {}) =>
  parseWhereaboutsNetwork({
    metadata,
    spec: { config: JSON.stringify({ type: 'bridge', ipam: { type: 'whereabouts', ...ipam }, ...more }) },
  })

describe('A network of whereabouts', () => {
  test.each([
    [{ range: '192.168.2.225/28' }, '192.168.2.224/28', undefined, undefined],
    [{ range: '10.7.0.5-10.7.0.25/24' }, '10.7.0.0/24', '10.7.0.5', '10.7.0.25'],
    [{ range: '10.7.0.0/24', range_start: '10.7.0.9' }, '10.7.0.0/24', '10.7.0.9', undefined],
    // Ends that lie elsewhere, or in the wrong order, do not count there either.
    [{ range: '10.7.0.0/24', range_start: '10.8.0.9', range_end: 'x' }, '10.7.0.0/24', undefined, undefined],
    [{ range: '10.7.0.0/24', range_start: '10.7.0.9', range_end: '10.7.0.8' }, '10.7.0.0/24', '10.7.0.9', undefined],
  ])('with %j has %s from %s to %s', (ipam, subnet, start, end) => {
    const read = aNetwork(ipam)
    if (read === undefined || isMalformed(read)) throw new Error(JSON.stringify(read))
    const [range] = read.ranges
    expect(
      range && [toCIDRText(range.subnet), range.start && toIPText(range.start), range.end && toIPText(range.end)],
    ).toEqual([subnet, start, end])
  })

  test('may have several ranges, the plain one first, and excludes addresses and subnets', () => {
    const read = aNetwork({
      range: '10.7.0.0/24',
      exclude: ['10.7.0.9/30', '10.7.0.77'],
      ipRanges: [{ range: 'fd00::/64' }],
    })
    if (read === undefined || isMalformed(read)) throw new Error(JSON.stringify(read))
    expect(read.ranges.map(({ subnet, excluded }) => [toCIDRText(subnet), excluded])).toEqual([
      ['10.7.0.0/24', ['10.7.0.8/30', '10.7.0.77/32']],
      ['fd00::/64', []],
    ])
  })

  test.each([
    ['no range', {}],
    ['a range with leading zeroes, which programs read in two ways', { range: '010.7.0.0/24' }],
    ['an exclusion that is none', { range: '10.7.0.0/24', exclude: ['x'] }],
  ])('with %s is refused', (_, ipam) => {
    expect(isMalformed(aNetwork(ipam))).toBe(true)
  })

  test('is none with another IPAM plugin, or where its config cannot be read', () => {
    const config = JSON.stringify({ type: 'bridge', ipam: { type: 'host-local' } })
    expect(parseWhereaboutsNetwork({ metadata, spec: { config } })).toBeUndefined()
    expect(parseWhereaboutsNetwork({ metadata, spec: { config: '{' } })).toBeUndefined()
    expect(parseWhereaboutsNetwork({ metadata, spec: {} })).toBeUndefined()
  })
})
