// What the desk would do, done to a ledger in memory: a claim that is to come takes an address by the desk's own decision, and a claim
// that is to go leaves its address to rest. Nothing of it reaches a cluster. Since the decision is the desk's, quotas, reservations,
// spaces and quarantines count here as they count there, and a refusal is told in the sentence that the claim would have.

import type { Hold } from '../api/hold.ts'
import {
  claimReference,
  type IPAddressClaim,
  type PoolReference,
  parseIPAddressClaim,
  poolNamedBy,
} from '../api/ip-address-claim.ts'
import { ipamGroup } from '../api/names.ts'
import type { Identity } from '../api/object.ts'
import type { Pool } from '../api/pool.ts'
import type { ListedWorld } from '../controllers/capi/listed.ts'
import { observe } from '../controllers/capi/observe.ts'
import { decide } from '../controllers/capi/plan.ts'
import { claimNamed, reportNamed } from '../controllers/capi/shown.ts'
import { keyOfClaim } from '../controllers/capi/world.ts'
import { restSecondsOf } from '../controllers/office/hold/quarantine.ts'
import { findPool, holdsOfClaim } from '../controllers/office/views.ts'
import { isMalformed, quoteText } from '../ip/malformed.ts'
import { hasValue } from '../ip/range-set.ts'
import { wideNumber } from '../ipam/blocks.ts'
import { whyNotPermitted } from '../ipam/permit.ts'
import { poolSetOf } from '../ipam/pool-set.ts'

export type Outcome =
  | { readonly kind: 'taken' }
  /** It has what it asks for, or nothing is done for it: it takes nothing. */
  | { readonly kind: 'settled' }
  | Denied

export interface Denied {
  readonly kind: 'denied'
  readonly reason: string
  readonly message: string
}

/** A claim that does not exist yet. No claim can have a name that the caller puts a blank in, so none is kept for it. */
export function claimToCome(namespace: string, name: string, poolRef: PoolReference): IPAddressClaim {
  const claim = parseIPAddressClaim({
    apiVersion: `${ipamGroup}/v1beta2`,
    kind: 'IPAddressClaim',
    metadata: { namespace, name, uid: `to come: ${namespace}/${name}` },
    spec: { poolRef },
  })
  if (isMalformed(claim)) throw new Error(`a claim that was to come cannot be read: ${claim.malformed}`)
  return claim
}

export function take(claim: IPAddressClaim, world: ListedWorld): Outcome {
  const identity = poolNamedBy(claim)
  if (identity === undefined) return notServed(claim.poolRef)
  // What was listed is what the API server has.
  const plan = decide({ ...observe(claim, identity, true, world), isLive: true })
  switch (plan.kind) {
    case 'bind':
      occupy(claim, plan.pool, plan.ip, world)
      return { kind: 'taken' }
    case 'refuse':
      return { ...plan.refusal, kind: 'denied' }
    case 'leave alone':
      return plan.why === 'PoolPaused' ? paused(claim, identity, world) : { kind: 'settled' }
    case 'recall':
    case 'keep':
    case 'release':
    case 'let report go':
      return { kind: 'settled' }
  }
}

function occupy(claim: IPAddressClaim, pool: Pool, ip: Hold['ip'], { ledger, caches }: ListedWorld): void {
  const { identity, space, bits } = pool
  const { namespace } = claim.metadata
  const rested = ledger.holdAt(space, ip)
  if (rested?.state === 'quarantined') {
    const uid = caches.namespaces.get(namespace)?.metadata.uid
    ledger.putHold({ ...rested, state: 'held', claim: claimReference(claim, uid), until: undefined })
    return
  }
  const shown = { by: claimNamed(keyOfClaim(claim)), as: 'intent', pool: identity, space, ip, bits, namespace } as const
  ledger.show(claim.clusterName === '' ? shown : { ...shown, clusterName: claim.clusterName })
}

/** The sentence that permissions have for it: a claim on a paused pool is left alone, and says nothing itself. */
function paused(claim: IPAddressClaim, identity: Identity, { ledger, caches }: ListedWorld): Outcome {
  const pool = findPool(caches, identity)
  const applicant = { claim: claimReference(claim, undefined), namespaceLabels: undefined }
  const refusal = pool && whyNotPermitted(pool, ledger.indexOf(pool.space), applicant)
  return refusal === undefined ? { kind: 'settled' } : { ...refusal, kind: 'denied' }
}

export const notServedReason = 'KindNotServed'

function notServed({ apiGroup, kind, name }: PoolReference): Denied {
  const what = `pool ${quoteText(name)} is a ${quoteText(kind)} of ${quoteText(apiGroup)}`
  const message = `${what}, a kind that Mooring does not serve: whether another provider does, and what is free there, is not known`
  return { kind: 'denied', reason: notServedReason, message }
}

/** The claim goes: what it has rests for as long as its pool says, or is free at once. `nowMs` begins the rest. */
export function release(claim: IPAddressClaim, nowMs: number, world: ListedWorld): void {
  const { ledger, caches } = world
  const key = keyOfClaim(claim)
  ledger.hide(reportNamed(key), 'report')
  ledger.hide(claimNamed(key), 'choice')
  for (const hold of holdsOfClaim(caches, claim.metadata.uid)) {
    const seconds = restSecondsOf(hold, world)
    if (seconds === 0) ledger.removeHold(hold)
    else ledger.putHold({ ...hold, state: 'quarantined', since: isoOf(nowMs), until: isoOf(nowMs + seconds * 1000) })
  }
}

const isoOf = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')

/** What of a pool rests and is open to any claim afterwards, by when its rest ends. */
export function restingOf(pool: Pool, { ledger }: Pick<ListedWorld, 'ledger'>): Hold[] {
  const { open, bits, family } = poolSetOf(pool)
  const isOpen = (hold: Hold) =>
    hold.ip.family === family && hold.bits === bits && hasValue(open, wideNumber(hold.ip, bits))
  return [...ledger.restingIn(pool.space)]
    .filter(isOpen)
    .toSorted((one, other) => ((one.until ?? '') < (other.until ?? '') ? -1 : 1))
}

/** Time goes on until the next rest of the pool is over. False where nothing of it rests. */
export function awaitRest(pool: Pool, world: Pick<ListedWorld, 'ledger'>): boolean {
  const [next] = restingOf(pool, world)
  if (next === undefined) return false
  world.ledger.removeHold(next)
  return true
}
