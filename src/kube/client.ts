// Requests by kind, answers by type. Each call is one request (a list: one per page) and nothing is retried by itself: the
// caller that decided on a write also decides what its refusal means. What does not succeed is an `ApiError` with a reason
// from a closed list; that an object is absent is a value where it is an ordinary answer (`get`, `delete`).
//
// Objects are answered without their `managedFields`. An update that lacks them leaves them as they are.
//
// I14: a patch or delete carries the uid and version it was decided on, given in its last argument.

import { apiVersionOf } from '../api/object.ts'
import { isRecord } from '../api/shape.ts'
import type { Clock } from '../runtime/clock.ts'
import { Cancelled } from '../runtime/retry-policy.ts'
import { ApiError, toApiError, toStreamError } from './api-error.ts'
import { parseBody, printBody, withoutManagers } from './body.ts'
import { readLines } from './lines.ts'
import type { ClientMetrics } from './metrics.ts'
import { type Kind, type KubeObject, nameOfKind, type ObjectRef, refOf } from './object.ts'
import { type Method, type Wire, WireError, type WireResponse } from './wire.ts'

export interface ListOptions {
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly signal?: AbortSignal
}

export interface ListResult<T> {
  readonly items: readonly T[]
  /** The version of the whole list: a watch from here misses nothing. */
  readonly resourceVersion: string
}

export interface Page<T> extends ListResult<T> {
  /** Where the next page begins; absent on the last one. */
  readonly continueAt?: string
}

export interface PageOptions extends ListOptions {
  readonly limit?: number
  readonly continueAt?: string
}

export interface WriteOptions {
  readonly signal?: AbortSignal
  /** Checked by the server, stored nowhere. */
  readonly isDryRun?: boolean
  /** The owner of the fields, where it is not the client's own name. */
  readonly fieldManager?: string
}

export interface PatchOptions extends WriteOptions {
  /** The version the patch was decided on; another one is a conflict. */
  readonly resourceVersion?: string
  /** The uid the patch was decided on; another one is a conflict. */
  readonly uid?: string
  readonly subresource?: 'status'
}

export interface ApplyOptions extends PatchOptions {
  /** Takes over fields that other field managers own. */
  readonly isForced?: boolean
}

export interface DeleteOptions extends WriteOptions {
  readonly uid?: string
  readonly resourceVersion?: string
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan'
  /** How long a pod may take to end; 0 lets it go without its node. */
  readonly graceSeconds?: number
}

export interface WatchOptions extends ListOptions {
  /** Events after this version. */
  readonly resourceVersion: string
  /** After so long the server ends the stream in good order. */
  readonly timeoutSeconds?: number
  /** Called for every chunk that arrives: the stream is alive. */
  readonly onBytes?: (count: number) => void
}

export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string }
  | { readonly type: 'ERROR'; readonly refusal: ApiError }

/** What became of a delete: nothing is left, or finalizers still hold it, or nothing was there. */
export type DeleteResult = 'deleted' | 'deleting' | 'absent'

export interface Client {
  get<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef, options?: { signal?: AbortSignal }): Promise<T | undefined>
  /** All pages, at one version. */
  list<T extends KubeObject>(kind: Kind<T>, options?: ListOptions): Promise<ListResult<T>>
  listPage<T extends KubeObject>(kind: Kind<T>, options?: PageOptions): Promise<Page<T>>
  create<T extends KubeObject>(kind: Kind<T>, object: T, options?: WriteOptions): Promise<T>
  /** Replaces the whole object under the version it carries. */
  update<T extends KubeObject>(kind: Kind<T>, object: T, options?: WriteOptions): Promise<T>
  mergePatch<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef, patch: object, options?: PatchOptions): Promise<T>
  /** Server-side apply: `object` holds the fields that are ours and no others. */
  apply<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef, object: object, options?: ApplyOptions): Promise<T>
  delete(kind: Kind, ref: ObjectRef, options?: DeleteOptions): Promise<DeleteResult>
  /** A delete of a pod that asks its disruption budget first; one that says no is a refusal, `TooManyRequests`. */
  evict(kind: Kind, ref: ObjectRef, options?: Pick<DeleteOptions, 'uid' | 'signal'>): Promise<void>
  /** Resolves when the server has accepted the watch. The stream ends in good order, or throws an `ApiError`. */
  watch<T extends KubeObject>(kind: Kind<T>, options: WatchOptions): Promise<AsyncIterableIterator<WatchEvent<T>>>
  /** The same client for one pass: its requests carry the id in a header, and are aborted by the signal. */
  withPass(pass: PassOfRequests): Client
}

