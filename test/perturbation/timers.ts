// Everything that asks Node for a timer asks the world's clock instead, for as long as the world lasts. Code that waits for real
// time inside of it waits for ever, and is noticed.

import type { CancelTimer, Clock } from '../../src/runtime/clock.ts'

/** Answers how to give the timers back. */
export function takeTimers(clock: Clock): () => void {
  const real = {
    setTimeout: globalThis.setTimeout,
    clearTimeout: globalThis.clearTimeout,
    setInterval: globalThis.setInterval,
    clearInterval: globalThis.clearInterval,
  }
  const clear = (timer: unknown) => (timer instanceof Timer ? timer.cancel() : undefined)
  const virtual = {
    setTimeout: (fire: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]) =>
      new Timer(clock, delayMs, false, () => fire(...args)),
    setInterval: (fire: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]) =>
      new Timer(clock, delayMs, true, () => fire(...args)),
    clearTimeout: clear,
    clearInterval: clear,
  }
  Object.assign(globalThis, virtual)
  return () => Object.assign(globalThis, real)
}

class Timer {
  #cancel: CancelTimer = () => {}

  constructor(clock: Clock, delayMs: number, isRepeated: boolean, fire: () => void) {
    const arm = () => {
      this.#cancel = clock.setTimer(delayMs, () => {
        if (isRepeated) arm()
        fire()
      })
    }
    arm()
  }

  cancel(): void {
    this.#cancel()
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }
}

/** The clock of one process: it can stand still, and what was due meanwhile is due at once when it goes on. */
export class ProcessClock implements Clock {
  readonly #clock: Clock
  readonly #timers = new Set<CancelTimer>()
  readonly #late: (() => void)[] = []
  #isFrozen = false
  #isDead = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): number {
    return this.#clock.now()
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs()
  }

  setTimer(delayMs: number, fire: () => void): CancelTimer {
    if (this.#isDead) return () => {}
    let isCancelled = false
    const due = () => {
      this.#timers.delete(cancel)
      if (this.#isFrozen) {
        this.#late.push(() => {
          if (!isCancelled) fire()
        })
        return
      }
      fire()
    }
    const cancel = this.#clock.setTimer(delayMs, due)
    this.#timers.add(cancel)
    return () => {
      isCancelled = true
      this.#timers.delete(cancel)
      cancel()
    }
  }

  freeze(): void {
    this.#isFrozen = true
  }

  thaw(): void {
    this.#isFrozen = false
    for (const fire of this.#late.splice(0)) fire()
  }

  /** The process is gone: nothing of it fires any more. */
  kill(): void {
    this.#isDead = true
    this.#late.length = 0
    for (const cancel of this.#timers) cancel()
    this.#timers.clear()
  }
}
