// What the desk of Cluster API claims knows and may touch: its views of the cluster, the ledger, one client. Reconcilers
// take all of it from here and nothing from anywhere else.

import type { Hold } from '../../api/hold.ts'
import type { IPAddress } from '../../api/ip-address.ts'
import { type IPAddressClaim, poolOfClaim } from '../../api/ip-address-claim.ts'
import { type Identity, identityKey } from '../../api/object.ts'
import { poolKindOf } from '../../api/to-pool.ts'
import { type IP, parseIP } from '../../ip/address.ts'
import { firstIP } from '../../ip/cidr.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { Cache, type Change, isSpecChange } from '../../kube/cache.ts'
import type { Client } from '../../kube/client.ts'
import type { Recorder } from '../../kube/events.ts'
import { type KubeObject, keyOf } from '../../kube/object.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'
import type { Note } from '../office/journal.ts'
import type { LastWords } from '../office/last-words.ts'
import type { Ledger, Showing } from '../office/ledger.ts'
import { claimOf, clusterOf, keepClaim, keepCluster, keepReport, poolOf, reportOf } from '../office/parsed.ts'
import { createViews, findPool, type Views } from '../office/views.ts'
import type { Waiting } from '../office/waiting.ts'
import type { Moved } from './moved.ts'

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
  readonly waiting: Waiting
  /** Refusals said of late. */
  readonly lastWords: LastWords
  readonly moved: Pick<Moved, 'isLeaving'>
  /** Claims that are left alone, and why, as it was last said. */
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

/** The ledger knows what IPAddresses and choices show. */
export function followShown(caches: Caches, ledger: Ledger): void {
  caches.reports.subscribe(change => showReport(caches, ledger, change))
  caches.claims.subscribe(change => showChoice(caches, ledger, change))
  for (const cache of caches.pools.values()) {
    // Addresses that came before their pool show from now on.
    cache.subscribe(change => {
      if (!isSpecChange(change)) return
      const pool = change.new && poolOf(change.new)
      if (pool === undefined || isMalformed(pool)) return
      const key = identityKey(pool.identity)
      for (const object of caches.reports.byIndex('pool', key)) showReport(caches, ledger, { new: object })
      for (const object of caches.claims.byIndex('pool', key)) showChoice(caches, ledger, { new: object })
    })
  }
}

export const showingOfReport = (key: string): string => `IPAddress ${key}`
export const showingOfClaim = (key: string): string => `IPAddressClaim ${key}`
export const showingOfTaker = (key: string): string => `IPAddressClaim ${key}, about to take`

type Shown = Pick<CapiWorld, 'ledger' | 'caches'>

/**
 * Whether somebody beside this claim has as good a word for the address. Anybody may write an annotation or an IPAddress:
 * against a claim that is bound, and has a hold or an IPAddress to prove it, only another bound claim counts. Else a
 * stranger could take away what was given.
 */
export function isDisputed(world: Shown, claim: IPAddressClaim, space: string, ip: IP, hold?: Hold): boolean {
  const key = keyOfClaim(claim)
  const shownBy = world.ledger.shownBy(space, ip)
  const isHeld = hold?.claim.uid === claim.metadata.uid && hold.state === 'held' && claim.addressName !== ''
  if (isHeld || (shownBy.includes(showingOfReport(key)) && isBound(world.caches, key))) {
    return isBoundToAnother(world, claim, space, ip)
  }
  return shownBy.some(by => by !== showingOfReport(key) && by !== showingOfClaim(key))
}

/** Whether a reader, following some other claim to its IPAddress, finds this address. */
export function isBoundToAnother({ ledger, caches }: Shown, claim: IPAddressClaim, space: string, ip: IP): boolean {
  const own = showingOfReport(keyOfClaim(claim))
  return ledger.shownBy(space, ip).some(by => {
    return by !== own && by.startsWith(showingOfReport('')) && isBound(caches, by.slice(showingOfReport('').length))
  })
}

