// The writes of the protocol, one function each, named after the step of the model (docs/model) it is. No other code
// writes to holds, or to the parts of claims and reports that safety rests on. Every write carries the version it was
// decided on; a refusal is thrown, and means: look again from the beginning. What a write answers is put into the cache
// at once, so that the next pass of this process sees it.

import { type Hold, type HoldSpec, toHoldObject, toQuarantinePatch, toRetakePatch } from '../api/hold.ts'
import { type IPAddress, type Network, toIPAddressObject, toNetworkText, withOwners } from '../api/ip-address.ts'
import { type ClaimStatus, type IPAddressClaim, toClaimStatus } from '../api/ip-address-claim.ts'
import { choiceAnnotation, networkAnnotation, protectAddressFinalizer, releaseAddressFinalizer } from '../api/names.ts'
import type { Pool } from '../api/pool.ts'
import { isMalformed } from '../ip/malformed.ts'
import type { KubeObject } from '../kube/object.ts'
import { isRefusal } from '../kube/refusal.ts'
import type { CapiWorld } from './capi/world.ts'
import { timestamp } from './capi/world.ts'
import { claims, holds, reports } from './kinds.ts'
import { reportOf } from './parsed.ts'

/** On a hold: it locks its name until its quarantine is over, also when somebody deletes it by hand. */
export const holdFinalizer = 'mooring.dev/hold'
/** On a hold: whose it is, so that a consistent list can find all holds of one claim. */
export const claimUidLabel = 'mooring.dev/claim-uid'
const renewedAnnotation = 'mooring.dev/renewed'

type World = Pick<CapiWorld, 'client' | 'clock' | 'caches'>

/** T1: the lock on the address. Undefined when somebody was quicker; the cache then knows who. */
export async function takeHold(world: World, spec: HoldSpec): Promise<KubeObject | undefined> {
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
    if (!isRefusal(error, 'AlreadyExists')) throw error
    const found = await client.get(holds, { name: object.metadata.name })
    if (found !== undefined) caches.holds.learn(found)
    return undefined
  }
}

/** T2: a hold that was found, not made, is touched before a choice rests on it: whoever saw it as a stray is too late. */
export async function renewHold(world: World, hold: Hold): Promise<void> {
  const annotations = { [renewedAnnotation]: new Date(world.clock.now()).toISOString() }
  await patchHold(world, hold, { metadata: { annotations, finalizers: withFinalizer(hold) } })
}

/** T3: out of quarantine, by its former owner. */
export async function regainHold(world: World, hold: Hold, spec: HoldSpec): Promise<void> {
  const patch = toRetakePatch(spec, timestamp(world.clock))
  const metadata = { labels: { [claimUidLabel]: spec.claim.uid }, finalizers: withFinalizer(hold) }
  await patchHold(world, hold, { ...patch, metadata })
}

/** T4: the choice, with what its report says, and the finalizer, in one write under the version from before the hold. */
export async function storeChoice(
  world: World,
  claim: IPAddressClaim,
  address: string,
  network: Network,
): Promise<KubeObject> {
  const { finalizers } = claim.metadata
  const metadata = {
    annotations: { [choiceAnnotation]: address, [networkAnnotation]: toNetworkText(network) },
    finalizers: finalizers.includes(releaseAddressFinalizer) ? finalizers : [...finalizers, releaseAddressFinalizer],
  }
  return patchClaim(world, claim, { metadata })
}

/** T5: the report. Undefined when one of that name is there already; the cache then knows it. */
export async function createReport(
  world: World,
  claim: IPAddressClaim,
  pool: Pool,
  address: string,
): Promise<KubeObject | undefined> {
  const { client, caches } = world
  const { name, namespace } = claim.metadata
  try {
    const made = await client.create(reports, toIPAddressObject(claim, pool, address) as KubeObject)
    caches.reports.learn(made)
    return made
  } catch (error) {
    if (!isRefusal(error, 'AlreadyExists')) throw error
    const found = await client.get(reports, { name, namespace })
    if (found !== undefined) caches.reports.learn(found)
    return undefined
  }
}

/** T6: a report that was there before us gets its owners and our finalizer; its spec is what it was. */
export async function adoptReport(world: World, report: IPAddress, claim: IPAddressClaim, pool: Pool): Promise<void> {
  const { name, namespace, resourceVersion, uid, finalizers, ownerReferences } = report.metadata
  const labels = claim.clusterName === '' ? {} : { 'cluster.x-k8s.io/cluster-name': claim.clusterName }
  const metadata = {
    labels,
    finalizers: finalizers.includes(protectAddressFinalizer) ? finalizers : [...finalizers, protectAddressFinalizer],
    ownerReferences: withOwners(ownerReferences, claim, pool),
  }
  const answer = await world.client.mergePatch(reports, { name, namespace }, { metadata }, { resourceVersion, uid })
  world.caches.reports.learn(answer)
}

/** T7, and every other word about a claim: its status, under the version it was decided on. */
export async function sayStatus(world: World, claim: IPAddressClaim, status: ClaimStatus): Promise<void> {
  await patchClaim(world, claim, { status: toClaimStatus(status, claim.version) }, 'status')
}

/** T8: an address that came from another provider rests like any other when its claim goes. */
export async function parkHold(world: World, spec: HoldSpec, restSeconds: number): Promise<void> {
  const { client, clock, caches } = world
  const object = toHoldObject(spec, timestamp(clock))
  const { status } = toQuarantinePatch(timestamp(clock), timestamp(clock, restSeconds * 1000))
  try {
    caches.holds.learn(await client.create(holds, { ...object, status } as KubeObject))
  } catch (error) {
    if (!isRefusal(error, 'AlreadyExists')) throw error
  }
}

