// Every write of `machine.claims`, one function each. What exists is written under the uid and version it was decided on; what a
// write answers is put into the cache at once. A refusal is thrown, and the key is requeued.

import type { ConditionFact } from '../../../api/condition.ts'
import { type IPAddress, ownerReferenceToClaim } from '../../../api/ip-address.ts'
import type { IPAddressClaim } from '../../../api/ip-address-claim.ts'
import { type Machine, ownerReferenceTo } from '../../../api/machine.ts'
import {
  claimedAddressesAnnotation,
  claimProtectionFinalizer,
  claimProtectionFinalizers,
  requestedAddressAnnotation,
  watchFilterLabel,
} from '../../../api/names.ts'
import { isRecord, ownText } from '../../../api/shape.ts'
import { isApiError } from '../../../kube/api-error.ts'
import { withFinalizer } from '../../../kube/finalizers.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { patchSeen } from '../../../kube/patch-seen.ts'
import { refresh } from '../../../kube/refresh.ts'
import { timestamp } from '../../../kube/timestamp.ts'
import { claims, machines, reports } from '../kinds.ts'
import type { MachineWorld } from '../world.ts'
import { withCondition } from './condition.ts'
import type { NewClaim } from './plan.ts'

type World = Pick<MachineWorld, 'client' | 'caches' | 'clock' | 'mode'>

/** What became of it. A claim of that name that is there already is in the cache now, and the next look judges it. */
export async function makeClaim(
  { client, caches }: World,
  machine: Machine,
  claim: NewClaim,
): Promise<'made' | 'taken' | { readonly refused: string }> {
  const { namespace } = machine.metadata
  try {
    caches.claims.learn(await client.create(claims, toClaimObject(machine, claim)))
    return 'made'
  } catch (error) {
    if (isApiError(error, 'AlreadyExists')) {
      await refresh(client, claims, caches.claims, { namespace, name: claim.name })
      return 'taken'
    }
    if (isApiError(error, 'Invalid', 'Forbidden', 'NotInstalled')) return { refused: error.message }
    throw error
  }
}

function toClaimObject(machine: Machine, { name, poolRef, address }: NewClaim): KubeObject {
  const { namespace, labels } = machine.metadata
  const filter = ownText(labels, watchFilterLabel)
  const object = {
    metadata: {
      name,
      namespace,
      // The same process serves both.
      ...(filter !== undefined && { labels: { [watchFilterLabel]: filter } }),
      ...(address !== undefined && { annotations: { [requestedAddressAnnotation]: address.split('/', 1)[0] ?? '' } }),
      finalizers: [claimProtectionFinalizer],
      ownerReferences: [ownerReferenceTo(machine)],
    },
    spec: { poolRef },
  }
  return object
}

/** It has no other owner: the plan asked. */
export async function adoptClaim({ client, caches }: World, machine: Machine, claim: IPAddressClaim): Promise<void> {
  const { finalizers } = claim.metadata
  const isProtected = claimProtectionFinalizers.some(one => finalizers.includes(one))
  const metadata = {
    finalizers: isProtected ? finalizers : withFinalizer(claim, claimProtectionFinalizer),
    ownerReferences: [ownerReferenceTo(machine)],
  }
  await patchSeen(client, claims, caches.claims, claim, { metadata })
}

/** Under the version that was seen: the desk of the claim may do the same, and more, at the same time. */
export async function ownReport({ client, caches }: World, claim: IPAddressClaim, report: IPAddress): Promise<void> {
  await patchSeen(client, reports, caches.reports, report, {
    metadata: { ownerReferences: [ownerReferenceToClaim(claim)] },
  })
}

/** The claim may go: its virtual machine is gone. Both spellings come off, others' finalizers stay. False if there was none. */
export async function unprotect({ client, caches }: World, claim: IPAddressClaim): Promise<boolean> {
  const finalizers = claim.metadata.finalizers.filter(one => !claimProtectionFinalizers.includes(one))
  if (finalizers.length === claim.metadata.finalizers.length) return false
  try {
    await patchSeen(client, claims, caches.claims, claim, { metadata: { finalizers } })
    return true
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
    return false
  }
}

/** Before the condition says that all is bound: what orders the virtual machine goes by it. */
export async function remember(
  { client, caches }: World,
  machine: Machine,
  text: string,
): Promise<Machine['metadata']> {
  const metadata = { annotations: { [claimedAddressesAnnotation]: text === '' ? null : text } }
  const answer = await patchSeen(client, machines, caches.machines, machine, { metadata })
  return { ...machine.metadata, resourceVersion: answer.metadata.resourceVersion ?? '' }
}

/**
 * True where it was not said before. The condition is in the status of the Machine, where people look; and, where Mooring is the
 * controller of the Machine, also in the provider status, where the machine API keeps it. That is one writer's: of two, each would undo
 * what the other wrote.
 */
export async function say(
  { client, caches, clock, mode }: World,
  object: KubeObject,
  metadata: Machine['metadata'],
  fact: ConditionFact,
): Promise<boolean> {
  const status = fieldOf(object, 'status')
  const provider = fieldOf(status, 'providerStatus')
  const now = timestamp(clock)
  const conditions = withCondition(fieldsOf(status, 'conditions'), fact, now, true)
  const inProvider = mode === 'full' ? withCondition(fieldsOf(provider, 'conditions'), fact, now, false) : undefined
  if (conditions === undefined && inProvider === undefined) return false
  const patch = {
    ...(conditions && { conditions }),
    ...(inProvider && { providerStatus: { ...(isRecord(provider) ? {} : newStatus), conditions: inProvider } }),
  }
  await patchSeen(client, machines, caches.machines, { metadata }, { status: patch }, 'status')
  return true
}

const newStatus = { apiVersion: 'machine.openshift.io/v1beta1', kind: 'VSphereMachineProviderStatus' }

const fieldOf = (object: unknown, key: string): unknown => (isRecord(object) ? object[key] : undefined)

function fieldsOf(object: unknown, key: string): readonly unknown[] {
  const value = fieldOf(object, key)
  return Array.isArray(value) ? value : []
}
