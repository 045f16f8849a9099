// The status of an IPAMClaim tells the latest attempt, also when it has its addresses: both conditions, and which pod runs its
// machine now. Said once: the same again is no write.

import { setCondition } from '../../../api/condition.ts'
import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import { timestamp } from '../../../kube/timestamp.ts'
import { done, type PassResult, requeueAfter } from '../../../runtime/reconciler.ts'
import { ipamClaims } from '../kinds.ts'
import type { VMWorld } from '../world.ts'
import type { Seen } from './observe.ts'
import type { Refused } from './plan.ts'
import { type Status, storeStatus } from './steps.ts'
import { factsOf, type Served, wordsWhenServed } from './told.ts'
import { type Words, wordsOfRefusal } from './words.ts'

/** T4 and T7; afterwards only what has changed about its pods. */
export async function tellServed(
  world: VMWorld,
  { claim, holder, places }: Served,
  ips: readonly string[],
): Promise<void> {
  const words = wordsWhenServed(ips, { holder, places })
  const status = statusWith(world, claim, holder.pod, 'True', words, ips)
  if (isSaid(claim, status)) return
  await storeStatus(world, claim, status)
  if (claim.ips.length === 0) event(world, claim, 'Normal', words)
}

export async function tellWaits(world: VMWorld, seen: Seen, refusal: Refused): Promise<PassResult> {
  const { claim, holder, source } = seen
  if (isRestOver(seen, refusal, world.clock.now())) return done()
  const words = wordsOf(refusal, holder)
  const status = statusWith(world, claim, holder.pod, 'False', words, claim.ips)
  if (isSaid(claim, status)) return done()
  // A second process with another view may overwrite this. It is not written again at once: by then one of the two caches is newer.
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

/**
 * The rest of what it waits for is over: its hold goes in a moment, which wakes the claim. On a network without quarantine that is so of
 * every release, and the claim would be told for nothing.
 */
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
