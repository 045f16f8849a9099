// Objects in the store: which key, which bytes. Stored bytes are what clients read, resourceVersion included, with
// `kind` and `apiVersion` first, so that answering a get, a list or a watch needs no decoding.

import { hasLongNumber, parseJSON, stringify } from '../json.ts'
import type { Change, Entry, Store } from '../store/store.ts'
import type { Resource } from './kinds/registry.ts'
import type { KubeObject } from './object.ts'

export function keyOf(resource: Resource, namespace: string, name: string): string {
  return resource.namespaced ? `${resource.keyPrefix}${namespace}/${name}` : `${resource.keyPrefix}${name}`
}

export function prefixOf(resource: Resource, namespace: string): string {
  return resource.namespaced && namespace !== '' ? `${resource.keyPrefix}${namespace}/` : resource.keyPrefix
}

export function encodeObject(object: KubeObject, revision: number): Buffer {
  const { kind, apiVersion, metadata, ...rest } = object
  return Buffer.from(
    stringify({ kind, apiVersion, metadata: { ...metadata, resourceVersion: String(revision) }, ...rest }),
  )
}

const decoded = new WeakMap<Entry, WeakRef<KubeObject>>()

/** The object of an entry. Shared between readers: clone before changing. Cached only while a caller uses it. */
export function decodeEntry(entry: Entry): KubeObject {
  const known = decoded.get(entry)?.deref()
  if (known !== undefined) return known
  const object = decodeBytes(entry.value)
  decoded.set(entry, new WeakRef(object))
  return object
}

/** Without a long integer the native parser is exact. */
function decodeBytes(bytes: Buffer): KubeObject {
  const text = bytes.toString('utf8')
  return (hasLongNumber(text) ? parseJSON(text).value : JSON.parse(text)) as KubeObject
}

/** The two halves of a change as objects, for selectors that must look inside. */
export function objectsOf(change: Change): { current: KubeObject; previous: KubeObject | undefined } {
  return {
    current: decodeEntry(change.entry),
    previous: change.previous === undefined ? undefined : decodeEntry(change.previous),
  }
}

export function getObject(store: Store, resource: Resource, namespace: string, name: string): KubeObject | undefined {
  const entry = store.get(keyOf(resource, namespace, name))
  return entry === undefined ? undefined : decodeEntry(entry)
}

export function* listObjects(store: Store, resource: Resource, namespace = ''): Generator<KubeObject> {
  for (const entry of store.list(prefixOf(resource, namespace)).entries) yield decodeEntry(entry)
}
