// The aligned blocks of one prefix length: the subnets of a CIDR, and the blocks that fit into a set of addresses once
// everything blocked is taken out. Blocks are found by arithmetic on the ends of ranges and counted by division, so a
// /0 cut into /128s costs what a /30 costs until somebody walks it.

import { bitsOf, fromValue } from './address.ts'
import { type CIDR, toCIDR } from './cidr.ts'
import { type Range, rangeOfCIDR } from './range.ts'
import { difference, type RangeSet, rangeAtOrAfter } from './range-set.ts'

/** The subnets of a network, lowest first, made only as they are asked for. None if they would be larger than it. */
export function* subdivide(cidr: CIDR, bits: number): Generator<CIDR, void, undefined> {
  yield* blocksOf(rangeOfCIDR(cidr), bits)
}

/** How many aligned blocks of this prefix length lie wholly inside the set. */
export function countBlocks(set: RangeSet, bits: number): bigint {
  let count = 0n
  for (const range of set.ranges) {
    const { index, end } = blockIndexes(range, bits)
    if (end > index) count += end - index
  }
  return count
}

/** The lowest aligned block at or after `from` that lies wholly in `offered` and shares no address with `blocked`. */
export function nextFreeBlock(
  offered: RangeSet,
  blocked: RangeSet,
  { bits, from = 0n }: { bits: number; from?: bigint },
): CIDR | undefined {
  const free = difference(offered, blocked)
  for (let i = rangeAtOrAfter(free, from); i < free.ranges.length; i++) {
    const range = free.ranges[i]
    if (range === undefined) return undefined
    for (const block of blocksOf(range.first < from ? { ...range, first: from } : range, bits)) return block
  }
  return undefined
}

function* blocksOf(range: Range, bits: number): Generator<CIDR, void, undefined> {
  const { index, end, shift } = blockIndexes(range, bits)
  for (let i = index; i < end; i++) yield toCIDR(fromValue(range.family, i << shift), bits)
}

/** The blocks of a range as numbers: the first that starts inside, and the one after the last that ends inside. */
function blockIndexes({ family, first, last }: Range, bits: number): { index: bigint; end: bigint; shift: bigint } {
  const hostBits = bitsOf(family) - bits
  if (bits < 0 || hostBits < 0) throw new RangeError(`${bits} is not a prefix length of an IPv${family} address`)
  const shift = BigInt(hostBits)
  return { index: (first + (1n << shift) - 1n) >> shift, end: (last + 1n) >> shift, shift }
}
