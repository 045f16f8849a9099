// What is to be done for a claim: one pure function from what was seen to a plan. The rules, in the order in which they count:
//
//   the claim is another controller's                        leave it alone
//   it is deleted, without our finalizer                     leave it alone
//   it is deleted, and held up (paused, finalizers)          leave it alone, and say why in an event
//   it is deleted                                            release
//   its IPAddress was deleted by clusterctl, and is left     let that go: the move cannot be repeated while it is there
//   it leaves with clusterctl, and so did its IPAddress      leave it alone, for some minutes
//   it, its Cluster or its pool is paused                    leave it alone, and say why in an event
//   its pool is gone or unreadable, and it was served        leave it alone: a pool takes nothing away by going;
//                                                            or refuse, if its IPAddress is gone too
//   its pool is gone or unreadable                           refuse
//   the space of its pool is not decided yet                 refuse; or leave it alone, if it was served
//   it was bound and has lost its choice                     recall: ask the API server what it had
//   its choice is not proven, and its IPAddress shows another, or it may not have it, or it says another subnet than its pool
//                                                            recall; then refuse. It waits for that very address
//   something remembers its address                          keep, bind to that address, or refuse
//   nothing does                                             choose an address of the pool, or refuse
//
// Any user who may write a claim can write a choice on it. It is proven by a hold in this claim's uid, or by an IPAddress of
// its name that belongs to it: neither is a tenant's to make (webhooks/author.ts). An unproven one is a wish.
//
// The same input gives the same plan, to the desk (binding.ts) and to `mooring adopt` (src/adopt).

import type { Hold } from '../../api/hold.ts'
import { type IPAddress, subnetOfPool, toSubnetText } from '../../api/ip-address.ts'
import { claimReference, type IPAddressClaim } from '../../api/ip-address-claim.ts'
import { readyCondition, releaseAddressFinalizer } from '../../api/names.ts'
import type { Pool } from '../../api/pool.ts'
import { type IP, isSameIP, parseIP, toIPText } from '../../ip/address.ts'
import { firstIP } from '../../ip/cidr.ts'
import { isMalformed, type Malformed } from '../../ip/malformed.ts'
import { blockText, poolMalformed, type Refusal, spaceUndecided } from '../../ipam/refusal.ts'
import { type Block, wasLeftBy } from '../../ipam/space-index.ts'
import { isKeptByOthers } from '../../kube/finalizers.ts'
import { holdFinalizer } from '../office/hold/steps.ts'
import { isMarkedForMove } from './moved.ts'
import type { Seen } from './observe.ts'
import { hasOurFinalizer, isAdopted, isOwnOrUnowned, isSamePool, ownerOf, shows, wasBound } from './ownership.ts'
import {
  heldByAnother,
  lostAddress,
  namedPoolNotFound,
  otherSubnet,
  reportLost,
  reportShowsOther,
  severalHolds,
  shownByAnother,
  unreadableChoice,
  wishHeldByAnother,
  wrongFamily,
} from './refusals.ts'

export type Plan =
  /** Nothing of it is written. With `why`, an event says what it waits for. With `forMs`, it is looked at again then. */
  | { readonly kind: 'leave alone'; readonly why?: HandsOff; readonly forMs?: number }
  /** The claim once had an address and does not say which, or says one that nothing proves: ask the API server first. */
  | { readonly kind: 'recall' }
  /**
   * With `held`, the hold that is the reason: it is read again from the API server before the refusal is written. With `wants`,
   * the address that would help. With `unsaidUntilMs`, it is not written before that time: by then it may be over. With `inTheWay`,
   * the IPAddress of an earlier claim of the name goes first, if that claim is gone: it may show the very address.
   */
  | {
      readonly kind: 'refuse'
      readonly refusal: Refusal
      readonly held?: Hold
      readonly wants?: Block
      readonly unsaidUntilMs?: number
      readonly inTheWay?: IPAddress
    }
  /** clusterctl moved the claim away, and did not get as far as taking our finalizer off its IPAddress. */
  | { readonly kind: 'let report go'; readonly report: IPAddress }
  /** Everything is in place, and the status says so. */
  | { readonly kind: 'keep' }
  /** With `isOfferAsked`, the claim has it because its pool offers it to its namespace: that is read again before the write. */
  | {
      readonly kind: 'bind'
      readonly pool: Pool
      readonly ip: IP
      readonly by: Taking
      readonly isOfferAsked: boolean
    }
  /** The claim gives its address back. Undefined where the pool is gone or cannot be read. */
  | { readonly kind: 'release'; readonly pool: Pool | undefined }

