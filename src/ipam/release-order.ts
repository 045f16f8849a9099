// Which free numbers were released, oldest first: what "least recently used" goes by. Only so many releases are remembered
// per space, because a large pool would else remember for ever; a forgotten one counts as never used, and since it is
// always the oldest that is forgotten, that is where it belongs: in front of all that are remembered.

/** Enough that a pool must turn over this often within a start-up's memory before an order is lost. */
export const releasesRememberedMax = 65_536

export class ReleaseOrder<N extends number | bigint> {
  readonly #times = new Map<N, number>()
  /** Every release ever noted and not yet swept out; one is outdated if `#times` says otherwise. */
  #entries: { readonly n: N; readonly time: number }[] = []
  #start = 0
  #isSorted = true

  get size(): number {
    return this.#times.size
  }

  has(n: N): boolean {
    return this.#times.has(n)
  }

  /** Answers the number that is forgotten for it, if there is one. */
  note(n: N, time: number): N | undefined {
    const last = this.#entries.at(-1)
    if (last !== undefined && time < last.time) this.#isSorted = false
    this.#times.set(n, time)
    this.#entries.push({ n, time })
    if (this.#entries.length > 2 * this.#times.size + 1_024) this.#sweep()
    if (this.#times.size <= releasesRememberedMax) return undefined
    for (const oldest of this.oldestFirst()) {
      this.forget(oldest)
      return oldest
    }
    return undefined
  }

  forget(n: N): void {
    this.#times.delete(n)
  }

  /** By time, and of one time the lower number first. */
  *oldestFirst(): Generator<N, void, undefined> {
    this.#sort()
    let isLeading = true
    for (let i = this.#start; i < this.#entries.length; i++) {
      const entry = this.#entries[i]
      if (entry === undefined) return
      const isOutdated = this.#times.get(entry.n) !== entry.time
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
    this.#entries = this.#entries.slice(this.#start).filter(({ n, time }) => this.#times.get(n) === time)
    this.#start = 0
  }
}
