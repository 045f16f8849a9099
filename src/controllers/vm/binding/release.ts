// ipamclaim.binding, the way out - everything that a claim has goes to rest before the claim does, and not while a pod of its
// machine may still use it.
//
// Writes:  a mark on pods that a write on its way could still tell of the claim's addresses; T10 for every hold, then T11. A pass
//          that is cut between two of them is done again from the beginning; a hold that is missed is a stray, and is put to rest
//          by the office.

import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { done, type PassResult, requeue, requeueAfter } from '../../../runtime/reconciler.ts'
import { askAllHoldsOf } from '../../office/hold/of-claim.ts'
import { restSecondsOf } from '../../office/hold/quarantine.ts'
import { type AnyHold, quarantineHold } from '../../office/hold/steps.ts'
import { vmNameOf } from '../claims/belonging.ts'
import { nodes } from '../kinds.ts'
import type { VMWorld } from '../world.ts'
import { chosenOf, macProofOf, proofOf } from './choice.ts'
import { askEnd } from './end.ts'
import type { Seen } from './observe.ts'
import { freeOfNode, markEnded, unguard } from './steps.ts'

/** Pods of no virtual machine are not followed, nor are nodes. */
const notFollowedPollMs = 10_000

/**
 * The claim of a pod stays while its node says so. A node that is gone for good says nothing: when its Node object is deleted, what
 * ran on it is gone, by Kubernetes' own word.
 */
export async function freeFromLostNode(claim: IPAMClaim, world: VMWorld): Promise<PassResult> {
  const { node = '' } = claim
  if (node !== '' && (await world.client.get(nodes, { name: node })) !== undefined)
    return requeueAfter(notFollowedPollMs)
  await freeOfNode(world, claim)
  return requeue()
}

/** A claim that may not go yet is looked at again when a pod or the machine changes. */
export async function releaseClaim(seen: Seen, world: VMWorld): Promise<PassResult> {
  const { claim, source } = seen
  const end = await askEnd(claim, world)
  if (end === undefined) return vmNameOf(claim) === undefined ? requeueAfter(notFollowedPollMs) : done()
  for (const pod of end.toMark) await markEnded(world, pod, claim)
  for (const hold of await holdsToRest(seen, world)) {
    if (hold.state === 'held') await quarantineHold(world, hold, restSecondsOf(hold, world))
  }
  await unguard(world, claim)
  world.note({ what: 'released', claim: claim.metadata, pool: source })
  return done()
}

/** What is in view, if it is all that the status shows and no more; else what the API server has. */
async function holdsToRest({ claim, held }: Seen, world: VMWorld): Promise<readonly AnyHold[]> {
  const chosen = chosenOf(claim.ips)
  const isWhole = !isMalformed(chosen) && chosen.length > 0 && chosen.every(one => proofOf(one, held) !== undefined)
  const { request } = claim
  const isMACInView =
    !isMalformed(request) && (request.mac === undefined || macProofOf(request.mac, held) !== undefined)
  return isWhole && isMACInView ? held : askAllHoldsOf(claim.metadata.uid, world)
}
