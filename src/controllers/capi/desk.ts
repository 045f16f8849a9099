// The desk of Cluster API claims, put together: what it watches, who wakes whom, and its reconciler. What it shares with other
// desks is in office.ts.
//
//   changed        wakes
//   a claim        itself
//   a pool         with its spec, the claims that wait for it, oldest first; on its first sight, all of its claims
//   a Cluster      its claims
//   a namespace    its claims that wait: a pool may be offered to it by its labels
//   a report       the claim of its name
//   a hold         its claim; when it goes or rests, as many of those who wait as can now be served (waiting.ts)

import type { Hold } from '../../api/hold.ts'
import { identityKey } from '../../api/object.ts'
import type { Pool } from '../../api/pool.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { type Change, isSpecChange } from '../../kube/cache.ts'
import { type Kind, type KubeObject, keyOf } from '../../kube/object.ts'
import { defineReconciler, done, type RunningReconciler } from '../../runtime/reconciler.ts'
import { noteIn } from '../office/journal.ts'
import { claims, clusters, pools, reports } from '../office/kinds.ts'
import { LastWords } from '../office/last-words.ts'
import type { DeskMetrics } from '../office/metrics.ts'
import { type Office, type OfficeParts, openOffice } from '../office/office.ts'
import { claimOf, holdOf, poolOf } from '../office/parsed.ts'
import { everything, isInScope, type Scope } from '../office/scope.ts'
import { byAge } from '../office/waiting.ts'
import { reconcileClaim } from './binding.ts'
import { Moved } from './moved.ts'
import { standsBy } from './whose.ts'
import { type CapiWorld, createCaches, followShown, toldBefore } from './world.ts'

/** What lasts from pass to pass. */
export type Desk = Omit<CapiWorld, 'note'>

/** Claims of one pool take turns with those of others; this many are worked on at once, of one pool too. */
const bindingConcurrency = 64

/** With an office that other desks share, or its own. */
export function addCapiDesk(parts: OfficeParts, office: Office = openOffice(parts)): Desk {
  const { client, clock, random, recorder, manager, scope = everything } = parts
  const { ledger, metrics } = office
  const caches = createCaches(parts.isFrozen, office.views)
  const waiting = office.addWaiting(claim => binding.mark(claim))
  const kept = { lastWords: new LastWords(), moved: new Moved(caches), leftAlone: new Map<string, string>() }
  const world: Desk = { client, clock, random, recorder, caches, ledger, waiting, ...kept }
  followShown(caches, ledger)

  const binding = manager.addReconciler(
    defineReconciler({
      name: 'claim.binding',
      async reconcile(key, pass) {
        if (isLeftAlone(key, scope, world)) return done()
        return waiting.during(key, () => reconcileClaim(key, { ...world, note: noteIn(pass, metrics) }))
      },
      concurrency: bindingConcurrency,
      groupOf: key => poolKeyOf(world, key),
    }),
  )

  caches.claims.subscribe(change => onClaim(world, change, binding, metrics))
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
  caches.holds.subscribe(change => onHold(change, binding))
  for (const kind of pools) caches.pools.get(kind.kind)?.subscribe(change => onPool(world, kind, change, binding))

  office.addClaimKind({ kind: claims, cache: caches.claims, standsBy })
  office.watch(claims, caches.claims)
  office.watch(reports, caches.reports)
  office.watch(clusters, caches.clusters)
  return world
}

/** A claim that is somebody else's to serve, by the label it carries. One that is gone is not left alone. */
function isLeftAlone(key: string, scope: Scope, { caches, waiting }: Desk): boolean {
  const claim = caches.claims.get(key)
  if (claim === undefined || isInScope(scope, claim)) return false
  waiting.leave(key)
  return true
}

function onClaim(
  { caches }: Desk,
  change: Change<KubeObject>,
  binding: RunningReconciler,
  metrics: DeskMetrics | undefined,
): void {
  const object = change.new ?? change.old
  const { uid = '', creationTimestamp } = object.metadata
  if (change.old === undefined && !isServed(object)) metrics?.claimSeen(uid, creationTimestamp ?? '')
  if (change.new === undefined) metrics?.claimGone(uid)
  if (caches.claims.hasSynced) binding.mark(keyOf(object))
}

function onHold(change: Change<KubeObject>, binding: RunningReconciler): void {
  const hold = holdOf(change.new ?? change.old)
  if (isMalformed(hold) || !isOfKind(hold)) return
  binding.mark(`${hold.claim.namespace}/${hold.claim.name}`)
}

const isOfKind = ({ claim }: Hold): boolean => claim.apiGroup === claims.group && claim.kind === claims.kind

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
