// Validation: every fault of a value against its schema, in the words of kube-apiserver's OpenAPI validator. Its habits
// are kept because users search for its messages: the path inside the message (`spec.a in body ...`), a failed
// anyOf/oneOf told at `<nil>` beside the faults of the closest alternative, and "closest" meaning most checks passed.
//
// On update a part that did not change is not judged again (ratcheting): tightening a schema must not lock the objects
// that were there before.

import { stringify } from '../../json.ts'
import { type Fault, invalid, notSupported, quote, required, tooLong, tooMany, typeInvalid } from '../faults.ts'
import { equal, isObject } from '../object.ts'
import { isUnchanged, type Old, oldField, oldItems } from './correlate.ts'
import type { Node } from './node.ts'
import { compilePattern } from './pattern.ts'

/** Faults found so far, and how many checks passed on the way: the second decides which alternative came closest. */
interface Findings {
  readonly faults: Fault[]
  readonly seen: Set<string>
  matches: number
}

interface Place {
  /** The path as messages spell it: no dot at the root. */
  readonly path: string
  /** What stands before every field: `status` when only the status is validated. */
  readonly base: string
  /** Present on updates only; absent below anything that cannot be compared. */
  readonly old: Old | undefined
}

export function validateValue(value: unknown, node: Node, base = '', old?: Old): Fault[] {
  const found = findings()
  check(value, node, { path: '', base, old }, found)
  return found.faults.length > 0 && isUnchanged(value, old) ? [] : found.faults
}

function findings(): Findings {
  return { faults: [], seen: new Set(), matches: 0 }
}

function add(found: Findings, fault: Fault): void {
  const text = `${fault.field} ${fault.message}`
  if (found.seen.has(text)) return
  found.seen.add(text)
  found.faults.push(fault)
}

function merge(found: Findings, other: Findings): void {
  for (const fault of other.faults) add(found, fault)
  found.matches += other.matches
}

function check(value: unknown, node: Node, place: Place, found: Findings): void {
  if (value === null || value === undefined) {
    checkType(null, node, place, found)
    checkEnum(null, node, place, found)
    return
  }
  if (node.types !== undefined || node.checkFormat !== undefined) {
    checkType(value, node, place, found)
    found.matches++
  }
  checkJunctors(value, node, place, found)
  found.matches++
  if (typeof value === 'string') checkString(value, node, place, found)
  else if (typeof value === 'number' || typeof value === 'bigint') checkNumber(value, node, place, found)
  else if (Array.isArray(value)) checkList(value, node, place, found)
  checkEnum(value, node, place, found)
  found.matches++
  if (isObject(value)) {
    checkObject(value, node, place, found)
    found.matches++
  }
  found.matches++
}

/** The field an error names. The root has none, which Go prints as `<nil>`. */
function fieldOf(place: Place, path = place.path): string {
  const trimmed = path.startsWith('.') ? path.slice(1) : path
  if (trimmed === '') return place.base === '' ? '<nil>' : place.base
  return place.base === '' ? trimmed : `${place.base}.${trimmed}`
}

const int64Max = 9_223_372_036_854_775_807n

/** The JSON type of a value and the format Go's decoder gives it. Integers beyond 64 bits arrive as floats there. */
function kindOf(value: unknown): readonly [type: string, format: string] {
  switch (typeof value) {
    case 'string':
      return ['string', '']
    case 'boolean':
      return ['boolean', '']
    case 'bigint':
      return value <= int64Max && value >= -int64Max - 1n ? ['integer', 'int64'] : ['number', 'float64']
    case 'number':
      return Number.isSafeInteger(value) ? ['integer', 'int64'] : ['number', 'float64']
    default:
      return Array.isArray(value) ? ['array', ''] : ['object', '']
  }
}

