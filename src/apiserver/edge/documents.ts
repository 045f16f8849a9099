// Documents at fixed paths: discovery, OpenAPI, version and health.

import { metricsContentType } from '../../telemetry/metrics.ts'
import type { Foreign, ForeignVersion, Told } from '../aggregation/foreign.ts'
import { jwks, jwksPath, openIDConfiguration, openIDConfigurationPath } from '../authn/openid.ts'
import type { Tokens } from '../authn/service-account-token.ts'
import type { KeptCertificates } from '../certificates/keep.ts'
import { isUnchanged, negotiateAggregated } from '../discovery/aggregated.ts'
import { createDiscovery, type Discovery } from '../discovery/discovery.ts'
import type { Registry } from '../kinds/registry.ts'
import { negotiate } from '../media.ts'
import {
  createOpenAPI,
  negotiateSwagger,
  type OpenAPI,
  type OpenAPIDocument,
  swaggerContentTypes,
} from '../openapi/openapi.ts'
import type { PathRequest } from '../request.ts'
import { methodNotAllowed, notAcceptable } from '../status.ts'
import { versionInfo } from '../version.ts'
import { type HealthChecks, serveHealth } from './health.ts'
import { toResponse } from './present.ts'
import { header, text, type WireRequest, type WireResponse } from './wire.ts'

export interface DocumentParts {
  readonly registry: Registry
  readonly foreign: Foreign
  readonly tokens: Tokens
  readonly certificates: KeptCertificates
  readonly address: () => string
  readonly health: HealthChecks
  readonly metrics: () => string
}

export type ServePath = (request: PathRequest, wire: WireRequest) => Promise<WireResponse | undefined>

export function createDocuments(parts: DocumentParts): ServePath {
  const { registry, foreign } = parts
  let generation = ''
  let discovery: Discovery
  let openAPI: OpenAPI
  const refresh = () => {
    const newest = `${registry.generation} ${foreign.generation}`
    if (generation === newest) return
    generation = newest
    const kinds = registry.kinds()
    const others = foreign.all().map(one => ({ ...one, ...shownOf(foreign.told(one.name), one.isAvailable) }))
    discovery = createDiscovery(kinds, others)
    openAPI = createOpenAPI(kinds, { foreign: Object.fromEntries(others.flatMap(describedBy)) })
  }

  return async (request, wire) => {
    refresh()
    const path = request.path.length > 1 ? request.path.replace(/\/$/, '') : request.path
    const health = serveHealth(parts.health, path, request.query)
    if (health !== undefined) return health
    const response = await read(path, request, wire)
    if (response !== undefined && request.verb !== 'get' && request.verb !== 'head') throw methodNotAllowed()
    return response
  }

  async function read(path: string, request: PathRequest, wire: WireRequest): Promise<WireResponse | undefined> {
    if (path === '/metrics') return { ...text(200, parts.metrics()), headers: { 'content-type': metricsContentType } }
    if (path.startsWith('/openapi/')) return serveOpenAPI(openAPI, request, path, wire)
    const json = (document: object | undefined) => document && toResponse(200, document, formOf(request, wire))
    if (path === '/version') return json(versionInfo)
    if (path === openIDConfigurationPath) return json(openIDConfiguration(parts.tokens, parts.address()))
    if (path === jwksPath) return json(jwks(parts.tokens))
    if (path === '/api' || path === '/apis') {
      return (
        aggregated(discovery, path === '/api' ? 'api' : 'apis', wire) ??
        json(path === '/api' ? discovery.versions(parts.address()) : discovery.groups())
      )
    }
    const [, root, ...rest] = path.split('/')
    if (root === 'api' && rest.length === 1) return json(discovery.resources('', rest[0] ?? ''))
    if (root === 'apis' && rest.length === 1) return json(discovery.group(rest[0] ?? ''))
    if (root === 'apis' && rest.length === 2) return json(discovery.resources(rest[0] ?? '', rest[1] ?? ''))
    if (path === '/') return json({ paths: index(registry, foreign) })
    return undefined
  }
}

function formOf(request: PathRequest, wire: WireRequest) {
  return negotiate(header(wire, 'accept'), request.query, { views: false, protobuf: false })
}

function aggregated(discovery: Discovery, root: 'api' | 'apis', wire: WireRequest): WireResponse | undefined {
  const version = negotiateAggregated(header(wire, 'accept'))
  if (version === undefined) return undefined
  const { body, etag, contentType } = discovery.aggregated(root, version)
  const headers = { 'content-type': contentType, etag, vary: 'Accept' }
  if (isUnchanged(header(wire, 'if-none-match'), etag)) return { code: 304, headers, body: Buffer.alloc(0) }
  return { code: 200, headers, body }
}

function serveOpenAPI(
  openAPI: OpenAPI,
  request: PathRequest,
  path: string,
  wire: WireRequest,
): WireResponse | undefined {
  if (path === '/openapi/v2') {
    const encoding = negotiateSwagger(header(wire, 'accept'))
    if (encoding === undefined) throw notAcceptable('the OpenAPI document is served as JSON and protobuf only')
    return cached(openAPI.swagger(encoding), swaggerContentTypes[encoding], wire)
  }
  if (path === '/openapi/v3') return cached(openAPI.index(), 'application/json', wire)
  const document = path.startsWith('/openapi/v3/') ? openAPI.groupVersion(path.slice('/openapi/v3/'.length)) : undefined
  if (document === undefined) return undefined
  const asked = request.query.get('hash')
  if (asked === null || asked === '') return cached(document, 'application/json', wire)
  // A document under its own hash never changes; one under another hash has moved.
  if (asked === document.hash)
    return cached(document, 'application/json', wire, { 'cache-control': 'public, immutable' })
  return { code: 301, headers: { location: `${path}?hash=${document.hash}` }, body: Buffer.alloc(0) }
}

function cached(
  { body, etag }: OpenAPIDocument,
  contentType: string,
  wire: WireRequest,
  more: Record<string, string> = {},
): WireResponse {
  const headers = { 'content-type': contentType, etag, vary: 'Accept', ...more }
  if (isUnchanged(header(wire, 'if-none-match'), etag)) return { code: 304, headers, body: Buffer.alloc(0) }
  return { code: 200, headers, body }
}

/** What a server said before it ceased to answer is shown to no client. */
function shownOf(told: Told | undefined, isAvailable: boolean) {
  return isAvailable && told !== undefined ? told : { resources: undefined, openAPI: undefined }
}

function describedBy({ group, version, openAPI }: ForeignVersion & Pick<Told, 'openAPI'>): [string, string][] {
  return openAPI === undefined ? [] : [[`apis/${group}/${version}`, openAPI]]
}

function index(registry: Registry, foreign: Foreign): string[] {
  const paths = new Set([
    '/.well-known/openid-configuration',
    '/api',
    '/api/v1',
    '/apis',
    '/healthz',
    '/livez',
    '/metrics',
    '/openapi/v2',
    '/openapi/v3',
    '/openid/v1/jwks',
    '/readyz',
    '/version',
  ])
  for (const { group, version } of [...registry.kinds(), ...foreign.all()]) {
    if (group !== '') paths.add(`/apis/${group}`).add(`/apis/${group}/${version}`)
  }
  return [...paths].sort()
}
