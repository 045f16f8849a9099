// nodeclaim.release - the claim that this node made for a pod, and its address with it, goes when no sandbox of the pod is left here
// and the pod is gone or ends; what is kept on the disk about a pod goes with the pod.
//
// Reads:   the claim, the pod, what is kept on the disk. That a pod is gone is asked of the API server.
// Writes:  deletes the claim, and takes the finalizer of the node off it. The controller then lets go of the address.
// Safe:    what is kept on the disk goes first, in one step with the decision: an ADD that comes later finds nothing prepared,
//          and one that came before shows a sandbox. Each write carries the uid it was decided on, and may be made twice.

import type { IPAMClaim } from '../api/ipam-claim.ts'
import { nodeFinalizer } from '../api/names.ts'
import { readable } from '../controllers/office/kept.ts'
import { isApiError } from '../kube/api-error.ts'
import { removeFinalizer } from '../kube/finalizers.ts'
import { done, type PassResult, requeueAfter } from '../runtime/reconciler.ts'
import { ipamClaims, pods } from './kinds.ts'
import { podOfOwnClaim } from './own-claim.ts'
import { claimOf, type NodeWorld, type Pod, podOf } from './world.ts'

/** For a pod that the API server has and the cache has not: that it goes may be no event. */
const podGonePollMs = 10_000

/** `key`: of the claim, as namespace/name. */
export async function releaseClaim(key: string, world: NodeWorld): Promise<PassResult> {
  const { caches, client, state, node } = world
  const object = caches.claims.get(key)
  const claim = readable<IPAMClaim>(object, claimOf)
  const owner = claim && podOfOwnClaim(claim)
  if (object === undefined || claim === undefined || owner === undefined || claim.node !== node) return done()
  const { namespace, name, uid, resourceVersion } = claim.metadata
  const { pod, isFollowed } = await lastSeen(namespace, owner.name, owner.uid, world)
  const record = state.ofPod(owner.uid, claim.interface)
  if ((record?.containerID ?? '') !== '') return done()
  // A pod that ends may be about to get its first sandbox, as long as it had none.
  const isEnding = pod?.isDeleting === true && record?.wasAttached === true
  if (pod !== undefined && !pod.isCompleted && !isEnding) return isFollowed ? done() : requeueAfter(podGonePollMs)
  if (record !== undefined) state.remove(record)
  const ref = { namespace, name }
  try {
    if (!claim.isDeleting) await client.delete(ipamClaims, ref, { uid, resourceVersion })
    const now = await client.get(ipamClaims, ref)
    if (now?.metadata.uid === uid) await removeFinalizer(client, ipamClaims, now, nodeFinalizer)
    if (now === undefined || now.metadata.uid !== uid) caches.claims.ended(key, uid)
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
  }
  world.log.info('the claim of a pod was let go', { claim: key, pod: `${namespace}/${owner.name}` })
  return done()
}

/** Of this uid, as the API server has it where the cache has none: gone is what the API server answers. */
async function lastSeen(
  namespace: string,
  name: string,
  uid: string,
  { caches, client }: NodeWorld,
): Promise<{ readonly pod: Pod | undefined; readonly isFollowed: boolean }> {
  const seen = readable<Pod>(caches.pods.get(`${namespace}/${name}`), podOf)
  if (seen?.metadata.uid === uid) return { pod: seen, isFollowed: true }
  const asked = readable<Pod>(await client.get(pods, { namespace, name }), podOf)
  return { pod: asked?.metadata.uid === uid ? asked : undefined, isFollowed: false }
}

/** What no claim of this node stands for (claims of virtual machines, addresses of nodes): it goes when the pod has gone. */
export async function forgetPod(podUID: string, world: NodeWorld): Promise<PassResult> {
  const { state, caches } = world
  const records = [...state.values()].filter(one => one.podUID === podUID && one.containerID === '')
  const [first] = records
  if (first === undefined || caches.claims.byIndex('pod', podUID).length > 0) return done()
  const { pod, isFollowed } = await lastSeen(first.namespace, first.pod, podUID, world)
  if (pod !== undefined && !pod.isCompleted) return isFollowed ? done() : requeueAfter(podGonePollMs)
  for (const record of records) {
    if (state.ofPod(podUID, record.ifname)?.containerID === '') state.remove(record)
  }
  return done()
}
