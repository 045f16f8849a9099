// The desk of Cluster API claims, put together: what it watches, who wakes whom, and its reconcilers.
//
//   changed        wakes
//   a claim        itself; the hold it leaves behind
//   a pool         the claims that wait for it, oldest first; on its first sight, all of its claims
//   a Cluster      its claims
//   a namespace    its claims that wait: a pool may be offered to it by its labels
//   a report       the claim of its name
//   a hold         itself; its claim; when it goes or rests, whoever waits for an address of its space

import { identityKey } from '../../api/object.ts'
import { isMalformed } from '../../ip/malformed.ts'
import type { Change } from '../../kube/cache.ts'
import type { Client } from '../../kube/client.ts'
import type { Discovery } from '../../kube/discovery.ts'
import type { Recorder } from '../../kube/events.ts'
import { type Kind, type KubeObject, keyOf } from '../../kube/object.ts'
import { Reflector } from '../../kube/reflector.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Manager } from '../../runtime/manager.ts'
import type { Random } from '../../runtime/random.ts'
import { defineReconciler, type RunningReconciler } from '../../runtime/reconciler.ts'
import type { Log } from '../../telemetry/log.ts'
import { reconcileHold } from '../hold/reclaim.ts'
import { claims, clusters, holds, namespaces, pools, reports } from '../kinds.ts'
import { Ledger } from '../ledger.ts'
import { claimOf, holdOf, poolOf } from '../parsed.ts'
import { addPoolCapacity } from '../pool/watches.ts'
import { reconcileClaim } from './binding.ts'
import { type CapiWorld, createCaches, followLedger, LastWords, oldestFirst, Waiting } from './world.ts'

export interface DeskParts {
  readonly client: Client
  readonly discovery: Pick<Discovery, 'forget'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly recorder: Pick<Recorder, 'tell'>
  readonly manager: Manager
  /** Objects of the cache cannot be changed: for tests and the demo. */
  readonly isFrozen?: boolean
}

/** Claims of one pool take turns with those of others; this many are worked on at once. */
const bindingConcurrency = 16

export function addCapiDesk(parts: DeskParts): CapiWorld {
  const { client, clock, random, recorder, manager } = parts
  const caches = createCaches(parts.isFrozen)
  const waiting = new Waiting()
  const spacesOfPools = new Map<string, Set<string>>()
  let binding: RunningReconciler | undefined
  const wake = (pool: string) => {
    for (const claim of waiting.of(pool)) binding?.mark(claim)
  }
  const ledger = new Ledger(space => {
    for (const pool of spacesOfPools.get(space) ?? []) wake(pool)
  })
  const world: CapiWorld = { client, clock, random, recorder, caches, ledger, waiting, lastWords: new LastWords() }
  followLedger(caches, ledger)

  binding = manager.addReconciler(
    defineReconciler({
      name: 'claim.binding',
      reconcile: key => reconcileClaim(key, world),
      concurrency: bindingConcurrency,
      groupOf: key => poolKeyOf(world, key),
    }),
  )
  const reclaim = manager.addReconciler(
    defineReconciler({ name: 'hold.reclaim', reconcile: name => reconcileHold(name, world) }),
  )

  addPoolCapacity(manager, world)

  const marks = { binding, reclaim, wake, spacesOfPools }
  caches.claims.subscribe(change => onClaim(world, change, marks))
  // A list comes in the order of names. Who asked first is served first, also by a process that has just started.
  void caches.claims.synced().then(() => markOldestFirst([...caches.claims.values()], binding))
  caches.reports.subscribe(change => binding.mark(keyOf(change.new ?? change.old)))
  caches.clusters.subscribe(change => {
    for (const claim of caches.claims.byIndex('cluster', keyOf(change.new ?? change.old))) binding.mark(keyOf(claim))
  })
  caches.namespaces.subscribe(change => {
    for (const claim of waiting.inNamespace(keyOf(change.new ?? change.old))) binding.mark(claim)
  })
  caches.holds.subscribe(change => onHold(change, marks))
  for (const cache of caches.pools.values()) cache.subscribe(change => onPool(world, change, marks))

  const watch = (kind: Kind, cache: CapiWorld['caches']['clusters']) => {
    const { log, discovery } = parts
    const onNotInstalled = () => discovery.forget(kind)
    manager.addSource(new Reflector({ kind, cache, client, clock, random, log, onNotInstalled }))
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

interface Marks {
  readonly binding: RunningReconciler
  readonly reclaim: RunningReconciler
  readonly wake: (pool: string) => void
  readonly spacesOfPools: Map<string, Set<string>>
}

function onClaim({ caches }: CapiWorld, change: Change<KubeObject>, { binding, reclaim }: Marks): void {
  const object = change.new ?? change.old
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

function onPool({ caches }: CapiWorld, change: Change<KubeObject>, { binding, wake, spacesOfPools }: Marks): void {
  const pool = change.new && poolOf(change.new)
  const before = change.old && poolOf(change.old)
  if (pool === undefined || isMalformed(pool)) return
  const key = identityKey(pool.identity)
  const sharing = spacesOfPools.get(pool.space) ?? new Set<string>()
  spacesOfPools.set(pool.space, sharing.add(key))
  const isResumed = before !== undefined && !isMalformed(before) && before.isPaused && !pool.isPaused
  if (before === undefined || isMalformed(before) || isResumed) {
    markOldestFirst(caches.claims.byIndex('pool', key), binding)
    return
  }
  wake(key)
}

function markOldestFirst(claims: readonly KubeObject[], binding: RunningReconciler): void {
  const times = claims.map((claim): [string, string] => [keyOf(claim), claim.metadata.creationTimestamp ?? ''])
  for (const claim of oldestFirst(times)) binding.mark(claim)
}

function poolKeyOf({ caches }: CapiWorld, key: string): string {
  const object = caches.claims.get(key)
  const claim = object && claimOf(object)
  if (claim === undefined || isMalformed(claim)) return ''
  const { apiGroup, kind, name } = claim.poolRef
  return `${apiGroup}/${kind}/${claim.metadata.namespace}/${name}`
}
