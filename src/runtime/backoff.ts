// How long to wait before the next try. Delays grow by a factor up to a bound; chance takes a part of each away, so
// that keys that failed together do not come back together.

import type { Random } from './random.ts'

export interface Backoff {
  readonly firstMs: number
  readonly maxMs: number
  readonly factor: number
  /** The part of a delay that chance may take away, from 0 to 1. */
  readonly jitter: number
}

/** The wait after so many failures in a row (the first failure is 1): at most `maxMs`, never negative. */
export function backoffMs(failures: number, { firstMs, maxMs, factor, jitter }: Backoff, random: Random): number {
  const grown = firstMs * factor ** Math.max(0, failures - 1)
  const wholeMs = Math.min(grown, maxMs)
  return wholeMs * (1 - jitter * random())
}
