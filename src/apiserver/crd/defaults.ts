// What the server fills in when a CustomResourceDefinition leaves it out.

import { isObject, type KubeObject } from '../object.ts'

export function applyCRDDefaults(crd: KubeObject): void {
  const { spec } = crd
  if (!isObject(spec)) return
  if (isObject(spec.names)) nameDefaults(spec.names)
  if (!isObject(spec.conversion)) spec.conversion = { strategy: 'None' }
  const { webhook } = spec.conversion as Record<string, unknown>
  const client = isObject(webhook) ? webhook.clientConfig : undefined
  if (isObject(client) && isObject(client.service)) client.service.port ??= 443
  if (!isObject(crd.status)) return
  const { storedVersions } = crd.status
  // The storage version is always among the stored versions.
  if (Array.isArray(storedVersions) && storedVersions.length === 0) {
    crd.status.storedVersions = withStoredVersion([], spec)
  }
}

function nameDefaults(names: Record<string, unknown>): void {
  const kind = typeof names.kind === 'string' ? names.kind : ''
  if (!names.singular) names.singular = kind.toLowerCase()
  if (!names.listKind && kind !== '') names.listKind = `${kind}List`
}

/** Versions that objects are or were stored in: the storage version joins, none leaves by itself. */
export function withStoredVersion(storedVersions: readonly string[], spec: unknown): string[] {
  const versions = isObject(spec) && Array.isArray(spec.versions) ? spec.versions : []
  const storage: unknown = versions.find(version => isObject(version) && version.storage === true)
  if (!isObject(storage) || typeof storage.name !== 'string') return [...storedVersions]
  return storedVersions.includes(storage.name) ? [...storedVersions] : [...storedVersions, storage.name]
}
