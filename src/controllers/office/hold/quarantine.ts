// How long a released address rests before another claim may have it: the one place where that is decided.

import type { Identity } from '../../../api/object.ts'
import type { Pool } from '../../../api/pool.ts'
import type { Sources } from '../sources.ts'

/** By the pool it was given from. A pool that is gone, or on its way out, has no later user to protect from a hasty second use. */
export function restSecondsOf(pool: Pick<Pool, 'quarantineSeconds' | 'isDeleting'> | undefined): number {
  return pool === undefined || pool.isDeleting ? 0 : pool.quarantineSeconds
}

/** By what a hold says it was given from: a pool, or a network. */
export function restSecondsOfSource(sources: Pick<Sources, 'poolsOf'>, source: Identity): number {
  return restSecondsOf(sources.poolsOf(source)[0])
}
