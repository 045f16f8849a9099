// Which virtual machine an IPAMClaim is for, and which pods may use it. Uids decide: a pod or a machine that only bears a name is
// another one's, and a claim is never shared by two machines. The controller decides by it what a pod is told, and a node what an
// interface is given.

import type { IPAMClaim } from './ipam-claim.ts'
import type { LauncherPod } from './launcher-pod.ts'
import type { Owner } from './lock.ts'
import { kubevirtGroup } from './names.ts'
import type { OwnerReference } from './object.ts'
import type { VirtualMachineInstance } from './virtual-machine.ts'

/** The virtual machine, or a lone instance, that the claim is for; undefined for a claim that was made by hand. */
export function ownerOf({ metadata }: Pick<IPAMClaim, 'metadata'>): Owner | undefined {
  const [reference] = ownersOf(metadata.ownerReferences)
  if (reference === undefined) return undefined
  const { kind, name, uid } = reference
  return { apiGroup: kubevirtGroup, kind, namespace: metadata.namespace, name, uid }
}

/** Those of KubeVirt, the controller first. */
const ownersOf = (references: readonly OwnerReference[]): OwnerReference[] =>
  references
    .filter(({ apiVersion }) => apiVersion.startsWith(`${kubevirtGroup}/`))
    .sort((one, other) => Number(other.controller === true) - Number(one.controller === true))

export type MayUse = 'yes' | 'no' | 'not known yet'

/** What shares a claim with itself alone: the instance of a launcher pod, of which there are two during a live migration; else the pod. */
export const userOf = ({ instance, metadata }: Pick<LauncherPod, 'metadata' | 'instance'>): string =>
  instance ?? metadata.uid

/**
 * The pod's instance is the owner of the claim, or the owner of the claim owns the instance. `vmi`: of the pod's name, as it is
 * in view. A claim that was made for a pod is that pod's alone. A claim without an owner is for the user whose pod has it
 * (`user`, as `userOf` says it), and for any while no pod has; one that another object owns is for the pods of that object.
 */
export function mayUse(
  claim: Pick<IPAMClaim, 'metadata'>,
  pod: Pick<LauncherPod, 'metadata' | 'instance' | 'domain' | 'endedClaims'>,
  vmi: Pick<VirtualMachineInstance, 'metadata'> | undefined,
  user?: string,
): MayUse {
  if (pod.metadata.namespace !== claim.metadata.namespace) return 'no'
  if (pod.endedClaims.includes(claim.metadata.uid)) return 'no'
  const { ownerReferences } = claim.metadata
  const ofPods = ownerReferences.filter(isPod)
  if (ofPods.length > 0) return ofPods.some(({ uid }) => uid === pod.metadata.uid) ? 'yes' : 'no'
  const isFree = user === undefined || user === userOf(pod)
  const owners = ownersOf(ownerReferences)
  if (pod.instance === undefined) return owners.length === 0 && isFree && isOfOwner(ownerReferences, pod) ? 'yes' : 'no'
  if (owners.length === 0) return isFree ? 'yes' : 'no'
  if (owners.some(({ uid }) => uid === pod.instance)) return 'yes'
  if (vmi === undefined || vmi.metadata.uid !== pod.instance) return 'not known yet'
  return owners.some(({ uid }) => vmi.metadata.ownerReferences.some(owner => owner.uid === uid)) ? 'yes' : 'no'
}

const isPod = ({ apiVersion, kind }: OwnerReference): boolean => apiVersion === 'v1' && kind === 'Pod'

const isOfOwner = (owners: readonly OwnerReference[], { metadata }: Pick<LauncherPod, 'metadata'>): boolean =>
  owners.length === 0 || owners.some(({ uid }) => metadata.ownerReferences.some(owner => owner.uid === uid))
