// Wall time as Kubernetes writes it into objects.

import type { Clock } from '../runtime/clock.ts'

/** RFC 3339 to the second, as all stored times are. */
export function timestamp(clock: Clock, afterMs = 0): string {
  return `${new Date(clock.now() + afterMs).toISOString().slice(0, 19)}Z`
}

/** metav1.MicroTime, where fractions count: always six digits, of which our clock knows three. */
export function toMicroTime(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 23)}000Z`
}
