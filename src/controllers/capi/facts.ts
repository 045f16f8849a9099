// What reviews of pools, claims and IPAddresses are decided on, as it is in view. IPAddresses that somebody made by hand count.

import type { PoolReference } from '../../api/ip-address-claim.ts'
import { type Identity, identityKey } from '../../api/object.ts'
import type { Pool } from '../../api/pool.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { blockOfReport } from '../../ipam/prefixes.ts'
import type { Block } from '../../ipam/space-index.ts'
import { holdOf } from '../office/parsed.ts'
import { isPoolHeld } from '../office/pool/held.ts'
import { allPools, findPool } from '../office/views.ts'
import { claimOf, reportOf } from './parsed.ts'
import type { Caches, CapiWorld } from './world.ts'

function* blocksHeldOf(caches: Caches, identity: Identity): Generator<Block, void, undefined> {
  const key = identityKey(identity)
  for (const object of caches.holds.byIndex('pool', key)) {
    const hold = holdOf(object)
    if (!isMalformed(hold) && hold.state === 'held') yield hold
  }
  const pool = findPool(caches, identity)
  if (pool === undefined) return
  for (const object of caches.reports.byIndex('pool', key)) {
    const report = reportOf(object)
    const block = isMalformed(report) ? report : blockOfReport(pool, report)
    if (!isMalformed(block)) yield block
  }
}

type Known = Pick<CapiWorld, 'caches' | 'ledger'>

/** What admission asks about the world. */
export interface ReviewFacts {
  heldOf(pool: Identity): Iterable<Block>
  isHeld(pool: Identity): boolean
  pools(): Iterable<Pool>
  poolOfClaim(namespace: string, name: string): PoolReference | undefined
  addressOfReport(namespace: string, name: string): string | undefined
}

export function reviewFacts({ caches, ledger }: Known): ReviewFacts {
  return {
    heldOf: pool => blocksHeldOf(caches, pool),
    isHeld: pool => isPoolHeld(pool, caches, ledger),
    pools: () => allPools(caches),
    poolOfClaim(namespace, name) {
      const object = caches.claims.get(`${namespace}/${name}`)
      const claim = object && claimOf(object)
      return claim === undefined || isMalformed(claim) ? undefined : claim.poolRef
    },
    addressOfReport(namespace, name) {
      const object = caches.reports.get(`${namespace}/${name}`)
      const report = object && reportOf(object)
      return report === undefined || isMalformed(report) ? undefined : report.address
    },
  }
}

/** Undefined until every kind that reviews ask about has been listed once. */
export function factsWhenSynced(known: Known): ReviewFacts | undefined {
  const { caches } = known
  const asked = [caches.holds, caches.reports, caches.claims, ...caches.pools.values()]
  return asked.every(cache => cache.hasSynced) ? reviewFacts(known) : undefined
}
