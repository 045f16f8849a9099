// The addresses of a migration network: texts judged in the words of Harvester, and how many are left to give out.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import type { AddressTexts } from '../api/migration-network.ts'
import { overlapsCIDR, parseCIDR } from '../ip/cidr.ts'
import { sizeOf } from '../ip/range-set.ts'
import { pointerTo } from './problem.ts'
import { countUsable, endsOf, gives, type RangeRules, readRanges, usableOf } from './range.ts'

const nothing: AddressTexts = { range: '', exclude: [], rangeV6: '', rangeV6Start: '', rangeV6End: '' }

function problemsOf(texts: Partial<AddressTexts>, rules: RangeRules['rules'] = 'harvester'): string[] {
  const { problems } = readRanges({ ...nothing, ...texts }, { rules })
  return problems.map(({ place, message }) => `${pointerTo(place)} ${message}`)
}

function rangesOf(texts: Partial<AddressTexts>) {
  const { ranges, problems } = readRanges({ ...nothing, ...texts }, { rules: 'plain' })
  if (problems.length > 0) throw new Error(JSON.stringify(problems))
  return ranges
}

const count = (range: string, exclude: readonly string[] = []): number => {
  const texts = range.includes(':') ? { rangeV6: range } : { range, exclude }
  return Number(countUsable(rangesOf(texts)))
}

describe('a range is refused', () => {
  test.each<[string, string, string]>([
    ['that is no CIDR', 'not-a-cidr', '/range invalid CIDR address: not-a-cidr'],
    ['that is missing', '', '/range invalid CIDR address: '],
    ['with host bits', '192.168.1.5/24', '/range range should be subnet CIDR 192.168.1.0/24'],
    ['of IPv6', 'fd00::/64', '/range IPv6 ranges are not supported for network settings'],
    ['of IPv4 written as IPv6', '::ffff:10.0.0.0/120', '/range IPv6 ranges are not supported for network settings'],
    ['of all IPv4 written as IPv6', '::ffff:0:0/96', '/range IPv6 ranges are not supported for network settings'],
    [
      'that is wider than a /16',
      '10.0.0.0/8',
      '/range min supported prefix length for network is 16, include Range PrefixLen received 8',
    ],
    ['with a leading zero', '010.0.0.0/16', '/range invalid CIDR address: 010.0.0.0/16'],
    ['with spaces around it', ' 10.0.0.0/16 ', '/range invalid CIDR address:  10.0.0.0/16 '],
  ])('%s', (_, range, problem) => {
    expect(problemsOf({ range })).toEqual([problem])
  })
})

