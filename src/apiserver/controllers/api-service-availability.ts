// api-service-availability - every APIService says in its condition Available whether its group version is served: by this server
// always, by another one if it can be reached and shows what it serves. It is asked when an APIService, its Service or its
// endpoints change, and every half a minute; one that does not answer is asked again soon, then later and later.

import { foreignCheckMs } from '../../limits.ts'
import type { Ask } from '../aggregation/ask.ts'
import { type Foreign, parseForeign } from '../aggregation/foreign.ts'
import { reach } from '../aggregation/reach.ts'
import { items, part } from '../builtin/fields.ts'
import type { World } from '../call.ts'
import type { Resource } from '../kinds/registry.ts'
import type { LocalClient } from '../local-client.ts'
import { toTimestamp } from '../metadata.ts'
import type { KubeObject } from '../object.ts'
import { decodeEntry, getObject, listObjects } from '../objects.ts'
import { isStatus } from '../status.ts'
import type { Controller, OnError } from './controller.ts'
import { need } from './controllers.ts'
import { createWorker, type Worker } from './worker.ts'

const retryMsMin = 50

interface Availability {
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
}

const local: Availability = {
  status: 'True',
  reason: 'Local',
  message: 'Local APIServices are always available',
}
const passed: Availability = { status: 'True', reason: 'Passed', message: 'all checks passed' }

export function createAPIServiceAvailability(
  world: World,
  client: LocalClient,
  resource: Resource,
  { foreign, ask }: { readonly foreign: Foreign; readonly ask: Ask },
  onError: OnError,
): Controller {
  const { store, registry } = world
  // One for each: a server that does not answer keeps no other waiting.
  const workers = new Map<string, Worker>()
  const failures = new Map<string, number>()
  const stops: (() => void)[] = []

  function mark(name: string): void {
    let worker = workers.get(name)
    if (worker === undefined) {
      worker = createWorker(settle, onError)
      workers.set(name, worker)
    }
    worker.mark(name)
  }

  async function settle(name: string): Promise<void> {
    const object = getObject(store, resource, '', name)
    if (object === undefined) return forget(name)
    const availability = await judge(name, object)
    try {
      await report(name, availability)
    } catch (error) {
      if (isStatus(error, 'NotFound')) return forget(name)
      throw error
    }
  }

  function forget(name: string): void {
    workers.get(name)?.stop()
    workers.delete(name)
    failures.delete(name)
  }

  async function judge(name: string, object: KubeObject): Promise<Availability> {
    const version = parseForeign(object)
    if (version === undefined || registry.hasGroupVersion(version.group, version.version)) return local
    const place = reach(world, version.service)
    if ('reason' in place) {
      foreign.learn(name, undefined)
      // What would help is an event.
      return { status: 'False', ...place }
    }
    try {
      foreign.learn(name, await ask(version, place))
      failures.delete(name)
      workers.get(name)?.markLater(name, foreignCheckMs)
      return passed
    } catch (error) {
      foreign.learn(name, undefined)
      const count = failures.get(name) ?? 0
      failures.set(name, count + 1)
      workers.get(name)?.markLater(name, Math.min(retryMsMin * 2 ** count, foreignCheckMs))
      const message = error instanceof Error ? error.message : String(error)
      return { status: 'False', reason: 'FailedDiscoveryCheck', message }
    }
  }

  async function report(name: string, wanted: Availability): Promise<void> {
    const conditions = items(part(getObject(store, resource, '', name), 'status')?.conditions)
    const old = conditions.find(({ type }) => type === 'Available')
    const { status, reason, message } = wanted
    if (old?.status === status && old.reason === reason && old.message === message) return
    const lastTransitionTime = old?.status === status ? old.lastTransitionTime : toTimestamp(world.now())
    const others = conditions.filter(({ type }) => type !== 'Available')
    const condition = { type: 'Available', status, lastTransitionTime, reason, message }
    await client.mergePatch(
      { resource, name, subresource: 'status' },
      { status: { conditions: [...others, condition] } },
    )
  }

  /** Those whose server is behind this Service. */
  function markService(namespace: string, name: string): void {
    for (const object of listObjects(store, resource)) {
      const service = part(object, 'spec', 'service')
      if (service?.namespace === namespace && service.name === name) mark(object.metadata.name ?? '')
    }
  }

  return {
    start() {
      const follow = (prefix: string, look: (key: string, object: KubeObject) => void) => {
        const watch = store.watch(prefix, store.revision, ({ entry }) =>
          look(entry.key.slice(prefix.length), decodeEntry(entry)),
        )
        stops.push(() => watch.stop())
      }
      follow(resource.keyPrefix, mark)
      for (const plural of ['services', 'endpoints']) {
        follow(need(registry, '', plural).keyPrefix, key => {
          const [namespace = '', name = ''] = key.split('/')
          markService(namespace, name)
        })
      }
      follow(need(registry, 'discovery.k8s.io', 'endpointslices').keyPrefix, (_key, { metadata }) => {
        markService(metadata.namespace ?? '', metadata.labels?.['kubernetes.io/service-name'] ?? '')
      })
      stops.push(registry.onChange(() => foreign.names().forEach(mark)))
      for (const { metadata } of listObjects(store, resource)) mark(metadata.name ?? '')
    },
    stop() {
      for (const stop of stops) stop()
      for (const worker of workers.values()) worker.stop()
    },
  }
}
