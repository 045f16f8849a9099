// Objects of the desk's caches in the shapes that decisions are made on. The caches keep nothing else.

import { type IPAMClaim, parseIPAMClaim } from '../../api/ipam-claim.ts'
import { type LauncherPod, parseLauncherPod } from '../../api/launcher-pod.ts'
import {
  parseVirtualMachine,
  parseVirtualMachineInstance,
  type VirtualMachine,
  type VirtualMachineInstance,
} from '../../api/virtual-machine.ts'
import { reader } from '../office/kept.ts'

export const { of: claimOf, keep: keepClaim } = reader<IPAMClaim>(parseIPAMClaim)
export const { of: vmOf, keep: keepVM } = reader<VirtualMachine>(parseVirtualMachine)
export const { of: vmiOf, keep: keepVMI } = reader<VirtualMachineInstance>(parseVirtualMachineInstance)
export const { of: podOf, keep: keepPod } = reader<LauncherPod>(parseLauncherPod)
