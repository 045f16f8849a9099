// What is to be done for a node on a migration network: one pure function from what was seen to a plan. The rules, in the order in
// which they count:
//
//   it holds two addresses of one family there      ask the API server; the later one goes to rest
//   the network is gone                             ask the API server; what is held there goes to rest
//   the network gives nothing out, or nodes like
//   this one are not to migrate over it             nothing: it keeps what it has
//   it holds one of each family                     nothing; a hold that a process was about to give back is renewed
//   it does not                                     ask the API server; take what it lacks, or wait, and let go of the rest
//
// Nothing is stored on the node itself: what it holds is its choice. So two processes may each take an address for it: by the same
// order the same one stays (I2). KubeVirt is not told of the network before that, or the node has the first of them already.
//
// A node that moves to another network keeps its address where that one gives it out; else it gets the lowest one that no other node
// has on any of these networks: for a while both are on one wire.

import { firstOfEachPart, type Hold } from '../../../api/hold.ts'
import { type Pool, poolKey } from '../../../api/pool.ts'
import { type IP, toIPText } from '../../../ip/address.ts'
import { type Range, rangeOfIP } from '../../../ip/range.ts'
import { toRangeSet } from '../../../ip/range-set.ts'
import { poolSetOf, whyNotOffered } from '../../../ipam/pool-set.ts'
import { refuse } from '../../../ipam/refusal.ts'
import { holdFinalizer } from '../../office/hold/steps.ts'
import type { PartTaking } from '../../office/hold/take-all.ts'
import { needOf } from '../../office/need.ts'
import { chooseParts, type PartAsk, type RefusedParts } from '../../office/parts.ts'
import { isSame, missingOf, partOf, type Seen } from './observe.ts'

export type Plan =
  /** Of what a cache says to be missing, or too much, the API server may know more. */
  | { readonly kind: 'nothing' | 'ask' }
  | { readonly kind: 'rest'; readonly why: 'surplus' | 'network gone'; readonly holds: readonly Hold[] }
  | { readonly kind: 'take'; readonly parts: readonly PartTaking[] }
  /** `letGo` is what it holds of what it cannot have whole. */
  | { readonly kind: 'wait'; readonly refusal: Omit<RefusedParts, 'part'>; readonly letGo: readonly Hold[] }

export function decide(seen: Seen): Plan {
  const { place, pools, held, isLive } = seen
  const own = held.filter(({ pool }) => isSame(pool, place.network))
  const surplus = surplusOf(own)
  if (surplus.length > 0) return isLive ? { kind: 'rest', why: 'surplus', holds: surplus } : { kind: 'ask' }
  if (seen.network === 'unknown') return { kind: own.length > 0 ? 'ask' : 'nothing' }
  if (seen.network === 'gone') return { kind: 'rest', why: 'network gone', holds: own }
  const bare = own.filter(({ metadata }) => !metadata.finalizers.includes(holdFinalizer))
  const missing = missingOf(place.network, pools, own)
  if (!seen.isSelected || (missing.length === 0 && bare.length === 0)) return { kind: 'nothing' }
  if (!isLive) return { kind: 'ask' }
  if (missing.length === 0) return { kind: 'take', parts: bare.map(hold => ({ how: 'found', spec: hold, hold })) }
  const plan = choose(missing, seen)
  if (plan.kind === 'take') return plan
  // What virt-handler uses stays: it had both, and one was taken away by hand.
  return { kind: 'wait', refusal: plan, letGo: seen.isInUse ? [] : own }
}

function surplusOf(own: readonly Hold[]): Hold[] {
  const staying = firstOfEachPart(own)
  return own.filter(hold => !staying.includes(hold))
}

function choose(missing: readonly Pool[], seen: Seen): Extract<Plan, { kind: 'take' }> | Omit<RefusedParts, 'part'> {
  const { place, pools, applicant, held, ledger } = seen
  const asks: PartAsk[] = []
  const usedUp: Pool[] = []
  for (const pool of pools) {
    const ask = { part: partOf(place.network, pool), pool }
    const ip = missing.includes(pool) ? addressFor(pool, seen) : undefined
    if (ip !== undefined) asks.push({ ...ask, requested: toIPText(ip) })
    else asks.push(ask)
    if (ip === undefined && missing.includes(pool)) usedUp.push(pool)
  }
  if (usedUp.length === 0) return chooseParts(asks, applicant, held, ledger)
  const families = usedUp.map(({ family }) => `IPv${family} `)
  const which = pools.length > 1 ? families.join('and ') : ''
  const message = `no ${which}address of ${place.network.name} is free: widen its range, or exclude less of it`
  const refusal = refuse('PoolExhausted', message)
  return { ...refusal, needs: usedUp.map(pool => needOf(refusal.reason, poolKey(pool), undefined)) }
}

/** Its own on another of the networks, or the lowest; undefined where none is free. */
function addressFor(pool: Pool, { networks, held, taken, ledger }: Seen): IP | undefined {
  const { family } = pool
  const free = (part: Partial<Pool>) => ledger.indexOf(pool.space).lowestFree(poolSetOf({ ...pool, ...part }))
  const own = held.filter(hold => hold.ip.family === family && networks.some(network => isSame(hold.pool, network)))
  for (const { ip } of own) {
    const kept = offers(pool, ip) ? free({ addresses: toRangeSet(family, [rangeOfIP(ip)]) }) : undefined
    if (kept !== undefined) return kept
  }
  return free({ excluded: toRangeSet(family, [...pool.excluded.ranges, ...ofFamily(family, taken)]) })
}

const offers = (pool: Pool, ip: IP): boolean => whyNotOffered(pool, ip) === undefined

const ofFamily = (family: Pool['family'], ranges: readonly Range[]): Range[] =>
  ranges.filter(range => range.family === family)
