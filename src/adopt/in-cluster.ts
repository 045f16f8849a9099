// What the desk of Cluster API claims will do with what the in-cluster provider left, shown before it does it. The desk adopts
// what it finds by itself, so there is nothing to translate and nothing to write. The verdict is the desk's own: the same
// `decide`, on the same caches, filled from lists instead of watches.

import type { Hold } from '../api/hold.ts'
import type { IPAddress } from '../api/ip-address.ts'
import { type IPAddressClaim, poolOfClaim } from '../api/ip-address-claim.ts'
import { ipamGroup, protectAddressFinalizer } from '../api/names.ts'
import type { Pool } from '../api/pool.ts'
import { type Listed, worldOf } from '../controllers/capi/listed.ts'
import { observe, type Seen } from '../controllers/capi/observe.ts'
import { isOwnOrUnowned, isSamePool, poolOfReport, shows } from '../controllers/capi/ownership.ts'
import { claimOf, reportOf } from '../controllers/capi/parsed.ts'
import { decide, type HandsOff, type Plan } from '../controllers/capi/plan.ts'
import { ownOf } from '../controllers/capi/shown.ts'
import { type CapiWorld, keyOfClaim } from '../controllers/capi/world.ts'
import { othersAt } from '../controllers/office/disputes.ts'
import type { Showing } from '../controllers/office/ledger.ts'
import { isInScope, type Scope } from '../controllers/office/scope.ts'
import { findPool, readPool } from '../controllers/office/views.ts'
import { parseIP } from '../ip/address.ts'
import { firstIP } from '../ip/cidr.ts'
import { isMalformed } from '../ip/malformed.ts'
import { whyNotOffered } from '../ipam/pool-set.ts'
import { poolText } from '../ipam/refusal.ts'
import { type KubeObject, keyOf } from '../kube/object.ts'
import type { Verdict } from './verdict.ts'

type World = Pick<CapiWorld, 'ledger' | 'caches' | 'sources' | 'random' | 'moved'>

export interface Forecast {
  readonly verdicts: readonly Verdict[]
  /** Claims that have no address yet, and are served when the desk runs. */
  readonly unserved: number
}

/** Verdicts are on what a desk of this scope serves; they rest on all that is in its caches. */
export function forecast(listed: Listed, scope: Scope): Forecast {
  const world = worldOf(listed)
  const verdicts: Verdict[] = []
  for (const object of world.caches.reports.values()) {
    const verdict = judgeReport(object, scope, world)
    if (verdict !== undefined) verdicts.push(verdict)
  }
  let unserved = 0
  for (const object of world.caches.claims.values()) {
    if (!isInScope(scope, object)) continue
    const verdict = judgeBareClaim(object, world)
    if (verdict === 'unserved') unserved++
    else if (verdict !== undefined) verdicts.push(verdict)
  }
  return { verdicts, unserved }
}

function judgeReport(object: KubeObject, scope: Scope, world: World): Verdict | undefined {
  const key = keyOf(object)
  const report = reportOf(object)
  const shownBy = `IPAddress ${key}`
  if (isMalformed(report)) {
    return refused(
      { pool: '', claim: '', address: '', shownBy },
      'Unreadable',
      `it cannot be read: ${report.malformed}`,
    )
  }
  const identity = poolOfReport(report)
  if (identity === undefined || identity.apiGroup !== ipamGroup) return undefined
  const pool = poolText(identity)
  const known = world.caches.claims.get(key)
  if (known !== undefined && !isInScope(scope, known)) return undefined
  const claim = known && claimOf(known)
  if (claim === undefined || isMalformed(claim)) return withoutClaim(report, { pool, shownBy })
  const about = { pool, shownBy, address: report.address, claim: key }
  if (!isSamePool(report, claim)) {
    const { kind, name } = claim.poolRef
    return refused(
      about,
      'WrongPool',
      `its claim is for ${kind} ${name}, not for this pool: delete the one that is wrong`,
    )
  }
  if (!isOwnOrUnowned(report, claim, findPool(world.caches, identity))) {
    const why = 'it was made for an earlier claim of this name: Mooring removes it, and serves the claim anew'
    return refused(about, 'EarlierClaim', why)
  }
  if (claim.isDeleting)
    return { ...about, outcome: 'leaves', reason: 'Deleting', message: 'its claim is being deleted' }
  return judgeClaim(claim, report, about, world)
}

