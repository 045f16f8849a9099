// What the webhooks of pools ask about the cluster. Answers come from caches and may be late, which is harmless: a pool that
// stops offering an address takes it from no claim, and a pool of which an address is held is kept by its finalizer. The checks
// are there to warn a user in time, not to keep the ledger safe.

import type { Hold } from '../../api/hold.ts'
import type { ClaimReference } from '../../api/lock.ts'
import { type Identity, identityKey, type VersionedKind } from '../../api/object.ts'
import type { Pool } from '../../api/pool.ts'
import type { IP } from '../../ip/address.ts'
import { isMalformed } from '../../ip/malformed.ts'
import type { Refusal } from '../../ipam/refusal.ts'
import type { Block } from '../../ipam/space-index.ts'
import { type KubeObject, keyOfRef } from '../../kube/object.ts'
import type { Gateways, ToldSubnet } from './gateways.ts'
import type { Ledger } from './ledger.ts'
import { holdOf } from './parsed.ts'
import { isPoolHeld } from './pool/held.ts'
import type { Sources } from './sources.ts'
import { poolCacheOf, type Views } from './views.ts'

export interface PoolFacts {
  /**
   * Whether there is such a pool with this uid. A request that knows it was made by a reader of the pool, or passed on by an
   * API server.
   */
  isStored(pool: Identity, uid: string): boolean
  /** Every address or prefix held from the pool, also by an IPAddress that was made by hand. */
  heldOf(pool: Identity): Iterable<Block>
  /** Whether a hold or an IPAddress names the pool, one that cannot be read included. */
  isHeld(pool: Identity): boolean
  /** The claims that have a hold of the pool, each once. */
  claimsOf(pool: Identity): readonly Pick<Identity, 'namespace' | 'name'>[]
  /** The claim that holds an address of a space, if one does. */
  holderAt(space: string, ip: IP): ClaimReference | undefined
  /** Which prefix length and gateway the IPAddresses of the pool say. */
  toldOf(pool: Identity): readonly ToldSubnet[]
  /** All pools of all kinds that can be read. */
  pools(): Iterable<Pool>
  /** Why a pool does not get the space that it asks for, or not yet; undefined if it does. */
  whySpaceRefused(pool: Pool): Refusal | undefined
}

interface Known {
  readonly views: Pick<Views, 'holds' | 'pools'>
  readonly ledger: Ledger
  readonly sources: Pick<Sources, 'all' | 'spaceFor'>
  readonly gateways: Pick<Gateways, 'toldOf'>
  /** Whether pools, and every kind that can show an address in use, have been listed once, or are known not to be readable. */
  hasSeenAll(): boolean
}

/**
 * For a request about a pool of this kind. Undefined until that kind has been listed once, and everything else that the answers are
 * made from, or is known not to be readable: what one kind lacks closes no other.
 */
export function poolFacts(
  { views, ledger, sources, gateways, hasSeenAll }: Known,
  kind: Pick<VersionedKind, 'kind' | 'group'>,
): PoolFacts | undefined {
  if (!views.holds.hasSynced || poolCacheOf(views, kind)?.hasSynced !== true || !hasSeenAll()) return undefined
  return {
    isStored: (pool, uid) => uid !== '' && storedPool(views, pool)?.metadata.uid === uid,
    heldOf: pool => blocksHeldOf(pool, views, ledger),
    claimsOf: pool => claimsHolding(pool, views),
    isHeld: pool => isPoolHeld(pool, views, ledger),
    holderAt(space, ip) {
      const hold = ledger.holdAt(space, ip)
      return hold?.state === 'held' ? hold.claim : undefined
    },
    toldOf: pool => gateways.toldOf(pool),
    pools: () => sources.all(),
    whySpaceRefused(pool) {
      const joining = sources.spaceFor(pool)
      return joining !== undefined && 'refused' in joining ? joining.refused : undefined
    },
  }
}

function storedPool(views: Pick<Views, 'pools'>, pool: Identity): KubeObject | undefined {
  return poolCacheOf(views, { kind: pool.kind, group: pool.apiGroup })?.get(keyOfRef(pool))
}

function* heldHolds(pool: Identity, { holds }: Pick<Views, 'holds'>): Generator<Hold, void, undefined> {
  for (const object of holds.byIndex('pool', identityKey(pool))) {
    const hold = holdOf(object)
    if (!isMalformed(hold) && hold.state === 'held') yield hold
  }
}

function* blocksHeldOf(pool: Identity, views: Pick<Views, 'holds'>, ledger: Ledger): Generator<Block, void, undefined> {
  yield* heldHolds(pool, views)
  yield* ledger.reportedOf(pool)
}

function claimsHolding(pool: Identity, views: Pick<Views, 'holds'>): readonly Identity[] {
  const claims = new Map<string, Identity>()
  for (const { claim } of heldHolds(pool, views)) claims.set(claim.uid, claim)
  return [...claims.values()]
}
