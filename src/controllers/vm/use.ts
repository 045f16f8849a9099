// The pods and the instance of a claim's machine, as the caches show them. Which pods may use a claim is decided in
// `src/api/claim-use.ts`.

import { mayUse } from '../../api/claim-use.ts'
import type { IPAMClaim } from '../../api/ipam-claim.ts'
import type { LauncherPod } from '../../api/launcher-pod.ts'
import type { VirtualMachineInstance } from '../../api/virtual-machine.ts'
import type { KubeObject } from '../../kube/object.ts'
import { readable } from '../office/kept.ts'
import { podOf, vmiOf } from './parsed.ts'
import { type Caches, vmKeysOfClaim } from './world.ts'

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