/** What the requests of a pass have in common. */
export interface PassOfRequests {
  readonly id: string
  readonly signal: AbortSignal
  /** Called for every write that the server accepted. */
  readonly wrote?: (what: { readonly request: string; readonly body: string }) => void
}

export interface ClientOptions {
  readonly wire: Wire
  readonly clock: Clock
  /** The version in which a kind is served; rejects with `NotInstalled` when it is in none. */
  readonly versionOf: (kind: Kind, signal: AbortSignal | undefined) => Promise<string>
  /** Names this program to the server, and owns the fields it writes. */
  readonly name: string
  /** After so long a request is given up; a watch only until it is accepted. */
  readonly timeoutMs?: number
  readonly metrics?: ClientMetrics | undefined
}

/** What the reference client asks for; a page of large objects stays within some megabytes. */
const pageSize = 500

const requestTimeoutMs = 30_000

const json = 'application/json'

/** Where headers are logged on the way, this is how a request is matched with the log lines of its pass. */
const passHeader = 'x-mooring-pass'

interface Call {
  readonly method: Method
  readonly kind: Kind
  readonly namespace?: string | undefined
  readonly name?: string
  /** What is being created: said in messages, not part of the path. */
  readonly newName?: string | undefined
  readonly subresource?: string | undefined
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
  readonly contentType?: string
  readonly isStream?: boolean
  readonly isLarge?: boolean
  readonly signal?: AbortSignal | undefined
}

export function createClient(options: ClientOptions): Client {
  return new PassClient(options, undefined)
}

/** There is one per pass, so it is made of two references and nothing else. */
class PassClient implements Client {
  readonly #options: ClientOptions
  readonly #pass: PassOfRequests | undefined

  constructor(options: ClientOptions, pass: PassOfRequests | undefined) {
    this.#options = options
    this.#pass = pass
  }

  withPass(pass: PassOfRequests): Client {
    return new PassClient(this.#options, pass)
  }

  async get<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef, { signal }: { signal?: AbortSignal } = {}) {
    try {
      return await this.#sendForObject<T>({ method: 'GET', kind, ...ref, signal })
    } catch (error) {
      if (error instanceof ApiError && error.reason === 'NotFound') return undefined
      throw error
    }
  }

  async list<T extends KubeObject>(kind: Kind<T>, options: ListOptions = {}) {
    const items: T[] = []
    let page = await this.listPage(kind, { ...options, limit: pageSize })
    for (const item of page.items) items.push(item)
    while (page.continueAt !== undefined) {
      page = await this.listPage(kind, { ...options, limit: pageSize, continueAt: page.continueAt })
      for (const item of page.items) items.push(item)
    }
    return { items, resourceVersion: page.resourceVersion }
  }

  async listPage<T extends KubeObject>(kind: Kind<T>, options: PageOptions = {}): Promise<Page<T>> {
    const { namespace, limit, continueAt, signal } = options
    const call: Call = {
      method: 'GET',
      kind,
      namespace,
      query: { ...selection(options), limit: limit === undefined ? undefined : String(limit), continue: continueAt },
      isLarge: true,
      signal,
    }
    const body = readObject(await this.#send(call), call) as {
      items?: T[] | null
      metadata?: { resourceVersion?: string; continue?: string }
    }
    const next = body.metadata?.continue
    return {
      items: body.items ?? [],
      resourceVersion: body.metadata?.resourceVersion ?? '',
      ...(next !== undefined && next !== '' && { continueAt: next }),
    }
  }

