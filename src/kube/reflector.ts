// Keeps a cache equal to one kind on the server, until it is stopped. Nothing that a server, a connection or a clock can do ends
// it.
//
//                      start
//                        |
//                        v       not installed         .--------------------.
//     .------------> LISTING --------------------> NOT INSTALLED --recheck--'
//     |                |   \ failed, or older than         |
//     | after a delay  |    \ what was seen                | found
//     |                |     v                             |
//     |                |   BACKING OFF (to listing)        |
//     |                |     |                             |
//     '----------------|-----'<----------------------------'
//     |                | all pages read: swapped in at once
//     |                v
//     |   .-------> WATCHING ------------------.
//     |   |            |  ended in good order, | or silent for too long: again at once, from the last version
//     |   |            |  <--------------------'
//     |   |            | failed
//     |   '-- BACKING OFF (to watching, from the last version)
//     |                | gone (as a code or inside the stream), unreadable: the stream can no longer be relied on
//     '----------------'
//
// - A list is applied whole or not at all. A list older than what was seen is refused and asked for again; only when the
//   server answers the same for minutes (its data was restored from a backup) is it applied.
// - Bookmarks are asked for and move the version on, so a quiet kind does not fall out of the server's memory.
// - Every stream has an idle clock: without a byte for so long it is given up. The server is also asked to end it in good
//   order after some minutes, a different number each time.
// - An event at or below the version that is known is not new and is dropped.
// - A delay follows a failure, never a success: the first event after a lull is not late.
// - Events only change the cache; a subscriber of the cache cannot stop the stream by throwing.

import { type Backoff, backoffMs } from '../runtime/backoff.ts'
import { type Clock, pause } from '../runtime/clock.ts'
import type { Random } from '../runtime/random.ts'
import { Cancelled, type CancelReason } from '../runtime/retry-policy.ts'
import { describeError, type Log } from '../telemetry/log.ts'
import { ApiError, isApiError } from './api-error.ts'
import type { Cache } from './cache.ts'
import type { Client } from './client.ts'
import type { ReflectorMetrics } from './metrics.ts'
import { isOlder, type Kind, type KubeObject, nameOfKind } from './object.ts'

export type ReflectorState = 'empty' | 'listing' | 'watching' | 'backing off' | 'not installed' | 'stopped'

export interface ReflectorOptions<T extends KubeObject, I extends string> {
  readonly kind: Kind<T>
  readonly cache: Cache<T, I>
  readonly client: Pick<Client, 'listPage' | 'watch'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** Called when the kind turned out not to be served: what was known about its version is wrong. */
  readonly onNotInstalled?: () => void
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly metrics?: ReflectorMetrics | undefined
  readonly timing?: Partial<ReflectorTiming>
}

export interface ReflectorTiming {
  readonly pageSize: number
  /** A server sends a bookmark every minute: two and a half without a byte mean that no server is there. */
  readonly idleMs: number
  /** Streams are ended by the server after this long, or up to twice as long. */
  readonly streamSecondsMin: number
  /** How often a kind that is not installed is looked for. */
  readonly recheckMs: number
  /** A kind that is missing for so long is gone, and its objects with it; a server that starts may miss it for moments. */
  readonly goneAfterMs: number
  /** A server that shows an older world for so long was restored, and its list is applied. */
  readonly believeOlderAfterMs: number
  /** A cache that could not be brought up to date for so long is not relied on any more. */
  readonly problemAfterMs: number
  /** A stream that lived so long was a success, even without an event. */
  readonly provenMs: number
  readonly backoff: Backoff
}

const reflectorTiming: ReflectorTiming = {
  pageSize: 500,
  idleMs: 150_000,
  streamSecondsMin: 300,
  recheckMs: 5_000,
  goneAfterMs: 30_000,
  believeOlderAfterMs: 120_000,
  problemAfterMs: 30_000,
  provenMs: 10_000,
  backoff: { firstMs: 200, maxMs: 30_000, factor: 2, jitter: 0.5 },
}

