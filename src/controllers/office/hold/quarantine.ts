// How long a released address rests before another claim may have it: the one place where that is decided.

import type { Pool } from '../../../api/pool.ts'

/** By the pool it was given from. A pool that is gone, or on its way out, has no later user to protect from a hasty second use. */
export function restSecondsOf(pool: Pick<Pool, 'quarantineSeconds' | 'isDeleting'> | undefined): number {
  return pool === undefined || pool.isDeleting ? 0 : pool.quarantineSeconds
}
