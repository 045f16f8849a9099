// Objects as text, and what may be said about them.

import { isDeepStrictEqual } from 'node:util'
import { parseAllDocuments } from 'yaml'

export interface Manifest {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  // biome-ignore lint/suspicious/noExplicitAny: any object at all
  readonly [field: string]: any
}

export function readObjects(text: string): Manifest[] {
  return parseAllDocuments(text)
    .map(document => document.toJS() as Manifest | null)
    .filter(object => object !== null)
}

export const keyOf = ({ kind, metadata }: Manifest): string =>
  `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`

export function expectSameObjects(expected: readonly Manifest[], seen: readonly Manifest[]): void {
  const byKey = new Map(seen.map(object => [keyOf(object), object]))
  const missing = expected.filter(object => !byKey.has(keyOf(object))).map(keyOf)
  const known = new Set(expected.map(keyOf))
  const more = seen.map(keyOf).filter(key => !known.has(key))
  if (missing.length + more.length > 0) throw new Error(`missing: ${missing.join(', ')}; too many: ${more.join(', ')}`)
  for (const object of expected) expectSame(keyOf(object), object, byKey.get(keyOf(object)))
}

export function expectSame(what: string, expected: unknown, seen: unknown): void {
  const difference = firstDifference(what, plain(expected), plain(seen))
  if (difference) throw new Error(difference)
}

/** Where two things begin to differ: a whole definition would be too long to read. */
function firstDifference(path: string, a: unknown, b: unknown): string | undefined {
  if (isDeepStrictEqual(a, b)) return undefined
  const isBranch = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
  if (!isBranch(a) || !isBranch(b)) return `${path}: expected ${JSON.stringify(a)}, saw ${JSON.stringify(b)}`
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])]
  for (const key of keys) {
    const difference = firstDifference(`${path}.${key}`, a[key], b[key])
    if (difference) return difference
  }
  return undefined
}

/** Without what JSON cannot say. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}
