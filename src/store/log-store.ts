// The store over any backend: check and append in one step, sync in groups, publish in order, then answer.
//
// Two states are kept apart. The *published* one is durable and is all that readers and watchers ever see. The
// *pending* one also holds writes that are not yet synced; conditions are checked against it, so of two writers that
// race for one key exactly one wins, and the loser is answered only once the winner is durable. At most one backend
// write is in flight; what is asked meanwhile goes together into the next one. A write that fails leaves its outcome
// unknown, and a retried sync may report success for pages that were dropped, so the store refuses everything from then
// on (I7).

import { setImmediate } from 'node:timers'
import type { Backend, Meta } from './backend.ts'
import type { History } from './history.ts'
import { liveSumModulo, load } from './load.ts'
import type { OrderedMap } from './ordered-map.ts'
import type { Row } from './record.ts'
import { toRow } from './record.ts'
import type { Change, Encode, Entry, ListOptions, Page, Store, Watch, WriteResult } from './store.ts'
import { CompactedError, FutureRevisionError } from './store.ts'
import type { Watcher } from './watchers.ts'
import { Watchers } from './watchers.ts'

export interface StoreOptions {
  /** Milliseconds, from any origin. */
  readonly now?: () => number
  /** Changes are kept at least this long, within the next two bounds, and at most about twice as long. */
  readonly historyMs?: number
  readonly historyChangesMax?: number
  readonly historyBytesMax?: number
  /** Called with how long each sync of the backend took. */
  readonly onCommit?: (tookMs: number) => void
  /** Called once when a write could not be made durable. The process should end: what is stored is now unknown. */
  readonly onFatal?: (error: Error) => void
  /** Called when a watcher's sink threw; that watch has been stopped. Unless told otherwise it ends the process. */
  readonly onSinkError?: (error: unknown) => void
}

const historyMsDefault = 5 * 60_000
const historyChangesMaxDefault = 100_000
const historyBytesMaxDefault = 256 * 1024 * 1024
/** When a bound is met, forget a quarter at once, so that not every write trims one record. */
const keptShare = 0.75
/** Removing this many rows takes a few milliseconds, which is what a write may have to wait behind a trim. */
const trimRowsMax = 500
/** What one sync carries at most, so that the first of a flood is not answered last. */
const commitBytesMax = 16 * 1024 * 1024

interface Pending {
  readonly change: Change
  readonly row: Row
  /** Called once the write is published, or with an error when its outcome is unknown. */
  readonly settle: ((error: Error | undefined) => void)[]
}

interface Trim {
  readonly revisions: readonly number[]
  done: number
  readonly settle: (error: Error | undefined) => void
}

interface Mark {
  readonly revision: number
  readonly settle: (error: Error | undefined) => void
}

export function openLogStore(backend: Backend, fresh: { readonly id: string }, options: StoreOptions): LogStore {
  return new LogStore(backend, backend.meta ?? emptyMeta(fresh.id), options)
}

export function emptyMeta(id: string): Meta {
  return { id, last: 0, compacted: 0, liveCount: 0, liveSum: 0 }
}

export class LogStore implements Store {
  readonly id: string
  readonly #backend: Backend
  readonly #options: Required<StoreOptions>
  readonly #current: OrderedMap<Entry>
  readonly #history: History
  readonly #watchers: Watchers

  /** The newest revision handed out, published or not. */
  #last: number
  /** The newest revision published. */
  #published: number
  #liveSum: number
  /** The newest unpublished write of each key. */
  readonly #pending = new Map<string, Pending>()
  #queue: Pending[] = []
  #marks: Mark[] = []
  #trims: Trim[] = []
  #inFlight: Promise<void> | undefined
  #isFlushPlanned = false
  #isEncoding = false
  #compaction: Promise<void> | undefined
  #refusal: Error | undefined

  constructor(backend: Backend, meta: Meta, options: StoreOptions) {
    this.#backend = backend
    this.#options = {
      now: options.now ?? (() => performance.now()),
      historyMs: options.historyMs ?? historyMsDefault,
      historyChangesMax: options.historyChangesMax ?? historyChangesMaxDefault,
      historyBytesMax: options.historyBytesMax ?? historyBytesMaxDefault,
      onCommit: options.onCommit ?? (() => {}),
      onFatal: options.onFatal ?? throwLater,
      onSinkError: options.onSinkError ?? throwLater,
    }
    const { current, history, leftovers } = load(meta, backend.scan())
    this.id = meta.id
    this.#current = current
    this.#history = history
    this.#watchers = new Watchers(this.#options.onSinkError)
    this.#last = meta.last
    this.#published = meta.last
    this.#liveSum = meta.liveSum
    if (history.length > 0) history.arrived(this.#options.now())
    if (leftovers.length > 0) this.#trim(leftovers).catch(() => undefined)
  }

