// What all desks share, put together once: the caches of holds, pools, networks and namespaces, the ledger that is kept equal to them,
// the one line of waiting claims, and the reconcilers that serve claims of every kind.
//
//   changed       wakes
//   a hold        itself
//   a claim       the holds that name it
//   the ledger    the pools it is about (pool/watches.ts); the claims that wait for what may be free now (waiting.ts)
//   a pool        the claims that wait for it, if its spec changed; holds that rest and were given from pools that are gone
//   a namespace   its claims that wait: a pool may be offered to it by its labels
//   a network     the events about its attachments (network-events.ts)
//
// A desk adds its own: its kinds and their caches, its reconcilers, and what hold.reclaim has to ask about its claims.

import { identityKey } from '../../api/object.ts'
import { poolKey } from '../../api/pool.ts'
import { isMalformed, type Malformed } from '../../ip/malformed.ts'
import { capacityOf } from '../../ipam/capacity.ts'
import { poolSetOf } from '../../ipam/pool-set.ts'
import type { Cache } from '../../kube/cache.ts'
import type { Client } from '../../kube/client.ts'
import type { Discovery } from '../../kube/discovery.ts'
import type { Recorder } from '../../kube/events.ts'
import { isDeleting } from '../../kube/finalizers.ts'
import { measureReflectors, type ReflectorMetrics } from '../../kube/metrics.ts'
import { type Kind, type KubeObject, keyOf } from '../../kube/object.ts'
import { Presence } from '../../kube/presence.ts'
import { Reflector } from '../../kube/reflector.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Domain, Necessity } from '../../runtime/domain.ts'
import type { Random } from '../../runtime/random.ts'
import { defineReconciler, type RunningReconciler } from '../../runtime/reconciler.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { type ClaimKind, ClaimKinds } from './claim-kind.ts'
import { Gateways } from './gateways.ts'
import { isGone, type RestWorld } from './hold/quarantine.ts'
import { isHoldSettled, reconcileHold, reconcileMACHold } from './hold/reclaim.ts'
import type { AnyHold } from './hold/steps.ts'
import { noteIn, theOffice } from './journal.ts'
import { readable } from './kept.ts'
import {
  attachments,
  clusterUserDefinedNetworks,
  egressIPs,
  holds,
  ipPools,
  macHolds,
  namespaces,
  pools,
} from './kinds.ts'
import { Ledger } from './ledger.ts'
import { macHoldAt } from './mac-holds.ts'
import { countDecisions, type DeskMetrics, measureNetworks, measurePools, measureWaiting } from './metrics.ts'
import { addNetworkEvents } from './network-events.ts'
import { defaultNetworkRules, type NetworkRules, Networks, type NetworksView } from './networks.ts'
import { holdOf, macHoldOf } from './parsed.ts'
import { createSpaceNamesRead } from './pool/space-names.ts'
import { addPoolCapacity } from './pool/watches.ts'
import { createReservationsRead } from './reservations.ts'
import type { Scope } from './scope.ts'
import { Sources } from './sources.ts'
import { Unread, type Where } from './unread.ts'
import { noVCenters, type VCenters } from './vcenters.ts'
import { createViews, followHolds, followMACHolds, keyOfKind, poolCacheOf, type Views } from './views.ts'
import { Waiting } from './waiting.ts'

/** Which part of a Machine is Mooring's: its claims, or the whole of it, virtual machine included. */
export const machineModes = ['claims', 'full'] as const
export type MachineMode = (typeof machineModes)[number]
export const defaultMachineMode: MachineMode = 'claims'

export interface OfficeParts {
  readonly client: Client
  readonly discovery: Pick<Discovery, 'forget' | 'find'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** A recorder of events in the name of a component. */
  readonly recorderOf: (component: string) => Pick<Recorder, 'event'>
  /** The office's own. */
  readonly domain: Domain
  readonly scope: Scope
  readonly metrics?: Metrics | undefined
  /** Those of the flags' defaults, unless said. */
  readonly networkRules?: NetworkRules | undefined
  /** `claims`, unless said. */
  readonly machineMode?: MachineMode | undefined
  /** None, unless said. */
  readonly vcenters?: VCenters | undefined
  /** Objects of the caches cannot be changed: for tests and the demo. */
  readonly isFrozen?: boolean
}

