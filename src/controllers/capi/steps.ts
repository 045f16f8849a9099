// What may be written to claims of Cluster API and to their reports, as far as safety rests on it: one function each, named
// after the step of the model (docs/model) it is. The steps of holds are in `../hold/steps.ts`, and the same is true of both:
// every write carries the version it was decided on; a refusal is thrown, and the key is requeued; what a write
// answers is put into the cache at once.

import {
  type IPAddress,
  type Reported,
  type Subnet,
  toIPAddressObject,
  toSubnetText,
  withOwners,
} from '../../api/ip-address.ts'
import { type ClaimStatus, type IPAddressClaim, toClaimStatus } from '../../api/ip-address-claim.ts'
import {
  choiceAnnotation,
  protectAddressFinalizer,
  releaseAddressFinalizer,
  subnetAnnotation,
} from '../../api/names.ts'
import type { Pool } from '../../api/pool.ts'
import { isApiError } from '../../kube/api-error.ts'
import { withFinalizer, withoutFinalizer } from '../../kube/finalizers.ts'
import type { KubeObject } from '../../kube/object.ts'
import { patchSeen } from '../../kube/patch-seen.ts'
import { readable } from '../office/kept.ts'
import { claims, reports } from './kinds.ts'
import { reportOf } from './parsed.ts'
import type { CapiWorld } from './world.ts'

type World = Pick<CapiWorld, 'client' | 'caches'>

/** T4: the choice, with what its report says, and the finalizer, in one write under the version from before the hold. */
export async function storeChoice(
  world: World,
  claim: IPAddressClaim,
  address: string,
  subnet: Subnet,
): Promise<KubeObject> {
  const metadata = {
    annotations: { [choiceAnnotation]: address, [subnetAnnotation]: toSubnetText(subnet) },
    finalizers: withFinalizer(claim, releaseAddressFinalizer),
  }
  return patchClaim(world, claim, { metadata })
}

/** T5: the report. Undefined when one of that name is there already: the caller reads which claim it names. */
export async function createReport(
  world: World,
  claim: IPAddressClaim,
  pool: Pool,
  reported: Reported,
): Promise<KubeObject | undefined> {
  const { client, caches } = world
  try {
    const made = await client.create(reports, toIPAddressObject(claim, pool, reported) as KubeObject)
    caches.reports.learn(made)
    return made
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists')) throw error
    return undefined
  }
}

/** T6: a report that was there before us gets its owners and our finalizer; its spec is what it was. */
export async function adoptReport(world: World, report: IPAddress, claim: IPAddressClaim, pool: Pool): Promise<void> {
  const { name, namespace, resourceVersion, uid, ownerReferences } = report.metadata
  const labels = claim.clusterName === '' ? {} : { 'cluster.x-k8s.io/cluster-name': claim.clusterName }
  const metadata = {
    labels,
    finalizers: withFinalizer(report, protectAddressFinalizer),
    ownerReferences: withOwners(ownerReferences, claim, pool),
  }
  const answer = await world.client.mergePatch(reports, { name, namespace }, { metadata }, { resourceVersion, uid })
  world.caches.reports.learn(answer)
}

/** T7, and every other status of a claim, under the version it was decided on. */
export async function writeStatus(world: World, claim: IPAddressClaim, status: ClaimStatus): Promise<void> {
  await patchClaim(world, claim, { status: toClaimStatus(status, claim.version) }, 'status')
}

/**
 * T9: the delete, by uid and version, and then our finalizer off. The other way round there would be a moment in which nothing
 * tells it from one made by hand, should the garbage collector take its claim's name off just then.
 */
export async function removeReport({ client, caches }: World, report: IPAddress): Promise<void> {
  const { name, namespace, uid, resourceVersion } = report.metadata
  if (
    !report.isDeleting &&
    (await client.delete(reports, { name, namespace }, { uid, resourceVersion })) !== 'deleting'
  ) {
    return caches.reports.ended(`${namespace}/${name}`, uid)
  }
  const object = report.isDeleting ? undefined : await client.get(reports, { name, namespace })
  if (object !== undefined) caches.reports.learn(object)
  const live = report.isDeleting ? report : readable(object, reportOf)
  if (live === undefined || live.metadata.uid !== uid) return
  const finalizers = withoutFinalizer(live, protectAddressFinalizer)
  if (finalizers.length === live.metadata.finalizers.length) return
  const version = { uid, resourceVersion: live.metadata.resourceVersion }
  await client.mergePatch(reports, { name, namespace }, { metadata: { finalizers } }, version)
  if (finalizers.length === 0) caches.reports.ended(`${namespace}/${name}`, uid)
}

/**
 * T13, in two passes: the delete first, then our finalizer off. What is being deleted already, the garbage collector leaves
 * alone; it would else take off the owner reference, and with it the only trace of its claim.
 */
export async function sweepAway(world: World, report: IPAddress): Promise<void> {
  if (report.isDeleting) return removeReport(world, report)
  const { name, namespace, uid, resourceVersion } = report.metadata
  await world.client.delete(reports, { name, namespace }, { uid, resourceVersion })
}

/** T11: the claim may go. */
export async function unguardClaim(world: World, claim: IPAddressClaim): Promise<void> {
  const finalizers = withoutFinalizer(claim, releaseAddressFinalizer)
  await patchClaim(world, claim, { metadata: { finalizers } })
  const { namespace, name, uid } = claim.metadata
  if (finalizers.length === 0) world.caches.claims.ended(`${namespace}/${name}`, uid)
}

const patchClaim = ({ client, caches }: World, claim: IPAddressClaim, patch: object, subresource?: 'status') =>
  patchSeen(client, claims, caches.claims, claim, patch, subresource)
