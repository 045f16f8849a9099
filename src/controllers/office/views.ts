// The caches that every desk reads, whatever kind of claim it serves: holds, pools, networks and namespaces.

import type { Hold } from '../../api/hold.ts'
import type { MACHold } from '../../api/mac-hold.ts'
import { type Identity, identityKey } from '../../api/object.ts'
import type { Pool } from '../../api/pool.ts'
import { isMalformed, type Malformed } from '../../ip/malformed.ts'
import { Cache } from '../../kube/cache.ts'
import { type Kind, type KubeObject, keyOfRef } from '../../kube/object.ts'
import { networkNameOf } from '../../networks/attachment.ts'
import { pools as poolKinds } from './kinds.ts'
import type { Ledger } from './ledger.ts'
import {
  attachmentOf,
  holdOf,
  ipPoolOf,
  keepAttachment,
  keepHold,
  keepMACHold,
  keepNamespace,
  macHoldOf,
  poolOf,
} from './parsed.ts'

export interface Views {
  readonly holds: Cache<KubeObject, 'claim' | 'pool'>
  readonly macHolds: Cache<KubeObject, 'claim' | 'space'>
  readonly namespaces: Cache<KubeObject>
  /** By kind and group, in the order of `kinds.ts`. Whole: there are few, and a status is compared as it stands. */
  readonly pools: ReadonlyMap<string, Cache<KubeObject>>
  /** By the name of the network; by that within a namespace, as namespace/network; by namespace. */
  readonly attachments: Cache<KubeObject, 'network' | 'local' | 'namespace'>
  /** Whole: there are few, and a desk may render them. */
  readonly clusterUDNs: Cache<KubeObject>
  /** By the name of the network. Whole, as pools are. */
  readonly ipPools: Cache<KubeObject, 'network'>
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
    macHolds: new Cache<KubeObject, 'claim' | 'space'>({
      ...options,
      keep: keepMACHold,
      indexes: {
        claim: object => readable(macHoldOf(object)).map(({ claim }) => claim.uid),
        space: object => readable(macHoldOf(object)).map(({ space }) => space),
      },
    }),
    namespaces: new Cache<KubeObject>({ ...options, keep: keepNamespace }),
    pools: new Map(poolKinds.map(kind => [keyOfKind(kind), new Cache<KubeObject>(options)])),
    attachments: new Cache<KubeObject, 'network' | 'local' | 'namespace'>({
      ...options,
      keep: keepAttachment,
      indexes: {
        network: object => networkNamesOf(object),
        local: object => networkNamesOf(object).map(name => `${object.metadata.namespace}/${name}`),
        namespace: object => [object.metadata.namespace ?? ''],
      },
    }),
    clusterUDNs: new Cache<KubeObject>(options),
    ipPools: new Cache<KubeObject, 'network'>({
      ...options,
      indexes: { network: object => readable(ipPoolOf(object)).map(({ networkName }) => networkName) },
    }),
  }
}

function networkNamesOf(object: KubeObject): string[] {
  return readable(attachmentOf(object)).flatMap(attachment => networkNameOf(attachment) ?? [])
}

/** Keeps the ledger equal to the holds in the cache. One that can no longer be read stays what it was. */
export function followHolds({ holds }: Pick<Views, 'holds'>, ledger: Ledger): void {
  holds.subscribe(change => {
    const seen = holdOf(change.new ?? change.old)
    if (change.new !== undefined) {
      if (!isMalformed(seen)) ledger.putHold(seen)
      return
    }
    const gone = isMalformed(seen) ? ledger.holdNamed(change.key) : seen
    if (gone !== undefined) ledger.removeHold(gone)
  })
}

/** Calls back with each MAC that another claim may be able to have now. */
export function followMACHolds({ macHolds }: Pick<Views, 'macHolds'>, onFreed: (hold: MACHold) => void): void {
  macHolds.subscribe(({ old, new: next }) => {
    const before = old && macHoldOf(old)
    if (before === undefined || isMalformed(before)) return
    const after = next && macHoldOf(next)
    const isHeld = after !== undefined && (isMalformed(after) || after.state === before.state)
    if (!isHeld) onFreed(before)
  })
}

/**
 * Calls back with the key of the claim when a hold of a claim of this kind comes, changes or goes; and when one is released or
 * goes, with those that show its address: a user may have edited which claim it names.
 */
export function onHoldsOf(
  { holds, macHolds }: Pick<Views, 'holds' | 'macHolds'>,
  ledger: Pick<Ledger, 'shownAt'>,
  kind: Pick<Kind, 'group' | 'kind'>,
  onChange: (claim: string) => void,
): void {
  const look = (hold: Hold | MACHold | Malformed) => {
    if (isMalformed(hold) || hold.claim.apiGroup !== kind.group || hold.claim.kind !== kind.kind) return
    onChange(keyOfRef(hold.claim))
  }
  holds.subscribe(change => {
    const hold = holdOf(change.new ?? change.old)
    look(hold)
    if (isMalformed(hold) || (change.new !== undefined && hold.state === 'held')) return
    for (const { by } of ledger.shownAt(hold.space, hold.ip)) if (by.kind === kind.kind) onChange(by.key)
  })
  macHolds.subscribe(change => look(macHoldOf(change.new ?? change.old)))
}

type Pools = Pick<Views, 'pools'>

export function readPool({ pools }: Pools, identity: Identity | undefined): Pool | Malformed | undefined {
  if (identity === undefined) return undefined
  const cache = poolCacheOf({ pools }, { kind: identity.kind, group: identity.apiGroup })
  const object = cache?.get(keyOfRef(identity))
  return object && poolOf(object)
}

export function findPool(views: Pools, identity: Identity | undefined): Pool | undefined {
  const pool = readPool(views, identity)
  return pool === undefined || isMalformed(pool) ? undefined : pool
}

/** Undefined while the namespace is not known. */
export const namespaceUIDOf = ({ namespaces }: Pick<Views, 'namespaces'>, name: string): string | undefined =>
  namespaces.get(name)?.metadata.uid

/** The cache of one kind of pool. Two groups may have a kind of one name. */
export function poolCacheOf({ pools }: Pools, kind: Pick<Kind, 'kind' | 'group'>): Cache<KubeObject> | undefined {
  return pools.get(keyOfKind(kind))
}

/** Pools are looked up for every claim and every report, nearly always of one kind: its key is made once. */
export function keyOfKind({ kind, group }: Pick<Kind, 'kind' | 'group'>): string {
  if (lastKind.kind !== kind || lastKind.group !== group) lastKind = { kind, group, key: `${kind}.${group}` }
  return lastKind.key
}

let lastKind = { kind: '', group: '', key: '.' }

export function holdsOfClaim({ holds }: Pick<Views, 'holds'>, uid: string): Hold[] {
  return holds.byIndex('claim', uid).flatMap(object => readable(holdOf(object)))
}

const readable = <T extends object>(value: T | Malformed): T[] => (isMalformed(value) ? [] : [value])

function fromHold(object: KubeObject, read: (hold: Hold) => string): string[] {
  const hold = holdOf(object)
  return isMalformed(hold) ? [] : [read(hold)]
}
