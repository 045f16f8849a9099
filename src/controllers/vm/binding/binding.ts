// ipamclaim.binding - every live claim has an address of each family of its network, all of them or none; its status says which,
// and which pod uses them; no other claim has them.
//
// Reads:   the claim, its network, its pods, the holds that name it, the ledger (observe.ts); decides in plan.ts.
// Writes:  the finalizer, where it is missing; T1 to T3 for each part; T4 and T7 as one status; T15 where a part cannot be had
//          and an earlier pass left others, or a MAC is not asked for any more, and then a mark on pods that a write on its way
//          could still tell that MAC. On a network that another program gives out, the holds alone.
// Safe:    the name of a hold is the lock on what it holds, the version of the claim is the lock on its choice. A pass may run
//          twice, late, on an old view, beside another process, or be cut between any two writes.

import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { done, type PassResult, requeue, requeueAfter } from '../../../runtime/reconciler.ts'
import { askAllHoldsOf } from '../../office/hold/of-claim.ts'
import { type AnyHold, isOfAddress } from '../../office/hold/steps.ts'
import { letGo, takeAll } from '../../office/hold/take-all.ts'
import { readable } from '../../office/kept.ts'
import { isNamespaceOutdated, isOfferOutdated } from '../../office/offer.ts'
import type { Scope } from '../../office/scope.ts'
import { type ClaimPass, settled, type Waits } from '../../office/waiting.ts'
import { claimOf } from '../parsed.ts'
import type { VMWorld } from '../world.ts'
import { isBeingLetGo } from './choice.ts'
import { type Asked, askUnused } from './in-use.ts'
import { observe, type Seen } from './observe.ts'
import { decide, isGuarded, type Plan, type Refused, saysServed } from './plan.ts'
import { freeFromLostNode, releaseClaim } from './release.ts'
import { event, tellServed, tellWaits, wordsOf } from './status.ts'
import { guard, markFormerMACs, markGivesBack, markPodFormerMACs } from './steps.ts'

export async function reconcileClaim(key: string, scope: Scope, world: VMWorld): Promise<ClaimPass> {
  const claim = readable(world.caches.claims.get(key), claimOf)
  if (claim === undefined) return settled()
  const seen = observe(claim, scope, world)
  return settle(decide(seen), seen, world)
}

/** Everything is in place and said, as far as the caches know. */
export function isClaimSettled(key: string, scope: Scope, world: Omit<VMWorld, 'note'>): boolean {
  const claim = readable(world.caches.claims.get(key), claimOf)
  // Only a claim that was served can be.
  if (claim === undefined || claim.ips.length === 0 || !world.isAllShown()) return false
  const plan = decide(observe(claim, scope, world))
  return plan.kind === 'keep' && plan.letGo.length === 0 && !plan.isToTell
}

async function settle(plan: Plan, seen: Seen, world: VMWorld): Promise<ClaimPass> {
  switch (plan.kind) {
    case 'leave alone':
      return settled()
    case 'wait':
      return settled(requeueAfter(plan.forMs))
    case 'keep': {
      const asked = await askUnused(seen.claim, plan.letGo, world)
      if (asked.unused.length > 0) return settled(await putToRest(asked, seen, world))
      if (plan.isToTell) await tellServed(world, seen, seen.claim.ips)
      return settled()
    }
    case 'release':
      return settled(await releaseClaim(seen, world))
    case 'ask for node':
      return settled(await freeFromLostNode(seen.claim, world))
    case 'recall': {
      const held = await askAllHoldsOf(seen.claim.metadata.uid, world)
      const live = { ...seen, isLive: true, held: held.filter(({ state }) => state === 'held') }
      return settle(decide(live), live, world)
    }
    case 'refuse':
      return refuse(plan, seen, world)
    case 'bind':
      return bind(plan, seen, world)
    case 'mirror':
      return mirror(plan, seen, world)
  }
}

async function refuse(
  { refusal, letGo: left, former = [] }: Extract<Plan, { kind: 'refuse' }>,
  seen: Seen,
  world: VMWorld,
): Promise<ClaimPass> {
  const waits = waitsOf(seen, refusal)
  const asked = await askUnused(seen.claim, former, world)
  if (asked.unused.length > 0) return { next: await putToRest(asked, seen, world), waits }
  if (left.length === 0) return { next: await tellWaits(world, seen, refusal), waits }
  return { next: await giveBack(left, seen, world), waits }
}

/**
 * What it has no more. The request for a MAC may change back at any time, so the claim is written first, under the version that asks for
 * another, and the pass ends: the next one asks once more which pods there are. Of those, none runs with the MAC, and the ones that are
 * yet to be told are marked, which no write that tells them the MAC outlasts; a pod that comes later is told by what the claim says
 * then (pods/reconcile.ts). What is to be said is said by a later pass. A claim whose status is another program's is not written:
 * what its pods get, that program says.
 */
