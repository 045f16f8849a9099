// What happens to an object between the client's request and the store: fields only the server sets, defaults, checks.
// The same rules for every kind; what is particular comes from its `Behaviour`.

import { refuseWrongTypes } from '../body.ts'
import type { Call, World } from '../call.ts'
import type { ServedKind } from '../kinds/kind.ts'
import {
  checkMetadata,
  checkMetadataUpdate,
  checkQualifiedFinalizers,
  finalizerWarnings,
  toTimestamp,
} from '../metadata.ts'
import { clone, equal, type KubeObject, type ObjectMeta, setOwn } from '../object.ts'
import { badRequest, invalidObject } from '../status.ts'

export function hasSubresource(kind: ServedKind, name: string): boolean {
  return kind.subresources.some(subresource => subresource.name === name)
}

export function applyDefaults({ served }: Call, object: KubeObject): void {
  served.kind.behaviour.applyDefaults?.(object)
  if (!served.kind.isCustom) return
  dropEmptyMetadata(object)
  served.compiled.applyDefaults(object)
}

/** `labels: {}` is stored as no labels. */
function dropEmptyMetadata({ metadata }: KubeObject): void {
  for (const [field, value] of Object.entries(metadata)) {
    const isEmpty = value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0)
    if (isEmpty) delete metadata[field as keyof ObjectMeta]
  }
}

/**
 * The path decides the namespace; an object may repeat it, never contradict it. That of a cluster-scoped object is passed over:
 * clusterctl gives one to every kind that it does not know.
 */
export function settleNamespace(call: Call, object: KubeObject): void {
  const expected = call.resource.namespaced ? call.request.namespace : ''
  const given = object.metadata.namespace ?? ''
  if (given !== '' && expected !== '' && given !== expected) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
  if (expected !== '') object.metadata.namespace = expected
  else delete object.metadata.namespace
}

export function prepareNew(call: Call, world: World, object: KubeObject): void {
  const { kind } = call.served
  object.metadata.uid = world.randomUUID()
  object.metadata.creationTimestamp = toTimestamp(world.now())
  delete object.metadata.deletionTimestamp
  delete object.metadata.deletionGracePeriodSeconds
  delete object.metadata.selfLink
  delete object.metadata.resourceVersion
  if (hasGeneration(kind)) object.metadata.generation = 1
  kind.behaviour.prepareForCreate?.(object, contextOf(call, world))
  refuseFaults(call, object)
}

function refuseFaults(call: Call, object: KubeObject): void {
  const { kind, compiled } = call.served
  if (!kind.isCustom) refuseWrongTypes(call.served, object)
  const faults = [
    ...checkMetadata(kind, object.metadata),
    ...checkQualifiedFinalizers(kind, object.metadata),
    ...(kind.isCustom ? compiled.validate(object) : []),
    ...(kind.behaviour.validate?.(object) ?? []),
    ...(kind.behaviour.validateNew?.(object) ?? []),
  ]
  if (faults.length > 0) throw invalidObject(kindOfFaults(kind), object.metadata.name ?? '', faults)
  warn(call, object)
}

function warn(call: Call, object: KubeObject, old?: KubeObject): void {
  const { kind } = call.served
  for (const warning of kind.behaviour.warnings?.(object) ?? []) call.warn(warning)
  if (!kind.isCustom || equal(object.metadata.finalizers ?? [], old?.metadata.finalizers ?? [])) return
  for (const warning of finalizerWarnings(object.metadata)) call.warn(warning)
}

/** All events are of the core group inside, whichever group they came through. */
function kindOfFaults(kind: ServedKind): { group: string; kind: string } {
  return kind.group === 'events.k8s.io' && !kind.isCustom ? { group: '', kind: kind.kind } : kind
}

/** A create or an update through the main resource cannot change the status, where status is a subresource. */
export function dropStatus(kind: ServedKind, object: KubeObject): void {
  if (hasSubresource(kind, 'status') && kind.isCustom) delete object.status
}

