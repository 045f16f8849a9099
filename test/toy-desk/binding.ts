// berth.binding - every live berth has an address of each family of its network, and its MAC if it asks for one; all of it or
// nothing; it says what it has; and no other claim has it.
//
// Reads:   the berth, its network, the holds that name it, the ledger (observe.ts); decides in plan.ts.
// Writes:  T1 to T3 for each part, T4, T7; T15 where a part cannot be had and an earlier pass left others.
// Safe:    the name of a hold is the lock on what it holds, the version of the berth is the lock on its choice. A pass may run
//          twice, late, on an old view, beside another process, or be cut between any two writes.

import { askAllHoldsOf } from '../../src/controllers/office/hold/of-claim.ts'
import type { AnyHold } from '../../src/controllers/office/hold/steps.ts'
import { letGo, takeAll } from '../../src/controllers/office/hold/take-all.ts'
import { isNamespaceOutdated, isOfferOutdated } from '../../src/controllers/office/offer.ts'
import { isInScope, type Scope } from '../../src/controllers/office/scope.ts'
import { type ClaimPass, settled } from '../../src/controllers/office/waiting.ts'
import { isMalformed } from '../../src/ip/malformed.ts'
import type { Refusal } from '../../src/ipam/refusal.ts'
import { done, type PassResult, requeue, requeueAfter } from '../../src/runtime/reconciler.ts'
import { observe, type Seen } from './observe.ts'
import { type Berth, berthOf } from './parsed.ts'
import { decide, type Plan, saysReady } from './plan.ts'
import { releaseBerth } from './release.ts'
import { berthNamed } from './shown.ts'
import { tellGivesBack, tellServed, tellWaits } from './status.ts'
import { storeChoice } from './steps.ts'
import { keyOfBerth, type ToyWorld } from './world.ts'

export async function reconcileBerth(key: string, scope: Scope, world: ToyWorld): Promise<ClaimPass> {
  const object = world.caches.berths.get(key)
  const berth = object && berthOf(object)
  if (object === undefined || berth === undefined || isMalformed(berth)) return settled()
  const seen = observe(berth, isInScope(scope, object), world)
  return settle(decide(seen), seen, world)
}

async function settle(plan: Plan, seen: Seen, world: ToyWorld): Promise<ClaimPass> {
  switch (plan.kind) {
    case 'leave alone':
    case 'keep':
      return settled()
    case 'release':
      return settled(await releaseBerth(seen, world))
    case 'recall': {
      const held = await askAllHoldsOf(seen.berth.metadata.uid, world)
      const live = { ...seen, isLive: true, held: held.filter(({ state }) => state === 'held') }
      return settle(decide(live), live, world)
    }
    case 'refuse':
      return refuse(plan, seen, world)
    case 'bind':
      return bind(plan, seen, world)
  }
}

async function refuse(
  { refusal, letGo: left }: Extract<Plan, { kind: 'refuse' }>,
  { berth }: Seen,
  world: ToyWorld,
): Promise<ClaimPass> {
  const { namespace, creationTimestamp: createdAt } = berth.metadata
  const { needs, reason } = refusal
  const waits = { needs, pool: berth.network, namespace, tenant: '', createdAt, reason }
  if (left.length === 0) return { next: await tellWaits(world, berth, refusal), waits }
  return { next: await giveBack(left, berth, refusal, world), waits }
}

/**
 * T15, and then what was found goes to rest. Not twice in a short time: a second process that sees more than this one may be
 * about to store the choice, and each T15 has it begin again.
 */
async function giveBack(
  left: readonly AnyHold[],
  berth: Berth,
  refusal: Refusal,
  world: ToyWorld,
): Promise<PassResult> {
  const { recentRefusals, clock } = world
  const word = `${berth.metadata.uid} gives back`
  const patienceMs = recentRefusals.msUntil(word, clock.monotonicMs())
  if (patienceMs > 0) return requeueAfter(patienceMs)
  await tellGivesBack(world, berth, refusal)
  recentRefusals.add(word, clock.monotonicMs())
  await letGo(world, left)
  return done()
}

async function bind(
  { parts, choice, isStored }: Extract<Plan, { kind: 'bind' }>,
  { berth, pools }: Seen,
  world: ToyWorld,
): Promise<ClaimPass> {
  const { metadata, network } = berth
  const own = [berthNamed(keyOfBerth(berth))] as const
  const isNew = berth.choice === undefined && parts.some(({ how }) => how !== 'found')
  const isRegained = parts.some(({ how }) => how === 'regain')
  const isOutdated = async () =>
    (isNew && (await isOfferOutdated(metadata.namespace, pools, world))) ||
    (isRegained && (await isNamespaceOutdated(metadata.namespace, world)))
  const taken = await takeAll(world, parts, { own, isOutdated })
  if (taken.kind === 'lost') world.note({ what: 'lost race', claim: metadata, pool: network })
  if (taken.kind !== 'taken') return settled(requeue())
  const stored = isStored ? berth : berthOf(await storeChoice(world, berth, choice))
  if (isMalformed(stored)) return settled(requeue())
  await tellServed(world, stored, choice)
  if (!saysReady(berth)) world.note({ what: 'bound', claim: metadata, pool: network })
  return settled()
}
