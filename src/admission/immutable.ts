// Specs that never change once they are stored, and the faults of a change: each field by its path, what it was and what it
// would become.

import { isDeepStrictEqual } from 'node:util'
import { isRecord } from '../api/shape.ts'
import { type Fault, forbidden } from './fault.ts'
import { isSameSpec, specOf } from './spec.ts'

export function changeFaults(kind: string, old: unknown, next: unknown): Fault[] {
  if (isSameSpec(old, next)) return []
  return [
    forbidden('spec', `${kind} spec is immutable. Diff: ${differences(specOf(old), specOf(next), 'spec').join(', ')}`),
  ]
}

/** Specs of these kinds are two levels deep; what lies deeper is shown whole. */
const depthMax = 3
const textCharsMax = 100

function differences(old: unknown, next: unknown, path: string, depth = 0): string[] {
  if (isDeepStrictEqual(old, next)) return []
  if (!isRecord(old) || !isRecord(next) || depth >= depthMax) return [`${path}: ${show(old)} -> ${show(next)}`]
  const keys = new Set([...Object.keys(old), ...Object.keys(next)])
  return [...keys].flatMap(key => {
    const [before, after] = [
      Object.hasOwn(old, key) ? old[key] : undefined,
      Object.hasOwn(next, key) ? next[key] : undefined,
    ]
    return differences(before, after, `${path}.${key}`, depth + 1)
  })
}

function show(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text =
    typeof value === 'bigint'
      ? value.toString()
      : JSON.stringify(value, (_, item) => (typeof item === 'bigint' ? String(item) : item))
  return text.length <= textCharsMax ? text : `${text.slice(0, textCharsMax)}...`
}
