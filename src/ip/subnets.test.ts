import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toValue } from './address.ts'
import { type CIDR, parseCIDR, toCIDRText } from './cidr.ts'
import { orThrow } from './malformed.ts'
import { parseEntry, rangeOfCIDR } from './range.ts'
import {
  difference,
  emptySet,
  isSubset,
  overlapsSet,
  type RangeSet,
  sizeOf,
  toRangeSet,
  wholeFamily,
} from './range-set.ts'
import { countBlocks, nextFreeBlock, subdivide } from './subnets.ts'

const cidr = (text: string): CIDR => orThrow(parseCIDR(text))
const set6 = (...entries: string[]): RangeSet =>
  toRangeSet(
    6,
    entries.map(text => orThrow(parseEntry(text))),
  )

describe('dividing a network', () => {
  it.each([
    ['10.0.0.0/30', 32, '10.0.0.0/32 10.0.0.1/32 10.0.0.2/32 10.0.0.3/32'],
    ['10.0.0.77/24', 26, '10.0.0.0/26 10.0.0.64/26 10.0.0.128/26 10.0.0.192/26'],
    ['255.255.255.254/31', 32, '255.255.255.254/32 255.255.255.255/32'],
    ['0.0.0.0/0', 1, '0.0.0.0/1 128.0.0.0/1'],
    ['fd00::/48', 48, 'fd00::/48'],
    ['fd00::/48', 47, ''],
    ['fd00::/127', 128, 'fd00::/128 fd00::1/128'],
  ])('%s into /%i gives %s', (text, bits, expected) => {
    expect([...subdivide(cidr(text), bits)].map(toCIDRText).join(' ')).toBe(expected)
  })

  it('hands out subnets as they are asked for, however many there are', () => {
    const subnets = subdivide(cidr('::/0'), 128)
    expect([subnets.next().value, subnets.next().value].map(subnet => subnet && toCIDRText(subnet))).toEqual([
      '::/128',
      '::1/128',
    ])
  })

  it('conserves addresses: the subnets coalesce into the network', () => {
    fc.assert(
      fc.property(fc.integer({ min: 16, max: 32 }), fc.integer({ min: 0, max: 6 }), (bits, more) => {
        const network = cidr(`172.16.0.0/${bits}`)
        const inner = Math.min(32, bits + more)
        const subnets = [...subdivide(network, inner)]
        expect(subnets.length).toBe(2 ** (inner - bits))
        expect(toRangeSet(4, subnets.map(rangeOfCIDR)).ranges).toEqual([rangeOfCIDR(network)])
      }),
    )
  })
})

describe('free blocks', () => {
  it('merge adjacent sources before they are cut', () => {
    expect(countBlocks(set6('fd00::/63', 'fd00::/62', 'fd00:0:0:8::/62'), 64)).toBe(8n)
    expect(countBlocks(set6('fd00:0:0:1::/64', 'fd00:0:0:2::/64'), 63)).toBe(0n)
    expect(countBlocks(set6('fd00:0:0:2::/64', 'fd00:0:0:3::/64'), 63)).toBe(1n)
  })

  it('are lost to a single blocked address', () => {
    const offered = set6('fd00::/62')
    const blocked = set6('fd00::5', 'fd00:0:0:1::/64')
    const block = nextFreeBlock(offered, blocked, { bits: 64 })
    expect(block && toCIDRText(block)).toBe('fd00:0:0:2::/64')
    expect(countBlocks(difference(offered, blocked), 64)).toBe(2n)
  })

  it('are counted in a whole family without walking it', () => {
    expect(countBlocks(wholeFamily(6), 128)).toBe(2n ** 128n)
    expect(countBlocks(wholeFamily(6), 0)).toBe(1n)
    expect(countBlocks(wholeFamily(4), 31)).toBe(2n ** 31n)
  })

  it('refuse a prefix length the family does not have', () => {
    expect(() => countBlocks(wholeFamily(4), 33)).toThrow(RangeError)
    expect(() => nextFreeBlock(wholeFamily(4), emptySet(4), { bits: -1 })).toThrow(RangeError)
  })

  it('are those a naive search finds', () => {
    const members = fc.array(fc.boolean(), { minLength: 32, maxLength: 32 })
    const edge = fc.constantFrom(0n, 2n ** 128n - 32n)
    const build = (base: bigint, chosen: boolean[]) =>
      toRangeSet(
        6,
        chosen.flatMap((isIn, i) =>
          isIn ? [{ family: 6 as const, first: base + BigInt(i), last: base + BigInt(i) }] : [],
        ),
      )
    fc.assert(
      fc.property(
        edge,
        members,
        members,
        fc.integer({ min: 0, max: 3 }),
        fc.nat({ max: 31 }),
        (base, a, b, hostBits, from) => {
          const size = 1 << hostBits
          const offered = build(
            base,
            a.map((isIn, i) => isIn || i % 3 > 0),
          )
          const blocked = build(
            base,
            b.map((isIn, i) => isIn && i % 4 === 0),
          )
          const free = difference(offered, blocked)
          const starts = Array.from({ length: 32 / size }, (_, i) => base + BigInt(i * size)).filter(first =>
            isSubset(toRangeSet(6, [{ family: 6, first, last: first + BigInt(size) - 1n }]), free),
          )
          expect(countBlocks(free, 128 - hostBits)).toBe(BigInt(starts.length))
          const block = nextFreeBlock(offered, blocked, { bits: 128 - hostBits, from: base + BigInt(from) })
          expect(block && toValue(block.ip)).toBe(starts.find(first => first >= base + BigInt(from)))
          if (block === undefined) return
          const taken = toRangeSet(6, [rangeOfCIDR(block)])
          expect(sizeOf(taken)).toBe(BigInt(size))
          expect(overlapsSet(taken, blocked)).toBe(false)
        },
      ),
      { numRuns: 1000 },
    )
  })
})
