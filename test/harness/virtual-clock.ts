// A clock that stands still until it is moved. Timers fire in the order they are due, and between two of them everything
// that can run without waiting for time does run; so a story of an hour takes a moment and always goes the same way.

import type { CancelTimer, Clock } from '../../src/runtime/clock.ts'

interface Timer {
  readonly dueMs: number
  readonly order: number
  readonly fire: () => void
}

const birth = Date.UTC(2030, 0, 1)

/** Turns of the event loop after which nothing more happens by itself, in code that waits for nothing but turns. */
const quietTurns = 4

export class VirtualClock implements Clock {
  readonly #timers = new Set<Timer>()
  #elapsedMs = 0
  #wallOffsetMs = birth
  #order = 0

  now(): number {
    return this.#wallOffsetMs + this.#elapsedMs
  }

  monotonicMs(): number {
    return this.#elapsedMs
  }

  setTimer(delayMs: number, fire: () => void): CancelTimer {
    const timer: Timer = { dueMs: this.#elapsedMs + Math.max(0, delayMs), order: this.#order++, fire }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Timers that wait. At the end of a story there are none. */
  get timers(): number {
    return this.#timers.size
  }

  /** How long until the next timer; undefined when there is none. */
  get nextMs(): number | undefined {
    const next = this.#next()
    return next === undefined ? undefined : next.dueMs - this.#elapsedMs
  }

  /** Moves wall time alone, as an administrator or a time server does; timers do not notice. */
  jump(milliseconds: number): void {
    this.#wallOffsetMs += milliseconds
  }

  /** Lets so much time pass. */
  async advance(milliseconds: number): Promise<void> {
    const endMs = this.#elapsedMs + milliseconds
    await settle()
    for (let timer = this.#next(); timer !== undefined && timer.dueMs <= endMs; timer = this.#next()) {
      this.#timers.delete(timer)
      this.#elapsedMs = Math.max(this.#elapsedMs, timer.dueMs)
      timer.fire()
      await settle()
    }
    this.#elapsedMs = endMs
  }

  #next(): Timer | undefined {
    let first: Timer | undefined
    for (const timer of this.#timers) {
      if (
        first === undefined ||
        timer.dueMs < first.dueMs ||
        (timer.dueMs === first.dueMs && timer.order < first.order)
      ) {
        first = timer
      }
    }
    return first
  }
}

/** Resolves when everything that waits for no time has run. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < quietTurns; turn++) await new Promise(resolve => setImmediate(resolve))
}
