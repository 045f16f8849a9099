// A client that finds out by itself which version of a kind the server serves.

import type { Clock } from '../runtime/clock.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { type Client, createClient } from './client.ts'
import { createDiscovery, type Discovery } from './discovery.ts'
import { measureClient } from './metrics.ts'
import type { Wire } from './wire.ts'

export interface SpeakOptions {
  readonly wire: Wire
  readonly clock: Clock
  /** The user agent, and the field manager of what is written. */
  readonly name: string
  readonly metrics?: Metrics | undefined
  /** How long the answer "not installed" is kept. */
  readonly absentMs?: number
}

export function speak(options: SpeakOptions): { client: Client; discovery: Discovery } {
  const { wire, clock, name, metrics } = options
  const discovery = createDiscovery(options)
  const client = createClient({
    wire,
    clock,
    name,
    versionOf: (kind, signal) => discovery.versionOf(kind, signal),
    metrics: metrics && measureClient(metrics),
  })
  return { client, discovery }
}
