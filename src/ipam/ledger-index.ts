// The in-memory index of the whole ledger: one index per space that something is held in.

import type { IndexedHold } from './space-index.ts'
import { SpaceIndex } from './space-index.ts'

export type LedgerHold = IndexedHold & { readonly space: string }

/** An empty space still remembers what was released when: so many of them are kept, those that became empty last. */
const emptySpacesMax = 1_000

/** A kind that cannot be read, and may show that something of the space is in use. */
export type Unread = (space: string) => string | undefined

export class LedgerIndex {
  readonly #unread: Unread
  readonly #spaces = new Map<string, SpaceIndex>()
  /** In the order in which they became empty. */
  readonly #empty = new Set<string>()

  constructor(unread: Unread = () => undefined) {
    this.#unread = unread
  }

  /**
   * The index of a space; of a space in which nothing is held, an empty one. Good until the next hold is put or removed:
   * a space that becomes empty may get another index afterwards.
   */
  spaceOf(space: string): SpaceIndex {
    return this.#spaces.get(space) ?? new SpaceIndex(() => this.#unread(space))
  }

  put(hold: LedgerHold): void {
    const index = this.spaceOf(hold.space)
    this.#spaces.set(hold.space, index)
    this.#empty.delete(hold.space)
    index.put(hold)
  }

  remove({ space, ip, bits }: Pick<LedgerHold, 'space' | 'ip' | 'bits'>): void {
    const index = this.#spaces.get(space)
    index?.remove({ ip, bits })
    if (index === undefined || index.size > 0) return
    this.#empty.add(space)
    const [oldest] = this.#empty
    if (this.#empty.size <= emptySpacesMax || oldest === undefined) return
    this.#empty.delete(oldest)
    this.#spaces.delete(oldest)
  }
}
