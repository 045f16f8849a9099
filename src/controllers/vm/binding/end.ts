// Whether a claim that is being deleted may end, asked of the API server, never of a cache: an address that a guest still answers
// on would be given to another.

import { userOf } from '../../../api/claim-use.ts'
import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import type { LauncherPod } from '../../../api/launcher-pod.ts'
import { toCIDRText } from '../../../ip/cidr.ts'
import { askAllHoldsOf } from '../../office/hold/of-claim.ts'
import { isOfAddress } from '../../office/hold/steps.ts'
import { readable } from '../../office/kept.ts'
import { type Asked, askMachine } from '../claims/ask.ts'
import { mayUse, shows, vmNameOf } from '../claims/belonging.ts'
import { mayEnd, podsToMark } from '../claims/end.ts'
import { pods as podKind } from '../kinds.ts'
import { podOf, vmiOf, vmOf } from '../parsed.ts'
import { claimNamesOf } from '../pods/annotation.ts'
import type { VMWorld } from '../world.ts'

type World = Pick<VMWorld, 'client' | 'caches' | 'networks' | 'launchersOf'>

export interface End {
  /** Pods that are to be marked before: they are given nothing of the claim from then on. */
  readonly toMark: readonly LauncherPod[]
}

/** Undefined while it may not end. */
export async function askEnd(claim: IPAMClaim, world: World): Promise<End | undefined> {
  const { networks } = world
  const { namespace } = claim.metadata
  const name = vmNameOf(claim)
  if (name === undefined) return (await isUsed(claim, namespace, world)) ? undefined : { toMark: [] }
  // What the caches show of it keeps the claim; when that goes, they hear of it, and the claim is looked at again.
  if (!mayEnd({ claim, ...knownMachine(world, namespace, name), networks })) return undefined
  const asked = await askMachine(world, namespace, name)
  if (asked === undefined || !mayEnd({ claim, ...asked, networks })) return undefined
  return { toMark: podsToMark({ claim, ...asked }) }
}

function knownMachine({ caches }: World, namespace: string, name: string): Asked {
  const key = `${namespace}/${name}`
  const pods = caches.pods.byIndex('vm', key).flatMap(pod => readable<LauncherPod>(pod, podOf) ?? [])
  return { vm: readable(caches.vms.get(key), vmOf), vmi: readable(caches.vmis.get(key), vmiOf), pods }
}

/**
 * A claim that was made by hand, for no virtual machine, is for the pods that name it, or show what it holds. What it only shows is not
 * given out by its end: it may be the address of another machine.
 */
async function isUsed(claim: IPAMClaim, namespace: string, world: World): Promise<boolean> {
  const holds = await askAllHoldsOf(claim.metadata.uid, world)
  const ips = holds.flatMap(hold => (hold.state === 'held' && isOfAddress(hold) ? [toCIDRText(hold)] : []))
  if (ips.length === 0) return false
  if (claim.usedBy !== undefined && (await isUserThere(claim, world))) return true
  const launchers = await world.launchersOf(namespace)
  const held = { ...claim, ips }
  // Of the claim that a node made for a pod, the node says when that pod has left it.
  const ofPods = claim.metadata.ownerReferences.filter(({ kind }) => kind === 'Pod')
  const isIts = ({ metadata: { uid } }: LauncherPod) => ofPods.some(owner => owner.uid === uid)
  const uses = (pod: LauncherPod) =>
    ofPods.length === 0 ? mayUse(pod, held) : !isIts(pod) && !pod.isCompleted && namesOrShows(pod, held)
  return launchers === undefined || [...launchers.values()].flat().some(uses)
}

const namesOrShows = (pod: LauncherPod, claim: IPAMClaim): boolean =>
  claimNamesOf(pod).includes(claim.metadata.name) || shows(pod, claim)

/** A pod of no virtual machine that was given what it has; a node wrote down which. */
async function isUserThere({ metadata: { namespace }, usedBy }: IPAMClaim, { client }: World): Promise<boolean> {
  const { items } = await client.list(podKind, { namespace })
  return items.some(item => {
    const pod = readable<LauncherPod>(item, podOf)
    return pod === undefined || (!pod.isCompleted && userOf(pod) === usedBy)
  })
}