/**
 * T9: the delete, by uid and version, and then our finalizer off. The other way round there would be a moment in which nothing
 * tells it from one made by hand, should the garbage collector take its claim's name off just then.
 */
export async function removeReport({ client }: World, report: IPAddress): Promise<void> {
  const { name, namespace, uid, resourceVersion } = report.metadata
  if (
    !report.isDeleting &&
    (await client.delete(reports, { name, namespace }, { uid, resourceVersion })) !== 'deleting'
  )
    return
  const live = report.isDeleting ? report : reportIn(await client.get(reports, { name, namespace }))
  if (live === undefined || live.metadata.uid !== uid) return
  const finalizers = live.metadata.finalizers.filter(finalizer => finalizer !== protectAddressFinalizer)
  if (finalizers.length === live.metadata.finalizers.length) return
  const version = { uid, resourceVersion: live.metadata.resourceVersion }
  await client.mergePatch(reports, { name, namespace }, { metadata: { finalizers } }, version)
}

function reportIn(object: KubeObject | undefined): IPAddress | undefined {
  const report = object && reportOf(object)
  return report === undefined || isMalformed(report) ? undefined : report
}

/**
 * T13, in two passes: the delete first, then our finalizer off. What is being deleted already, the garbage collector leaves
 * alone; it would else take off the owner that tells us whose it was.
 */
export async function sweepAway(world: World, report: IPAddress): Promise<void> {
  if (report.isDeleting) return removeReport(world, report)
  const { name, namespace, uid, resourceVersion } = report.metadata
  await world.client.delete(reports, { name, namespace }, { uid, resourceVersion })
}

/** T10: released, and nobody else's yet. The finalizer comes off in the same write, unless the hold is being deleted. */
export async function quarantineHold(world: World, hold: Hold, restSeconds: number): Promise<KubeObject> {
  const { clock } = world
  const patch = toQuarantinePatch(timestamp(clock), timestamp(clock, restSeconds * 1000))
  if (hold.metadata.deletionTimestamp !== undefined) return patchHold(world, hold, patch)
  const finalizers = hold.metadata.finalizers.filter(finalizer => finalizer !== holdFinalizer)
  return patchHold(world, hold, { ...patch, metadata: { finalizers } })
}

/** T11: the claim may go. */
export async function unguardClaim(world: World, claim: IPAddressClaim): Promise<void> {
  const finalizers = claim.metadata.finalizers.filter(finalizer => finalizer !== releaseAddressFinalizer)
  await patchClaim(world, claim, { metadata: { finalizers } })
}

/** T12: its rest is over. One that somebody deleted meanwhile only waits for our finalizer. */
export async function expireHold(world: World, hold: Hold): Promise<void> {
  const { name, uid, resourceVersion, deletionTimestamp } = hold.metadata
  if (deletionTimestamp !== undefined) {
    const finalizers = hold.metadata.finalizers.filter(finalizer => finalizer !== holdFinalizer)
    await patchHold(world, hold, { metadata: { finalizers } })
    return
  }
  await world.client.delete(holds, { name }, { uid, resourceVersion })
}

/** T14: taken in this very pass, and only then seen to be somebody else's. It is never there without its guard. */
export async function giveBackHold(world: World, made: KubeObject): Promise<void> {
  const { name = '', uid = '', resourceVersion = '' } = made.metadata
  await world.client.delete(holds, { name }, { uid, resourceVersion })
  const left = await world.client.get(holds, { name })
  if (left !== undefined && left.metadata.uid === uid) {
    const version = { uid, resourceVersion: left.metadata.resourceVersion ?? '' }
    await world.client.mergePatch(holds, { name }, { metadata: { finalizers: [] } }, version)
  }
  // Else the next look would find it in the claim's name once more.
  const known = world.caches.holds.get(name)
  if (known?.metadata.uid === uid) world.caches.holds.unlearn(name, known)
}

function withFinalizer(hold: Hold): readonly string[] {
  const { finalizers } = hold.metadata
  return finalizers.includes(holdFinalizer) ? finalizers : [...finalizers, holdFinalizer]
}

async function patchHold({ client, caches }: World, hold: Hold, patch: object): Promise<KubeObject> {
  const { name, uid, resourceVersion } = hold.metadata
  const answer = await client.mergePatch(holds, { name }, patch, { resourceVersion, uid })
  caches.holds.learn(answer)
  return answer
}

async function patchClaim(
  { client, caches }: World,
  { metadata }: IPAddressClaim,
  patch: object,
  subresource?: 'status',
): Promise<KubeObject> {
  const { name, namespace, uid, resourceVersion } = metadata
  const options = { resourceVersion, uid, ...(subresource && { subresource }) }
  try {
    const answer = await client.mergePatch(claims, { name, namespace }, patch, options)
    caches.claims.learn(answer)
    return answer
  } catch (error) {
    if (!isRefusal(error, 'Conflict', 'NotFound')) throw error
    // The view is old, and may stay so for long. Whoever looks again on the same view takes the hold of a claim that is
    // gone again and again, and somebody else sees a stray again and again.
    const seen = caches.claims.get(`${namespace}/${name}`)
    const live = await client.get(claims, { name, namespace })
    if (live === undefined) caches.claims.unlearn(`${namespace}/${name}`, seen)
    else caches.claims.learn(live)
    throw error
  }
}
