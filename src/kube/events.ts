// Kubernetes events for the owner of an object. Recording is best effort and holds up no pass: `event` only notes what
// happened; events are sent behind it, one at a time. The same event again is one event with a count. What is kept is
// bounded: one object, one namespace and all together get only so many, and while the API server does not answer the oldest are
// dropped. A dropped event is counted and no more: what an object has to say is in its condition.

import { Buckets } from '../runtime/buckets.ts'
import { type Clock, pause } from '../runtime/clock.ts'
import type { Random } from '../runtime/random.ts'
import { describeError, type Log } from '../telemetry/log.ts'
import { isApiError } from './api-error.ts'
import type { Client } from './client.ts'
import type { EventMetrics } from './metrics.ts'
import { defineKind, type KubeObject, type ObjectRef } from './object.ts'
import { toMicroTime } from './timestamp.ts'

export interface EventObject extends KubeObject {
  readonly eventTime?: string
  readonly type?: string
  readonly reason?: string
  readonly action?: string
  readonly note?: string
  readonly regarding?: object
  readonly reportingController?: string
  readonly reportingInstance?: string
  readonly series?: { readonly count: number; readonly lastObservedTime: string }
}

export const events = defineKind<EventObject>({
  group: 'events.k8s.io',
  versions: ['v1'],
  plural: 'events',
  kind: 'Event',
  namespaced: true,
})

export interface EventInput {
  /** The object the reader looks at; it needs `apiVersion` and `kind`. */
  readonly about: KubeObject
  readonly type: 'Normal' | 'Warning'
  /** The same as the condition's. */
  readonly reason: string
  /** What was being done, CamelCase: `Bind`. */
  readonly action: string
  readonly note: string
}

export interface Recorder {
  event(input: EventInput): void
  /** Resolves when every event so far was sent or given up. */
  flushed(): Promise<void>
  stop(): Promise<void>
}

export interface RecorderOptions {
  readonly client: Pick<Client, 'create' | 'mergePatch'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** The reporting controller: `mooring.dev/capi`. */
  readonly controller: string
  /** The reporting instance: which process of it. */
  readonly instance: string
  readonly metrics?: EventMetrics | undefined
}

/** Different events remembered, to be counted when they happen again. */
const rememberedMax = 2_000
/** Waiting to be sent. */
const pendingMax = 1_000
/** The same event within this time is counted, later it is a new one. */
const seriesMs = 6 * 60_000
/** A running count is sent at most this often. */
const seriesPeriodMs = 30_000
/** Different events about one object: so many at once, then one more for every so much time. */
const perObject = { atOnce: 25, refillMs: 60_000, rememberedMax }
/** Events, and counts of events, about objects of one namespace: a tenant cannot fill the storage of the API server with them. */
const perNamespace = { atOnce: 100, refillMs: 1_000, rememberedMax }
/** The same of all namespaces together: a tenant may have many. */
const inAll = { atOnce: 500, refillMs: 50, rememberedMax: 1 }
/** What is dropped is logged at most this often. */
const droppedLogMs = 60_000
const triesMax = 3
/** The API server's limit for `note`. */
const noteBytesMax = 1024

interface Recorded {
  readonly ref: ObjectRef
  readonly input: EventInput
  count: number
  lastMs: number
  lastTime: string
  sentMs: number
  isStored: boolean
}