export type StreamEnd =
  | { readonly kind: 'ended' }
  | { readonly kind: 'idle' }
  | { readonly kind: 'gone'; readonly error: unknown }
  | { readonly kind: 'unreadable'; readonly error: unknown }
  | { readonly kind: 'failed'; readonly error: unknown }

export class Reflector<T extends KubeObject, I extends string = never> {
  readonly name: string
  readonly #options: ReflectorOptions<T, I>
  readonly #timing: ReflectorTiming
  readonly #abort = new AbortController()
  #state: ReflectorState = 'empty'
  #life: Promise<void> | undefined
  #failures = 0
  /** Streams in a row that ended before they showed anything. */
  #quickEnds = 0
  #missingSinceMs: number | undefined
  #hasListed = false
  #olderSinceMs: number | undefined
  /** Since the server last accepted a list or a watch. What was refused once stays refused, whatever errors follow it. */
  #failing: { readonly sinceMs: number; readonly error: unknown; readonly wasRefused: boolean } | undefined
  readonly #onProblemChange: (() => void)[] = []
  /** Whether nothing was amiss in the state before this one. */
  #wasWell = true

  constructor(options: ReflectorOptions<T, I>) {
    this.name = nameOfKind(options.kind)
    this.#options = options
    this.#timing = { ...reflectorTiming, ...options.timing }
    options.metrics?.follow(this)
  }

  get state(): ReflectorState {
    return this.#state
  }

  /** How many objects are known. */
  get size(): number {
    return this.#options.cache.size
  }

  /** False while the server does not know the kind: an empty cache then says nothing about what was. */
  get isInstalled(): boolean {
    return this.#missingSinceMs === undefined
  }

  /** Whether the cache shows what the server had at some time since the kind was installed. */
  get hasListed(): boolean {
    return this.#hasListed
  }

