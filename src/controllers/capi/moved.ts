// Claims that clusterctl moves to another cluster. It deletes every IPAddress before it comes to the claims, and annotates each
// object with the reason. An IPAddress that left like this is not lost: made anew, it would be deleted a moment later.
//
// This is known of what was seen to leave, and no longer than this process lives. No safety rests on it: an IPAddress too many
// goes with its claim.

import type { IPAddressClaim } from '../../api/ip-address-claim.ts'
import { deleteForMoveAnnotation } from '../../api/names.ts'
import type { Change } from '../../kube/cache.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { Caches } from './world.ts'

export class Moved {
  /** Uids of claims. */
  readonly #withoutReport = new Set<string>()

  constructor({ claims, reports }: Pick<Caches, 'claims' | 'reports'>) {
    reports.subscribe(change => this.#followReport(change))
    claims.subscribe(change => {
      if (change.new === undefined) this.#withoutReport.delete(change.old.metadata.uid ?? '')
    })
  }

  #followReport({ old, new: next }: Change<KubeObject>): void {
    const { annotations = {}, ownerReferences = [] } = (next ?? old).metadata
    const isLeaving = next === undefined && Object.hasOwn(annotations, deleteForMoveAnnotation)
    for (const { kind, uid } of ownerReferences) {
      if (kind !== 'IPAddressClaim') continue
      if (isLeaving) this.#withoutReport.add(uid)
      else this.#withoutReport.delete(uid)
    }
  }

  /** Whether its IPAddress left with clusterctl, or it is about to leave itself. */
  isLeaving({ metadata }: Pick<IPAddressClaim, 'metadata'>): boolean {
    return isMarkedForMove({ metadata }) || this.#withoutReport.has(metadata.uid)
  }
}

/** By clusterctl, on the object itself. */
export function isMarkedForMove({ metadata }: Pick<IPAddressClaim, 'metadata'>): boolean {
  return Object.hasOwn(metadata.annotations, deleteForMoveAnnotation)
}
