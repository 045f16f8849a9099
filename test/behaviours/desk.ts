// The desk that a behaviour is about, put together as the product does it, with a wire that a test can count on, hold back
// and cut.

import { addCapiDesk } from '../../src/controllers/capi/desk.ts'
import { addPoolCapacity } from '../../src/controllers/pool/watches.ts'
import { createClient } from '../../src/kube/client.ts'
import { createDiscovery } from '../../src/kube/discovery.ts'
import { createRecorder, type Recorder } from '../../src/kube/events.ts'
import { type Wire, WireError, type WireRequest, type WireResponse } from '../../src/kube/wire.ts'
import { type Clock, pause } from '../../src/runtime/clock.ts'
import { Manager } from '../../src/runtime/manager.ts'
import { seededRandom } from '../../src/runtime/random.ts'
import { silentLog } from '../../src/telemetry/log.ts'

export interface DeskUnderTest {
  start(): Promise<void>
  stop(): Promise<void>
  /** As a crash: nothing more leaves or reaches the process, and it says no goodbye. */
  kill(): Promise<void>
  /** As a crash at a moment: this request does not leave any more, nor does any after it. */
  killBefore(isMoment: (request: WireRequest) => boolean): void
  /** Requests that change something, since the desk was made. */
  readonly writes: readonly string[]
  /** Watches show everything this much later. */
  watchDelayMs: number
  /** Full lists instead of watches that go on: every stream of events ends now. */
  endWatches(): void
}

interface Life {
  readonly manager: Manager
  readonly recorder: Recorder
  readonly cut: AbortController
}

export function aDesk(wire: Wire, clock: Clock): DeskUnderTest {
  const writes: string[] = []
  const streams = new Set<AbortController>()
  let life: Life | undefined
  let isMoment: (request: WireRequest) => boolean = () => false

  const watched = (cut: AbortController): Wire => {
    return async request => {
      if (!cut.signal.aborted && isMoment(request)) cut.abort()
      if (cut.signal.aborted) return never(request)
      if (request.method !== 'GET') writes.push(`${request.method} ${request.path}`)
      const response = await wire(request)
      if (cut.signal.aborted) return never(request)
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

  async function* later(body: AsyncIterable<Uint8Array>, end: AbortSignal, stop: AbortSignal) {
    const chunks = body[Symbol.asyncIterator]()
    const ended = new Promise<{ done: true; value: undefined }>(resolve => {
      end.addEventListener('abort', () => resolve({ done: true, value: undefined }), { once: true })
    })
    try {
      for (;;) {
        const { done, value } = await Promise.race([chunks.next(), ended])
        if (done || value === undefined) return
        if (desk.watchDelayMs > 0) await pause(clock, desk.watchDelayMs, stop)
        yield value
      }
    } finally {
      // Not awaited: a stream that waits for its next chunk would never answer.
      void chunks.return?.()
    }
  }

  const desk: DeskUnderTest = {
    writes,
    watchDelayMs: 0,
    async start() {
      const cut = new AbortController()
      isMoment = () => false
      const own = watched(cut)
      const random = seededRandom(1)
      const log = silentLog
      const discovery = createDiscovery({ wire: own, clock, name: 'mooring' })
      const client = createClient({ wire: own, clock, name: 'mooring', versionOf: discovery.versionOf })
      const recorder = createRecorder({ client, clock, random, log, controller: 'mooring.dev/capi', instance: 'test' })
      const manager = new Manager({ clock, random, log })
      const world = addCapiDesk({ client, discovery, clock, random, log, recorder, manager, isFrozen: true })
      addPoolCapacity(manager, world)
      life = { manager, recorder, cut }
      await manager.start()
    },
    async stop() {
      await life?.manager.stop('shutdown')
      await life?.recorder.stop()
      life = undefined
    },
    async kill() {
      const { manager, recorder, cut } = life ?? {}
      cut?.abort()
      life = undefined
      void manager?.stop('shutdown')
      void recorder?.stop()
    },
    killBefore(moment) {
      isMoment = moment
    },
    endWatches() {
      for (const stream of streams) stream.abort()
      streams.clear()
    },
  }
  return desk
}

/** No answer, ever; only whoever stops waiting gets on. */
function never({ signal }: WireRequest): Promise<never> {
  return new Promise((_, reject) => {
    const refuse = () => reject(new WireError('the process is gone', false))
    if (signal.aborted) return refuse()
    signal.addEventListener('abort', refuse, { once: true })
  })
}