export interface Office extends Pick<OfficeParts, 'client' | 'clock' | 'random' | 'log' | 'scope' | 'recorderOf'> {
  readonly isFrozen: boolean
  readonly views: Views
  readonly ledger: Ledger
  readonly sources: Sources
  readonly networks: NetworksView
  readonly networkRules: NetworkRules
  readonly machineMode: MachineMode
  readonly vcenters: VCenters
  readonly gateways: Gateways
  readonly waiting: Waiting
  readonly metrics: DeskMetrics | undefined
  /** Where a desk keeps numbers of its own. */
  readonly telemetry: Metrics | undefined
  /** Holds in the name of such claims are looked after from now on. */
  addClaimKind(claims: ClaimKind): void
  /**
   * Keeps the cache equal to what the server has of a kind that can show an address in use. No address is given out before it
   * was listed once, or is known not to be readable.
   */
  see<I extends string>(kind: Kind, cache: Cache<KubeObject, I>, options?: SeeOptions): SeenKind
  /** Keeps the cache equal to what the server has of a kind, for the desk of this domain alone. */
  watch<I extends string>(domain: Domain, kind: Kind, cache: Cache<KubeObject, I>, options?: WatchOptions): void
  /** The desk of this domain waits while a kind that the office or another desk follows cannot be read, where it is installed. */
  needSeen(domain: Domain, kind: Kind): void
  /**
   * The desk of this domain waits while NetworkAttachmentDefinitions, or the IPPools of networks where they are installed, cannot be
   * read, and until it is known what serves networks.
   */
  needNetworks(domain: Domain): void
  /** What IPPools keep is known after it as of the call, however late their events are. */
  readReservations(): Promise<void>
  /** Whether pools, and every kind that can show an address in use, have been listed once, or are known not to be readable. */
  hasSeenAll(): boolean
  /** Which kinds cannot be read that can show an address in use, and why, in sentences. */
  problems(): string[]
  /** Whether the API server has a kind that Mooring does not follow. */
  isInstalled(kind: Kind): Promise<boolean>
  /** The cache that is kept of a kind, if one is. */
  cacheOf(kind: Kind): Cache<KubeObject> | undefined
}

export interface FollowOptions {
  /** Only objects with these labels. */
  readonly labelSelector?: string
}

export interface SeeOptions extends FollowOptions {
  /** In which spaces the kind can show an address: in all of them, unless said. */
  readonly where?: Where
}

export interface WatchOptions extends FollowOptions {
  /** Whether the desk waits without it. True by default. */
  readonly isNeeded?: Necessity
}

/** A kind that is followed whichever desks are on; a desk that is on says that it needs it. */
export interface SeenKind {
  neededBy(domain: Domain): void
}

/** Of holds that are looked at beside each other; the namespaces of their claims take turns. */
const reclaimConcurrency = 64