  get last(): number {
    return this.#last
  }

  get revision(): number {
    return this.#published
  }

  get compacted(): number {
    return this.#history.compacted
  }

  get(key: string): Entry | undefined {
    this.#assertUsable()
    return this.#current.get(key)
  }

  count(prefix: string): number {
    this.#assertUsable()
    return this.#current.count(prefix)
  }

  list(prefix: string, options: ListOptions = {}): Page {
    this.#assertUsable()
    const revision = options.revision ?? this.#published
    if (revision > this.#published) throw new FutureRevisionError(this.#published)
    if (revision < this.compacted) throw new CompactedError(this.compacted)
    const limit = options.limit ?? Infinity
    if (revision === this.#published) return this.#listNow(prefix, limit, options.after)
    return this.#listPast(prefix, limit, options.after, revision)
  }

  create(key: string, encode: Encode): Promise<WriteResult> {
    return this.#write('put', key, undefined, encode)
  }

  update(key: string, expectedRevision: number, encode: Encode): Promise<WriteResult> {
    return this.#write('put', key, expectedRevision, encode)
  }

  delete(key: string, expectedRevision: number, encode: Encode): Promise<WriteResult> {
    return this.#write('delete', key, expectedRevision, encode)
  }

  watch(prefix: string, from: number, sink: (change: Change) => void): Watch {
    this.#assertUsable()
    if (from < this.compacted) throw new CompactedError(this.compacted)
    const watcher: Watcher = { prefix, sink, after: from }
    this.#watchers.add(watcher)
    for (const change of this.#history.after(from)) {
      if (change.entry.key.startsWith(prefix)) this.#watchers.deliver(watcher, change)
    }
    return {
      stop: () => {
        watcher.after = Infinity
        this.#watchers.remove(watcher)
      },
    }
  }

  async compact(revision: number): Promise<void> {
    this.#assertUsable()
    if (revision > this.#published) throw new FutureRevisionError(this.#published)
    if (revision <= this.compacted) return
    // The mark is durable before anything is forgotten: after a crash the store never claims to hold what it trimmed.
    const forgotten = await new Promise<readonly Change[]>((resolve, reject) => {
      this.#marks.push({ revision, settle: settleWith(() => resolve(this.#history.dropUpTo(revision)), reject) })
      this.#planFlush()
    })
    await this.#trim(supersededBy(forgotten))
  }

  async backup(path: string): Promise<void> {
    this.#assertUsable()
    await this.#backend.backup(path)
  }

  async close(): Promise<void> {
    if (this.#refusal !== undefined) return
    this.#refusal = new Error('the store is closed')
    for (const trim of this.#trims.splice(0)) trim.settle(this.#refusal)
    for (const mark of this.#marks.splice(0)) mark.settle(this.#refusal)
    while (this.#inFlight !== undefined || this.#queue.length > 0) {
      if (this.#inFlight === undefined) this.#flush()
      await this.#inFlight
    }
    this.#watchers.clear()
    await this.#backend.close()
  }

  #write(type: 'put' | 'delete', key: string, expected: number | undefined, encode: Encode): Promise<WriteResult> {
    // Not an async function: everything down to the append happens in the caller's own step.
    try {
      this.#assertUsable()
      const pending = this.#pending.get(key)
      const current = pending === undefined ? this.#current.get(key) : afterwards(pending.change)
      if (current?.revision !== expected) return this.#refuse(current, pending)
      return this.#append(type, key, current, encode)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #refuse(current: Entry | undefined, pending: Pending | undefined): Promise<WriteResult> {
    if (pending === undefined) return Promise.resolve({ ok: false, current })
    return new Promise((resolve, reject) => {
      pending.settle.push(settleWith(() => resolve({ ok: false, current }), reject))
    })
  }

  #append(type: 'put' | 'delete', key: string, previous: Entry | undefined, encode: Encode): Promise<WriteResult> {
    if (this.#isEncoding) throw new Error('a value must not be encoded by writing another one')
    const revision = this.#last + 1
    this.#isEncoding = true
    let value: Buffer
    try {
      value = encode(revision)
    } finally {
      this.#isEncoding = false
    }
    const created = previous?.created ?? revision
    const { row, entry } = toRow({ type, key, revision, created, replaced: previous?.revision ?? 0, value })
    this.#last = revision
    return new Promise((resolve, reject) => {
      const settle = [settleWith(() => resolve({ ok: true, entry }), reject)]
      const pending: Pending = { change: { type, entry, previous }, row, settle }
      this.#pending.set(key, pending)
      this.#queue.push(pending)
      this.#planFlush()
    })
  }

  #planFlush(): void {
    if (this.#isFlushPlanned || this.#inFlight !== undefined) return
    this.#isFlushPlanned = true
    // After the current turn of the event loop, so that all writers woken by one answer share the next sync.
    setImmediate(() => {
      this.#isFlushPlanned = false
      this.#flush()
    })
  }

  #flush(): void {
    if (this.#inFlight !== undefined) return
    const writes = this.#takeQueued()
    const marks = this.#marks.splice(0)
    const trim = this.#trims[0]
    const trimmed = trim?.revisions.slice(trim.done, trim.done + trimRowsMax) ?? []
    if (writes.length === 0 && marks.length === 0 && trim === undefined) return
    const meta = this.#metaAfter(writes, marks)
    const rows = writes.map(write => write.row)
    const startMs = this.#options.now()
    this.#inFlight = this.#backend.write({ rows, trim: trimmed, meta }).then(
      () => {
        this.#inFlight = undefined
        this.#options.onCommit(this.#options.now() - startMs)
        this.#publish(writes, meta)
        for (const mark of marks) mark.settle(undefined)
        if (trim !== undefined) this.#advance(trim, trimmed.length)
        if (this.#queue.length > 0 || this.#marks.length > 0 || this.#trims.length > 0) this.#planFlush()
        this.#compactByPolicy()
      },
      (cause: unknown) => {
        this.#inFlight = undefined
        this.#fail(cause, writes, marks)
      },
    )
  }

  #takeQueued(): Pending[] {
    let bytes = 0
    let count = 0
    while (count < this.#queue.length && bytes < commitBytesMax) {
      bytes += this.#queue[count]?.row.bytes.length ?? 0
      count += 1
    }
    if (count === this.#queue.length) {
      const all = this.#queue
      this.#queue = []
      return all
    }
    return this.#queue.splice(0, count)
  }

  #metaAfter(writes: readonly Pending[], marks: readonly Mark[]): Meta {
    let liveCount = this.#current.size
    let liveSum = this.#liveSum
    for (const { change } of writes) {
      const removed = change.previous === undefined ? 0 : change.previous.revision
      const added = change.type === 'put' ? change.entry.revision : 0
      liveSum = (liveSum + added + liveSumModulo - removed) % liveSumModulo
      liveCount += (added > 0 ? 1 : 0) - (removed > 0 ? 1 : 0)
    }
    const compacted = marks.reduce((highest, mark) => Math.max(highest, mark.revision), this.compacted)
    return { id: this.id, last: writes.at(-1)?.change.entry.revision ?? this.#published, compacted, liveCount, liveSum }
  }

  #publish(writes: readonly Pending[], meta: Meta): void {
    this.#liveSum = meta.liveSum
    for (const write of writes) {
      const { change } = write
      const { key, revision } = change.entry
      if (change.type === 'put') this.#current.set(key, change.entry)
      else this.#current.delete(key)
      if (this.#pending.get(key) === write) this.#pending.delete(key)
      this.#history.push(change)
      this.#published = revision
      this.#watchers.publish(change)
    }
    if (writes.length > 0) this.#history.arrived(this.#options.now())
    for (const write of writes) for (const settle of write.settle) settle(undefined)
  }

  #advance(trim: Trim, count: number): void {
    trim.done += count
    if (trim.done < trim.revisions.length || this.#trims[0] !== trim) return
    this.#trims.shift()
    trim.settle(undefined)
  }

  #fail(cause: unknown, writes: readonly Pending[], marks: readonly Mark[]): void {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const error = new Error(`the store could not make a write durable: ${reason}`, { cause })
    this.#refusal = error
    for (const write of [...writes, ...this.#queue]) for (const settle of write.settle) settle(error)
    for (const { settle } of [...marks, ...this.#marks, ...this.#trims]) settle(error)
    this.#queue = []
    this.#marks = []
    this.#trims = []
    this.#pending.clear()
    this.#watchers.clear()
    this.#options.onFatal(error)
  }

  #trim(revisions: readonly number[]): Promise<void> {
    if (revisions.length === 0) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#trims.push({ revisions, done: 0, settle: settleWith(resolve, reject) })
      this.#planFlush()
    })
  }

  #compactByPolicy(): void {
    if (this.#compaction !== undefined || this.#refusal !== undefined) return
    const revision = this.#forgettable()
    if (revision <= this.compacted) return
    // A failure to compact is a failed write and has been reported as such.
    this.#compaction = this.compact(revision)
      .catch(() => undefined)
      .finally(() => {
        this.#compaction = undefined
      })
  }

  #forgettable(): number {
    const { now, historyMs, historyChangesMax, historyBytesMax } = this.#options
    const history = this.#history
    if (history.length > historyChangesMax || history.bytes > historyBytesMax) {
      return history.excessOver(historyChangesMax * keptShare, historyBytesMax * keptShare)
    }
    const nowMs = now()
    const oldestMs = history.oldestMs
    if (oldestMs === undefined || nowMs - oldestMs < 2 * historyMs) return this.compacted
    return history.newestBy(nowMs - historyMs)
  }

  #listNow(prefix: string, limit: number, after: string | undefined): Page {
    const entries: Entry[] = []
    for (const entry of this.#current.under(prefix, after)) {
      if (entries.length >= limit) break
      entries.push(entry)
    }
    const last = entries.at(-1)?.key ?? after ?? ''
    const end = this.#current.rankAfterPrefix(prefix)
    const start = last > prefix ? this.#current.rank(last) + (this.#current.get(last) === undefined ? 0 : 1) : undefined
    const remaining = Math.max(0, end - (start ?? this.#current.rank(prefix) + entries.length))
    return { entries, revision: this.#published, next: remaining > 0 ? entries.at(-1)?.key : undefined, remaining }
  }

  #listPast(prefix: string, limit: number, after: string | undefined, revision: number): Page {
    // What each changed key held at that revision: the `previous` of its first change since.
    const then = new Map<string, Entry | undefined>()
    for (const { entry, previous } of this.#history.after(revision)) {
      if (entry.key.startsWith(prefix) && !then.has(entry.key)) then.set(entry.key, previous)
    }
    const changed = [...then.values()].filter(
      entry => entry !== undefined && (after === undefined || entry.key > after),
    )
    const revived = (changed as Entry[]).sort((one, other) => (one.key < other.key ? -1 : 1))
    const unchanged = this.#current.under(prefix, after)
    const entries: Entry[] = []
    let total = 0
    for (const entry of merge(unchanged, revived, key => then.has(key))) {
      total += 1
      if (entries.length < limit) entries.push(entry)
    }
    const remaining = total - entries.length
    return { entries, revision, next: remaining > 0 ? entries.at(-1)?.key : undefined, remaining }
  }

  #assertUsable(): void {
    if (this.#refusal !== undefined) throw this.#refusal
  }
}

function afterwards(change: Change): Entry | undefined {
  return change.type === 'put' ? change.entry : undefined
}

/** The rows that these forgotten changes made unnecessary, the older ones of a key first. */
function supersededBy(forgotten: readonly Change[]): number[] {
  const revisions: number[] = []
  for (const { type, entry, previous } of forgotten) {
    if (previous !== undefined) revisions.push(previous.revision)
    if (type === 'delete') revisions.push(entry.revision)
  }
  return revisions
}

/** Two runs in key order as one, leaving out of the first what `isReplaced`. */
function* merge(
  first: Iterable<Entry>,
  second: readonly Entry[],
  isReplaced: (key: string) => boolean,
): Generator<Entry, void, undefined> {
  let at = 0
  for (const entry of first) {
    if (isReplaced(entry.key)) continue
    for (let other = second[at]; other !== undefined && other.key < entry.key; other = second[at]) {
      yield other
      at += 1
    }
    yield entry
  }
  yield* second.slice(at)
}

function settleWith(resolve: () => void, reject: (error: Error) => void): (error: Error | undefined) => void {
  return error => (error === undefined ? resolve() : reject(error))
}

/** Without a handler for the error, an uncaught exception ends the process. */
function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
