// A queue of keys: each key names something to look at, never what happened to it.
//
//                mark / due                    run
//   (absent) ---------------> ready ------------------------> running
//       ^  \                    ^                              |   | mark
//       |   \ markAfter         | due                          |   v
//       |    `----> waiting ----'        done                  | running, and marked
//       `------------------------------------------------------'   `--> ready
//
// - A key is never run twice at once; one that is marked while it runs is run again.
// - A mark is never forgotten. Of several delays the earliest counts. What a pass itself asked for is replaced by what
//   the next pass asks for, because that one has seen more.
// - Keys are taken from their groups in turn, first in first out within one: a group of a million keys holds up a group of
//   one by a single pass, beside those that run already (turns.ts).
// - A key that fails waits longer each time and holds up no other; a mark from outside ends its wait.
// - A key that is told to rest is run when its rest is over, and not before: no mark ends it.
// - A key that was decided on an old cache has not failed: it runs again at once, and then after pauses that stay short.

import { type Backoff, backoffMs } from './backoff.ts'
import type { CancelTimer, Clock } from './clock.ts'
import type { Random } from './random.ts'
import { Turns } from './turns.ts'

/** What a pass wants to happen next with its key. With `restMs`, not before so long, whatever marks the key meanwhile. */
export type Next = Wish & { readonly restMs?: number }

type Wish =
  | { readonly kind: 'done' }
  /** There is more to do: behind the others, without a delay. */
  | { readonly kind: 'requeue' }
  | { readonly kind: 'requeue after'; readonly delayMs: number }
  /** It was decided on an old cache: at once, and then after short pauses, by when the cache is newer. */
  | { readonly kind: 'stale' }
  /** It failed: later, and later still the next time. */
  | { readonly kind: 'retry'; readonly atLeastMs?: number }

export interface QueueOptions {
  readonly clock: Clock
  readonly random: Random
  /** Keys worked on at once. */
  readonly concurrency: number
  /**
   * Whether nothing is to be done for a key, told without waiting for anything: then no pass is made of it. After a start there
   * is one key for every object, and nearly all of them are settled.
   */
  readonly isSettled?: (key: string) => boolean
  /** Works on one key. It may not throw. */
  readonly run: (key: string) => Promise<Next>
  /** The group of a key, the outermost first. */
  readonly groupOf?: (key: string) => readonly string[]
  readonly backoff?: Backoff
  readonly onWaited?: (waitedMs: number) => void
}

const retryBackoff: Backoff = { firstMs: 20, maxMs: 5 * 60_000, factor: 2, jitter: 0.5 }

/** A cache is late by moments: a claim should not wait for minutes because of it. */
export const staleBackoff: Backoff = { firstMs: 20, maxMs: 2_000, factor: 2, jitter: 0.5 }

/** A pass that asks for more this often in a row is going in circles, and is slowed down like one that fails. */
const againInARowMax = 100

/** The part by which a wait that was asked for may grow. */
const askedJitter = 0.25

/** Passes begun before the event loop gets its turn: passes that wait for nothing must not keep the network waiting. */
const passesPerTurnMax = 1_000

/** Keys marked early that are looked at in a row, and the pause before the next ones: nearly all are settled, and work goes first. */
const sortedAtOnceMax = 250
const sortPauseMs = 20

const settled = Promise.resolve()

interface Item {
  readonly key: string
  state: 'idle' | 'ready' | 'running'
  isMarked: boolean
  readySinceMs: number
  /** Asked for from outside; kept through passes that start before it is due. */
  wishedAtMs: number | undefined
  /** Asked for by the last pass. */
  ownAtMs: number | undefined
  /** It rests until then. */
  notBeforeMs: number
  cancelTimer: CancelTimer | undefined
  failures: number
  /** Passes in a row that were decided on an old cache. */
  stales: number
  agains: number
}

export class WorkQueue {
  readonly #options: QueueOptions
  readonly #items = new Map<string, Item>()
  /** Marked before the first start: a key for every object, nearly all of which are settled. */
  readonly #early = new Set<string>()
  #earlySinceMs: number | undefined
  #hasBegun = false
  #ready = new Turns<Item>()
  #running = 0
  #isStarted = false
  #isStopped = false
  #isPumpDue = false
  #cancelSort: CancelTimer | undefined
  #passesThisTurn = 0
  #moment: number | undefined
  #onIdle: (() => void)[] = []

  constructor(options: QueueOptions) {
    this.#options = options
  }

