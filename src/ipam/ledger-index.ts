// The in-memory view of the whole ledger: one index per space, made when the first hold or question comes.

import type { IndexedHold } from './space-index.ts'
import { SpaceIndex } from './space-index.ts'

export type LedgerHold = IndexedHold & { readonly space: string }

export class LedgerIndex {
  readonly #spaces = new Map<string, SpaceIndex>()

  /** The index of a space; of one that nobody holds anything in, an empty one. */
  spaceOf(space: string): SpaceIndex {
    const index = this.#spaces.get(space)
    if (index !== undefined) return index
    const made = new SpaceIndex()
    this.#spaces.set(space, made)
    return made
  }

  put(hold: LedgerHold): void {
    this.spaceOf(hold.space).put(hold)
  }

  /** `releasedAt`: milliseconds, for a hold that went without a quarantine. */
  remove({ space, ip, bits }: Pick<LedgerHold, 'space' | 'ip' | 'bits'>, releasedAt = 0): void {
    this.#spaces.get(space)?.remove({ ip, bits }, releasedAt)
  }

  /** Forgets spaces in which nothing is held; who asks again gets a new one. */
  tidy(): void {
    for (const [space, index] of this.#spaces) if (index.size === 0) this.#spaces.delete(space)
  }
}
