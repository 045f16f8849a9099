// The spec of an object that a webhook is asked about, read field by field without trusting it. The API server has checked the schema before
// it asks; where it has not (no schema installed, a test, another client) a field of the wrong type is a fault
// like any other.

import { isDeepStrictEqual } from 'node:util'
import { isRecord } from '../api/shape.ts'
import { type Fault, invalid } from './fault.ts'

export type Fields = Readonly<Record<string, unknown>>

export function specOf(object: unknown): Fields {
  const spec = fieldOf(isRecord(object) ? object : {}, 'spec')
  return isRecord(spec) ? spec : {}
}

/** Null reads as absent, as the API server has it. */
export function fieldOf(fields: Fields, key: string): unknown {
  return Object.hasOwn(fields, key) ? (fields[key] ?? undefined) : undefined
}

export function recordIn(fields: Fields, key: string): Fields {
  const value = fieldOf(fields, key)
  return isRecord(value) ? value : {}
}

/** Nothing but metadata and status differ. Such an update is never refused: what it asks for is true already. */
export function isSameSpec(old: unknown, next: unknown): boolean {
  return isDeepStrictEqual(specOf(old), specOf(next))
}

export function textsAt(spec: Fields, key: string, faults: Fault[]): readonly string[] {
  const value = fieldOf(spec, key)
  if (value === undefined) return []
  if (Array.isArray(value) && value.every(item => typeof item === 'string')) return value
  faults.push(invalid(`spec.${key}`, value, 'must be a list of texts'))
  return []
}

export function textAt(spec: Fields, key: string, faults: Fault[]): string {
  const value = fieldOf(spec, key)
  if (value === undefined) return ''
  if (typeof value === 'string') return value
  faults.push(invalid(`spec.${key}`, value, 'must be a text'))
  return ''
}

/** An absent number is 0, as in the clients that always send the field. Undefined where it is no whole number. */
export function integerAt(spec: Fields, key: string, faults: Fault[]): number | undefined {
  const value = fieldOf(spec, key)
  if (value === undefined) return 0
  if (typeof value === 'number' && Number.isInteger(value)) return value
  // Beyond what a number holds exactly; it is out of every range in any case, and is shown as it was typed.
  if (typeof value === 'bigint') return value < 0n ? Number.MIN_SAFE_INTEGER : Number.MAX_SAFE_INTEGER
  faults.push(invalid(`spec.${key}`, value, 'must be a whole number'))
  return undefined
}
