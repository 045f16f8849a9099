// Built-in objects as a real server holds them. There they are Go structs, and that shows in two ways. Empty
// values are absent: an empty map of labels, a zero, a null are not printed. And a struct inside a struct is always
// present, even when nothing in it is set: `spec`, `spec.strategy`, `spec.template.metadata`. It cannot be added, so no
// manager owns it, while a field that may be absent is owned by the manager that added it.

import { isObject, type JSONValue, setOwn } from '../object.ts'
import { type Definitions, resolve, type Schema } from '../schema/schema.ts'

type JSONMap = Record<string, JSONValue>

/** An object of the kind in which nothing was set. Lists that are always printed are there, as null. */
export function toZeroObject(schema: Schema, definitions: Definitions): JSONMap {
  const zero: JSONMap = {}
  const { properties = {} } = resolve(schema, definitions)
  for (const name of Object.keys(properties)) {
    const property = properties[name]
    if (property === undefined || !isAlwaysPrinted(property)) continue
    const value = isStruct(property) ? toZeroObject(property, definitions) : (property.default ?? null)
    setOwn(zero, name, value as JSONValue)
  }
  return zero
}

/**
 * The value of a built-in kind without empty values, and with the structs that are always there. Unknown fields
 * stay. The argument is not changed; parts of it that need no change are shared.
 */
export function asStruct(value: JSONValue, schema: Schema, definitions: Definitions): JSONValue {
  if (typeof value !== 'object' || value === null) return value
  const { properties, items, additionalProperties } = resolve(schema, definitions)
  if (Array.isArray(value)) {
    const element = Array.isArray(items) ? items[0] : items
    return element === undefined ? value : value.map(item => asStruct(item, element, definitions))
  }
  const result: JSONMap = {}
  for (const key of Object.keys(value)) {
    const item = value[key]
    if (item === undefined) continue
    const property = properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : undefined
    if (property !== undefined) {
      if (!saysNothing(item, property)) setOwn(result, key, asStruct(item, property, definitions))
      continue
    }
    const isEntry = typeof additionalProperties === 'object'
    setOwn(result, key, isEntry ? asStruct(item, additionalProperties, definitions) : item)
  }
  for (const name of Object.keys(properties ?? {})) {
    const property = properties?.[name]
    if (property === undefined || !isStruct(property) || !isAlwaysPrinted(property)) continue
    if (!Object.hasOwn(result, name)) setOwn(result, name, asStruct({}, property, definitions))
  }
  return result
}

/** An object of a custom kind, without empty values in its metadata. */
export function withMetadataStruct(object: JSONValue): JSONValue {
  if (!isObject(object) || !isObject(object.metadata)) return object
  const kept: JSONMap = {}
  for (const [key, value] of Object.entries(object.metadata as JSONMap)) {
    if (!isNothing(value)) setOwn(kept, key, value)
  }
  return { ...(object as JSONMap), metadata: kept }
}

function isNothing(value: JSONValue): boolean {
  if (value === null || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

function saysNothing(value: JSONValue, property: Schema): boolean {
  const presence = property['x-presence']
  if (value === null) return !isAlwaysPrinted(property) || isStruct(property)
  if (presence !== undefined) return false
  if (Array.isArray(value)) return value.length === 0
  if (isObject(value)) return property.type === 'object' && Object.keys(value).length === 0
  // A scalar behind a reference is a type of its own (a quantity, a time), to which these zero values do not apply.
  return property.type !== undefined && (value === '' || value === 0 || value === false)
}

function isAlwaysPrinted(property: Schema): boolean {
  return property['x-presence'] === 'always' || property['x-presence'] === 'null'
}

function isStruct(schema: Schema): boolean {
  return isObject(schema.default) && schema.type === undefined
}