/** Why nothing is done for a claim, whatever there is to do. */
export type HandsOff = 'ClaimPaused' | 'ClusterPaused' | 'ClusterNotFound' | 'PoolPaused' | 'KeptByOthers'

/**
 * How the hold becomes the claim's: made, for an address that the pool chose or the claim arrived with; won back; found in
 * the claim's name; or known to be the claim's since the choice was stored.
 */
export type Taking =
  | { readonly how: 'take' | 'arrive' }
  | { readonly how: 'regain' | 'found' | 'chosen'; readonly hold: Hold }

export function decide(seen: Seen): Plan {
  const plan = decideAll(seen)
  if (plan.kind !== 'refuse') return plan
  const inTheWay = reportOfAnother(seen)
  const unsaidUntilMs = plan.refusal.reason === 'SpaceUndecided' ? decidedBy(seen.pool) : undefined
  return { ...plan, ...(inTheWay && { inTheWay }), ...(unsaidUntilMs !== undefined && { unsaidUntilMs }) }
}

/** The space of a pool is decided moments after the pool was made: that is not worth a write, which would hold up what follows. */
const decisionMs = 5_000

function decidedBy(pool: Seen['pool']): number | undefined {
  return pool === undefined || isMalformed(pool) ? undefined : Date.parse(pool.metadata.creationTimestamp) + decisionMs
}

function reportOfAnother({ claim, report, pool }: Seen): IPAddress | undefined {
  const known = pool === undefined || isMalformed(pool) ? undefined : pool
  return report === undefined || isOwnOrUnowned(report, claim, known) ? undefined : report
}

function decideAll(seen: Seen): Plan {
  const { claim, pool, report } = seen
  if (!seen.isInScope) return { kind: 'leave alone' }
  if (report?.isDeleting === true && isMarkedForMove(report)) return { kind: 'let report go', report }
  if (claim.isDeleting) return decideRelease(seen)
  if (seen.movingMs > 0 && seen.report === undefined && saysReady(claim))
    return { kind: 'leave alone', forMs: seen.movingMs }
  const handsOff = whyHandsOff(seen)
  if (handsOff !== undefined) return { kind: 'leave alone', why: handsOff }
  if (pool === undefined || isMalformed(pool)) return decideWithoutPool(seen, pool)
  if (pool.isPaused) return { kind: 'leave alone', why: 'PoolPaused' }
  if (pool.space === '')
    return saysReady(claim)
      ? { kind: 'leave alone' }
      : { kind: 'refuse', refusal: seen.spaceRefusal ?? spaceUndecided(pool.identity) }
  if (claim.choice === undefined && wasBound(claim) && !seen.isLive) return { kind: 'recall' }
  return decideAddress(seen, pool)
}

/** Rule 10: a pool that is gone, or cannot be read, takes nothing away from a claim that was served. */
function decideWithoutPool(seen: Seen, pool: Malformed | undefined): Plan {
  const { claim, identity } = seen
  const refusal =
    pool === undefined ? (seen.spaceRefusal ?? namedPoolNotFound(identity)) : poolMalformed(identity, pool.malformed)
  if (claim.addressName === '') return { kind: 'refuse', refusal }
  if (seen.report !== undefined) return saysReady(claim) ? { kind: 'leave alone' } : { kind: 'refuse', refusal }
  // Without the pool, no IPAddress is made anew.
  if (saysReady(claim) && !seen.isLive) return { kind: 'recall' }
  return { kind: 'refuse', refusal: reportLost(claim, refusal) }
}

// --- the way out ---

function decideRelease(seen: Seen): Plan {
  const { claim } = seen
  if (!hasOurFinalizer(claim)) return { kind: 'leave alone' }
  const pool = seen.pool === undefined || isMalformed(seen.pool) ? undefined : seen.pool
  const why = whyHeldUp(seen, pool)
  return why === undefined ? { kind: 'release', pool } : { kind: 'leave alone', why }
}

