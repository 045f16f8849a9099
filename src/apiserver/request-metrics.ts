// Metrics of requests and of stored objects, under kube-apiserver's names where it has one, so that existing dashboards
// work. Labels are verbs, served kinds and HTTP codes; nothing that a client can choose freely.

import type { Store } from '../store/store.ts'
import { type Metrics, secondsBounds } from '../telemetry/metrics.ts'
import type { Answered } from './edge/handler.ts'
import type { InFlightLimits } from './edge/in-flight.ts'

interface Counted {
  readonly store: Store
  readonly running: Readonly<InFlightLimits>
}

const knownMethods = new Set(['get', 'head', 'options', 'post', 'put', 'patch', 'delete'])

/** The function to be told of every answer. */
export function countRequests(metrics: Metrics, { store, running }: Counted): (answered: Answered) => void {
  const requests = metrics.counter('apiserver_request_total', 'Requests answered.', ['verb', 'resource', 'code'])
  const durations = metrics.histogram(
    'apiserver_request_duration_seconds',
    'Time from a request read to its answer ready; watches are left out.',
    secondsBounds,
    ['verb', 'resource'],
  )
  metrics.gauge('apiserver_current_inflight_requests', 'Requests under way.', () => ({
    labels: ['request_kind'],
    samples: [
      [['readOnly'], running.reads],
      [['mutating'], running.writes],
    ],
  }))
  metrics.gauge('apiserver_watches', 'Watches that are open.', () => running.watches)
  metrics.gauge('mooring_store_revision', 'Newest revision that is durable.', () => store.revision)
  metrics.gauge('mooring_store_objects', 'Objects stored.', () => store.count(''))

  return ({ verb, resource, code, tookMs }) => {
    const shown = resource !== '' || knownMethods.has(verb) ? verb : 'other'
    requests.add(shown, resource, String(code))
    if (shown !== 'watch') durations.observe(tookMs / 1000, shown, resource)
  }
}