  /**
   * Why the cache cannot be relied on now. A refusal is certain at once, and so is any failure of a kind that came and was never
   * listed; anything else may be over in a moment.
   */
  problem(): string | undefined {
    if (!this.isInstalled) return `${this.name} is not installed`
    if (this.#failing === undefined) return undefined
    const { sinceMs, error, wasRefused } = this.#failing
    const isLong = this.#options.clock.monotonicMs() - sinceMs >= this.#timing.problemAfterMs
    if (!isLong && !wasRefused && !this.#isBlind) return undefined
    return `${this.name} cannot be read: ${describeError(error)}`
  }

  onProblemChange(changed: () => void): void {
    this.#onProblemChange.push(changed)
  }

  start(): void {
    this.#life ??= this.#live()
  }

  synced(signal?: AbortSignal): Promise<void> {
    return this.#options.cache.synced(signal)
  }

  async stop(reason: CancelReason): Promise<void> {
    this.#abort.abort(new Cancelled(reason))
    await this.#life
    this.#enter('stopped')
  }

  async #live(): Promise<void> {
    const { signal } = this.#abort
    let next: 'list' | 'watch' = 'list'
    while (!signal.aborted) {
      try {
        next = next === 'list' ? await this.#list() : await this.#watch()
      } catch (error) {
        // Only a mistake in this file ends here; it must not make the cache deaf.
        this.#options.log.error('the reflector stumbled and lists again', { kind: this.name, error })
        next = 'list'
        await this.#backOff(error)
      }
    }
  }

  async #list(): Promise<'list' | 'watch'> {
    const { cache, clock, log } = this.#options
    this.#enter('listing')
    const startMs = clock.monotonicMs()
    try {
      const { items, version } = await this.#readPages()
      this.#missingSinceMs = undefined
      if (!this.#mayBelieve(version)) {
        log.info('the server showed an older world than before, asking again', {
          kind: this.name,
          seen: cache.version,
          shown: version,
        })
        await this.#backOff(undefined)
        return 'list'
      }
      cache.replace(items, version)
      this.#hasListed = true
      this.#failures = 0
      this.#failing = undefined
      this.#options.metrics?.listed(this.name, clock.monotonicMs() - startMs)
      return 'watch'
    } catch (error) {
      if (this.#abort.signal.aborted) return 'list'
      if (isApiError(error, 'NotInstalled')) await this.#waitUntilInstalled()
      else {
        // The server answered for this kind, so it has it; one that does not answer says nothing.
        if (!mayResume(error)) this.#missingSinceMs = undefined
        await this.#backOff(error)
      }
      return 'list'
    }
  }

  async #readPages(): Promise<{ items: T[]; version: string }> {
    const { client, kind, cache } = this.#options
    const select = { ...this.#selection(), limit: this.#timing.pageSize, signal: this.#abort.signal }
    const items: T[] = []
    let page = await client.listPage(kind, select)
    const version = page.resourceVersion
    for (;;) {
      // At once: until the last page is there, all of the others are held.
      for (const item of page.items) items.push(cache.kept(item))
      if (page.continueAt === undefined) return { items, version }
      page = await client.listPage(kind, { ...select, continueAt: page.continueAt })
    }
  }

  /** An older list is not applied, unless the server has shown it for long enough. */
  #mayBelieve(version: string): boolean {
    const { cache, clock, log } = this.#options
    if (cache.version === '' || !isOlder(version, cache.version)) {
      this.#olderSinceMs = undefined
      return true
    }
    this.#olderSinceMs ??= clock.monotonicMs()
    if (clock.monotonicMs() - this.#olderSinceMs < this.#timing.believeOlderAfterMs) return false
    log.error('the server insists on an older world, it was restored', { kind: this.name, shown: version })
    this.#olderSinceMs = undefined
    // Versions start anew: what is known is dropped, or its higher versions would hide the restored ones.
    cache.clear()
    return true
  }

  async #waitUntilInstalled(): Promise<void> {
    const { cache, clock, random, onNotInstalled } = this.#options
    this.#missingSinceMs ??= clock.monotonicMs()
    this.#enter('not installed')
    onNotInstalled?.()
    if (cache.size > 0 && clock.monotonicMs() - this.#missingSinceMs >= this.#timing.goneAfterMs) {
      cache.clear()
    }
    if (cache.size === 0) {
      this.#hasListed = false
      cache.markSynced()
    }
    await pause(clock, this.#timing.recheckMs * (0.75 + random() / 2), this.#abort.signal)
  }

  async #watch(): Promise<'list' | 'watch'> {
    const { clock, log, metrics } = this.#options
    this.#enter('watching')
    const startMs = clock.monotonicMs()
    const before = this.#options.cache.version
    const end = await this.#follow()
    if (this.#abort.signal.aborted) return 'watch'
    metrics?.streamEnded(this.name, end.kind)
    const isProven = this.#options.cache.version !== before || clock.monotonicMs() - startMs >= this.#timing.provenMs
    if (isProven) this.#failures = 0
    this.#quickEnds = isProven ? 0 : this.#quickEnds + 1
    switch (end.kind) {
      case 'ended':
      case 'idle':
        await this.#slowDown(undefined)
        return 'watch'
      case 'gone':
      case 'unreadable':
        log.debug('the stream cannot be continued, listing again', { kind: this.name, error: describeError(end.error) })
        await this.#slowDown(end.error)
        return 'list'
      case 'failed':
        if (isApiError(end.error, 'NotInstalled')) return 'list'
        await this.#backOff(end.error)
        return mayResume(end.error) ? 'watch' : 'list'
    }
  }

  /** Once is an orderly end; a server that ends every stream at once is failing, however politely. */
  async #slowDown(error: unknown): Promise<void> {
    if (this.#quickEnds > 1) await this.#backOff(error)
  }

  async #follow(): Promise<StreamEnd> {
    const { client, kind, cache, clock, random } = this.#options
    const { idleMs, streamSecondsMin } = this.#timing
    const stream = new AbortController()
    const forward = () => stream.abort(this.#abort.signal.reason)
    this.#abort.signal.addEventListener('abort', forward, { once: true })
    let aliveMs = clock.monotonicMs()
    let isIdle = false
    let cancelIdle = () => {}
    const armIdle = () => {
      cancelIdle = clock.setTimer(aliveMs + idleMs - clock.monotonicMs(), () => {
        if (clock.monotonicMs() - aliveMs < idleMs) return armIdle()
        isIdle = true
        stream.abort(new Cancelled('deadline'))
      })
    }
    try {
      const events = await client.watch(kind, {
        ...this.#selection(),
        resourceVersion: cache.version,
        timeoutSeconds: Math.floor(streamSecondsMin * (1 + random())),
        onBytes: () => {
          aliveMs = clock.monotonicMs()
        },
        signal: stream.signal,
      })
      aliveMs = clock.monotonicMs()
      this.#failing = undefined
      this.#enter('watching')
      armIdle()
      for await (const event of events) {
        if (event.type === 'ERROR') return toStreamEnd(event.refusal)
        if (event.type !== 'BOOKMARK') this.#apply(event.type, event.object)
        else if (isOlder(event.resourceVersion, cache.version)) return { kind: 'gone', error: laggard }
        else cache.bookmark(event.resourceVersion)
        if (stream.signal.aborted) break
      }
      return isIdle ? { kind: 'idle' } : { kind: 'ended' }
    } catch (error) {
      return isIdle ? { kind: 'idle' } : toStreamEnd(error)
    } finally {
      cancelIdle()
      this.#abort.signal.removeEventListener('abort', forward)
      stream.abort(new Cancelled('not-needed'))
    }
  }

  #apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void {
    const { cache } = this.#options
    if (isOlder(object.metadata.resourceVersion ?? '', cache.version)) return
    if (type === 'DELETED') cache.remove(object)
    else cache.put(object)
  }

