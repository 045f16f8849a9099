// Which part of the old object a part of the new one continues: fields by name, items of a list by their map keys.
// Other lists have no identity of items, so nothing inside them continues anything.

import { equal, isObject } from '../object.ts'
import type { Node } from './node.ts'

/** The old value behind a field, as a box, or undefined when there is none to compare with. */
export interface Old {
  readonly value: unknown
}

export function oldField(old: Old | undefined, node: Node, field: string): Old | undefined {
  if (old === undefined || !isObject(old.value) || !Object.hasOwn(old.value, field)) return undefined
  if (!node.properties.has(field) && typeof node.additional !== 'object') return undefined
  return old.value[field] === undefined ? undefined : { value: old.value[field] }
}

/** A function from an item of the new list to the old item with the same keys. */
export function oldItems(old: Old | undefined, node: Node): (item: unknown) => Old | undefined {
  const keys = node.schema['x-kubernetes-list-map-keys']
  const isKeyed = node.schema['x-kubernetes-list-type'] === 'map' && keys !== undefined
  if (!isKeyed || old === undefined || !Array.isArray(old.value)) return () => undefined
  const byKey = new Map<string, Old>()
  for (const item of old.value) {
    const key = keyOf(item, keys, node)
    if (key !== undefined && !byKey.has(key)) byKey.set(key, { value: item })
  }
  return item => {
    const key = keyOf(item, keys, node)
    return key === undefined ? undefined : byKey.get(key)
  }
}

function keyOf(item: unknown, keys: readonly string[], node: Node): string | undefined {
  if (!isObject(item)) return undefined
  return keys
    .map(key => {
      const value = Object.hasOwn(item, key) ? item[key] : node.items?.properties.get(key)?.schema.default
      return `${typeof value}:${String(value).length}:${String(value)}`
    })
    .join('|')
}

export function isUnchanged(value: unknown, old: Old | undefined): boolean {
  return old !== undefined && equal(value, old.value)
}