async function putToRest({ unused, toTell }: Asked, { claim, isObserved }: Seen, world: VMWorld): Promise<PassResult> {
  const macs = isObserved ? [] : unused.filter(hold => !isOfAddress(hold))
  const unmarked = macs.filter(hold => !isBeingLetGo(claim, hold))
  if (unmarked.length > 0) {
    await markFormerMACs(world, claim, unmarked)
    return requeue()
  }
  if (macs.length > 0) for (const pod of toTell) await markPodFormerMACs(world, pod, claim)
  await letGo(world, unused)
  return requeue()
}

function waitsOf({ claim, source }: Seen, { needs, reason }: Refused): Waits {
  const { namespace, creationTimestamp: createdAt } = claim.metadata
  return { needs, pool: source, namespace, tenant: '', createdAt, reason }
}

/**
 * T15, and then what was found goes to rest; why the claim waits is said by the next pass. Not twice in a short time: a second
 * process that sees more than this one may be about to store the choice, and each T15 has it begin again.
 */
async function giveBack(left: readonly AnyHold[], { claim }: Seen, world: VMWorld): Promise<PassResult> {
  const { recentRefusals, clock } = world
  const word = `${claim.metadata.uid} gives back`
  const patienceMs = recentRefusals.msUntil(word, clock.monotonicMs())
  if (patienceMs > 0) return requeueAfter(patienceMs)
  await markGivesBack(world, claim)
  recentRefusals.add(word, clock.monotonicMs())
  await letGo(world, left)
  return requeue()
}

async function bind({ parts, ips }: Extract<Plan, { kind: 'bind' }>, seen: Seen, world: VMWorld): Promise<ClaimPass> {
  const { claim, own, source } = seen
  const { metadata } = claim
  const pools = 'kind' in seen.pools ? [] : seen.pools
  const isNew = parts.some(({ how }) => how !== 'found')
  const isRegained = parts.some(({ how }) => how === 'regain')
  let guarded: IPAMClaim | undefined
  const isOutdated = async () => {
    if (isNew && (await isOfferOutdated(metadata.namespace, pools, world))) return true
    if (isRegained && (await isNamespaceOutdated(metadata.namespace, world))) return true
    if (isNew && (await isReservedOtherwise(seen, world))) return true
    guarded = await guardedOf(claim, world)
    return guarded === undefined
  }
  const taken = await takeAll(world, parts, { own, isOutdated })
  if (taken.kind === 'lost') world.note({ what: 'lost race', claim: metadata, pool: source })
  if (taken.kind !== 'taken' || guarded === undefined) return settled(requeue())
  await tellServed(world, { ...seen, claim: guarded }, ips)
  const [pool] = seen.places
  if (!saysServed(claim))
    world.note({ what: 'bound', claim: metadata, pool: source, ...(pool && { strategy: pool.strategy }) })
  return settled()
}

/**
 * Whether an IPPool keeps something else than the claim was decided on. Only networks of OVN-Kubernetes have IPPools. What is kept is the
 * same object for as long as it says the same.
 */
async function isReservedOtherwise({ claim, ovn, reserved }: Seen, world: VMWorld): Promise<boolean> {
  if (ovn === undefined) return false
  await world.readReservations()
  const network = world.networks.ofClaim(claim)
  return 'kind' in network || network.reserved !== reserved
}

async function guardedOf(claim: IPAMClaim, world: VMWorld): Promise<IPAMClaim | undefined> {
  if (isGuarded(claim)) return claim
  const guarded = claimOf(await guard(world, claim))
  return isMalformed(guarded) || guarded.isDeleting ? undefined : guarded
}

/** The status is another program's: what keeps a part from being held is told in an event, and to the operator. */
async function mirror(
  { parts, refusal }: Extract<Plan, { kind: 'mirror' }>,
  seen: Seen,
  world: VMWorld,
): Promise<ClaimPass> {
  const { claim, own, source } = seen
  const taken = await takeAll(world, parts, { own })
  if (taken.kind !== 'taken') return settled(requeue())
  if (refusal === undefined) return settled()
  const words = wordsOf(refusal, seen.holder)
  const { message } = words
  const word = `${claim.metadata.uid} ${message}`
  const { recentRefusals, clock } = world
  if (recentRefusals.msUntil(word, clock.monotonicMs()) === 0) {
    recentRefusals.add(word, clock.monotonicMs())
    event(world, claim, 'Warning', words)
    world.note({ what: 'refused', claim: claim.metadata, pool: source, reason: refusal.reason, message })
  }
  return { next: done(), waits: waitsOf(seen, refusal) }
}
