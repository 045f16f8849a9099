// Claims that clusterctl moves to another cluster. It deletes every IPAddress before it comes to the claims, and annotates each
// object with the reason. An IPAddress that left like this is not lost: made anew, it would be deleted a moment later.
//
// A move may be killed, and never repeated. So this is believed for some minutes only; then the claim gets its IPAddress back.
// Only claims that are known are remembered, so that no owner reference made by hand can make this grow. No safety rests on it:
// an IPAddress too many goes with its claim.

import type { IPAddressClaim } from '../../api/ip-address-claim.ts'
import { deleteForMoveAnnotation } from '../../api/names.ts'
import type { Change } from '../../kube/cache.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Caches } from './world.ts'

/** Longer than clusterctl takes from the IPAddress to its claim, also with thousands of objects and some retries. */
export const leavingMs = 5 * 60_000

export class Moved {
  readonly #claims: Caches['claims']
  readonly #clock: Pick<Clock, 'monotonicMs'>
  /** By the uid of a claim that is known: when it, or its IPAddress, was last seen to leave. */
  readonly #leftAtMs = new Map<string, number>()

  constructor({ claims, reports }: Pick<Caches, 'claims' | 'reports'>, clock: Pick<Clock, 'monotonicMs'>) {
    this.#claims = claims
    this.#clock = clock
    reports.subscribe(change => this.#followReport(change))
    claims.subscribe(change => this.#followClaim(change))
  }

  #followReport({ old, new: next }: Change<KubeObject>): void {
    const { metadata } = next ?? old
    for (const { kind, name, uid } of metadata.ownerReferences ?? []) {
      if (kind !== 'IPAddressClaim') continue
      if (next !== undefined || !isMarked(old)) this.#leftAtMs.delete(uid)
      else if (this.#claims.get(`${metadata.namespace}/${name}`)?.metadata.uid === uid) this.#note(uid)
    }
  }

  #followClaim({ old, new: next }: Change<KubeObject>): void {
    const { uid = '' } = (next ?? old).metadata
    const wasMarked = old !== undefined && isMarked(old)
    if (next === undefined || (wasMarked && !isMarked(next))) this.#leftAtMs.delete(uid)
    else if (!wasMarked && isMarked(next)) this.#note(uid)
  }

  #note(uid: string): void {
    this.#leftAtMs.set(uid, this.#clock.monotonicMs())
  }

  /** How much longer it is believed that the claim leaves, after its IPAddress; 0 where it is not. */
  leavesForMs({ metadata }: Pick<IPAddressClaim, 'metadata'>): number {
    const leftAtMs = this.#leftAtMs.get(metadata.uid)
    return leftAtMs === undefined ? 0 : Math.max(0, leftAtMs + leavingMs - this.#clock.monotonicMs())
  }
}

function isMarked({ metadata }: KubeObject): boolean {
  return Object.hasOwn(metadata.annotations ?? {}, deleteForMoveAnnotation)
}

/** By clusterctl, on the object itself. */
export function isMarkedForMove({ metadata }: Pick<IPAddressClaim, 'metadata'>): boolean {
  return Object.hasOwn(metadata.annotations, deleteForMoveAnnotation)
}
