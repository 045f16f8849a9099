// Pruning: fields that a schema does not name are not stored. The same walk, without removing, finds the unknown
// fields that `fieldValidation` reports.

import { isObject } from '../object.ts'
import { type Node, nodeOfField } from './node.ts'

export interface PruneOptions {
  readonly removes: boolean
  /** In a built-in kind an object without declared fields is raw JSON and stays as it is. */
  readonly bareIsOpen: boolean
}

const typeAndMeta: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

/** Paths of unknown fields of a custom object (sorted, as kube-apiserver reports them). Its root is a resource. */
export function pruneResource(
  object: Record<string, unknown>,
  root: Node,
  meta: Node,
  options: PruneOptions,
): string[] {
  const inMetadata: string[] = []
  prune(object.metadata, meta, 'metadata', inMetadata, options)
  const elsewhere: string[] = []
  pruneFields(object, root, '', true, elsewhere, options)
  const inEmbedded: string[] = []
  pruneEmbeddedMeta(object, root, meta, '', inEmbedded, options)
  return [...inMetadata.sort(), ...elsewhere.sort(), ...inEmbedded.sort()]
}

/** Paths of unknown fields in document order. */
export function pruneValue(value: unknown, node: Node, options: PruneOptions): string[] {
  const found: string[] = []
  prune(value, node, '', found, options)
  return found
}

function prune(value: unknown, node: Node | undefined, path: string, found: string[], options: PruneOptions): void {
  if (Array.isArray(value)) {
    if (node?.keepsUnknown && node.items === undefined) return
    for (const [i, item] of value.entries()) prune(item, node?.items, `${path}[${i}]`, found, options)
    return
  }
  if (isObject(value)) pruneFields(value, node, path, node?.isEmbedded ?? false, found, options)
}

function pruneFields(
  object: Record<string, unknown>,
  node: Node | undefined,
  path: string,
  isResource: boolean,
  found: string[],
  options: PruneOptions,
): void {
  const isOpen = node?.keepsUnknown || (options.bareIsOpen && (node === undefined || node.isBare))
  for (const field of Object.keys(object)) {
    if (isResource && typeAndMeta.has(field)) continue
    const at = path === '' ? field : `${path}.${field}`
    const property = node?.properties.get(field)
    if (property !== undefined) {
      prune(object[field], property, at, found, options)
    } else if (node?.additional !== undefined && node.additional !== 'none') {
      // A map of anything still has no schema for what is inside: nested fields are unknown.
      prune(object[field], node.additional === 'any' ? undefined : node.additional, at, found, options)
    } else if (!isOpen) {
      found.push(at)
      if (options.removes) delete object[field]
    }
  }
}

function pruneEmbeddedMeta(
  value: unknown,
  node: Node | undefined,
  meta: Node,
  path: string,
  found: string[],
  options: PruneOptions,
): void {
  if (node === undefined) return
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) pruneEmbeddedMeta(item, node.items, meta, `${path}[${i}]`, found, options)
    return
  }
  if (!isObject(value)) return
  if (node.isEmbedded) prune(value.metadata, meta, path === '' ? 'metadata' : `${path}.metadata`, found, options)
  for (const field of Object.keys(value)) {
    const at = path === '' ? field : `${path}.${field}`
    pruneEmbeddedMeta(value[field], nodeOfField(node, field), meta, at, found, options)
  }
}

/** A null that is not allowed and has no default is dropped silently. */
export function pruneNulls(value: unknown, node: Node | undefined): void {
  if (Array.isArray(value)) {
    for (const item of value) pruneNulls(item, node?.items)
    return
  }
  if (!isObject(value)) return
  for (const field of Object.keys(value)) {
    const of = nodeOfField(node, field)
    if (value[field] === null && of !== undefined && !of.isNullable && !of.hasDefault) delete value[field]
    else pruneNulls(value[field], of)
  }
}
