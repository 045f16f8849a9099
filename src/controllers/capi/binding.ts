// claim.binding - every live claim on one of our pools holds exactly one address, says which, and no other claim holds it.
//
// Reads:   the claim, its Cluster, its pool, the holds and the report that name it, the ledger (observe.ts); decides in plan.ts.
// Writes:  steps T1 to T7 of the model (docs/model), in that order, each under the version it was decided on; the
//          condition that says why a claim waits.
// Safe:    the hold's name is the lock on the address, the claim's version is the lock on the choice. A pass may run twice,
//          late, on an old cache, beside another process, or be cut between any two writes: what is there already is
//          found again, what is another claim's is reported and left alone.
// See:     docs/model/README.md, rules 1 to 12; release.ts for claims on their way out.

import { type Hold, type HoldSpec, holdName } from '../../api/hold.ts'
import { type Subnet, subnetOf, subnetOfPool } from '../../api/ip-address.ts'
import { claimReference, type IPAddressClaim, poolNamedBy, poolOfClaim } from '../../api/ip-address-claim.ts'
import { identityKey } from '../../api/object.ts'
import type { Pool } from '../../api/pool.ts'
import { type IP, isSameIP, parseIP, toIPText } from '../../ip/address.ts'
import { firstIP } from '../../ip/cidr.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { blockText, type Refusal } from '../../ipam/refusal.ts'
import type { Cache } from '../../kube/cache.ts'
import type { Kind, KubeObject } from '../../kube/object.ts'
import { refresh } from '../../kube/refresh.ts'
import { requeue, requeueAfter } from '../../runtime/reconciler.ts'
import { askHoldsOf } from '../office/hold/of-claim.ts'
import { giveBackHold, regainHold, renewHold, takeHold } from '../office/hold/steps.ts'
import { readable } from '../office/kept.ts'
import { holds as holdKind } from '../office/kinds.ts'
import { needOf } from '../office/need.ts'
import { isNamespaceOutdated, isOfferOutdated } from '../office/offer.ts'
import { holdOf } from '../office/parsed.ts'
import { isInScope, type Scope } from '../office/scope.ts'
import { type ClaimPass, settled, type Waits } from '../office/waiting.ts'
import { reports as reportKind } from './kinds.ts'
import { isDisputedFor, observe, type Seen } from './observe.ts'
import { isAdopted, isOwnOrUnowned, isSamePool, ownerOf, shows } from './ownership.ts'
import { claimOf, reportOf } from './parsed.ts'
import { decide, type Plan, saysReady, type Taking } from './plan.ts'
import { reportShowsOther } from './refusals.ts'
import { releaseClaim } from './release.ts'
import { claimNamed } from './shown.ts'
import { recordHandsOff, writeAllocated, writeRefusal } from './status.ts'
import { adoptReport, createReport, storeChoice } from './steps.ts'
import { letMovedReportGo, sweepReport } from './sweep.ts'
import { type CapiWorld, keyOfClaim } from './world.ts'

export async function reconcileClaim(key: string, scope: Scope, world: CapiWorld): Promise<ClaimPass> {
  const object = world.caches.claims.get(key)
  if (object === undefined) {
    world.leftAlone.delete(key)
    return settled(await sweepReport(key, world))
  }
  const claim = claimOf(object)
  const pool = isMalformed(claim) ? undefined : poolNamedBy(claim)
  if (isMalformed(claim) || pool === undefined) return settled()
  const seen = observe(claim, pool, isInScope(scope, object), world)
  return settle(decide(seen), seen, world)
}

/** Everything is in place and said, as far as the caches know. */
export function isClaimSettled(key: string, scope: Scope, world: Omit<CapiWorld, 'note'>): boolean {
  const object = world.caches.claims.get(key)
  const claim = object && claimOf(object)
  // Only a claim that was served can be.
  if (object === undefined || claim === undefined || isMalformed(claim) || claim.addressName === '') return false
  const pool = poolOfClaim(claim)
  if (pool === undefined || world.leftAlone.has(key)) return false
  return decide(observe(claim, pool, isInScope(scope, object), world)).kind === 'keep'
}

