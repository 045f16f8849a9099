// The desk of Cluster API claims: what it brings, what it sees, what wakes its reconciler.
//
//   changed        wakes
//   a claim        itself
//   a pool         on its first sight, when it was made anew or is resumed: all of its claims
//   a Cluster      its claims
//   a report       the claim of its name
//   a hold         its claim
//
// Claims that wait for an address are woken by the office (office/waiting.ts).

import { isMalformed } from '../../ip/malformed.ts'
import type { Change } from '../../kube/cache.ts'
import { type KubeObject, keyOf, namespaceOfKey } from '../../kube/object.ts'
import type { Domain } from '../../runtime/domain.ts'
import { defineReconciler, type RunningReconciler } from '../../runtime/reconciler.ts'
import type { Desk, DeskInView } from '../desk.ts'
import { noteIn } from '../office/journal.ts'
import { readable } from '../office/kept.ts'
import type { DeskMetrics } from '../office/metrics.ts'
import type { Office, SeenKind } from '../office/office.ts'
import { RecentRefusals } from '../office/recent-refusals.ts'
import type { SourceChange } from '../office/sources.ts'
import { onHoldsOf } from '../office/views.ts'
import { markOldestFirst } from '../office/waiting.ts'
import { isClaimSettled, reconcileClaim } from './binding.ts'
import { capiFacts } from './facts.ts'
import { claims, clusters, reports } from './kinds.ts'
import { Moved } from './moved.ts'
import { standsBy } from './ownership.ts'
import { claimOf, reportOf } from './parsed.ts'
import { capiPermissions } from './permissions.ts'
import { followShown, followSubnets } from './shown.ts'
import { counted, recordedBefore } from './status.ts'
import { capiWebhooks } from './webhooks/webhooks.ts'
import { type Caches, type CapiWorld, createCaches, poolKeyOf } from './world.ts'

const comesWith = 'Cluster API'

export const capi: Desk = {
  name: 'capi',
  about: 'IPAddressClaims of Cluster API get an IPAddress',
  kinds: [
    { kind: claims, isNeeded: true, comesWith, usedAs: 'claim' },
    { kind: reports, isNeeded: true, comesWith, usedAs: 'report' },
    { kind: clusters, isNeeded: false, comesWith },
  ],
  permissions: capiPermissions,
  webhooks: capiWebhooks,
  conversions: [],
  definitions: ['crd/cluster-api/'],
  see: seeCapi,
}

/** What lasts from pass to pass. */
type Kept = Omit<CapiWorld, 'note'>

function seeCapi(office: Office): DeskInView {
  const caches = createCaches(office.isFrozen, office.views)
  followShown({ ...caches, sources: office.sources }, office.ledger)
  followSubnets(caches, office.gateways)
  const ofPools = { where: 'pools' } as const
  const seen = [office.see(claims, caches.claims, ofPools), office.see(reports, caches.reports, ofPools)]
  return {
    facts: () => capiFacts(caches),
    open: domain => openCapi(office, domain, caches, seen),
  }
}

/** Namespaces take turns, and in each its pools; this many claims are worked on at once, of one pool too. */
const bindingConcurrency = 64

function openCapi(office: Office, domain: Domain, caches: Caches, seen: readonly SeenKind[]): void {
  const { client, clock, random, ledger, sources, metrics, scope } = office
  const recorder = office.recorderOf(capi.name)
  const kept = {
    recentRefusals: new RecentRefusals(),
    moved: new Moved(caches, clock),
    leftAlone: new Map<string, string>(),
  }
  const world: Kept = { client, clock, random, recorder, caches, ledger, sources, ...kept }
  const about = { desk: capi.name, claimKind: claims.kind }
  const line = office.waiting.ofDesk(about, claim => binding.mark(claim))

  const binding = domain.addReconciler(
    defineReconciler({
      name: 'claim.binding',
      claimKind: claims.kind,
      reconcile: (key, pass) => {
        const inPass = { ...world, client: client.withPass(pass), note: noteIn(pass, metrics, about) }
        return line.during(key, () => reconcileClaim(key, scope, inPass))
      },
      isSettled: key => !line.has(key) && isClaimSettled(key, scope, world),
      onStart: line.goOn,
      onPause: line.pause,
      onRest: line.rests,
      concurrency: bindingConcurrency,
      groupOf: key => [namespaceOfKey(key), poolKeyOf(caches.claims.get(key))],
    }),
  )

  metrics?.begin(about, counted)
  caches.claims.subscribe(change => onClaim(world, change, binding, metrics))
  // A list comes in the order of names. Of each namespace the claim that was made first is served first, also by a process that
  // has just started. Then come those that go; of all others, and of what a claim left behind, nearly everything is settled.
  void caches.claims.synced().then(() => {
    const known = [...caches.claims.values()]
    const unserved = known.filter(isUnserved)
    for (const claim of unserved) world.leftAlone.set(keyOf(claim), recordedBefore)
    markOldestFirst(unserved, binding)
    markOldestFirst(known.filter(isGoing), binding)
    for (const key of caches.claims.keys()) binding.mark(key)
    for (const key of caches.reports.keys()) binding.mark(key)
  })
  /** Before the claims are known, nothing is marked: they come in their order, and with what they left behind. */
  const markOnceKnown = (key: string) => {
    if (caches.claims.hasSynced) binding.mark(key)
  }
  caches.reports.subscribe(change => markOnceKnown(change.key))
  caches.clusters.subscribe(change => {
    for (const claim of caches.claims.byIndex('cluster', change.key)) binding.mark(keyOf(claim))
  })
  onHoldsOf(caches, ledger, claims, markOnceKnown)
  sources.subscribe(change => onPool(world, change, binding))
  office.addClaimKind({
    kind: claims,
    cache: caches.claims,
    // While IPAddresses cannot be read, it is not known what they show.
    standsBy: (claim, hold) =>
      !caches.reports.hasSynced || standsBy(claim, hold, () => readable(caches.reports.get(keyOf(claim)), reportOf)),
  })
  for (const kind of seen) kind.neededBy(domain)
  office.watch(domain, clusters, caches.clusters, { isNeeded: false })
}

function onClaim(
  { caches }: Kept,
  change: Change<KubeObject>,
  binding: RunningReconciler,
  metrics: DeskMetrics | undefined,
): void {
  const object = change.new ?? change.old
  const { uid = '', creationTimestamp } = object.metadata
  if (change.old === undefined && isUnserved(object)) metrics?.claimSeen(uid, creationTimestamp ?? '')
  if (change.new === undefined) metrics?.claimGone(uid)
  if (caches.claims.hasSynced) binding.mark(change.key)
}

function onPool({ caches }: Kept, { key, old, new: next }: SourceChange, binding: RunningReconciler): void {
  const isNew = old === undefined || old.metadata.uid !== next?.metadata.uid
  if (next === undefined || (!isNew && (!old.isPaused || next.isPaused))) return
  markOldestFirst(caches.claims.byIndex('pool', key), binding)
}

const isGoing = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined

function isUnserved(object: KubeObject): boolean {
  const claim = claimOf(object)
  return !isMalformed(claim) && claim.addressName === ''
}
