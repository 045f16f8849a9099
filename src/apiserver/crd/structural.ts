// A structural schema declares every field once, outside of logic; the logic (allOf, anyOf, oneOf, not) may only narrow
// values. Without that the server could not prune, default or publish it.

import { at, child, describeFault, type Fault, forbidden, invalid, required } from '../faults.ts'
import { equal } from '../object.ts'
import { compilePattern } from '../schema/pattern.ts'
import type { Schema } from '../schema/schema.ts'

type Level = 'root' | 'item' | 'field'

/** All faults, sorted by their text as kube-apiserver does. */
export function checkStructural(schema: Schema, path: string): Fault[] {
  const faults = [...invariants(schema, 'root', path), ...completeness(schema, schema, path, path)]
  return faults.sort((a, b) => (describeFault(a) < describeFault(b) ? -1 : 1))
}

function invariants(schema: Schema, level: Level, path: string): Fault[] {
  const faults: Fault[] = []
  const items = itemsOf(schema)
  if (schema.type === 'array' && schema.items === undefined)
    faults.push(required(child(path, 'items'), 'must be specified'))
  if (items !== undefined) faults.push(...invariants(items, 'item', child(path, 'items')))
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    faults.push(...invariants(property, 'field', at(child(path, 'properties'), name)))
  }
  if (schema.additionalProperties !== undefined) faults.push(...mapInvariants(schema, level, path))
  faults.push(...extensionFaults(schema, path))
  faults.push(...valueFaults(schema, path, isIntOrString(schema.anyOf), isIntOrString(schema.allOf?.[0]?.anyOf)))
  faults.push(...typeFaults(schema, level, path))
  faults.push(...metaFaults(schema, level, path))
  return faults
}

function mapInvariants(schema: Schema, level: Level, path: string): Fault[] {
  const faults: Fault[] = []
  const place = child(path, 'additionalProperties')
  if (level === 'root') faults.push(forbidden(place, 'must not be used at the root'))
  if (typeof schema.additionalProperties === 'object') {
    faults.push(...invariants(schema.additionalProperties, 'field', place))
  }
  return faults
}

function extensionFaults(schema: Schema, path: string): Fault[] {
  if (schema['x-kubernetes-int-or-string'] !== true) return []
  const faults: Fault[] = []
  for (const other of ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'] as const) {
    if (schema[other] === true) {
      faults.push(invalid(child(path, other), true, 'must be false if x-kubernetes-int-or-string is true'))
    }
  }
  return faults
}

function typeFaults(schema: Schema, level: Level, path: string): Fault[] {
  const faults: Fault[] = []
  const place = child(path, 'type')
  const type = schema.type ?? ''
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true
  const isOpen =
    schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true
  if (isEmbedded && type !== 'object') {
    const why = 'must be object if x-kubernetes-embedded-resource is true'
    faults.push(type === '' ? required(place, why) : invalid(place, type, why))
  } else if (type === '' && !isOpen) {
    const where = { root: 'at the root', item: 'for specified array items', field: 'for specified object fields' }[
      level
    ]
    faults.push(required(place, `must not be empty ${where}`))
  }
  if (isEmbedded && schema.additionalProperties !== undefined) {
    faults.push(
      forbidden(child(path, 'additionalProperties'), 'must not be used if x-kubernetes-embedded-resource is set'),
    )
  }
  if (level === 'root' && type !== '' && type !== 'object')
    faults.push(invalid(place, type, 'must be object at the root'))
  return faults
}

function metaFaults(schema: Schema, level: Level, path: string): Fault[] {
  const faults: Fault[] = []
  const properties = child(path, 'properties')
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true
  const isResource = level === 'root' || isEmbedded
  for (const name of ['kind', 'apiVersion']) {
    const of = schema.properties?.[name]
    if (isResource && of !== undefined && of.type !== 'string') {
      faults.push(invalid(child(at(properties, name), 'type'), of.type ?? '', 'must be string'))
    }
  }
  const metadata = schema.properties?.metadata
  if (metadata !== undefined) faults.push(...metadataFaults(metadata, isResource, level, at(properties, 'metadata')))
  const isClosed = isEmbedded && schema['x-kubernetes-preserve-unknown-fields'] !== true
  if (isClosed && Object.keys(schema.properties ?? {}).length === 0) {
    const why =
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields'
    faults.push(required(properties, why))
  }
  return faults
}

function metadataFaults(metadata: Schema, isResource: boolean, level: Level, path: string): Fault[] {
  const faults: Fault[] = []
  if (isResource && metadata.type !== 'object')
    faults.push(invalid(child(path, 'type'), metadata.type ?? '', 'must be object'))
  if (level !== 'root') return faults
  const { type: _type, default: _default, properties = {}, ...others } = metadata
  const isNamesOnly = Object.keys(properties).every(name => name === 'name' || name === 'generateName')
  const isPlain = Object.values(others).every(value => value === undefined)
  if (!isNamesOnly || !isPlain) {
    const why = 'must not specify anything other than name and generateName, but metadata is implicitly specified'
    faults.push(forbidden(path, why))
  }
  return faults
}

