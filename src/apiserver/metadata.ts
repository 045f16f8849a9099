// The rules for `metadata`, which are the same for every kind: what a user may set, what the server sets, what never
// changes. Checks answer with faults; the functions that change an object change it in place.

import { at, child, type Fault, forbidden, invalid, quote, required, tooLong } from './faults.ts'
import type { Behaviour, ServedKind } from './kinds/kind.ts'
import {
  checkLabel,
  checkLabel1035,
  checkLabelValue,
  checkPathSegment,
  checkQualifiedName,
  checkSubdomain,
} from './names.ts'
import { type ObjectMeta, type OwnerReference, parseAPIVersion } from './object.ts'

export const orphanFinalizer = 'orphan'
export const foregroundFinalizer = 'foregroundDeletion'

const annotationBytesMax = 256 * 1024

const nameRules: Record<NonNullable<Behaviour['nameRule']>, (name: string) => string[]> = {
  'dns-subdomain': checkSubdomain,
  'dns-label': checkLabel,
  'dns-1035-label': checkLabel1035,
  'path-segment': checkPathSegment,
}

export function checkMetadata(kind: ServedKind, metadata: ObjectMeta): Fault[] {
  return [
    ...checkName(kind, metadata),
    ...checkNamespace(kind, metadata),
    ...checkLabels(metadata.labels ?? {}, 'metadata.labels'),
    ...checkAnnotations(metadata.annotations ?? {}),
    ...checkOwners(metadata.ownerReferences ?? []),
    ...checkFinalizers(metadata.finalizers ?? []),
  ]
}

export function checkMetadataUpdate(metadata: ObjectMeta, old: ObjectMeta): Fault[] {
  const faults: Fault[] = []
  if (old.deletionTimestamp) {
    const known = new Set(old.finalizers ?? [])
    const added = (metadata.finalizers ?? []).filter(finalizer => !known.has(finalizer)).sort()
    if (added.length > 0) {
      const shown = `[]string{${added.map(finalizer => JSON.stringify(finalizer)).join(', ')}}`
      const why = `no new finalizers can be added if the object is being deleted, found new finalizers ${shown}`
      faults.push(forbidden('metadata.finalizers', why))
    }
  }
  const fixed = [
    'name',
    'namespace',
    'uid',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
  ] as const
  for (const field of fixed) {
    if ((metadata[field] ?? undefined) === (old[field] ?? undefined)) continue
    faults.push(invalid(child('metadata', field), metadata[field] ?? '', 'field is immutable'))
  }
  return faults
}

export function checkLabels(labels: Record<string, string>, path: string): Fault[] {
  const faults: Fault[] = []
  for (const [key, value] of Object.entries(labels)) {
    for (const complaint of checkQualifiedName(key)) faults.push(invalid(path, key, complaint))
    for (const complaint of checkLabelValue(value)) faults.push(invalid(path, value, complaint))
  }
  return faults
}

/** What a client may not bring along on create. */
export function wipeSystemFields(metadata: ObjectMeta): void {
  delete metadata.uid
  delete metadata.resourceVersion
  delete metadata.creationTimestamp
  delete metadata.deletionTimestamp
  delete metadata.deletionGracePeriodSeconds
  delete metadata.selfLink
  delete metadata.generation
}

/** Owner references by uid, once each; answers whether some were dropped. */
export function dropRepeatedOwners(metadata: ObjectMeta): boolean {
  const owners = metadata.ownerReferences
  if (owners === undefined || owners.length < 2) return false
  const kept = new Map<string, OwnerReference>()
  for (const owner of owners) {
    const identity = JSON.stringify([owner.uid, owner.name, owner.kind, owner.apiVersion])
    if (!kept.has(identity)) kept.set(identity, owner)
  }
  if (kept.size === owners.length) return false
  metadata.ownerReferences = [...kept.values()]
  return true
}

const nameAlphabet = 'bcdfghjklmnpqrstvwxz2456789'
const generatedNameBytesMax = 63
const suffixLength = 5

/** `base` + five characters without vowels, so that no word is spelled by chance. */
export function generateName(base: string, random: () => number): string {
  let suffix = ''
  for (let i = 0; i < suffixLength; i++) suffix += nameAlphabet[Math.floor(random() * nameAlphabet.length)]
  return base.slice(0, generatedNameBytesMax - suffixLength) + suffix
}

