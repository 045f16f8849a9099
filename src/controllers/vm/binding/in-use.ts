// Whether pods run with what a claim is about to let go of, asked of the API server, never of a cache: a MAC that a guest still
// uses would be given to another.

import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import type { LauncherPod } from '../../../api/launcher-pod.ts'
import { type AnyHold, isOfAddress } from '../../office/hold/steps.ts'
import { vmNameOf } from '../claims/belonging.ts'
import { isMACShownBy, isShownBy } from '../pods/annotation.ts'
import type { VMWorld } from '../world.ts'

type World = Pick<VMWorld, 'launchersOf'>

/** Of these holds, those that no pod of the claim's machine runs with. */
export async function askUnused(
  claim: Pick<IPAMClaim, 'metadata' | 'vm'>,
  holds: readonly AnyHold[],
  { launchersOf }: World,
): Promise<readonly AnyHold[]> {
  if (holds.length === 0) return []
  const launchers = await launchersOf(claim.metadata.namespace)
  if (launchers === undefined) return []
  const vm = vmNameOf(claim)
  const pods = vm === undefined ? [...launchers.values()].flat() : (launchers.get(vm) ?? [])
  return holds.filter(hold => !isUsedBy(pods, hold))
}

/** One of the pods, that can still run, is configured with it. */
export const isUsedBy = (pods: readonly LauncherPod[], hold: AnyHold): boolean =>
  isOfAddress(hold) ? isShownBy(pods, hold.ip) : isMACShownBy(pods, hold.mac)
