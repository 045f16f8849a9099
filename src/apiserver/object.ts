// What every Kubernetes object has in common, and nothing more. Values come from `json.ts`, so an integer that a
// JavaScript number cannot hold is a bigint, and every key is an own property.

import { type JSONObject, type JSONValue, setOwn } from '../json.ts'

export { type JSONObject, type JSONValue, setOwn }

export interface OwnerReference {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

export interface ManagedFieldsEntry {
  manager?: string
  operation?: string
  apiVersion?: string
  time?: string
  fieldsType?: string
  fieldsV1?: JSONObject
  subresource?: string
}

export interface ObjectMeta {
  name?: string
  generateName?: string
  namespace?: string
  selfLink?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string | null
  deletionTimestamp?: string | null
  deletionGracePeriodSeconds?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: OwnerReference[]
  finalizers?: string[]
  managedFields?: ManagedFieldsEntry[]
}

/** An object as the API server handles it: typed where the server looks, open where it does not. */
export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  [field: string]: unknown
}

export interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

export interface GroupResource {
  readonly group: string
  readonly plural: string
}

export function toAPIVersion(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`
}

/** `v1` is the core group; `a/b` is group a, version b. */
export function parseAPIVersion(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf('/')
  if (slash < 0) return { group: '', version: apiVersion }
  return { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Reads an own property only: `toString` and the like are not fields of an object. */
export function getOwn(target: unknown, key: string): unknown {
  return isObject(target) && Object.hasOwn(target, key) ? target[key] : undefined
}

/** A deep copy of JSON data that keeps bigint values and odd keys. Spreading copies the shape at once, field by field it is slow. */
export function clone<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(clone) as T
  const copy = { ...value } as Record<string, unknown>
  for (const key in copy) {
    const field = copy[key]
    if (typeof field === 'object' && field !== null) setOwn(copy, key, clone(field))
  }
  return copy as T
}

/** Semantic equality of JSON data; key order does not count, an absent key equals an undefined one. */
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => equal(item, b[i]))
  if (!isObject(a) || !isObject(b)) return false
  const present = Object.keys(a).filter(key => a[key] !== undefined)
  const others = Object.keys(b).filter(key => b[key] !== undefined)
  return present.length === others.length && present.every(key => Object.hasOwn(b, key) && equal(a[key], b[key]))
}
