// Budgets by name: so many at once, then one more for every so much time. What is remembered is bounded: of too many names, the one
// that was not asked about for longest has its whole budget again.

export interface BucketOptions {
  readonly atOnce: number
  readonly refillMs: number
  readonly rememberedMax: number
}

export class Buckets {
  readonly #options: BucketOptions
  readonly #left = new Map<string, { readonly left: number; readonly atMs: number }>()

  constructor(options: BucketOptions) {
    this.#options = options
  }

  has(name: string, nowMs: number): boolean {
    return this.#leftOf(name, nowMs) >= 1
  }

  take(name: string, nowMs: number): void {
    const left = this.#leftOf(name, nowMs) - 1
    this.#left.delete(name)
    this.#left.set(name, { left, atMs: nowMs })
    for (const oldest of this.#left.keys()) {
      if (this.#left.size <= this.#options.rememberedMax) return
      this.#left.delete(oldest)
    }
  }

  #leftOf(name: string, nowMs: number): number {
    const { atOnce, refillMs } = this.#options
    const known = this.#left.get(name)
    return known === undefined ? atOnce : Math.min(atOnce, known.left + (nowMs - known.atMs) / refillMs)
  }
}
