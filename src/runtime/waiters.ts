// Callers that wait for one thing to be so, each for as long as its own signal lets it.

export class Waiters {
  readonly #waiting = new Set<() => void>()

  /** Resolves at once if it is so already, else when `resolve` is called; rejects when the signal is aborted before. */
  until(isSo: boolean, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (isSo) return resolve()
      const refuse = () => {
        this.#waiting.delete(agree)
        reject(signal?.reason)
      }
      const agree = () => {
        signal?.removeEventListener('abort', refuse)
        resolve()
      }
      if (signal?.aborted) return refuse()
      signal?.addEventListener('abort', refuse, { once: true })
      this.#waiting.add(agree)
    })
  }

  /** It is so now: every caller goes on. */
  resolve(): void {
    for (const agree of this.#waiting) agree()
    this.#waiting.clear()
  }
}
