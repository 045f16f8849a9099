// The kept window of changes: everything after the compacted revision, without gaps, oldest first.
//
// Because revisions have no gaps, the change of a revision is found by subtraction.

import type { Change } from './store.ts'

/** What a change costs beside its value: the objects around it. Only used to bound memory, so roughly is enough. */
const changeOverheadBytes = 200

/** Changes that arrived this close together share one note of when. */
const arrivalGroupMs = 1_000

interface Arrival {
  readonly startedMs: number
  /** When the newest of the group arrived: the group is never taken for older than its youngest. */
  endedMs: number
  revision: number
}

export class History {
  #changes: Change[] = []
  #compacted: number
  #bytes = 0
  #arrivals: Arrival[] = []

  constructor(compacted: number) {
    this.#compacted = compacted
  }

  get compacted(): number {
    return this.#compacted
  }

  get length(): number {
    return this.#changes.length
  }

  get bytes(): number {
    return this.#bytes
  }

  /** When the oldest kept change arrived, or a little later. */
  get oldestMs(): number | undefined {
    return this.#arrivals[0]?.endedMs
  }

  push(change: Change): void {
    this.#changes.push(change)
    this.#bytes += costOf(change)
  }

  /** Notes when the changes pushed since the last note arrived. */
  arrived(atMs: number): void {
    const revision = this.#compacted + this.#changes.length
    const group = this.#arrivals.at(-1)
    if (group !== undefined && Math.abs(atMs - group.startedMs) < arrivalGroupMs) {
      group.endedMs = Math.max(group.endedMs, atMs)
      group.revision = revision
      return
    }
    this.#arrivals.push({ startedMs: atMs, endedMs: atMs, revision })
  }

  /** The newest revision of which it and all before arrived at or before this time. */
  newestBy(atMs: number): number {
    let revision = this.#compacted
    for (const arrival of this.#arrivals) {
      if (arrival.endedMs > atMs) break
      revision = arrival.revision
    }
    return revision
  }

  /** The revision to forget up to so that no more than this is kept. */
  excessOver(changesMax: number, bytesMax: number): number {
    let count = this.#changes.length
    let bytes = this.#bytes
    let revision = this.#compacted
    for (const change of this.#changes) {
      if (count <= changesMax && bytes <= bytesMax) break
      count -= 1
      bytes -= costOf(change)
      revision = change.entry.revision
    }
    return revision
  }

  /** Changes after `revision`, oldest first. */
  *after(revision: number): Generator<Change, void, undefined> {
    const changes = this.#changes
    for (let at = Math.max(0, revision - this.#compacted); at < changes.length; at += 1) yield changes[at] as Change
  }

  /** Forgets up to `revision` and returns what was forgotten. */
  dropUpTo(revision: number): readonly Change[] {
    const count = Math.min(Math.max(0, revision - this.#compacted), this.#changes.length)
    const dropped = this.#changes.slice(0, count)
    // A new array: a shift in place would keep the capacity of the largest burst for ever.
    this.#changes = this.#changes.slice(count)
    this.#compacted += count
    for (const change of dropped) this.#bytes -= costOf(change)
    this.#arrivals = this.#arrivals.filter(arrival => arrival.revision > this.#compacted)
    return dropped
  }
}

function costOf(change: Change): number {
  return change.entry.value.length + changeOverheadBytes
}