/** A Cluster that is gone holds nothing up: it went before its claims. */
function whyHeldUp(seen: Seen, pool: Pool | undefined): HandsOff | undefined {
  if (isKeptByOthers(seen.claim, releaseAddressFinalizer)) return 'KeptByOthers'
  const why = whyHandsOff(seen)
  if (why !== undefined && why !== 'ClusterNotFound') return why
  return pool?.isPaused === true ? 'PoolPaused' : undefined
}

function whyHandsOff({ claim, cluster }: Pick<Seen, 'claim' | 'cluster'>): HandsOff | undefined {
  if (claim.isPaused) return 'ClaimPaused'
  if (cluster === 'paused') return 'ClusterPaused'
  return cluster === 'missing' ? 'ClusterNotFound' : undefined
}

// --- the address ---

function decideAddress(seen: Seen, pool: Pool): Plan {
  const { claim } = seen
  const witness = witnessOf(seen, pool)
  if (witness === 'several') return { kind: 'refuse', refusal: severalHolds() }
  if (witness === 'unreadable') return { kind: 'refuse', refusal: unreadableChoice(claim) }
  if (witness !== undefined) return decideWitnessed(seen, pool, firstIP({ ip: witness, bits: pool.bits }))
  if (claim.addressName !== '') return { kind: 'refuse', refusal: lostAddress(claim) }
  if (seen.spaceRefusal !== undefined) return { kind: 'refuse', refusal: seen.spaceRefusal }
  const choice = seen.ledger.choose(pool)
  if (choice.kind === 'refused') return refuseWish(seen, pool, choice)
  const hold = seen.ledger.holdAt(pool, choice.ip)
  if (choice.kind === 'retake' && hold !== undefined)
    return { kind: 'bind', pool, ip: choice.ip, by: { how: 'regain', hold }, isOfferAsked: true }
  return { kind: 'bind', pool, ip: choice.ip, by: { how: 'take' }, isOfferAsked: true }
}

function decideWitnessed(seen: Seen, pool: Pool, ip: IP): Plan {
  const { claim } = seen
  const wants = { ip, bits: pool.bits }
  const report = ownReportOf(seen, pool)
  // Rule 4: the IPAddress shows another address than the choice, or one of another pool. No other write follows.
  if (report !== undefined && !(shows(report, wants) && isSamePool(report, claim)))
    return { kind: 'refuse', refusal: reportShowsOther(report, toIPText(ip)), wants }
  // Rule 2: Mooring, or a user who may make holds, gave the claim this address.
  const isProven = report !== undefined || hasHoldOf(seen, pool, ip)
  if (claim.choice === undefined || isProven) return bindTo(seen, pool, ip, false)
  const refusal = whyNotAsWish(seen, pool, ip)
  if (refusal === undefined) return bindTo(seen, pool, ip, true)
  // A cache that is late may lack the hold of a claim that is bound.
  return seen.isLive ? { kind: 'refuse', refusal, wants } : { kind: 'recall' }
}

function hasHoldOf({ holds }: Seen, { space, bits }: Pool, ip: IP): boolean {
  return holds.some(hold => hold.space === space && hold.bits === bits && isSameIP(hold.ip, ip))
}

/** The IPAddress of the claim's name, if it belongs to the claim or to none. */
function ownReportOf({ claim, report }: Seen, pool: Pool): IPAddress | undefined {
  return report !== undefined && isOwnOrUnowned(report, claim, pool) ? report : undefined
}

/**
 * Why the claim may not have the address that it chose and that nothing proves. A claim that clusterctl moves comes before its
 * IPAddress, and says which subnet that has. Where its pool has another by now, the claim waits: an IPAddress made here would say
 * the wrong one, and the API server would refuse the one that clusterctl brings under the same name.
 */
function whyNotAsWish(seen: Seen, pool: Pool, ip: IP): Refusal | undefined {
  const { claim, spaceRefusal, ledger } = seen
  const refusal = spaceRefusal ?? ledger.whyNotForClaim(pool, ip)
  if (refusal !== undefined || claim.subnet === undefined) return refusal
  const subnet = toSubnetText(subnetOfPool(pool))
  return claim.subnet === subnet ? undefined : otherSubnet(claim.subnet, subnet, pool.identity)
}

