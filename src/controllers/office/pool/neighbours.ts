// Which other pools list the addresses of a pool. Every pool is compared with every other only when a spec has changed, not
// when a holder comes or goes.

import { type Identity, identityKey } from '../../../api/object.ts'
import type { Pool } from '../../../api/pool.ts'
import { type Overlap, overlapsOf } from '../../../ipam/overlap.ts'
import type { Sources } from '../sources.ts'

interface Known {
  readonly round: number
  readonly generation: number
  readonly overlaps: readonly Overlap[]
}

export class Neighbours {
  readonly #sources: Pick<Sources, 'all'>
  readonly #known = new Map<string, Known>()
  #round = 0

  constructor(sources: Pick<Sources, 'all'>) {
    this.#sources = sources
  }

  /** What a pool lists may have changed. */
  changed(): void {
    this.#round++
  }

  of(pool: Pool): readonly Overlap[] {
    const key = identityKey(pool.identity)
    const { generation } = pool.metadata
    const known = this.#known.get(key)
    if (known !== undefined && known.round === this.#round && known.generation === generation) return known.overlaps
    const overlaps = overlapsOf(pool, this.#sources.all())
    this.#known.set(key, { round: this.#round, generation, overlaps })
    return overlaps
  }

  /** Those that a pool, as it is or was, shares addresses with. */
  around(pool: Pool): Identity[] {
    return overlapsOf(pool, this.#sources.all()).map(({ other }) => other)
  }

  forget(key: string): void {
    this.#known.delete(key)
  }
}
