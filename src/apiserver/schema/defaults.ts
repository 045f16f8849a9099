// Defaulting: a field that is absent, or null where null may not be, takes its schema's default. Parents come first,
// so the fields of a defaulted object get their own defaults too.

import { clone, isObject, setOwn } from '../object.ts'
import type { Node } from './node.ts'

export function applyDefaults(value: unknown, node: Node | undefined): void {
  if (node === undefined) return
  if (Array.isArray(value)) {
    defaultItems(value, node)
    return
  }
  if (!isObject(value)) return
  for (const [name, property] of node.properties) {
    if (!property.hasDefault) continue
    const isAbsent = !Object.hasOwn(value, name) || value[name] === undefined
    if (isAbsent || isMisplacedNull(value[name], property)) setOwn(value, name, clone(property.schema.default))
  }
  const ofMap = typeof node.additional === 'object' ? node.additional : undefined
  for (const key of Object.keys(value)) {
    const property = node.properties.get(key)
    if (property !== undefined) {
      applyDefaults(value[key], property)
      continue
    }
    if (ofMap === undefined) continue
    if (isMisplacedNull(value[key], ofMap)) setOwn(value, key, clone(ofMap.schema.default ?? null))
    applyDefaults(value[key], ofMap)
  }
}

function defaultItems(list: unknown[], node: Node): void {
  for (let i = 0; i < list.length; i++) {
    if (node.items !== undefined && isMisplacedNull(list[i], node.items))
      list[i] = clone(node.items.schema.default ?? null)
    applyDefaults(list[i], node.items)
  }
}

function isMisplacedNull(value: unknown, node: Node): boolean {
  return value === null && !node.isNullable
}
