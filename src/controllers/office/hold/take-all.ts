// What a claim of several parts holds: every part, or none (docs/model, Parts.tla).
//
//   taken in this pass, and another part is lost    given back at once (T14), or, if it was regained, back to rest
//   found from an earlier pass, and another part    the claim is written first (T15): it says which part it lacks. Then what
//   cannot be had                                   was found goes to rest, under the version that was read before that write
//
// Why in this order: another worker that wants to store a choice on a found hold has read the claim before T15, and its write of
// the choice is refused; or after it, and must renew the hold, which changes the hold's version, and the rest is refused.

import type { HoldSpec } from '../../../api/hold.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { isApiError } from '../../../kube/api-error.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { othersAt } from '../disputes.ts'
import type { Ledger, Showing, ShownBy } from '../ledger.ts'
import { type RestWorld, restSecondsOf } from './quarantine.ts'
import {
  type AnyHold,
  type AnyHoldSpec,
  giveBackHold,
  type HoldWorld,
  isOfAddress,
  parseHoldLike,
  quarantineHold,
  regainHold,
  renewHold,
  takeHold,
} from './steps.ts'

/** One part of a claim, and how its hold becomes the claim's. */
export type PartTaking =
  /** It is created. */
  | { readonly how: 'take'; readonly spec: AnyHoldSpec }
  /** It rests, and the claim or its owner left it; or it is held in the claim's name already. */
  | { readonly how: 'regain' | 'found'; readonly spec: AnyHoldSpec; readonly hold: AnyHold }

export type AllTaken =
  | { readonly kind: 'taken' }
  /** Another process was quicker to take what this part was to have, or shows it. Nothing of this pass is held any more. */
  | { readonly kind: 'lost'; readonly spec: AnyHoldSpec }
  /** What it was decided on is so no longer. Nothing was taken. */
  | { readonly kind: 'outdated' }

interface Undo {
  readonly undo: () => Promise<void>
}

type RestingWorld = HoldWorld & Pick<RestWorld, 'sources'>

export interface TakeAllWorld extends RestingWorld {
  readonly ledger: Pick<Ledger, 'show' | 'hide' | 'shownAt'>
}

/** The claim that it is taken for. */
export interface Taker {
  /** The objects of the claim: itself first, then its reports. */
  readonly own: readonly [ShownBy, ...ShownBy[]]
  /**
   * Asked before the first hold, when no other pass is sent after the addresses any more: else all passes that wait for an
   * answer at the same time would have chosen the same ones, and all but one would have to begin again.
   */
  readonly isOutdated?: () => Promise<boolean>
}

/**
 * In the order of the list, which is the same for every claim of a kind. From the call on, before the first hold is there, no
 * other pass of this process is sent after the same addresses.
 */
export async function takeAll(world: TakeAllWorld, parts: readonly PartTaking[], taker: Taker): Promise<AllTaken> {
  const { ledger } = world
  const intents = parts.flatMap(({ spec }) => (isOfAddress(spec) ? [toIntent(spec, taker.own[0])] : []))
  for (const intent of intents) ledger.show(intent)
  const done: Undo[] = []
  try {
    if ((await taker.isOutdated?.()) === true) return { kind: 'outdated' }
    for (const part of parts) {
      const step = await take(world, part)
      if (step !== 'lost' && step !== undefined) done.push(step)
      if (step !== 'lost' && !isShownByAnother(part, ledger, taker)) continue
      for (const { undo } of done.toReversed()) await undo()
      return { kind: 'lost', spec: part.spec }
    }
    return { kind: 'taken' }
  } finally {
    for (const { by } of intents) ledger.hide(by, 'intent')
  }
}

function toIntent(spec: HoldSpec, by: ShownBy): Showing {
  const { space, ip, bits, pool, claim } = spec
  const { part, namespace, clusterName } = claim
  const shower = { ...by, ...(part !== undefined && { part }) }
  return {
    by: shower,
    as: 'intent',
    space,
    ip,
    bits,
    pool,
    namespace,
    ...(clusterName !== undefined && { clusterName }),
  }
}

/** Rule 11, looked at once more with the hold in hand. */
function isShownByAnother({ how, spec }: PartTaking, ledger: TakeAllWorld['ledger'], { own }: Taker): boolean {
  return how === 'take' && isOfAddress(spec) && othersAt(ledger, spec.space, spec.ip, own).length > 0
}

/** What undoes it; undefined for what was there before this pass, which T15 decides about. */
async function take(world: RestingWorld, part: PartTaking): Promise<Undo | 'lost' | undefined> {
  const { spec } = part
  if (part.how === 'found') {
    await renewHold(world, part.hold, spec)
    return undefined
  }
  if (part.how === 'regain') {
    const regained = await regainHold(world, part.hold, spec)
    return { undo: () => restAgain(world, spec, regained) }
  }
  const made = await takeHold(world, spec)
  return made === undefined ? 'lost' : { undo: () => giveBackHold(world, spec, made) }
}

async function restAgain(world: RestingWorld, spec: AnyHoldSpec, object: KubeObject): Promise<void> {
  const hold = parseHoldLike(spec, object)
  if (!isMalformed(hold)) await quarantineHold(world, hold, restSecondsOf(hold, world))
}

/**
 * After T15: what earlier passes left goes to rest. `found` is as it was read before the claim was written. A hold that another
 * worker has renewed meanwhile is left to it.
 */
export async function letGo(world: RestingWorld, found: readonly AnyHold[]): Promise<void> {
  for (const hold of found) {
    try {
      await quarantineHold(world, hold, restSecondsOf(hold, world))
    } catch (error) {
      if (!isApiError(error, 'Conflict', 'NotFound')) throw error
    }
  }
}
