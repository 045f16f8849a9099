// Reading fields of unchecked objects: what is absent or of another type reads as empty.

import { getOwn, isObject } from '../object.ts'

export function field(value: unknown, ...path: string[]): unknown {
  let found = value
  for (const name of path) found = getOwn(found, name)
  return found
}

/** Text, or what a number or truth value looks like as text; otherwise empty. */
export function text(value: unknown, ...path: string[]): string {
  const found = field(value, ...path)
  if (typeof found === 'string') return found
  return typeof found === 'number' || typeof found === 'bigint' || typeof found === 'boolean' ? String(found) : ''
}

export function count(value: unknown, ...path: string[]): number | bigint {
  const found = field(value, ...path)
  return typeof found === 'number' || typeof found === 'bigint' ? found : 0
}

export function list(value: unknown, ...path: string[]): unknown[] {
  const found = field(value, ...path)
  return Array.isArray(found) ? found : []
}

export function texts(value: unknown, ...path: string[]): string[] {
  return list(value, ...path).map(item => text(item))
}

export function entries(value: unknown, ...path: string[]): [string, unknown][] {
  const found = field(value, ...path)
  return isObject(found) ? Object.entries(found) : []
}

export function has(value: unknown, ...path: string[]): boolean {
  const found = field(value, ...path)
  return found !== undefined && found !== null
}

export function isTrue(value: unknown, ...path: string[]): boolean {
  return field(value, ...path) === true
}
