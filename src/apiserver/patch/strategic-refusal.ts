// kube-apiserver converts a strategic merge patch to an object without JSON in between, so a value of the wrong type
// gets another message than in a body: the converter's, with the patch as it is after its directives were applied.

import { isObject } from '../object.ts'
import { toGoText } from './go-text.ts'

const orderPrefix = '$setElementOrder/'

/** The patch as Go prints it, without directives and without lists that came with an order: those were merged. */
export function toUsedUpPatch(patch: unknown): string {
  return toGoText(withoutDirectives(patch))
}

function withoutDirectives(patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const ordered = Object.keys(patch)
    .filter(key => key.startsWith(orderPrefix))
    .map(key => key.slice(orderPrefix.length))
  const kept = Object.entries(patch).filter(([key]) => !key.startsWith('$') && !ordered.includes(key))
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutDirectives(value)]))
}

const goKinds = new Map([
  ['number', 'int64'],
  ['string', 'string'],
  ['bool', 'bool'],
  ['array', 'slice'],
  ['object', 'map'],
])
const simple = /^(?:string|bool|int32|int64|float64)$/

/** What the converter says where a JSON decoder says `json: cannot unmarshal ...`. */
export function toConverterText(why: string): string {
  const match = /^json: cannot unmarshal (\w+)(?: (-?[\d.]+))? into .* of type (\S+)$/.exec(why)
  if (match === null) return why
  const [, given = '', number = '', wanted = ''] = match
  const from = number.includes('.') ? 'float64' : (goKinds.get(given) ?? given)
  if (wanted.startsWith('map[')) return `cannot restore map from ${from}`
  if (wanted.startsWith('[]')) return `cannot restore slice from ${from}`
  if (!simple.test(wanted)) return `cannot restore struct from: ${from}`
  // Go converts an integer to a string, but only as the letter of that number, which the converter refuses by name.
  const isConvertible = (from === 'int64' && wanted === 'string') || (from === 'float64' && wanted.startsWith('int'))
  return isConvertible ? `cannot convert ${from} to ${wanted}` : `unrecognized type: ${wanted}`
}
