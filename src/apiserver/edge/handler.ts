// The life of a request, top to bottom: authenticate, parse, authorize, check the limits, run the verb, encode the
// answer. Every refusal is thrown as a `StatusError` and becomes bytes here, in one place.

import type { AggregationProxy, Forwarding } from '../aggregation/proxy.ts'
import type { Authenticate } from '../authn/authenticate.ts'
import { impersonate } from '../authn/impersonate.ts'
import type { UserInfo } from '../authn/user.ts'
import { type Attributes, type Authorize, refuse } from '../authz/attributes.ts'
import type { Call, World } from '../call.ts'
import { quote } from '../faults.ts'
import type { Resource } from '../kinds/registry.ts'
import { negotiate, type Representation } from '../media.ts'
import { checkPathSegment } from '../names.ts'
import { type PathRequest, parseRequest, type ResourceRequest } from '../request.ts'
import {
  badRequest,
  internalError,
  methodNotAllowed,
  noSuchPath,
  pageNotFound,
  pageNotFoundReason,
  qualified,
  StatusError,
} from '../status.ts'
import { dispatch } from '../verbs/dispatch.ts'
import { type Audited, toAuditEvent } from './audit.ts'
import { compressed } from './compress.ts'
import type { InFlight } from './in-flight.ts'
import type { OwnFirst } from './own-first.ts'
import { present, toResponse } from './present.ts'
import { header, text, type WireRequest, type WireResponse } from './wire.ts'

export type Handler = (request: WireRequest) => Promise<WireResponse>

export interface HandlerParts {
  readonly world: World
  readonly authenticate: Authenticate
  readonly authorize: Authorize
  readonly inFlight: InFlight
  readonly ownFirst: OwnFirst
  /** Documents at fixed paths: discovery, OpenAPI, health, version. */
  readonly servePath: (request: PathRequest, wire: WireRequest, user: UserInfo) => Promise<WireResponse | undefined>
  /** Answers for group versions of other servers. */
  readonly proxy?: AggregationProxy
  /** Told of every answer, when it is ready to be sent. */
  readonly onAnswered?: (answered: Answered) => void
  /** Told of every request in the shape of Kubernetes' audit log. */
  readonly onAudit?: ((event: object) => void) | undefined
  /** Told of faults that are ours, not the client's. */
  readonly onInternalError: (error: unknown, what: string) => void
}

export interface Answered extends Audited {
  /** As rules name it; the method in lower case where no resource was asked for. */
  verb: string
  /** The plural of a kind that is served, with its group; empty when none was asked for. */
  resource: string
  code: number
  tookMs: number
}

export function createHandler(parts: HandlerParts): Handler {
  return async wire => {
    const startMs = performance.now()
    const receivedAt = parts.world.now()
    const answered: Answered = { verb: wire.method.toLowerCase(), resource: '', code: 0, tookMs: 0 }
    const auditID = header(wire, 'audit-id')?.slice(0, auditIDMax) ?? parts.world.randomUUID()
    const response = await compressed(wire, await answer(parts, wire, answered, auditID))
    answered.code = response.code
    answered.tookMs = performance.now() - startMs
    parts.onAnswered?.(answered)
    parts.onAudit?.(
      toAuditEvent(wire, answered, {
        auditID,
        code: response.code,
        receivedAt,
        answeredAt: parts.world.now(),
        isStream: !Buffer.isBuffer(response.body) || response.tunnel !== undefined,
      }),
    )
    return { ...response, headers: { ...response.headers, 'audit-id': auditID } }
  }
}

/** As kube-apiserver has it. */
const auditIDMax = 64

async function answer(
  parts: HandlerParts,
  wire: WireRequest,
  answered: Answered,
  auditID: string,
): Promise<WireResponse> {
  const warnings: string[] = []
  let form: Representation = plainJSON
  try {
    const request = parseRequest(wire.method, wire.target)
    answered.request = request
    refuseBadTimeout(request.query)
    const user = identify(parts, wire, answered)
    authorizeRequest(parts, user, request)
    const to = parts.proxy?.find(request)
    if (to !== undefined) return await forward(parts, { to, request, wire, user, auditID }, answered)
    if (!request.isResource) {
      const response = await parts.servePath(request, wire, user)
      if (response === undefined) throw unknownPath(parts.world, request.path)
      return response
    }
    const call = toCall(parts.world, request, wire, user, warnings)
    answered.verb = request.verb
    answered.resource = qualified(call.resource)
    form = negotiate(header(wire, 'accept'), request.query, { views: true, protobuf: !call.served.kind.isCustom })
    const run = () => parts.inFlight.run(request, user, () => serve(parts.world, call, form, answered))
    return withWarnings(isNewFromOutside(wire, call) ? await parts.ownFirst(user.username, run) : await run(), warnings)
  } catch (error) {
    return withWarnings(refusal(parts, wire, error, { ...form, view: undefined }), warnings)
  }
}