export function prepareChange(call: Call, world: World, object: KubeObject, old: KubeObject): void {
  const { kind, compiled } = call.served
  const { subresource } = call.request
  keepWhatIsNotAsked(kind, subresource, object, old)
  keepSystemFields(object, old)
  if (subresource === '' || subresource === 'scale' || subresource === 'approval')
    kind.behaviour.prepareForUpdate?.(object, old, contextOf(call, world))
  if (subresource === 'resize') kind.behaviour.resize?.prepare(object, old)
  // A binding does not change what the pod's author wants.
  if (hasGeneration(kind) && subresource !== 'binding') growGeneration(kind, object, old)
  if (!kind.isCustom) refuseWrongTypes(call.served, object)
  const faults = [
    ...checkMetadata(pathNames(kind), object.metadata),
    ...checkMetadataUpdate(object.metadata, old.metadata),
    ...checkQualifiedFinalizers(kind, object.metadata, old.metadata),
  ]
  if (kind.isCustom) {
    faults.push(...(subresource === 'status' ? compiled.validateStatus(object, old) : compiled.validate(object, old)))
  }
  if (subresource === '') {
    faults.push(
      ...(kind.behaviour.validate?.(object, old) ?? []),
      ...(kind.behaviour.validateUpdate?.(object, old) ?? []),
    )
  }
  if (subresource === 'resize') faults.push(...(kind.behaviour.resize?.validate(object, old) ?? []))
  if (subresource === 'status') faults.push(...(kind.behaviour.validateStatus?.(object, old) ?? []))
  if (faults.length > 0) throw invalidObject(kindOfFaults(kind), object.metadata.name ?? '', faults)
  warn(call, object, old)
}

/** An object that exists may keep a name that today's rule would refuse. */
function pathNames(kind: ServedKind): ServedKind {
  return { ...kind, behaviour: { ...kind.behaviour, nameRule: 'path-segment' } }
}

/** `status` and `approval` change the status, the main resource everything else. */
function keepWhatIsNotAsked(kind: ServedKind, subresource: string, object: KubeObject, old: KubeObject): void {
  if (subresource === 'status' || subresource === 'approval') {
    const { managedFields } = object.metadata
    for (const field of Object.keys({ ...object, ...old })) {
      if (field !== 'status' && field !== 'metadata') restore(object, old, field)
    }
    if (!kind.isCustom) return
    object.metadata = { ...clone(old.metadata) }
    if (managedFields !== undefined) object.metadata.managedFields = managedFields
    return
  }
  // A binding writes where the pod runs and, in the status, that it was scheduled.
  if (hasSubresource(kind, 'status') && subresource !== 'binding') restore(object, old, 'status')
}

function restore(object: KubeObject, old: KubeObject, field: string): void {
  if (Object.hasOwn(old, field)) setOwn(object, field, clone(old[field]))
  else delete object[field]
}

function keepSystemFields(object: KubeObject, old: KubeObject): void {
  const { metadata } = object
  metadata.uid ??= old.metadata.uid ?? ''
  if (old.metadata.creationTimestamp) metadata.creationTimestamp = old.metadata.creationTimestamp
  if (old.metadata.deletionTimestamp) metadata.deletionTimestamp = old.metadata.deletionTimestamp
  const grace = old.metadata.deletionGracePeriodSeconds
  if (grace !== undefined) metadata.deletionGracePeriodSeconds ??= grace
  if (old.metadata.generateName !== undefined) metadata.generateName ??= old.metadata.generateName
  if (old.metadata.generation === undefined) delete metadata.generation
  else metadata.generation = old.metadata.generation
  delete metadata.selfLink
}

function hasGeneration(kind: ServedKind): boolean {
  return kind.isCustom || kind.behaviour.hasGeneration === true
}

function growGeneration(kind: ServedKind, object: KubeObject, old: KubeObject): void {
  const hasStatus = hasSubresource(kind, 'status')
  const counts = (field: string) => field !== 'metadata' && !(hasStatus && field === 'status')
  const changed = Object.keys({ ...object, ...old }).some(field => counts(field) && !equal(object[field], old[field]))
  if (changed) object.metadata.generation = Number(old.metadata.generation ?? 0) + 1
}

function contextOf(call: Call, world: World) {
  return { now: world.now(), user: call.user, randomUUID: world.randomUUID }
}
