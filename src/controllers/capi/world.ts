// What the capi desk knows and may touch: its caches, the ledger, one client. Its reconciler takes all of it from here and
// nothing from anywhere else.

import { type IPAddressClaim, poolOfClaim } from '../../api/ip-address-claim.ts'
import { identityKey } from '../../api/object.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { Cache } from '../../kube/cache.ts'
import type { Client } from '../../kube/client.ts'
import type { Recorder } from '../../kube/events.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'
import type { Note } from '../office/journal.ts'
import type { Ledger } from '../office/ledger.ts'
import type { RecentRefusals } from '../office/recent-refusals.ts'
import type { Sources } from '../office/sources.ts'
import { createViews, type Views } from '../office/views.ts'
import type { Moved } from './moved.ts'
import { poolOfReport } from './ownership.ts'
import { claimOf, keepClaim, keepCluster, keepReport, reportOf } from './parsed.ts'

export interface Caches extends Views {
  readonly claims: Cache<KubeObject, 'pool' | 'cluster'>
  readonly reports: Cache<KubeObject, 'pool'>
  readonly clusters: Cache<KubeObject>
}

export interface CapiWorld {
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  readonly recorder: Pick<Recorder, 'event'>
  readonly caches: Caches
  readonly ledger: Ledger
  readonly sources: Pick<Sources, 'whySpaceRefused' | 'poolsOf' | 'poolsIn'>
  /** Refusals written of late. */
  readonly recentRefusals: RecentRefusals
  readonly moved: Pick<Moved, 'leavesForMs'>
  /** Claims that are left alone, and why, as the last event said it. */
  readonly leftAlone: Map<string, string>
  /** Of the pass that runs. */
  readonly note: Note
}

export function createCaches(isFrozen = false, views = createViews(isFrozen)): Caches {
  const options = { isFrozen }
  return {
    ...views,
    claims: new Cache<KubeObject, 'pool' | 'cluster'>({
      ...options,
      keep: keepClaim,
      indexes: { pool: object => poolKeyOfClaim(object), cluster: object => clusterKeyOfClaim(object) },
    }),
    reports: new Cache<KubeObject, 'pool'>({
      ...options,
      keep: keepReport,
      indexes: { pool: object => poolKeyOfReport(object) },
    }),
    clusters: new Cache<KubeObject>({ ...options, keep: keepCluster }),
  }
}

export const keyOfClaim = ({ metadata }: Pick<IPAddressClaim, 'metadata'>): string =>
  `${metadata.namespace}/${metadata.name}`

/** Key of the pool that a claim names; empty where it is of a kind that Mooring does not serve. */
export function poolKeyOf(object: KubeObject | undefined): string {
  const claim = object && claimOf(object)
  const pool = claim === undefined || isMalformed(claim) ? undefined : poolOfClaim(claim)
  return pool === undefined ? '' : identityKey(pool)
}

function poolKeyOfClaim(object: KubeObject): string[] {
  const key = poolKeyOf(object)
  return key === '' ? [] : [key]
}

function clusterKeyOfClaim(object: KubeObject): string[] {
  const claim = claimOf(object)
  if (isMalformed(claim) || claim.clusterName === '') return []
  return [`${claim.metadata.namespace}/${claim.clusterName}`]
}

function poolKeyOfReport(object: KubeObject): string[] {
  const report = reportOf(object)
  const pool = isMalformed(report) ? undefined : poolOfReport(report)
  return pool === undefined ? [] : [identityKey(pool)]
}
