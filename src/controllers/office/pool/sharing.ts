// Which pools give addresses out of one space: a holder of one takes from the others too.

import { identityKey } from '../../../api/object.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import type { Change } from '../../../kube/cache.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { poolOf } from '../parsed.ts'
import type { Views } from '../views.ts'

export class Sharing {
  readonly #pools = new Map<string, Set<string>>()

  constructor({ pools }: Pick<Views, 'pools'>) {
    for (const cache of pools.values()) cache.subscribe(change => this.#follow(change))
  }

  /** Identity keys of the pools of a space. */
  of(space: string): Iterable<string> {
    return this.#pools.get(space) ?? []
  }

  #follow(change: Change<KubeObject>): void {
    const before = change.old && poolOf(change.old)
    const after = change.new && poolOf(change.new)
    if (before !== undefined && !isMalformed(before)) {
      const pools = this.#pools.get(before.space)
      pools?.delete(identityKey(before.identity))
      if (pools?.size === 0) this.#pools.delete(before.space)
    }
    if (after !== undefined && !isMalformed(after)) {
      const pools = this.#pools.get(after.space) ?? new Set<string>()
      this.#pools.set(after.space, pools.add(identityKey(after.identity)))
    }
  }
}
