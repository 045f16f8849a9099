// What was said lately, so that nobody repeats it at the pace at which somebody else contradicts.

/** A refusal that was said is not said again within this time. */
const insistMs = 10_000

export class LastWords {
  readonly #saidMs = new Map<string, number>()

  add(word: string, nowMs: number): void {
    for (const [old, saidMs] of this.#saidMs) {
      if (nowMs - saidMs < insistMs) break
      this.#saidMs.delete(old)
    }
    this.#saidMs.delete(word)
    this.#saidMs.set(word, nowMs)
  }

  /** How long it is to be kept back; 0 for what was not said lately. */
  msUntil(word: string, nowMs: number): number {
    const saidMs = this.#saidMs.get(word)
    return saidMs === undefined ? 0 : Math.max(0, saidMs + insistMs - nowMs)
  }
}
