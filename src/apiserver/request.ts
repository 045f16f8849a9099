// What a request asks for, read from its method, path and query alone. Authorisation and serving both use this one
// reading, so that what was authorised is what is served.

import { badRequest, methodNotAllowed } from './status.ts'

export type RequestVerb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection'

export interface ResourceRequest {
  readonly isResource: true
  readonly verb: RequestVerb
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly subresource: string
  /** Empty for cluster-scoped resources and for requests over all namespaces. */
  readonly namespace: string
  readonly name: string
  /** Asked for inside of a namespace, as in `namespaces/NS/pods`; `namespaces/NS` itself is not. */
  readonly isInNamespace: boolean
  readonly path: string
  readonly query: URLSearchParams
}

export interface PathRequest {
  readonly isResource: false
  /** The method in lower case, as non-resource rules name it. */
  readonly verb: string
  readonly path: string
  readonly query: URLSearchParams
}

const verbs = new Map<string, RequestVerb>([
  ['GET', 'get'],
  ['POST', 'create'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
])

export function parseRequest(method: string, target: string): ResourceRequest | PathRequest {
  const { path, query } = split(target)
  const plain: PathRequest = { isResource: false, verb: method.toLowerCase(), path, query }

  const parts = segments(path)
  const root = parts[0]
  const groupVersion = root === 'api' ? parts.slice(1, 2) : root === 'apis' ? parts.slice(1, 3) : []
  const rest = parts.slice(root === 'api' ? 2 : 3)
  const verb = verbs.get(method)
  const isAPI = root === 'api' || root === 'apis'
  if (!isAPI || rest.length === 0) return plain

  const group = root === 'api' ? '' : (groupVersion[0] ?? '')
  const version = groupVersion.at(-1) ?? ''
  const isLegacyWatch = rest[0] === 'watch' && rest.length > 1
  if (verb === undefined || (isLegacyWatch && verb !== 'get')) throw methodNotAllowed()
  const where = locate(isLegacyWatch ? rest.slice(1) : rest)
  if (where === undefined) return plain
  return {
    isResource: true,
    verb: isLegacyWatch ? 'watch' : refine(verb, where.name, query),
    group,
    version,
    ...where,
    path,
    query,
  }
}

/** `namespaces/NS/PLURAL/NAME/SUB`, `PLURAL/NAME/SUB`, and `namespaces/NAME/status`, a namespace's own subresource. */
function locate(rest: readonly string[]) {
  const [first = '', second = '', third = ''] = rest
  const isOwnSubresource = third === 'status' || third === 'finalize'
  if (first === 'namespaces' && rest.length > 2 && !isOwnSubresource) {
    const [plural = '', name = '', ...sub] = rest.slice(2)
    return { namespace: second, plural, name, subresource: sub.join('/'), isInNamespace: true }
  }
  const namespace = first === 'namespaces' ? second : ''
  return { namespace, plural: first, name: second, subresource: rest.slice(2).join('/'), isInNamespace: false }
}

function refine(verb: RequestVerb, name: string, query: URLSearchParams): RequestVerb {
  if (verb === 'delete' && name === '') return 'deletecollection'
  if (verb !== 'get') return verb
  if (name !== '') return 'get'
  return isTrue(query.get('watch')) ? 'watch' : 'list'
}

/** A parameter without a value is true; only `false` and `0` are false. */
export function isTrue(value: string | null): boolean {
  return value !== null && value !== '0' && value.toLowerCase() !== 'false'
}

/** Path and query; a target in absolute form, as proxies send it, is read from its path on. */
function split(target: string): { path: string; query: URLSearchParams } {
  const local = target.replace(/^https?:\/\/[^/?]*/i, '')
  const queryStart = local.indexOf('?')
  if (queryStart < 0) return { path: local, query: new URLSearchParams() }
  return { path: local.slice(0, queryStart), query: new URLSearchParams(local.slice(queryStart + 1)) }
}

/** Slashes at either end are ignored; an empty segment between others stays, and matches nothing that is served. */
function segments(path: string): string[] {
  try {
    const parts = path.split('/').map(decodeURIComponent)
    return parts.slice(parts[0] === '' ? 1 : 0, parts.at(-1) === '' ? -1 : undefined)
  } catch {
    throw badRequest(`the path ${JSON.stringify(path)} is not percent-encoded UTF-8`)
  }
}
