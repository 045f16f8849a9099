// What is to be done for a claim: observe what the caches know of it, and decide, without a write. The same view gives the
// same plan, to the desk (binding.ts) and to whoever wants to know beforehand (src/adopt).

import type { Hold } from '../../api/hold.ts'
import type { IPAddress } from '../../api/ip-address.ts'
import { claimReference, type IPAddressClaim } from '../../api/ip-address-claim.ts'
import type { Owner } from '../../api/lock.ts'
import { readyCondition } from '../../api/names.ts'
import type { Identity } from '../../api/object.ts'
import type { Pool } from '../../api/pool.ts'
import { type IP, parseIP, toIPText } from '../../ip/address.ts'
import { firstIP } from '../../ip/cidr.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { choose } from '../../ipam/choose.ts'
import { poolMalformed, poolNotFound, type Refusal, spaceUndecided } from '../../ipam/refusal.ts'
import { affinityKeys, type Block } from '../../ipam/space-index.ts'
import { holdFinalizer } from '../office/hold/steps.ts'
import type { Ledger } from '../office/ledger.ts'
import { reportOf } from '../office/parsed.ts'
import { joiningOf } from '../office/pool/joining.ts'
import { holdsOfClaim, readPool } from '../office/views.ts'
import {
  heldByAnother,
  lostAddress,
  severalHolds,
  shownByAnother,
  unreadableChoice,
  wishHeldByAnother,
  wrongFamily,
} from './refusals.ts'
import { hasOurFinalizer, isAdopted, isOursOrNobodys, shows, wasBound } from './whose.ts'
import { type CapiWorld, type ClusterState, clusterStateOf, type HandsOff, isDisputed, whyHandsOff } from './world.ts'

export interface Seen {
  readonly identity: Identity
  readonly cluster: ClusterState
  readonly pool: ReturnType<typeof readPool>
  /** Holds that name this claim's uid. */
  readonly holds: readonly Hold[]
  /** The IPAddress of the claim's name. */
  readonly report: IPAddress | undefined
  /** Holds and report are what the API server answered, not what a view shows. */
  readonly isLive?: boolean
}

export function observe(claim: IPAddressClaim, identity: Identity, { caches }: Pick<CapiWorld, 'caches'>): Seen {
  const { namespace, name, uid } = claim.metadata
  const object = caches.reports.get(`${namespace}/${name}`)
  const report = object && reportOf(object)
  return {
    identity,
    cluster: clusterStateOf(caches, claim),
    pool: readPool(caches, identity),
    holds: holdsOfClaim(caches, uid),
    report: report === undefined || isMalformed(report) ? undefined : report,
  }
}

export type Plan =
  /** Paused, waiting for a Cluster, or served by a pool that is no more: nothing of it is written. */
  | { readonly kind: 'leave alone'; readonly why?: HandsOff }
  /** The claim once had an address and does not say which: ask the API server before anything else. */
  | { readonly kind: 'recall' }
  /**
   * With `held`, the hold on whose account: it is looked at where it is kept before a word is said about it. With `wants`,
   * the address that would help.
   */
  | { readonly kind: 'refuse'; readonly refusal: Refusal; readonly held?: Hold; readonly wants?: Block }
  /** Everything is in place and said. */
  | { readonly kind: 'keep' }
  | { readonly kind: 'bind'; readonly pool: Pool; readonly ip: IP; readonly by: Taking }

/**
 * How the hold becomes ours: made, for an address that the pool chose or the claim arrived with; won back; found in our
 * name; or known to be ours since the choice was stored.
 */
export type Taking =
  | { readonly how: 'take' | 'arrive' }
  | { readonly how: 'regain' | 'found' | 'chosen'; readonly hold: Hold }

export function decide(
  claim: IPAddressClaim,
  seen: Seen,
  world: Pick<CapiWorld, 'ledger' | 'random' | 'caches'>,
): Plan {
  const { pool } = seen
  const handsOff = whyHandsOff(claim, seen)
  if (handsOff !== undefined) return { kind: 'leave alone', why: handsOff }
  // Rule 10: a pool that is gone, or cannot be read, takes nothing away from who was served.
  if ((pool === undefined || isMalformed(pool)) && saysReady(claim)) return { kind: 'leave alone' }
  if (pool === undefined) return { kind: 'refuse', refusal: poolNotFound(seen.identity) }
  if (isMalformed(pool)) return { kind: 'refuse', refusal: poolMalformed(seen.identity, pool.malformed) }
  if (pool.isPaused) return { kind: 'leave alone', why: 'PoolPaused' }
  if (pool.space === '' && saysReady(claim)) return { kind: 'leave alone' }
  if (pool.space === '') return { kind: 'refuse', refusal: whyNoSpace(pool, world.caches) }

  if (claim.choice === undefined && wasBound(claim) && seen.isLive !== true) return { kind: 'recall' }
  const witness = witnessOf(claim, pool, seen)
  if (witness === 'several') return { kind: 'refuse', refusal: severalHolds() }
  if (witness === 'unreadable') return { kind: 'refuse', refusal: unreadableChoice(claim) }
  if (witness !== undefined) return bindTo(claim, pool, firstIP({ ip: witness, bits: pool.bits }), seen, world)
  if (claim.addressName !== '') return { kind: 'refuse', refusal: lostAddress(claim) }

  const joining = joiningOf(pool, world.caches)
  if ('refused' in joining) return { kind: 'refuse', refusal: joining.refused }
  const namespace = world.caches.namespaces.get(claim.metadata.namespace)
  const choice = choose(pool, world.ledger.indexOf(pool.space), {
    claim: claimReference(claim),
    namespaceLabels: namespace && (namespace.metadata.labels ?? {}),
    owner: ownerOf(claim),
    keptFor: [`${claim.metadata.namespace}/${claim.metadata.name}`, claim.metadata.name],
    requested: claim.requested,
    random: world.random(),
  })
  if (choice.kind === 'refused') return refuseWish(claim, pool, choice, world.ledger)
  const hold = world.ledger.holdAt(pool.space, choice.ip)
  if (choice.kind === 'retake' && hold !== undefined)
    return { kind: 'bind', pool, ip: choice.ip, by: { how: 'regain', hold } }
  return { kind: 'bind', pool, ip: choice.ip, by: { how: 'take' } }
}

