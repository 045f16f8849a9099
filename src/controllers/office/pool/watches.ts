// What wakes the status of a pool.
//
//   changed                    wakes
//   a pool                     itself; with its spec, the pools that list the same addresses as it does or did
//   who has what (ledger.ts)   the pool it was given from; every pool of its space, where another's holder takes from it too

import { type Identity, identityKey } from '../../../api/object.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { type Change, isSpecChange } from '../../../kube/cache.ts'
import type { KubeObject } from '../../../kube/object.ts'
import type { Manager } from '../../../runtime/manager.ts'
import { defineReconciler, type RunningReconciler } from '../../../runtime/reconciler.ts'
import { noteIn } from '../journal.ts'
import { pools as poolKinds } from '../kinds.ts'
import type { DeskMetrics } from '../metrics.ts'
import { poolOf } from '../parsed.ts'
import { type PoolWorld, reconcilePool } from './capacity.ts'
import { Neighbours } from './neighbours.ts'
import { Pace } from './pace.ts'
import type { Sharing } from './sharing.ts'

export interface PoolDesk extends Omit<PoolWorld, 'neighbours' | 'pace' | 'note'> {
  readonly sharing: Sharing
  readonly metrics: DeskMetrics | undefined
}

export function addPoolCapacity(manager: Manager, world: PoolDesk): RunningReconciler {
  const { caches, clock, ledger, sharing, metrics } = world
  const neighbours = new Neighbours(caches)
  const whole = { ...world, neighbours, pace: new Pace(clock) }
  const capacity = manager.addReconciler(
    defineReconciler({
      name: 'pool.capacity',
      reconcile: (key, pass) => reconcilePool(key, { ...whole, note: noteIn(pass, metrics) }),
    }),
  )
  const mark = (pool: Identity) => capacity.mark(identityKey(pool))
  for (const { kind, group } of poolKinds) {
    const cache = caches.pools.get(kind)
    cache?.subscribe(change => {
      const { name = '', namespace = '' } = (change.new ?? change.old).metadata
      mark({ apiGroup: group, kind, namespace, name })
      if (!isSpecChange(change)) return
      neighbours.changed()
      for (const object of sides(change)) for (const other of sharingWith(object, sharing)) capacity.mark(other)
      // While the first list comes in, every pool is marked anyway.
      if (cache.hasSynced) for (const other of around(change, neighbours)) mark(other)
    })
  }
  ledger.subscribe(({ space, pool }) => {
    capacity.mark(pool)
    for (const other of sharing.of(space)) capacity.mark(other)
  })
  return capacity
}

function around(change: Change<KubeObject>, neighbours: Neighbours): Identity[] {
  return sides(change).flatMap(object => {
    const pool = poolOf(object)
    return isMalformed(pool) ? [] : neighbours.around(pool)
  })
}

/** The pools of the space that the pool, as it is or was, gives out of. */
function sharingWith(object: KubeObject, sharing: Sharing): Iterable<string> {
  const pool = poolOf(object)
  return isMalformed(pool) ? [] : sharing.of(pool.space)
}

function sides({ old, new: next }: Change<KubeObject>): KubeObject[] {
  return [old, next].filter(object => object !== undefined)
}