describe('an exclusion is refused', () => {
  const range = '10.0.0.0/24'
  test.each<[string, readonly string[], readonly string[]]>([
    ['that is no CIDR', ['x'], ['/exclude/0 invalid CIDR address: x']],
    ['that is empty', [''], ['/exclude/0 invalid CIDR address: ']],
    [
      'that is wider than a /16',
      ['10.0.0.0/8'],
      ['/exclude/0 min supported prefix length for network is 16, exclude Range PrefixLen received 8'],
    ],
    [
      'that is elsewhere',
      ['10.0.1.0/28'],
      ['/exclude/0 exclude range 10.0.1.0/28 do not overlap include range 10.0.0.0/24'],
    ],
    [
      'that is of the other family',
      ['fd00::1'],
      ['/exclude/0 exclude range fd00::1 do not overlap include range 10.0.0.0/24'],
    ],
    [
      'that is the range',
      [range],
      ['/exclude/0 exclude Range 10.0.0.0/24 includes include Range 10.0.0.0/24, no allocatable ip addresses'],
    ],
    [
      'that is wider than the range',
      ['10.0.0.0/16'],
      ['/exclude/0 exclude Range 10.0.0.0/16 includes include Range 10.0.0.0/24, no allocatable ip addresses'],
    ],
    [
      'that is there twice in a row',
      ['10.0.0.0/28', '10.0.0.0/28'],
      ['/exclude/1 exclude ranges have overlapping subnets 10.0.0.0/28 10.0.0.0/28'],
    ],
    [
      'that has some of one further up',
      ['10.0.0.0/28', '10.0.0.64/28', '10.0.0.8/29'],
      ['/exclude/2 exclude ranges have overlapping subnets 10.0.0.8/29 10.0.0.0/28'],
    ],
  ])('%s', (_, exclude, problems) => {
    expect(problemsOf({ range, exclude })).toEqual(problems)
  })

  test('wherever it lies in the list, wide or narrow, as comparing each with each finds them', () => {
    const cidr = fc.tuple(fc.nat(63), fc.integer({ min: 28, max: 32 })).map(([at, bits]) => `10.0.0.${at}/${bits}`)
    fc.assert(
      fc.property(fc.array(cidr, { maxLength: 6 }), exclude => {
        const read = exclude.map(text => orThrow(parseCIDR(text)))
        const isFound = read.some((one, i) => read.some((other, j) => j < i && overlapsCIDR(one, other)))
        expect(problemsOf({ range, exclude }).length > 0).toBe(isFound)
      }),
    )
  })

  test('with all others that are wrong, and with the range', () => {
    expect(problemsOf({ range: '10.0.0.1/24', exclude: ['x', '10.0.0.0/30', 'y'] })).toEqual([
      '/range range should be subnet CIDR 10.0.0.0/24',
      '/exclude/0 invalid CIDR address: x',
      '/exclude/2 invalid CIDR address: y',
    ])
    expect(problemsOf({ range, exclude: ['x', '10.0.0.0/30', 'y', '10.0.9.0/30'] })).toEqual([
      '/exclude/0 invalid CIDR address: x',
      '/exclude/2 invalid CIDR address: y',
      '/exclude/3 exclude range 10.0.9.0/30 do not overlap include range 10.0.0.0/24',
    ])
  })

  test('is not, where it is a single address: that is the CIDR of it alone', () => {
    expect(count(range, ['10.0.0.1'])).toBe(count(range, ['10.0.0.1/32']))
  })
})

describe('IPv6', () => {
  const v6 = { range: '10.0.0.0/24', rangeV6: 'fd00:1::/64', rangeV6Start: 'fd00:1::10', rangeV6End: 'fd00:1::1f' }

  test.each<[string, Partial<AddressTexts>, readonly string[]]>([
    ['with its start and end', {}, []],
    ['that is IPv4', { rangeV6: '10.0.1.0/24' }, ['/rangeV6 rangeV6 must be an IPv6 CIDR']],
    ['that is IPv4 written as IPv6', { rangeV6: '::ffff:10.0.1.0/120' }, ['/rangeV6 rangeV6 must be an IPv6 CIDR']],
    ['that has host bits', { rangeV6: 'fd00:1::1/64' }, ['/rangeV6 rangeV6 should be subnet CIDR fd00:1::/64']],
    ['without a start', { rangeV6Start: '' }, ['/rangeV6Start rangeV6Start is required with rangeV6']],
    [
      'without both',
      { rangeV6Start: '', rangeV6End: '' },
      ['/rangeV6Start rangeV6Start is required with rangeV6', '/rangeV6End rangeV6End is required with rangeV6'],
    ],
    [
      'whose start is elsewhere',
      { rangeV6Start: 'fd00:2::1' },
      ['/rangeV6Start rangeV6Start fd00:2::1 is not in fd00:1::/64'],
    ],
    ['whose end is no address', { rangeV6End: 'x' }, ['/rangeV6End invalid IP address: x']],
    [
      'that ends before it starts',
      { rangeV6Start: 'fd00:1::20' },
      ['/rangeV6Start rangeV6Start fd00:1::20 is above rangeV6End fd00:1::1f'],
    ],
    [
      'of which only the ends are said',
      { rangeV6: '' },
      ['/rangeV6Start rangeV6Start needs rangeV6', '/rangeV6End rangeV6End needs rangeV6'],
    ],
    ['without IPv4', { range: '' }, ['/range invalid CIDR address: ']],
  ])('%s is judged', (_, change, problems) => {
    expect(problemsOf({ ...v6, ...change })).toEqual(problems)
  })

  test('of a MigrationNetwork needs neither IPv4 nor a start and an end', () => {
    expect(problemsOf({ rangeV6: 'fd00:1::/64' }, 'plain')).toEqual([])
    expect(problemsOf({ rangeV6: 'fd00:1::/64', exclude: ['fd00:1::1'] }, 'plain')).toEqual([
      '/exclude exclude is of range, and there is none',
    ])
  })

  test('counts with IPv4 as the smaller of the two: a node takes one of each', () => {
    expect(countUsable(rangesOf(v6))).toBe(16n)
    expect(countUsable(rangesOf({ ...v6, rangeV6End: 'fd00:1::ffff' }))).toBe(254n)
  })
})