  /** The key is looked at as soon as there is room. */
  mark(key: string): void {
    if (this.#isStopped) return
    if (!this.#hasBegun && !this.#items.has(key)) {
      this.#early.add(key)
      this.#earlySinceMs ??= this.#options.clock.monotonicMs()
      return
    }
    const item = this.#item(key)
    if (item.state === 'running') {
      item.isMarked = true
      return
    }
    // It is looked at then.
    if (item.notBeforeMs > 0 && item.notBeforeMs > this.#options.clock.monotonicMs()) return
    this.#makeReady(item)
  }

  /** The key is looked at after the delay at the latest. */
  markAfter(key: string, delayMs: number): void {
    if (this.#isStopped) return
    if (delayMs <= 0) return this.mark(key)
    const item = this.#item(key)
    const dueMs = this.#options.clock.monotonicMs() + delayMs
    if (item.wishedAtMs !== undefined && item.wishedAtMs <= dueMs) return
    item.wishedAtMs = dueMs
    this.#arm(item)
  }

  start(): void {
    this.#isStarted = true
    this.#hasBegun = true
    this.#pumpSoon()
  }

  /** Takes nothing until `start` is called again; what is marked meanwhile stays in its place. */
  pause(): void {
    this.#isStarted = false
  }

  /** Takes nothing more; resolves when what runs has ended. */
  stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelSort?.()
    for (const item of this.#items.values()) item.cancelTimer?.()
    this.#items.clear()
    this.#early.clear()
    this.#ready = new Turns()
    if (this.#running === 0) return Promise.resolve()
    return new Promise(resolve => this.#onIdle.push(resolve))
  }

  /** Keys that are ready and wait for room. */
  get depth(): number {
    return this.#ready.size + this.#early.size
  }

  get running(): number {
    return this.#running
  }

  /** Keys known in any state: ready, running or waiting for their time. */
  get size(): number {
    return this.#items.size + this.#early.size
  }

  /** How long the key that has been ready for longest has waited. Looks at every key, so not for every pass. */
  oldestMs(): number {
    const nowMs = this.#options.clock.monotonicMs()
    let oldest = this.#early.size === 0 ? 0 : nowMs - (this.#earlySinceMs ?? nowMs)
    for (const item of this.#items.values()) {
      if (item.state === 'ready') oldest = Math.max(oldest, nowMs - item.readySinceMs)
    }
    return oldest
  }

  #item(key: string): Item {
    const known = this.#items.get(key)
    if (known !== undefined) return known
    const item: Item = {
      key,
      state: 'idle',
      isMarked: false,
      readySinceMs: 0,
      wishedAtMs: undefined,
      ownAtMs: undefined,
      notBeforeMs: 0,
      cancelTimer: undefined,
      failures: 0,
      stales: 0,
      agains: 0,
    }
    this.#items.set(key, item)
    return item
  }

  #makeReady(item: Item): void {
    if (item.state === 'ready') return
    item.state = 'ready'
    item.readySinceMs = this.#momentMs()
    this.#ready.push(item, this.#options.groupOf?.(item.key) ?? [])
    this.#pumpSoon()
  }

  /** The time, asked for once for all that happens without a wait in between: after a start, that is a key for every object. */
  #momentMs(): number {
    if (this.#moment === undefined) {
      this.#moment = this.#options.clock.monotonicMs()
      void settled.then(() => {
        this.#moment = undefined
      })
    }
    return this.#moment
  }

  /** Marks come in bursts, in the middle of a change to a cache: passes begin after it. */
  #pumpSoon(): void {
    if (this.#isPumpDue || !this.#isStarted) return
    this.#isPumpDue = true
    const pump = () => {
      this.#isPumpDue = false
      this.#pump()
    }
    if (this.#passesThisTurn < passesPerTurnMax) {
      // As `queueMicrotask` does it, at a fraction of its price: there is one for every pass.
      void settled.then(pump)
      return
    }
    setImmediate(() => {
      this.#passesThisTurn = 0
      pump()
    })
  }

  #pump(): void {
    this.#sortEarly()
    while (this.#isStarted && this.#running < this.#options.concurrency) {
      const item = this.#ready.shift()
      if (item === undefined) break
      this.#passesThisTurn++
      if (this.#isSettled(item.key)) this.#skip(item)
      else void this.#work(item)
      // Keys that are settled take no room, and may be many: the network gets its turn between them too.
      if (this.#passesThisTurn >= passesPerTurnMax) return this.#pumpSoon()
    }
  }

  /** What was marked early and is settled takes no room at all. */
  #sortEarly(): void {
    let looked = 0
    for (const key of this.#early) {
      if (!this.#isStarted) return
      if (looked++ >= sortedAtOnceMax) return this.#sortLater()
      this.#early.delete(key)
      if (!this.#isSettled(key)) this.mark(key)
    }
  }

  #sortLater(): void {
    this.#cancelSort ??= this.#options.clock.setTimer(sortPauseMs, () => {
      this.#cancelSort = undefined
      this.#pumpSoon()
    })
  }

  #isSettled(key: string): boolean {
    try {
      return this.#options.isSettled?.(key) === true
    } catch {
      // The pass meets the same error, and says so.
      return false
    }
  }

