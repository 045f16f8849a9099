// What wakes the status of a pool.
//
//   changed                       wakes
//   a pool                        itself; with its spec, the pools that list the same addresses as it does or did, and those of its space
//   which space a pool may have   itself; and when what can have the name of it was read (space-names.ts)
//   a hold or showing (ledger)    the pool it was given from; every pool of its space, which another's holder takes from too

import { type Identity, identityKey, namespaceOfIdentityKey } from '../../../api/object.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { type Change, isSpecChange } from '../../../kube/cache.ts'
import type { KubeObject } from '../../../kube/object.ts'
import type { Domain } from '../../../runtime/domain.ts'
import { defineReconciler, type RunningReconciler } from '../../../runtime/reconciler.ts'
import { noteIn } from '../journal.ts'
import { pools as poolKinds } from '../kinds.ts'
import type { DeskMetrics } from '../metrics.ts'
import { poolOf } from '../parsed.ts'
import type { Sources } from '../sources.ts'
import { poolCacheOf } from '../views.ts'
import { type PoolWorld, reconcilePool } from './capacity.ts'
import { MoveMarks } from './move-marks.ts'
import { Neighbours } from './neighbours.ts'
import { Pace } from './pace.ts'
import { createSpaceNames, type SpaceNamesRead } from './space-names.ts'

export interface PoolDesk extends Omit<PoolWorld, 'neighbours' | 'pace' | 'moveMarks' | 'spaceNames' | 'note'> {
  readonly sources: Sources
  readonly metrics: DeskMetrics | undefined
  readonly readSpaceNames: SpaceNamesRead
}

export function addPoolCapacity(domain: Domain, world: PoolDesk): RunningReconciler {
  const { caches, clock, client, ledger, sources, metrics } = world
  const neighbours = new Neighbours(sources)
  const spaceNames = createSpaceNames(world.readSpaceNames, key => capacity.mark(key))
  const whole = { ...world, neighbours, spaceNames, pace: new Pace(clock), moveMarks: new MoveMarks(clock) }
  const capacity: RunningReconciler = domain.addReconciler(
    defineReconciler({
      name: 'pool.capacity',
      reconcile: (key, pass) =>
        reconcilePool(key, { ...whole, client: client.withPass(pass), note: noteIn(pass, metrics) }),
      groupOf: key => [namespaceOfIdentityKey(key)],
    }),
  )
  const mark = (pool: Identity) => capacity.mark(identityKey(pool))
  for (const { kind, group } of poolKinds) {
    // Also one that cannot be read, which is no source of addresses: it says why.
    const cache = poolCacheOf(caches, { kind, group })
    cache?.subscribe(change => {
      const { name = '', namespace = '' } = (change.new ?? change.old).metadata
      const identity = { apiGroup: group, kind, namespace, name }
      mark(identity)
      if (change.old === undefined) metrics?.poolSeen(identity)
      if (change.new === undefined) metrics?.poolGone(identity)
      if (!isSpecChange(change)) return
      neighbours.changed()
      // While the first list comes in, every pool is marked anyway.
      if (cache.hasSynced) for (const other of around(change, neighbours)) mark(other)
    })
  }
  sources.subscribe(change => {
    if (!change.isChanged) return
    capacity.mark(change.key)
    // It was judged again, and offers the same as before.
    if (change.old === change.new) return
    for (const pool of [change.old, change.new]) {
      for (const other of pool === undefined ? [] : sources.keysOf(pool.space)) capacity.mark(other)
    }
  })
  ledger.subscribe(({ space, pool }) => {
    capacity.mark(pool)
    for (const other of sources.keysOf(space)) capacity.mark(other)
  })
  return capacity
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
