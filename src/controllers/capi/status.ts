// The status of a claim: one condition, `Ready`, with the reasons that Cluster API's dashboards know, and a sentence that says
// what to do. A status that is there already is not written again.

import { setCondition } from '../../api/condition.ts'
import type { Hold } from '../../api/hold.ts'
import type { IPAddressClaim } from '../../api/ip-address-claim.ts'
import { pausedAnnotation, readyCondition } from '../../api/names.ts'
import type { Identity } from '../../api/object.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { quoteUnlessName } from '../../ip/object-name.ts'
import { blockText, poolText, type Refusal, type RefusalReason } from '../../ipam/refusal.ts'
import type { Block } from '../../ipam/space-index.ts'
import { timestamp } from '../../kube/timestamp.ts'
import { done, type PassResult, requeueAfter } from '../../runtime/reconciler.ts'
import { type Counted, countedPools, ofChoice, reasonsIn } from '../office/metrics.ts'
import type { Seen } from './observe.ts'
import type { HandsOff } from './plan.ts'
import { writeStatus } from './steps.ts'
import { type CapiWorld, keyOfClaim } from './world.ts'

// Reasons of a claim's Ready that Cluster API's own dashboards and consumers know.
const allocated = 'AddressAllocated'
const failed = 'AllocationFailed'
const poolNotReady = 'PoolNotReady'
const poolExhausted = 'PoolExhausted'

/** T7: the claim's status names its address. */
export async function writeAllocated(world: CapiWorld, claim: IPAddressClaim, block: Block): Promise<void> {
  const message = `${blockText(block)} is allocated`
  const isNew = await writeReady(world, claim, 'True', allocated, message, claim.metadata.name)
  if (isNew) recordEvent(world, claim, 'Normal', allocated, message)
}

/**
 * Another process may decide otherwise on its caches, and overwrite what is written here. The same refusal is not written again
 * at once: by then the caches of one of the two are newer.
 */
export async function writeRefusal(
  world: CapiWorld,
  { claim, identity, pool }: Pick<Seen, 'claim' | 'identity' | 'pool'>,
  refusal: Refusal,
  /** The hold that another claim has of what this claim says to have. */
  held?: Hold,
): Promise<PassResult> {
  const { reason } = conditionFor[refusal.reason]
  const text = `${claim.metadata.uid} ${refusal.message}`
  const patienceMs = world.recentRefusals.msUntil(text, world.clock.monotonicMs())
  if (patienceMs > 0 && !isWritten(claim, reason, refusal.message)) return requeueAfter(patienceMs)
  const isNew = await writeReady(world, claim, 'False', reason, refusal.message, claim.addressName)
  if (!isNew) return done()
  world.recentRefusals.add(text, world.clock.monotonicMs())
  recordEvent(world, claim, 'Warning', reason, refusal.message)
  if (held?.state === 'held') recordContest(world, claim, held)
  world.note({
    what: conditionFor[refusal.reason].isForAuthor ? 'refused' : 'waiting',
    claim: claim.metadata,
    pool: identity,
    ...(pool !== undefined && !isMalformed(pool) && { space: pool.space }),
    reason: refusal.reason,
    message: refusal.message,
  })
  return done()
}

/** An event on the claim that has the hold: one of the two is wrong, and only users know which. */
function recordContest({ caches, recorder }: CapiWorld, { metadata }: IPAddressClaim, held: Hold): void {
  const { namespace, name } = held.claim
  const about = caches.claims.get(`${namespace}/${name}`)
  // It is gone, or what has its name now is the claim that waits.
  if (about === undefined || about.metadata.uid !== held.claim.uid) return
  const other = metadata.namespace === namespace ? `claim ${metadata.name}` : 'a claim of another namespace'
  const note = `${other} says that ${blockText(held)} is its own, and waits for it: delete the one that is wrong`
  recorder.event({ about, type: 'Warning', reason: 'AddressContested', action: 'Bind', note })
}

/** How a refusal is written, reason by reason. */
interface RefusalCondition {
  /** Of the claim's condition. */
  readonly reason: string
  /** Whether only another wish can help: no release and no change of the pool that its administrator may make any day. */
  readonly isForAuthor: boolean
}

const waits = (reason: string): RefusalCondition => ({ reason, isForAuthor: false })
const isWrong: RefusalCondition = { reason: failed, isForAuthor: true }