/** RFC 3339 with whole seconds, as all object times are. */
export function toTimestamp(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`
}

function checkName(kind: ServedKind, metadata: ObjectMeta): Fault[] {
  const rule = nameRules[kind.behaviour.nameRule ?? 'dns-subdomain']
  const faults: Fault[] = []
  const base = metadata.generateName ?? ''
  if (base !== '') {
    const masked = base.length > 1 && base.endsWith('-') ? `${base.slice(0, -2)}a` : base
    for (const complaint of rule(masked)) faults.push(invalid('metadata.generateName', base, complaint))
  }
  const name = metadata.name ?? ''
  if (name === '') faults.push(required('metadata.name', 'name or generateName is required'))
  else for (const complaint of rule(name)) faults.push(invalid('metadata.name', name, complaint))
  return faults
}

function checkNamespace(kind: ServedKind, metadata: ObjectMeta): Fault[] {
  const namespace = metadata.namespace ?? ''
  if (!kind.namespaced) {
    return namespace === '' ? [] : [forbidden('metadata.namespace', 'not allowed on this type')]
  }
  if (namespace === '') return [required('metadata.namespace')]
  return checkLabel(namespace).map(complaint => invalid('metadata.namespace', namespace, complaint))
}

function checkAnnotations(annotations: Record<string, string>): Fault[] {
  const faults: Fault[] = []
  let bytes = 0
  for (const [key, value] of Object.entries(annotations)) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value)
    for (const complaint of checkQualifiedName(key.toLowerCase())) {
      faults.push(invalid('metadata.annotations', key, complaint))
    }
  }
  if (bytes > annotationBytesMax) faults.push(tooLong('metadata.annotations', annotationBytesMax))
  return faults
}

const rivalsNamedMax = 10

function checkOwners(owners: readonly OwnerReference[]): Fault[] {
  const path = 'metadata.ownerReferences'
  const faults: Fault[] = []
  let controller: string | undefined
  let rivals = 0
  for (const owner of owners) {
    const { version } = parseAPIVersion(owner.apiVersion ?? '')
    if (version === '') faults.push(invalid(`${path}.apiVersion`, owner.apiVersion ?? '', 'version must not be empty'))
    for (const field of ['kind', 'name', 'uid'] as const) {
      if (!owner[field]) faults.push(invalid(`${path}.${field}`, owner[field] ?? '', 'must not be empty'))
    }
    if (owner.apiVersion === 'v1' && owner.kind === 'Event') {
      faults.push(invalid(path, owner, '/v1, Kind=Event is disallowed from being an owner'))
    }
    if (owner.controller !== true) continue
    const current = `${owner.kind}/${owner.name}`
    // Each of these faults repeats the whole list, so there may only be some.
    if (controller !== undefined && ++rivals <= rivalsNamedMax) {
      const why = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${current}`
      faults.push(invalid(path, owners, why))
    }
    controller ??= current
  }
  return faults
}

function checkFinalizers(finalizers: readonly string[]): Fault[] {
  const path = 'metadata.finalizers'
  const faults = finalizers.flatMap(finalizer =>
    checkQualifiedName(finalizer).map(complaint => invalid(path, finalizer, complaint)),
  )
  if (finalizers.includes(orphanFinalizer) && finalizers.includes(foregroundFinalizer)) {
    const why = `finalizer ${orphanFinalizer} and ${foregroundFinalizer} cannot be both set`
    faults.push(invalid(path, finalizers, why))
  }
  return faults
}

const standardFinalizers = ['kubernetes', orphanFinalizer, foregroundFinalizer]

/** Built-in kinds whose metadata is checked like new with every change. */
const alwaysStrict = new Set([
  'ConfigMap',
  'Secret',
  'Service',
  'ServiceAccount',
  'LimitRange',
  'PersistentVolume',
  'PersistentVolumeClaim',
  'Role',
  'ClusterRole',
  'RoleBinding',
  'ClusterRoleBinding',
  'MutatingWebhookConfiguration',
  'ValidatingWebhookConfiguration',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
])

/** Built-in kinds are stricter about names of finalizers than custom kinds. */
export function checkQualifiedFinalizers(kind: ServedKind, metadata: ObjectMeta, old?: ObjectMeta): Fault[] {
  if (kind.isCustom || kind.group === 'apiextensions.k8s.io' || kind.group === 'apiregistration.k8s.io') return []
  if (old !== undefined && !alwaysStrict.has(kind.kind)) return []
  return (metadata.finalizers ?? []).flatMap((finalizer, i) => {
    const path = at('metadata.finalizers', i)
    const faults = checkQualifiedName(finalizer).map(complaint => invalid(path, finalizer, complaint))
    if (finalizer.includes('/') || standardFinalizers.includes(finalizer)) return faults
    return [...faults, invalid(path, finalizer, 'name is neither a standard finalizer name nor is it fully qualified')]
  })
}

/** A custom kind may have any finalizer; the client is warned of names that other controllers may use too. */
export function finalizerWarnings(metadata: ObjectMeta): string[] {
  return (metadata.finalizers ?? []).flatMap(finalizer => {
    if (standardFinalizers.includes(finalizer) || finalizer.includes('/')) return []
    const how = finalizer.includes('.') ? 'name including a path (/)' : 'name'
    const why = `prefer a domain-qualified finalizer ${how} to avoid accidental conflicts with other finalizer writers`
    return [`metadata.finalizers: ${quote(finalizer)}: ${why}`]
  })
}
