// Whether the API server has a kind whose objects are not read: by it, a program is known to be installed. It is asked at the
// start, and then every few seconds until it is there. From then on it counts as there for as long as this process runs: an
// API server that starts again may not know it for a moment. One that does not say for long is a problem of what has to know.

import { type Clock, pause } from '../runtime/clock.ts'
import type { Random } from '../runtime/random.ts'
import { Cancelled, type CancelReason } from '../runtime/retry-policy.ts'
import { Waiters } from '../runtime/waiters.ts'
import { describeError } from '../telemetry/log.ts'
import type { Discovery } from './discovery.ts'
import { type Kind, nameOfKind } from './object.ts'

export interface PresenceOptions {
  readonly kind: Kind
  readonly discovery: Pick<Discovery, 'find'>
  readonly clock: Clock
  readonly random: Random
}

const askAgainMs = 5_000
const problemAfterMs = 30_000

export class Presence {
  readonly name: string
  readonly #options: PresenceOptions
  readonly #abort = new AbortController()
  readonly #waiting = new Waiters()
  readonly #onFound: (() => void)[] = []
  readonly #onProblemChange: (() => void)[] = []
  /** Since it was first asked, while it was never known. */
  #failing: { readonly sinceMs: number; readonly error: unknown } | undefined
  #life: Promise<void> | undefined
  #isThere: boolean | undefined

  constructor(options: PresenceOptions) {
    this.name = nameOfKind(options.kind)
    this.#options = options
  }

  /** False also while it is not known. */
  get isThere(): boolean {
    return this.#isThere === true
  }

  problem(): string | undefined {
    if (this.#failing === undefined) return undefined
    const { sinceMs, error } = this.#failing
    if (this.#options.clock.monotonicMs() - sinceMs < problemAfterMs) return undefined
    return `whether ${this.name} is installed is not known: ${describeError(error)}`
  }

  onProblemChange(changed: () => void): void {
    this.#onProblemChange.push(changed)
  }

  onFound(found: () => void): void {
    this.#onFound.push(found)
  }

  start(): void {
    this.#life ??= this.#live()
  }

  /** Resolves when it is known for the first time. */
  synced(signal?: AbortSignal): Promise<void> {
    return this.#waiting.until(this.#isThere !== undefined, signal)
  }

  async stop(reason: CancelReason): Promise<void> {
    this.#abort.abort(new Cancelled(reason))
    await this.#life
  }

  async #live(): Promise<void> {
    const { clock, random } = this.#options
    const { signal } = this.#abort
    while (!signal.aborted) {
      await this.#ask()
      if (this.isThere) return
      await pause(clock, askAgainMs * (0.75 + random() / 2), signal)
    }
  }

  /** A server that does not answer has not said that it is absent. */
  async #ask(): Promise<void> {
    const { discovery, kind, clock } = this.#options
    let version: string | undefined
    try {
      version = await discovery.find(kind)
    } catch (error) {
      if (this.#isThere === undefined) this.#fail({ sinceMs: this.#failing?.sinceMs ?? clock.monotonicMs(), error })
      return
    }
    this.#isThere = version !== undefined
    if (this.isThere) for (const found of this.#onFound) found()
    this.#waiting.resolve()
    if (this.#failing !== undefined) this.#fail(undefined)
  }

  #fail(failing: { readonly sinceMs: number; readonly error: unknown } | undefined): void {
    this.#failing = failing
    for (const changed of this.#onProblemChange) changed()
  }
}
