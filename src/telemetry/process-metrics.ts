// What the process itself costs: memory, processor time, and how long a turn of the event loop keeps others waiting.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Metrics } from './metrics.ts'

const nanosecondsPerSecond = 1e9
const microsecondsPerSecond = 1e6

/** Watches the event loop until the answered function is called. */
export function measureProcess(metrics: Metrics, started: Date): () => void {
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  metrics.total('process_cpu_seconds_total', 'Processor time used, by user and system together.', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / microsecondsPerSecond
  })
  metrics.gauge('process_resident_memory_bytes', 'Memory held by the process.', () => process.memoryUsage.rss())
  metrics.gauge('process_start_time_seconds', 'When the process began, in seconds of the epoch.', () =>
    Math.round(started.getTime() / 1000),
  )
  metrics.gauge(
    'nodejs_heap_size_used_bytes',
    'Memory used by JavaScript objects.',
    () => process.memoryUsage().heapUsed,
  )
  metrics.gauge('nodejs_eventloop_lag_seconds', 'Delay of the event loop since it was last asked.', () => {
    const values = {
      '0.5': delay.percentile(50) / nanosecondsPerSecond,
      '0.99': delay.percentile(99) / nanosecondsPerSecond,
      '1': delay.max / nanosecondsPerSecond,
    }
    delay.reset()
    return { label: 'quantile', values }
  })
  return () => {
    delay.disable()
  }
}
