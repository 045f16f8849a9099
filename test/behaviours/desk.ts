// The desk that a behaviour is about, put together as the product does it, with a wire that a test can count on, hold back
// and cut.

import { expect, onTestFinished } from 'vitest'
import type { WebhookSet } from '../../src/admission/webhook.ts'
import { type Assembled, assemble } from '../../src/controllers/assemble.ts'
import type { Desk } from '../../src/controllers/desk.ts'
import { desks as table } from '../../src/controllers/desks.ts'
import type { NetworkRules } from '../../src/controllers/office/networks.ts'
import type { MachineMode } from '../../src/controllers/office/office.ts'
import { everything } from '../../src/controllers/office/scope.ts'
import type { VCenters } from '../../src/controllers/office/vcenters.ts'
import type { Kind, KubeObject } from '../../src/kube/object.ts'
import { speak } from '../../src/kube/speak.ts'
import { type Wire, WireError, type WireRequest, type WireResponse } from '../../src/kube/wire.ts'
import { type Clock, pause } from '../../src/runtime/clock.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { seededRandom } from '../harness/seeded-random.ts'

export interface DeskUnderTest {
  start(): Promise<void>
  stop(): Promise<void>
  /** As a crash: nothing more leaves or reaches the process, and its lease is not given back. */
  kill(): Promise<void>
  /** As a crash at a moment: this request does not leave any more, nor does any after it. */
  killBefore(isMoment: (request: WireRequest) => boolean): void
  /** From now on such requests are answered 403, as where a permission was taken away. */
  forbid(isForbidden: (request: WireRequest) => boolean): void
  /** From now on such requests are done, and the process is not told. */
  loseAnswers(isLost: (request: WireRequest) => boolean): void
  /** Requests that change something, since the desk was made. */
  readonly writes: readonly string[]
  /** Watches show everything this much later. */
  watchDelayMs: number
  /** Full lists instead of watches that go on: every stream of events ends now. */
  endWatches(): void
  /** What was logged for an operator to read, since the desk was made. */
  readonly log: readonly Line[]
  /** The same, and what was logged at the debug level. */
  readonly diary: readonly Line[]
  /** The office first, then the desks that are on. */
  states(): readonly Pick<Assembled['domains'][number], 'name' | 'state' | 'reasons'>[]
  /** What this process knows of a kind. */
  view(kind: Kind): View
  /** As they are scraped. */
  metrics(): string
  /** What it brings to the webhook server; none before it has started. */
  webhookSets(): readonly WebhookSet[]
}

export type View = Pick<ReadonlyMap<string, KubeObject>, 'get' | 'values'>

/** A line of the log: its sentence, and its fields by name. */
export interface Line {
  readonly level: string
  readonly msg: string
  readonly [field: string]: unknown
}

/** What is counted by labels that are known beforehand starts at zero: an alert cannot see the step from nothing to one. */
const countedIn = (text: string): string[] =>
  (text.match(/^mooring_(allocations|claims_refused|releases|lost_races|strays|passes)_total\{.*\}/gm) ?? []).filter(
    // A kind that a user made up.
    series => !series.includes('kind="unknown"'),
  )

interface Life {
  readonly assembled: Assembled
  readonly cut: AbortController
}

/** Which desks there are, and which of them are on: by default all of the product's. */
export interface DesksUnderTest {
  readonly desks?: readonly Desk[]
  readonly on?: readonly string[]
  /** As its flags say; their defaults unless said. */
  readonly networkRules?: NetworkRules
  readonly machineMode?: MachineMode
  readonly vcenters?: VCenters
  /** It serves the namespace of its test and no other: what earlier tests left behind is not its affair. */
  readonly isOfHomeAlone?: boolean
  /** The user that it acts as, with that one's permissions alone. */
  readonly user?: string
}

