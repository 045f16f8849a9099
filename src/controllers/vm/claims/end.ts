// Whether a claim that is being deleted may go: its virtual machine is gone, or does not have that interface any more, and no pod
// that can still run may use its addresses.
//
//   VM                   VMI                          may go
//   stays                gone: stopped                no
//   stays, or goes       there                        no
//   goes                 gone                         yes
//   gone                 gone                         yes
//   gone                 stays                        no
//   gone                 goes, with pods by status    no
//   gone                 goes, with none              yes
//
// In each row: only without a launcher pod of it that can still run. A virtual machine of the same name and another uid is not
// the claim's, nor are its pods: it waits for this claim to go. A pod that was given an address of the claim counts, whichever
// instance it is of by now: owner references can be taken away from an instance that runs.

import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import type { LauncherPod } from '../../../api/launcher-pod.ts'
import type { VirtualMachine, VirtualMachineInstance } from '../../../api/virtual-machine.ts'
import type { NetworksView } from '../../office/networks.ts'
import { isFor, isLeftFor, isOwnedBy, mayUse, shows, wantedBy } from './belonging.ts'

/** As asked at the API server (`ask.ts`), by the name that `vmNameOf` answers for the claim. */
export interface EndSeen {
  readonly claim: IPAMClaim
  readonly vm: VirtualMachine | undefined
  readonly vmi: VirtualMachineInstance | undefined
  /** Launcher pods of that name, whichever instance controls them. */
  readonly pods: readonly LauncherPod[]
  readonly networks: Pick<NetworksView, 'attachment' | 'primaryOf'>
}

export function mayEnd(seen: EndSeen): boolean {
  const { claim, pods, networks } = seen
  const vm = seen.vm !== undefined && isIts(claim, seen.vm) ? seen.vm : undefined
  const vmi = seen.vmi !== undefined && isInstanceOf(claim, seen.vmi) ? seen.vmi : undefined
  const others = podsOfAnother(seen)
  const running = pods.filter(pod => !pod.isCompleted && !others.includes(pod))
  const wants = (machine: VirtualMachine | VirtualMachineInstance | undefined): boolean =>
    machine !== undefined &&
    wantedBy(machine, claim.metadata.namespace, networks).some(one => isFor(claim, machine.metadata.name, one))
  const [isVMs, isVMIs] = [wants(vm), wants(vmi)]
  const isDropped = (vm !== undefined || vmi !== undefined) && !isVMs && !isVMIs
  if (isDropped) return !running.some(pod => mayUse(pod, claim))
  if (running.length > 0) return false
  if (isVMIs && vmi !== undefined) return vm === undefined && vmi.isDeleting && vmi.activePods.length === 0
  return vm === undefined || vm.isDeleting
}

type PodsSeen = Pick<EndSeen, 'claim' | 'vmi' | 'pods'>

/** Pods that can run of an instance of the same name that is not the claim's, or not any more, and that show nothing of the claim. */
function podsOfAnother({ claim, vmi, pods }: PodsSeen): readonly LauncherPod[] {
  if (vmi === undefined || isInstanceOf(claim, vmi)) return []
  return pods.filter(pod => !pod.isCompleted && pod.instance === vmi.metadata.uid && !shows(pod, claim))
}

/**
 * Those of them that name the claim. A write that tells such a pod the claim's addresses may be on its way: it was decided on while the
 * instance of the pod owned the claim. The mark gives the pod a new version, so that write is refused, and the claim may end.
 */
export const podsToMark = (seen: PodsSeen): readonly LauncherPod[] =>
  podsOfAnother(seen).filter(pod => mayUse(pod, seen.claim) && !pod.endedClaims.includes(seen.claim.metadata.uid))

const isIts = (claim: IPAMClaim, machine: VirtualMachine | VirtualMachineInstance): boolean =>
  isOwnedBy(claim, machine) || isLeftFor(claim, machine.metadata.name)

/** The instance that owns the claim, or one that the claim's owner owns. */
function isInstanceOf(claim: IPAMClaim, vmi: VirtualMachineInstance): boolean {
  const owners = new Set(claim.metadata.ownerReferences.map(({ uid }) => uid))
  return isIts(claim, vmi) || vmi.metadata.ownerReferences.some(({ uid }) => owners.has(uid))
}