function whyNoSpace(pool: Pool, caches: CapiWorld['caches']): Refusal {
  const joining = joiningOf(pool, caches)
  return 'refused' in joining ? joining.refused : spaceUndecided(pool)
}

/** Rule 2: what remembers the claim's address. The choice, then an IPAddress that names it or nobody, then a hold. */
function witnessOf(claim: IPAddressClaim, pool: Pool, seen: Seen): IP | 'unreadable' | 'several' | undefined {
  const { report } = seen
  if (claim.choice !== undefined) return readable(claim.choice)
  if (report !== undefined && isOursOrNobodys(report, claim, pool)) return readable(report.address)
  const [first, ...others] = seen.holds.filter(hold => hold.state === 'held')
  // Rule 3: of a claim that was never bound any of them will do; of one that was, nobody knows which it had.
  return others.length > 0 && seen.isLive === true ? 'several' : first?.ip
}

function readable(text: string): IP | 'unreadable' {
  const ip = parseIP(text)
  return isMalformed(ip) ? 'unreadable' : ip
}

function bindTo(
  claim: IPAddressClaim,
  pool: Pool,
  ip: IP,
  seen: Seen,
  world: Pick<CapiWorld, 'ledger' | 'caches'>,
): Plan {
  if (ip.family !== pool.family) return { kind: 'refuse', refusal: wrongFamily(toIPText(ip)) }
  const hold = world.ledger.holdAt(pool.space, ip)
  if ((hold === undefined || claim.choice === undefined) && isDisputed(world, claim, pool.space, ip, hold)) {
    return { kind: 'refuse', refusal: shownByAnother(toIPText(ip)), wants: { ip, bits: pool.bits } }
  }
  const joining = joiningOf(pool, world.caches)
  if (hold === undefined && 'refused' in joining) return { kind: 'refuse', refusal: joining.refused }
  if (hold === undefined) return { kind: 'bind', pool, ip, by: { how: 'arrive' } }
  if (hold.claim.uid === claim.metadata.uid && hold.state === 'held') {
    if (claim.choice === undefined || !hasOurFinalizer(claim) || !hold.metadata.finalizers.includes(holdFinalizer))
      return { kind: 'bind', pool, ip, by: { how: 'found', hold } }
    if (isComplete(claim, seen, hold)) return { kind: 'keep' }
    return { kind: 'bind', pool, ip, by: { how: 'chosen', hold } }
  }
  if (hold.state === 'quarantined' && wasLeftBy(claim, hold))
    return { kind: 'bind', pool, ip, by: { how: 'regain', hold } }
  return { kind: 'refuse', refusal: heldByAnother(toIPText(ip), hold, claim), held: hold, wants: hold }
}

/** Of an address that it asked for and somebody has, it is told what it may know. */
function refuseWish(claim: IPAddressClaim, pool: Pool, refusal: Refusal, ledger: Ledger): Plan {
  const ip = parseIP(claim.requested?.split('/', 1)[0] ?? '')
  if (isMalformed(ip) || ip.family !== pool.family) return { kind: 'refuse', refusal }
  const wants = { ip, bits: pool.bits }
  const hold = ledger.holdAt(pool.space, ip)
  const isTaken = refusal.reason === 'AddressInUse' || refusal.reason === 'AddressQuarantined'
  if (!isTaken || hold === undefined) return { kind: 'refuse', refusal, wants }
  return { kind: 'refuse', refusal: wishHeldByAnother(toIPText(ip), refusal.reason, hold, claim), wants }
}

function isComplete(claim: IPAddressClaim, { report }: Seen, block: Block): boolean {
  if (report === undefined || !isAdopted(report, claim) || !shows(report, block)) return false
  return claim.addressName === report.metadata.name && saysReady(claim)
}

/** It was served, and says so. */
export function saysReady({ addressName, conditions }: IPAddressClaim): boolean {
  return addressName !== '' && conditions.some(({ type, status }) => type === readyCondition && status === 'True')
}

/** The object a claim is made for outlives it: a machine that is rebuilt may have its address back. */
export function ownerOf({ metadata }: IPAddressClaim): Owner | undefined {
  const owner = metadata.ownerReferences.find(({ controller }) => controller === true) ?? metadata.ownerReferences[0]
  if (owner === undefined) return undefined
  const slash = owner.apiVersion.indexOf('/')
  const apiGroup = slash < 0 ? '' : owner.apiVersion.slice(0, slash)
  return { apiGroup, kind: owner.kind, namespace: metadata.namespace, name: owner.name, uid: owner.uid }
}

function wasLeftBy(claim: IPAddressClaim, hold: Hold): boolean {
  const keys = new Set(affinityKeys(hold.claim, hold.owner))
  return affinityKeys(claimReference(claim), ownerOf(claim)).some(key => keys.has(key))
}