type About = Pick<Verdict, 'pool' | 'shownBy' | 'address' | 'claim'>
type Why = Pick<Verdict, 'reason' | 'message'>

const refused = (about: About, reason: string, message: string): Verdict => ({
  ...about,
  outcome: 'refused',
  reason,
  message,
})

function withoutClaim(report: IPAddress, { pool, shownBy }: Pick<About, 'pool' | 'shownBy'>): Verdict {
  const { namespace, name, ownerReferences, finalizers } = report.metadata
  const about = { pool, shownBy, address: report.address, claim: '' }
  if (report.claimName !== '' && report.claimName !== name) {
    const why = `it is for claim ${namespace}/${report.claimName}, and has another name than that: Mooring looks for an IPAddress of the claim's name`
    return refused(about, 'NameMismatch', why)
  }
  if (ownerReferences.some(({ kind }) => kind === 'IPAddressClaim') || finalizers.includes(protectAddressFinalizer)) {
    const why = 'its claim is gone: Mooring removes it, and the address is free'
    return refused(about, 'ClaimMissing', why)
  }
  const message = 'it was made by hand and belongs to no claim: its address is given to no claim'
  return { ...about, outcome: 'left alone', reason: 'NoClaim', message }
}

function judgeClaim(claim: IPAddressClaim, report: IPAddress | undefined, about: About, world: World): Verdict {
  const identity = poolOfClaim(claim)
  if (identity === undefined) return refused(about, 'WrongPool', 'its pool is of no kind that Mooring serves')
  // Lists are what the API server answered a moment ago.
  const seen: Seen = { ...observe(claim, identity, true, world), isLive: true }
  const plan = decide(seen)
  const pool = readPool(world.caches, identity)
  switch (plan.kind) {
    case 'leave alone':
      return { ...about, outcome: 'waits', ...whyItWaits(plan.why, claim, seen.pool) }
    case 'release':
    case 'let report go':
      return { ...about, outcome: 'leaves', reason: 'Deleting', message: 'its claim leaves, and its address with it' }
    case 'refuse':
      if (report !== undefined && plan.wants !== undefined && !shows(report, plan.wants))
        return contradiction(claim, about)
      return refused(
        about,
        plan.refusal.reason,
        `${plan.refusal.message}${rivalsText(claim, report, plan.held, pool, world)}`,
      )
    case 'keep':
      return { ...about, outcome: 'adopted', reason: 'Held', message: 'Mooring holds it already' }
    case 'recall':
    case 'bind':
      return judgeBinding(plan, claim, report, about, pool)
  }
}

function judgeBinding(
  plan: Plan,
  claim: IPAddressClaim,
  report: IPAddress | undefined,
  about: About,
  pool: ReturnType<typeof readPool>,
): Verdict {
  if (plan.kind !== 'bind' || pool === undefined || isMalformed(pool)) {
    return refused(about, 'Unknown', 'nothing says which address it has')
  }
  if (report !== undefined && !shows(report, { ip: plan.ip, bits: plan.pool.bits })) {
    return contradiction(claim, about)
  }
  return { ...about, outcome: 'adopted', ...howItIsTaken(plan.pool, report) }
}

function contradiction({ choice = '' }: IPAddressClaim, about: About): Verdict {
  const why = `the claim has ${choice}, and its IPAddress shows another address: delete the one that is wrong`
  return refused(about, 'Contradiction', why)
}

