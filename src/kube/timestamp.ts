// Times as objects keep them.

import type { Clock } from '../runtime/clock.ts'

/** RFC 3339 to the second, as all stored times are. */
export function timestamp(clock: Clock, afterMs = 0): string {
  return `${new Date(clock.now() + afterMs).toISOString().slice(0, 19)}Z`
}
