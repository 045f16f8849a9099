// What the runtime counts: how passes ended and how long they took, and how long keys waited for theirs. How many wait
// just now is read from the queues when somebody looks.

import { type Metrics, secondsBounds } from '../telemetry/metrics.ts'

export type PassOutcome = 'done' | 'requeue' | 'requeue_after' | 'conflict' | 'failed' | 'terminal' | 'cancelled'

export interface RuntimeMetrics {
  /** A key waited so long from being ready to being taken. */
  waited(reconciler: string, waitedMs: number): void
  /** A pass ended. */
  passed(reconciler: string, outcome: PassOutcome, tookMs: number): void
}

export const noMetrics: RuntimeMetrics = {
  waited: () => {},
  passed: () => {},
}

/** What is asked about a queue. */
export interface Measured {
  readonly name: string
  readonly depth: number
  readonly running: number
  readonly size: number
  oldestMs(): number
}

export function measureRuntime(metrics: Metrics, queues: readonly Measured[]): RuntimeMetrics {
  const passes = metrics.counter('mooring_passes_total', 'Passes that ended, by how.', ['controller', 'outcome'])
  const took = metrics.histogram('mooring_pass_duration_seconds', 'Time of a pass.', secondsBounds, ['controller'])
  const waits = metrics.histogram(
    'mooring_queue_wait_seconds',
    'Time from when a key was ready to its pass.',
    secondsBounds,
    ['controller'],
  )
  const gauge = (name: string, help: string, read: (queue: Measured) => number) => {
    metrics.gauge(name, help, () => ({
      labels: ['controller'],
      samples: queues.map(queue => [[queue.name], read(queue)]),
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
  return {
    waited: (controller, waitedMs) => waits.observe(waitedMs / 1000, controller),
    passed(controller, outcome, tookMs) {
      passes.add(controller, outcome)
      took.observe(tookMs / 1000, controller)
    },
  }
}
