// The wire between one desk and the API server, under the plan's control: requests, answers and events pass here, are
// counted, and meet the faults that the plan has for them. The counts go on through all lives of the desk.

import { type Wire, WireError, type WireRequest, type WireResponse } from '../../src/kube/wire.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import type { Random } from '../../src/runtime/random.ts'
import { type Call, callOf, describeCall } from './call.ts'
import { type Life, never, type OldView } from './life.ts'
import type { Action, ActorName, Plan, Point, Refusing } from './plan.ts'

export interface WeatherParts {
  readonly actor: ActorName
  readonly upstream: Wire
  readonly plan: Plan
  readonly clock: Clock
  /** Turns of delay are drawn from it; undefined: no delay. */
  readonly random: Random | undefined
  readonly note: (text: string) => void
  /** Called for every write that reaches the server, as it reaches it. */
  readonly onSent: (call: Call, request: WireRequest) => void
  readonly crash: (view?: OldView) => void
  /** Another process creates what the desk is about to create. */
  readonly forestall: (call: Call, body: string, as: 'another' | 'none') => Promise<void>
  readonly revision: () => number
  /** A build that is broken on purpose changes what goes out. */
  readonly distort?: (wire: Wire, weather: Weather) => Wire
}

/** A point that was passed, for plans to be made of. */
export interface Passed extends Omit<Point, 'kind'> {
  readonly verb: string
  readonly kind: string
  readonly name: string
  /** The newest revision at that moment. */
  readonly revision: number
  readonly atMs: number
  /** Writes that this actor had sent before. */
  readonly sent: number
  /** The same at the moment when a write was answered. */
  answered?: { readonly atMs: number; readonly sent: number }
}

export class Weather {
  readonly #parts: WeatherParts
  readonly #counts = new Map<string, number>()
  readonly #streams = new Set<Stream>()
  /** What the streams of the desk brought, by kind and key. */
  readonly shown = new Map<string, unknown>()
  readonly passed: Passed[] = []
  /** Writes to what is not an Event, whether they succeeded or not; and tasks of a vCenter. */
  writes = 0
  inFlight = 0
  #refusing: (Refusing & { readonly like: string; readonly untilMs: number })[] = []
  #heldUntilMs = new Map<string, number>()
  #isCalm = false

  constructor(parts: WeatherParts) {
    this.#parts = parts
  }

  /** Everything that was out of order works again. */
  get isCalm(): boolean {
    return this.#isCalm
  }

  get streams(): number {
    return this.#streams.size
  }

  /** From now on nothing goes wrong, and what was held back comes. */
  heal(): void {
    this.#isCalm = true
    this.#refusing = []
    this.#heldUntilMs.clear()
    for (const stream of this.#streams) stream.heal()
  }

  connect(life: Life): Wire {
    const { upstream, distort } = this.#parts
    const reached: Wire = request => {
      const call = callOf(request)
      if (call.isWrite && call.kind !== 'events') this.#parts.onSent(call, request)
      return upstream(request)
    }
    const wire = distort?.(reached, this) ?? reached
    return request => this.#send(request, life, wire)
  }

  async #send(request: WireRequest, life: Life, wire: Wire): Promise<WireResponse> {
    await life.goingOn()
    const call = callOf(request)
    if (call.verb === 'discover') return this.#reach(wire, request, life)
    const refused = this.#refusal(call)
    if (refused !== undefined) return refused
    if (call.verb === 'watch') return this.#watch(request, call, life, wire)
    if (call.kind === 'events') return this.#reach(wire, request, life)
    const { passed, actions } = this.pass(call.isWrite ? 'write' : 'read', call)
    if (call.isWrite) this.writes++
    this.#parts.note(describeCall(call))
    for (const action of actions) {
      const answer = await this.#before(action, call, request, life, wire)
      if (answer !== undefined) return answer
    }
    await this.#delay()
    const response = await this.#reach(wire, toOldView(request, call, life), life)
    this.#parts.note(`${describeCall(call)} -> ${response.status}`)
    passed.answered = { atMs: this.#parts.clock.monotonicMs(), sent: this.writes }
    for (const action of actions) {
      const answer = await this.#after(action, request, wire)
      if (answer !== undefined) return answer
    }
    await this.#delay()
    await life.goingOn()
    return response
  }

  async #reach(wire: Wire, request: WireRequest, life: Life): Promise<WireResponse> {
    this.inFlight++
    try {
      return await wire(request)
    } finally {
      this.inFlight--
      if (life.isOver) await never()
    }
  }

