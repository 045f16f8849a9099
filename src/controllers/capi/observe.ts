// What a decision about a claim is made on, gathered in one look at the caches and the ledger. Nothing is written and nothing
// is asked of the API server; `plan.ts` decides on it.

import type { Hold } from '../../api/hold.ts'
import type { IPAddress } from '../../api/ip-address.ts'
import type { IPAddressClaim } from '../../api/ip-address-claim.ts'
import type { Identity } from '../../api/object.ts'
import type { Pool } from '../../api/pool.ts'
import type { IP } from '../../ip/address.ts'
import { isMalformed, type Malformed } from '../../ip/malformed.ts'
import { type Choice, choose, whyNotKnown } from '../../ipam/choose.ts'
import { kindNotRead, type Refusal } from '../../ipam/refusal.ts'
import { keyOfRef, nameOfKind } from '../../kube/object.ts'
import { isDisputed } from '../office/disputes.ts'
import { readable } from '../office/kept.ts'
import { pools } from '../office/kinds.ts'
import { holdsOfClaim, namespaceUIDOf, poolCacheOf, readPool } from '../office/views.ts'
import { ownerOf } from './ownership.ts'
import { clusterOf, reportOf } from './parsed.ts'
import { applicantOf, isBound, ownOf, reportNamed, whyNotCounted } from './shown.ts'
import { type Caches, type CapiWorld, keyOfClaim } from './world.ts'

/** `missing` also while the kind itself is not installed: a claim that names a Cluster waits for it. */
export type ClusterState = 'none' | 'running' | 'paused' | 'missing'

export interface Seen {
  readonly claim: IPAddressClaim
  readonly identity: Identity
  /** Of the claim's namespace; undefined while that is not known. */
  readonly namespaceUID: string | undefined
  readonly cluster: ClusterState
  readonly pool: Pool | Malformed | undefined
  /** Why the pool gives nothing new on account of its space, or because its kind cannot be read. */
  readonly spaceRefusal: Refusal | undefined
  /** Holds that name this claim's uid. */
  readonly holds: readonly Hold[]
  /** The IPAddress of the claim's name. */
  readonly report: IPAddress | undefined
  /** Holds and report are what the API server answered, not what a cache shows. */
  readonly isLive: boolean
  /** False for a claim that another controller serves: by namespace, or by the label it carries. */
  readonly isInScope: boolean
  /** How much longer it is believed that clusterctl takes the claim to another cluster; 0 where it does not. */
  readonly movingMs: number
  readonly ledger: LedgerSeen
}

/** What the ledger answers about addresses of the claim's pool, as it is in this moment. */
export interface LedgerSeen {
  holdAt(pool: Pool, ip: IP): Hold | undefined
  /** Whether another object has as good a claim to the address. */
  isDisputed(pool: Pool, ip: IP, hold: Hold | undefined): boolean
  choose(pool: Pool): Choice
  /** Why the pool would not give this very address to the claim, be it free or not. */
  whyNotForClaim(pool: Pool, ip: IP): Refusal | undefined
}

type World = Pick<CapiWorld, 'caches' | 'ledger' | 'sources' | 'random' | 'moved'>

export function observe(claim: IPAddressClaim, identity: Identity, isInScope: boolean, world: World): Seen {
  const { caches } = world
  const { namespace, name, uid } = claim.metadata
  const pool = readPool(caches, identity)
  const cluster = clusterStateOf(caches, claim)
  return {
    claim,
    identity,
    namespaceUID: namespaceUIDOf(caches, namespace),
    cluster,
    pool,
    spaceRefusal: pool === undefined ? whyNotRead(identity, caches) : spaceRefusalOf(pool, world),
    holds: holdsOfClaim(caches, uid),
    report: readable(caches.reports.get(`${namespace}/${name}`), reportOf),
    isLive: false,
    isInScope,
    // clusterctl pauses what it moves: where the Cluster goes on, the move was given up.
    movingMs: cluster === 'running' ? 0 : world.moved.leavesForMs(claim),
    ledger: ledgerSeenBy(claim, world),
  }
}

const spaceRefusalOf = (pool: Pool | Malformed, { sources }: World): Refusal | undefined =>
  isMalformed(pool) ? undefined : sources.whySpaceRefused(pool)

/** That a pool is not in view says nothing before its kind was listed once. */
function whyNotRead(pool: Identity, caches: Caches): Refusal | undefined {
  const kind = pools.find(one => one.kind === pool.kind && one.group === pool.apiGroup)
  const isRead = kind === undefined || poolCacheOf(caches, kind)?.hasSynced === true
  return isRead ? undefined : kindNotRead(pool, nameOfKind(kind))
}

function ledgerSeenBy(claim: IPAddressClaim, { ledger, caches, random }: World): LedgerSeen {
  return {
    holdAt: ({ space }, ip) => ledger.holdAt(space, ip),
    isDisputed: (pool, ip, hold) => isDisputedFor(claim, pool, ip, hold, { ledger, caches }),
    choose: pool =>
      choose(pool, ledger.indexOf(pool.space), {
        ...applicantOf(claim, pool, caches),
        owner: ownerOf(claim),
        requested: claim.requested,
        isShown: ip => isDisputedFor(claim, pool, ip, ledger.holdAt(pool.space, ip), { ledger, caches }),
        random: random(),
      }),
    whyNotForClaim: (pool, ip) =>
      whyNotKnown(pool, ledger.indexOf(pool.space)) ?? whyNotCounted(claim, pool, ip, ledger, caches),
  }
}

export function isDisputedFor(
  claim: IPAddressClaim,
  { space }: Pool,
  ip: IP,
  hold: Hold | undefined,
  { ledger, caches }: Pick<CapiWorld, 'ledger' | 'caches'>,
): boolean {
  const key = keyOfClaim(claim)
  const isHeld = hold?.claim.uid === claim.metadata.uid && hold.state === 'held' && claim.addressName !== ''
  const isReported = () => ledger.isShownBy(reportNamed(key), 'report', space, ip) && isBound(caches, key)
  const former = hold?.state === 'quarantined' ? ownOf(keyOfRef(hold.claim)) : []
  return isDisputed(ledger, space, ip, { own: ownOf(key), isProven: isHeld || isReported(), former })
}

function clusterStateOf({ clusters }: Pick<Caches, 'clusters'>, claim: IPAddressClaim): ClusterState {
  if (claim.clusterName === '') return 'none'
  const object = clusters.get(`${claim.metadata.namespace}/${claim.clusterName}`)
  const cluster = object && clusterOf(object)
  if (cluster === undefined || isMalformed(cluster)) return 'missing'
  return cluster.isPaused ? 'paused' : 'running'
}
