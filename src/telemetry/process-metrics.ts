// What the process itself costs: memory, processor time, and how long a turn of the event loop keeps others waiting.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Metrics, Sample } from './metrics.ts'

/** How often the loop is looked at. What is measured is the time between two looks, so this is taken off. */
const probeMs = 20
const nanosecondsPerSecond = 1e9
const microsecondsPerSecond = 1e6

/** Watches the event loop until the answered function is called. */
export function measureProcess(metrics: Metrics): () => void {
  const delay = monitorEventLoopDelay({ resolution: probeMs })
  delay.enable()
  metrics.total('process_cpu_seconds_total', 'Processor time used, by user and system together.', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / microsecondsPerSecond
  })
  metrics.gauge('process_resident_memory_bytes', 'Memory held by the process.', () => process.memoryUsage.rss())
  metrics.gauge('process_start_time_seconds', 'When the process began, in seconds of the epoch.', () =>
    Math.round(performance.timeOrigin / 1000),
  )
  metrics.gauge(
    'nodejs_heap_size_used_bytes',
    'Memory used by JavaScript objects.',
    () => process.memoryUsage().heapUsed,
  )
  metrics.gauge('nodejs_eventloop_lag_seconds', 'Delay of the event loop since it was last asked.', () => {
    const samples: Sample[] = [
      [['0.5'], toLag(delay.percentile(50))],
      [['0.99'], toLag(delay.percentile(99))],
      [['1.0'], toLag(delay.max)],
    ]
    delay.reset()
    return { labels: ['quantile'], samples }
  })
  return () => {
    delay.disable()
  }
}

function toLag(nanoseconds: number): number {
  return Math.max(nanoseconds / nanosecondsPerSecond - probeMs / 1000, 0)
}
