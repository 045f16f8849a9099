// The refusals that this process wrote to claims lately: if another process overwrites one, it is not written again at once.

/** A refusal is not written twice within this time. */
const holdBackMs = 10_000

export class RecentRefusals {
  readonly #writtenMs = new Map<string, number>()

  add(text: string, nowMs: number): void {
    for (const [old, writtenMs] of this.#writtenMs) {
      if (nowMs - writtenMs < holdBackMs) break
      this.#writtenMs.delete(old)
    }
    this.#writtenMs.delete(text)
    this.#writtenMs.set(text, nowMs)
  }

  /** How long until it may be written again; 0 if it was not written lately. */
  msUntil(text: string, nowMs: number): number {
    const writtenMs = this.#writtenMs.get(text)
    return writtenMs === undefined ? 0 : Math.max(0, writtenMs + holdBackMs - nowMs)
  }
}
