// Kubernetes events for the owner of an object. Telling is best effort and never in anybody's way: `event` only notes what
// happened; sending is done behind it, one at a time. The same thing told again is one event with a count. What is kept
// is bounded: an object that is talked about without end is cut short, and when the server does not listen the oldest
// news is dropped.

import { type Clock, pause } from '../runtime/clock.ts'
import type { Random } from '../runtime/random.ts'
import { describeError, type Log } from '../telemetry/log.ts'
import { isApiError } from './api-error.ts'
import type { Client } from './client.ts'
import { defineKind, type KubeObject, type ObjectRef } from './object.ts'
import { toMicroTime } from './time.ts'

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
  event(news: EventInput): void
  /** Resolves when everything told so far was sent or given up. */
  flushed(): Promise<void>
  stop(): Promise<void>
}

export interface RecorderOptions {
  readonly client: Pick<Client, 'create' | 'mergePatch'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** `mooring.dev/capi`: who speaks. */
  readonly controller: string
  /** Which process of it. */
  readonly instance: string
}

/** Different things remembered, to be counted when they happen again. */
const rememberedMax = 2_000
/** Waiting to be sent. */
const pendingMax = 1_000
/** The same thing within this time is counted, later it is news again. */
const seriesMs = 6 * 60_000
/** A running count is sent at most this often. */
const seriesPeriodMs = 30_000
/** Different news about one object: so many at once, then one more for every so much time. */
const newsPerObjectMax = 25
const newsRefillMs = 60_000
const triesMax = 3
/** The API server's limit for `note`. */
const noteBytesMax = 1024

interface Told {
  readonly ref: ObjectRef
  readonly news: EventInput
  count: number
  lastMs: number
  lastTime: string
  sentMs: number
  isStored: boolean
}

export function createRecorder(options: RecorderOptions): Recorder {
  const { client, clock, random, log, controller, instance } = options
  const told = new Map<string, Told>()
  const budgets = new Map<string, { left: number; atMs: number }>()
  const pending = new Map<string, Told>()
  const abort = new AbortController()
  let sending: Promise<void> | undefined

  function event(news: EventInput): void {
    if (abort.signal.aborted) return
    const key = JSON.stringify([news.about.metadata.uid, news.type, news.reason, news.action, news.note])
    const nowMs = clock.monotonicMs()
    const before = told.get(key)
    if (before !== undefined && nowMs - before.lastMs < seriesMs) {
      told.delete(key)
      told.set(key, before)
      before.count++
      before.lastMs = nowMs
      before.lastTime = toMicroTime(clock.now())
      if (nowMs - before.sentMs >= seriesPeriodMs) enqueue(key, before)
      return
    }
    if (!isWithinBudget(news.about.metadata.uid ?? '', nowMs)) return
    const fresh: Told = {
      ref: { namespace: news.about.metadata.namespace || 'default', name: eventName(news.about, random) },
      news,
      count: 1,
      lastMs: nowMs,
      lastTime: toMicroTime(clock.now()),
      sentMs: nowMs,
      isStored: false,
    }
    told.set(key, fresh)
    forgetOldest(told, rememberedMax)
    enqueue(key, fresh)
  }

  function isWithinBudget(uid: string, nowMs: number): boolean {
    const budget = budgets.get(uid) ?? { left: newsPerObjectMax, atMs: nowMs }
    const refilled = Math.min(newsPerObjectMax, budget.left + (nowMs - budget.atMs) / newsRefillMs)
    const isAllowed = refilled >= 1
    budgets.delete(uid)
    budgets.set(uid, { left: isAllowed ? refilled - 1 : refilled, atMs: nowMs })
    forgetOldest(budgets, rememberedMax)
    return isAllowed
  }

  function enqueue(key: string, item: Told): void {
    pending.set(key, item)
    forgetOldest(pending, pendingMax)
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

  async function send(item: Told): Promise<void> {
    for (let tries = 1; tries <= triesMax && !abort.signal.aborted; tries++) {
      try {
        item.sentMs = clock.monotonicMs()
        await store(item)
        item.isStored = true
        return
      } catch (error) {
        if (isApiError(error, 'NotFound', 'Conflict') && item.isStored) {
          // It was deleted or has run out: it is told as a new one.
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
          log.debug('an event was not told', { reason: item.news.reason, error: describeError(error) })
          return
        }
        await pause(clock, 1_000 * tries * (1 + random()), abort.signal)
      }
    }
  }

  async function store({ ref, news, count, lastTime, isStored }: Told): Promise<void> {
    const series = { count, lastObservedTime: lastTime }
    const { signal } = abort
    if (isStored) {
      await client.mergePatch(events, ref, { series }, { signal })
      return
    }
    const { apiVersion, kind, metadata } = news.about
    const object: EventObject = {
      metadata: { name: ref.name, namespace: ref.namespace ?? 'default' },
      eventTime: lastTime,
      type: news.type,
      reason: news.reason,
      action: news.action,
      note: cut(news.note, noteBytesMax),
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

/** A map remembers the order of insertion: the first entry is the one not touched for longest. */
function forgetOldest<V>(map: Map<string, V>, sizeMax: number): void {
  for (const key of map.keys()) {
    if (map.size <= sizeMax) return
    map.delete(key)
  }
}
