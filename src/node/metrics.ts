// What is counted about a node: its calls, what it keeps, and how old its view of the API is.

import type { Clock } from '../runtime/clock.ts'
import { type Metrics, secondsBounds } from '../telemetry/metrics.ts'
import type { Outcome } from './answer.ts'
import { verbs } from './spec.ts'
import type { NodeWorld } from './world.ts'

/** A cache that follows the API server, as far as its age goes. */
export interface Followed {
  readonly name: string
  readonly state: string
  onProblemChange(changed: () => void): void
}

export interface CallMetrics {
  /** Called when a call arrives; the answer, when it was answered. */
  begin(): (outcome: Outcome) => void
}

export function measureNode(
  metrics: Metrics,
  world: Pick<NodeWorld, 'state' | 'problem'>,
  followed: readonly Followed[],
  clock: Clock,
): CallMetrics {
  const calls = metrics.counter(
    'mooring_node_cni_calls_total',
    'CNI calls that were answered, by verb and by the code of the answer: 0 is success.',
    ['verb', 'code'],
    { startAt: verbs.map(verb => [verb, '0']) },
  )
  const seconds = metrics.histogram(
    'mooring_node_cni_call_duration_seconds',
    'How long CNI calls took, by verb, from the socket to the answer.',
    secondsBounds,
    ['verb'],
  )
  let open = 0
  metrics.gauge('mooring_node_cni_calls_open', 'CNI calls that are being answered.', () => open)
  metrics.gauge('mooring_node_ready', '1 while addresses can be given to new pods of this node, as STATUS says.', () =>
    world.problem() === undefined ? 1 : 0,
  )
  metrics.gauge('mooring_node_attachments', 'Interfaces that the node keeps addresses of, by state.', () => {
    let attached = 0
    for (const one of world.state.values()) if (one.containerID !== '') attached++
    const rest = world.state.size - attached
    return { labels: ['state'], samples: [[['attached'], attached] as const, [['detached'], rest] as const] }
  })
  const watchedUntilMs = new Map<string, number>()
  for (const one of followed) {
    watchedUntilMs.set(one.name, clock.monotonicMs())
    let wasWatching = false
    one.onProblemChange(() => {
      if (wasWatching && one.state !== 'watching') watchedUntilMs.set(one.name, clock.monotonicMs())
      wasWatching = one.state === 'watching'
    })
  }
  metrics.gauge(
    'mooring_node_cache_age_seconds',
    'How long ago the node last followed a kind; 0 while it does.',
    () => {
      const ageOf = ({ name, state }: Followed) =>
        state === 'watching' ? 0 : (clock.monotonicMs() - (watchedUntilMs.get(name) ?? 0)) / 1000
      return { labels: ['kind'], samples: followed.map(one => [[one.name], ageOf(one)] as const) }
    },
  )
  return {
    begin() {
      const sinceMs = clock.monotonicMs()
      open++
      return ({ verb, code }) => {
        open--
        calls.add(verb, String(code))
        seconds.observe((clock.monotonicMs() - sinceMs) / 1000, verb)
      }
    },
  }
}
