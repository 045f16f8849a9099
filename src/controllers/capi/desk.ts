// The desk of Cluster API claims, put together: what it watches, who wakes whom, and its reconcilers.
//
//   changed        wakes
//   a claim        itself; the hold it leaves behind
//   a pool         with its spec, the claims that wait for it, oldest first; on its first sight, all of its claims
//   a Cluster      its claims
//   a namespace    its claims that wait: a pool may be offered to it by its labels
//   a report       the claim of its name
//   a hold         itself; its claim; when it goes or rests, as many of those who wait as can now be served (waiting.ts)

import { identityKey } from '../../api/object.ts'
import type { Pool } from '../../api/pool.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { capacityOf } from '../../ipam/capacity.ts'
import { poolSetOf } from '../../ipam/pool-set.ts'
import { type Change, isSpecChange } from '../../kube/cache.ts'
import type { Client } from '../../kube/client.ts'
import type { Discovery } from '../../kube/discovery.ts'
import type { Recorder } from '../../kube/events.ts'
import { measureReflectors } from '../../kube/metrics.ts'
import { type Kind, type KubeObject, keyOf } from '../../kube/object.ts'
import { Reflector } from '../../kube/reflector.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Manager } from '../../runtime/manager.ts'
import type { Random } from '../../runtime/random.ts'
import { defineReconciler, done, type Pass, type RunningReconciler } from '../../runtime/reconciler.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { reconcileHold } from '../hold/reclaim.ts'
import { noteIn } from '../journal.ts'
import { claims, clusters, holds, namespaces, pools, reports } from '../kinds.ts'
import { Ledger } from '../ledger.ts'
import { countDecisions, type DeskMetrics, measurePools } from '../metrics.ts'
import { claimOf, holdOf, poolOf } from '../parsed.ts'
import { Sharing } from '../pool/sharing.ts'
import { addPoolCapacity } from '../pool/watches.ts'
import { reconcileClaim } from './binding.ts'
import { everything, isInScope, type Scope } from './scope.ts'
import { byAge, Waiting } from './waiting.ts'
import { type CapiWorld, createCaches, findPoolByKey, followLedger, LastWords, toldBefore } from './world.ts'

export interface DeskParts {
  readonly client: Client
  readonly discovery: Pick<Discovery, 'forget'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly recorder: Pick<Recorder, 'tell'>
  readonly manager: Manager
  /** Everything, unless told otherwise. */
  readonly scope?: Scope
  readonly metrics?: Metrics | undefined
  /** Objects of the cache cannot be changed: for tests and the demo. */
  readonly isFrozen?: boolean
}

/** What lasts from pass to pass. */
export type Desk = Omit<CapiWorld, 'note'>

/** Claims of one pool take turns with those of others; this many are worked on at once, of one pool too. */
const bindingConcurrency = 64

export function addCapiDesk(parts: DeskParts): Desk {
  const { client, clock, random, recorder, manager, scope = everything } = parts
  const caches = createCaches(parts.isFrozen)
  const sharing = new Sharing(caches)
  const metrics = parts.metrics && countDecisions(parts.metrics, clock)
  const waiting = new Waiting({
    wake: claim => binding.mark(claim),
    freeOf: pool => freeOf(pool, world),
    poolsOf: space => sharing.of(space),
  })
  const ledger = new Ledger(freed => {
    waiting.freed(freed)
    // Also what was only about to be taken was counted.
    for (const pool of sharing.of(freed.space)) capacity.mark(pool)
  })
  const lastWords = new LastWords()
  const world: Desk = { client, clock, random, recorder, caches, ledger, waiting, lastWords, leftAlone: new Map() }
  followLedger(caches, ledger)
  if (parts.metrics !== undefined) measurePools(parts.metrics, world)
  const inPass = ({ log }: Pass): CapiWorld => ({ ...world, note: noteIn(log, metrics) })

  const binding = manager.addReconciler(
    defineReconciler({
      name: 'claim.binding',
      async reconcile(key, pass) {
        if (isLeftAlone(key, scope, world)) return done()
        return waiting.during(key, () => reconcileClaim(key, inPass(pass)))
      },
      concurrency: bindingConcurrency,
      groupOf: key => poolKeyOf(world, key),
    }),
  )
  const reclaim = manager.addReconciler(
    defineReconciler({
      name: 'hold.reclaim',
      reconcile: (name, pass) => reconcileHold(name, inPass(pass), scope),
      concurrency: bindingConcurrency,
    }),
  )

  const capacity = addPoolCapacity(manager, { ...world, sharing, metrics })

  const marks = { binding, reclaim }
  caches.claims.subscribe(change => onClaim(world, change, marks, metrics))
  // A list comes in the order of names. Who asked first is served first, also by a process that has just started.
  void caches.claims.synced().then(() => {
    const known = [...caches.claims.values()]
    for (const claim of known) if (!isServed(claim)) world.leftAlone.set(keyOf(claim), toldBefore)
    markOldestFirst(known, binding)
  })
  caches.reports.subscribe(change => binding.mark(keyOf(change.new ?? change.old)))
  caches.clusters.subscribe(change => {
    for (const claim of caches.claims.byIndex('cluster', keyOf(change.new ?? change.old))) binding.mark(keyOf(claim))
  })
  caches.namespaces.subscribe(change => waiting.namespaceChanged(keyOf(change.new ?? change.old)))
  caches.holds.subscribe(change => onHold(change, marks))
  for (const kind of pools) caches.pools.get(kind.kind)?.subscribe(change => onPool(world, kind, change, binding))

  const reflectors = parts.metrics && measureReflectors(parts.metrics)
  const watch = (kind: Kind, cache: CapiWorld['caches']['clusters']) => {
    const { log, discovery } = parts
    const onNotInstalled = () => discovery.forget(kind)
    const place = kind.namespaced && scope.namespace !== '' ? { namespace: scope.namespace } : {}
    const options = { kind, cache, client, clock, random, log, onNotInstalled, metrics: reflectors, ...place }
    manager.addSource(new Reflector(options))
  }
  watch(holds, caches.holds as CapiWorld['caches']['clusters'])
  watch(claims, caches.claims as CapiWorld['caches']['clusters'])
  watch(reports, caches.reports as CapiWorld['caches']['clusters'])
  watch(clusters, caches.clusters)
  watch(namespaces, caches.namespaces)
  for (const kind of pools) {
    const cache = caches.pools.get(kind.kind)
    if (cache !== undefined) watch(kind, cache)
  }
  return world
}

