// events - an Event is deleted an hour after it was last written.
//
// The time of the last write is in the Event itself, so a server that was down deletes at its start what expired
// meanwhile.

import type { World } from '../call.ts'
import type { Resource } from '../kinds/registry.ts'
import type { LocalClient } from '../local-client.ts'
import { isObject, type KubeObject } from '../object.ts'
import { decodeEntry, listObjects } from '../objects.ts'
import { isStatus } from '../status.ts'
import type { Controller, OnError } from './controller.ts'

const keptMs = 3_600_000
const sweepMs = 30_000

interface Due {
  readonly at: number
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

export interface EventExpiry extends Controller {
  /** Forgets what is due; runs by itself twice a minute. */
  sweep(): Promise<void>
}

export function createEventExpiry(
  { store, now }: Pick<World, 'store' | 'now'>,
  client: LocalClient,
  events: Resource,
  onError: OnError,
): EventExpiry {
  const due = new Map<string, Due>()
  const stops: (() => void)[] = []
  let isSweeping = false

  function follow(event: KubeObject): void {
    const { namespace = '', name = '', uid = '' } = event.metadata
    due.set(`${namespace}/${name}`, { at: lastWritten(event) + keptMs, namespace, name, uid })
  }

  async function sweep(): Promise<void> {
    if (isSweeping) return
    isSweeping = true
    const time = now().getTime()
    for (const [key, { at, namespace, name, uid }] of due) {
      if (at > time) continue
      due.delete(key)
      try {
        await client.remove({ resource: events, namespace, name }, { preconditions: { uid } })
      } catch (error) {
        if (!isStatus(error, 'NotFound') && !isStatus(error, 'Conflict')) onError(error, `the event ${key}`)
      }
    }
    isSweeping = false
  }

  return {
    sweep,
    start() {
      const watch = store.watch(events.keyPrefix, store.revision, ({ type, entry }) => {
        if (type === 'put') follow(decodeEntry(entry))
        else due.delete(entry.key.slice(events.keyPrefix.length))
      })
      for (const event of listObjects(store, events)) follow(event)
      const timer = setInterval(() => void sweep(), sweepMs)
      timer.unref()
      stops.push(
        () => watch.stop(),
        () => clearInterval(timer),
      )
    },
    stop() {
      for (const stop of stops) stop()
    },
  }
}

function lastWritten(event: KubeObject): number {
  const { creationTimestamp, managedFields } = event.metadata
  const series = isObject(event.series) ? event.series.lastObservedTime : undefined
  const written = (managedFields ?? []).map(entry => entry.time)
  const times = [creationTimestamp, event.lastTimestamp, event.eventTime, series, ...written]
  return Math.max(0, ...times.map(time => (typeof time === 'string' ? Date.parse(time) || 0 : 0)))
}