  async #before(
    action: Action,
    call: Call,
    request: WireRequest,
    life: Life,
    wire: Wire,
  ): Promise<WireResponse | undefined> {
    const { clock, crash, forestall, revision } = this.#parts
    switch (action.do) {
      case 'crash':
        if (action.when !== 'before') return undefined
        crash()
        return never()
      case 'lose':
        if (action.what === 'answer') return undefined
        throw new WireError('lost on the way', true)
      case 'refuse': {
        const { refusal } = action
        const untilMs = clock.monotonicMs() + refusal.forMs
        this.#refusing.push({ ...refusal, untilMs, like: `${call.verb} ${call.kind}` })
        return toApiError(refusal.code)
      }
      case 'forestall':
        if (call.verb === 'create') await forestall(call, request.body ?? '', action.as)
        return undefined
      case 'delay':
        return this.#late(action, request, wire)
      case 'freeze':
        life.freeze()
        clock.setTimer(action.forMs, () => life.thaw())
        await life.goingOn()
        return undefined
      case 'repeat':
        if (action.copyAfterMs > 0) return undefined
        await this.#reach(wire, request, life)
        return undefined
      case 'rewind':
        crash({ revision: revision() - action.revisions })
        return never()
      default:
        return undefined
    }
  }

  /** Its sender may give up meanwhile; it arrives all the same. */
  async #late(
    { what, forMs }: Extract<Action, { do: 'delay' }>,
    request: WireRequest,
    wire: Wire,
  ): Promise<WireResponse> {
    const { clock } = this.#parts
    const underWay = () => new Promise<void>(resolve => clock.setTimer(forMs, resolve))
    const { signal, ...rest } = request
    const exchange = async () => {
      if (what === 'request') await underWay()
      const response = await wire({ ...rest, signal: new AbortController().signal })
      if (what === 'answer') await underWay()
      return response
    }
    const givenUp = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(new WireError('given up', true)), { once: true })
    })
    return Promise.race([exchange(), givenUp])
  }

  async #after(action: Action, request: WireRequest, wire: Wire): Promise<WireResponse | undefined> {
    switch (action.do) {
      case 'crash':
        if (action.when === 'before') return undefined
        if (action.when === 'answered') {
          setImmediate(() => this.#parts.crash())
          return undefined
        }
        this.#parts.crash()
        return never()
      case 'lose':
        if (action.what === 'request') return undefined
        throw new WireError('the answer was lost', true)
      case 'repeat':
        if (action.copyAfterMs === 0) return undefined
        this.#parts.clock.setTimer(action.copyAfterMs, () => {
          const { signal: _, ...copy } = request
          void wire({ ...copy, signal: new AbortController().signal }).catch(() => {})
        })
        return undefined
      default:
        return undefined
    }
  }

  #refusal({ verb, kind }: Call): WireResponse | undefined {
    const nowMs = this.#parts.clock.monotonicMs()
    this.#refusing = this.#refusing.filter(({ untilMs }) => untilMs > nowMs)
    const found = this.#refusing.find(({ scope, like }) => scope === 'all' || like === `${verb} ${kind}`)
    return found && toApiError(found.code)
  }

  /** Counts the point and answers what the plan has for it. */
  pass(at: Point['at'], { verb, kind, namespace, name }: Omit<Call, 'isWrite'>): { passed: Passed; actions: Action[] } {
    const { actor, plan, revision, clock } = this.#parts
    const nth = this.#count(at)
    const nthOfKind = this.#count(`${at} ${kind}`)
    const place = `${namespace}/${name}`
    const atMs = clock.monotonicMs()
    const passed: Passed = { at, actor, nth, verb, kind, name: place, revision: revision(), atMs, sent: this.writes }
    this.passed.push(passed)
    if (this.#isCalm) return { passed, actions: [] }
    const faults = plan.faults.filter(({ point }) => {
      if (point.at !== at || point.actor !== actor) return false
      return point.kind === undefined ? point.nth === nth : point.kind === kind && point.nth === nthOfKind
    })
    for (const { action } of faults) this.#parts.note(`fault: ${JSON.stringify(action)}`)
    return { passed, actions: faults.map(({ action }) => action) }
  }

  #count(what: string): number {
    const count = (this.#counts.get(what) ?? 0) + 1
    this.#counts.set(what, count)
    return count
  }

  async #delay(): Promise<void> {
    const { random } = this.#parts
    if (random === undefined) return
    for (let turns = Math.floor(random() * 4); turns > 0; turns--) await new Promise(resolve => setImmediate(resolve))
  }

  // --- streams ---

  async #watch(request: WireRequest, call: Call, life: Life, wire: Wire): Promise<WireResponse> {
    const stop = new AbortController()
    const abort = () => stop.abort(ended)
    request.signal.addEventListener('abort', abort, { once: true })
    life.end.addEventListener('abort', abort, { once: true })
    // The process may have ended in this very turn, by another of its requests.
    if (life.isOver) abort()
    const response = await this.#reach(wire, { ...request, signal: stop.signal }, life)
    if (typeof response.body === 'string') return response
    const stream = new Stream(call.kind, life, () => {
      this.#streams.delete(stream)
      stop.abort(ended)
    })
    this.#streams.add(stream)
    const onStop = () => {
      this.#streams.delete(stream)
      stream.end()
    }
    stop.signal.addEventListener('abort', onStop, { once: true })
    if (stop.signal.aborted) onStop()
    void this.#pump(response.body, stream, call)
    return { ...response, body: stream.read() }
  }

  async #pump(body: AsyncIterable<Uint8Array>, stream: Stream, call: Call): Promise<void> {
    let rest = ''
    try {
      for await (const chunk of body) {
        const lines = (rest + Buffer.from(chunk).toString('utf8')).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) this.#arrive(line, stream, call)
      }
    } catch {
      // Aborted from this side: the stream has ended already.
    }
    stream.end()
  }

  #arrive(line: string, stream: Stream, call: Call): void {
    const { clock } = this.#parts
    const { type, object } = JSON.parse(line) as { type: string; object: { metadata?: { name?: string } } }
    if (type === 'BOOKMARK') return stream.push(line, this.#isHeld(stream.kind))
    const name = object.metadata?.name ?? ''
    const { actions } = this.pass('event', { ...call, verb: 'watch', name: `${type} ${name}` })
    this.#parts.note(`event ${call.kind} ${type} ${name}`)
    for (const action of actions) {
      switch (action.do) {
        case 'drop':
          stream.isDeafened = true
          clock.setTimer(action.relistAfterMs, () => this.#relist(stream.kind))
          return
        case 'double':
          stream.push(line, this.#isHeld(stream.kind))
          stream.onceMore = line
          break
        case 'hold': {
          const kinds = action.kinds === 'all' ? ['all'] : action.kinds
          for (const kind of kinds) this.#heldUntilMs.set(kind, clock.monotonicMs() + action.forMs)
          clock.setTimer(action.forMs, () => this.#release())
          break
        }
        case 'cut':
          return stream.cut(action.how, line)
        case 'crash':
          this.#parts.crash()
          return
        case 'rewind':
          this.#parts.crash({ revision: this.#parts.revision() - action.revisions })
          this.#heldUntilMs.set('all', clock.monotonicMs() + action.forMs)
          clock.setTimer(action.forMs, () => this.#release())
          return
        default:
          break
      }
    }
    stream.push(line, this.#isHeld(stream.kind))
    const key = `${call.kind} ${JSON.stringify(object.metadata?.name)}`
    if (type === 'DELETED') this.shown.delete(key)
    else if (!stream.isHolding) this.shown.set(key, object)
  }

  #isHeld(kind: string): boolean {
    const nowMs = this.#parts.clock.monotonicMs()
    return [kind, 'all'].some(held => (this.#heldUntilMs.get(held) ?? 0) > nowMs)
  }

  #release(): void {
    for (const stream of this.#streams) if (!this.#isHeld(stream.kind)) stream.release()
  }

  #relist(kind: string): void {
    for (const stream of this.#streams) if (stream.kind === kind) stream.cut('gone', '')
  }
}

/** Given with every end, for without it Node makes an error of its own, which takes long. */
const ended = new WireError('the stream ended', true)

const gone = JSON.stringify({
  type: 'ERROR',
  object: { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Expired', message: 'too old', code: 410 },
})

class Stream {
  readonly kind: string
  readonly #life: Life
  readonly #onEnd: () => void
  readonly #ready: string[] = []
  readonly #held: string[] = []
  #wake = () => {}
  #state: 'open' | 'silent' | 'broken' | 'ended' = 'open'
  isDeafened = false
  onceMore: string | undefined

  constructor(kind: string, life: Life, onEnd: () => void) {
    this.kind = kind
    this.#life = life
    this.#onEnd = onEnd
  }

  get isHolding(): boolean {
    return this.#held.length > 0
  }

  push(line: string, isHeld: boolean): void {
    if (this.#state !== 'open') return
    if (isHeld || this.#held.length > 0) {
      this.#held.push(line)
      return
    }
    this.#ready.push(`${line}\n`)
    if (this.onceMore !== undefined && this.onceMore !== line) {
      this.#ready.push(`${this.onceMore}\n`)
      this.onceMore = undefined
    }
    this.#wake()
  }

  release(): void {
    for (const line of this.#held.splice(0)) this.push(line, false)
  }

  cut(how: 'end' | 'inside' | 'gone' | 'silence', line: string): void {
    if (this.#state !== 'open') return
    if (how === 'gone') this.#ready.push(`${gone}\n`)
    if (how === 'inside') this.#ready.push(line.slice(0, line.length / 2))
    this.#held.length = 0
    this.#state = how === 'silence' ? 'silent' : how === 'inside' ? 'broken' : 'ended'
    this.#wake()
  }

  heal(): void {
    this.release()
    if (this.#state === 'silent') this.#state = 'broken'
    if (this.isDeafened) this.cut('gone', '')
    this.#wake()
  }

  end(): void {
    if (this.#state === 'open' || this.#state === 'silent') this.#state = 'ended'
    this.#wake()
  }

  async *read(): AsyncGenerator<Uint8Array, void, void> {
    try {
      for (;;) {
        await this.#life.goingOn()
        const line = this.#ready.shift()
        if (line !== undefined) {
          yield Buffer.from(line)
          continue
        }
        if (this.#state === 'ended') return
        if (this.#state === 'broken') throw new WireError('the stream broke', true)
        await new Promise<void>(resolve => {
          this.#wake = resolve
        })
      }
    } finally {
      this.#onEnd()
    }
  }
}

/** The reflectors of a process that was born into the past list what was. */
function toOldView(request: WireRequest, { verb, kind }: Call, life: Life): WireRequest {
  if (verb !== 'list' || request.path.includes('labelSelector')) return request
  const view = life.firstView(kind)
  if (view === undefined) return request
  const mark = request.path.includes('?') ? '&' : '?'
  return { ...request, path: `${request.path}${mark}resourceVersion=${view.revision}&resourceVersionMatch=Exact` }
}

const reasons = {
  403: 'Forbidden',
  409: 'Conflict',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
} as const

export function toApiError(code: Refusing['code']): WireResponse {
  const body = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: reasons[code], message: 'weather', code }
  return {
    status: code,
    headers: { 'content-type': 'application/json', ...(code === 429 && { 'retry-after': '2' }) },
    body: JSON.stringify(body),
  }
}
