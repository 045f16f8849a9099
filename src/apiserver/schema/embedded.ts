// An object inside an object (`x-kubernetes-embedded-resource`) must have apiVersion, kind and valid metadata.

import { at, child, type Fault, invalid, required } from '../faults.ts'
import { checkLabels } from '../metadata.ts'
import { checkLabel1035, checkPathSegment } from '../names.ts'
import { isObject } from '../object.ts'
import { type Node, nodeOfField } from './node.ts'

export function checkEmbedded(value: unknown, node: Node | undefined, path = ''): Fault[] {
  if (node === undefined) return []
  if (Array.isArray(value)) return value.flatMap((item, i) => checkEmbedded(item, node.items, at(path, i)))
  if (!isObject(value)) return []
  const faults = node.isEmbedded ? resourceFaults(value, path) : []
  for (const [field, inner] of Object.entries(value)) {
    const place = node.properties.has(field) ? child(path, field) : at(path, field)
    faults.push(...checkEmbedded(inner, nodeOfField(node, field), place))
  }
  return faults
}

function resourceFaults(value: Record<string, unknown>, path: string): Fault[] {
  const faults: Fault[] = []
  for (const field of ['apiVersion', 'kind']) {
    if (!Object.hasOwn(value, field)) faults.push(required(child(path, field)))
  }
  if (Object.hasOwn(value, 'apiVersion')) faults.push(...apiVersionFaults(value.apiVersion, child(path, 'apiVersion')))
  if (Object.hasOwn(value, 'kind')) faults.push(...kindFaults(value.kind, child(path, 'kind')))
  if (isObject(value.metadata)) faults.push(...metadataFaults(value.metadata, child(path, 'metadata')))
  return faults
}

function apiVersionFaults(value: unknown, path: string): Fault[] {
  if (typeof value !== 'string') return [invalid(path, value, 'must be a string')]
  if (value === '') return [invalid(path, value, 'must not be empty')]
  if (value.split('/').length > 2) return [invalid(path, value, `unexpected GroupVersion string: ${value}`)]
  return []
}

function kindFaults(value: unknown, path: string): Fault[] {
  if (typeof value !== 'string') return [invalid(path, value, 'must be a string')]
  if (value === '') return [invalid(path, value, 'must not be empty')]
  const complaints = checkLabel1035(value.toLowerCase())
  if (complaints.length === 0) return []
  return [invalid(path, value, `may have mixed case, but should otherwise match: ${complaints.join(',')}`)]
}

function metadataFaults(metadata: Record<string, unknown>, path: string): Fault[] {
  const faults: Fault[] = []
  if (typeof metadata.name === 'string') {
    for (const complaint of checkPathSegment(metadata.name)) {
      faults.push(invalid(child(path, 'name'), metadata.name, complaint))
    }
  }
  if (isObject(metadata.labels)) {
    const texts = Object.entries(metadata.labels).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    )
    faults.push(...checkLabels(Object.fromEntries(texts), child(path, 'labels')))
  }
  return faults
}