/** The controllers of this process do not wait for themselves. */
function isNewFromOutside(wire: WireRequest, { request, served }: Call): boolean {
  return wire.isOwn !== true && request.verb === 'create' && request.subresource === '' && served.kind.isCustom
}

const plainJSON: Representation = { encoding: 'json', view: undefined, pretty: false }

async function forward(
  { proxy, inFlight }: HandlerParts,
  forwarding: Forwarding,
  answered: Answered,
): Promise<WireResponse> {
  const { to, request, wire, user } = forwarding
  if (proxy === undefined) throw noSuchPath()
  // A label is a name that the other server gave, never one that a client made up.
  if (request.isResource && proxy.knows(to, request.plural)) {
    answered.verb = request.verb
    answered.resource = qualified(request)
  }
  const { verb } = request
  return inFlight.run({ verb, isUpgrade: wire.isUpgrade }, user, () => proxy.forward(forwarding))
}

async function serve(world: World, call: Call, form: Representation, audited: Audited): Promise<WireResponse> {
  const answer = await dispatch(call, world)
  if (answer.type === 'entry') audited.name = answer.entry.key.slice(answer.entry.key.lastIndexOf('/') + 1)
  return present(call, answer, form, world.now)
}

function identify({ authenticate, authorize }: HandlerParts, wire: WireRequest, audited: Audited): UserInfo {
  const user = authenticate({
    peerCertificate: wire.peerCertificate,
    authorization: wire.headers.authorization?.[0],
  })
  audited.user = user
  const acting = impersonate(user, wire.headers, authorize)
  if (acting !== user) audited.impersonated = acting
  return acting
}

function authorizeRequest({ authorize }: HandlerParts, user: UserInfo, request: ResourceRequest | PathRequest): void {
  const attributes = toAttributes(request)
  const decision = authorize(user, attributes)
  if (!decision.allowed) throw refuse(user, attributes, decision.reason)
}

function toAttributes(request: ResourceRequest | PathRequest): Attributes {
  if (!request.isResource) return { type: 'path', verb: request.verb, path: request.path }
  const { verb, group, version, plural, namespace } = request
  // What follows the subresource is its own affair: `portforward/8080` is `portforward` to every rule.
  const [subresource = ''] = request.subresource.split('/', 1)
  const name = request.name === '' ? selectedName(request) : request.name
  return { type: 'resource', verb, group, version, resource: plural, subresource, namespace, name }
}

/** A list or watch of one name is a question about that object: a rule that names it may allow it. */
function selectedName({ verb, query }: ResourceRequest): string {
  if (verb !== 'list' && verb !== 'watch') return ''
  for (const term of (query.get('fieldSelector') ?? '').split(',')) {
    const [field, name = '', ...rest] = term.split(/==?/)
    if (field === 'metadata.name' && rest.length === 0 && checkPathSegment(name).length === 0) return name
  }
  return ''
}

function toCall(world: World, request: ResourceRequest, wire: WireRequest, user: UserInfo, warnings: string[]): Call {
  const resource = world.registry.find(request.group, request.plural)
  const served = resource?.versions.get(request.version)
  if (resource === undefined || served === undefined) throw unknownKind(world, request)
  // A cluster-scoped kind has no objects inside a namespace. A namespace is authorised as one inside of itself.
  const isNamespace = request.plural === 'namespaces' && request.group === ''
  if (isNamespace && request.isInNamespace) throw noSuchPath()
  const scoped = isNamespace ? { ...request, namespace: '' } : request
  if (!resource.namespaced && scoped.namespace !== '') throw noSuchPath()
  refuseMisplaced(resource, scoped)
  if (served.kind.deprecationWarning !== undefined) warnings.push(served.kind.deprecationWarning)
  const [accept, contentType, userAgent] = ['accept', 'content-type', 'user-agent'].map(name => header(wire, name))
  return {
    request: scoped,
    resource,
    served,
    user,
    headers: {
      ...(accept !== undefined && { accept }),
      ...(contentType !== undefined && { contentType }),
      ...(userAgent !== undefined && { userAgent }),
    },
    body: wire.body,
    warn: text => warnings.push(text),
    get signal() {
      return wire.signal
    },
  }
}