export function openOffice(parts: OfficeParts): Office {
  const { client, clock, random, log, domain, scope, recorderOf, isFrozen = false } = parts
  const views = createViews(isFrozen)
  const ledger = new Ledger(space => unread.in(space))
  const sources = new Sources(views, ledger)
  const networkRules = parts.networkRules ?? defaultNetworkRules
  const ovn = new Presence({ kind: egressIPs, discovery: parts.discovery, clock, random })
  const networks = new Networks(views, sources, networkRules, ovn)
  const unread = new Unread({ sources, networks, log, metrics: parts.metrics })
  const waiting = new Waiting({
    freeOf: pool => freeIn(pool, sources, ledger),
    poolsOf: space => sources.keysOf(space),
    isShared: (pool, other) => sources.isShared(pool, other),
    isFree: (space, what) =>
      typeof what === 'string'
        ? macHoldAt(views, space, what) === undefined
        : ledger.indexOf(space).stateOf(what) === 'free',
  })
  const metrics = parts.metrics && countDecisions(parts.metrics, clock)
  const claimKinds = new ClaimKinds()
  const followed = new Map<string, FollowedKind>()
  const seen: Followed[] = []
  const reflectors = parts.metrics && measureReflectors(parts.metrics)
  followHolds(views, ledger)
  const gateways = new Gateways(sources, ledger)
  ledger.subscribe(({ freed }) => {
    if (freed !== undefined) waiting.freed({ ...freed, pool: sources.keyOf(freed.pool, freed.block.ip.family) })
  })
  unread.onRead(() => {
    for (const pool of sources.all()) waiting.poolChanged(poolKey(pool))
  })
  followMACHolds(views, ({ space, mac }) => waiting.macFreed(space, mac))
  if (parts.metrics !== undefined) {
    measurePools(parts.metrics, sources, ledger)
    measureWaiting(parts.metrics, waiting)
    measureNetworks(parts.metrics, networks, sources, ledger)
  }

  const world = { client, clock, caches: views, sources, claimKinds, scope, ledger }
  const addReclaim = (
    name: string,
    reconcile: typeof reconcileHold,
    cache: Pick<Views['holds'], 'subscribe' | 'get'>,
    parse: (object: object) => AnyHold | Malformed,
    isSettled: (key: string) => boolean = () => false,
  ) => {
    const reclaim = domain.addReconciler(
      defineReconciler({
        name,
        reconcile: (key, pass) =>
          reconcile(key, { ...world, client: client.withPass(pass), note: noteIn(pass, metrics) }),
        isSettled,
        concurrency: reclaimConcurrency,
        groupOf: key => [readable(cache.get(key), parse)?.claim.namespace ?? ''],
      }),
    )
    cache.subscribe(change => {
      if (change.new !== undefined) reclaim.mark(change.key)
    })
    return reclaim
  }
  const reclaim = addReclaim('hold.reclaim', reconcileHold, views.holds, holdOf, key => isHoldSettled(key, world))
  const reclaimMACs = addReclaim('machold.reclaim', reconcileMACHold, views.macHolds, macHoldOf)
  // One change may be one of each pool of a space: its rests are looked at once.
  const spaces = new Set<string>()
  sources.subscribe(({ old, new: next, isChanged }) => {
    if (!isChanged) return
    if (spaces.size === 0) {
      queueMicrotask(() => {
        for (const space of spaces) lookAtRests(space, world, ledger, reclaim, reclaimMACs)
        spaces.clear()
      })
    }
    for (const pool of [old, next]) if (pool !== undefined) spaces.add(pool.space)
  })
  const recorder = recorderOf('pools')
  addNetworkEvents(domain, networks, views, recorderOf('networks'))
  const seesAll = () => seen.every(({ cache }) => cache.hasSynced)
  const capacity = addPoolCapacity(domain, {
    client,
    clock,
    recorder,
    caches: views,
    ledger,
    sources,
    metrics,
    seesAll,
    readSpaceNames: createSpaceNamesRead(client, views, clock, scope),
  })
  sources.subscribe(({ key, old, new: next, isChanged }) => {
    if (!isChanged) return
    // A claim that waits for a source to come does not know how many pools it will have.
    const source = (next ?? old)?.identity
    for (const one of new Set([key, source === undefined ? key : identityKey(source)])) waiting.poolChanged(one)
  })
  views.namespaces.subscribe(change => waiting.namespaceChanged(change.key))

  const follow = (kind: Kind, cache: Cache<KubeObject>, options: FollowOptions = {}) => {
    const feed = reflect(parts, kind, cache, reflectors, options)
    // A desk that follows some objects of a kind does not stand for all of it.
    if (!followed.has(keyOfKind(kind))) followed.set(keyOfKind(kind), { cache, feed })
    return feed
  }
  const ofAttachments = follow(attachments, views.attachments as unknown as Cache<KubeObject>)
  const ofClusterUDNs = follow(clusterUserDefinedNetworks, views.clusterUDNs)
  const ofIPPools = follow(ipPools, views.ipPools as unknown as Cache<KubeObject>)
  const readIPPools = createReservationsRead(client, views, clock)
  const ofPools = pools.flatMap(kind => {
    const cache = poolCacheOf(views, kind)
    return cache === undefined ? [] : [{ cache, feed: follow(kind, cache) }]
  })
  const office: Office = {
    ...{ client, clock, random, log, scope, recorderOf, isFrozen },
    ...{ views, ledger, sources, networks, networkRules, gateways, waiting, metrics },
    machineMode: parts.machineMode ?? defaultMachineMode,
    vcenters: parts.vcenters ?? noVCenters,
    telemetry: parts.metrics,
    addClaimKind(claims) {
      claimKinds.add(claims)
      metrics?.begin({ ...theOffice, claimKind: claims.kind.kind }, { decisions: ['stray hold'] })
      claims.cache.subscribe(({ old }) => {
        const uid = old?.metadata.uid
        if (uid === undefined) return
        for (const hold of views.holds.byIndex('claim', uid)) reclaim.mark(keyOf(hold))
        for (const hold of views.macHolds.byIndex('claim', uid)) reclaimMACs.mark(keyOf(hold))
      })
    },
    see(kind, cache, { where, ...options } = {}) {
      const feed = follow(kind, cache as unknown as Cache<KubeObject>, options)
      seen.push({ cache, feed })
      unread.follow(feed, where)
      // Only now is it known that nothing of a pool that is being deleted is in use.
      void cache.synced().then(() => {
        for (const key of deletedPools(views)) capacity.mark(key)
      })
      domain.addFeed(feed, { isNeeded: false })
      return { neededBy: of => of.addFeed(feed) }
    },
    watch(of, kind, cache, { isNeeded = true, ...options } = {}) {
      of.addFeed(follow(kind, cache as unknown as Cache<KubeObject>, options), { isNeeded })
    },
    needSeen(of, kind) {
      const feed = followed.get(keyOfKind(kind))?.feed
      if (feed !== undefined) of.addFeed(feed, { isNeeded: 'where installed' })
    },
    needNetworks(of) {
      of.addFeed(ofAttachments)
      of.addFeed(ofIPPools, { isNeeded: 'where installed' })
      of.addFeed(ovn)
    },
    readReservations: async () => (ofIPPools.isInstalled ? readIPPools() : undefined),
    problems: () => unread.problems(),
    hasSeenAll: () => [...seen, ...ofPools].every(isListedOrFails),
    isInstalled: async kind => (await parts.discovery.find(kind)) !== undefined,
    cacheOf: kind => followed.get(keyOfKind(kind))?.cache,
  }
  office.watch(domain, holds, views.holds)
  office.watch(domain, macHolds, views.macHolds)
  office.watch(domain, namespaces, views.namespaces)
  unread.follow(ofAttachments, 'networks')
  domain.addFeed(ofAttachments, { isNeeded: false })
  // They may keep addresses of their networks for the infrastructure, which a pool of the same space has too.
  unread.follow(ofClusterUDNs, 'networks')
  domain.addFeed(ofClusterUDNs, { isNeeded: false })
  domain.addFeed(ofIPPools, { isNeeded: false })
  for (const { feed } of ofPools) domain.addFeed(feed, { isNeeded: false })
  return office
}

