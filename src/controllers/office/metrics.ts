// All metrics of the desks: how full pools are and which claims wait, read at each scrape; what was decided, counted as it
// happens (journal.ts). Names of pools become labels only up to a bound; the pools past it are added up.

import { ipamGroup, mooringGroup } from '../../api/names.ts'
import { type Identity, identityKey } from '../../api/object.ts'
import { type Pool, type Strategy, strategies } from '../../api/pool.ts'
import { isNetworkName } from '../../api/space.ts'
import { ownPoolKindOf } from '../../api/to-pool.ts'
import { quoteUnlessName } from '../../ip/object-name.ts'
import { type Capacity, capacityOf } from '../../ipam/capacity.ts'
import type { RefusalReason } from '../../ipam/refusal.ts'
import { networkKind } from '../../networks/network.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Metrics, type Sample, secondsBounds } from '../../telemetry/metrics.ts'
import type { Decider, Decision, Entry, Said } from './journal.ts'
import { attachments, pools } from './kinds.ts'
import type { Ledger } from './ledger.ts'
import type { Networks } from './networks.ts'
import type { Sources } from './sources.ts'
import type { Sleeper } from './waiting.ts'

export interface DeskMetrics {
  /** Claims of this kind are decided about: what can be counted of them is there from now on, at zero. */
  begin(decider: Decider, counted: Counted): void
  decided(entry: Entry | Said, decider: Decider): void
  /** A claim without an address was seen for the first time, made at this time. */
  claimSeen(uid: string, createdAt: string): void
  claimGone(uid: string): void
  /** What is counted of a pool is there from now on, at zero. */
  poolSeen(pool: Identity): void
  /** What was counted of it goes with it. */
  poolGone(pool: Identity): void
}

/** What can come of claims of one kind. What is not known beforehand, as the name of a pool, is counted when it comes. */
export interface Counted {
  readonly decisions: readonly Decision[]
  readonly sources?: readonly CountedSource[]
  /** Why a claim gets nothing from these sources: `reasonsIn` what the desk answers. */
  readonly reasons?: readonly RefusalReason[]
}

/** A kind of pool or of network, and by which strategies its addresses are chosen; none is said where the pool is gone. */
export interface CountedSource {
  readonly kind: string
  readonly strategies: readonly (Strategy | '')[]
}

/** The pools of the reference provider have no field for a strategy. */
export const countedPools: readonly CountedSource[] = pools.map(({ group, kind }) => ({
  kind,
  strategies: group === ipamGroup ? ['lowestFree'] : strategies,
}))

/** Of each reason whether claims of one kind can be refused for it, on such sources: a new reason without an answer does not compile. */
export type ReasonAnswers = Readonly<Record<RefusalReason, boolean>>

export const reasonsIn = (answers: ReasonAnswers): readonly RefusalReason[] =>
  (Object.keys(answers) as RefusalReason[]).filter(reason => answers[reason])

/**
 * Why a claim on any source may get no address of it, or not the one that it asks for (ipam/choose.ts). A part of the answers: what is
 * not here, each desk answers by itself.
 */
export const ofChoice = {
  KindNotRead: true,
  NamespaceNotAllowed: true,
  PoolExhausted: true,
  NotAnAddress: true,
  NotCanonical: true,
  WrongFamily: true,
  AddressOutOfRange: true,
  AddressExcluded: true,
  AddressReserved: true,
  AddressQuarantined: true,
  AddressInUse: true,
  RequestsConflict: true,
} as const satisfies Partial<ReasonAnswers>

export const poolLabels = ['kind', 'namespace', 'name'] as const

/** From a millisecond to an hour: a claim may wait until another claim gives an address back. */
export const waitBounds = [...secondsBounds.filter(bound => bound >= 0.001), 30, 60, 300, 3600]

