// pod.addresses - every launcher pod that runs on a network of OVN-Kubernetes which Mooring gives out is configured with the
// addresses of its IPAMClaim; where that cannot be, an event on the pod says why.
//
// Reads:   the pod, the networks it is on, the claims it names, their holds.
// Writes:  entries that are missing in the annotation `k8s.ovn.org/pod-networks`, beside those of others; takes out those of
//          networks that the pod left; never another entry.
// Safe:    the write carries uid and version of the pod, and is made of what the claim holds. The addresses of a claim do not
//          change. Its MAC may: the claim is read from the API server after the pod was seen, and the pass that lets go of a MAC
//          of it afterwards marks a pod that is not told yet first, so that the write is refused (docs/model, rule 17).

import { mayUse, userOf } from '../../../api/claim-use.ts'
import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import type { LauncherPod } from '../../../api/launcher-pod.ts'
import { podNetworksAnnotation } from '../../../api/names.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { keyOf } from '../../../kube/object.ts'
import { patchSeen } from '../../../kube/patch-seen.ts'
import { refresh } from '../../../kube/refresh.ts'
import { done, type PassResult, requeueAfter } from '../../../runtime/reconciler.ts'
import { readable } from '../../office/kept.ts'
import { macHoldsOfClaim } from '../../office/mac-holds.ts'
import { isInScope, type Scope } from '../../office/scope.ts'
import { holdsOfClaim } from '../../office/views.ts'
import { isBeingLetGo } from '../binding/choice.ts'
import { vmNameOf } from '../claims/belonging.ts'
import { mayEnd } from '../claims/end.ts'
import { ipamClaims, pods as podKind, virtualMachineInstances, virtualMachines } from '../kinds.ts'
import { claimOf, podOf, vmiOf, vmOf } from '../parsed.ts'

import type { VMWorld } from '../world.ts'
import { claimNamesOf, entriesOf } from './annotation.ts'
import { type NamedClaim, type PodPlan, type PodSeen, type Problem, planPod, type SeenNetwork } from './plan.ts'

export interface PodsWorld extends VMWorld {
  /** By pod: what its events say, so that each is told once. */
  readonly toldToPods: Map<string, string>
}

type View = Pick<PodsWorld, 'caches' | 'networks'>

/** Until networks are known: they are listed while this process starts. */
const notShownMs = 1_000
/** A claim is made at the same time as the first pod that names it, and caches hear of a pod and its instance in any order. */
const claimComesMs = 5_000

export async function reconcilePod(key: string, scope: Scope, world: PodsWorld): Promise<PassResult> {
  const object = world.caches.pods.get(key)
  const pod = readable(object, podOf)
  if (object === undefined) world.toldToPods.delete(key)
  if (object === undefined || pod === undefined || !isInScope({ ...scope, watchFilter: '' }, object)) return done()
  if (!world.isAllShown()) return requeueAfter(notShownMs)
  const plan = await planSurely(pod, world)
  if (Object.keys(plan.entries).length > 0) {
    await writeEntries(pod, plan.entries, world)
    if (plan.problems.length === 0) world.podMetrics?.served(pod.metadata.uid)
  }
  const sure = plan.problems.filter(isSure)
  const youngMs = msUntilOld(pod, world)
  if (sure.length < plan.problems.length && youngMs > 0) {
    tellProblems(key, sure, world)
    return requeueAfter(youngMs)
  }
  // The cache may not have heard of what is missing yet; if it is there, its own change brings the next pass.
  for (const problem of plan.problems) await refreshMissing(problem, pod, world)
  tellProblems(key, planPod(observePod(pod, world)).problems, world)
  return done()
}

const isSure = ({ missingClaim, missingInstance }: Problem): boolean => (missingClaim ?? missingInstance) === undefined

async function refreshMissing(
  { missingClaim, missingInstance }: Problem,
  { metadata: { namespace } }: LauncherPod,
  { client, caches }: PodsWorld,
): Promise<void> {
  if (missingClaim !== undefined) await refresh(client, ipamClaims, caches.claims, { namespace, name: missingClaim })
  if (missingInstance !== undefined)
    await refresh(client, virtualMachineInstances, caches.vmis, { namespace, name: missingInstance })
}

/**
 * What makes a claim stay that is being deleted is what the API server says, not what a cache shows; so is which MAC a claim asks for,
 * and which one it is letting go of.
 */
async function planSurely(pod: LauncherPod, world: PodsWorld): Promise<PodPlan> {
  const plan = planPod(observePod(pod, world))
  if (Object.keys(plan.entries).length === 0) return plan
  if (!claimsOf(pod, world).some(claim => isOfMAC(claim, world)) && claimsThatGo(pod, world).length === 0) return plan
  const { namespace } = pod.metadata
  // All of them: a hold that is heard of meanwhile may be of another.
  for (const name of claimNamesOf(pod))
    await refresh(world.client, ipamClaims, world.caches.claims, { namespace, name })
  for (const name of claimsThatGo(pod, world)) await refreshMachine(name, pod, world)
  return planPod(observePod(pod, world))
}

function claimsOf(pod: LauncherPod, { caches }: View): IPAMClaim[] {
  const { namespace } = pod.metadata
  return claimNamesOf(pod).flatMap(name => readable(caches.claims.get(`${namespace}/${name}`), claimOf) ?? [])
}

