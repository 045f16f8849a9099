// What a claim of several parts holds: every part, or none (docs/model, Parts.tla).
//
//   taken in this pass, and another part is lost    given back at once (T14), or, if it was regained, back to rest
//   found from an earlier pass, and another part    the claim is written first (T15): it says which part it lacks. Then what
//   cannot be had                                   was found goes to rest, under the version that was read before that write
//
// Why in this order: another worker that wants to store a choice on a found hold has read the claim before T15, and its write of
// the choice is refused; or after it, and must renew the hold, which changes the hold's version, and the rest is refused.

import { isMalformed } from '../../../ip/malformed.ts'
import { isApiError } from '../../../kube/api-error.ts'
import type { KubeObject } from '../../../kube/object.ts'
import {
  type AnyHold,
  type AnyHoldSpec,
  giveBackHold,
  type HoldWorld,
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
  /** Another process was quicker to take what this part was to have. Nothing of this pass is held any more. */
  | { readonly kind: 'lost'; readonly spec: AnyHoldSpec }

interface Undo {
  readonly undo: () => Promise<void>
}

/** In the order of the list, which is the same for every claim of a kind. */
export async function takeAll(world: HoldWorld, parts: readonly PartTaking[], restSeconds: number): Promise<AllTaken> {
  const done: Undo[] = []
  for (const part of parts) {
    const step = await take(world, part, restSeconds)
    if (step === 'lost') {
      for (const { undo } of done.toReversed()) await undo()
      return { kind: 'lost', spec: part.spec }
    }
    if (step !== undefined) done.push(step)
  }
  return { kind: 'taken' }
}

/** What undoes it; undefined for what was there before this pass, which T15 decides about. */
async function take(world: HoldWorld, part: PartTaking, restSeconds: number): Promise<Undo | 'lost' | undefined> {
  const { spec } = part
  if (part.how === 'found') {
    await renewHold(world, part.hold)
    return undefined
  }
  if (part.how === 'regain') {
    const regained = await regainHold(world, part.hold, spec)
    return { undo: () => restAgain(world, spec, regained, restSeconds) }
  }
  const made = await takeHold(world, spec)
  return made === undefined ? 'lost' : { undo: () => giveBackHold(world, spec, made) }
}

async function restAgain(world: HoldWorld, spec: AnyHoldSpec, object: KubeObject, restSeconds: number): Promise<void> {
  const hold = parseHoldLike(spec, object)
  if (!isMalformed(hold)) await quarantineHold(world, hold, restSeconds)
}

/**
 * After T15: what earlier passes left goes to rest. `found` is as it was read before the claim was written. A hold that another
 * worker has renewed meanwhile is left to it.
 */
export async function letGo(world: HoldWorld, found: readonly AnyHold[], restSeconds: number): Promise<void> {
  for (const hold of found) {
    try {
      await quarantineHold(world, hold, restSeconds)
    } catch (error) {
      if (!isApiError(error, 'Conflict', 'NotFound')) throw error
    }
  }
}
