// hold.reclaim - no hold outlives its claim, and no quarantine its time.
//
//   the hold is   and its claim                                          then
//   held          lives, and chose this address or nothing yet           hands off
//   held          is gone, or has another uid, or chose another address  it is a stray: T10 quarantine
//   quarantined   -                                                      T12 expire, when its time is over
//
// "Gone" is what the API server answers, never what a cache does not know: the cache may be older than the hold.

import type { Hold } from '../../api/hold.ts'
import { ipamGroup } from '../../api/names.ts'
import { isSameIP, parseIP } from '../../ip/address.ts'
import { firstIP } from '../../ip/cidr.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { after, done, type PassResult } from '../../runtime/reconciler.ts'
import { everything, isInScope, isInView, type Scope } from '../capi/scope.ts'
import { type CapiWorld, findPool } from '../capi/world.ts'
import { claims } from '../kinds.ts'
import { claimOf, holdOf } from '../parsed.ts'
import { expireHold, quarantineHold } from './steps.ts'

/** Wall clocks of processes differ a little; nothing is freed early because of it. */
const slackMs = 1_000

export async function reconcileHold(name: string, world: CapiWorld, scope = everything): Promise<PassResult> {
  const object = world.caches.holds.get(name)
  const hold = object && holdOf(object)
  if (hold === undefined || isMalformed(hold)) return done()
  if (hold.state === 'quarantined') return settleQuarantine(hold, world)
  if (hold.claim.apiGroup !== ipamGroup || hold.claim.kind !== 'IPAddressClaim') return done()
  if (!isInView(scope, hold.claim.namespace)) return done()
  if (!(await isStray(hold, world, scope))) return done()
  const pool = findPool(world.caches, hold.pool)
  await quarantineHold(world, hold, pool?.quarantineSeconds ?? 0)
  world.note({ what: 'stray hold', claim: hold.claim, pool: hold.pool, space: hold.space, ip: hold.ip })
  return done()
}

async function settleQuarantine(hold: Hold, world: CapiWorld): Promise<PassResult> {
  const untilMs = hold.until === undefined ? 0 : Date.parse(hold.until)
  const seconds = findPool(world.caches, hold.pool)?.quarantineSeconds ?? 0
  const leftMs = untilMs + (seconds === 0 ? 0 : slackMs) - world.clock.now()
  if (leftMs > 0) return after(leftMs)
  await expireHold(world, hold)
  if (hold.until !== hold.since) {
    world.note({ what: 'rested', claim: hold.claim, pool: hold.pool, space: hold.space, ip: hold.ip })
  }
  return done()
}

async function isStray(hold: Hold, world: CapiWorld, scope: Scope): Promise<boolean> {
  const { namespace, name, uid } = hold.claim
  // A claim in view that stands by this hold settles it without a question.
  const known = world.caches.claims.get(`${namespace}/${name}`)
  if (known !== undefined && standsBy(known, hold)) return false
  const live = await world.client.get(claims, { namespace, name })
  if (live === undefined || live.metadata.uid !== uid) return true
  // Whoever serves it judges it.
  return isInScope(scope, live) && !standsBy(live, hold)
}

function standsBy(object: object, hold: Hold): boolean {
  const claim = claimOf(object)
  // One that cannot be read is not ours to judge.
  if (isMalformed(claim)) return true
  if (claim.metadata.uid !== hold.claim.uid) return false
  if (claim.choice === undefined) return true
  const ip = parseIP(claim.choice)
  return !isMalformed(ip) && ip.family === hold.ip.family && isSameIP(firstIP({ ip, bits: hold.bits }), hold.ip)
}
