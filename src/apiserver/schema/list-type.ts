// Lists that are sets or maps hold no duplicates. The fault is reported at the second of them; a third is not reported.

import { stringify } from '../../json.ts'
import { at, child, duplicate, type Fault, invalid } from '../faults.ts'
import { isObject } from '../object.ts'
import type { Node } from './node.ts'

export function checkListTypes(value: unknown, node: Node | undefined, path = ''): Fault[] {
  if (node === undefined) return []
  if (Array.isArray(value)) return [...ownFaults(value, node, path), ...itemFaults(value, node, path)]
  if (!isObject(value)) return []
  const faults: Fault[] = []
  for (const [field, inner] of Object.entries(value)) {
    const property = node.properties.get(field)
    if (property !== undefined) faults.push(...checkListTypes(inner, property, child(path, field)))
    else if (typeof node.additional === 'object')
      faults.push(...checkListTypes(inner, node.additional, at(path, field)))
  }
  return faults
}

function itemFaults(list: unknown[], node: Node, path: string): Fault[] {
  if (node.items === undefined) return []
  return list.flatMap((item, i) => checkListTypes(item, node.items, at(path, i)))
}

function ownFaults(list: unknown[], node: Node, path: string): Fault[] {
  switch (node.schema['x-kubernetes-list-type']) {
    case 'set':
      return twins(list).map(i => duplicate(at(path, i), list[i]))
    case 'map':
      return mapFaults(list, node.schema['x-kubernetes-list-map-keys'] ?? [], path)
    default:
      return []
  }
}

function mapFaults(list: unknown[], keys: readonly string[], path: string): Fault[] {
  const stranger = list.findIndex(item => item !== null && !isObject(item))
  if (stranger >= 0) {
    return [invalid(at(path, stranger), list[stranger], 'must be an object for an array of list-type map')]
  }
  const identities = list.map(item => {
    const present = keys.filter(key => isObject(item) && Object.hasOwn(item, key))
    return Object.fromEntries(present.map(key => [key, isObject(item) ? item[key] : null]))
  })
  return twins(identities).map(i => duplicate(at(path, i), identities[i]))
}

function twins(list: readonly unknown[]): number[] {
  const times = new Map<string, number>()
  const second: number[] = []
  for (const [i, item] of list.entries()) {
    const key = canonical(item)
    const count = (times.get(key) ?? 0) + 1
    times.set(key, count)
    if (count === 2) second.push(i)
  }
  return second
}

/** JSON with sorted keys, so that equal values have equal texts. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isObject(value)) return stringify(value)
  const fields = Object.keys(value).sort()
  return `{${fields.map(field => `${JSON.stringify(field)}:${canonical(value[field])}`).join(',')}}`
}