export function aDesk(
  wire: Wire,
  clock: Clock,
  home: string,
  { desks = table, on, networkRules, machineMode, vcenters, isOfHomeAlone = false }: DesksUnderTest = {},
): DeskUnderTest {
  const writes: string[] = []
  const diary: Line[] = []
  let metrics = createMetrics()
  const streams = new Set<AbortController>()
  let life: Life | undefined
  let webhookSets: readonly WebhookSet[] = []
  let isMoment: (request: WireRequest) => boolean = () => false
  let isForbidden: (request: WireRequest) => boolean = () => false
  let isLost: (request: WireRequest) => boolean = () => false

  const watched = (cut: AbortController): Wire => {
    return async request => {
      if (!cut.signal.aborted && isMoment(request)) cut.abort()
      if (cut.signal.aborted) return never(request)
      if (isForbidden(request)) return forbidden
      if (request.method !== 'GET') writes.push(`${request.method} ${request.path}`)
      const response = await wire(request)
      if (cut.signal.aborted) return never(request)
      if (isLost(request)) throw new WireError('the answer was lost', true)
      return delayed(response, request)
    }
  }

  function delayed(response: WireResponse, request: WireRequest): WireResponse {
    const { body } = response
    if (typeof body === 'string') return response
    const end = new AbortController()
    streams.add(end)
    return { ...response, body: later(body, end.signal, request.signal) }
  }

  /** Chunks as they come, each so much later; the end, when there is one, behind them. */
  async function* later(body: AsyncIterable<Uint8Array>, end: AbortSignal, stop: AbortSignal) {
    const chunks: { readonly bytes: Uint8Array; readonly dueMs: number }[] = []
    let hasEnded = false
    let failure: unknown
    let wake = () => {}
    const finish = (error?: unknown) => {
      hasEnded = true
      failure = error
      wake()
    }
    end.addEventListener('abort', () => finish(), { once: true })
    void (async () => {
      for await (const bytes of body) {
        chunks.push({ bytes, dueMs: clock.monotonicMs() + desk.watchDelayMs })
        wake()
      }
    })().then(finish, finish)
    for (;;) {
      const chunk = chunks.shift()
      if (chunk !== undefined) {
        const leftMs = chunk.dueMs - clock.monotonicMs()
        if (leftMs > 0) await pause(clock, leftMs, stop)
        yield chunk.bytes
        continue
      }
      if (failure !== undefined) throw failure
      if (hasEnded) return
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  }

  const desk: DeskUnderTest = {
    writes,
    diary,
    get log() {
      return diary.filter(({ level }) => level !== 'debug')
    },
    view: kind => life?.assembled.cacheOf(kind) ?? new Map(),
    states: () =>
      (life?.assembled.domains ?? []).map(domain => ({
        name: domain.name,
        state: domain.state,
        reasons: () => domain.reasons(),
      })),
    metrics: () => metrics.text(),
    watchDelayMs: 0,
    // Of the life that the desk has when it is asked.
    webhookSets: () => webhookSets.map((set, at) => ({ ...set, facts: kind => webhookSets[at]?.facts(kind) })),
    async start() {
      const cut = new AbortController()
      isMoment = () => false
      const own = watched(cut)
      const random = seededRandom(1)
      const log = createLog({ write: line => diary.push(JSON.parse(line)), now: () => clock.now(), level: 'debug' })
      metrics = createMetrics()
      const { client, discovery } = speak({ wire: own, clock, name: 'mooring', metrics })
      const assembled = assemble({
        ...{ client, discovery, clock, random, log, metrics, instance: 'test', isFrozen: true },
        desks,
        on: on ?? desks.map(({ name }) => name),
        networkRules,
        machineMode,
        vcenters,
        scope: isOfHomeAlone ? { ...everything, namespace: home } : everything,
      })
      webhookSets = assembled.webhookSets
      life = { assembled, cut }
      const begun = new Set(countedIn(metrics.text()))
      const ofLife = metrics
      if (desks === table) {
        onTestFinished(() => expect(countedIn(ofLife.text()).filter(one => !begun.has(one))).toEqual([]))
      }
      await assembled.start()
    },
    async stop() {
      await life?.assembled.stop('shutdown')
      life = undefined
    },
    async kill() {
      const { assembled, cut } = life ?? {}
      cut?.abort()
      life = undefined
      void assembled?.stop('shutdown')
    },
    killBefore(moment) {
      isMoment = moment
    },
    loseAnswers(loses) {
      isLost = loses
    },
    forbid(forbids) {
      isForbidden = forbids
    },
    endWatches() {
      for (const stream of streams) stream.abort()
      streams.clear()
    },
  }
  return desk
}

const forbidden: WireResponse = {
  status: 403,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ kind: 'Status', status: 'Failure', reason: 'Forbidden', message: 'not permitted', code: 403 }),
}

/** No answer, ever; only a caller that stops waiting gets on. */
function never({ signal }: WireRequest): Promise<never> {
  return new Promise((_, reject) => {
    const refuse = () => reject(new WireError('the process is gone', false))
    if (signal.aborted) return refuse()
    signal.addEventListener('abort', refuse, { once: true })
  })
}
