// What a desk tells of its kind of claim, so that the ledger's own controllers can judge holds in the name of such claims
// without knowing the kind.

import type { Hold } from '../../api/hold.ts'
import type { Cache } from '../../kube/cache.ts'
import type { Kind, KubeObject } from '../../kube/object.ts'

export interface ClaimKind {
  readonly kind: Kind
  readonly cache: Pick<Cache<KubeObject>, 'get' | 'subscribe'>
  /**
   * Whether the claim, with the uid that the hold names, may be the one that holds it: it chose the address, or has not chosen
   * yet, or nobody can tell. What it answers to a no must never become a yes again.
   */
  standsBy(claim: KubeObject, hold: Hold): boolean
}

/** The kinds that are served, by the reference that a hold has to its claim. */
export class ClaimKinds {
  readonly #kinds = new Map<string, ClaimKind>()

  add(one: ClaimKind): void {
    this.#kinds.set(`${one.kind.group}/${one.kind.kind}`, one)
  }

  of({ claim }: Pick<Hold, 'claim'>): ClaimKind | undefined {
    return this.#kinds.get(`${claim.apiGroup}/${claim.kind}`)
  }
}
