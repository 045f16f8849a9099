// claim.binding - every live claim on one of our pools holds exactly one address, says which, and nobody else holds it.
//
// Reads:   the claim, its Cluster, its pool, the holds and the report that name it, the ledger; decides in plan.ts.
// Writes:  steps T1 to T7 of the model (docs/model), in that order, each under the version it was decided on; the
//          condition that says why a claim waits.
// Safe:    the hold's name is the lock on the address, the claim's version is the lock on the choice. A pass may run twice,
//          late, on an old view, beside another process, or be cut between any two writes: what is there already is
//          found again, what is somebody else's is reported and left alone.
// See:     docs/model/README.md, rules 1 to 12; release.ts for claims on their way out.

import { type Hold, type HoldSpec, holdName } from '../../api/hold.ts'
import { type Subnet, subnetOf } from '../../api/ip-address.ts'
import { claimReference, type IPAddressClaim, poolOfClaim } from '../../api/ip-address-claim.ts'
import { type Identity, identityKey } from '../../api/object.ts'
import type { Pool } from '../../api/pool.ts'
import { type IP, toIPText } from '../../ip/address.ts'
import { isMalformed } from '../../ip/malformed.ts'
import type { RefusalReason } from '../../ipam/refusal.ts'
import type { Cache } from '../../kube/cache.ts'
import type { Kind, KubeObject } from '../../kube/object.ts'
import { refresh } from '../../kube/refresh.ts'
import { done, type PassResult, requeue } from '../../runtime/reconciler.ts'
import { askHoldsOf } from '../office/hold/of-claim.ts'
import { giveBackHold, regainHold, renewHold, takeHold } from '../office/hold/steps.ts'
import type { Decision } from '../office/journal.ts'
import { holds as holdKind, namespaces as namespaceKind, reports as reportKind } from '../office/kinds.ts'
import { claimOf, holdOf, reportOf } from '../office/parsed.ts'
import type { Need, Sleeper } from '../office/waiting.ts'
import { decide, observe, ownerOf, type Plan, type Seen, saysReady, type Taking } from './plan.ts'
import { reportShowsOther } from './refusals.ts'
import { releaseClaim } from './release.ts'
import { sayAllocated, sayHandsOff, sayWhyNot } from './status.ts'
import { adoptReport, createReport, storeChoice } from './steps.ts'
import { sweepReport } from './sweep.ts'
import { isAdopted, isOursOrNobodys, isSamePool, shows } from './whose.ts'
import { type CapiWorld, isDisputed, keyOfClaim, showingOfTaker } from './world.ts'

export async function reconcileClaim(key: string, world: CapiWorld): Promise<PassResult> {
  const object = world.caches.claims.get(key)
  if (object === undefined) {
    world.waiting.leave(key)
    world.leftAlone.delete(key)
    return sweepReport(key, world)
  }
  const claim = claimOf(object)
  if (isMalformed(claim)) return done()
  const pool = poolOfClaim(claim)
  if (pool === undefined) return done()
  const seen = observe(claim, pool, world)
  if (claim.isDeleting) return releaseClaim(claim, seen, world)
  if (seen.report === undefined && saysReady(claim) && world.moved.isLeaving(claim)) return done()
  const plan = decide(claim, seen, world)
  return settle(claim, plan, seen, world)
}

async function settle(claim: IPAddressClaim, plan: Plan, seen: Seen, world: CapiWorld): Promise<PassResult> {
  const key = keyOfClaim(claim)
  if (plan.kind !== 'leave alone') world.leftAlone.delete(key)
  switch (plan.kind) {
    case 'leave alone':
      world.waiting.leave(key)
      if (plan.why !== undefined && !saysReady(claim)) sayHandsOff(world, claim, seen.identity, plan.why)
      return done()
    case 'keep':
      world.waiting.leave(key)
      return done()
    case 'recall':
      return recall(claim, seen, world)
    case 'refuse':
      if (plan.held !== undefined && (await isHoldOutdated(plan.held, world))) return requeue()
      world.waiting.sleep(sleeperOf(claim, seen.identity, needOf(plan), plan.refusal.reason))
      return sayWhyNot(world, claim, seen, plan.refusal, plan.held)
    case 'bind':
      // Whoever takes something free leaves when it is taken, so that the next one is not woken for it.
      if (plan.by.how !== 'take' && plan.by.how !== 'arrive') world.waiting.leave(key)
      return bind(claim, plan, seen, world)
  }
}

