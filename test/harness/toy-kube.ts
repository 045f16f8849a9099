// A Kubernetes API of one kind that misbehaves on command: it answers HTTP requests, remembers every revision, and
// cuts, stalls, repeats, compacts and goes back in time when the test asks for it.

import { type Wire, WireError, type WireRequest, type WireResponse } from '../../src/kube/wire.ts'

export interface Toy {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string }
  readonly value: number
}

interface Happening {
  readonly revision: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: Toy
}

/** What happens to a request instead of its answer. */
export type Mishap =
  | 'refused'
  | 'silent'
  | 'broken'
  | 'throttled'
  | 'gone'
  | 'garbage'
  | 'outdated'
  | 'missing'
  | 'forbidden'

interface Stream {
  send(text: string): void
  end(): void
  cut(): void
  isStalled: boolean
  /** Sent when the stall ends; a stream that is given up takes it along. */
  held: string[]
  sent: string[]
}

export class ToyKube {
  revision = 1
  #state = new Map<string, Toy>()
  readonly #history: Happening[] = []
  readonly #states = new Map<number, ReadonlyMap<string, Toy>>([[1, new Map()]])
  readonly #streams = new Set<Stream>()
  #compacted = 0
  #uids = 0
  /** One for each request to come; then everything is well. */
  readonly mishaps: Mishap[] = []
  /** What was asked for. */
  readonly requests: string[] = []

  write(name: string, value: number): void {
    this.revision++
    const old = this.#state.get(name)
    const uid = old?.metadata.uid ?? `uid-${++this.#uids}`
    const object: Toy = { metadata: { name, uid, resourceVersion: String(this.revision) }, value }
    this.#state = new Map(this.#state).set(name, object)
    this.#happen(old === undefined ? 'ADDED' : 'MODIFIED', object)
  }

  remove(name: string): void {
    const old = this.#state.get(name)
    if (old === undefined) return
    this.revision++
    this.#state = new Map(this.#state)
    this.#state.delete(name)
    this.#happen('DELETED', { ...old, metadata: { ...old.metadata, resourceVersion: String(this.revision) } })
  }

  /** Another kind was written. */
  elsewhere(): void {
    this.revision++
    this.#states.set(this.revision, this.#state)
  }

  /** Forgets all history up to now. */
  compact(): void {
    this.#compacted = this.revision
  }

