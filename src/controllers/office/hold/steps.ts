// What may be written to a hold, one function each, named after the step of the model (docs/model) it is. No other code writes to
// holds, whichever desk they are for. Holds of addresses and of MACs are written by the same steps. Every write carries the
// version it was decided on; when the API server refuses it, the error is thrown and the pass begins again. What a write answers
// is put into the cache at once, so that the next pass of this process sees it. Every write is noted: the log holds the ledger.

import { type Hold, type HoldSpec, holdName, parseHold, toHoldObject, toRetakePatch } from '../../../api/hold.ts'
import { toOwnerPatch, toQuarantinePatch, toRetakeLockPatch } from '../../../api/lock.ts'
import { type MACHold, type MACHoldSpec, macHoldName, parseMACHold, toMACHoldObject } from '../../../api/mac-hold.ts'
import type { Malformed } from '../../../ip/malformed.ts'
import { isApiError } from '../../../kube/api-error.ts'
import type { Cache } from '../../../kube/cache.ts'
import type { Client } from '../../../kube/client.ts'
import { withFinalizer, withoutFinalizer } from '../../../kube/finalizers.ts'
import type { Kind, KubeObject } from '../../../kube/object.ts'
import { patchSeen } from '../../../kube/patch-seen.ts'
import { timestamp } from '../../../kube/timestamp.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { LedgerWrite, Note } from '../journal.ts'
import { holds, macHolds } from '../kinds.ts'

/** On a hold: it locks its name until its quarantine is over, also when a user deletes it by hand. */
export const holdFinalizer = 'mooring.dev/hold'
/** On a hold: the uid of its claim, so that a consistent list can find all holds of one claim. */
export const claimUidLabel = 'mooring.dev/claim-uid'
const renewedAnnotation = 'mooring.dev/renewed'

/** What is to be held: an address, or a MAC. */
export type AnyHoldSpec = HoldSpec | MACHoldSpec
export type AnyHold = Hold | MACHold

type HoldCache = Pick<Cache<KubeObject>, 'get' | 'version' | 'learn' | 'unlearn' | 'ended'>

export interface HoldWorld {
  readonly client: Client
  readonly clock: Clock
  readonly caches: { readonly holds: HoldCache; readonly macHolds: HoldCache }
  /** Of the pass that runs. */
  readonly note: Note
}

/** T1: the lock on the address. Undefined when another process was quicker; its hold is then in the cache. */
export async function takeHold(world: HoldWorld, spec: AnyHoldSpec): Promise<KubeObject | undefined> {
  const { client, clock } = world
  const { kind, cache } = placeOf(world, spec)
  const object = toObject(spec, timestamp(clock))
  const metadata = {
    ...object.metadata,
    labels: { [claimUidLabel]: spec.claim.uid },
    finalizers: [holdFinalizer],
  }
  try {
    const made = await client.create(kind, { ...object, metadata })
    cache.learn(made)
    noteWrite(world, 'taken', spec, made)
    return made
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists')) throw error
    const askedAt = cache.version
    const found = await client.get(kind, { name: object.metadata.name })
    if (found !== undefined) cache.learn(found, askedAt)
    return undefined
  }
}

/**
 * T2: a hold that was found, not made, is touched before a choice rests on it: a worker that saw it as a stray is too late. `spec`
 * may have the owner that its claim has got since.
 */
export async function renewHold(world: HoldWorld, hold: AnyHold, spec: AnyHoldSpec = hold): Promise<KubeObject> {
  const annotations = { [renewedAnnotation]: new Date(world.clock.now()).toISOString() }
  const metadata = { annotations, finalizers: withFinalizer(hold, holdFinalizer) }
  const patch = { ...toOwnerPatch(spec, hold), metadata }
  const renewed = await patchHold(world, hold, patch)
  noteWrite(world, 'found', hold, renewed)
  return renewed
}

/** T3: out of quarantine, by its former owner. */
export async function regainHold(world: HoldWorld, hold: AnyHold, spec: AnyHoldSpec): Promise<KubeObject> {
  const now = timestamp(world.clock)
  const patch = isOfAddress(spec) ? toRetakePatch(spec, hold, now) : toRetakeLockPatch(spec, hold, now)
  const metadata = { labels: { [claimUidLabel]: spec.claim.uid }, finalizers: withFinalizer(hold, holdFinalizer) }
  const regained = await patchHold(world, hold, { ...patch, metadata })
  noteWrite(world, 'regained', spec, regained)
  return regained
}

/** T8: an address that came from another provider rests like any other when its claim goes. */
export async function parkHold(world: HoldWorld, spec: AnyHoldSpec, restSeconds: number): Promise<void> {
  const { client, clock } = world
  const { kind, cache } = placeOf(world, spec)
  const object = toObject(spec, timestamp(clock))
  const resting = toQuarantinePatch(timestamp(clock), timestamp(clock, restSeconds * 1000))
  const status = { ...object.status, ...resting.status }
  try {
    const parked: object = { ...object, status }
    const made = await client.create(kind, parked as KubeObject)
    cache.learn(made)
    noteWrite(world, 'rests', spec, made, resting.status.until)
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists')) throw error
  }
}

