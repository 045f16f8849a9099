// Every write of `vm.claims`, one function each. What exists is written under the uid and version it was decided on; what a
// write answers is put into the cache at once. A refusal is thrown, and the key is requeued.

import { type IPAMClaim, ipamClaimKind } from '../../../api/ipam-claim.ts'
import {
  attachmentAnnotation,
  interfacesAnnotation,
  madeBeforehandAnnotation,
  persistentIPFinalizer,
  requestedIPsAnnotation,
  requestedMACAnnotation,
  vmLabel,
  vmNameAnnotation,
  watchFilterLabel,
} from '../../../api/names.ts'
import { apiVersionOf, type OwnerReference } from '../../../api/object.ts'
import { type AddressRequest, toRequestedText } from '../../../api/requests.ts'
import { ownText } from '../../../api/shape.ts'
import { type VirtualMachine, virtualMachineInstanceKind, virtualMachineKind } from '../../../api/virtual-machine.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { isApiError } from '../../../kube/api-error.ts'
import { withFinalizer } from '../../../kube/finalizers.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { patchSeen } from '../../../kube/patch-seen.ts'
import { refresh } from '../../../kube/refresh.ts'
import { ipamClaims, virtualMachines } from '../kinds.ts'
import type { VMWorld } from '../world.ts'
import { vmLabelValue } from './names.ts'
import type { Adoption, NewClaim, Owner } from './plan.ts'
import type { NewRequest } from './requests.ts'

type World = Pick<VMWorld, 'client' | 'caches'>

/** False where a claim of that name is there already: it is in the cache now, and the next look judges it. */
export async function makeClaim({ client, caches }: World, owner: Owner, claim: NewClaim): Promise<boolean> {
  const { namespace } = owner.metadata
  try {
    caches.claims.learn(await client.create(ipamClaims, toClaimObject(owner, claim)))
    return true
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists')) throw error
    await refresh(client, ipamClaims, caches.claims, { namespace, name: claim.name })
    return false
  }
}

function toClaimObject(owner: Owner, claim: NewClaim): KubeObject {
  const { name, network, interface: podInterface, attachment, request } = claim
  const object = {
    apiVersion: apiVersionOf(ipamClaimKind),
    kind: ipamClaimKind.kind,
    metadata: {
      name,
      namespace: owner.metadata.namespace,
      labels: labelsFor(owner),
      annotations: { [attachmentAnnotation]: attachment, ...nameFor(owner), ...requestOf(request) },
      finalizers: [persistentIPFinalizer],
      ownerReferences: [referenceTo(owner)],
    },
    spec: { network, interface: podInterface },
  }
  return object
}

/** Annotations, for the definition of the working group keeps no fields for it. */
function requestOf({ mac, ips }: AddressRequest): Readonly<Record<string, string>> {
  return {
    ...(mac !== undefined && { [requestedMACAnnotation]: mac }),
    ...(ips.length > 0 && { [requestedIPsAnnotation]: ips.map(toRequestedText).join(',') }),
  }
}

/** What the claim asks for from now on. What it came with stays. */
export async function askFor(world: World, { claim, request }: NewRequest): Promise<void> {
  const next = requestOf(request)
  const annotations = {
    ...(!claim.ownRequest.mac && { [requestedMACAnnotation]: next[requestedMACAnnotation] ?? null }),
    ...(!claim.ownRequest.ips && { [requestedIPsAnnotation]: next[requestedIPsAnnotation] ?? null }),
  }
  await patchSeen(world.client, ipamClaims, world.caches.claims, claim, { metadata: { annotations } })
}

/** The same process serves both. */
function labelsFor({ metadata: { name, labels } }: Owner): Readonly<Record<string, string>> {
  const filter = ownText(labels, watchFilterLabel)
  return { [vmLabel]: vmLabelValue(name), ...(filter !== undefined && { [watchFilterLabel]: filter }) }
}

/** Only where the label does not say it. */
const nameFor = ({ metadata: { name } }: Owner) => (vmLabelValue(name) === name ? {} : { [vmNameAnnotation]: name })

function referenceTo(owner: Owner): OwnerReference {
  const kind = 'activePods' in owner ? virtualMachineInstanceKind : virtualMachineKind
  const { name, uid } = owner.metadata
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, name, uid, controller: true, blockOwnerDeletion: true }
}

/** Its owner becomes the one it has now; what belongs to KubeVirt and was its owner before is none any more. */
export async function adoptClaim(world: World, owner: Owner, adoption: Adoption): Promise<void> {
  const { claim, attachment, isMadeBeforehand } = adoption
  const others = claim.metadata.ownerReferences.filter(({ apiVersion }) => !apiVersion.startsWith('kubevirt.io/'))
  const annotations = {
    ...nameFor(owner),
    ...(claim.attachment === undefined && attachment !== undefined && { [attachmentAnnotation]: attachment }),
    ...(isMadeBeforehand && { [madeBeforehandAnnotation]: fieldsOf(claim) }),
  }
  await patchSeen(world.client, ipamClaims, world.caches.claims, claim, {
    metadata: {
      labels: labelsFor(owner),
      annotations,
      finalizers: withFinalizer(claim, persistentIPFinalizer),
      ownerReferences: [...others, referenceTo(owner)],
    },
  })
}

/** One that cannot be read is its own as a whole. */
function fieldsOf({ request }: IPAMClaim): string {
  if (isMalformed(request)) return 'ips,mac'
  return [request.ips.length > 0 ? ['ips'] : [], request.mac !== undefined ? ['mac'] : []].flat().join(',')
}

/** Its finalizer keeps it until its addresses have been given back. */
export async function removeClaim({ client, caches }: World, { metadata }: IPAMClaim): Promise<void> {
  const { name, namespace, uid, resourceVersion } = metadata
  const left = await client.delete(ipamClaims, { name, namespace }, { uid, resourceVersion })
  if (left !== 'deleting') caches.claims.ended(`${namespace}/${name}`, uid)
}

/** The annotation of the virtual machine: its status belongs to KubeVirt, which drops what it does not know. */
export async function show({ client, caches }: World, vm: VirtualMachine, text: string | undefined): Promise<void> {
  const patch = { metadata: { annotations: { [interfacesAnnotation]: text ?? null } } }
  await patchSeen(client, virtualMachines, caches.vms, vm, patch)
}