/** What wakes it: a release, the end of a quarantine, a larger pool; the oldest first. */
function needOf({ refusal, wants }: Extract<Plan, { kind: 'refuse' }>): Need {
  const kind = needs[refusal.reason]
  return kind === 'one' ? { kind, block: wants } : { kind }
}

const needs: Readonly<Record<RefusalReason, Need['kind']>> = {
  PoolExhausted: 'any',
  QuotaReached: 'quota',
  AddressInUse: 'one',
  AddressQuarantined: 'one',
  PoolNotFound: 'change',
  PoolMalformed: 'change',
  PoolDeleting: 'change',
  PoolPaused: 'change',
  NamespaceNotAllowed: 'change',
  SpaceNotOffered: 'change',
  NotAnAddress: 'change',
  NotCanonical: 'change',
  WrongFamily: 'change',
  AddressOutOfRange: 'change',
  AddressExcluded: 'change',
  AddressReserved: 'change',
  AddressDraining: 'change',
  RequestsConflict: 'change',
}

function sleeperOf(claim: IPAddressClaim, identity: Identity, need: Need, reason: string): Sleeper {
  const { namespace, creationTimestamp: createdAt } = claim.metadata
  const { clusterName } = claim
  return {
    key: keyOfClaim(claim),
    pool: identityKey(identity),
    identity,
    namespace,
    clusterName,
    createdAt,
    need,
    reason,
  }
}

async function bind(
  claim: IPAddressClaim,
  { pool, ip, by }: Extract<Plan, { kind: 'bind' }>,
  seen: Seen,
  world: CapiWorld,
): Promise<PassResult> {
  const address = toIPText(ip)
  const spec = {
    space: pool.space,
    ip,
    bits: pool.bits,
    pool: pool.identity,
    claim: claimReference(claim),
    owner: ownerOf(claim),
  }
  switch (by.how) {
    case 'take':
    case 'arrive': {
      const made = await take(claim, pool, spec, by.how, world)
      if (made === undefined) return requeue()
      // Rule 11, looked at once more with the hold in hand.
      if (isDisputed(world, claim, pool.space, ip)) {
        await giveBackHold(world, made)
        return requeue()
      }
      break
    }
    case 'regain':
      await regainHold(world, by.hold, spec)
      break
    case 'found':
      await renewHold(world, by.hold)
      break
    case 'chosen': {
      // Before anything is said on the strength of it, the hold is read where it is kept, and touched: another process that
      // made it just now, and found the address disputed, is too late to give it back.
      const live = await refresh(world.client, holdKind, world.caches.holds, { name: holdName(pool.space, ip) })
      const hold = live && holdOf(live)
      if (hold === undefined || isMalformed(hold) || hold.claim.uid !== claim.metadata.uid || hold.state !== 'held')
        return requeue()
      await renewHold(world, hold)
      break
    }
  }
  const chosen = by.how === 'chosen' ? claim : await choice(claim, address, subnetShown(claim, pool, seen), world)
  if (chosen === undefined) return requeue()
  return report(chosen, pool, ip, by.how, seen, world)
}

/** From the moment it is chosen until the hold is there, nobody else of this process goes for the same address. */
async function take(
  claim: IPAddressClaim,
  pool: Pool,
  spec: HoldSpec,
  how: Taking['how'],
  world: CapiWorld,
): Promise<KubeObject | undefined> {
  const by = showingOfTaker(keyOfClaim(claim))
  const { clusterName, metadata } = claim
  world.ledger.show({ by, as: 'intent', ...spec, namespace: metadata.namespace, clusterName })
  try {
    if (how === 'take' && (await isOfferOutdated(claim, pool, world))) return undefined
    world.waiting.leave(keyOfClaim(claim))
    const made = await takeHold(world, spec)
    if (made === undefined)
      world.note({ what: 'lost race', claim: metadata, pool: pool.identity, ...placeOf(pool, spec.ip) })
    return made
  } finally {
    world.ledger.hide(by)
  }
}

