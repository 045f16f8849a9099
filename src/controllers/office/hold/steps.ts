// What may be written to a hold, one function each, named after the step of the model (docs/model) it is. No other code writes to
// holds, whichever desk they are for. Every write carries the version it was decided on; a refusal is thrown, and means: look
// again from the beginning. What a write answers is put into the cache at once, so that the next pass of this process sees it.

import { type Hold, type HoldSpec, toHoldObject, toRetakePatch } from '../../../api/hold.ts'
import { toQuarantinePatch } from '../../../api/lock.ts'
import { isApiError } from '../../../kube/api-error.ts'
import type { Cache } from '../../../kube/cache.ts'
import type { Client } from '../../../kube/client.ts'
import { withFinalizer, withoutFinalizer } from '../../../kube/finalizers.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { refresh } from '../../../kube/refresh.ts'
import { timestamp } from '../../../kube/timestamp.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { holds } from '../kinds.ts'

/** On a hold: it locks its name until its quarantine is over, also when somebody deletes it by hand. */
export const holdFinalizer = 'mooring.dev/hold'
/** On a hold: whose it is, so that a consistent list can find all holds of one claim. */
export const claimUidLabel = 'mooring.dev/claim-uid'
const renewedAnnotation = 'mooring.dev/renewed'

export interface HoldWorld {
  readonly client: Client
  readonly clock: Clock
  readonly caches: { readonly holds: Pick<Cache<KubeObject>, 'get' | 'learn' | 'unlearn' | 'ended'> }
}

/** T1: the lock on the address. Undefined when somebody was quicker; the cache then knows who. */
export async function takeHold(world: HoldWorld, spec: HoldSpec): Promise<KubeObject | undefined> {
  const { client, clock, caches } = world
  const object = toHoldObject(spec, timestamp(clock))
  const metadata = {
    ...object.metadata,
    labels: { [claimUidLabel]: spec.claim.uid },
    finalizers: [holdFinalizer],
  }
  try {
    const made = await client.create(holds, { ...object, metadata })
    caches.holds.learn(made)
    return made
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists')) throw error
    const found = await client.get(holds, { name: object.metadata.name })
    if (found !== undefined) caches.holds.learn(found)
    return undefined
  }
}

/** T2: a hold that was found, not made, is touched before a choice rests on it: whoever saw it as a stray is too late. */
export async function renewHold(world: HoldWorld, hold: Hold): Promise<void> {
  const annotations = { [renewedAnnotation]: new Date(world.clock.now()).toISOString() }
  await patchHold(world, hold, { metadata: { annotations, finalizers: withFinalizer(hold, holdFinalizer) } })
}

/** T3: out of quarantine, by its former owner. */
export async function regainHold(world: HoldWorld, hold: Hold, spec: HoldSpec): Promise<void> {
  const patch = toRetakePatch(spec, hold, timestamp(world.clock))
  const metadata = { labels: { [claimUidLabel]: spec.claim.uid }, finalizers: withFinalizer(hold, holdFinalizer) }
  await patchHold(world, hold, { ...patch, metadata })
}

/** T8: an address that came from another provider rests like any other when its claim goes. */
export async function parkHold(world: HoldWorld, spec: HoldSpec, restSeconds: number): Promise<void> {
  const { client, clock, caches } = world
  const object = toHoldObject(spec, timestamp(clock))
  const resting = toQuarantinePatch(timestamp(clock), timestamp(clock, restSeconds * 1000))
  const status = { ...object.status, ...resting.status }
  try {
    caches.holds.learn(await client.create(holds, { ...object, status } as KubeObject))
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists')) throw error
  }
}

/** T10: released, and nobody else's yet. The finalizer comes off in the same write, unless the hold is being deleted. */
export async function quarantineHold(world: HoldWorld, hold: Hold, restSeconds: number): Promise<KubeObject> {
  const { clock } = world
  const patch = toQuarantinePatch(timestamp(clock), timestamp(clock, restSeconds * 1000))
  if (hold.metadata.deletionTimestamp !== undefined) return patchHold(world, hold, patch)
  const finalizers = withoutFinalizer(hold, holdFinalizer)
  return patchHold(world, hold, { ...patch, metadata: { finalizers } })
}

/** T12: its rest is over. One that somebody deleted meanwhile only waits for our finalizer. */
export async function expireHold(world: HoldWorld, hold: Hold): Promise<void> {
  const { name, uid, resourceVersion, deletionTimestamp } = hold.metadata
  if (deletionTimestamp !== undefined) {
    const finalizers = withoutFinalizer(hold, holdFinalizer)
    await patchHold(world, hold, { metadata: { finalizers } })
    if (finalizers.length === 0) world.caches.holds.ended(name, uid)
    return
  }
  const answer = await world.client.delete(holds, { name }, { uid, resourceVersion })
  if (answer !== 'deleting') world.caches.holds.ended(name, uid)
}

/** T14: taken in this very pass, and only then seen to be somebody else's. It is never there without its guard. */
export async function giveBackHold(world: HoldWorld, made: KubeObject): Promise<void> {
  const { name = '', uid = '', resourceVersion = '' } = made.metadata
  await world.client.delete(holds, { name }, { uid, resourceVersion })
  const left = await world.client.get(holds, { name })
  if (left !== undefined && left.metadata.uid === uid) {
    const version = { uid, resourceVersion: left.metadata.resourceVersion ?? '' }
    await world.client.mergePatch(holds, { name }, { metadata: { finalizers: [] } }, version)
  }
  // Else the next look would find it in the claim's name once more.
  world.caches.holds.ended(name, uid)
}

async function patchHold({ client, caches }: HoldWorld, hold: Hold, patch: object): Promise<KubeObject> {
  const { name, uid, resourceVersion } = hold.metadata
  try {
    const answer = await client.mergePatch(holds, { name }, patch, { resourceVersion, uid })
    caches.holds.learn(answer)
    return answer
  } catch (error) {
    if (!isApiError(error, 'Conflict', 'NotFound')) throw error
    // The view is old, and may stay so for long: who looks again is to see what there is.
    await refresh(client, holds, caches.holds, { name })
    throw error
  }
}
