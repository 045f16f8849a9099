// One life of a desk's process: it can stand still as a whole, and it can be killed.

import { setMaxListeners } from 'node:events'
import type { Clock } from '../../src/runtime/clock.ts'
import { ProcessClock } from './timers.ts'

/** A list from the past, which a new process gets first. */
export interface OldView {
  readonly revision: number
}

export class Life {
  readonly clock: ProcessClock
  readonly #view: OldView | undefined
  readonly #viewed = new Set<string>()
  readonly #end = new AbortController()
  #whenThawed: (() => void)[] | undefined

  constructor(clock: Clock, view?: OldView) {
    this.clock = new ProcessClock(clock)
    this.#view = view
    // One for each stream.
    setMaxListeners(0, this.#end.signal)
  }

  get isOver(): boolean {
    return this.#end.signal.aborted
  }

  /** Aborted when the process is gone. */
  get end(): AbortSignal {
    return this.#end.signal
  }

  /** What is shown of a kind when it is listed for the first time, if not the present. */
  firstView(kind: string): OldView | undefined {
    if (this.#viewed.has(kind)) return undefined
    this.#viewed.add(kind)
    return this.#view
  }

  freeze(): void {
    this.#whenThawed ??= []
    this.clock.freeze()
  }

  thaw(): void {
    const waiting = this.#whenThawed ?? []
    this.#whenThawed = undefined
    this.clock.thaw()
    for (const resolve of waiting) resolve()
  }

  die(): void {
    this.clock.kill()
    this.#end.abort('the process ended')
  }

  /** Resolves when the process can go on; never, when it is gone. */
  async goingOn(): Promise<void> {
    while (this.#whenThawed !== undefined) await new Promise<void>(resolve => this.#whenThawed?.push(resolve))
    if (this.isOver) await never()
  }
}

export function never(): Promise<never> {
  return new Promise(() => {})
}
