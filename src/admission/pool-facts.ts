// What a review of a pool asks about the rest of the world. Answers come from caches and may be late, which is harmless: a
// pool that stops offering an address takes it from nobody, and a pool that somebody holds is kept by its finalizer. The
// checks are there to tell a person in time, not to keep the ledger safe.

import type { Identity } from '../api/object.ts'
import type { Pool } from '../api/pool.ts'
import type { Block } from '../ipam/space-index.ts'

export interface PoolFacts {
  /** Every address or prefix held from the pool, also by an IPAddress that somebody made by hand. */
  heldOf(pool: Identity): Iterable<Block>
  /** Whether a hold or an IPAddress names the pool, one that cannot be read included. */
  isHeld(pool: Identity): boolean
  /** All pools of all kinds that can be read. */
  pools(): Iterable<Pool>
}