export function createRecorder(options: RecorderOptions): Recorder {
  const { client, clock, random, log, controller, instance, metrics } = options
  const recorded = new Map<string, Recorded>()
  const [objects, namespaces, all] = [new Buckets(perObject), new Buckets(perNamespace), new Buckets(inAll)]
  const dropped = { count: 0, loggedMs: Number.NEGATIVE_INFINITY }
  const pending = new Map<string, Recorded>()
  const abort = new AbortController()
  let sending: Promise<void> | undefined
  metrics?.begin(controller)

  function event(input: EventInput): void {
    if (abort.signal.aborted) return
    const key = JSON.stringify([input.about.metadata.uid, input.type, input.reason, input.action, input.note])
    const nowMs = clock.monotonicMs()
    const { uid = '', namespace = '' } = input.about.metadata
    const before = recorded.get(key)
    if (before !== undefined && nowMs - before.lastMs < seriesMs) {
      recorded.delete(key)
      recorded.set(key, before)
      before.count++
      before.lastMs = nowMs
      before.lastTime = toMicroTime(clock.now())
      // Over the budget it is not lost: the next count includes it.
      if (nowMs - before.sentMs >= seriesPeriodMs && take(namespace, nowMs)) enqueue(key, before)
      return
    }
    if (!objects.has(uid, nowMs)) return drop(input, 'over the budget of its object')
    if (!take(namespace, nowMs)) return drop(input, 'over the budget of its namespace, or of all')
    objects.take(uid, nowMs)
    const fresh: Recorded = {
      ref: { namespace: namespace || 'default', name: eventName(input.about, random) },
      input,
      count: 1,
      lastMs: nowMs,
      lastTime: toMicroTime(clock.now()),
      sentMs: nowMs,
      isStored: false,
    }
    recorded.set(key, fresh)
    forgetOldest(recorded, rememberedMax)
    enqueue(key, fresh)
  }

  function take(namespace: string, nowMs: number): boolean {
    if (!namespaces.has(namespace, nowMs) || !all.has('', nowMs)) return false
    namespaces.take(namespace, nowMs)
    all.take('', nowMs)
    return true
  }

  function drop({ about, reason }: EventInput, why: string): void {
    metrics?.dropped(controller)
    dropped.count++
    const nowMs = clock.monotonicMs()
    if (nowMs - dropped.loggedMs < droppedLogMs) return
    const { namespace, name } = about.metadata
    // The last of them stands for all: names are as many as a tenant makes.
    log.info('events were dropped', { controller, count: dropped.count, why, reason, namespace, name })
    dropped.count = 0
    dropped.loggedMs = nowMs
  }

  function enqueue(key: string, item: Recorded): void {
    pending.set(key, item)
    for (const { input } of forgetOldest(pending, pendingMax)) drop(input, 'the API server does not answer')
    sending ??= sendAll()
  }

  async function sendAll(): Promise<void> {
    // The caller's pass goes on first.
    await Promise.resolve()
    for (let next = firstOf(pending); next !== undefined; next = firstOf(pending)) {
      const [key, item] = next
      pending.delete(key)
      if (!abort.signal.aborted) await send(item)
    }
    sending = undefined
  }

  async function send(item: Recorded): Promise<void> {
    for (let tries = 1; tries <= triesMax && !abort.signal.aborted; tries++) {
      try {
        item.sentMs = clock.monotonicMs()
        await store(item)
        item.isStored = true
        return
      } catch (error) {
        if (isApiError(error, 'NotFound', 'Conflict') && item.isStored) {
          // It was deleted or has expired: it is sent as a new one.
          item.isStored = false
          continue
        }
        if (isApiError(error, 'AlreadyExists')) {
          item.isStored = true
          return
        }
        if (
          !isApiError(error, 'Unreachable', 'UnknownOutcome', 'TooManyRequests', 'Unavailable') ||
          tries === triesMax
        ) {
          log.debug('an event could not be sent', { reason: item.input.reason, error: describeError(error) })
          return drop(item.input, 'the API server did not take it')
        }
        await pause(clock, 1_000 * tries * (1 + random()), abort.signal)
      }
    }
  }

  async function store({ ref, input, count, lastTime, isStored }: Recorded): Promise<void> {
    const series = { count, lastObservedTime: lastTime }
    const { signal } = abort
    if (isStored) {
      await client.mergePatch(events, ref, { series }, { signal })
      return
    }
    const { apiVersion, kind, metadata } = input.about
    const object: EventObject = {
      metadata: { name: ref.name, namespace: ref.namespace ?? 'default' },
      eventTime: lastTime,
      type: input.type,
      reason: input.reason,
      action: input.action,
      note: cut(input.note, noteBytesMax),
      regarding: {
        apiVersion,
        kind,
        name: metadata.name,
        namespace: metadata.namespace,
        uid: metadata.uid,
        resourceVersion: metadata.resourceVersion,
      },
      reportingController: controller,
      reportingInstance: cut(instance, 128),
      ...(count > 1 && { series }),
    }
    await client.create(events, object, { signal })
  }

  return {
    event,
    flushed: async () => {
      while (sending !== undefined) await sending
    },
    async stop() {
      abort.abort()
      pending.clear()
      await sending
    },
  }
}

function eventName({ metadata }: KubeObject, random: Random): string {
  const digits = Math.floor(random() * 2 ** 48)
    .toString(16)
    .padStart(12, '0')
  // A name has at most 253 characters, and no dot or dash before the one we add.
  const base = (metadata.name ?? '').slice(0, 240).replace(/[.-]+$/, '')
  return `${base}.${digits}`
}

function cut(text: string, bytesMax: number): string {
  if (Buffer.byteLength(text) <= bytesMax) return text
  let kept = text.slice(0, bytesMax)
  while (Buffer.byteLength(kept) > bytesMax - 3) kept = kept.slice(0, -1)
  return `${kept.replace(/[\ud800-\udbff]$/, '')}...`
}

function firstOf<K, V>(map: Map<K, V>): [K, V] | undefined {
  const { value, done } = map.entries().next()
  return done === true ? undefined : value
}

/** A map remembers the order of insertion: the first entry is the one not touched for longest. Answers what is forgotten. */
function forgetOldest<V>(map: Map<string, V>, sizeMax: number): V[] {
  const forgotten: V[] = []
  for (const [key, value] of map) {
    if (map.size <= sizeMax) break
    map.delete(key)
    forgotten.push(value)
  }
  return forgotten
}
