// Field selectors: `metadata.name=x,status.phase!=Running`. Only fields that the kind declares can be selected; any
// other field is refused by name, so that a client never takes an unfiltered answer for a filtered one.

import { quote } from '../faults.ts'
import type { ServedKind } from '../kinds/kind.ts'
import type { KubeObject } from '../object.ts'
import { badRequest } from '../status.ts'

export interface FieldRequirement {
  readonly field: string
  readonly operator: '=' | '!='
  readonly value: string
}

export interface FieldSelector {
  readonly requirements: readonly FieldRequirement[]
  /** The one name an object must have to match, when the selector says so; lets a verb read one key, not all. */
  readonly exactName: string | undefined
  /** Likewise for the namespace. */
  readonly exactNamespace: string | undefined
  matches(object: KubeObject): boolean
}

const everyField: FieldSelector = {
  requirements: [],
  exactName: undefined,
  exactNamespace: undefined,
  matches: () => true,
}

/** Parses a selector for objects of this kind; throws a 400 Status when it cannot or when a field is not selectable. */
export function parseFieldSelector(text: string, kind: ServedKind): FieldSelector {
  const requirements = parseFieldRequirements(text).map(requirement => ({
    ...requirement,
    field: toSelectable(requirement.field, kind),
  }))
  if (requirements.length === 0) return everyField
  const tests = requirements.map(({ field, operator, value }) => {
    const read = readerOf(field, kind)
    return operator === '=' ? (o: KubeObject) => read(o) === value : (o: KubeObject) => read(o) !== value
  })
  return {
    requirements,
    exactName: exactValue(requirements, 'metadata.name'),
    exactNamespace: exactValue(requirements, 'metadata.namespace'),
    matches: object => tests.every(test => test(object)),
  }
}

/** The terms of a field selector, sorted as text; throws a 400 Status. */
function parseFieldRequirements(text: string): FieldRequirement[] {
  const requirements: FieldRequirement[] = []
  for (const term of splitTerms(text).sort()) {
    if (term === '') continue
    const at = term.search(/!=|=/)
    if (at < 0) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`)
    const isNegated = term[at] === '!'
    const width = isNegated || term[at + 1] === '=' ? 2 : 1
    requirements.push({
      field: term.slice(0, at),
      operator: isNegated ? '!=' : '=',
      value: unescapeValue(term.slice(at + width)),
    })
  }
  return requirements
}

function splitTerms(text: string): string[] {
  const terms: string[] = []
  let start = 0
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\') i++
    else if (text[i] === ',') {
      terms.push(text.slice(start, i))
      start = i + 1
    }
  }
  terms.push(text.slice(start))
  return terms
}

function unescapeValue(text: string): string {
  let value = ''
  const characters = Array.from(text)
  for (let i = 0; i < characters.length; i++) {
    const character = characters[i] ?? ''
    if (character === ',' || character === '=') {
      throw badRequest(`invalid field selector: unescaped character in value: ${character.charCodeAt(0)}`)
    }
    if (character !== '\\') {
      value += character
      continue
    }
    const escaped = characters[++i] ?? ''
    if (escaped !== '\\' && escaped !== ',' && escaped !== '=') {
      throw badRequest(`invalid field selector: invalid escape sequence: \\${escaped}`)
    }
    value += escaped
  }
  return value
}

function toSelectable(field: string, kind: ServedKind): string {
  const own = kind.behaviour.fields
  if (field === 'metadata.name') return field
  if (field === 'metadata.namespace' && (kind.namespaced || (!kind.isCustom && own === undefined))) return field
  if (own !== undefined && Object.hasOwn(own, field)) return field
  if (kind.group === '' && kind.kind === 'Pod' && field === 'spec.host') return 'spec.nodeName'
  if (own === undefined && !kind.isCustom) {
    const known = `${quote('metadata.name')}, ${quote('metadata.namespace')}`
    throw badRequest(`${quote(field)} is not a known field selector: only ${known}`)
  }
  if (kind.group === 'batch' && kind.kind === 'Job') {
    throw badRequest(`field label ${quote(field)} not supported for Job`)
  }
  throw badRequest(`field label not supported: ${field}`)
}

function readerOf(field: string, kind: ServedKind): (object: KubeObject) => string {
  if (field === 'metadata.name') return object => object.metadata.name ?? ''
  if (field === 'metadata.namespace') return object => object.metadata.namespace ?? ''
  return kind.behaviour.fields?.[field] ?? (() => '')
}

function exactValue(requirements: readonly FieldRequirement[], field: string): string | undefined {
  return requirements.find(requirement => requirement.field === field && requirement.operator === '=')?.value
}
