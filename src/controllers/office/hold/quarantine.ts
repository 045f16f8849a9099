// How long a released address rests before another claim may have it: the one place where that is decided.
//
//   the pool that it was given from    it rests
//   is there                           for as long as that pool says
//   is gone, or on its way out         for as long as the other pools of the space say that list the address and may give it
//                                      out, the longest of them, from its release on; if there is none, no claim could get the
//                                      address: not at all
//   any                                not at all, if an administrator deleted the hold while it was held
//
// A rest that has begun becomes shorter when its pool goes, and never longer. None lasts longer than `quarantineSecondsMax`.

import { cniGroup } from '../../../api/names.ts'
import type { Identity } from '../../../api/object.ts'
import type { Pool } from '../../../api/pool.ts'
import { rangeOfCIDR } from '../../../ip/range.ts'
import { overlapsSet } from '../../../ip/range-set.ts'
import { keyOfRef } from '../../../kube/object.ts'
import { quarantineSecondsMax } from '../../../limits.ts'
import { attachmentKind, networkKind } from '../../../networks/network.ts'
import { isInView, type Scope } from '../scope.ts'
import type { Sources } from '../sources.ts'
import { poolCacheOf, type Views } from '../views.ts'
import { type AnyHold, type AnyHoldSpec, isOfAddress } from './steps.ts'

export interface RestWorld {
  readonly sources: Pick<Sources, 'poolsOf' | 'poolsIn' | 'whySpaceRefused'>
  readonly caches: Pick<Views, 'pools' | 'attachments'>
  readonly scope: Scope
}

/** Of what is released now, or parked. */
export function restSecondsOf(released: AnyHoldSpec | AnyHold, { sources }: Pick<RestWorld, 'sources'>): number {
  const isDeleted = 'metadata' in released && released.metadata.deletionTimestamp !== undefined
  if (isDeleted) return 0
  return restSecondsOfPool(released.pool, sources) ?? longestOf(released, sources)
}

/** Of all that is released from the pool; undefined where it is gone, or on its way out, and the others of its space decide. */
export function restSecondsOfPool(pool: Identity, sources: Pick<Sources, 'poolsOf'>): number | undefined {
  const [own] = sources.poolsOf(pool)
  return own?.isDeleting === false ? own.quarantineSeconds : undefined
}

/** When a rest that has begun is over. */
export function restEndsMs(hold: AnyHold, world: RestWorld): number {
  const sinceMs = Date.parse(hold.since) || 0
  const untilMs = Date.parse(hold.until ?? '') || 0
  const seconds = isGone(hold, world) ? longestOf(hold, world.sources) : quarantineSecondsMax
  return Math.min(untilMs, sinceMs + seconds * 1000)
}

/** What a cache has not been told of, or cannot read, is not gone. */
export function isGone({ pool }: Pick<AnyHold, 'pool'>, { sources, caches, scope }: RestWorld): boolean {
  const [own] = sources.poolsOf(pool)
  if (own !== undefined) return own.isDeleting
  if (pool.apiGroup === cniGroup) return isNetworkGone(pool, caches, scope)
  const cache = poolCacheOf(caches, { kind: pool.kind, group: pool.apiGroup })
  if (cache === undefined || !cache.hasSynced) return false
  if (pool.namespace !== '' && !isInView(scope, pool.namespace)) return false
  return cache.get(keyOfRef(pool)) === undefined
}

/** With its last NetworkAttachmentDefinition, readable or not. Those of one name may be in any namespace. */
function isNetworkGone(pool: AnyHold['pool'], { attachments }: RestWorld['caches'], scope: Scope): boolean {
  if (!attachments.hasSynced || !isInView(scope, pool.namespace)) return false
  if (pool.kind === networkKind) return attachments.countByIndex('network', pool.name) === 0
  return pool.kind === attachmentKind && attachments.get(keyOfRef(pool)) === undefined
}

function longestOf(released: AnyHoldSpec, sources: RestWorld['sources']): number {
  let longest = 0
  for (const pool of sources.poolsIn(released.space)) {
    if (pool.isDeleting || pool.quarantineSeconds <= longest || !lists(pool, released)) continue
    // Of a pool that may give out nothing there, what its author writes keeps nothing from others either.
    if (sources.whySpaceRefused(pool) === undefined) longest = pool.quarantineSeconds
  }
  return longest
}

/** A MAC is listed by no pool: all of its space count. */
function lists({ addresses }: Pool, released: AnyHoldSpec): boolean {
  if (!isOfAddress(released)) return true
  const { family } = released.ip
  return addresses.family === family && overlapsSet(addresses, { family, ranges: [rangeOfCIDR(released)] })
}