/** A MAC is held in its name, or rests. */
const isOfMAC = ({ metadata }: IPAMClaim, { caches }: View): boolean => macHoldsOfClaim(caches, metadata.uid).length > 0

/** Virtual machines of the claims of the pod that are being deleted. */
const claimsThatGo = (pod: LauncherPod, view: View): string[] =>
  claimsOf(pod, view).flatMap(claim => (claim.isDeleting ? [vmNameOf(claim) ?? pod.domain] : []))

async function refreshMachine(name: string, pod: LauncherPod, { client, caches }: PodsWorld): Promise<void> {
  const ref = { namespace: pod.metadata.namespace, name }
  await refresh(client, virtualMachines, caches.vms, ref)
  await refresh(client, virtualMachineInstances, caches.vmis, ref)
}

const msUntilOld = ({ metadata }: LauncherPod, { clock }: Pick<PodsWorld, 'clock'>): number =>
  Math.max(0, (Date.parse(metadata.creationTimestamp) || 0) + claimComesMs - clock.now())

/** Nothing is to be written or told, as far as the caches know. */
export function isPodSettled(key: string, world: View & Pick<PodsWorld, 'toldToPods' | 'isAllShown'>): boolean {
  const pod = readable(world.caches.pods.get(key), podOf)
  if (pod === undefined || !world.isAllShown()) return false
  const { entries, problems } = planPod(observePod(pod, world))
  return Object.keys(entries).length === 0 && textOf(problems) === (world.toldToPods.get(key) ?? '')
}

function observePod(pod: LauncherPod, { caches, networks }: View): PodSeen {
  const { namespace } = pod.metadata
  const vmi = readable(caches.vmis.get(`${namespace}/${pod.domain}`), vmiOf)
  return {
    pod,
    primary: networks.primaryOf(namespace),
    isOnPodNetwork: vmi?.interfaces.some(({ attachment }) => attachment === undefined) === true,
    networkOf(attachment): SeenNetwork {
      const found = networks.attachment(attachment)
      if (found === undefined || !('network' in found)) return found
      return { network: found.network, isObserved: networks.isObserved(found.network) }
    },
    claimOf(name): NamedClaim | undefined {
      const claim = readable(caches.claims.get(`${namespace}/${name}`), claimOf)
      if (claim === undefined) return undefined
      const user = otherUserOf(claim, pod, caches)
      const macs = macHoldsOfClaim(caches, claim.metadata.uid).filter(hold => !isBeingLetGo(claim, hold))
      return {
        claim,
        held: [...holdsOfClaim(caches, claim.metadata.uid), ...macs],
        mayUse: mayUse(claim, pod, vmi, user && userOf(user)),
        isKept: isKept(claim, { caches, networks }),
      }
    },
  }
}

/** Whichever pods there are: it would not go without any of them. */
function isKept(claim: IPAMClaim, { caches, networks }: View): boolean {
  const name = vmNameOf(claim)
  if (name === undefined) return false
  const key = `${claim.metadata.namespace}/${name}`
  const [vm, vmi] = [readable(caches.vms.get(key), vmOf), readable(caches.vmis.get(key), vmiOf)]
  return !mayEnd({ claim, vm, vmi, pods: [], networks })
}

/** The first living pod that names a claim has it, where the claim names no machine. */
function otherUserOf({ metadata }: IPAMClaim, pod: LauncherPod, { pods }: View['caches']): LauncherPod | undefined {
  const users = pods.byIndex('claim', `${metadata.namespace}/${metadata.name}`).flatMap(object => {
    const other = readable<LauncherPod>(object, podOf)
    return other === undefined || other.isCompleted ? [] : [other]
  })
  const age = (one: LauncherPod) => `${one.metadata.creationTimestamp} ${one.metadata.name}`
  const [first = pod] = users.sort((one, other) => (age(one) < age(other) ? -1 : 1))
  return first
}

async function writeEntries(
  pod: LauncherPod,
  entries: PodPlan['entries'],
  { client, caches }: PodsWorld,
): Promise<void> {
  const stored = entriesOf(pod)
  if (isMalformed(stored)) return
  const next = Object.entries({ ...stored, ...entries }).filter(([, entry]) => entry !== null)
  const annotations = { [podNetworksAnnotation]: JSON.stringify(Object.fromEntries(next)) }
  await patchSeen(client, podKind, caches.pods, pod, { metadata: { annotations } }, 'status')
}

const textOf = (problems: PodPlan['problems']): string =>
  problems.map(({ reason, message }) => `${reason} ${message}`).join('\n')

function tellProblems(key: string, problems: PodPlan['problems'], world: PodsWorld): void {
  const { caches, recorder, toldToPods, podMetrics } = world
  podMetrics?.waits(
    key,
    problems.map(({ reason }) => reason),
  )
  const about = caches.pods.get(key)
  const before = (toldToPods.get(key) ?? '').split('\n')
  if (about === undefined || keyOf(about) !== key) return
  for (const { reason, message } of problems) {
    if (before.includes(`${reason} ${message}`)) continue
    recorder.event({ about, type: 'Warning', reason, action: 'ConfigureAddresses', note: message })
  }
  if (problems.length === 0) toldToPods.delete(key)
  else toldToPods.set(key, textOf(problems))
}
