// How full a pool is. Every offered block is counted in exactly one column, so
//
//   total = free + held + shown + quarantined + reserved + draining
//
// always, and none is ever negative. `held` is whatever is held of what the pool offers, by whichever pool of its space
// it was given; `shown` is what a claim or an IPAddress shows without a hold, or a pool or network keeps in the space, which no
// other claim is given; what this pool gave and offers no more is `outOfRange`, outside of the sum. Numbers are exact: a /64
// has more addresses than a JavaScript number can count.

import type { Pool } from '../api/pool.ts'
import { difference, type RangeSet, sizeOf } from '../ip/range-set.ts'
import { poolSetOf } from './pool-set.ts'
import type { SpaceIndex } from './space-index.ts'

export interface Capacity {
  readonly total: bigint
  /** What a claim that asks for nothing in particular could get now. */
  readonly free: bigint
  readonly held: bigint
  /**
   * Shown by a claim or an IPAddress, and not held: the claim is paused, or another provider's, or there is none. Or another
   * pool or a network keeps it.
   */
  readonly shown: bigint
  readonly quarantined: bigint
  /** Kept for claims that are named, or that ask for it, and do not hold it yet. */
  readonly reserved: bigint
  /** Given up by its holders, and not given out any more. */
  readonly draining: bigint
  /** Of those that are being drained: still held. */
  readonly drainingHeld: bigint
  /** Held from this pool, and no longer offered by it. */
  readonly outOfRange: bigint
  /** All that is held from this pool, in range or out. */
  readonly used: bigint
}

export function capacityOf(pool: Pool, index: SpaceIndex): Capacity {
  const { offered, total, kept, draining, onRequest, open, bits } = poolSetOf(pool)
  const asked = difference(onRequest, kept)
  const unkept = difference(difference(draining, kept), asked)
  const taken = index.occupancy(offered, bits)
  const reserved = untaken(index, kept, bits) + untaken(index, asked, bits)
  const drained = untaken(index, unkept, bits)
  const shownAlone = BigInt(index.shownIn(offered, bits))
  const held = BigInt(taken.held) - shownAlone
  const shown = shownAlone + index.coveredIn(open, bits)
  const quarantined = BigInt(taken.quarantined)
  const used = index.heldOfPool(pool)
  const inRange = index.isOnlyPool(pool) ? taken.held : index.heldFrom(pool, offered, bits)
  return {
    total,
    free: total - held - shown - quarantined - reserved - drained,
    held,
    shown,
    quarantined,
    reserved,
    draining: drained,
    drainingHeld: BigInt(index.occupancy(draining, bits).held),
    outOfRange: BigInt(used - inRange),
    used: BigInt(used),
  }
}

function untaken(index: SpaceIndex, blocks: RangeSet, bits: number): bigint {
  const { held, quarantined } = index.occupancy(blocks, bits)
  return sizeOf(blocks) - BigInt(held) - BigInt(quarantined)
}
