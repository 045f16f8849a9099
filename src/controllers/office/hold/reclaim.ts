// hold.reclaim - no hold outlives its claim, and no quarantine its time.
//
//   the hold is   and its claim                                          then
//   held          lives, and chose this address or nothing yet           hands off
//   held          is gone, or has another uid, or chose another address  it is a stray: T10 quarantine
//   held          has another name, and this uid                         hands off: a user has edited the hold
//   quarantined   -                                                      T12 expire, when its time is over; if its pool is
//                                                                        gone, that may be earlier (quarantine.ts)
//   of a MAC      is of any kind, and no desk that is on holds MACs      hands off
//
// "Gone" is what the API server answers, never what a cache does not know: the cache may be older than the hold. What a claim
// chose is for the desk of its kind to say (claim-kind.ts); a hold of a kind that no desk here serves is left alone.

import { isMalformed, type Malformed } from '../../../ip/malformed.ts'
import { keyOfRef, refOf } from '../../../kube/object.ts'
import { done, type PassResult, requeueAfter } from '../../../runtime/reconciler.ts'
import type { ClaimKind, ClaimKinds } from '../claim-kind.ts'
import type { Note } from '../journal.ts'
import type { Ledger } from '../ledger.ts'
import { holdOf, macHoldOf } from '../parsed.ts'
import { isInScope, isInView, type Scope } from '../scope.ts'
import type { Sources } from '../sources.ts'
import type { Views } from '../views.ts'
import { restEndsMs, restSecondsOf } from './quarantine.ts'
import { type AnyHold, expireHold, type HoldWorld, isOfAddress, quarantineHold, shortenRest } from './steps.ts'

/** Wall clocks of processes differ a little; nothing is freed early because of it. */
const slackMs = 1_000

export interface ReclaimWorld extends HoldWorld {
  readonly caches: Views
  readonly sources: Pick<Sources, 'poolsOf' | 'poolsIn' | 'whySpaceRefused'>
  readonly claimKinds: Pick<ClaimKinds, 'of' | 'holdMACs'>
  readonly ledger: Pick<Ledger, 'shownAt'>
  readonly scope: Scope
  /** Of the pass that runs. */
  readonly note: Note
}

export async function reconcileHold(name: string, world: ReclaimWorld): Promise<PassResult> {
  const object = world.caches.holds.get(name)
  return object === undefined ? done() : reconcile(holdOf(object), world)
}

export async function reconcileMACHold(name: string, world: ReclaimWorld): Promise<PassResult> {
  const object = world.caches.macHolds.get(name)
  // Where no desk that is on brings the permission to write them, they rest until one does.
  return object === undefined || !world.claimKinds.holdMACs ? done() : reconcile(macHoldOf(object), world)
}

/** It is held, and a claim that stands by it is known: nothing is to be asked. */
export function isHoldSettled(
  name: string,
  { caches, claimKinds }: Pick<ReclaimWorld, 'caches' | 'claimKinds'>,
): boolean {
  const object = caches.holds.get(name)
  const hold = object && holdOf(object)
  return hold !== undefined && !isMalformed(hold) && hold.state === 'held' && isStoodBy(hold, claimKinds.of(hold))
}

/** If the claim in the cache stands by this hold, the API server need not be asked. */
function isStoodBy(hold: AnyHold, claims: ClaimKind | undefined): boolean {
  const { namespace, name, uid } = hold.claim
  const known = claims?.cache.get(keyOfRef({ namespace, name }))
  return known?.metadata.uid === uid && claims?.standsBy(known, hold) === true
}

async function reconcile(hold: AnyHold | Malformed, world: ReclaimWorld): Promise<PassResult> {
  if (isMalformed(hold)) return done()
  if (hold.state === 'quarantined') return settleQuarantine(hold, world)
  const claims = world.claimKinds.of(hold)
  if (claims === undefined || !isInView(world.scope, hold.claim.namespace)) return done()
  if (!(await isStray(hold, claims, world))) return done()
  await quarantineHold(world, hold, restSecondsOf(hold, world))
  world.note({ what: 'stray hold', ...noteOf(hold) })
  return done()
}

async function settleQuarantine(hold: AnyHold, world: ReclaimWorld): Promise<PassResult> {
  const endMs = restEndsMs(hold, world)
  if (endMs < (Date.parse(hold.until ?? '') || 0)) {
    // Its own event brings the next pass.
    await shortenRest(world, hold, endMs)
    return done()
  }
  const leftMs = endMs + (hold.until === hold.since ? 0 : slackMs) - world.clock.now()
  if (leftMs > 0) return requeueAfter(leftMs)
  await expireHold(world, hold)
  if (hold.until !== hold.since) {
    world.note({ what: 'rested', ...noteOf(hold) })
  }
  return done()
}

async function isStray(hold: AnyHold, claims: ClaimKind, world: ReclaimWorld): Promise<boolean> {
  const { client, scope } = world
  const { namespace, name, uid } = hold.claim
  if (isStoodBy(hold, claims)) return false
  const live = await client.get(claims.kind, { namespace, name })
  if (live === undefined || live.metadata.uid !== uid) return !(await isOfAnotherName(hold, claims, world))
  // A claim out of scope is judged by the process that serves it.
  if (!isInScope(scope, live) || claims.standsBy(live, hold)) return false
  return !(await claims.isUsed?.(live, hold, client))
}

/** The uid is what a claim is known by. One of another name that has it, and shows the address, is the holder. */
async function isOfAnotherName(hold: AnyHold, claims: ClaimKind, { client, ledger }: ReclaimWorld): Promise<boolean> {
  if (!isOfAddress(hold)) return false
  for (const { by } of ledger.shownAt(hold.space, hold.ip)) {
    const known = by.kind === claims.kind.kind ? claims.cache.get(by.key) : undefined
    if (known?.metadata.uid !== hold.claim.uid) continue
    const live = await client.get(claims.kind, refOf(known))
    if (live?.metadata.uid === hold.claim.uid) return claims.standsBy(live, hold)
  }
  return false
}

function noteOf(hold: AnyHold) {
  const { claim, pool, space } = hold
  return { claim, pool, space, ...(isOfAddress(hold) ? { ip: hold.ip } : { mac: hold.mac }) }
}
