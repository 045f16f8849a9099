// Blocks: what a pool gives out, counted. Single addresses are blocks of all bits, prefixes are blocks of fewer, and a block
// is known by its number: its address without the bits behind the prefix. So one set of rules chooses and counts both.

import { bitsOf, type Family, fromValue, type IP, toValue } from '../ip/address.ts'
import type { Range } from '../ip/range.ts'
import type { RangeSet } from '../ip/range-set.ts'

/** Up to this many bits a block's number is a plain number: the shift of a word is all it takes. */
export const narrowBitsMax = 32

export function narrowNumber(ip: IP, bits: number): number {
  const word = ip.family === 4 ? ip.w3 : ip.w0
  return bits === 0 ? 0 : (word >>> 0) >>> (32 - bits)
}

export const wideNumber = (ip: IP, bits: number): bigint => toValue(ip) >> BigInt(bitsOf(ip.family) - bits)

export function blockOfNarrow(family: Family, bits: number, n: number): IP {
  const word = bits === 0 ? 0 : (n << (32 - bits)) | 0
  if (family === 4) return { family, w0: 0, w1: 0, w2: 0, w3: word }
  return { family, w0: word, w1: 0, w2: 0, w3: 0 }
}

export const blockOf = (family: Family, bits: number, n: bigint): IP =>
  fromValue(family, n << BigInt(bitsOf(family) - bits))

/** The blocks that lie wholly inside the set, as ranges of their numbers. */
export function blocksInside({ family, ranges }: RangeSet, bits: number): RangeSet {
  const shift = BigInt(bitsOf(family) - bits)
  if (shift === 0n) return { family, ranges }
  const inside: Range[] = []
  for (const range of ranges) {
    const first = (range.first + (1n << shift) - 1n) >> shift
    const last = ((range.last + 1n) >> shift) - 1n
    if (first <= last) inside.push({ family, first, last })
  }
  return { family, ranges: inside }
}

/** The blocks that share at least one address with the set. They may come to touch each other, so they are not merged. */
export function* blocksTouching({ family, ranges }: RangeSet, bits: number): Generator<Range, void, undefined> {
  const shift = BigInt(bitsOf(family) - bits)
  for (const { first, last } of ranges) yield { family, first: first >> shift, last: last >> shift }
}
