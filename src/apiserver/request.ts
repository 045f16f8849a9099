// What a request asks for, read from its method, path and query alone. Authorisation and serving both use this one
// reading, so that what was authorised is what is served.

import { badRequest } from './status.ts'

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

const verbs: Record<string, RequestVerb> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

export function parseRequest(method: string, target: string): ResourceRequest | PathRequest {
  const queryStart = target.indexOf('?')
  const path = queryStart < 0 ? target : target.slice(0, queryStart)
  const query = new URLSearchParams(queryStart < 0 ? '' : target.slice(queryStart + 1))
  const plain: PathRequest = { isResource: false, verb: method.toLowerCase(), path, query }

  const parts = segments(path)
  const root = parts[0]
  const groupVersion = root === 'api' ? parts.slice(1, 2) : root === 'apis' ? parts.slice(1, 3) : []
  const rest = parts.slice(root === 'api' ? 2 : 3)
  const verb = verbs[method]
  const isAPI = root === 'api' || root === 'apis'
  if (!isAPI || rest.length === 0 || verb === undefined) return plain

  const group = root === 'api' ? '' : (groupVersion[0] ?? '')
  const version = groupVersion.at(-1) ?? ''
  const isLegacyWatch = rest[0] === 'watch' && rest.length > 1
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

/** `namespaces/NS/PLURAL/NAME/SUB`, `PLURAL/NAME/SUB`, and `namespaces/NAME/status` where the namespace is the object. */
function locate(rest: readonly string[]) {
  const [first = '', second = '', third = ''] = rest
  const isOwnSubresource = third === 'status' || third === 'finalize'
  if (first === 'namespaces' && rest.length > 2 && !isOwnSubresource) {
    const [plural = '', name = '', ...sub] = rest.slice(2)
    return { namespace: second, plural, name, subresource: sub.join('/') }
  }
  const namespace = first === 'namespaces' ? second : ''
  return { namespace, plural: first, name: second, subresource: rest.slice(2).join('/') }
}

function refine(verb: RequestVerb, name: string, query: URLSearchParams): RequestVerb {
  if (verb === 'delete' && name === '') return 'deletecollection'
  if (verb !== 'get') return verb
  if (isTrue(query.get('watch'))) return 'watch'
  return name === '' ? 'list' : 'get'
}

export function isTrue(value: string | null): boolean {
  return value === 'true' || value === '1' || value === ''
}

function segments(path: string): string[] {
  try {
    return path
      .split('/')
      .filter(part => part !== '')
      .map(decodeURIComponent)
  } catch {
    throw badRequest(`the path ${JSON.stringify(path)} is not percent-encoded UTF-8`)
  }
}
