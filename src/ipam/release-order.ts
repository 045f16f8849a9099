// Which free numbers were released, oldest first: what "least recently used" goes by. Only so many releases are remembered
// per space, because a large pool would else remember for ever; a forgotten one counts as never used, and since it is
// always the oldest that is forgotten, that is where it belongs: in front of all that are remembered.

import { releasesRememberedMax } from '../limits.ts'
import type { TaggedNumbers } from './tagged-numbers.ts'

interface Release<N> {
  readonly n: N
  readonly time: number
}

export class ReleaseOrder<N extends number | bigint> {
  /**
   * The place of its latest release among the entries, counted from 1. No Map: a key that is set and deleted over and over
   * leaves a trail in a large one, along which every look then walks.
   */
  readonly #latest: TaggedNumbers<N>
  /** Every release noted and not yet swept out; one is outdated unless it is the latest of its number. */
  #entries: Release<N>[] = []
  #start = 0
  #isSorted = true

  constructor(noNumbers: TaggedNumbers<N>) {
    this.#latest = noNumbers
  }

  get size(): number {
    return this.#latest.size
  }

  has(n: N): boolean {
    return this.#latest.tagOf(n) !== 0
  }

  /** Answers the number that is forgotten for it, if there is one. */
  note(n: N, time: number): N | undefined {
    const last = this.#entries.at(-1)
    if (last !== undefined && time < last.time) this.#isSorted = false
    this.#latest.setTag(n, this.#entries.push({ n, time }))
    if (this.#entries.length > 2 * this.size + 1_024) this.#sweep()
    if (this.size <= releasesRememberedMax) return undefined
    for (const oldest of this.oldestFirst()) {
      this.forget(oldest)
      return oldest
    }
    return undefined
  }

  forget(n: N): void {
    if (this.size > 0) this.#latest.setTag(n, 0)
  }

  /** By time, and of one time the lower number first. */
  *oldestFirst(): Generator<N, void, undefined> {
    this.#sort()
    let isLeading = true
    for (let i = this.#start; i < this.#entries.length; i++) {
      const entry = this.#entries[i]
      if (entry === undefined) return
      const isOutdated = !this.#isLatest(entry, i)
      if (!isOutdated) yield entry.n
      // Outdated entries in front are passed over once, not at every look.
      if (isLeading && isOutdated) this.#start = i + 1
      else isLeading = false
    }
  }

  #isLatest({ n }: Release<N>, index: number): boolean {
    return this.#latest.tagOf(n) === index + 1
  }

  #sort(): void {
    if (this.#isSorted) return
    const latest = this.#entries.filter((entry, i) => this.#isLatest(entry, i))
    this.#arrange(latest.sort((a, b) => a.time - b.time || (a.n < b.n ? -1 : 1)))
    this.#isSorted = true
  }

  #sweep(): void {
    this.#arrange(this.#entries.filter((entry, i) => this.#isLatest(entry, i)))
  }

  #arrange(entries: Release<N>[]): void {
    this.#entries = entries
    this.#start = 0
    entries.forEach(({ n }, i) => {
      this.#latest.setTag(n, i + 1)
    })
  }
}