const conditionFor: Readonly<Record<RefusalReason, RefusalCondition>> = {
  PoolNotFound: waits(poolNotReady),
  PoolMalformed: waits(poolNotReady),
  PoolDeleting: waits(poolNotReady),
  PoolPaused: waits(poolNotReady),
  NamespaceNotAllowed: waits(failed),
  QuotaReached: waits(failed),
  RestQuotaReached: waits(failed),
  PoolExhausted: waits(poolExhausted),
  NotAnAddress: isWrong,
  NotCanonical: isWrong,
  WrongFamily: isWrong,
  AddressOutOfRange: waits(failed),
  AddressExcluded: waits(failed),
  AddressReserved: waits(failed),
  AddressDraining: waits(failed),
  AddressQuarantined: waits(failed),
  AddressInUse: waits(failed),
  RequestsConflict: isWrong,
  RequestMalformed: isWrong,
  MACInUse: waits(failed),
  MACQuarantined: waits(failed),
  MACReserved: waits(failed),
  SpaceNotOffered: waits(poolNotReady),
  SpaceUndecided: waits(poolNotReady),
  KindNotRead: waits(poolNotReady),
  // No claim of Cluster API names a network.
  NetworkNotFound: waits(poolNotReady),
  NetworkMalformed: waits(poolNotReady),
  NetworkNotOffered: waits(poolNotReady),
  NetworkDiffers: waits(poolNotReady),
}

/** The reasons of networks, MACs and requests of virtual machines are none of these; of a pool that is paused no claim is told. */
export const counted: Counted = {
  decisions: ['bound', 'adopted', 'restored', 'waiting', 'refused', 'lost race', 'released', 'stray report'],
  sources: countedPools,
  reasons: reasonsIn({
    ...ofChoice,
    PoolNotFound: true,
    PoolMalformed: true,
    PoolDeleting: true,
    PoolPaused: false,
    SpaceNotOffered: true,
    SpaceUndecided: true,
    QuotaReached: true,
    RestQuotaReached: true,
    AddressDraining: true,
    RequestMalformed: false,
    MACInUse: false,
    MACQuarantined: false,
    MACReserved: false,
    NetworkNotFound: false,
    NetworkMalformed: false,
    NetworkNotOffered: false,
    NetworkDiffers: false,
  }),
}

/** Of a claim that was there before this process: the process before it recorded the event. */
export const recordedBefore = 'recorded before'

/**
 * Nothing is written to a claim that is paused, or whose Cluster is not there: another process may be moving it. An event says
 * why it waits, once for each reason.
 */
export function recordHandsOff(world: CapiWorld, claim: IPAddressClaim, pool: Identity, why: HandsOff): void {
  const key = keyOfClaim(claim)
  const text = `${claim.metadata.uid} ${why} ${claim.isDeleting}`
  const last = world.leftAlone.get(key)
  if (last === text) return
  world.leftAlone.set(key, text)
  const message = handsOffText(claim, pool, why)
  if (last !== recordedBefore) recordEvent(world, claim, why === 'ClusterNotFound' ? 'Warning' : 'Normal', why, message)
  world.note({ what: 'left alone', claim: claim.metadata, pool, reason: why, message })
}

function handsOffText(claim: IPAddressClaim, pool: Identity, why: HandsOff): string {
  const cluster = quoteUnlessName(claim.clusterName)
  const then = claim.isDeleting ? 'the address of this claim is given back' : 'this claim is served'
  switch (why) {
    case 'ClaimPaused':
      return `the claim is paused: ${then} when its annotation ${pausedAnnotation} is removed`
    case 'ClusterPaused':
      return `Cluster ${cluster} is paused: ${then} when it goes on`
    case 'ClusterNotFound':
      return `Cluster ${cluster} does not exist: ${then} when it does`
    case 'PoolPaused':
      return `${poolText(pool)} is paused: ${then} when the annotation ${pausedAnnotation} of the pool is removed`
    case 'KeptByOthers':
      return `others still need the claim: ${then} when their finalizers are gone`
  }
}

function isWritten({ conditions }: IPAddressClaim, reason: string, message: string): boolean {
  return conditions.some(one => one.type === readyCondition && one.reason === reason && one.message === message)
}

async function writeReady(
  world: CapiWorld,
  claim: IPAddressClaim,
  status: 'True' | 'False',
  reason: string,
  message: string,
  addressName: string,
): Promise<boolean> {
  // In v1beta1, older definitions of conditions have no observedGeneration: it would be dropped, and written again and again.
  const generation = claim.version === 'v1beta1' ? 0 : claim.metadata.generation
  const fact = {
    type: readyCondition,
    status,
    reason,
    message,
    ...(generation > 0 && { observedGeneration: generation }),
  }
  const conditions = setCondition(claim.conditions, fact, timestamp(world.clock))
  if (conditions === claim.conditions && addressName === claim.addressName) return false
  await writeStatus(world, claim, { addressName, conditions })
  return true
}

function recordEvent(
  world: CapiWorld,
  claim: IPAddressClaim,
  type: 'Normal' | 'Warning',
  reason: string,
  note: string,
): void {
  const about = world.caches.claims.get(`${claim.metadata.namespace}/${claim.metadata.name}`)
  if (about !== undefined) world.recorder.event({ about, type, reason, action: 'Bind', note })
}