  #skip(item: Item): void {
    this.#begin(item)
    item.state = 'idle'
    this.#follow(item, { kind: 'done' })
  }

  async #work(item: Item): Promise<void> {
    this.#running++
    this.#begin(item)
    const next = await this.#options.run(item.key)
    this.#running--
    if (this.#isStopped) {
      if (this.#running === 0) for (const resolve of this.#onIdle.splice(0)) resolve()
      return
    }
    item.state = 'idle'
    this.#follow(item, next)
    this.#pumpSoon()
  }

  #begin(item: Item): void {
    const nowMs = this.#momentMs()
    item.state = 'running'
    item.isMarked = false
    item.ownAtMs = undefined
    if (item.wishedAtMs !== undefined && item.wishedAtMs <= nowMs) item.wishedAtMs = undefined
    this.#arm(item)
    this.#options.onWaited?.(nowMs - item.readySinceMs)
  }

  #follow(item: Item, next: Next): void {
    const delayMs = this.#delay(item, next)
    if (next.restMs !== undefined) {
      item.notBeforeMs = this.#options.clock.monotonicMs() + next.restMs
      item.ownAtMs = item.notBeforeMs
      return this.#arm(item)
    }
    if (item.isMarked || delayMs === 0) return this.#makeReady(item)
    if (delayMs !== undefined) item.ownAtMs = this.#options.clock.monotonicMs() + delayMs
    this.#arm(item)
    if (item.cancelTimer === undefined && item.failures === 0) this.#items.delete(item.key)
  }

  /** How long the key rests by its own wish; undefined: until it is marked. */
  #delay(item: Item, next: Next): number | undefined {
    const { backoff = retryBackoff, random } = this.#options
    if (next.kind === 'retry') {
      item.failures++
      item.agains = 0
      // The server may have asked many requests to wait equally long: their keys do not come back together.
      const askedMs = (next.atLeastMs ?? 0) * (1 + askedJitter * random())
      return Math.max(askedMs, backoffMs(item.failures, backoff, random))
    }
    if (next.kind === 'stale') {
      item.stales++
      return item.stales === 1 ? 0 : backoffMs(item.stales - 1, staleBackoff, random)
    }
    item.failures = 0
    item.stales = 0
    if (next.kind === 'requeue') {
      item.agains++
      return item.agains <= againInARowMax ? 0 : backoffMs(item.agains - againInARowMax, backoff, random)
    }
    item.agains = 0
    return next.kind === 'requeue after' ? Math.max(0, next.delayMs) : undefined
  }

  #arm(item: Item): void {
    item.cancelTimer?.()
    item.cancelTimer = undefined
    const dueMs = Math.min(item.wishedAtMs ?? Number.POSITIVE_INFINITY, item.ownAtMs ?? Number.POSITIVE_INFINITY)
    if (dueMs === Number.POSITIVE_INFINITY) return
    const { clock } = this.#options
    item.cancelTimer = clock.setTimer(Math.max(dueMs, item.notBeforeMs) - clock.monotonicMs(), () => {
      item.cancelTimer = undefined
      this.#due(item)
    })
  }

  #due(item: Item): void {
    const nowMs = this.#options.clock.monotonicMs()
    // Timers may fire a little early by another clock's measure; the wish is kept until it is really due.
    if (Math.min(item.wishedAtMs ?? Number.POSITIVE_INFINITY, item.ownAtMs ?? Number.POSITIVE_INFINITY) > nowMs) {
      return this.#arm(item)
    }
    if (item.state === 'running') {
      item.isMarked = true
      item.wishedAtMs = undefined
      return
    }
    this.#makeReady(item)
  }
}
