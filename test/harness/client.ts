// The API as a function: requests go through the real handler, watches are read event by event.

import type { Handler } from '../../src/apiserver/edge/handler.ts'
import type { WireRequest } from '../../src/apiserver/edge/wire.ts'
import type { KubeObject } from '../../src/apiserver/object.ts'
import { parseJSON } from '../../src/json.ts'

/** An object, a list or a Status: a test knows which one it asked for. */
export interface Body extends KubeObject {
  readonly items: readonly KubeObject[]
  readonly reason: string
  readonly message: string
}

export interface Reply {
  readonly code: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly text: string
  readonly body: Body
}

export interface Event {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: Body
}

export interface Watch {
  /** The next event, or undefined when the stream has ended. */
  next(): Promise<Event | undefined>
  /** So many events. */
  take(count: number): Promise<Event[]>
  /** Everything that has come and was not read yet. */
  arrived(): Event[]
  /** From now on nothing is taken off the wire, or again everything is. */
  stall(isStalled?: boolean): void
  stop(): void
}

export interface Client {
  request(method: string, path: string, body?: unknown, contentType?: string, headers?: HeaderMap): Promise<Reply>
  get(path: string): Promise<Reply>
  create(path: string, body: unknown): Promise<Reply>
  update(path: string, body: unknown): Promise<Reply>
  /** A merge patch, unless another language is named. */
  patch(path: string, body: unknown, language?: 'merge' | 'json' | 'strategic'): Promise<Reply>
  apply(path: string, body: unknown, manager?: string): Promise<Reply>
  delete(path: string, options?: object): Promise<Reply>
  /** A stalled client takes nothing off the wire from the start. */
  watch(path: string, pace?: 'reading' | 'stalled'): Promise<Watch>
}

export type HeaderMap = Readonly<Record<string, readonly string[]>>

export interface Credentials {
  readonly peerCertificate?: Buffer
  readonly headers?: HeaderMap
}

const languages = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const

export function createClient(handler: Handler, { peerCertificate, headers: own = {} }: Credentials): Client {
  function wire(
    method: string,
    target: string,
    body: unknown,
    contentType: string,
    headers: HeaderMap = {},
  ): WireRequest {
    const bytes = body === undefined ? Buffer.alloc(0) : Buffer.isBuffer(body) ? body : Buffer.from(toText(body))
    return {
      method,
      target,
      headers: { 'user-agent': ['test'], 'content-type': [contentType], ...own, ...headers },
      body: bytes,
      peerCertificate,
      signal: new AbortController().signal,
    }
  }

  async function request(
    method: string,
    path: string,
    body?: unknown,
    contentType = 'application/json',
    headers: HeaderMap = {},
  ): Promise<Reply> {
    const answer = await handler(wire(method, path, body, contentType, headers))
    if (!Buffer.isBuffer(answer.body)) throw new Error(`${method} ${path} answered with a stream`)
    const text = answer.body.toString('utf8')
    return { code: answer.code, headers: answer.headers, text, body: readBody(text) }
  }

  return {
    request,
    get: path => request('GET', path),
    create: (path, body) => request('POST', path, body),
    update: (path, body) => request('PUT', path, body),
    patch: (path, body, language = 'merge') => request('PATCH', path, body, languages[language]),
    apply: (path, body, manager = 'tester') =>
      request('PATCH', withQuery(path, `fieldManager=${manager}`), body, 'application/apply-patch+yaml'),
    delete: (path, options) => request('DELETE', path, options),
    async watch(path, pace = 'reading') {
      const answer = await handler(wire('GET', withQuery(path, 'watch=true'), undefined, 'application/json'))
      if (Buffer.isBuffer(answer.body)) throw new Error(`the watch of ${path} was refused: ${answer.body.toString()}`)
      return readWatch(answer.body.open, pace === 'stalled')
    },
  }
}

/** The body of an answer that must be a success; for the steps that a test is not about. */
export function ok(reply: Reply): Body {
  if (reply.code < 200 || reply.code > 299) throw new Error(`expected success, got ${reply.code}: ${reply.text}`)
  return reply.body
}

type Open = Extract<Awaited<ReturnType<Handler>>['body'], { open: unknown }>['open']

function readWatch(open: Open, startsStalled: boolean): Watch {
  const events: Event[] = []
  const waiting: (() => void)[] = []
  let text = ''
  let pendingBytes = 0
  let isStalled = startsStalled
  let hasEnded = false
  const wake = () => {
    for (const resolve of waiting.splice(0)) resolve()
  }
  const close = open({
    write(bytes) {
      if (isStalled) pendingBytes += bytes.length
      text += bytes.toString('utf8')
      const lines = text.split('\n')
      text = lines.pop() ?? ''
      for (const line of lines) events.push(parseJSON(line).value as unknown as Event)
      wake()
    },
    get pendingBytes() {
      return pendingBytes
    },
    end() {
      hasEnded = true
      wake()
    },
  })
  async function next(): Promise<Event | undefined> {
    while (events.length === 0 && !hasEnded) await new Promise<void>(resolve => waiting.push(resolve))
    return events.shift()
  }
  return {
    next,
    async take(count) {
      const taken: Event[] = []
      while (taken.length < count) {
        const event = await next()
        if (event === undefined) throw new Error(`the watch ended after ${taken.length} of ${count} events`)
        taken.push(event)
      }
      return taken
    },
    arrived: () => events.splice(0),
    stall(value = true) {
      isStalled = value
      if (!value) pendingBytes = 0
    },
    stop: close,
  }
}

function withQuery(path: string, query: string): string {
  return path + (path.includes('?') ? '&' : '?') + query
}

function toText(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body)
}

function readBody(text: string): Body {
  try {
    return parseJSON(text).value as unknown as Body
  } catch {
    // Documents in other forms are compared as text.
    return {} as Body
  }
}
