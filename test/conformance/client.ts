// A plain Kubernetes client: one request is one exchange, the answer is what the server sent, and a watch is the lines
// it sent. No retries, no caches, no knowledge of kinds; a test that has to wait uses `eventually`.

import { Agent, type Dispatcher, request } from 'undici'
import { type Access, readKubeconfig } from '../../scripts/real/kubeconfig.ts'

export type Verb = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD' | 'OPTIONS'

/** What tests look at in an object, a list, a table or a Status; the cast to it happens once, where JSON is parsed. */
export interface Body {
  apiVersion: string
  kind: string
  metadata: Meta
  spec: Record<string, unknown>
  data: Record<string, string>
  items: Body[]
  /** Of a Table. */
  columnDefinitions: { name: string; type: string; format: string; description: string; priority: number }[]
  rows: { cells: unknown[]; object: Body }[]
  /** Of a Status. */
  message: string
  reason: string
  code: number
  details: {
    name?: string
    group?: string
    kind?: string
    uid?: string
    retryAfterSeconds?: number
    causes?: { reason?: string; message?: string; field?: string }[]
  }
  status: unknown
  [field: string]: unknown
}

export interface Meta {
  name: string
  namespace: string
  uid: string
  generateName: string
  resourceVersion: string
  generation: number
  creationTimestamp: string
  deletionTimestamp: string
  deletionGracePeriodSeconds: number
  labels: Record<string, string>
  annotations: Record<string, string>
  finalizers: string[]
  ownerReferences: Record<string, unknown>[]
  managedFields: ManagedFields[]
  /** Of a list. */
  continue: string
  remainingItemCount: number
  [field: string]: unknown
}

export interface ManagedFields {
  manager: string
  operation: string
  apiVersion: string
  time: string
  fieldsType: string
  fieldsV1: Record<string, unknown>
  subresource: string
}

export interface Answer {
  readonly code: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly text: string
  readonly body: Body
  /** The texts of all `Warning` headers. */
  readonly warnings: string[]
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: Body
}

export interface RequestOptions {
  readonly body?: unknown
  readonly contentType?: string
  readonly accept?: string
  readonly headers?: Record<string, string | string[]>
}

export const jsonPatch = 'application/json-patch+json'
export const mergePatch = 'application/merge-patch+json'
export const strategicPatch = 'application/strategic-merge-patch+json'
export const applyPatch = 'application/apply-patch+yaml'
export const asTable = 'application/json;as=Table;v=v1;g=meta.k8s.io'
export const asPartialMetadata = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'
export const asPartialMetadataList = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'

const patienceMs = 20_000

export class Client {
  readonly server: string
  readonly #dispatcher: Dispatcher
  /** A connection without a client certificate, which would authenticate the client before any header is read. */
  readonly #anonymous: Dispatcher
  readonly #headers: Record<string, string | string[]>

  constructor(
    server: string,
    dispatcher: Dispatcher,
    anonymous: Dispatcher,
    headers: Record<string, string | string[]>,
  ) {
    this.server = server
    this.#dispatcher = dispatcher
    this.#anonymous = anonymous
    this.#headers = headers
  }

