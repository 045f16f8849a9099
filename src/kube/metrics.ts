// What is counted at the seam to a Kubernetes API: requests and their answers, how well each kind is followed, and events that
// were dropped.

import { type Metrics, secondsBounds } from '../telemetry/metrics.ts'

export interface ClientMetrics {
  /** A request was answered with this code; 0: it was not answered. */
  answered(verb: string, resource: string, code: number, tookMs: number): void
}

export interface ReflectorMetrics {
  /** From now on its state is part of every scrape, and what can be counted of it, at zero. */
  follow(reflector: Followed): void
  /** A whole list was swapped in. */
  listed(resource: string, tookMs: number): void
  streamEnded(resource: string, why: StreamEndKind): void
}

const streamEnds = ['ended', 'idle', 'gone', 'unreadable', 'failed'] as const
/** Why a stream ended. */
export type StreamEndKind = (typeof streamEnds)[number]

/** What is asked about a reflector. */
export interface Followed {
  readonly name: string
  readonly state: string
  readonly size: number
}

export interface EventMetrics {
  /** Events are recorded in the name of this controller, and none was dropped yet. */
  begin(controller: string): void
  dropped(controller: string): void
}

export function measureEvents(metrics: Metrics): EventMetrics {
  const dropped = metrics.counter(
    'mooring_events_dropped_total',
    'Events that were not recorded: over the budget of their object or namespace, or not taken by the API server.',
    ['reporting_controller'],
  )
  return {
    begin: controller => dropped.startAtZero(controller),
    dropped: controller => dropped.add(controller),
  }
}

export function measureClient(metrics: Metrics): ClientMetrics {
  const requests = metrics.counter('mooring_client_requests_total', 'Requests sent to the API server, by answer.', [
    'verb',
    'resource',
    'code',
  ])
  const durations = metrics.histogram(
    'mooring_client_request_duration_seconds',
    'Time from a request to its answer; watches are left out.',
    secondsBounds,
    ['verb', 'resource'],
  )
  return {
    answered(verb, resource, code, tookMs) {
      requests.add(verb, resource, code === 0 ? 'none' : String(code))
      if (verb !== 'watch') durations.observe(tookMs / 1000, verb, resource)
    },
  }
}

export function measureReflectors(metrics: Metrics): ReflectorMetrics {
  const reflectors: Followed[] = []
  const lists = metrics.counter('mooring_reflector_lists_total', 'Whole lists that were taken over.', ['resource'])
  const took = metrics.histogram('mooring_reflector_list_duration_seconds', 'Time of a whole list.', secondsBounds, [
    'resource',
  ])
  const ends = metrics.counter('mooring_reflector_streams_ended_total', 'Watches that ended, and why.', [
    'resource',
    'why',
  ])
  metrics.gauge('mooring_reflector_state', '1 for the state in which a kind is followed.', () => ({
    labels: ['resource', 'state'],
    samples: reflectors.map(({ name, state }) => [[name, state], 1]),
  }))
  metrics.gauge('mooring_reflector_objects', 'Objects known.', () => ({
    labels: ['resource'],
    samples: reflectors.map(({ name, size }) => [[name], size]),
  }))
  return {
    follow(reflector) {
      reflectors.push(reflector)
      lists.startAtZero(reflector.name)
      for (const why of streamEnds) ends.startAtZero(reflector.name, why)
    },
    listed(resource, tookMs) {
      lists.add(resource)
      took.observe(tookMs / 1000, resource)
    },
    streamEnded: (resource, why) => ends.add(resource, why),
  }
}
