// Reading and filling objects before their types are checked, when a field may hold anything: a value of the wrong type
// reads as absent here, and is refused later by the check of its field.

import { isObject, setOwn } from '../object.ts'

export type Fields = Record<string, unknown>

/** The object at a path; undefined when there is none. */
export function part(object: unknown, ...path: string[]): Fields | undefined {
  let current: unknown = object
  for (const step of path) current = isObject(current) && Object.hasOwn(current, step) ? current[step] : undefined
  return isObject(current) ? current : undefined
}

/** The objects of a list; other items are left out. */
export function items(list: unknown): Fields[] {
  return Array.isArray(list) ? list.filter(isObject) : []
}

export function texts(list: unknown): string[] {
  return Array.isArray(list) ? list.filter(item => typeof item === 'string') : []
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A map of strings; entries of other types are left out. */
export function textMap(value: unknown): Record<string, string> {
  const map: Record<string, string> = {}
  if (!isObject(value)) return map
  for (const [key, entry] of Object.entries(value)) if (typeof entry === 'string') setOwn(map, key, entry)
  return map
}

export function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

/** Sets a field that is absent. Zero and false are values, not absence. */
export function fill(object: Fields | undefined, field: string, value: unknown): void {
  if (object !== undefined && isAbsent(object[field])) object[field] = value
}

/** The object in a field, made when absent; undefined when something else is there. */
export function ensure(object: Fields | undefined, field: string): Fields | undefined {
  fill(object, field, {})
  return part(object, field)
}