/** The claim as it is with its choice; what was read before the hold was taken decides the version. */
async function choice(
  claim: IPAddressClaim,
  address: string,
  subnet: Subnet,
  world: CapiWorld,
): Promise<IPAddressClaim | undefined> {
  const answer = claimOf(await storeChoice(world, claim, address, subnet))
  return isMalformed(answer) ? undefined : answer
}

function subnetShown(claim: IPAddressClaim, pool: Pool, { report }: Seen): Subnet {
  if (report?.prefix === undefined || !isOursOrNobodys(report, claim, pool)) return subnetOf(claim, pool)
  return { prefix: report.prefix, gateway: report.gateway }
}

async function report(
  claim: IPAddressClaim,
  pool: Pool,
  ip: IP,
  by: Taking['how'],
  seen: Seen,
  world: CapiWorld,
): Promise<PassResult> {
  const { namespace, name } = claim.metadata
  const address = toIPText(ip)
  const note = (what: Decision) => {
    world.note({ what, claim: claim.metadata, pool: pool.identity, strategy: pool.strategy, ...placeOf(pool, ip), by })
  }
  const known = seen.report === undefined ? await createReport(world, claim, pool, address) : undefined
  if (known === undefined) {
    const object = await refresh(world.client, reportKind, world.caches.reports, { namespace, name })
    const found = object && reportOf(object)
    if (found === undefined || isMalformed(found)) return requeue()
    // It belongs to an earlier claim of this name.
    if (!isOursOrNobodys(found, claim, pool)) return sweepReport(keyOfClaim(claim), world)
    if (!shows(found, { ip, bits: pool.bits }) || !isSamePool(found, claim)) {
      const refusal = reportShowsOther(found, address)
      world.waiting.sleep(sleeperOf(claim, seen.identity, { kind: 'change' }, refusal.reason))
      return sayWhyNot(world, claim, seen, refusal)
    }
    if (!isAdopted(found, claim)) {
      await adoptReport(world, found, claim, pool)
      note('adopted')
    }
  }
  await sayAllocated(world, claim, address)
  if (!saysReady(claim)) note('bound')
  else if (known !== undefined) note('restored')
  return done()
}

const placeOf = ({ space }: Pool, ip: IP) => ({ space, ip })

function isHoldOutdated({ metadata }: Hold, world: CapiWorld): Promise<boolean> {
  return isOutdated(holdKind, world.caches.holds, metadata.name, world)
}

/** I4: a namespace that lost the label a pool asks for is given nothing, however late the news of it. */
async function isOfferOutdated({ metadata }: IPAddressClaim, pool: Pool, world: CapiWorld): Promise<boolean> {
  if (pool.allowedNamespaces === undefined) return false
  return isOutdated(namespaceKind, world.caches.namespaces, metadata.namespace, world)
}

/** Whether the object is no longer what the view shows; the view then knows better. */
async function isOutdated(
  kind: Kind,
  cache: Cache<KubeObject, never>,
  name: string,
  { client }: CapiWorld,
): Promise<boolean> {
  const seen = cache.get(name)
  await refresh(client, kind, cache, { name })
  return cache.get(name) !== seen
}

/** Rule 3: a claim that was bound is not given another address on the word of a cache. */
async function recall(claim: IPAddressClaim, seen: Seen, world: CapiWorld): Promise<PassResult> {
  const { client, caches } = world
  const { namespace, name, uid } = claim.metadata
  const object = await client.get(reportKind, { namespace, name })
  if (object !== undefined) caches.reports.learn(object)
  const report = object && reportOf(object)
  const live: Seen = {
    ...seen,
    isLive: true,
    report: report === undefined || isMalformed(report) ? undefined : report,
    holds: await askHoldsOf(uid, world),
  }
  return settle(claim, decide(claim, live, world), live, world)
}
