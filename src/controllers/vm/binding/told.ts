// What an IPAMClaim that has its addresses is told: from what was seen to its conditions, and whether it says so already.

import { type ConditionFact, hasCondition } from '../../../api/condition.ts'
import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import { ipAllocatedCondition, ipsAllocatedCondition } from '../../../api/names.ts'
import type { Pool } from '../../../api/pool.ts'
import { parseCIDR } from '../../../ip/cidr.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { hasIP } from '../../../ip/range-set.ts'
import type { Seen } from './observe.ts'
import { type Words, wordsOfSuccess } from './words.ts'

export type Served = Pick<Seen, 'claim' | 'holder' | 'places'>

/** Whether the claim says already what it would be told: nothing is made for it, since after a start all claims are asked. */
export function isTold({ claim, holder, places }: Served): boolean {
  if (holder.pod !== undefined && holder.pod !== claim.ownerPod) return false
  const words = wordsWhenServed(claim.ips, { holder, places })
  return factsOf(claim, 'True', words).every(fact => hasCondition(claim.conditions, fact))
}

export const wordsWhenServed = (ips: readonly string[], { holder, places }: Omit<Served, 'claim'>): Words =>
  wordsOfSuccess(ips, outsideOf(ips, places), holder)

/** A network may be made anew with another subnet. While there is none, nothing is said: it may come back. */
function outsideOf(ips: readonly string[], places: readonly Pool[]): readonly string[] {
  if (places.length === 0) return []
  return ips.filter(text => {
    const cidr = parseCIDR(text)
    if (isMalformed(cidr)) return false
    const pool = places.find(({ family }) => family === cidr.ip.family)
    return pool === undefined || !hasIP(pool.addresses, cidr.ip)
  })
}

export function factsOf(
  { metadata: { generation: observedGeneration } }: IPAMClaim,
  status: 'True' | 'False',
  { ipsAllocated, ipAllocated, message }: Words,
): readonly ConditionFact[] {
  return [
    { type: ipsAllocatedCondition, status, reason: ipsAllocated, message, observedGeneration },
    { type: ipAllocatedCondition, status, reason: ipAllocated, message, observedGeneration },
  ]
}
