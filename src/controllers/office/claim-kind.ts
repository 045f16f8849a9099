// What a desk registers about its kind of claim, so that the ledger's own controllers can judge holds of such claims
// without knowing the kind.

import type { Cache } from '../../kube/cache.ts'
import type { Client } from '../../kube/client.ts'
import type { Kind, KubeObject } from '../../kube/object.ts'
import type { AnyHold } from './hold/steps.ts'

export interface ClaimKind {
  readonly kind: Kind
  readonly cache: Pick<Cache<KubeObject>, 'get' | 'subscribe'>
  /** Its claims hold MACs too: its desk brings the permission to write MACHolds (mac-holds.ts). */
  readonly holdsMACs?: boolean
  /**
   * Whether the claim, with the uid that the hold names, may be the one that holds it: it chose the address for the part that
   * the hold names, or has not chosen yet, or has a report that shows it, or cannot be read. Once false, no write of the
   * protocol makes it true again.
   */
  standsBy(claim: KubeObject, hold: AnyHold): boolean
  /**
   * Whether something still runs with what a living claim does not stand by, asked of the API server before it goes to rest, by the
   * client of the pass that asks. A desk whose claims never change what they have needs no such question.
   */
  isUsed?(claim: KubeObject, hold: AnyHold, client: Client): Promise<boolean>
}

/** The kinds that are served, by the reference that a hold has to its claim. */
export class ClaimKinds {
  readonly #kinds = new Map<string, ClaimKind>()

  add(one: ClaimKind): void {
    this.#kinds.set(`${one.kind.group}/${one.kind.kind}`, one)
  }

  /** Whether claims that are served here hold MACs. */
  get holdMACs(): boolean {
    return [...this.#kinds.values()].some(({ holdsMACs }) => holdsMACs === true)
  }

  of({ claim }: Pick<AnyHold, 'claim'>): ClaimKind | undefined {
    return this.#kinds.get(`${claim.apiGroup}/${claim.kind}`)
  }
}