/** A kind, and what keeps its cache. */
interface Followed {
  readonly cache: Pick<Cache<KubeObject>, 'hasSynced'>
  readonly feed: Reflector<KubeObject>
}

interface FollowedKind extends Followed {
  readonly cache: Cache<KubeObject>
}

const isListedOrFails = ({ cache, feed }: Followed): boolean => cache.hasSynced || feed.problem() !== undefined

function reflect(
  { client, clock, random, log, scope, discovery }: OfficeParts,
  kind: Kind,
  cache: Cache<KubeObject>,
  metrics: ReflectorMetrics | undefined,
  { labelSelector }: FollowOptions,
): Reflector<KubeObject> {
  const onNotInstalled = () => discovery.forget(kind)
  const place = kind.namespaced && scope.namespace !== '' ? { namespace: scope.namespace } : {}
  const selected = labelSelector === undefined ? {} : { labelSelector }
  return new Reflector({ kind, client, clock, random, log, onNotInstalled, metrics, cache, ...place, ...selected })
}

/** What was given from a pool that is gone rests as long as the other pools of its space say: that may have changed. */
function lookAtRests(
  space: string,
  world: RestWorld & { readonly caches: Views },
  ledger: Ledger,
  reclaim: RunningReconciler,
  reclaimMACs: RunningReconciler,
): void {
  for (const hold of ledger.restingIn(space)) if (isGone(hold, world)) reclaim.mark(hold.metadata.name)
  for (const object of world.caches.macHolds.values()) {
    const hold = macHoldOf(object)
    if (isMalformed(hold) || hold.space !== space || hold.state === 'held') continue
    if (isGone(hold, world)) reclaimMACs.mark(hold.metadata.name)
  }
}

/** Keys of the pools that wait for their last holder, readable or not. */
function deletedPools(views: Pick<Views, 'pools'>): string[] {
  return pools.flatMap(({ group: apiGroup, kind }) => {
    const objects = [...(poolCacheOf(views, { group: apiGroup, kind })?.values() ?? [])].filter(isDeleting)
    return objects.map(({ metadata: { namespace = '', name = '' } }) =>
      identityKey({ apiGroup, kind, namespace, name }),
    )
  })
}

/** How many claims that ask for nothing in particular could be served now. */
function freeIn(key: string, sources: Sources, ledger: Ledger): number {
  const pool = sources.poolOf(key)
  if (pool === undefined || pool.isPaused || pool.isDeleting) return 0
  const index = ledger.indexOf(pool.space)
  // What is not taken may still lie inside of something larger that is.
  if (index.lowestFree(poolSetOf(pool)) === undefined) return 0
  return Number(capacityOf(pool, index).free)
}