describe('what can be given out', () => {
  test.each<[string, readonly string[], number]>([
    ['192.168.2.0/24', [], 254],
    ['192.168.2.0/27', [], 30],
    ['192.168.2.0/30', [], 2],
    ['192.168.2.0/31', [], 0],
    ['192.168.2.0/32', [], 0],
    ['10.1.0.0/16', [], 65_534],
    ['192.168.0.0/29', ['192.168.0.0/30'], 3],
    ['192.168.1.0/29', ['192.168.1.1/32', '192.168.1.6/32'], 4],
    ['192.168.0.0/27', ['192.168.0.0/28'], 15],
    ['192.168.2.0/24', ['192.168.2.1/30'], 251],
    ['192.168.2.0/24', ['192.168.2.5/30'], 250],
    ['192.168.2.0/24', ['192.168.2.15/28'], 239],
    ['10.0.0.0/29', ['10.0.0.3/30', '10.0.0.7/30'], 0],
    ['2001:db8::/120', [], 254],
    ['2001:db8::/126', [], 2],
    ['2001:db8::/127', [], 0],
    ['2001:db8::/128', [], 0],
  ])('of %s without %j is counted: %i', (range, exclude, expected) => {
    expect(count(range, exclude)).toBe(expected)
  })

  test('of a /24 without a /30 or a /28, and of a /27, is enough for 16', () => {
    for (const exclude of [['192.168.2.0/30'], ['192.168.2.0/28']]) {
      expect(count('192.168.2.0/24', exclude)).toBeGreaterThanOrEqual(16)
    }
    expect(count('192.168.2.0/27')).toBeGreaterThanOrEqual(16)
  })

  test('of a /64 and of a /0 is as many as there are, to the last', () => {
    expect(countUsable(rangesOf({ rangeV6: 'fd00::/64' }))).toBe(2n ** 64n - 2n)
    expect(countUsable(rangesOf({ rangeV6: '::/0' }))).toBe(2n ** 128n - 2n)
  })

  test('is never the network, the broadcast address or an excluded one', () => {
    const ranges = rangesOf({ range: '10.0.0.0/29', exclude: ['10.0.0.2/32'] })
    const given = [...Array(8).keys()].map(i => `10.0.0.${i}`).filter(text => gives(ranges, text))
    expect(given).toEqual(['10.0.0.1', '10.0.0.3', '10.0.0.4', '10.0.0.5', '10.0.0.6'])
    expect(gives(ranges, 'x')).toBe(false)
  })

  test('has no ends where there is nothing', () => {
    const [range] = rangesOf({ range: '10.0.0.0/31' })
    if (range === undefined) throw new Error('no range')
    expect(endsOf(range)).toBeUndefined()
    expect(sizeOf(usableOf(range))).toBe(0n)
  })
})