export function countDecisions(metrics: Metrics, clock: Clock): DeskMetrics {
  const ofClaims = ['desk', 'claim_kind'] as const
  const allocations = metrics.counter(
    'mooring_allocations_total',
    'What became of claims: bound, adopted, restored, waiting or refused.',
    [...ofClaims, 'kind', 'strategy', 'outcome'],
  )
  const waits = metrics.counter('mooring_claims_refused_total', 'Times that a refusal was written to a claim.', [
    ...ofClaims,
    'kind',
    'reason',
  ])
  const ready = metrics.histogram(
    'mooring_claim_ready_seconds',
    'Time from when a claim was made, or first seen, until it was bound.',
    waitBounds,
    [...ofClaims, 'kind'],
  )
  const races = metrics.counter(
    'mooring_lost_races_total',
    'Times that another process was quicker to take an address.',
    [...ofClaims, 'kind'],
  )
  const releases = metrics.counter('mooring_releases_total', 'Claims that gave their address back.', [
    ...ofClaims,
    'kind',
  ])
  const strays = metrics.counter('mooring_strays_total', 'Holds and IPAddresses put to rest that no claim stood by.', [
    ...ofClaims,
    'what',
  ])
  const exhaustions = countByPool(metrics, 'mooring_pool_exhaustions_total', 'Times that a pool ran out of addresses.')
  const arrivals = new Map<string, number>()

  type OnDecision = (entry: Entry | Said, kind: string, by: readonly [desk: string, claimKind: string]) => void
  const onDecision: Partial<Record<Decision, OnDecision>> = {
    bound({ claim }, kind, by) {
      const sinceMs = arrivals.get(claim?.uid ?? '')
      if (sinceMs !== undefined) ready.observe((clock.monotonicMs() - sinceMs) / 1000, ...by, kind)
      arrivals.delete(claim?.uid ?? '')
    },
    'lost race': (_, kind, by) => races.add(...by, kind),
    released: (_, kind, by) => releases.add(...by, kind),
    'stray hold': (_, __, by) => strays.add(...by, 'hold'),
    'stray report': (_, __, by) => strays.add(...by, 'report'),
    exhausted: ({ pool }) => pool && exhaustions.add(pool),
  }
  const served: readonly Decision[] = ['bound', 'adopted', 'restored']
  const unserved: readonly Decision[] = ['waiting', 'refused']

  return {
    begin({ desk, claimKind }, { decisions, sources = [], reasons = [] }) {
      const by = [desk, claimKind] as const
      for (const { kind, strategies } of sources) {
        for (const what of decisions) {
          const chosenBy = served.includes(what) ? strategies : unserved.includes(what) ? ([''] as const) : []
          for (const strategy of chosenBy) allocations.startAtZero(...by, kind, strategy, what)
          if (what === 'lost race') races.startAtZero(...by, kind)
          if (what === 'released') releases.startAtZero(...by, kind)
        }
        for (const reason of reasons) waits.startAtZero(...by, kind, reason)
      }
      if (decisions.includes('stray hold')) strays.startAtZero(...by, 'hold')
      if (decisions.includes('stray report')) strays.startAtZero(...by, 'report')
    },
    decided(entry, { desk, claimKind }) {
      const { what, strategy = '', reason = '' } = entry
      const kind = entry.pool === undefined ? '' : kindLabel(entry.pool)
      const by = [desk, claimKind] as const
      onDecision[what]?.(entry, kind, by)
      if (served.includes(what)) allocations.add(...by, kind, strategy, what)
      if (!unserved.includes(what)) return
      // By no strategy was an address chosen.
      allocations.add(...by, kind, '', what)
      waits.add(...by, kind, reason)
    },
    claimSeen(uid, createdAt) {
      // Times are stored to the second: a claim of this second has just come.
      const ageMs = clock.now() - Date.parse(createdAt)
      arrivals.set(uid, clock.monotonicMs() - (ageMs >= 1_000 ? ageMs : 0))
    },
    claimGone: uid => arrivals.delete(uid),
    poolSeen: pool => exhaustions.begin(pool),
    poolGone: pool => exhaustions.end(pool),
  }
}

interface PoolCounter {
  begin(pool: Identity): void
  add(pool: Identity): void
  end(pool: Identity): void
}

/**
 * A counter with a series for each pool that there is, as gauges of pools have it. Which pools past the bound are counted together is
 * decided when they come, and what was counted of them stays: a sum that some pools leave would look like a counter that began anew.
 */
function countByPool(metrics: Metrics, name: string, help: string): PoolCounter {
  /** By labels, which pools of two groups may share. */
  const series = new Map<string, { readonly labels: readonly string[]; readonly pools: Set<string>; count: number }>()
  let others: number | undefined
  metrics.total(name, help, () => ({
    labels: poolLabels,
    samples: [
      ...[...series.values()].map(({ labels, count }): Sample => [labels, count]),
      ...(others === undefined ? [] : [[otherPools, others] as const]),
    ],
  }))
  const keyOf = (pool: Identity) => labelsOf(pool).join(' ')
  return {
    begin(pool) {
      const known = series.get(keyOf(pool))
      if (known !== undefined) known.pools.add(identityKey(pool))
      else if (series.size >= poolsMax) others ??= 0
      else series.set(keyOf(pool), { labels: labelsOf(pool), pools: new Set([identityKey(pool)]), count: 0 })
    },
    add(pool) {
      const known = series.get(keyOf(pool))
      if (known === undefined) others = (others ?? 0) + 1
      else known.count++
    },
    end(pool) {
      const known = series.get(keyOf(pool))
      known?.pools.delete(identityKey(pool))
      if (known?.pools.size === 0) series.delete(keyOf(pool))
    },
  }
}