async function settle(plan: Plan, seen: Seen, world: CapiWorld): Promise<ClaimPass> {
  const { claim } = seen
  if (plan.kind !== 'leave alone') world.leftAlone.delete(keyOfClaim(claim))
  switch (plan.kind) {
    case 'leave alone':
      if (plan.why !== undefined && (claim.isDeleting || !saysReady(claim))) {
        recordHandsOff(world, claim, seen.identity, plan.why)
      }
      return settled(plan.forMs === undefined ? undefined : requeueAfter(plan.forMs))
    case 'keep':
      return settled()
    case 'release':
      return settled(await releaseClaim(seen, plan.pool, world))
    case 'recall':
      return recall(seen, world)
    case 'let report go':
      return settled(await letMovedReportGo(plan.report, world))
    case 'refuse':
      if (plan.inTheWay !== undefined) await sweepReport(keyOfClaim(claim), world)
      if (plan.held !== undefined && (await isHoldOutdated(plan.held, world))) return settled(requeue())
      return refuse(plan, seen, world)
    case 'bind':
      return bind(plan, seen, world)
  }
}

/** The claim's status says why it has no address, and the claim waits for what would help. */
async function refuse(
  { refusal, held, wants, unsaidUntilMs = 0 }: Omit<Extract<Plan, { kind: 'refuse' }>, 'kind'>,
  seen: Seen,
  world: CapiWorld,
): Promise<ClaimPass> {
  const need = needOf(refusal.reason, identityKey(seen.identity), wants)
  const waits = waitsOf(seen, need, refusal)
  const unsaidMs = unsaidUntilMs - world.clock.now()
  if (unsaidMs > 0) return { next: requeueAfter(unsaidMs), waits }
  return { next: await writeRefusal(world, seen, refusal, held), waits }
}

function waitsOf({ claim, identity }: Seen, need: Waits['needs'][number], { reason }: Refusal): Waits {
  const { namespace, creationTimestamp: createdAt } = claim.metadata
  return { needs: [need], pool: identity, namespace, tenant: claim.clusterName, createdAt, reason }
}

async function bind(
  { pool, ip, by, isOfferAsked }: Extract<Plan, { kind: 'bind' }>,
  seen: Seen,
  world: CapiWorld,
): Promise<ClaimPass> {
  const { claim } = seen
  const address = toIPText(ip)
  const subnet = subnetShown(pool, ip, seen)
  const isOutdated = async () => isOfferAsked && (await isOfferOutdated(claim.metadata.namespace, [pool], world))
  const spec = {
    space: pool.space,
    ip,
    bits: pool.bits,
    pool: pool.identity,
    claim: claimReference(claim, seen.namespaceUID),
    owner: ownerOf(claim),
  }
  // A hold that does not say which namespace its claim is of would be had back by any namespace of the name.
  if (seen.namespaceUID === undefined && (await isNamespaceOutdated(claim.metadata.namespace, world)))
    return settled(requeue())
  switch (by.how) {
    case 'take':
    case 'arrive': {
      const made = await take(claim, pool, spec, isOutdated, world)
      if (made === undefined) return settled(requeue())
      // Rule 11, looked at once more with the hold in hand.
      if (isDisputedFor(claim, pool, ip, undefined, world)) {
        await giveBackHold(world, spec, made)
        return settled(requeue())
      }
      break
    }
    case 'regain':
      if (await isNamespaceOutdated(claim.metadata.namespace, world)) return settled(requeue())
      if (await isOutdated()) return settled(requeue())
      await regainHold(world, by.hold, spec)
      break
    case 'found':
      await renewHold(world, by.hold)
      break
    case 'chosen': {
      // Before a status relies on the hold, it is read from the API server, and touched: another process that made it just now,
      // and found the address disputed, is then too late to give it back.
      const live = await refresh(world.client, holdKind, world.caches.holds, { name: holdName(pool.space, ip) })
      const hold = live && holdOf(live)
      if (hold === undefined || isMalformed(hold) || hold.claim.uid !== claim.metadata.uid || hold.state !== 'held')
        return settled(requeue())
      await renewHold(world, hold)
      break
    }
  }
  const chosen = by.how === 'chosen' ? claim : await storedChoice(claim, address, subnet, world)
  if (chosen === undefined) return settled(requeue())
  return report(chosen, pool, { ip, subnet }, by.how, seen, world)
}

/** From the moment it is chosen until the hold is there, no other pass of this process goes for the same address. */
async function take(
  claim: IPAddressClaim,
  pool: Pool,
  spec: HoldSpec,
  isOutdated: () => Promise<boolean>,
  world: CapiWorld,
): Promise<KubeObject | undefined> {
  const by = claimNamed(keyOfClaim(claim))
  const { clusterName, metadata } = claim
  world.ledger.show({ by, as: 'intent', ...spec, namespace: metadata.namespace, clusterName })
  try {
    if (await isOutdated()) return undefined
    const made = await takeHold(world, spec)
    if (made === undefined)
      world.note({ what: 'lost race', claim: metadata, pool: pool.identity, ...placeOf(pool, spec.ip) })
    return made
  } finally {
    world.ledger.hide(by, 'intent')
  }
}

