// Whether the names a definition asks for are free. Within a group every resource name and every kind is used once;
// the definition that came first keeps them.

import { quote } from '../faults.ts'
import type { DefinitionSpec } from './resource.ts'

export type Names = DefinitionSpec['names']

export interface NamesVerdict {
  readonly accepted: Partial<Names>
  readonly conflict: { readonly reason: string; readonly message: string } | undefined
}

export function judgeNames(wanted: Names, held: Partial<Names>, others: readonly Partial<Names>[]): NamesVerdict {
  const resources = new Set(others.flatMap(names => [names.plural, names.singular, ...(names.shortNames ?? [])]))
  const kinds = new Set(others.flatMap(names => [names.kind, names.listKind]))
  const accepted: Partial<Names> = { ...held }
  let conflict: NamesVerdict['conflict']

  const settle = (
    field: 'plural' | 'singular' | 'kind' | 'listKind',
    used: Set<string | undefined>,
    reason: string,
  ) => {
    const name = wanted[field]
    if (name === undefined) return
    if (name === held[field] || !used.has(name)) accepted[field] = name
    else conflict = { reason, message: `${quote(name)} is already in use` }
  }
  settle('plural', resources, 'PluralConflict')
  settle('singular', resources, 'SingularConflict')
  const taken = (wanted.shortNames ?? []).filter(name => !held.shortNames?.includes(name) && resources.has(name))
  if (taken.length > 0) {
    conflict = {
      reason: 'ShortNamesConflict',
      message: inBrackets(taken.map(name => `${quote(name)} is already in use`)),
    }
  } else if (wanted.shortNames) accepted.shortNames = wanted.shortNames
  else delete accepted.shortNames
  settle('kind', kinds, 'KindConflict')
  settle('listKind', kinds, 'ListKindConflict')
  if (wanted.categories) accepted.categories = wanted.categories
  else delete accepted.categories
  return { accepted, conflict }
}

function inBrackets(messages: readonly string[]): string {
  return messages.length === 1 ? (messages[0] ?? '') : `[${messages.join(', ')}]`
}
