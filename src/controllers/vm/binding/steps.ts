// What may be written to IPAMClaims by their binding, one function each, named after the step of the model (docs/model) it is.
// Every write carries the version it was decided on; when the API server refuses it, the error is thrown and the pass begins
// again. What a write answers is put into the cache at once.

import type { Condition } from '../../../api/condition.ts'
import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import type { LauncherPod } from '../../../api/launcher-pod.ts'
import {
  endedClaimsAnnotation,
  formerMACAnnotation,
  formerMACsAnnotation,
  gaveBackAnnotation,
  nodeFinalizer,
  persistentIPFinalizer,
} from '../../../api/names.ts'
import { withFinalizer, withoutFinalizer } from '../../../kube/finalizers.ts'
import { isOlder, type KubeObject } from '../../../kube/object.ts'
import { patchSeen } from '../../../kube/patch-seen.ts'
import type { AnyHold } from '../../office/hold/steps.ts'
import { ipamClaims, pods } from '../kinds.ts'
import type { VMWorld } from '../world.ts'

type World = Pick<VMWorld, 'client' | 'caches'>

/** Of claims that ended, or let go of a MAC, a pod remembers the last ones: an annotation must not grow without end. */
const marksMax = 16

export interface Status {
  readonly ips: readonly string[]
  /** Undefined to leave it as it is. */
  readonly ownerPod: string | undefined
  readonly conditions: readonly Condition[]
}

/** A claim that was made by hand is guarded before anything is held for it. */
export function guard(world: World, claim: IPAMClaim): Promise<KubeObject> {
  return patchClaim(world, claim, { metadata: { finalizers: withFinalizer(claim, persistentIPFinalizer) } })
}

/**
 * T4 and T7: the choice, and what is said about it, in one write under the version from before the first hold. Also why it
 * waits: then `ips` is what was there before.
 */
export async function storeStatus(world: World, claim: IPAMClaim, { ownerPod, ...said }: Status): Promise<void> {
  const status = { ...said, ...(ownerPod !== undefined && { ownerPod: { name: ownerPod } }) }
  await patchClaim(world, claim, { status }, 'status')
}

/**
 * T15: before the claim lets go of a part, because it lacks another, its version changes: a process that is about to store a
 * choice on the same holds is then refused. No two of these writes see the same version. The definition of the kind keeps no
 * field for it in the status, so it is an annotation.
 */
export async function markGivesBack(world: World, claim: IPAMClaim): Promise<KubeObject> {
  const annotations = { [gaveBackAnnotation]: claim.metadata.resourceVersion }
  return patchClaim(world, claim, { metadata: { annotations } })
}

/**
 * T15 of a MAC that the claim asks for no more, under the version that asks for another. From now on a hold up to this version is the
 * claim's again only after it is renewed: then the write that puts it to rest is refused.
 */
export async function markFormerMACs(
  world: World,
  claim: IPAMClaim,
  macHolds: readonly AnyHold[],
): Promise<KubeObject> {
  const versions = macHolds.map(({ metadata }) => metadata.resourceVersion)
  const last = versions.reduce((one, other) => (isOlder(one, other) ? other : one))
  return patchClaim(world, claim, { metadata: { annotations: { [formerMACAnnotation]: last } } })
}

/**
 * Once the claim is marked: a write that was decided before, to tell the pod one of those MACs, is refused from now on; none is decided
 * after. Not twice for one mark of the claim.
 */
export async function markPodFormerMACs(
  { client, caches }: World,
  pod: LauncherPod,
  { metadata: { uid }, formerMACs = '' }: IPAMClaim,
): Promise<void> {
  const mark = `${uid}=${formerMACs}`
  if (pod.formerMACs.includes(mark)) return
  const marks = [...pod.formerMACs.filter(other => !other.startsWith(`${uid}=`)), mark].slice(-marksMax)
  const patch = { metadata: { annotations: { [formerMACsAnnotation]: marks.join(',') } } }
  await patchSeen(client, pods, caches.pods, pod, patch, 'status')
}

/** The node that kept it is gone. */
export function freeOfNode(world: World, claim: IPAMClaim): Promise<KubeObject> {
  return patchClaim(world, claim, { metadata: { finalizers: withoutFinalizer(claim, nodeFinalizer) } })
}

/** A write that was decided before, to tell the pod of the claim's addresses, is refused from now on; none is decided after. */
export async function markEnded({ client, caches }: World, pod: LauncherPod, { metadata }: IPAMClaim): Promise<void> {
  const ended = [...pod.endedClaims, metadata.uid].slice(-marksMax).join(',')
  const patch = { metadata: { annotations: { [endedClaimsAnnotation]: ended } } }
  await patchSeen(client, pods, caches.pods, pod, patch, 'status')
}

/** T11: the claim may go. */
export async function unguard(world: World, claim: IPAMClaim): Promise<void> {
  const finalizers = withoutFinalizer(claim, persistentIPFinalizer)
  await patchClaim(world, claim, { metadata: { finalizers } })
  const { namespace, name, uid } = claim.metadata
  if (finalizers.length === 0) world.caches.claims.ended(`${namespace}/${name}`, uid)
}

const patchClaim = ({ client, caches }: World, claim: IPAMClaim, patch: object, subresource?: 'status') =>
  patchSeen(client, ipamClaims, caches.claims, claim, patch, subresource)
