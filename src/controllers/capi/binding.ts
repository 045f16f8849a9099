// claim.binding - every live claim on one of our pools holds exactly one address, says which, and nobody else holds it.
//
// Reads:   the claim, its Cluster, its pool, the holds and the report that name it, the ledger.
// Writes:  steps T1 to T7 of the model (docs/model), in that order, each under the version it was decided on; the
//          condition that says why a claim waits.
// Safe:    the hold's name is the lock on the address, the claim's version is the lock on the choice. A pass may run twice,
//          late, on an old view, beside another process, or be cut between any two writes: what is there already is
//          found again, what is somebody else's is reported and left alone.
// See:     docs/model/README.md, rules 1 to 12; release.ts for claims on their way out.

import { type Hold, type HoldSpec, holdName } from '../../api/hold.ts'
import { type IPAddress, type Network, networkOf } from '../../api/ip-address.ts'
import { claimReference, type IPAddressClaim, poolOfClaim } from '../../api/ip-address-claim.ts'
import { protectAddressFinalizer, readyCondition } from '../../api/names.ts'
import { type Identity, identityKey } from '../../api/object.ts'
import type { Pool } from '../../api/pool.ts'
import { type IP, parseIP, toIPText } from '../../ip/address.ts'
import { firstIP } from '../../ip/cidr.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { choose } from '../../ipam/choose.ts'
import { poolMalformed, poolNotFound, type Refusal, refuse } from '../../ipam/refusal.ts'
import { affinityKeys, type Block } from '../../ipam/space-index.ts'
import type { Cache } from '../../kube/cache.ts'
import type { Kind, KubeObject } from '../../kube/object.ts'
import { again, done, type PassResult } from '../../runtime/reconciler.ts'
import type { Decision } from '../journal.ts'
import { holds as holdKind, namespaces as namespaceKind, reports as reportKind } from '../kinds.ts'
import type { Ledger } from '../ledger.ts'
import { claimOf, holdOf, reportOf } from '../parsed.ts'
import {
  adoptReport,
  claimUidLabel,
  createReport,
  giveBackHold,
  holdFinalizer,
  regainHold,
  renewHold,
  storeChoice,
  takeHold,
} from '../steps.ts'
import { releaseClaim } from './release.ts'
import { sayAllocated, sayHandsOff, sayWhyNot } from './status.ts'
import { sweepReport } from './sweep.ts'
import type { Need, Sleeper } from './waiting.ts'
import { hasOurFinalizer, isOursOrNobodys, shows, wasBound } from './whose.ts'
import {
  type CapiWorld,
  type ClusterState,
  clusterStateOf,
  type HandsOff,
  holdsOfClaim,
  isDisputed,
  keyOfClaim,
  readPool,
  showingOfTaker,
  whyHandsOff,
} from './world.ts'

export async function reconcileClaim(key: string, world: CapiWorld): Promise<PassResult> {
  const object = world.caches.claims.get(key)
  if (object === undefined) {
    world.waiting.leave(key)
    world.leftAlone.delete(key)
    return sweepReport(key, world)
  }
  const claim = claimOf(object)
  if (isMalformed(claim)) return done()
  const pool = poolOfClaim(claim)
  if (pool === undefined) return done()
  const seen = observe(claim, pool, world)
  if (claim.isDeleting) return releaseClaim(claim, seen, world)
  const plan = decide(claim, seen, world)
  return settle(claim, plan, seen, world)
}

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

  if (claim.choice === undefined && wasBound(claim) && seen.isLive !== true) return { kind: 'recall' }
  const witness = witnessOf(claim, seen)
  if (witness === 'several') return { kind: 'refuse', refusal: severalHolds() }
  if (witness === 'unreadable') return { kind: 'refuse', refusal: unreadableChoice(claim) }
  if (witness !== undefined) return bindTo(claim, pool, firstIP({ ip: witness, bits: pool.bits }), seen, world)
  if (claim.addressName !== '') return { kind: 'refuse', refusal: lostAddress(claim) }

  const namespace = world.caches.namespaces.get(claim.metadata.namespace)
  const choice = choose(pool, world.ledger.indexOf(pool.space), {
    claim: claimReference(claim),
    namespaceLabels: namespace && (namespace.metadata.labels ?? {}),
    owner: ownerOf(claim),
    settled: undefined,
    requested: claim.requested,
    random: world.random(),
  })
  if (choice.kind === 'refused') return refuseWish(claim, pool, choice, world.ledger)
  const hold = world.ledger.holdAt(pool.space, choice.ip)
  if (choice.kind === 'retake' && hold !== undefined)
    return { kind: 'bind', pool, ip: choice.ip, by: { how: 'regain', hold } }
  return { kind: 'bind', pool, ip: choice.ip, by: { how: 'take' } }
}

