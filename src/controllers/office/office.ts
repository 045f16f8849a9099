// What all desks share, put together once: the views of holds, pools and namespaces, the ledger that is kept equal to them,
// and the reconcilers that serve claims of every kind.
//
//   changed       wakes
//   a hold        itself
//   a claim       the holds that name it
//   the ledger    the pools it is about (pool/watches.ts); who waits for what may be free now (waiting.ts)
//
// A desk adds its own: its kinds and their views, its reconcilers, and what hold.reclaim has to ask about its claims.

import { capacityOf } from '../../ipam/capacity.ts'
import { poolSetOf } from '../../ipam/pool-set.ts'
import type { Cache } from '../../kube/cache.ts'
import type { Client } from '../../kube/client.ts'
import type { Discovery } from '../../kube/discovery.ts'
import type { Recorder } from '../../kube/events.ts'
import { measureReflectors } from '../../kube/metrics.ts'
import { type Kind, type KubeObject, keyOf } from '../../kube/object.ts'
import { Reflector } from '../../kube/reflector.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Manager } from '../../runtime/manager.ts'
import type { Random } from '../../runtime/random.ts'
import { defineReconciler } from '../../runtime/reconciler.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { type ClaimKind, ClaimKinds } from './claim-kind.ts'
import { reconcileHold } from './hold/reclaim.ts'
import { noteIn } from './journal.ts'
import { holds, namespaces, pools } from './kinds.ts'
import { Ledger } from './ledger.ts'
import { countDecisions, type DeskMetrics, measurePools, measureWaiting } from './metrics.ts'
import { Sharing } from './pool/sharing.ts'
import { addPoolCapacity } from './pool/watches.ts'
import { everything, type Scope } from './scope.ts'
import { createViews, findPoolByKey, followHolds, type Views } from './views.ts'
import { Waiting } from './waiting.ts'

export interface OfficeParts {
  readonly client: Client
  readonly discovery: Pick<Discovery, 'forget'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly recorder: Pick<Recorder, 'event'>
  readonly manager: Manager
  /** Everything, unless told otherwise. */
  readonly scope?: Scope
  readonly metrics?: Metrics | undefined
  /** Objects of the cache cannot be changed: for tests and the demo. */
  readonly isFrozen?: boolean
}

export interface Office {
  readonly views: Views
  readonly ledger: Ledger
  readonly metrics: DeskMetrics | undefined
  /** Holds in the name of such claims are looked after from now on. */
  addClaimKind(claims: ClaimKind): void
  /** A place for claims to wait in, and for the desk to be told whom to look at again. */
  addWaiting(wake: (claim: string) => void): Waiting
  /** Keeps the cache equal to what the server has of the kind. */
  watch<I extends string>(kind: Kind, cache: Cache<KubeObject, I>): void
}

/** Of holds that are looked at beside each other. */
const reclaimConcurrency = 64

export function openOffice(parts: OfficeParts): Office {
  const { client, clock, random, recorder, manager, log, scope = everything } = parts
  const views = createViews(parts.isFrozen)
  const sharing = new Sharing(views)
  const metrics = parts.metrics && countDecisions(parts.metrics, clock)
  const ledger = new Ledger()
  const claimKinds = new ClaimKinds()
  const lines: Waiting[] = []
  followHolds(views, ledger)
  if (parts.metrics !== undefined) {
    measurePools(parts.metrics, views, ledger)
    measureWaiting(parts.metrics, lines)
  }

  const world = { client, clock, caches: views, claimKinds, scope }
  const reclaim = manager.addReconciler(
    defineReconciler({
      name: 'hold.reclaim',
      reconcile: (name, pass) => reconcileHold(name, { ...world, note: noteIn(pass, metrics) }),
      concurrency: reclaimConcurrency,
    }),
  )
  views.holds.subscribe(change => {
    if (change.new !== undefined) reclaim.mark(keyOf(change.new))
  })
  addPoolCapacity(manager, { client, clock, recorder, caches: views, ledger, sharing, metrics })

  const reflectors = parts.metrics && measureReflectors(parts.metrics)
  const office: Office = {
    views,
    ledger,
    metrics,
    addClaimKind(claims) {
      claimKinds.add(claims)
      claims.cache.subscribe(({ old }) => {
        for (const hold of old === undefined ? [] : views.holds.byIndex('claim', old.metadata.uid ?? ''))
          reclaim.mark(keyOf(hold))
      })
    },
    addWaiting(wake) {
      const freeOf = (pool: string) => freeIn(pool, views, ledger)
      const waiting = new Waiting({ wake, freeOf, poolsOf: space => sharing.of(space) })
      ledger.subscribe(({ freed }) => freed && waiting.freed(freed))
      lines.push(waiting)
      return waiting
    },
    watch(kind, cache) {
      const onNotInstalled = () => parts.discovery.forget(kind)
      const place = kind.namespaced && scope.namespace !== '' ? { namespace: scope.namespace } : {}
      const options = { kind, client, clock, random, log, onNotInstalled, metrics: reflectors, ...place }
      // The reflector fills a cache, however it is searched.
      manager.addSource(new Reflector({ ...options, cache: cache as unknown as Cache<KubeObject> }))
    },
  }
  office.watch(holds, views.holds)
  office.watch(namespaces, views.namespaces)
  for (const kind of pools) {
    const cache = views.pools.get(kind.kind)
    if (cache !== undefined) office.watch(kind, cache)
  }
  return office
}

/** How many claims that ask for nothing in particular could be served now. */
function freeIn(key: string, views: Views, ledger: Ledger): number {
  const pool = findPoolByKey(views, key)
  if (pool === undefined || pool.isPaused || pool.isDeleting) return 0
  const index = ledger.indexOf(pool.space)
  // What is not taken may still lie inside of something larger that is.
  if (index.lowestFree(poolSetOf(pool)) === undefined) return 0
  return Number(capacityOf(pool, index).free)
}
