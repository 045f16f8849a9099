// What a request is about, read from its path.

import type { WireRequest } from '../../src/kube/wire.ts'

export interface Call {
  readonly verb: 'get' | 'list' | 'watch' | 'create' | 'patch' | 'update' | 'delete' | 'discover'
  /** The plural, with `/status` behind it where that is meant. */
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly isWrite: boolean
}

const verbs = { GET: 'get', POST: 'create', PATCH: 'patch', PUT: 'update', DELETE: 'delete' } as const

export function callOf({ method, path, isStream }: Pick<WireRequest, 'method' | 'path' | 'isStream'>): Call {
  const parts = (path.split('?')[0] ?? '').split('/').slice(1).map(decodeURIComponent)
  const rest = parts.slice(parts[0] === 'api' ? 2 : 3)
  const isWrite = method !== 'GET'
  if (rest.length === 0) return { verb: 'discover', kind: '', namespace: '', name: '', isWrite }
  const isInside = rest[0] === 'namespaces' && rest.length > 2
  const namespace = isInside ? (rest[1] ?? '') : ''
  const [plural = '', name = '', subresource] = isInside ? rest.slice(2) : rest
  const kind = subresource === undefined ? plural : `${plural}/${subresource}`
  if (isStream === true) return { verb: 'watch', kind, namespace, name, isWrite }
  return { verb: method === 'GET' && name === '' ? 'list' : verbs[method], kind, namespace, name, isWrite }
}

export function describeCall({ verb, kind, namespace, name }: Call): string {
  return [verb, kind, [namespace, name].filter(part => part !== '').join('/')].filter(part => part !== '').join(' ')
}
