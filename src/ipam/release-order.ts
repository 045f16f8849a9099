// Which free numbers were released, oldest first: what "least recently used" goes by. Only so many releases are remembered
// per space, because a large pool would else remember for ever; a forgotten one counts as never used, and since it is
// always the oldest that is forgotten, that is where it belongs: in front of all that are remembered.

import { releasesRememberedMax } from '../limits.ts'

interface Release<N> {
  readonly n: N
  readonly time: number
}

export class ReleaseOrder<N extends number | bigint> {
  readonly #latest = new Map<N, Release<N>>()
  /** Every release ever noted and not yet swept out; one is outdated unless it is the latest of its number. */
  #entries: Release<N>[] = []
  #start = 0
  #isSorted = true

  get size(): number {
    return this.#latest.size
  }

  has(n: N): boolean {
    return this.#latest.has(n)
  }

  /** Answers the number that is forgotten for it, if there is one. */
  note(n: N, time: number): N | undefined {
    const last = this.#entries.at(-1)
    if (last !== undefined && time < last.time) this.#isSorted = false
    const release = { n, time }
    this.#latest.set(n, release)
    this.#entries.push(release)
    if (this.#entries.length > 2 * this.#latest.size + 1_024) this.#sweep()
    if (this.#latest.size <= releasesRememberedMax) return undefined
    for (const oldest of this.oldestFirst()) {
      this.forget(oldest)
      return oldest
    }
    return undefined
  }

  forget(n: N): void {
    this.#latest.delete(n)
  }

  /** By time, and of one time the lower number first. */
  *oldestFirst(): Generator<N, void, undefined> {
    this.#sort()
    let isLeading = true
    for (let i = this.#start; i < this.#entries.length; i++) {
      const entry = this.#entries[i]
      if (entry === undefined) return
      const isOutdated = this.#latest.get(entry.n) !== entry
      if (!isOutdated) yield entry.n
      // Outdated entries in front are passed over once, not at every look.
      if (isLeading && isOutdated) this.#start = i + 1
      else isLeading = false
    }
  }

  #sort(): void {
    if (this.#isSorted) return
    this.#sweep()
    this.#entries.sort((a, b) => a.time - b.time || (a.n < b.n ? -1 : 1))
    this.#isSorted = true
  }

  #sweep(): void {
    this.#entries = this.#entries.slice(this.#start).filter(release => this.#latest.get(release.n) === release)
    this.#start = 0
  }
}