function checkType(value: unknown, node: Node, place: Place, found: Findings): void {
  const { types = [] } = node
  if (value === null) {
    if (types.length > 0 && !node.isNullable) add(found, wrongType(place, types.join(','), 'null'))
    else found.matches++
    return
  }
  const [type, format] = kindOf(value)
  const fits = types.includes(type) || (type === 'integer' && types.includes('number'))
  const expected = checkedFormat(node)
  if (expected !== '') {
    const isTextual = typeof value === 'string' || Array.isArray(value)
    if (!isTextual && !fits && format !== expected) {
      add(found, wrongType(place, expected, format))
      return
    }
    // A formatted string leaves its verdict to the format check.
    if (isTextual && !types.includes('number') && !types.includes('integer')) {
      found.matches++
      return
    }
  }
  if (fits) found.matches++
  else add(found, wrongType(place, types.join(','), type))
}

/** Formats the server does not know are dropped before it looks; the ones of numbers count only beside a type. */
function checkedFormat(node: Node): string {
  return node.checkFormat === undefined ? '' : (node.format ?? '')
}

function wrongType(place: Place, expected: string, actual: string): Fault {
  return typeInvalid(fieldOf(place), actual, `${place.path} in body must be of type ${expected}: ${quote(actual)}`)
}

function checkJunctors(value: unknown, node: Node, place: Place, found: Findings): void {
  if (node.anyOf.length > 0) checkAnyOf(value, node, place, found)
  if (node.oneOf.length > 0) checkOneOf(value, node, place, found)
  if (node.allOf.length > 0) checkAllOf(value, node, place, found)
  if (node.not !== undefined) {
    const inner = findings()
    check(value, node.not, place, inner)
    if (inner.faults.length === 0) add(found, composite(place, 'must not validate the schema (not)'))
  }
  found.matches++
}

function checkAnyOf(value: unknown, node: Node, place: Place, found: Findings): void {
  let closest: Findings | undefined
  for (const alternative of node.anyOf) {
    const inner = findings()
    check(value, alternative, place, inner)
    if (inner.faults.length === 0) {
      merge(found, inner)
      return
    }
    if (closest === undefined || inner.matches > closest.matches) closest = inner
  }
  add(found, composite(place, 'must validate at least one schema (anyOf)'))
  if (closest !== undefined) merge(found, closest)
}

function checkOneOf(value: unknown, node: Node, place: Place, found: Findings): void {
  let closest: Findings | undefined
  let firstValid: Findings | undefined
  let valid = 0
  for (const alternative of node.oneOf) {
    const inner = findings()
    check(value, alternative, place, inner)
    if (inner.faults.length === 0) {
      valid++
      firstValid ??= inner
    } else if (closest === undefined || inner.matches > closest.matches) {
      closest = inner
    }
  }
  if (valid === 1 && firstValid !== undefined) {
    merge(found, firstValid)
    return
  }
  const why = valid === 0 ? 'Found none valid' : `Found ${valid} valid alternatives`
  add(found, composite(place, `must validate one and only one schema (oneOf). ${why}`))
  if (valid === 0 && closest !== undefined) merge(found, closest)
}

function checkAllOf(value: unknown, node: Node, place: Place, found: Findings): void {
  let valid = 0
  for (const part of node.allOf) {
    const inner = findings()
    check(value, part, place, inner)
    if (inner.faults.length === 0) valid++
    merge(found, inner)
  }
  if (valid === node.allOf.length) return
  add(found, composite(place, `must validate all the schemas (allOf)${valid === 0 ? '. None validated' : ''}`))
}

function composite(place: Place, what: string): Fault {
  return invalid(place.base === '' ? '<nil>' : place.base, '', `${quote(place.path)} ${what}`)
}

function checkString(value: string, node: Node, place: Place, found: Findings): void {
  const fault = stringFault(value, node, place)
  if (fault !== undefined) add(found, fault)
  found.matches++
  if (node.checkFormat === undefined) return
  if (!node.checkFormat(value)) add(found, wrongType(place, node.format ?? '', value))
  found.matches++
}