  /** As a backup put back: the world and its revisions as they were. */
  restore(revision: number): void {
    this.#state = new Map(this.stateAt(revision))
    this.revision = revision
    this.#history.splice(0, this.#history.length, ...this.#history.filter(one => one.revision <= revision))
    for (const later of [...this.#states.keys()].filter(key => key > revision)) this.#states.delete(later)
    this.#compacted = 0
    this.cut()
  }

  stateAt(revision: number): ReadonlyMap<string, Toy> {
    const state = this.#states.get(revision)
    if (state === undefined) throw new Error(`there never was a revision ${revision}`)
    return state
  }

  get streams(): number {
    return this.#streams.size
  }

  bookmark(revision = this.revision): void {
    const object = { kind: 'Toy', metadata: { resourceVersion: String(revision) } }
    this.#sendAll(line('BOOKMARK', object))
  }

  /** Ends every stream in good order. */
  end(): void {
    for (const stream of this.#streams) stream.end()
  }

  cut(): void {
    for (const stream of this.#streams) stream.cut()
  }

  /** Half an event, then nothing more. */
  cutInside(): void {
    for (const stream of this.#streams) {
      stream.send('{"type":"ADDED","object":{"metadata":{"name":"ha')
      stream.cut()
    }
  }

  stall(): void {
    for (const stream of this.#streams) stream.isStalled = true
  }

  resume(): void {
    for (const stream of this.#streams) {
      stream.isStalled = false
      for (const text of stream.held.splice(0)) stream.send(text)
    }
  }

  garbage(): void {
    this.#sendAll('{"type":"MODIFIED","object":{"metadata"\n')
  }

  /** 410 inside the stream. */
  expire(): void {
    this.#sendAll(line('ERROR', status(410, 'Expired')))
    this.end()
  }

  /** So many of the last events once more, but for the very last ones. */
  repeat(count: number, but = 0): void {
    for (const stream of this.#streams) {
      if (stream.isStalled) continue
      const { length } = stream.sent
      for (const text of stream.sent.slice(Math.max(0, length - but - count), Math.max(0, length - but)))
        stream.send(text)
    }
  }

  readonly wire: Wire = async request => {
    this.requests.push(request.path)
    const mishap = this.mishaps.shift()
    if (mishap === 'refused') throw new WireError('refused', false)
    if (mishap === 'silent') return silence(request.signal)
    if (mishap === 'broken') return answer(500, status(500, 'InternalError'))
    if (mishap === 'throttled') return answer(429, status(429, 'TooManyRequests'), { 'retry-after': '3' })
    if (mishap === 'forbidden') return answer(403, status(403, 'Forbidden'))
    if (mishap === 'gone') return answer(410, status(410, 'Expired'))
    if (mishap === 'missing') return { status: 404, headers: {}, body: '404 page not found\n' }
    if (mishap === 'garbage')
      return { status: 200, headers: {}, body: request.isStream ? chunks('{"typ\n') : '{"items":[' }
    const { searchParams } = new URL(request.path, 'http://toys')
    if (searchParams.get('watch') === 'true') return this.#watch(request, Number(searchParams.get('resourceVersion')))
    return this.#list(searchParams, mishap === 'outdated')
  }

  #list(query: URLSearchParams, isOutdated: boolean): WireResponse {
    const token = query.get('continue')
    const from = token === null ? undefined : (JSON.parse(token) as { revision: number; after: string })
    const revision = from?.revision ?? (isOutdated ? Math.max(1, this.revision - 3) : this.revision)
    if (from !== undefined && from.revision < this.#compacted) return answer(410, status(410, 'Expired'))
    const names = [...this.stateAt(revision).keys()].toSorted().filter(name => from === undefined || name > from.after)
    const limit = Number(query.get('limit') ?? names.length)
    const page = names.slice(0, limit)
    const more = names.length > limit ? JSON.stringify({ revision, after: page.at(-1) }) : undefined
    const items = page.map(name => this.stateAt(revision).get(name))
    return answer(200, { metadata: { resourceVersion: String(revision), continue: more }, items })
  }

  #watch(request: WireRequest, after: number): WireResponse {
    if (after < this.#compacted) return answer(410, status(410, 'Expired'))
    const pending: string[] = this.#history.filter(one => one.revision > after).map(toLine)
    let wake = () => {}
    let hasEnded = false
    let isCut = false
    const stream: Stream = {
      isStalled: false,
      held: [],
      sent: [...pending],
      send(text) {
        if (hasEnded || isCut) return
        if (stream.isStalled) stream.held.push(text)
        else pending.push(text)
        wake()
      },
      end: () => {
        hasEnded = true
        wake()
      },
      cut: () => {
        isCut = true
        wake()
      },
    }
    const streams = this.#streams
    streams.add(stream)
    async function* read(): AsyncGenerator<Uint8Array, void, void> {
      const onAbort = () => wake()
      request.signal.addEventListener('abort', onAbort)
      try {
        for (;;) {
          if (request.signal.aborted) throw new WireError('aborted', true)
          const text = pending.shift()
          if (text !== undefined) {
            // Chunks end anywhere, also inside a line.
            const bytes = Buffer.from(text)
            const middle = Math.floor(bytes.length / 2)
            yield bytes.subarray(0, middle)
            yield bytes.subarray(middle)
            continue
          }
          if (isCut) throw new WireError('reset', true)
          if (hasEnded) return
          await new Promise<void>(resolve => {
            wake = resolve
          })
        }
      } finally {
        request.signal.removeEventListener('abort', onAbort)
        streams.delete(stream)
      }
    }
    return { status: 200, headers: {}, body: read() }
  }

  #happen(type: Happening['type'], object: Toy): void {
    const happening = { revision: this.revision, type, object }
    this.#history.push(happening)
    this.#states.set(this.revision, this.#state)
    this.#sendAll(toLine(happening))
  }

  #sendAll(text: string): void {
    for (const stream of this.#streams) {
      stream.sent.push(text)
      stream.send(text)
    }
  }
}

function toLine({ type, object }: Happening): string {
  return line(type, object)
}

function line(type: string, object: object): string {
  return `${JSON.stringify({ type, object })}\n`
}

function status(code: number, reason: string): object {
  return { kind: 'Status', status: 'Failure', code, reason, message: 'toys are like that' }
}

function answer(code: number, body: object, headers: Readonly<Record<string, string>> = {}): WireResponse {
  return { status: code, headers, body: JSON.stringify(body) }
}

async function* chunks(text: string): AsyncGenerator<Uint8Array, void, void> {
  yield Buffer.from(text)
}

function silence(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new WireError('aborted', true)), { once: true })
  })
}