/** Answers come long before any timeout, but one that cannot be parsed is still refused. */
function refuseBadTimeout(query: URLSearchParams): void {
  const text = query.get('timeout')
  if (text === null || text === '' || /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+)$/.test(text))
    return
  throw badRequest(`invalid timeout specified in the request URL - time: invalid duration ${quote(text)}`)
}

/**
 * `/api/v1/pods/NAME` names nothing: a namespaced object is only reached through its namespace, and only listed and
 * watched across all of them. Objects are made in a collection and changed by name.
 */
function refuseMisplaced({ namespaced, storage }: Resource, request: ResourceRequest): void {
  const { namespace, name, verb, subresource } = request
  const isAcrossNamespaces = namespaced && namespace === ''
  // Across namespaces a custom kind has a list and nothing else; a built-in one at least has a path there.
  const isWrite = verb === 'create' || verb === 'deletecollection'
  if (isAcrossNamespaces && storage.isCustom && (name !== '' || isWrite)) throw pageNotFound()
  if (isAcrossNamespaces && name !== '') throw noSuchPath()
  if (isAcrossNamespaces && isWrite) throw methodNotAllowed()
  if (name === '' && (verb === 'update' || verb === 'patch')) throw methodNotAllowed()
  if (name !== '' && subresource === '' && verb === 'create') throw methodNotAllowed()
  if (namespace.includes('/')) throw noSuchPath()
  const [complaint] = name === '' ? [] : checkPathSegment(name)
  if (complaint !== undefined) throw badRequest(`Name parameter invalid: ${quote(name)}: ${complaint}`)
}

/** An unknown kind of a custom group is answered 404 in plain text, one of a built-in group with a Status. */
function unknownKind({ registry }: World, { group, version }: ResourceRequest): StatusError {
  const isBuiltin = registry.kinds().some(kind => kind.group === group && kind.version === version && !kind.isCustom)
  return isBuiltin ? noSuchPath() : pageNotFound()
}

/** Below a built-in group kube-apiserver answers 404 with a Status; elsewhere in plain text. */
function unknownPath({ registry }: World, path: string): StatusError {
  const [, root, group = ''] = path.split('/')
  const isBuiltin = root === 'apis' && registry.kinds().some(kind => kind.group === group && !kind.isCustom)
  return root === 'api' || isBuiltin ? noSuchPath() : pageNotFound()
}

function refusal(parts: HandlerParts, wire: WireRequest, error: unknown, form: Representation): WireResponse {
  const { status } = error instanceof StatusError ? error : ours(parts, wire, error)
  if (status.reason === pageNotFoundReason) return text(404, '404 page not found\n')
  const response = toResponse(status.code, status, form)
  const seconds = status.details?.retryAfterSeconds
  if (seconds === undefined) return response
  return { ...response, headers: { ...response.headers, 'retry-after': String(seconds) } }
}

function ours({ onInternalError }: HandlerParts, wire: WireRequest, error: unknown): StatusError {
  onInternalError(error, `${wire.method} ${wire.target}`)
  return internalError(error instanceof Error ? error.message : String(error), error)
}

/** RFC 7234 warn-text in quotes; the agent `-` is what Kubernetes sends. */
function withWarnings(response: WireResponse, warnings: readonly string[]): WireResponse {
  const unique = [...new Set(warnings)]
  if (unique.length === 0) return response
  const lines = unique.map(text => `299 - "${escapeWarning(text)}"`)
  return { ...response, headers: { ...response.headers, warning: lines } }
}

function escapeWarning(text: string): string {
  // Header values cannot carry control characters or text beyond latin1.
  return [...text.replace(/[\\"]/g, '\\$&')]
    .map(letter => (letter < ' ' || letter === '\u007f' ? ' ' : letter > '\u00ff' ? '?' : letter))
    .join('')
}