/** Length before pattern, and the first complaint only. */
function stringFault(value: string, node: Node, place: Place): Fault | undefined {
  const { maxLength, minLength, pattern } = node.schema
  const field = fieldOf(place)
  if (maxLength !== undefined && runes(value) > maxLength) return tooLong(field, maxLength)
  if (minLength !== undefined && runes(value) < minLength) {
    return invalid(field, value, `${place.path} in body should be at least ${minLength} chars long`)
  }
  if (pattern === undefined || pattern === '') return undefined
  const why = patternFault(value, pattern)
  return why === undefined ? undefined : invalid(field, value, `${place.path} in body should match '${why}'`)
}

function patternFault(value: string, pattern: string): string | undefined {
  try {
    return compilePattern(pattern).test(value) ? undefined : pattern
  } catch (error) {
    return `${pattern}, but pattern is invalid: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** Length in code points, as Go counts. */
function runes(text: string): number {
  let count = text.length
  for (let i = 0; i + 1 < text.length; i++) {
    const isPair = (text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00
    if (isPair) count--
  }
  return count
}

function checkNumber(value: number | bigint, node: Node, place: Place, found: Findings): void {
  const { multipleOf, minimum, maximum, exclusiveMinimum = false, exclusiveMaximum = false } = node.schema
  const isInteger = kindOf(value)[0] === 'integer'
  const say = (what: string) => add(found, invalid(fieldOf(place), value, `${place.path} in body ${what}`))
  // Against an integer a bound is an integer too: Go cuts its fraction off.
  const bound = (limit: number): number => (isInteger ? Math.trunc(limit) : limit)
  if (multipleOf !== undefined && !isMultiple(value, bound(multipleOf))) {
    say(`should be a multiple of ${shown(multipleOf)}`)
  }
  if (minimum !== undefined && (exclusiveMinimum ? value <= bound(minimum) : value < bound(minimum))) {
    say(`should be greater than ${exclusiveMinimum ? '' : 'or equal to '}${shown(bound(minimum))}`)
  }
  if (maximum !== undefined && (exclusiveMaximum ? value >= bound(maximum) : value > bound(maximum))) {
    say(`should be less than ${exclusiveMaximum ? '' : 'or equal to '}${shown(bound(maximum))}`)
  }
  found.matches += 2
}

function isMultiple(value: number | bigint, factor: number): boolean {
  if (factor <= 0) return false
  if (Number.isInteger(factor) && (typeof value === 'bigint' || Number.isSafeInteger(value))) {
    return BigInt(value) % BigInt(factor) === 0n
  }
  const times = factor < 1 ? (1 / factor) * Number(value) : Number(value) / factor
  return Math.abs(times - Math.round(times)) < 1e-9
}

/** Numbers as Go's %v prints them: exponents begin below 1e-4 and at 1e21, with two digits at least. */
function shown(value: number): string {
  const size = Math.abs(value)
  if (size === 0 || (size >= 1e-4 && size < 1e21)) return String(value)
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2')
}

function checkList(value: unknown[], node: Node, place: Place, found: Findings): void {
  const { minItems, maxItems, uniqueItems } = node.schema
  const correlate = oldItems(place.old, node)
  if (node.items !== undefined) {
    for (const [i, item] of value.entries()) {
      checkChild(item, node.items, { path: `${place.path}[${i}]`, base: place.base, old: correlate(item) }, found)
    }
  }
  for (const [i, part] of node.tuple.entries()) {
    if (i < value.length) checkChild(value[i], part, { ...place, path: `${place.path}[${i}]`, old: undefined }, found)
  }
  const field = fieldOf(place)
  if (minItems !== undefined && value.length < minItems) {
    add(found, invalid(field, value.length, `${place.path} in body should have at least ${minItems} items`))
  }
  if (maxItems !== undefined && value.length > maxItems) add(found, tooMany(field, value.length, maxItems))
  if (uniqueItems === true && hasTwins(value)) {
    add(found, invalid(field, '', `${place.path} in body shouldn't contain duplicates`))
  }
  found.matches += 2
}