  async #backOff(error: unknown): Promise<void> {
    const { clock, random, log } = this.#options
    this.#failures++
    if (error !== undefined) {
      const { sinceMs = clock.monotonicMs(), wasRefused = false } = this.#failing ?? {}
      this.#failing = { sinceMs, error, wasRefused: wasRefused || isApiError(error, 'Forbidden') }
    }
    const askedMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) * (1 + random() / 4) : 0
    const delayMs = Math.max(
      askedMs,
      backoffMs(Math.max(this.#failures, this.#quickEnds), this.#timing.backoff, random),
    )
    this.#enter('backing off')
    if (error !== undefined) {
      log.info('cannot follow the server, trying again', { kind: this.name, delayMs, error: describeError(error) })
    }
    await pause(clock, delayMs, this.#abort.signal)
  }

  /** The cache is empty because the kind was not installed; what it shows since it came is not known. */
  get #isBlind(): boolean {
    return this.#options.cache.hasSynced && !this.#hasListed
  }

  #selection() {
    const { namespace, labelSelector, fieldSelector } = this.#options
    return {
      ...(namespace !== undefined && { namespace }),
      ...(labelSelector !== undefined && { labelSelector }),
      ...(fieldSelector !== undefined && { fieldSelector }),
    }
  }

  #enter(state: ReflectorState): void {
    this.#state = state
    const isWell = this.#failing === undefined && this.isInstalled && !this.#isBlind
    // At a start every kind goes through several states, with nothing amiss in any. A failure may become a problem by its length
    // alone, so every state is told until it is over.
    if (isWell && this.#wasWell) return
    this.#wasWell = isWell
    for (const changed of this.#onProblemChange) changed()
  }
}

/** A server that is behind what was seen would keep silent until it has caught up, or for ever if it was restored. */
const laggard = new Error('the server is behind what was seen')

/** Without an answer, or asked to wait, the stream is only interrupted; any other refusal may be about the version. */
function mayResume(error: unknown): boolean {
  return isApiError(error, 'Unreachable', 'TooManyRequests', 'Unavailable')
}

function toStreamEnd(error: unknown): StreamEnd {
  if (isApiError(error, 'Gone')) return { kind: 'gone', error }
  if (isApiError(error, 'Unreadable')) return { kind: 'unreadable', error }
  return { kind: 'failed', error }
}
