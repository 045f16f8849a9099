// What wakes the status of a pool.
//
//   changed                    wakes
//   a pool                     itself; with its spec, the pools that list the same addresses as it does or did
//   a hold                     every pool of its space: in a shared one, another pool's holder takes from this one too
//   an IPAddress, a choice     the same, by the pool it names

import { poolOfClaim } from '../../api/ip-address-claim.ts'
import { type Identity, identityKey } from '../../api/object.ts'
import { isMalformed } from '../../ip/malformed.ts'
import type { Change } from '../../kube/cache.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { Manager } from '../../runtime/manager.ts'
import { defineReconciler, type RunningReconciler } from '../../runtime/reconciler.ts'
import { findPool, poolOfReport } from '../capi/world.ts'
import { pools as poolKinds } from '../kinds.ts'
import { claimOf, holdOf, poolOf, reportOf } from '../parsed.ts'
import { type PoolWorld, reconcilePool } from './capacity.ts'
import { Neighbours } from './neighbours.ts'
import { Pace } from './pace.ts'

/** Call it after the ledger follows the caches: who wakes a pool must have been counted. */
export function addPoolCapacity(manager: Manager, world: Omit<PoolWorld, 'neighbours' | 'pace'>): RunningReconciler {
  const { caches, clock } = world
  const neighbours = new Neighbours(caches)
  const whole: PoolWorld = { ...world, neighbours, pace: new Pace(clock) }
  const capacity = manager.addReconciler(
    defineReconciler({ name: 'pool.capacity', reconcile: key => reconcilePool(key, whole) }),
  )
  const mark = (pool: Identity | undefined) => {
    if (pool !== undefined) capacity.mark(identityKey(pool))
  }
  const sharing = new Sharing()
  const markSpaceOf = (pool: Identity | undefined) => {
    mark(pool)
    for (const other of sharing.of(findPool(caches, pool)?.space ?? '')) capacity.mark(other)
  }
  for (const { kind, group } of poolKinds) {
    const cache = caches.pools.get(kind)
    cache?.subscribe(change => {
      const { name = '', namespace = '' } = (change.new ?? change.old).metadata
      mark({ apiGroup: group, kind, namespace, name })
      if (!isSpecChange(change)) return
      neighbours.changed()
      for (const other of sharing.follow(change)) capacity.mark(other)
      // While the first list comes in, every pool is marked anyway.
      if (cache.hasSynced) for (const other of around(change, neighbours)) mark(other)
    })
  }
  caches.holds.subscribe(change => {
    for (const object of sides(change)) {
      const hold = holdOf(object)
      if (isMalformed(hold)) continue
      mark(hold.pool)
      for (const pool of sharing.of(hold.space)) capacity.mark(pool)
    }
  })
  caches.reports.subscribe(change => {
    for (const object of sides(change)) {
      const report = reportOf(object)
      if (!isMalformed(report)) markSpaceOf(poolOfReport(report))
    }
  })
  caches.claims.subscribe(change => {
    if (choiceOf(change.old) === choiceOf(change.new)) return
    for (const object of sides(change)) {
      const claim = claimOf(object)
      if (!isMalformed(claim)) markSpaceOf(poolOfClaim(claim))
    }
  })
  return capacity
}

/** The pools of each space, by identity key. */
class Sharing {
  readonly #pools = new Map<string, Set<string>>()

  of(space: string): Iterable<string> {
    return this.#pools.get(space) ?? []
  }

  /** Answers the pools beside it, where it was and where it is. */
  follow(change: Change<KubeObject>): string[] {
    const before = change.old && poolOf(change.old)
    const after = change.new && poolOf(change.new)
    const beside: string[] = []
    if (before !== undefined && !isMalformed(before)) {
      const pools = this.#pools.get(before.space)
      pools?.delete(identityKey(before.identity))
      if (pools?.size === 0) this.#pools.delete(before.space)
      beside.push(...(pools ?? []))
    }
    if (after !== undefined && !isMalformed(after)) {
      const pools = this.#pools.get(after.space) ?? new Set<string>()
      beside.push(...pools)
      this.#pools.set(after.space, pools.add(identityKey(after.identity)))
    }
    return beside
  }
}

function isSpecChange({ old, new: next }: Change<KubeObject>): boolean {
  return old === undefined || next === undefined || old.metadata.generation !== next.metadata.generation
}

function around(change: Change<KubeObject>, neighbours: Neighbours): Identity[] {
  return sides(change).flatMap(object => {
    const pool = poolOf(object)
    return isMalformed(pool) ? [] : neighbours.around(pool)
  })
}

function sides({ old, new: next }: Change<KubeObject>): KubeObject[] {
  return [old, next].filter(object => object !== undefined)
}

function choiceOf(object: KubeObject | undefined): string | undefined {
  const claim = object && claimOf(object)
  return claim === undefined || isMalformed(claim) ? undefined : claim.choice
}
