// Which virtual machine an IPAMClaim is for, and which pods may use it. Uids decide: a pod or a machine that only bears a name is
// another one's, and a claim is never shared by two machines.

import type { IPAMClaim } from '../../api/ipam-claim.ts'
import type { LauncherPod } from '../../api/launcher-pod.ts'
import type { Owner } from '../../api/lock.ts'
import { kubevirtGroup } from '../../api/names.ts'
import type { OwnerReference } from '../../api/object.ts'
import type { VirtualMachineInstance } from '../../api/virtual-machine.ts'
import type { KubeObject } from '../../kube/object.ts'
import { readable } from '../office/kept.ts'
import { podOf, vmiOf } from './parsed.ts'
import { type Caches, vmKeysOfClaim } from './world.ts'

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

/**
 * The pod's instance is the owner of the claim, or the owner of the claim owns the instance. `vmi`: of the pod's name, as it is
 * in view. A claim without an owner is for the machine whose pod has it (`user`), and for any while no pod has.
 */
export function mayUse(
  claim: Pick<IPAMClaim, 'metadata'>,
  pod: Pick<LauncherPod, 'metadata' | 'instance' | 'domain'>,
  vmi: Pick<VirtualMachineInstance, 'metadata'> | undefined,
  user?: Pick<LauncherPod, 'instance'>,
): MayUse {
  if (pod.metadata.namespace !== claim.metadata.namespace || pod.instance === undefined) return 'no'
  const owners = ownersOf(claim.metadata.ownerReferences)
  if (owners.length === 0) return user === undefined || user.instance === pod.instance ? 'yes' : 'no'
  if (owners.some(({ uid }) => uid === pod.instance)) return 'yes'
  if (vmi === undefined || vmi.metadata.uid !== pod.instance) return 'not known yet'
  return owners.some(({ uid }) => vmi.metadata.ownerReferences.some(owner => owner.uid === uid)) ? 'yes' : 'no'
}

type Seen = Pick<Caches, 'claims' | 'pods' | 'vmis'>

export interface UsedBy {
  /** Launcher pods that may use the claim, completed ones too. */
  readonly pods: readonly LauncherPod[]
  readonly vmi: VirtualMachineInstance | undefined
}

/** The pods and the instance of the claim's machine, by the caches. */
export function usedBy(claim: IPAMClaim & KubeObject, caches: Seen): UsedBy {
  const pods: LauncherPod[] = []
  let instance: VirtualMachineInstance | undefined
  for (const key of vmKeysOfClaim(claim)) {
    const vmi = readable(caches.vmis.get(key), vmiOf)
    for (const object of caches.pods.byIndex('vm', key)) {
      const pod = readable(object, podOf)
      if (pod === undefined || mayUse(claim, pod, vmi) !== 'yes') continue
      pods.push(pod)
      if (vmi?.metadata.uid === pod.instance) instance = vmi
    }
  }
  return { pods, vmi: instance }
}
