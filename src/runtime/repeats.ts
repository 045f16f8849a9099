// Passes of one key that write the same again and again. Each of them was woken by the write before, or by a program that undoes
// it: left alone, one object would keep the controller and the API server busy for ever. Such a key is slowed down, whatever
// wakes it, until it writes something else. What a pass writes is compared without versions and times, which always differ.

import { type Backoff, backoffMs } from './backoff.ts'
import type { Clock } from './clock.ts'
import type { Random } from './random.ts'

/** So often within the window the same may be written in a row: a user, or another controller, may have undone it. */
export const sameWritesMax = 10
const windowMs = 60_000

const slowDown: Backoff = { firstMs: 100, maxMs: 60_000, factor: 2, jitter: 0.5 }

/** So many keys are remembered; then it begins anew. One that goes in circles is soon known again. */
const rememberedMax = 10_000

interface Run {
  readonly fingerprint: number
  count: number
  /** Until then the same again counts; when it is slowed down, it has longer. */
  untilMs: number
}

export interface Repeat {
  /** How long the key is to rest. */
  readonly restMs: number
  /** The first of its run. */
  readonly isFirst: boolean
}

export class Repeats {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #random: Random
  #runs = new Map<string, Run>()

  constructor(clock: Pick<Clock, 'monotonicMs'>, random: Random) {
    this.#clock = clock
    this.#random = random
  }

  /** A pass of the key has ended, and wrote this. Undefined while it is nothing to slow down for. */
  passed(key: string, fingerprint: number): Repeat | undefined {
    const nowMs = this.#clock.monotonicMs()
    const run = this.#runs.get(key)
    if (run === undefined || run.fingerprint !== fingerprint || nowMs >= run.untilMs) {
      if (this.#runs.size >= rememberedMax) this.#runs = new Map()
      this.#runs.set(key, { fingerprint, count: 1, untilMs: nowMs + windowMs })
      return undefined
    }
    run.count++
    if (run.count <= sameWritesMax) return undefined
    const restMs = backoffMs(run.count - sameWritesMax, slowDown, this.#random)
    run.untilMs = nowMs + restMs + windowMs
    return { restMs, isFirst: run.count === sameWritesMax + 1 }
  }
}

const versionsAndTimes = /"resourceVersion":"[^"]*"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g

/**
 * A number for all that a pass wrote: made of this write, and of the number for those `before` it. Of four billion passes that write
 * something else, one has the same number.
 */
export function fingerprintOf(write: string, before = 0): number {
  const text = write.replace(versionsAndTimes, '')
  let hash = (before ^ 0x811c9dc5) >>> 0
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0
  return hash
}