  create<T extends KubeObject>(kind: Kind<T>, object: T, { signal, ...rest }: WriteOptions = {}) {
    return this.#sendForObject<T>({
      method: 'POST',
      kind,
      namespace: object.metadata.namespace,
      newName: object.metadata.name ?? object.metadata.generateName,
      query: writeQuery(rest, this.#options.name),
      body: object,
      signal,
    })
  }

  update<T extends KubeObject>(kind: Kind<T>, object: T, { signal, ...rest }: WriteOptions = {}) {
    const query = writeQuery(rest, this.#options.name)
    return this.#sendForObject<T>({ method: 'PUT', kind, ...refOf(object), query, body: object, signal })
  }

  mergePatch<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef, body: object, options: PatchOptions = {}) {
    return this.#patch(kind, ref, 'application/merge-patch+json', withPreconditions(body, options), options)
  }

  async apply<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef, object: object, options: ApplyOptions = {}) {
    const { name, versionOf } = this.#options
    const version = await versionOf(kind, options.signal ?? this.#pass?.signal)
    const apiVersion = kind.group === '' ? version : `${kind.group}/${version}`
    const body = withPreconditions({ apiVersion, kind: kind.kind, ...object, metadata: metaOf(object, ref) }, options)
    return this.#patch(kind, ref, 'application/apply-patch+yaml', body, options, {
      fieldManager: options.fieldManager ?? name,
      force: options.isForced === true ? 'true' : undefined,
    })
  }

  async delete(
    kind: Kind,
    ref: ObjectRef,
    { uid, resourceVersion, propagation, graceSeconds, signal, ...rest }: DeleteOptions = {},
  ): Promise<DeleteResult> {
    const call: Call = {
      method: 'DELETE',
      kind,
      ...ref,
      query: { dryRun: writeQuery(rest, this.#options.name).dryRun },
      body: {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        ...((uid !== undefined || resourceVersion !== undefined) && { preconditions: { uid, resourceVersion } }),
        ...(propagation !== undefined && { propagationPolicy: propagation }),
        ...(graceSeconds !== undefined && { gracePeriodSeconds: graceSeconds }),
      },
      signal,
    }
    try {
      const answer = readObject(await this.#send(call), call) as {
        kind?: string
        metadata?: { deletionTimestamp?: string }
      }
      return answer.kind !== 'Status' && answer.metadata?.deletionTimestamp != null ? 'deleting' : 'deleted'
    } catch (error) {
      if (error instanceof ApiError && error.reason === 'NotFound') return 'absent'
      throw error
    }
  }

  async evict(kind: Kind, ref: ObjectRef, { uid, signal }: Pick<DeleteOptions, 'uid' | 'signal'> = {}): Promise<void> {
    const body = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: ref,
      ...(uid !== undefined && { deleteOptions: { preconditions: { uid } } }),
    }
    await this.#send({ method: 'POST', kind, ...ref, subresource: 'eviction', body, signal })
  }

  async watch<T extends KubeObject>(kind: Kind<T>, options: WatchOptions) {
    const { namespace, resourceVersion, timeoutSeconds, signal, onBytes = () => {} } = options
    const call: Call = {
      method: 'GET',
      kind,
      namespace,
      query: {
        ...selection(options),
        watch: 'true',
        allowWatchBookmarks: 'true',
        resourceVersion,
        timeoutSeconds: timeoutSeconds === undefined ? undefined : String(timeoutSeconds),
      },
      isStream: true,
      signal,
    }
    const { body } = await this.#send(call)
    if (typeof body === 'string') throw unreadable(`watch ${nameOfKind(kind)}`, 'the answer is no stream')
    return readEvents<T>(body, `watch ${nameOfKind(kind)}`, [signal, this.#pass?.signal], onBytes)
  }

  async #patch<T extends KubeObject>(
    kind: Kind<T>,
    ref: ObjectRef,
    contentType: string,
    body: unknown,
    { subresource, uid, signal, ...rest }: PatchOptions,
    more: Readonly<Record<string, string | undefined>> = {},
  ): Promise<T> {
    const query = { ...writeQuery(rest, this.#options.name), ...more }
    const call: Call = { method: 'PATCH', kind, ...ref, subresource, query, body, contentType, signal }
    try {
      return await this.#sendForObject<T>(call)
    } catch (error) {
      throw uid === undefined ? error : asUidConflict(error)
    }
  }

  async #sendForObject<T>(call: Call): Promise<T> {
    return readObject(await this.#send(call), call) as T
  }

  async #send(call: Call): Promise<WireResponse> {
    const { clock, metrics, versionOf } = this.#options
    const version = await versionOf(call.kind, call.signal ?? this.#pass?.signal)
    const path = pathOf(call, version)
    const what = describe(call)
    const startMs = clock.monotonicMs()
    const count = (code: number) => {
      metrics?.answered(verbOf(call), nameOfKind(call.kind), code, clock.monotonicMs() - startMs)
    }
    const body = call.body === undefined ? undefined : printBody(withType(call, version))
    const response = await exchange(this.#options, call, this.#pass, path, what, body).catch(error => {
      count(0)
      throw error
    })
    count(response.status)
    if (response.status >= 200 && response.status < 300) {
      if (call.method !== 'GET') this.#pass?.wrote?.({ request: `${call.method} ${path}`, body: body ?? '' })
      return response
    }
    throw toApiError({
      what,
      isWrite: call.method !== 'GET',
      code: response.status,
      status: typeof response.body === 'string' ? tryParse(response.body) : undefined,
      retryAfter: response.headers['retry-after'],
    })
  }
}

/** A new object that does not say its type gets that of its kind, in the version that is served here. */
function withType({ method, kind, body }: Call, version: string): unknown {
  if (method !== 'POST' || !isRecord(body) || body.apiVersion !== undefined) return body
  return { apiVersion: apiVersionOf({ group: kind.group, version }), kind: kind.kind, ...body }
}

async function exchange(
  options: ClientOptions,
  call: Call,
  pass: PassOfRequests | undefined,
  path: string,
  what: string,
  body: string | undefined,
): Promise<WireResponse> {
  const { wire, clock, name, timeoutMs = requestTimeoutMs } = options
  const signals = [call.signal, pass?.signal]
  refuseAborted(signals, what)
  const abort = new AbortController()
  const forward = (event: Event) => abort.abort((event.target as AbortSignal).reason)
  for (const signal of signals) signal?.addEventListener('abort', forward, { once: true })
  const cancelTimeout = clock.setTimer(timeoutMs, () => abort.abort(new Cancelled('deadline')))
  let isFollowed = false
  try {
    const response = await wire({
      method: call.method,
      path,
      headers: {
        accept: json,
        'user-agent': name,
        ...(pass !== undefined && { [passHeader]: pass.id }),
        ...(body !== undefined && { 'content-type': call.contentType ?? json }),
      },
      ...(body !== undefined && { body }),
      ...(call.isStream === true && { isStream: true }),
      ...(call.isLarge === true && { isLarge: true }),
      signal: abort.signal,
    })
    // A stream goes on under the caller's signals.
    isFollowed = call.isStream === true && typeof response.body !== 'string'
    return response
  } catch (error) {
    const isWrite = call.method !== 'GET'
    const mayHaveHappened = isWrite && !(error instanceof WireError && !error.mayHaveArrived)
    refuseAborted(signals, what, mayHaveHappened)
    const reason = mayHaveHappened ? 'UnknownOutcome' : 'Unreachable'
    const found = abort.signal.aborted ? `no answer within ${timeoutMs} ms` : 'no answer'
    throw new ApiError(`${what}: ${found}`, { reason, code: 0, mayHaveHappened }, { cause: error })
  } finally {
    cancelTimeout()
    if (!isFollowed) for (const signal of signals) signal?.removeEventListener('abort', forward)
  }
}

function refuseAborted(signals: readonly (AbortSignal | undefined)[], what: string, mayHaveHappened = false): void {
  for (const signal of signals) {
    if (!signal?.aborted) continue
    throw new ApiError(
      `${what}: cancelled`,
      { reason: 'Cancelled', code: 0, mayHaveHappened },
      { cause: signal.reason },
    )
  }
}

async function* readEvents<T extends KubeObject>(
  body: AsyncIterable<Uint8Array>,
  what: string,
  signals: readonly (AbortSignal | undefined)[],
  onBytes: (count: number) => void,
): AsyncGenerator<WatchEvent<T>, void, void> {
  try {
    for await (const line of readLines(body, onBytes)) yield toEvent<T>(line, what)
  } catch (error) {
    if (error instanceof ApiError) throw error
    refuseAborted(signals, what)
    if (error instanceof RangeError || error instanceof TypeError) throw unreadable(what, 'bad bytes', error)
    throw new ApiError(`${what}: the stream broke`, { reason: 'Unreachable', code: 0 }, { cause: error })
  }
}

function toEvent<T extends KubeObject>(line: string, what: string): WatchEvent<T> {
  const parsed = tryParse(line) as { type?: unknown; object?: T } | undefined
  const version = parsed?.object?.metadata?.resourceVersion
  switch (parsed?.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      if (parsed.object === undefined || version === undefined) break
      return { type: parsed.type, object: parsed.object }
    case 'BOOKMARK':
      if (version === undefined) break
      return { type: 'BOOKMARK', resourceVersion: version }
    case 'ERROR':
      return { type: 'ERROR', refusal: toStreamError(what, parsed.object) }
  }
  throw unreadable(what, 'an event cannot be read')
}

function pathOf({ kind, namespace, name, subresource, query = {} }: Call, version: string): string {
  const parts = kind.group === '' ? ['api', version] : ['apis', kind.group, version]
  if (kind.namespaced && namespace !== undefined && namespace !== '') parts.push('namespaces', namespace)
  parts.push(kind.plural)
  if (name !== undefined) parts.push(name)
  if (subresource !== undefined) parts.push(subresource)
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) if (value !== undefined) search.set(key, value)
  const text = search.toString()
  return `/${parts.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`
}

const verbs: Readonly<Record<Method, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

function verbOf({ method, name, isStream }: Call): string {
  if (isStream === true) return 'watch'
  return method === 'GET' && name === undefined ? 'list' : verbs[method]
}

function describe(call: Call): string {
  const { kind, namespace, name, newName, subresource } = call
  const place = [namespace, name ?? newName].filter(part => part !== undefined && part !== '').join('/')
  return [verbOf(call), subresource && `${subresource} of`, nameOfKind(kind), place].filter(Boolean).join(' ')
}

function selection({ labelSelector, fieldSelector }: ListOptions) {
  return { labelSelector, fieldSelector }
}

function writeQuery({ isDryRun, fieldManager }: WriteOptions, clientName: string) {
  return { dryRun: isDryRun === true ? 'All' : undefined, fieldManager: fieldManager ?? clientName }
}

function withPreconditions(body: object, { uid, resourceVersion }: PatchOptions): object {
  if (uid === undefined && resourceVersion === undefined) return body
  const metadata = (body as { metadata?: object }).metadata
  return {
    ...body,
    metadata: {
      ...metadata,
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    },
  }
}

/** To the server a patch with another uid is an attempt to change it, which is invalid; here it is a conflict. */
function asUidConflict(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.reason !== 'Invalid') return error
  if (!error.causes.some(cause => cause.field === 'metadata.uid')) return error
  return new ApiError(error.message, { reason: 'Conflict', code: 409, causes: error.causes }, { cause: error })
}

function metaOf(object: object, { name, namespace }: ObjectRef): object {
  const metadata = (object as { metadata?: object }).metadata
  return { ...metadata, name, ...(namespace !== undefined && { namespace }) }
}

function readObject(response: WireResponse, call: Call): unknown {
  const value = typeof response.body === 'string' ? tryParse(response.body) : undefined
  if (typeof value === 'object' && value !== null) return value
  throw unreadable(describe(call), 'the answer is no JSON object', undefined, call.method !== 'GET')
}

function tryParse(text: string): unknown {
  try {
    return parseBody(withoutManagers(text))
  } catch {
    return undefined
  }
}

function unreadable(what: string, found: string, cause?: unknown, mayHaveHappened = false): ApiError {
  return new ApiError(`${what}: ${found}`, { reason: 'Unreadable', code: 0, mayHaveHappened }, { cause })
}
