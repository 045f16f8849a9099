// Two claims that show one address, of which neither holds it: OVN-Kubernetes gave it twice, or a backup brought one of them back.
// One of them has it, always the same one, and the other is told: the one whose machine runs with it, because given to the other
// it would be on the network twice; else the one that was made first. Both may have it by what administrators wrote: what a
// network does not offer to a claim is not counted as shown. A hold ends the question.

import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import type { LauncherPod } from '../../../api/launcher-pod.ts'
import type { Pool } from '../../../api/pool.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { othersAt } from '../../office/disputes.ts'
import { readable } from '../../office/kept.ts'
import { isSameShower, type Ledger, type ShownBy } from '../../office/ledger.ts'
import { ipamClaims } from '../kinds.ts'
import { claimOf } from '../parsed.ts'
import { isShownBy } from '../pods/annotation.ts'
import { ownOf } from '../shown.ts'
import { usedBy } from '../use.ts'
import type { Caches } from '../world.ts'
import { chosenOf } from './choice.ts'

interface Rival {
  readonly claim: Pick<IPAMClaim, 'metadata' | 'ips'>
  /** Those that may use the claim. */
  readonly pods: readonly LauncherPod[]
}

interface World {
  readonly caches: Pick<Caches, 'claims' | 'pods' | 'vmis'>
  readonly ledger: Pick<Ledger, 'shownAt'>
  /** False for a claim that another controller serves: it does not hear of the decision. */
  readonly isServed: (claim: IPAMClaim & KubeObject) => boolean
}

/** The claims that show an address of this one and have to do without it, and their pods. */
export function yieldingTo(
  claim: IPAMClaim,
  pods: readonly LauncherPod[],
  places: readonly Pool[],
  { caches, ledger, isServed }: World,
): readonly ShownBy[] {
  const chosen = chosenOf(claim.ips)
  if (isMalformed(chosen)) return []
  const own = ownOf(claim, pods)
  const yielding: ShownBy[] = []
  for (const { ip } of chosen) {
    const space = places.find(({ family }) => family === ip.family)?.space
    if (space === undefined) continue
    for (const { by } of othersAt(ledger, space, ip, own)) {
      if (by.kind !== ipamClaims.kind || yielding.some(one => isSameShower(one, by))) continue
      const other = readable(caches.claims.get(by.key), claimOf)
      if (other === undefined || !isServed(other)) continue
      const rival = { claim: other, pods: usedBy(other, caches).pods }
      if (isBefore({ claim, pods }, rival)) yielding.push(...ownOf(other, rival.pods))
    }
  }
  return yielding
}

/** A total order: of two claims exactly one is before the other. */
export function isBefore(one: Rival, other: Rival): boolean {
  const [isRunning, doesOtherRun] = [runs(one), runs(other)]
  if (isRunning !== doesOtherRun) return isRunning
  const { creationTimestamp: made, uid } = one.claim.metadata
  const { creationTimestamp: otherMade, uid: otherUid } = other.claim.metadata
  return made === otherMade ? uid < otherUid : made < otherMade
}

/** A pod of its machine is on a node with an address that the claim shows. */
function runs({ claim, pods }: Rival): boolean {
  const chosen = chosenOf(claim.ips)
  if (isMalformed(chosen)) return false
  const placed = pods.filter(({ nodeName }) => nodeName !== '')
  return chosen.some(({ ip }) => isShownBy(placed, ip))
}
