// The store's whole contract on one screen: a durable log of revisions with the current state in memory.
//
// One revision counter covers every key. A write takes the next revision and the caller encodes its value knowing that
// revision, so the bytes on disk are the bytes that clients read. Check and append happen in one synchronous step; then
// the record is synced together with its neighbours (group commit); only then is it published to readers and watchers,
// in revision order, and answered. Readers therefore never see what a crash could take away.

export interface Entry {
  readonly key: string
  /** The revision that wrote this value. */
  readonly revision: number
  /** The revision that created the key. */
  readonly created: number
  readonly value: Buffer
}

/** One published write. `value` of a delete is what the caller encoded as the last word about the key. */
export interface Change {
  readonly type: 'put' | 'delete'
  readonly entry: Entry
  /** What the key held before; undefined when this write created it. */
  readonly previous: Entry | undefined
}

export type WriteResult =
  | { readonly ok: true; readonly entry: Entry }
  /** The condition did not hold; `current` is what is there instead, already durable. */
  | { readonly ok: false; readonly current: Entry | undefined }

export type Encode = (revision: number) => Buffer

export interface Page {
  readonly entries: readonly Entry[]
  /** The revision this page is true at. */
  readonly revision: number
  /** The last key of this page when more follow. */
  readonly next: string | undefined
  /** How many entries follow the page; exact. */
  readonly remaining: number
}

export interface ListOptions {
  /** Absent: everything. */
  readonly limit?: number
  /** Start after this key. */
  readonly after?: string
  /** Read the past. Throws `CompactedError` when it is no longer kept, `FutureRevisionError` when it is yet to come. */
  readonly revision?: number
}

export interface Watch {
  stop(): void
}

export interface Store {
  /** Names this history. A restored backup goes on under another one, so what was read before is not mixed with it. */
  readonly id: string
  /** The newest published revision. */
  readonly revision: number
  /** The newest revision handed out, published or not yet: whatever is written from now on comes after it. */
  readonly last: number
  /** Changes at or below this revision are no longer kept. */
  readonly compacted: number
  get(key: string): Entry | undefined
  /** Entries whose key starts with `prefix`, in key order (by UTF-16 code unit). */
  list(prefix: string, options?: ListOptions): Page
  count(prefix: string): number
  create(key: string, encode: Encode): Promise<WriteResult>
  update(key: string, expectedRevision: number, encode: Encode): Promise<WriteResult>
  delete(key: string, expectedRevision: number, encode: Encode): Promise<WriteResult>
  /**
   * Calls `sink` with every change under `prefix` after revision `from`, first the kept past (before this call
   * returns), then the future, each exactly once and in order. Throws `CompactedError` when `from` is older than what
   * is kept. A `from` in the future is allowed: nothing at or below it is delivered. `sink` must not throw or block.
   */
  watch(prefix: string, from: number, sink: (change: Change) => void): Watch
  /** Forgets changes up to `revision`; current values stay. */
  compact(revision: number): Promise<void>
  /** Writes a consistent copy while writes go on; the copy opens as a store of its own. */
  backup(path: string): Promise<void>
  close(): Promise<void>
}

export class CompactedError extends Error {
  override readonly name = 'CompactedError'
  readonly compacted: number
  constructor(compacted: number) {
    super(`changes up to revision ${compacted} are no longer kept`)
    this.compacted = compacted
  }
}

export class FutureRevisionError extends Error {
  override readonly name = 'FutureRevisionError'
  readonly current: number
  constructor(current: number) {
    super(`the newest revision is ${current}`)
    this.current = current
  }
}

/** The data on disk is not what this program wrote: another format, a damaged record, a gap. Nothing was changed. */
export class DamagedStoreError extends Error {
  override readonly name = 'DamagedStoreError'
}

/** Another process works on the same data. */
export class StoreInUseError extends Error {
  override readonly name = 'StoreInUseError'
  readonly pid: number
  constructor(message: string, pid: number) {
    super(message)
    this.pid = pid
  }
}
