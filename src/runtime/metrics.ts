// What the runtime counts: how passes ended and how long they took, and how long keys waited for theirs. How many wait
// just now, and which desks work, is read when the metrics are scraped.

import { type Metrics, type Sample, secondsBounds } from '../telemetry/metrics.ts'
import { type Domain, standingOf, standings } from './domain.ts'

const outcomes = ['done', 'requeue', 'requeue_after', 'conflict', 'failed', 'cancelled'] as const

export type PassOutcome = (typeof outcomes)[number]

export interface RuntimeMetrics {
  /** A desk has such a reconciler, and none of its passes has ended yet. */
  added(desk: string, reconciler: string): void
  /** A key waited so long from being ready to being taken. */
  waited(desk: string, reconciler: string, waitedMs: number): void
  /** A pass ended. */
  passed(desk: string, reconciler: string, outcome: PassOutcome, tookMs: number): void
  /** A pass wrote what those before it wrote, once more. */
  repeated(desk: string, reconciler: string): void
}

export const noMetrics: RuntimeMetrics = {
  added: () => {},
  waited: () => {},
  passed: () => {},
  repeated: () => {},
}

/** What is asked about a queue. */
export interface Measured {
  readonly desk: string
  readonly name: string
  readonly depth: number
  readonly running: number
  readonly size: number
  oldestMs(): number
}

/** What is asked about a domain. */
export type MeasuredDomain = Pick<Domain, 'name' | 'state' | 'reasons' | 'faults'>

export function measureRuntime(
  metrics: Metrics,
  queues: readonly Measured[],
  domains: readonly MeasuredDomain[],
): RuntimeMetrics {
  const labels = ['desk', 'controller'] as const
  const passes = metrics.counter('mooring_passes_total', 'Passes that ended, by how.', [...labels, 'outcome'])
  const repeats = metrics.counter(
    'mooring_repeated_writes_total',
    'Passes that wrote the same as those before them, so often that their key is slowed down.',
    labels,
  )
  const took = metrics.histogram('mooring_pass_duration_seconds', 'Time of a pass.', secondsBounds, labels)
  const waits = metrics.histogram(
    'mooring_queue_wait_seconds',
    'Time from when a key was ready to its pass.',
    secondsBounds,
    labels,
  )
  const gauge = (name: string, help: string, read: (queue: Measured) => number) => {
    metrics.gauge(name, help, () => ({
      labels,
      samples: queues.map((queue): Sample => [[queue.desk, queue.name], read(queue)]),
    }))
  }
  gauge('mooring_queue_depth', 'Keys that are ready and wait for room.', queue => queue.depth)
  gauge('mooring_queue_running', 'Keys that are worked on.', queue => queue.running)
  gauge(
    'mooring_queue_later',
    'Keys that wait for their time: after a failure, or because a pass asked for it.',
    queue => queue.size - queue.depth - queue.running,
  )
  gauge(
    'mooring_queue_oldest_seconds',
    'How long the key that has been ready for longest has waited.',
    queue => queue.oldestMs() / 1000,
  )
  const about =
    '1 for the state of a desk: it works, waits for what it lacks, its kinds are not installed, it starts, or it stands by for the leader.'
  metrics.gauge('mooring_desk_state', about, () => ({
    labels: ['desk', 'state'],
    samples: domains.flatMap(domain => {
      const state = standingOf(domain)
      return standings.map((one): Sample => [[domain.name, one], Number(one === state)])
    }),
  }))
  return {
    added(desk, controller) {
      for (const outcome of outcomes) passes.startAtZero(desk, controller, outcome)
      repeats.startAtZero(desk, controller)
    },
    waited: (desk, controller, waitedMs) => waits.observe(waitedMs / 1000, desk, controller),
    passed(desk, controller, outcome, tookMs) {
      passes.add(desk, controller, outcome)
      took.observe(tookMs / 1000, desk, controller)
    },
    repeated: (desk, controller) => repeats.add(desk, controller),
  }
}
