// Which claims may take something new from a pool. Every answer rests on what the pool's admin wrote and on the ledger, never
// on what the claim says about itself. What a claim already holds is not asked about here: it keeps that.

import type { ClaimReference } from '../api/lock.ts'
import { pausedAnnotation } from '../api/names.ts'
import type { Pool, Quota } from '../api/pool.ts'
import { selects } from '../api/selector.ts'
import { quoteUnlessName } from '../ip/object-name.ts'
import { poolText, type Refusal, refuse, spaceUndecided } from './refusal.ts'
import type { SpaceIndex } from './space-index.ts'

export interface Applicant {
  readonly claim: ClaimReference
  /** Labels of the claim's namespace. Undefined while they are not known: then a pool that asks for labels says no. */
  readonly namespaceLabels: Readonly<Record<string, string>> | undefined
  /** How many addresses of the pool other parts of the same claim are about to take: quotas count them. */
  readonly taking?: number
  /** How many addresses of the pool are counted already because this very claim shows them. */
  readonly counted?: number
}

/** Undefined if the claim may. */
export function whyNotPermitted(pool: Pool, index: SpaceIndex, applicant: Applicant): Refusal | undefined {
  if (pool.isDeleting) {
    const why = `${poolText(pool.identity)} is being deleted and gives out nothing new`
    return refuse('PoolDeleting', `${why}: make a claim on another pool`)
  }
  if (pool.isPaused) {
    const why = `${poolText(pool.identity)} is paused`
    return refuse('PoolPaused', `${why}: it serves again when the annotation ${pausedAnnotation} is removed`)
  }
  if (pool.space === '') return spaceUndecided(pool.identity)
  return whyNotAllowed(pool, applicant) ?? whyOverQuota(pool, index, applicant)
}

function whyNotAllowed(pool: Pool, { claim, namespaceLabels }: Applicant): Refusal | undefined {
  if (pool.allowedNamespaces === undefined) return undefined
  if (namespaceLabels !== undefined && selects(pool.allowedNamespaces, namespaceLabels)) return undefined
  const why = `${poolText(pool.identity)} is not offered to namespace ${claim.namespace}`
  return refuse('NamespaceNotAllowed', `${why}: its admin decides by spec.allowedNamespaces and the namespace's labels`)
}

function whyOverQuota(
  pool: Pool,
  index: SpaceIndex,
  { claim, taking = 0, counted = 0 }: Applicant,
): Refusal | undefined {
  const { perNamespace, perCluster } = pool.quota
  const { namespace, clusterName } = claim
  const more = taking - counted
  if (perNamespace !== undefined && index.heldOfNamespace(pool, namespace) + more >= perNamespace) {
    return overQuota(pool, `namespace ${namespace}`, perNamespace, 'perNamespace')
  }
  if (perCluster === undefined || clusterName === undefined) return undefined
  if (index.heldOfCluster(pool, namespace, clusterName) + more < perCluster) return undefined
  return overQuota(pool, `cluster ${quoteUnlessName(clusterName)}`, perCluster, 'perCluster')
}

/**
 * What a namespace released and what rests still keeps addresses from others. So many may rest, and no more are given to it
 * that would rest too; what it left itself it may have back.
 */
export function whyTooMuchRests(pool: Pool, index: SpaceIndex, { claim }: Applicant): Refusal | undefined {
  const most = pool.quota.perNamespaceQuarantined
  if (most === undefined || index.restingOfNamespace(pool, claim.namespace) <= most) return undefined
  const until = index.restingUntil(pool, claim.namespace, most)
  const what = `addresses that namespace ${claim.namespace} released of ${poolText(pool.identity)}`
  const why = `more ${what} rest than spec.quota.perNamespaceQuarantined allows`
  return refuse('RestQuotaReached', `${why}: the claim is served after ${until}, or under the name of a released claim`)
}

function overQuota({ identity }: Pool, tenant: string, most: number, field: keyof Quota): Refusal {
  const what = most === 1 ? '1 address' : `${most} addresses`
  const why = `${tenant} already holds its quota of ${what} of ${poolText(identity)}`
  return refuse('QuotaReached', `${why}: delete a claim of it, or have spec.quota.${field} raised`)
}
