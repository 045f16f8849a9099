// What every desk sees, whatever kind of claim it serves: holds, pools and namespaces, as they are in view.

import type { Hold } from '../../api/hold.ts'
import { type Identity, identityKey } from '../../api/object.ts'
import type { Pool } from '../../api/pool.ts'
import { isMalformed, type Malformed } from '../../ip/malformed.ts'
import { Cache } from '../../kube/cache.ts'
import { type KubeObject, keyOf, keyOfRef } from '../../kube/object.ts'
import { pools as poolKinds } from './kinds.ts'
import type { Ledger } from './ledger.ts'
import { holdOf, keepHold, keepNamespace, poolOf } from './parsed.ts'

export interface Views {
  readonly holds: Cache<KubeObject, 'claim' | 'pool'>
  readonly namespaces: Cache<KubeObject>
  /** By kind, in the order of `kinds.ts`. */
  readonly pools: ReadonlyMap<string, Cache<KubeObject>>
}

export function createViews(isFrozen = false): Views {
  const options = { isFrozen }
  return {
    holds: new Cache<KubeObject, 'claim' | 'pool'>({
      ...options,
      keep: keepHold,
      indexes: {
        claim: object => fromHold(object, hold => hold.claim.uid),
        pool: object => fromHold(object, hold => identityKey(hold.pool)),
      },
    }),
    namespaces: new Cache<KubeObject>({ ...options, keep: keepNamespace }),
    pools: new Map(poolKinds.map(({ kind }) => [kind, new Cache<KubeObject>(options)])),
  }
}

/** Keeps the ledger equal to the holds in view. One that can no longer be read stays what it was. */
export function followHolds({ holds }: Pick<Views, 'holds'>, ledger: Ledger): void {
  holds.subscribe(change => {
    if (change.new === undefined) return ledger.removeHold(keyOf(change.old))
    const hold = holdOf(change.new)
    if (!isMalformed(hold)) ledger.putHold(hold)
  })
}

type Pools = Pick<Views, 'pools'>

export function readPool({ pools }: Pools, identity: Identity | undefined): Pool | Malformed | undefined {
  if (identity === undefined) return undefined
  const object = pools.get(identity.kind)?.get(keyOfRef(identity))
  return object && poolOf(object)
}

export function findPool(views: Pools, identity: Identity | undefined): Pool | undefined {
  const pool = readPool(views, identity)
  return pool === undefined || isMalformed(pool) ? undefined : pool
}

/** By its identity key. */
export function findPoolByKey(views: Pools, key: string): Pool | undefined {
  const [kindAndGroup = '', namespace = '', name = ''] = key.split('/')
  const kind = poolKinds.find(({ kind, group }) => `${kind}.${group}` === kindAndGroup)
  return kind && findPool(views, { apiGroup: kind.group, kind: kind.kind, namespace, name })
}

/** All pools of all kinds that can be read. */
export function* allPools({ pools }: Pools): Generator<Pool, void, undefined> {
  for (const cache of pools.values()) {
    for (const object of cache.values()) {
      const pool = poolOf(object)
      if (!isMalformed(pool)) yield pool
    }
  }
}

export function holdsOfClaim({ holds }: Pick<Views, 'holds'>, uid: string): Hold[] {
  return holds.byIndex('claim', uid).flatMap(object => {
    const hold = holdOf(object)
    return isMalformed(hold) ? [] : [hold]
  })
}

function fromHold(object: KubeObject, read: (hold: Hold) => string): string[] {
  const hold = holdOf(object)
  return isMalformed(hold) ? [] : [read(hold)]
}
