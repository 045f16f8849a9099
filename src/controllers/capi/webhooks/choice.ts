// The webhook of a claim's choice, wherever Mooring serves claims: the annotation of a claim that is bound is not changed by
// hand, because its hold would follow while the IPAddress and the machine stay where they are. What is merely taken off is
// put back. A claim that is created, or not bound yet, may say which address is its own: so it arrives from another cluster
// or from a backup. Which users may write that is another question (author.ts), and so is whether it is believed (plan.ts).

import { forbidden } from '../../../admission/fault.ts'
import { annotationChanges, carries, hasAnnotation, type MatchCondition } from '../../../admission/match-conditions.ts'
import { allowed, type Ruling } from '../../../admission/ruling.ts'
import { type IPAddressClaim, parseIPAddressClaim, poolOfClaim } from '../../../api/ip-address-claim.ts'
import { choiceAnnotation, deleteForMoveAnnotation, requestedAddressAnnotation } from '../../../api/names.ts'
import { isSameIP, parseIP, quoteUnlessIP } from '../../../ip/address.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import type { CapiFacts } from '../facts.ts'
import { isBound } from './match-conditions.ts'

/** Mooring stores its choice before it says that the claim is bound: no claim waits for this question. */
export const whenChoiceChanges: readonly MatchCondition[] = [
  { name: 'choice-changes', expression: annotationChanges(choiceAnnotation) },
  {
    name: 'claim-had-an-address',
    expression: `${hasAnnotation('oldObject', choiceAnnotation)} || ${isBound('oldObject')}`,
  },
  // clusterctl takes off every other annotation when it puts this one on. It never changes one.
  {
    name: 'clusterctl-does-not-take-it-off',
    expression: `${hasAnnotation('object', choiceAnnotation)} || !${carries('object', deleteForMoveAnnotation)}`,
  },
]

const field = `metadata.annotations[${choiceAnnotation}]`

export function admitChoice(old: unknown, next: unknown, facts: CapiFacts): Ruling {
  const [before, after] = [parseIPAddressClaim(old), parseIPAddressClaim(next)]
  if (isMalformed(before) || isMalformed(after) || poolOfClaim(before) === undefined) return allowed()
  // On its way out it may say what it likes; on its way to another cluster, nothing.
  const isMoving = Object.hasOwn(after.metadata.annotations, deleteForMoveAnnotation)
  if (before.isDeleting || (isMoving && after.choice === undefined)) return allowed()
  return judge(before, after, facts)
}

/** To undo what went wrong is always allowed. */
function judge(before: IPAddressClaim, { choice }: IPAddressClaim, facts: CapiFacts): Ruling {
  const [held, report] = [before.choice, before.addressName]
  if (choice === held) return allowed()
  if (choice === undefined) return allowed([`${field}: this claim holds ${held}; the annotation is put back`])
  const isSpelling = held !== undefined && isSameAddress(held, choice)
  if (report === '' || isSpelling) {
    return held === undefined
      ? allowed()
      : allowed([`${field}: this claim holds ${held}; an edit does not change that`])
  }
  const shown = facts.addressOfReport(before.metadata, report)
  const own = shown ?? held
  // Where nothing else shows the address of a claim that was bound, a user may write it by hand.
  if (own === undefined || (shown !== undefined && isSameAddress(shown, choice))) return allowed()
  const advice = `leave it, or make another claim with the annotation ${requestedAddressAnnotation}`
  const fault = forbidden(
    field,
    `this claim is bound to ${own} and does not move to ${quoteUnlessIP(choice)}: ${advice}`,
  )
  return { kind: 'forbidden', faults: [fault], warnings: [] }
}

function isSameAddress(a: string, b: string): boolean {
  const [left, right] = [parseIP(a), parseIP(b)]
  return a === b || (!isMalformed(left) && !isMalformed(right) && isSameIP(left, right))
}