/** A claim that is somebody else's to serve, by the label it carries. One that is gone is not left alone. */
function isLeftAlone(key: string, scope: Scope, { caches, waiting }: Desk): boolean {
  const claim = caches.claims.get(key)
  if (claim === undefined || isInScope(scope, claim)) return false
  waiting.leave(key)
  return true
}

interface Marks {
  readonly binding: RunningReconciler
  readonly reclaim: RunningReconciler
}

function onClaim(
  { caches }: Desk,
  change: Change<KubeObject>,
  { binding, reclaim }: Marks,
  metrics: DeskMetrics | undefined,
): void {
  const object = change.new ?? change.old
  const { uid = '', creationTimestamp } = object.metadata
  if (change.old === undefined && !isServed(object)) metrics?.claimSeen(uid, creationTimestamp ?? '')
  if (change.new === undefined) metrics?.claimGone(uid)
  if (caches.claims.hasSynced) binding.mark(keyOf(object))
  if (change.old === undefined) return
  for (const hold of caches.holds.byIndex('claim', change.old.metadata.uid ?? '')) reclaim.mark(keyOf(hold))
}

function onHold(change: Change<KubeObject>, { binding, reclaim }: Marks): void {
  const object = change.new ?? change.old
  if (change.new !== undefined) reclaim.mark(keyOf(object))
  const hold = holdOf(object)
  if (!isMalformed(hold)) binding.mark(`${hold.claim.namespace}/${hold.claim.name}`)
}

/** What others write into its status concerns no claim. */
function onPool({ caches, waiting }: Desk, kind: Kind, change: Change<KubeObject>, binding: RunningReconciler): void {
  const { namespace = '', name = '' } = (change.new ?? change.old).metadata
  const key = identityKey({ apiGroup: kind.group, kind: kind.kind, namespace, name })
  const before = readable(change.old)
  const after = readable(change.new)
  if (after !== undefined && (before === undefined || (before.isPaused && !after.isPaused))) {
    markOldestFirst(caches.claims.byIndex('pool', key), binding)
  }
  if (isSpecChange(change) || before?.isDeleting !== after?.isDeleting) waiting.poolChanged(key)
}

function readable(object: KubeObject | undefined): Pool | undefined {
  const pool = object && poolOf(object)
  return pool === undefined || isMalformed(pool) ? undefined : pool
}

/** How many claims that ask for nothing in particular could be served now. */
function freeOf(key: string, { caches, ledger }: Desk): number {
  const pool = findPoolByKey(caches, key)
  if (pool === undefined || pool.isPaused || pool.isDeleting) return 0
  const index = ledger.indexOf(pool.space)
  // What is not taken may still lie inside of something larger that is.
  if (index.lowestFree(poolSetOf(pool)) === undefined) return 0
  return Number(capacityOf(pool, index).free)
}

function markOldestFirst(claims: readonly KubeObject[], binding: RunningReconciler): void {
  const ages = claims.map(claim => ({ key: keyOf(claim), createdAt: claim.metadata.creationTimestamp ?? '' }))
  for (const { key } of ages.sort(byAge)) binding.mark(key)
}

function isServed(object: KubeObject): boolean {
  const claim = claimOf(object)
  return isMalformed(claim) || claim.addressName !== ''
}

function poolKeyOf({ caches }: Desk, key: string): string {
  const object = caches.claims.get(key)
  const claim = object && claimOf(object)
  if (claim === undefined || isMalformed(claim)) return ''
  const { apiGroup, kind, name } = claim.poolRef
  return `${apiGroup}/${kind}/${claim.metadata.namespace}/${name}`
}
