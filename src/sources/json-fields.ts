// Fields of JSON that programs of others print. Names are found in any case of their letters: govc changed its own from one
// release to the next, and PowerShell does not mind. What is not of the kind that is asked for is absent.

import { type JSONObject, JSONSyntaxError, type JSONValue, parseJSON } from '../json.ts'
import { sourceFileCharsMax } from '../limits.ts'
import type { Faults } from './faults.ts'
import type { SourceFile } from './machine.ts'

/** Undefined where it is no JSON, which is noted. A mark of the byte order is no part of it. */
export function readJSON({ text }: SourceFile, faults: Faults): JSONValue | undefined {
  if (text.length > sourceFileCharsMax) {
    faults.add('', `it is longer than ${sourceFileCharsMax} characters: export fewer machines at a time`)
    return undefined
  }
  const bare = text.startsWith('\ufeff') ? text.slice(1) : text
  try {
    const { value, duplicates } = parseJSON(bare)
    for (const path of duplicates) faults.add(path, 'it is there twice: keep one of them')
    return value
  } catch (error) {
    if (!(error instanceof JSONSyntaxError)) throw error
    const before = bare.slice(0, error.at).split('\n')
    const column = (before.at(-1) ?? '').length + 1
    faults.add(`line ${before.length}, column ${column}`, `it is not JSON: ${error.message}`)
    return undefined
  }
}

export function isObject(value: JSONValue | undefined): value is JSONObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The field of this name, whatever the case of its letters. */
export function fieldOf(value: JSONValue | undefined, name: string): JSONValue | undefined {
  if (!isObject(value)) return undefined
  if (Object.hasOwn(value, name)) return value[name]
  const lower = name.toLowerCase()
  const found = Object.keys(value).find(key => key.toLowerCase() === lower)
  return found === undefined ? undefined : value[found]
}

export function pathOf(value: JSONValue | undefined, ...names: readonly string[]): JSONValue | undefined {
  return names.reduce<JSONValue | undefined>(fieldOf, value)
}

/** Of a number too. Undefined of an empty text. */
export function textAt(value: JSONValue | undefined, ...names: readonly string[]): string | undefined {
  const found = pathOf(value, ...names)
  if (typeof found === 'number' || typeof found === 'bigint') return String(found)
  return typeof found === 'string' && found !== '' ? found : undefined
}

export function booleanAt(value: JSONValue | undefined, ...names: readonly string[]): boolean | undefined {
  const found = pathOf(value, ...names)
  return typeof found === 'boolean' ? found : undefined
}

/** What stands alone is a list of one: PowerShell writes it so. */
export function listAt(value: JSONValue | undefined, ...names: readonly string[]): readonly JSONValue[] {
  const found = pathOf(value, ...names)
  if (Array.isArray(found)) return found
  return found === undefined || found === null ? [] : [found]
}

export function textsAt(value: JSONValue | undefined, ...names: readonly string[]): string[] {
  return listAt(value, ...names).filter(item => typeof item === 'string' && item !== '') as string[]
}