/** Of an address that it asked for and somebody has, it is told what it may know. */
function refuseWish(claim: IPAddressClaim, pool: Pool, refusal: Refusal, ledger: Ledger): Plan {
  const ip = parseIP(claim.requested?.split('/', 1)[0] ?? '')
  if (isMalformed(ip) || ip.family !== pool.family) return { kind: 'refuse', refusal }
  const wants = { ip, bits: pool.bits }
  const hold = ledger.holdAt(pool.space, ip)
  const isTaken = refusal.reason === 'AddressInUse' || refusal.reason === 'AddressQuarantined'
  if (!isTaken || hold === undefined) return { kind: 'refuse', refusal, wants }
  const why = `${toIPText(ip)} ${holdText(hold, claim)}`
  return {
    kind: 'refuse',
    refusal: refuse(refusal.reason, `${why}: ${givenWhenFree(hold)}; or ask for another`),
    wants,
  }
}

/** Rule 2: what remembers the claim's address. The choice, then an IPAddress that names it or nobody, then a hold. */
function witnessOf(claim: IPAddressClaim, seen: Seen): IP | 'unreadable' | 'several' | undefined {
  const { report } = seen
  if (claim.choice !== undefined) return readable(claim.choice)
  if (report !== undefined && isOursOrNobodys(report, claim)) return readable(report.address)
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
  if (ip.family !== pool.family) {
    const why = `the claim has ${toIPText(ip)}, which is not of the family of its pool: make a new claim`
    return { kind: 'refuse', refusal: refuse('WrongFamily', why) }
  }
  const hold = world.ledger.holdAt(pool.space, ip)
  if ((hold === undefined || claim.choice === undefined) && isDisputed(world, claim, pool.space, ip, hold)) {
    return { kind: 'refuse', refusal: shownByAnother(toIPText(ip)), wants: { ip, bits: pool.bits } }
  }
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

async function settle(claim: IPAddressClaim, plan: Plan, seen: Seen, world: CapiWorld): Promise<PassResult> {
  const key = keyOfClaim(claim)
  if (plan.kind !== 'leave alone') world.leftAlone.delete(key)
  switch (plan.kind) {
    case 'leave alone':
      world.waiting.leave(key)
      if (plan.why !== undefined && !saysReady(claim)) sayHandsOff(world, claim, seen.identity, plan.why)
      return done()
    case 'keep':
      world.waiting.leave(key)
      return done()
    case 'recall':
      return recall(claim, seen, world)
    case 'refuse':
      if (plan.held !== undefined && (await isHoldOutdated(plan.held, world))) return again()
      world.waiting.sleep(sleeperOf(claim, seen.identity, needOf(plan), plan.refusal.reason))
      return sayWhyNot(world, claim, seen, plan.refusal, plan.held)
    case 'bind':
      // Whoever takes something free leaves when it is taken, so that the next one is not woken for it.
      if (plan.by.how !== 'take' && plan.by.how !== 'arrive') world.waiting.leave(key)
      return bind(claim, plan, seen, world)
  }
}

/** What wakes it: a release, the end of a quarantine, a larger pool; the oldest first. */
function needOf({ refusal, wants }: Extract<Plan, { kind: 'refuse' }>): Need {
  switch (refusal.reason) {
    case 'PoolExhausted':
      return { kind: 'any' }
    case 'QuotaReached':
      return { kind: 'quota' }
    case 'AddressInUse':
    case 'AddressQuarantined':
      return { kind: 'one', block: wants }
    default:
      return { kind: 'change' }
  }
}

function sleeperOf(claim: IPAddressClaim, identity: Identity, need: Need, reason: string): Sleeper {
  const { namespace, creationTimestamp: createdAt } = claim.metadata
  const { clusterName } = claim
  return {
    key: keyOfClaim(claim),
    pool: identityKey(identity),
    identity,
    namespace,
    clusterName,
    createdAt,
    need,
    reason,
  }
}

async function bind(
  claim: IPAddressClaim,
  { pool, ip, by }: Extract<Plan, { kind: 'bind' }>,
  seen: Seen,
  world: CapiWorld,
): Promise<PassResult> {
  const address = toIPText(ip)
  const spec = {
    space: pool.space,
    ip,
    bits: pool.bits,
    pool: pool.identity,
    claim: claimReference(claim),
    owner: ownerOf(claim),
  }
  switch (by.how) {
    case 'take':
    case 'arrive': {
      const made = await take(claim, pool, spec, by.how, world)
      if (made === undefined) return again()
      // Rule 11, looked at once more with the hold in hand.
      if (isDisputed(world, claim, pool.space, ip)) {
        await giveBackHold(world, made)
        return again()
      }
      break
    }
    case 'regain':
      await regainHold(world, by.hold, spec)
      break
    case 'found':
      await renewHold(world, by.hold)
      break
    case 'chosen': {
      // Before anything is said on the strength of it, the hold is read where it is kept, and touched: another process that
      // made it just now, and found the address disputed, is too late to give it back.
      const before = world.caches.holds.get(holdName(pool.space, ip))
      const live = await world.client.get(holdKind, { name: holdName(pool.space, ip) })
      const hold = live && holdOf(live)
      if (live !== undefined) world.caches.holds.learn(live)
      if (hold === undefined || isMalformed(hold) || hold.claim.uid !== claim.metadata.uid || hold.state !== 'held') {
        // What was made again since the read stays.
        if (live === undefined && before !== undefined) world.caches.holds.unlearn(before.metadata.name ?? '', before)
        return again()
      }
      await renewHold(world, hold)
      break
    }
  }
  const chosen = by.how === 'chosen' ? claim : await choice(claim, address, networkShown(claim, pool, seen), world)
  if (chosen === undefined) return again()
  return report(chosen, pool, ip, by.how, seen, world)
}

/** From the moment it is chosen until the hold is there, nobody else of this process goes for the same address. */
async function take(
  claim: IPAddressClaim,
  pool: Pool,
  spec: HoldSpec,
  how: Taking['how'],
  world: CapiWorld,
): Promise<KubeObject | undefined> {
  const by = showingOfTaker(keyOfClaim(claim))
  const { clusterName, metadata } = claim
  world.ledger.show({ by, pool, ip: spec.ip, namespace: metadata.namespace, clusterName, isIntent: true })
  try {
    if (how === 'take' && (await isOfferOutdated(claim, pool, world))) return undefined
    world.waiting.leave(keyOfClaim(claim))
    const made = await takeHold(world, spec)
    if (made === undefined)
      world.note({ what: 'lost race', claim: metadata, pool: pool.identity, ...placeOf(pool, spec.ip) })
    return made
  } finally {
    world.ledger.hide(by)
  }
}

/** The claim as it is with its choice; what was read before the hold was taken decides the version. */
async function choice(
  claim: IPAddressClaim,
  address: string,
  network: Network,
  world: CapiWorld,
): Promise<IPAddressClaim | undefined> {
  const answer = claimOf(await storeChoice(world, claim, address, network))
  return isMalformed(answer) ? undefined : answer
}

function networkShown(claim: IPAddressClaim, pool: Pool, { report }: Seen): Network {
  if (report?.prefix === undefined || !isOursOrNobodys(report, claim)) return networkOf(claim, pool)
  return { prefix: report.prefix, gateway: report.gateway }
}

async function report(
  claim: IPAddressClaim,
  pool: Pool,
  ip: IP,
  by: Taking['how'],
  seen: Seen,
  world: CapiWorld,
): Promise<PassResult> {
  const { namespace, name } = claim.metadata
  const address = toIPText(ip)
  const note = (what: Decision) => {
    world.note({ what, claim: claim.metadata, pool: pool.identity, strategy: pool.strategy, ...placeOf(pool, ip), by })
  }
  const known = seen.report === undefined ? await createReport(world, claim, pool, address) : undefined
  if (known === undefined) {
    const before = world.caches.reports.get(`${namespace}/${name}`)
    const object = await world.client.get(reportKind, { namespace, name })
    const found = object && reportOf(object)
    if (object === undefined || found === undefined || isMalformed(found)) {
      if (before !== undefined) world.caches.reports.unlearn(`${namespace}/${name}`, before)
      return again()
    }
    world.caches.reports.learn(object)
    // It belongs to an earlier claim of this name.
    if (!isOursOrNobodys(found, claim)) return sweepReport(keyOfClaim(claim), world)
    if (!shows(found, { ip, bits: pool.bits }) || !isSamePool(found, claim)) {
      const refusal = reportShowsOther(found, address)
      world.waiting.sleep(sleeperOf(claim, seen.identity, { kind: 'change' }, refusal.reason))
      return sayWhyNot(world, claim, seen, refusal)
    }
    if (!isAdopted(found, claim)) {
      await adoptReport(world, found, claim, pool)
      note('adopted')
    }
  }
  await sayAllocated(world, claim, address)
  if (!saysReady(claim)) note('bound')
  else if (known !== undefined) note('restored')
  return done()
}

const placeOf = ({ space }: Pool, ip: IP) => ({ space, ip })

function isHoldOutdated({ metadata }: Hold, world: CapiWorld): Promise<boolean> {
  return isOutdated(holdKind, world.caches.holds, metadata.name, world)
}

/** I4: a namespace that lost the label a pool asks for is given nothing, however late the news of it. */
async function isOfferOutdated({ metadata }: IPAddressClaim, pool: Pool, world: CapiWorld): Promise<boolean> {
  if (pool.allowedNamespaces === undefined) return false
  return isOutdated(namespaceKind, world.caches.namespaces, metadata.namespace, world)
}

/** Whether the object is no longer what the view shows; the view then knows better. */
async function isOutdated(
  kind: Kind,
  cache: Cache<KubeObject, never>,
  name: string,
  { client }: CapiWorld,
): Promise<boolean> {
  const seen = cache.get(name)
  const live = await client.get(kind, { name })
  if (live === undefined) cache.unlearn(name, seen)
  else cache.learn(live)
  return cache.get(name) !== seen
}

/** Rule 3: a claim that was bound is not given another address on the word of a cache. */
async function recall(claim: IPAddressClaim, seen: Seen, world: CapiWorld): Promise<PassResult> {
  const { client, caches } = world
  const { namespace, name, uid } = claim.metadata
  const object = await client.get(reportKind, { namespace, name })
  if (object !== undefined) caches.reports.learn(object)
  const { items } = await client.list(holdKind, { labelSelector: `${claimUidLabel}=${uid}` })
  for (const item of items) caches.holds.learn(item)
  const report = object && reportOf(object)
  const live: Seen = {
    ...seen,
    isLive: true,
    report: report === undefined || isMalformed(report) ? undefined : report,
    holds: items.flatMap(item => {
      const hold = holdOf(item)
      return isMalformed(hold) || hold.claim.uid !== uid ? [] : [hold]
    }),
  }
  return settle(claim, decide(claim, live, world), live, world)
}

function isComplete(claim: IPAddressClaim, { report }: Seen, block: Block): boolean {
  if (report === undefined || !isAdopted(report, claim) || !shows(report, block)) return false
  return claim.addressName === report.metadata.name && saysReady(claim)
}

/** It was served, and says so. */
function saysReady({ addressName, conditions }: IPAddressClaim): boolean {
  return addressName !== '' && conditions.some(({ type, status }) => type === readyCondition && status === 'True')
}

function isAdopted({ metadata }: IPAddress, claim: IPAddressClaim): boolean {
  const isOwned = metadata.ownerReferences.some(({ uid }) => uid === claim.metadata.uid)
  return isOwned && metadata.finalizers.includes(protectAddressFinalizer)
}

export function isSamePool({ poolRef }: IPAddress, claim: IPAddressClaim): boolean {
  const { apiGroup, kind, name } = claim.poolRef
  return poolRef.apiGroup === apiGroup && poolRef.kind === kind && poolRef.name === name
}

/** The object a claim is made for outlives it: a machine that is rebuilt may have its address back. */
function ownerOf({ metadata }: IPAddressClaim): Identity | undefined {
  const owner = metadata.ownerReferences.find(({ controller }) => controller === true) ?? metadata.ownerReferences[0]
  if (owner === undefined) return undefined
  const slash = owner.apiVersion.indexOf('/')
  const apiGroup = slash < 0 ? '' : owner.apiVersion.slice(0, slash)
  return { apiGroup, kind: owner.kind, namespace: metadata.namespace, name: owner.name }
}

function wasLeftBy(claim: IPAddressClaim, hold: Hold): boolean {
  const keys = new Set(affinityKeys(hold.claim, hold.owner))
  return affinityKeys(claimReference(claim), ownerOf(claim)).some(key => keys.has(key))
}

function heldByAnother(address: string, hold: Hold, claim: IPAddressClaim): Refusal {
  const reason = hold.state === 'quarantined' ? 'AddressQuarantined' : 'AddressInUse'
  const why = `${address}, which this claim asks for as its own, ${holdText(hold, claim)}`
  return refuse(reason, `${why}: ${givenWhenFree(hold)}; or make a new claim`)
}

/** Who the other one is stays untold if it lives where the claim's author may not look. */
function holdText({ state, claim: holder }: Hold, { metadata }: IPAddressClaim): string {
  const who = holder.namespace === metadata.namespace ? `claim ${holder.name}` : 'another claim'
  return state === 'quarantined' ? `was released by ${who} and rests` : `is held by ${who}`
}

function givenWhenFree({ state, until }: Hold): string {
  return state === 'quarantined' && until !== undefined ? `it is given after ${until}` : 'it is given once it is free'
}

function shownByAnother(address: string): Refusal {
  const why = `${address}, which this claim asks for as its own, is shown by another claim or IPAddress of the pool`
  return refuse('AddressInUse', `${why}: delete the one that is wrong`)
}

function reportShowsOther(report: IPAddress, address: string): Refusal {
  const { namespace, name } = report.metadata
  const why = `IPAddress ${namespace}/${name} shows ${report.address} of ${report.poolRef.name}, and this claim has ${address}: delete the one that is wrong`
  return refuse('AddressInUse', why)
}

function unreadableChoice({ choice }: IPAddressClaim): Refusal {
  return refuse(
    'NotAnAddress',
    `the annotation mooring.dev/address says ${JSON.stringify(choice)}, which is no address: remove it`,
  )
}

function severalHolds(): Refusal {
  const why = 'several addresses are held in the name of this claim, and nothing says which one it had'
  return refuse('AddressInUse', `${why}: set the annotation mooring.dev/address, or make a new claim`)
}

function lostAddress({ addressName }: IPAddressClaim): Refusal {
  const why = `this claim had the address of IPAddress ${addressName}, and nothing is left that says which: set the annotation mooring.dev/address, or make a new claim`
  return refuse('AddressInUse', why)
}
