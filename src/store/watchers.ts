// The watchers of a key. A write visits only the watchers whose prefix it has, however many others there are.
//
// Watchers are kept by their exact prefix. A key is looked up once for every length that some watched prefix has; there
// are at most as many lengths as the key has characters, in practice a few dozen.

import type { Change } from './store.ts'

export interface Watcher {
  readonly prefix: string
  readonly sink: (change: Change) => void
  /** Everything up to this revision has been delivered or was not asked for. */
  after: number
}

export class Watchers {
  readonly #byPrefix = new Map<string, Set<Watcher>>()
  /** How many watched prefixes have this length. */
  readonly #lengths = new Map<number, number>()
  readonly #onSinkError: (error: unknown) => void

  constructor(onSinkError: (error: unknown) => void) {
    this.#onSinkError = onSinkError
  }

  add(watcher: Watcher): void {
    const { prefix } = watcher
    const watchers = this.#byPrefix.get(prefix)
    if (watchers !== undefined) {
      watchers.add(watcher)
      return
    }
    this.#byPrefix.set(prefix, new Set([watcher]))
    this.#lengths.set(prefix.length, (this.#lengths.get(prefix.length) ?? 0) + 1)
  }

  remove(watcher: Watcher): void {
    const { prefix } = watcher
    const watchers = this.#byPrefix.get(prefix)
    if (watchers === undefined || !watchers.delete(watcher) || watchers.size > 0) return
    this.#byPrefix.delete(prefix)
    const sameLength = (this.#lengths.get(prefix.length) ?? 1) - 1
    if (sameLength === 0) this.#lengths.delete(prefix.length)
    else this.#lengths.set(prefix.length, sameLength)
  }

  publish(change: Change): void {
    const { key } = change.entry
    for (const length of this.#lengths.keys()) {
      if (length > key.length) continue
      const watchers = this.#byPrefix.get(key.slice(0, length))
      if (watchers !== undefined) for (const watcher of watchers) this.deliver(watcher, change)
    }
  }

  /** At most once per revision, also when a sink starts or stops watches while it is being called. */
  deliver(watcher: Watcher, change: Change): void {
    if (change.entry.revision <= watcher.after) return
    watcher.after = change.entry.revision
    try {
      watcher.sink(change)
    } catch (error) {
      // One broken reader must not keep the others, or the writer, from what is already durable.
      this.#silence(watcher)
      this.#onSinkError(error)
    }
  }

  clear(): void {
    for (const watchers of this.#byPrefix.values()) for (const watcher of watchers) watcher.after = Infinity
    this.#byPrefix.clear()
    this.#lengths.clear()
  }

  #silence(watcher: Watcher): void {
    watcher.after = Infinity
    this.remove(watcher)
  }
}
