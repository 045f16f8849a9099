// Prefix pools beyond what blocks already do: whether a prefix is one that the pool gives out. Which one is the lowest free is
// for `choose.ts`, as with addresses.

import type { Pool } from '../api/pool.ts'
import { hasValue } from '../ip/range-set.ts'
import { wideNumber } from './blocks.ts'
import { poolSetOf } from './pool-set.ts'
import type { Block } from './space-index.ts'

/** Whether the pool may give out this block: of its length, and wholly among what it offers. */
export function isOffered(pool: Pool, { ip, bits }: Block): boolean {
  if (ip.family !== pool.family || bits !== pool.bits) return false
  return hasValue(poolSetOf(pool).offered, wideNumber(ip, bits))
}