export function measurePools(metrics: Metrics, sources: Pick<Sources, 'all'>, ledger: Ledger): void {
  const gauge = (name: string, help: string, labels: readonly string[], read: () => Iterable<Sample>) => {
    metrics.gauge(name, help, () => ({ labels, samples: read() }))
  }
  const sample = (read: (capacity: Capacity) => readonly (readonly [string, bigint])[]) => () =>
    poolSamples(sources.all(), pool => read(capacityOf(pool, ledger.indexOf(pool.space))))
  gauge(
    'mooring_pool_addresses',
    'Addresses or prefixes that a pool offers, by state; they add up to its capacity.',
    [...poolLabels, 'state'],
    sample(({ free, held, shown, quarantined, reserved, draining }) => [
      ['free', free],
      ['held', held],
      ['shown', shown],
      ['quarantined', quarantined],
      ['reserved', reserved],
      ['draining', draining],
    ]),
  )
  gauge(
    'mooring_pool_capacity',
    'Addresses or prefixes that a pool offers in all.',
    poolLabels,
    sample(({ total }) => [['', total]]),
  )
  gauge(
    'mooring_pool_out_of_range',
    'Addresses or prefixes held from a pool that it no longer offers.',
    poolLabels,
    sample(({ outOfRange }) => [['', outOfRange]]),
  )
}

/**
 * NetworkAttachmentDefinitions, what they come to, and how full networks are. By family: beside an IPv6 subnet an IPv4 subnet
 * without a free address would not be noticed.
 */
export function measureNetworks(
  metrics: Metrics,
  networks: Pick<Networks, 'count'>,
  sources: Pick<Sources, 'all'>,
  ledger: Ledger,
): void {
  metrics.gauge('mooring_network_attachments', 'NetworkAttachmentDefinitions, by what Mooring makes of them.', () => ({
    labels: ['state'],
    samples: Object.entries(networks.count()).map(([state, count]): Sample => [[state], count]),
  }))
  const byFamily = (name: string, help: string, read: (capacity: Capacity) => bigint) => {
    const ofPool = (pool: Pool) => [[`IPv${pool.family}`, read(capacityOf(pool, ledger.indexOf(pool.space)))]] as const
    metrics.gauge(name, help, () => ({
      labels: [...poolLabels, 'family'],
      samples: poolSamples([...sources.all()].filter(isOfNetwork), ofPool),
    }))
  }
  byFamily('mooring_network_free', 'Addresses of a network that a claim could get now, by family.', ({ free }) => free)
  byFamily('mooring_network_capacity', 'Addresses that a network offers in all, by family.', ({ total }) => total)
}

/** With addresses of its own; one that takes them from a pool is counted as that pool. */
const isOfNetwork = ({ identity }: Pool): boolean => identity.kind === networkKind || identity.kind === attachments.kind

type Waits = Pick<Sleeper, 'desk' | 'claimKind' | 'pool' | 'reason'>

/** Of all desks. */
export function measureWaiting(metrics: Metrics, waiting: { all(): Iterable<Waits> }): void {
  const labels = ['desk', 'claim_kind', ...poolLabels, 'reason']
  metrics.gauge('mooring_claims_waiting', 'Claims that have no address, and why.', () => {
    const counts = new Map<string, { readonly labels: readonly string[]; count: number }>()
    for (const { desk, claimKind, pool, reason } of waiting.all()) {
      const values = [desk, claimKind, ...labelsOf(pool), reason]
      const known = counts.get(values.join(' ')) ?? { labels: values, count: 0 }
      known.count++
      counts.set(values.join(' '), known)
    }
    return { labels, samples: [...counts.values()].map(({ labels, count }): Sample => [labels, count]) }
  })
}

/** More pools than this are added up under one name. */
export const poolsMax = 1_000

const otherPools: readonly string[] = poolLabels.map(() => 'other')

/** Two pools may have the same labels, as those of a network of both families: they are added up, for no series may come twice. */
function poolSamples(
  pools: Iterable<Pool>,
  read: (pool: Pool) => readonly (readonly [string, bigint])[],
): Iterable<Sample> {
  const sums = new Map<string, { readonly labels: readonly string[]; sum: bigint }>()
  let count = 0
  for (const pool of pools) {
    const name = ++count <= poolsMax ? labelsOf(pool.identity) : otherPools
    for (const [state, value] of read(pool)) {
      const labels = withState(name, state)
      const known = sums.get(labels.join(' ')) ?? { labels, sum: 0n }
      known.sum += value
      sums.set(labels.join(' '), known)
    }
  }
  return [...sums.values()].map(({ labels, sum }): Sample => [labels, sum])
}

/** A claim may name a kind and a pool that cannot be: such texts are no labels. */
export function labelsOf(pool: Identity): readonly string[] {
  const isName = quoteUnlessName(pool.name) === pool.name || (pool.kind === networkKind && isNetworkName(pool.name))
  return [kindLabel(pool), pool.namespace, isName ? pool.name : 'unknown']
}

const kindLabel = (pool: Identity): string =>
  pool.apiGroup === mooringGroup && ownPoolKindOf(pool) === undefined ? 'unknown' : pool.kind

const withState = (labels: readonly string[], state: string): readonly string[] =>
  state === '' ? labels : [...labels, state]
