// The plain discovery document of a foreign group version, read without trust, in the form that aggregated discovery has.

import { items, text, texts } from '../builtin/fields.ts'
import { isObject } from '../object.ts'

interface ResponseKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

export interface ForeignSubresource {
  readonly subresource: string
  readonly responseKind: ResponseKind
  readonly verbs: readonly string[]
}

export interface ForeignResource {
  readonly resource: string
  readonly responseKind: ResponseKind
  readonly scope: 'Namespaced' | 'Cluster'
  readonly singularResource: string
  /** None for a resource that only has subresources. */
  readonly verbs: readonly string[] | null
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly subresources?: readonly ForeignSubresource[]
}

/** Throws when it is no such document. */
export function parseResources(content: string): ForeignResource[] {
  const document: unknown = JSON.parse(content)
  if (!isObject(document) || document.kind !== 'APIResourceList') throw new Error('it is not an APIResourceList')
  const found = new Map<string, ForeignResource>()
  const listed = items(document.resources)
  for (const entry of listed) {
    const name = text(entry.name)
    if (name === '' || name.includes('/')) continue
    const [shortNames, categories] = [texts(entry.shortNames), texts(entry.categories)]
    found.set(name, {
      resource: name,
      responseKind: kindOf(entry),
      scope: scopeOf(entry),
      singularResource: text(entry.singularName),
      verbs: texts(entry.verbs),
      ...(shortNames.length > 0 && { shortNames }),
      ...(categories.length > 0 && { categories }),
    })
  }
  for (const entry of listed) {
    const [name = '', ...rest] = text(entry.name).split('/')
    if (rest.length === 0) continue
    const parent = found.get(name) ?? {
      resource: name,
      responseKind: { group: '', version: '', kind: '' },
      scope: scopeOf(entry),
      singularResource: '',
      verbs: null,
    }
    const own = { subresource: rest.join('/'), responseKind: kindOf(entry), verbs: texts(entry.verbs) }
    found.set(name, { ...parent, subresources: [...(parent.subresources ?? []), own] })
  }
  return [...found.values()]
}

type Entry = Readonly<Record<string, unknown>>

const kindOf = (entry: Entry): ResponseKind => ({
  group: text(entry.group),
  version: text(entry.version),
  kind: text(entry.kind),
})

const scopeOf = (entry: Entry) => (entry.namespaced === true ? 'Namespaced' : 'Cluster')
