// Whether pods run with what a claim is about to let go of, asked of the API server, never of a cache: a MAC that a guest still
// uses would be given to another.

import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import type { LauncherPod } from '../../../api/launcher-pod.ts'
import { type AnyHold, isOfAddress } from '../../office/hold/steps.ts'
import { vmNameOf } from '../claims/belonging.ts'
import { claimNamesOf, isMACShownBy, isShownBy, isYetToBeTold } from '../pods/annotation.ts'
import type { VMWorld } from '../world.ts'

type World = Pick<VMWorld, 'launchersOf'>

export interface Asked {
  /** Of the holds, those that no pod of the claim's machine runs with, and no pod that names the claim. */
  readonly unused: readonly AnyHold[]
  /** Pods that name the claim and were not told of it: a write that tells one may be on its way. */
  readonly toTell: readonly LauncherPod[]
}

const nothing: Asked = { unused: [], toTell: [] }

export async function askUnused(
  claim: Pick<IPAMClaim, 'metadata' | 'vm'>,
  holds: readonly AnyHold[],
  { launchersOf }: World,
): Promise<Asked> {
  if (holds.length === 0) return nothing
  const launchers = await launchersOf(claim.metadata.namespace)
  if (launchers === undefined) return nothing
  const { name } = claim.metadata
  const vm = vmNameOf(claim)
  const running = [...launchers.values()].flat().filter(pod => !pod.isCompleted)
  const pods = running.filter(pod => vm === undefined || pod.domain === vm || claimNamesOf(pod).includes(name))
  return {
    unused: holds.filter(hold => !isUsedBy(pods, hold)),
    toTell: pods.filter(pod => isYetToBeTold(pod, name)),
  }
}

/** One of the pods, that can still run, is configured with it. */
export const isUsedBy = (pods: readonly LauncherPod[], hold: AnyHold): boolean =>
  isOfAddress(hold) ? isShownBy(pods, hold.ip) : isMACShownBy(pods, hold.mac)