/** The claim as it is with its choice; what was read before the hold was taken decides the version. */
async function storedChoice(
  claim: IPAddressClaim,
  address: string,
  subnet: Subnet,
  world: CapiWorld,
): Promise<IPAddressClaim | undefined> {
  const answer = claimOf(await storeChoice(world, claim, address, subnet))
  return isMalformed(answer) ? undefined : answer
}

/**
 * What the IPAddress of the claim says beside the address. Where it has none any more, its annotation tells what the lost one
 * said; but only if the claim was served, for its author can write an annotation and no status.
 */
function subnetShown(pool: Pool, ip: IP, { claim, report, holds }: Seen): Subnet {
  if (report?.prefix !== undefined && isOwnOrUnowned(report, claim, pool))
    return { prefix: report.prefix, gateway: report.gateway }
  const isServed = claim.addressName !== '' && holds.some(hold => isSameIP(hold.ip, ip))
  return isServed ? subnetOf(claim, pool) : subnetOfPool(pool)
}

async function report(
  claim: IPAddressClaim,
  pool: Pool,
  { ip, subnet }: { readonly ip: IP; readonly subnet: Subnet },
  by: Taking['how'],
  seen: Seen,
  world: CapiWorld,
): Promise<ClaimPass> {
  const { namespace, name } = claim.metadata
  const address = toIPText(ip)
  const note = (what: 'bound' | 'adopted' | 'restored') => {
    world.note({ what, claim: claim.metadata, pool: pool.identity, strategy: pool.strategy, ...placeOf(pool, ip), by })
  }
  const known = seen.report === undefined ? await createReport(world, claim, pool, { address, ...subnet }) : undefined
  if (known === undefined) {
    const object = await refresh(world.client, reportKind, world.caches.reports, { namespace, name })
    const found = object && reportOf(object)
    if (found === undefined || isMalformed(found)) return settled(requeue())
    // It belongs to an earlier claim of this name.
    if (!isOwnOrUnowned(found, claim, pool)) return settled(await sweepReport(keyOfClaim(claim), world))
    if (!shows(found, { ip, bits: pool.bits }) || !isSamePool(found, claim)) {
      // What wakes it is a change of either of the two.
      return refuse(
        { refusal: reportShowsOther(found, blockText({ ip, bits: pool.bits })), wants: { ip, bits: pool.bits } },
        { ...seen, claim },
        world,
      )
    }
    if (!isAdopted(found, claim, pool)) {
      await adoptReport(world, found, claim, pool)
      note('adopted')
    }
  }
  await writeAllocated(world, claim, { ip, bits: pool.bits })
  if (!saysReady(claim)) note('bound')
  else if (known !== undefined) note('restored')
  return settled()
}

const placeOf = ({ space }: Pool, ip: IP) => ({ space, ip })

function isHoldOutdated({ metadata }: Hold, world: CapiWorld): Promise<boolean> {
  return isOutdated(holdKind, world.caches.holds, metadata.name, world)
}

/** Whether the object is no longer what the cache showed. The cache is up to date after that. */
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

/**
 * Rule 3: a claim that was bound is not given another address because of what a cache shows, and is not refused the one that it
 * chose.
 */
async function recall(seen: Seen, world: CapiWorld): Promise<ClaimPass> {
  const { client, caches } = world
  const { namespace, name } = seen.claim.metadata
  const object = await client.get(reportKind, { namespace, name })
  if (object !== undefined) caches.reports.learn(object)
  const live: Seen = {
    ...seen,
    isLive: true,
    report: readable(object, reportOf),
    holds: await recallHolds(seen, world),
  }
  return settle(decide(live), live, world)
}

/** All there are, to look through every hold; but where the claim says which address it is, that one will do. */
async function recallHolds({ claim, pool }: Seen, world: CapiWorld): Promise<readonly Hold[]> {
  const ip = parseIP(claim.choice ?? '')
  if (isMalformed(ip) || pool === undefined || isMalformed(pool)) return askHoldsOf(claim.metadata.uid, world)
  const name = holdName(pool.space, firstIP({ ip, bits: pool.bits }))
  const hold = readable(await refresh(world.client, holdKind, world.caches.holds, { name }), holdOf)
  return hold?.claim.uid === claim.metadata.uid ? [hold] : []
}