  /** The same server as the user of a token sees it; without a token, as an anonymous user. */
  withToken(token: string | undefined): Client {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    return new Client(this.server, this.#anonymous, this.#anonymous, headers)
  }

  impersonating(user: string, groups: readonly string[] = []): Client {
    const headers: Record<string, string | string[]> = { ...this.#headers, 'impersonate-user': user }
    if (groups.length > 0) headers['impersonate-group'] = [...groups]
    return new Client(this.server, this.#dispatcher, this.#anonymous, headers)
  }

  async request(method: Verb, path: string, options: RequestOptions = {}): Promise<Answer> {
    const headers: Record<string, string | string[]> = { ...this.#headers, ...options.headers }
    if (options.accept !== undefined) headers.accept = options.accept
    if (options.body !== undefined) headers['content-type'] = options.contentType ?? 'application/json'
    const response = await request(this.server + path, {
      method,
      headers,
      body: toBytes(options.body),
      dispatcher: this.#dispatcher,
    })
    const text = await response.body.text()
    return {
      code: response.statusCode,
      headers: response.headers,
      text,
      body: parsed(text),
      warnings: warningTexts(response.headers.warning),
    }
  }

  get(path: string, options: RequestOptions = {}): Promise<Answer> {
    return this.request('GET', path, options)
  }

  create(path: string, body: unknown, options: RequestOptions = {}): Promise<Answer> {
    return this.request('POST', path, { ...options, body })
  }

  update(path: string, body: unknown, options: RequestOptions = {}): Promise<Answer> {
    return this.request('PUT', path, { ...options, body })
  }

  patch(path: string, contentType: string, body: unknown, options: RequestOptions = {}): Promise<Answer> {
    return this.request('PATCH', path, { ...options, contentType, body })
  }

  merge(path: string, body: unknown): Promise<Answer> {
    return this.patch(path, mergePatch, body)
  }

  apply(path: string, manager: string, body: unknown, query = ''): Promise<Answer> {
    return this.patch(`${path}?fieldManager=${manager}${query}`, applyPatch, body)
  }

  delete(path: string, body?: unknown): Promise<Answer> {
    return this.request('DELETE', path, body === undefined ? {} : { body })
  }

  /** Opens a watch; `path` carries the query. Answers other than 200 are thrown as an error. */
  async watch(path: string, accept?: string): Promise<WatchStream> {
    const stop = new AbortController()
    const response = await request(`${this.server}${path}${path.includes('?') ? '&' : '?'}watch=true`, {
      headers: { ...this.#headers, ...(accept && { accept }) },
      dispatcher: this.#dispatcher,
      signal: stop.signal,
      bodyTimeout: 0,
    })
    if (response.statusCode !== 200) {
      throw new Error(`watch ${path}: ${response.statusCode} ${await response.body.text()}`)
    }
    return new WatchStream(response.body, () => stop.abort())
  }
}

export function connect(kubeconfig: string): Client {
  const access = readKubeconfig(kubeconfig)
  const { server, ca, token } = access
  const anonymous = dispatcherFor({ server, ...(ca && { ca }) })
  const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {}
  return new Client(server, dispatcherFor(access), anonymous, headers)
}

export function dispatcherFor(access: Access): Agent {
  return new Agent({
    connections: 128,
    headersTimeout: 60_000,
    connect: {
      ...(access.ca && { ca: access.ca }),
      ...(access.cert && { cert: access.cert }),
      ...(access.key && { key: access.key }),
    },
  })
}

export class WatchStream implements AsyncIterable<WatchEvent> {
  readonly #lines: AsyncIterator<WatchEvent>
  readonly #stop: () => void

  constructor(bytes: AsyncIterable<Buffer>, stop: () => void) {
    this.#lines = events(bytes)[Symbol.asyncIterator]()
    this.#stop = stop
  }

  /** The next event; complains when none comes for a long while or the server ends the watch. */
  async next(): Promise<WatchEvent> {
    const result = await this.#nextWithin(patienceMs)
    if (result.done) throw new Error('the server ended the watch')
    return result.value
  }

  /** The next event that is not a bookmark. */
  async nextChange(): Promise<WatchEvent> {
    for (;;) {
      const event = await this.next()
      if (event.type !== 'BOOKMARK') return event
    }
  }

  async take(count: number): Promise<WatchEvent[]> {
    const taken: WatchEvent[] = []
    while (taken.length < count) taken.push(await this.nextChange())
    return taken
  }

  /** Everything until the server ends the stream by itself. */
  async rest(): Promise<WatchEvent[]> {
    const taken: WatchEvent[] = []
    for (;;) {
      const result = await this.#nextWithin(patienceMs)
      if (result.done) return taken
      taken.push(result.value)
    }
  }

  close(): void {
    this.#stop()
  }

  [Symbol.asyncIterator](): AsyncIterator<WatchEvent> {
    return this.#lines
  }

  async #nextWithin(ms: number): Promise<IteratorResult<WatchEvent>> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, fail) => {
      timer = setTimeout(() => fail(new Error(`no watch event within ${ms / 1000} s`)), ms)
    })
    try {
      return await Promise.race([this.#lines.next(), late])
    } finally {
      clearTimeout(timer)
    }
  }
}

async function* events(bytes: AsyncIterable<Buffer>): AsyncGenerator<WatchEvent> {
  const decoder = new TextDecoder()
  let pending = ''
  try {
    for await (const chunk of bytes) {
      pending += decoder.decode(chunk, { stream: true })
      const lines = pending.split('\n')
      pending = lines.pop() ?? ''
      for (const line of lines) if (line !== '') yield JSON.parse(line) as WatchEvent
    }
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') return
    throw error
  }
  if (pending !== '') yield JSON.parse(pending) as WatchEvent
}

function toBytes(body: unknown): string | Buffer | null {
  if (body === undefined) return null
  if (typeof body === 'string' || Buffer.isBuffer(body)) return body
  return JSON.stringify(body)
}

function parsed(text: string): Body {
  try {
    return JSON.parse(text) as Body
  } catch {
    return {} as Body
  }
}

function warningTexts(header: string | string[] | undefined): string[] {
  const all = Array.isArray(header) ? header : header === undefined ? [] : [header]
  return all.flatMap(line => {
    const texts: string[] = []
    for (const match of line.matchAll(/299 \S+ ("(?:[^"\\]|\\.)*")/g))
      texts.push(JSON.parse(match[1] ?? '""') as string)
    return texts
  })
}