function itemsOf(schema: Schema): Schema | undefined {
  return schema.items === undefined || Array.isArray(schema.items) ? undefined : schema.items
}

function isIntOrString(anyOf: Schema[] | undefined): boolean {
  return equal(anyOf, [{ type: 'integer' }, { type: 'string' }])
}

/** `skipsAnyOf` and `skipsFirst`: the two spellings of int-or-string, the one logic that may name types. */
function valueFaults(schema: Schema, path: string, skipsAnyOf: boolean, skipsFirst: boolean): Fault[] {
  const faults: Fault[] = []
  const each = (name: 'anyOf' | 'allOf' | 'oneOf') =>
    (schema[name] ?? []).map((part, i) => [part, at(child(path, name), i)] as const)
  if (!skipsAnyOf) for (const [part, place] of each('anyOf')) faults.push(...nestedFaults(part, place, false))
  for (const [i, [part, place]] of each('allOf').entries())
    faults.push(...nestedFaults(part, place, skipsFirst && i === 0))
  for (const [part, place] of each('oneOf')) faults.push(...nestedFaults(part, place, false))
  if (schema.not !== undefined) faults.push(...nestedFaults(schema.not, child(path, 'not'), false))
  if (schema.pattern) faults.push(...patternFaults(schema.pattern, child(path, 'pattern')))
  return faults
}

function patternFaults(pattern: string, path: string): Fault[] {
  try {
    compilePattern(pattern)
    return []
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return [invalid(path, pattern, `must be a valid regular expression, but isn't: ${why}`)]
  }
}

/** What may not stand inside logic, each with the words for it. */
const forbiddenInside: readonly (readonly [keyof Schema, string])[] = [
  ['type', 'must be empty to be structural'],
  ['additionalProperties', 'must be undefined to be structural'],
  ['default', 'must be undefined to be structural'],
  ['title', 'must be empty to be structural'],
  ['description', 'must be empty to be structural'],
  ['nullable', 'must be false to be structural'],
  ['x-kubernetes-preserve-unknown-fields', 'must be false to be structural'],
  ['x-kubernetes-embedded-resource', 'must be false to be structural'],
  ['x-kubernetes-int-or-string', 'must be false to be structural'],
  ['x-kubernetes-list-map-keys', 'must be empty to be structural'],
  ['x-kubernetes-list-type', 'must be undefined to be structural'],
  ['x-kubernetes-map-type', 'must be undefined to be structural'],
  ['x-kubernetes-validations', 'must be empty to be structural'],
]

function nestedFaults(schema: Schema, path: string, skipsAnyOf: boolean): Fault[] {
  const faults = valueFaults(schema, path, skipsAnyOf, false)
  const items = itemsOf(schema)
  if (items !== undefined) faults.push(...nestedFaults(items, child(path, 'items'), false))
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    faults.push(...nestedFaults(property, at(child(path, 'properties'), name), false))
  }
  for (const [field, why] of forbiddenInside) {
    const value = schema[field]
    const isEmpty =
      value === undefined || value === false || value === '' || (Array.isArray(value) && value.length === 0)
    if (!isEmpty || (field === 'additionalProperties' && value === false))
      faults.push(forbidden(child(path, field), why))
  }
  if (schema.properties && Object.hasOwn(schema.properties, 'metadata')) {
    faults.push(forbidden(at(child(path, 'properties'), 'metadata'), 'must not be specified in a nested context'))
  }
  return faults
}

/** Every field that the logic names is specified outside of it too. */
function completeness(logic: Schema, spine: Schema, spinePath: string, logicPath: string): Fault[] {
  const faults: Fault[] = []
  const parts: (readonly [Schema, string])[] = []
  if (logic.not !== undefined) parts.push([logic.not, child(logicPath, 'not')])
  for (const name of ['allOf', 'anyOf', 'oneOf'] as const) {
    for (const [i, part] of (logic[name] ?? []).entries()) parts.push([part, at(child(logicPath, name), i)])
  }
  for (const [part, place] of parts) faults.push(...nestedCompleteness(part, spine, spinePath, place))
  return faults
}

function nestedCompleteness(part: Schema, spine: Schema | undefined, spinePath: string, partPath: string): Fault[] {
  if (spine === undefined) return [required(spinePath, `because it is defined in ${partPath}`)]
  const faults = completeness(part, spine, spinePath, partPath)
  const items = itemsOf(part)
  if (items !== undefined) {
    faults.push(...nestedCompleteness(items, itemsOf(spine), child(spinePath, 'items'), child(partPath, 'items')))
  }
  for (const [name, property] of Object.entries(part.properties ?? {})) {
    const there = at(child(spinePath, 'properties'), name)
    const here = at(child(partPath, 'properties'), name)
    const of = spine.properties && Object.hasOwn(spine.properties, name) ? spine.properties[name] : undefined
    faults.push(...nestedCompleteness(property, of, there, here))
  }
  return faults
}
