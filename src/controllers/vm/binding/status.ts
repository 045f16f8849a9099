// The status of an IPAMClaim tells the latest attempt, also when it has its addresses: both conditions, and which pod runs its
// machine now. Said once: the same again is no write.

import { type ConditionFact, hasCondition, setCondition } from '../../../api/condition.ts'
import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import { ipAllocatedCondition, ipsAllocatedCondition } from '../../../api/names.ts'
import type { Pool } from '../../../api/pool.ts'
import { parseCIDR } from '../../../ip/cidr.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { hasIP } from '../../../ip/range-set.ts'
import { timestamp } from '../../../kube/timestamp.ts'
import { done, type PassResult, requeueAfter } from '../../../runtime/reconciler.ts'
import { ipamClaims } from '../kinds.ts'
import type { VMWorld } from '../world.ts'
import type { Seen } from './observe.ts'
import type { Refused } from './plan.ts'
import { type Status, storeStatus } from './steps.ts'
import { type Words, wordsOfRefusal, wordsOfSuccess } from './words.ts'

type Facts = Pick<Seen, 'claim' | 'holder' | 'places'>

/** T4 and T7; afterwards only what has changed about its pods. */
export async function tellServed(
  world: VMWorld,
  { claim, holder, places }: Facts,
  ips: readonly string[],
): Promise<void> {
  const words = wordsOfSuccess(ips, outsideOf(ips, places), holder)
  const status = statusWith(world, claim, holder.pod, 'True', words, ips)
  if (isSaid(claim, status)) return
  await storeStatus(world, claim, status)
  if (claim.ips.length === 0) event(world, claim, 'Normal', words)
}

/** Whether the claim says already what it would be told: nothing is made for it, since after a start all claims are asked. */
export function isTold({ claim, holder, places }: Facts): boolean {
  if (holder.pod !== undefined && holder.pod !== claim.ownerPod) return false
  const words = wordsOfSuccess(claim.ips, outsideOf(claim.ips, places), holder)
  return factsOf(claim, 'True', words).every(fact => hasCondition(claim.conditions, fact))
}

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

export async function tellWaits(world: VMWorld, seen: Seen, refusal: Refused): Promise<PassResult> {
  const { claim, holder, source } = seen
  if (isRestOver(seen, refusal, world.clock.now())) return done()
  const words = wordsOf(refusal, holder)
  const status = statusWith(world, claim, holder.pod, 'False', words, claim.ips)
  if (isSaid(claim, status)) return done()
  // A second process may see it differently, and overwrite what is said here: by the time this insists, one knows better.
  const word = `${claim.metadata.uid} ${words.message}`
  const patienceMs = world.recentRefusals.msUntil(word, world.clock.monotonicMs())
  if (patienceMs > 0) return requeueAfter(patienceMs)
  await storeStatus(world, claim, status)
  world.recentRefusals.add(word, world.clock.monotonicMs())
  const { reason } = refusal
  event(world, claim, 'Warning', words)
  world.note({ what: 'waiting', claim: claim.metadata, pool: source, reason, message: words.message })
  return done()
}

/** What it waits for is freed in a moment, which wakes it: on most networks nothing rests, and there is no need for a word. */
function isRestOver({ pools, ledger }: Seen, { reason, needs: [need] }: Refused, nowMs: number): boolean {
  if ('kind' in pools || (reason !== 'AddressQuarantined' && reason !== 'MACQuarantined')) return false
  const holds = pools.map(({ space }) => {
    if (need?.kind === 'mac') return ledger.macHoldAt(space, need.mac)
    return need?.kind === 'one' && need.block !== undefined ? ledger.holdAt(space, need.block.ip) : undefined
  })
  return holds.some(hold => hold?.state === 'quarantined' && Date.parse(hold.until ?? '') <= nowMs)
}

export function wordsOf(refusal: Refused, holder: Seen['holder']): Words {
  const [need] = refusal.needs
  return wordsOfRefusal(refusal, need?.kind === 'one' ? need.block : undefined, holder)
}

function statusWith(
  { clock }: Pick<VMWorld, 'clock'>,
  claim: IPAMClaim,
  ownerPod: string | undefined,
  status: 'True' | 'False',
  words: Words,
  ips: readonly string[],
): Status {
  const now = timestamp(clock)
  let { conditions } = claim
  for (const fact of factsOf(claim, status, words)) conditions = setCondition(conditions, fact, now)
  return { ips, ownerPod, conditions }
}

function factsOf(
  { metadata: { generation: observedGeneration } }: IPAMClaim,
  status: 'True' | 'False',
  { ipsAllocated, ipAllocated, message }: Words,
): readonly ConditionFact[] {
  return [
    { type: ipsAllocatedCondition, status, reason: ipsAllocated, message, observedGeneration },
    { type: ipAllocatedCondition, status, reason: ipAllocated, message, observedGeneration },
  ]
}

const isSaid = (claim: IPAMClaim, { ips, ownerPod, conditions }: Status): boolean =>
  conditions === claim.conditions &&
  (ownerPod === undefined || ownerPod === claim.ownerPod) &&
  ips.length === claim.ips.length &&
  ips.every((ip, at) => ip === claim.ips[at])

export function event(world: VMWorld, claim: IPAMClaim, type: 'Normal' | 'Warning', words: Words): void {
  const { namespace, name, uid } = claim.metadata
  const about = world.caches.claims.get(`${namespace}/${name}`)
  if (about?.metadata.uid !== uid || about.kind !== ipamClaims.kind) return
  world.recorder.event({ about, type, reason: words.ipsAllocated, action: 'Bind', note: words.message })
}