/** Rule 2: what remembers the claim's address. The choice, then an IPAddress that names it or no claim, then a hold. */
function witnessOf(seen: Seen, pool: Pool): IP | 'unreadable' | 'several' | undefined {
  const { claim, holds, isLive } = seen
  if (claim.choice !== undefined) return readable(claim.choice)
  const report = ownReportOf(seen, pool)
  if (report !== undefined) return readable(report.address)
  const [first, ...others] = holds.filter(hold => hold.state === 'held')
  // Rule 3: of a claim that was never bound any of them will do; of one that was, it is not known which it had.
  return others.length > 0 && isLive ? 'several' : first?.ip
}

function readable(text: string): IP | 'unreadable' {
  const ip = parseIP(text)
  return isMalformed(ip) ? 'unreadable' : ip
}

function bindTo(seen: Seen, pool: Pool, ip: IP, isOfferAsked: boolean): Plan {
  const { claim, ledger } = seen
  if (ip.family !== pool.family) return { kind: 'refuse', refusal: wrongFamily(toIPText(ip)) }
  const text = blockText({ ip, bits: pool.bits })
  const hold = ledger.holdAt(pool, ip)
  const isHeld = hold?.state === 'held'
  if ((!isHeld || claim.choice === undefined) && ledger.isDisputed(pool, ip, hold)) {
    return { kind: 'refuse', refusal: shownByAnother(text), wants: { ip, bits: pool.bits } }
  }
  if (hold === undefined && seen.spaceRefusal !== undefined) return { kind: 'refuse', refusal: seen.spaceRefusal }
  if (hold === undefined) return { kind: 'bind', pool, ip, by: { how: 'arrive' }, isOfferAsked }
  if (hold.claim.uid === claim.metadata.uid && hold.state === 'held') {
    if (claim.choice === undefined || !hasOurFinalizer(claim) || !hold.metadata.finalizers.includes(holdFinalizer))
      return { kind: 'bind', pool, ip, by: { how: 'found', hold }, isOfferAsked }
    if (isComplete(seen, pool, hold)) return { kind: 'keep' }
    return { kind: 'bind', pool, ip, by: { how: 'chosen', hold }, isOfferAsked }
  }
  if (hold.state === 'quarantined' && isFormerHolder(seen, hold))
    return { kind: 'bind', pool, ip, by: { how: 'regain', hold }, isOfferAsked }
  return { kind: 'refuse', refusal: heldByAnother(text, hold, claim), held: hold, wants: hold }
}

/**
 * Its own uid is there where a user has edited the rest of the hold. A claim that comes back by a move brings its IPAddress,
 * which no tenant can make: its namespace may have been deleted, and made anew, meanwhile.
 */
function isFormerHolder({ claim, namespaceUID, report }: Seen, hold: Hold): boolean {
  if (hold.claim.uid === claim.metadata.uid) return true
  const isOwned = report?.metadata.ownerReferences.some(({ uid }) => uid === claim.metadata.uid) === true
  const isMovedBack = isOwned && shows(report, hold) && isSamePool(report, claim)
  return wasLeftBy(hold, claimReference(claim, isMovedBack ? hold.claim.namespaceUID : namespaceUID), ownerOf(claim))
}

/** Of an address that it asked for and another claim has, the refusal says what its author may know. */
function refuseWish({ claim, ledger }: Seen, pool: Pool, refusal: Refusal): Plan {
  const ip = parseIP(claim.requested?.split('/', 1)[0] ?? '')
  if (isMalformed(ip) || ip.family !== pool.family) return { kind: 'refuse', refusal }
  const wants = { ip, bits: pool.bits }
  const hold = ledger.holdAt(pool, ip)
  const isTaken = refusal.reason === 'AddressInUse' || refusal.reason === 'AddressQuarantined'
  if (!isTaken || hold === undefined) return { kind: 'refuse', refusal, wants }
  return { kind: 'refuse', refusal: wishHeldByAnother(blockText(wants), refusal.reason, hold, claim), wants }
}

function isComplete({ claim, report }: Seen, pool: Pool, block: Block): boolean {
  if (report === undefined || !isAdopted(report, claim, pool) || !shows(report, block)) return false
  return claim.addressName === report.metadata.name && saysReady(claim)
}

/** It was served, and says so. */
export function saysReady({ addressName, conditions }: IPAddressClaim): boolean {
  return addressName !== '' && conditions.some(({ type, status }) => type === readyCondition && status === 'True')
}