/** The claim says that it is bound, is not on its way out, and the IPAddress of its name names it. */
function isBound(caches: Caches, key: string): boolean {
  const [object, shown] = [caches.claims.get(key), caches.reports.get(key)]
  const [claim, report] = [object && claimOf(object), shown && reportOf(shown)]
  if (claim === undefined || report === undefined || isMalformed(claim) || isMalformed(report)) return false
  if (claim.isDeleting || claim.addressName === '') return false
  return report.metadata.ownerReferences.some(({ uid }) => uid === claim.metadata.uid)
}

export const keyOfClaim = ({ metadata }: IPAddressClaim): string => `${metadata.namespace}/${metadata.name}`

function showReport(caches: Caches, ledger: Ledger, change: Change<KubeObject>): void {
  const by = showingOfReport(keyOf(change.new ?? change.old))
  const report = change.new && reportOf(change.new)
  const pool = report === undefined || isMalformed(report) ? undefined : poolOfReport(report)
  if (report === undefined || isMalformed(report) || pool === undefined) return ledger.hide(by)
  const { namespace } = report.metadata
  const { pool: identity, space, ip, bits } = placeOf(report.address, pool, caches)
  ledger.show({ by, as: 'report', pool: identity, space, ip, bits, namespace })
}

function showChoice(caches: Caches, ledger: Ledger, change: Change<KubeObject>): void {
  const by = showingOfClaim(keyOf(change.new ?? change.old))
  const claim = change.new && claimOf(change.new)
  if (claim === undefined || isMalformed(claim) || claim.choice === undefined) return ledger.hide(by)
  const pool = poolOfClaim(claim)
  if (pool === undefined) return ledger.hide(by)
  const { namespace } = claim.metadata
  const { pool: identity, space, ip, bits } = placeOf(claim.choice, pool, caches)
  ledger.show({ by, as: 'choice', pool: identity, space, ip, bits, namespace })
}

/** Where in the ledger the address lies. */
function placeOf(address: string, identity: Identity, caches: Caches): Pick<Showing, 'pool' | 'space' | 'ip' | 'bits'> {
  const pool = findPool(caches, identity)
  const ip = parseIP(address)
  if (pool === undefined || isMalformed(ip) || ip.family !== pool.family)
    return { pool: identity, space: '', ip: undefined, bits: 0 }
  const { space, bits } = pool
  return { pool: pool.identity, space, ip: firstIP({ ip, bits }), bits }
}

export function poolOfReport({ poolRef, metadata }: IPAddress): Identity | undefined {
  const kind = poolKindOf(poolRef)
  if (kind === undefined) return undefined
  const { apiGroup, name } = poolRef
  return { apiGroup, kind: poolRef.kind, namespace: kind.isNamespaced ? metadata.namespace : '', name }
}

export type ClusterState = 'none' | 'running' | 'paused' | 'missing'

/** `missing` also while the kind itself is not installed: a claim that names a Cluster waits for it. */
export function clusterStateOf(caches: Caches, { clusterName, metadata }: IPAddressClaim): ClusterState {
  if (clusterName === '') return 'none'
  const object = caches.clusters.get(`${metadata.namespace}/${clusterName}`)
  const cluster = object && clusterOf(object)
  if (cluster === undefined || isMalformed(cluster)) return 'missing'
  return cluster.isPaused ? 'paused' : 'running'
}

/** Of a claim that was there before this process: an earlier one has told, and a restart is no news. */
export const toldBefore = 'told before'

/** Why nothing is done for a claim, whatever there is to do. */
export type HandsOff = 'ClaimPaused' | 'ClusterPaused' | 'ClusterNotFound' | 'PoolPaused' | 'KeptByOthers'

export function whyHandsOff(
  claim: IPAddressClaim,
  { cluster }: { readonly cluster: ClusterState },
): HandsOff | undefined {
  if (claim.isPaused) return 'ClaimPaused'
  if (cluster === 'paused') return 'ClusterPaused'
  return cluster === 'missing' ? 'ClusterNotFound' : undefined
}

function poolKeyOfClaim(object: KubeObject): string[] {
  const claim = claimOf(object)
  const pool = isMalformed(claim) ? undefined : poolOfClaim(claim)
  return pool === undefined ? [] : [identityKey(pool)]
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
