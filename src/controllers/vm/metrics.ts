// What is told about virtual machines: their claims by network and state, read at each scrape, and their launcher pods, as these
// are served. Any user may name networks, and write reasons into a status: neither becomes more labels than there is room for.

import type { IPAMClaim } from '../../api/ipam-claim.ts'
import { isMalformed } from '../../ip/malformed.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Metrics, Sample } from '../../telemetry/metrics.ts'
import { readable } from '../office/kept.ts'
import { labelsOf, poolLabels, poolsMax, waitBounds } from '../office/metrics.ts'
import { chosenOf } from './binding/choice.ts'
import { unknownNetwork } from './binding/observe.ts'
import { claimReasons } from './binding/words.ts'
import { claimOf } from './parsed.ts'
import { placesOf } from './places.ts'
import { podReasons } from './pods/plan.ts'
import type { VMWorld } from './world.ts'

export interface PodMetrics {
  /** A pod without addresses was seen for the first time, made at this time. */
  seen(uid: string, createdAt: string): void
  /** It has the addresses of its networks. */
  served(uid: string): void
  /** It is told these reasons why it waits; none if it does not. */
  waits(key: string, reasons: readonly string[]): void
  gone(key: string, uid: string): void
}

type World = Pick<VMWorld, 'caches' | 'networks' | 'sources' | 'ledger'>

export function measureClaims(metrics: Metrics, world: World): void {
  metrics.gauge('mooring_ipam_claims', 'IPAMClaims, by network and state.', () => ({
    labels: [...poolLabels, 'state'],
    samples: claimSamples(world),
  }))
}

function claimSamples(world: World): Iterable<Sample> {
  const counts = new Map<string, { readonly labels: readonly string[]; count: number }>()
  const named = new Set<string>()
  for (const object of world.caches.claims.values()) {
    const claim = readable<IPAMClaim>(object, claimOf)
    if (claim === undefined) continue
    const { source, state } = stateOf(claim, world)
    const own = labelsOf(source)
    const isNamed = named.has(own.join(' ')) || named.size < poolsMax
    const network = isNamed ? own : poolLabels.map(() => 'other')
    named.add(network.join(' '))
    const labels = [...network, state]
    const known = counts.get(labels.join(' ')) ?? { labels, count: 0 }
    known.count++
    counts.set(labels.join(' '), known)
  }
  return [...counts.values()].map(({ labels, count }): Sample => [labels, count])
}

type State = 'served' | 'waiting' | 'idle' | 'conflict' | 'deleting'

function stateOf(claim: IPAMClaim, world: World) {
  const found = world.networks.ofClaim(claim)
  if ('kind' in found) return { source: unknownNetwork, state: ofAllocated(claim) }
  const { source } = found
  if (claim.isDeleting || !world.networks.isObserved(found)) return { source, state: ofAllocated(claim) }
  const chosen = chosenOf(claim.ips)
  const isTaken = (isMalformed(chosen) ? [] : chosen).some(({ ip }) => {
    const pool = placesOf(found, world).find(({ family }) => family === ip.family)
    const hold = pool && world.ledger.holdAt(pool.space, ip)
    return hold !== undefined && hold.claim.uid !== claim.metadata.uid
  })
  // A user of a namespace that the network is not offered to raises no alarm about it.
  const isOffered = !('kind' in world.networks.poolsFor(found, claim.metadata.namespace))
  const taken: State = isOffered ? 'conflict' : 'waiting'
  const state: State = isTaken ? taken : claim.ips.length > 0 ? 'served' : 'idle'
  return { source, state }
}

/** One that is refused what its status shows waits, too. */
function ofAllocated({ isDeleting, ips, conditions }: IPAMClaim): State {
  if (isDeleting) return 'deleting'
  const isRefused = conditions.some(({ type, status }) => type === 'IPsAllocated' && status === 'False')
  return ips.length > 0 && !isRefused ? 'served' : 'waiting'
}

/** Reasons that are ours; others were written into the status of a claim by a user. */
const knownReasons = new Set([...claimReasons, ...podReasons])

export function measureLaunchers(metrics: Metrics, clock: Clock): PodMetrics {
  const ready = metrics.histogram(
    'mooring_launcher_pod_ready_seconds',
    'Time from when a launcher pod was made, or first seen, until it was configured with addresses.',
    waitBounds,
  )
  const reasonsOf = new Map<string, readonly string[]>()
  metrics.gauge('mooring_launcher_pods_waiting', 'Launcher pods without the addresses of a network, and why.', () => {
    const counts = new Map<string, number>()
    for (const reason of [...reasonsOf.values()].flat()) counts.set(reason, (counts.get(reason) ?? 0) + 1)
    return { labels: ['reason'], samples: [...counts].map(([reason, count]): Sample => [[reason], count]) }
  })
  const arrivals = new Map<string, number>()
  return {
    seen(uid, createdAt) {
      // Times are stored to the second: a pod of this second has just come.
      const ageMs = clock.now() - Date.parse(createdAt)
      arrivals.set(uid, clock.monotonicMs() - (ageMs >= 1_000 ? ageMs : 0))
    },
    served(uid) {
      const sinceMs = arrivals.get(uid)
      if (sinceMs !== undefined) ready.observe((clock.monotonicMs() - sinceMs) / 1000)
      arrivals.delete(uid)
    },
    waits(key, reasons) {
      if (reasons.length === 0) reasonsOf.delete(key)
      else reasonsOf.set(key, [...new Set(reasons.map(reason => (knownReasons.has(reason) ? reason : 'other')))])
    },
    gone(key, uid) {
      reasonsOf.delete(key)
      arrivals.delete(uid)
    },
  }
}