/** T10: released, and no other claim's yet. The finalizer comes off in the same write, unless the hold is being deleted. */
export async function quarantineHold(world: HoldWorld, hold: AnyHold, restSeconds: number): Promise<KubeObject> {
  const { clock } = world
  const patch = toQuarantinePatch(timestamp(clock), timestamp(clock, restSeconds * 1000))
  const finalizers = withoutFinalizer(hold, holdFinalizer)
  const isGoing = hold.metadata.deletionTimestamp !== undefined
  const resting = await patchHold(world, hold, isGoing ? patch : { ...patch, metadata: { finalizers } })
  noteWrite(world, 'rests', hold, resting, patch.status.until)
  return resting
}

/** T10 once more: it goes on resting, for less time than was said. */
export async function shortenRest(world: HoldWorld, hold: AnyHold, untilMs: number): Promise<void> {
  const afterMs = untilMs - world.clock.now()
  const patch = toQuarantinePatch(hold.since, timestamp(world.clock, afterMs))
  noteWrite(world, 'rests', hold, await patchHold(world, hold, patch), patch.status.until)
}

/** T12: its rest is over. One that was deleted by hand meanwhile only waits for our finalizer. */
export async function expireHold(world: HoldWorld, hold: AnyHold): Promise<void> {
  const { kind, cache } = placeOf(world, hold)
  const { name, uid, resourceVersion, deletionTimestamp } = hold.metadata
  if (deletionTimestamp !== undefined) {
    const finalizers = withoutFinalizer(hold, holdFinalizer)
    await patchHold(world, hold, { metadata: { finalizers } })
    noteWrite(world, 'freed', hold)
    if (finalizers.length === 0) cache.ended(name, uid)
    return
  }
  const answer = await world.client.delete(kind, { name }, { uid, resourceVersion })
  noteWrite(world, 'freed', hold)
  if (answer !== 'deleting') cache.ended(name, uid)
}

/**
 * T14: a hold that was made in this very pass, and cannot be used, is taken back, under the version that it was made with: another
 * worker that has found it in the claim's name has written it since, and keeps it. The finalizer comes off before the delete, so that
 * one of the two that is refused leaves a hold that is held, and no hold that is on its way out for as long as it is used.
 */
export async function giveBackHold(world: HoldWorld, spec: AnyHoldSpec, made: KubeObject): Promise<void> {
  const { kind, cache } = placeOf(world, spec)
  const { name = '', uid = '', resourceVersion = '' } = made.metadata
  const bare = await world.client.mergePatch(kind, { name }, { metadata: { finalizers: [] } }, { uid, resourceVersion })
  await world.client.delete(kind, { name }, { uid, resourceVersion: bare.metadata.resourceVersion ?? '' })
  noteWrite(world, 'given back', spec)
  // Else the next pass would find it in the claim's name once more.
  cache.ended(name, uid)
}

function patchHold(world: HoldWorld, hold: AnyHold, patch: object): Promise<KubeObject> {
  const { kind, cache } = placeOf(world, hold)
  return patchSeen(world.client, kind, cache, hold, patch)
}

/** After the API server has answered: a line that is there tells what happened. */
function noteWrite(
  { note }: HoldWorld,
  what: LedgerWrite,
  spec: AnyHoldSpec,
  written?: KubeObject,
  until?: string,
): void {
  const { claim, pool, space } = spec
  const name = isOfAddress(spec) ? holdName(space, spec.ip) : macHoldName(space, spec.mac)
  note({
    what,
    claim,
    pool,
    space,
    ...(isOfAddress(spec) ? { ip: spec.ip } : { mac: spec.mac }),
    hold: { name, revision: written?.metadata.resourceVersion },
    ...(until !== undefined && { until }),
  })
}

// --- addresses and MACs ---

export const isOfAddress = <A extends HoldSpec>(one: A | MACHoldSpec): one is A => 'ip' in one

/** What the API server answered, as the kind of lock that was asked for. */
export const parseHoldLike = (spec: AnyHoldSpec, object: KubeObject): AnyHold | Malformed =>
  isOfAddress(spec) ? parseHold(object) : parseMACHold(object)

function placeOf({ caches }: HoldWorld, spec: AnyHoldSpec): { readonly kind: Kind; readonly cache: HoldCache } {
  return isOfAddress(spec) ? { kind: holds, cache: caches.holds } : { kind: macHolds, cache: caches.macHolds }
}

const toObject = (spec: AnyHoldSpec, now: string) =>
  isOfAddress(spec) ? toHoldObject(spec, now) : toMACHoldObject(spec, now)