function howItIsTaken(pool: Pool, report: IPAddress | undefined): Pick<Verdict, 'reason' | 'message'> {
  const ip = report && parseIP(report.address)
  const why = ip === undefined || isMalformed(ip) ? undefined : whyNotOffered(pool, firstIP({ ip, bits: pool.bits }))
  switch (why) {
    case undefined:
      return { reason: 'AsIs', message: '' }
    case 'outOfRange':
      return { reason: 'NotOffered', message: 'its pool does not list it: kept, and never given again' }
    case 'excluded':
      return { reason: 'NotOffered', message: 'its pool excludes it: kept, and never given again' }
    case 'gateway':
      return { reason: 'NotOffered', message: 'it is the gateway of its pool: kept, and never given again' }
    case 'reserved':
      return { reason: 'NotOffered', message: 'it is no address for a host: kept, and never given again' }
  }
}

/** Every reason has a line: a new one that has none does not compile. */
function whyItWaits(why: HandsOff | undefined, claim: IPAddressClaim, pool: Seen['pool']): Why {
  switch (why) {
    case 'ClaimPaused':
      return { reason: 'Paused', message: 'its claim is paused' }
    case 'ClusterPaused':
      return { reason: 'Paused', message: `Cluster ${claim.clusterName} is paused` }
    case 'ClusterNotFound':
      return { reason: 'ClusterMissing', message: `Cluster ${claim.clusterName} does not exist` }
    case 'PoolPaused':
      return { reason: 'Paused', message: 'its pool is paused' }
    case 'KeptByOthers':
      return { reason: 'Deleting', message: 'others still need its claim, which is being deleted' }
    case undefined:
      return whyLeftAlone(pool)
  }
}

/** It was served, and stays so: no event tells it why nothing is done. */
function whyLeftAlone(pool: Seen['pool']): Why {
  if (pool === undefined) return { reason: 'PoolMissing', message: 'its pool does not exist' }
  if (isMalformed(pool)) return { reason: 'PoolUnreadable', message: `its pool cannot be read: ${pool.malformed}` }
  if (pool.space === '') return { reason: 'SpaceUndecided', message: 'the space of its pool is being decided' }
  return { reason: 'Moving', message: 'clusterctl takes its claim to another cluster' }
}

/** The desk names no other claims to a claim's author; an administrator may list everything, and may know them. */
function rivalsText(
  claim: IPAddressClaim,
  report: IPAddress | undefined,
  held: Hold | undefined,
  pool: ReturnType<typeof readPool>,
  { ledger }: World,
): string {
  if (held !== undefined) return ` (${held.state} by claim ${held.claim.namespace}/${held.claim.name})`
  const ip = parseIP(claim.choice ?? report?.address ?? '')
  if (pool === undefined || isMalformed(pool) || isMalformed(ip)) return ''
  const others = othersAt(ledger, pool.space, firstIP({ ip, bits: pool.bits }), ownOf(keyOfClaim(claim)))
  return others.length === 0 ? '' : ` (${others.map(toWords).join(', ')})`
}

const toWords = ({ by, as }: Showing): string =>
  as === 'choice' ? `the choice of claim ${by.key}` : `${by.kind} ${by.key}`

/** A claim without an IPAddress: new, or one that says it had an address. */
function judgeBareClaim(object: KubeObject, world: World): Verdict | 'unserved' | undefined {
  const key = keyOf(object)
  const claim = claimOf(object)
  if (isMalformed(claim) || world.caches.reports.get(key) !== undefined) return undefined
  const identity = poolOfClaim(claim)
  if (identity === undefined || identity.apiGroup !== ipamGroup || claim.isDeleting) return undefined
  if (claim.choice === undefined && claim.addressName === '') return 'unserved'
  const about = { pool: poolText(identity), claim: key, address: claim.choice ?? '', shownBy: '' }
  return judgeClaim(claim, undefined, about, world)
}
