// Fields that a built-in kind always has. On a real server its objects are Go structs, and a struct inside a struct
// exists even when nobody set anything in it: `spec`, `spec.strategy`, `spec.template.metadata`. It cannot be added, so
// nobody comes to own it, while a field that may be absent is owned by who brought it. The published schemas tell the
// two apart by the default they give to the first.

import { isObject, type JSONValue, setOwn } from '../object.ts'
import { type Definitions, resolve, type Schema } from '../schema/schema.ts'

type JSONMap = Record<string, JSONValue>

/** An object of the kind in which nothing was set. Lists that are always printed are there, as null. */
export function toZeroObject(schema: Schema, definitions: Definitions): JSONMap {
  const zero: JSONMap = {}
  const { properties = {} } = resolve(schema, definitions)
  for (const name of Object.keys(properties)) {
    const property = properties[name]
    if (property?.['x-presence'] !== 'always') continue
    setOwn(
      zero,
      name,
      isStruct(property) ? toZeroObject(property, definitions) : ((property.default ?? null) as JSONValue),
    )
  }
  return zero
}

/** The same value with all structs in it that are always there. The argument is not changed. */
export function withStructs(value: JSONValue, schema: Schema, definitions: Definitions): JSONValue {
  const { properties, items, additionalProperties } = resolve(schema, definitions)
  if (Array.isArray(value)) {
    const element = Array.isArray(items) ? items[0] : items
    return element === undefined ? value : value.map(item => withStructs(item, element, definitions))
  }
  if (!isObject(value)) return value
  const result: JSONMap = {}
  for (const key of Object.keys(value)) {
    const inner =
      properties !== undefined && Object.hasOwn(properties, key)
        ? properties[key]
        : typeof additionalProperties === 'object'
          ? additionalProperties
          : undefined
    const item = value[key] as JSONValue
    setOwn(result, key, inner === undefined ? item : withStructs(item, inner, definitions))
  }
  for (const name of Object.keys(properties ?? {})) {
    const property = properties?.[name]
    if (property === undefined || !isStruct(property) || property['x-presence'] !== 'always') continue
    if ((result[name] ?? null) === null) setOwn(result, name, withStructs({}, property, definitions))
  }
  return result
}

function isStruct(schema: Schema): boolean {
  return isObject(schema.default) && schema.type === undefined
}
