// Whether pruning and defaulting would leave an object as it is, told by one walk that copies nothing: after a start this is
// asked of every object that is listed. Where that takes more than a walk it says no, and the caller finds out by doing it.

import { isObject } from '../object.ts'
import type { Node } from './node.ts'

/** Of a custom object; its root is a resource. */
export function isSurelyComplete(object: Record<string, unknown>, root: Node, meta: Node): boolean {
  const ownMeta = root.properties.get('metadata')
  // Nothing may be defaulted in there, and no definition that is served asks for it.
  if (ownMeta !== undefined && [...ownMeta.properties.values()].some(({ hasDefault }) => hasDefault)) return false
  return isSettled(object.metadata, meta) && areFieldsSettled(object, root, true)
}

function isSettled(value: unknown, node: Node | undefined): boolean {
  if (Array.isArray(value)) {
    if (node?.keepsUnknown && node.items === undefined) return true
    return value.every(item => item !== null && isSettled(item, node?.items))
  }
  if (!isObject(value)) return true
  if (node === undefined) return Object.keys(value).length === 0
  // An embedded resource has metadata of its own.
  return !node.isEmbedded && areFieldsSettled(value, node, false)
}

function areFieldsSettled(object: Record<string, unknown>, node: Node, isRoot: boolean): boolean {
  for (const field of Object.keys(object)) {
    const value = object[field]
    const property = node.properties.get(field)
    // The metadata was looked at; kind and version are texts, which nothing changes.
    if (isRoot && (field === 'metadata' || ((field === 'kind' || field === 'apiVersion') && value !== null))) continue
    if (property !== undefined) {
      if (value === null ? !property.isNullable : !isSettled(value, property)) return false
    } else if (node.additional !== undefined && node.additional !== 'none') {
      if (value === null || !isSettled(value, node.additional === 'any' ? undefined : node.additional)) return false
    } else if (!node.keepsUnknown) return false
  }
  for (const [name, { hasDefault }] of node.properties) if (hasDefault && !Object.hasOwn(object, name)) return false
  return true
}