function hasTwins(list: readonly unknown[]): boolean {
  const scalars = new Set<unknown>()
  const buckets = new Map<string, unknown[]>()
  for (const item of list) {
    if (typeof item !== 'object' || item === null) {
      if (scalars.has(item)) return true
      scalars.add(item)
      continue
    }
    // Equal objects have equal key sets, so only those need a closer look.
    const shape = Array.isArray(item) ? `#${item.length}` : Object.keys(item).sort().join('\n')
    const peers = buckets.get(shape) ?? []
    if (peers.some(peer => equal(peer, item))) return true
    peers.push(item)
    buckets.set(shape, peers)
  }
  return false
}

function checkEnum(value: unknown, node: Node, place: Place, found: Findings): void {
  const allowed = node.schema.enum
  if (allowed === undefined || allowed.length === 0) return
  if (value !== null && allowed.some(option => isSame(option, value))) return
  const options = allowed.map(option => (typeof option === 'string' ? option : stringify(option)))
  add(found, notSupported(fieldOf(place), value, options))
}

function isSame(option: unknown, value: unknown): boolean {
  if (typeof option === 'bigint' || typeof value === 'bigint')
    return String(option) === String(value) && typeof option !== 'string'
  return equal(option, value)
}

function checkObject(value: Record<string, unknown>, node: Node, place: Place, found: Findings): void {
  const { minProperties, maxProperties } = node.schema
  const names = Object.keys(value)
  const field = fieldOf(place)
  if (minProperties !== undefined && names.length < minProperties) {
    add(found, invalid(field, names.length, `${place.path} in body should have at least ${minProperties} properties`))
  }
  if (maxProperties !== undefined && names.length > maxProperties) {
    add(found, tooMany(field, names.length, maxProperties))
  }
  checkOthers(value, names, node, place, found)
  for (const [name, property] of node.properties) {
    if (!Object.hasOwn(value, name) || value[name] === undefined) continue
    const path = place.path === '' ? name : `${place.path}.${name}`
    // Type fields at the root are the same in old and new by construction, so they prove nothing.
    const isTypeField = path === 'kind' || path === 'apiVersion'
    const old = isTypeField ? undefined : oldField(place.old, node, name)
    checkChild(value[name], property, { path, base: place.base, old }, found)
  }
  for (const name of node.schema.required ?? []) {
    if (!Object.hasOwn(value, name) || value[name] === undefined) {
      add(found, required(fieldOf(place, `${place.path}.${name}`)))
    }
  }
}

function checkOthers(
  value: Record<string, unknown>,
  names: readonly string[],
  node: Node,
  place: Place,
  found: Findings,
): void {
  if (node.additional === undefined && node.patterns.length === 0) return
  for (const name of names) {
    if (node.properties.has(name)) continue
    const inner = { path: `${place.path}.${name}`, base: place.base, old: oldField(place.old, node, name) }
    const matching = node.patterns.filter(([source]) => patternFault(name, source) === undefined)
    for (const [, of] of matching) checkChild(value[name], of, inner, found)
    if (matching.length > 0) continue
    if (typeof node.additional === 'object') checkChild(value[name], node.additional, inner, found)
    if (node.additional === 'none') {
      const message = `${place.path}.${name} in body is a forbidden property`
      add(found, invalid(fieldOf(place), name, message))
    }
  }
}

/** A field or item: the unit that is let through when it did not change. */
function checkChild(value: unknown, node: Node, place: Place, found: Findings): void {
  if (place.old === undefined) {
    check(value, node, place, found)
    return
  }
  const inner = findings()
  check(value, node, place, inner)
  if (inner.faults.length > 0 && isUnchanged(value, place.old)) {
    found.matches += inner.matches
    return
  }
  merge(found, inner)
}
