// Field ownership, kept in `metadata.managedFields`, and what follows from it.
//
// An applier owns what it applies. A field that it applied before and no longer applies is removed, unless another
// manager owns it. To change a value that another manager owns is a conflict, refused unless forced; to apply the same
// value is to share it. Every other writer (create, update, patch) owns what it changed, and never conflicts: it takes
// fields from their owners. Doing the same again changes nothing, times included, so a caller that compares can keep
// the version.

import { parseJSON } from '../../json.ts'
import {
  clone,
  equal,
  getOwn,
  isObject,
  type JSONValue,
  type KubeObject,
  type ManagedFieldsEntry,
  parseAPIVersion,
} from '../object.ts'
import type { Definitions, Schema } from '../schema/schema.ts'
import { badRequest, StatusError } from '../status.ts'
import { type ObjectType, toObjectType } from './atom.ts'
import {
  describePath,
  difference,
  emptySet,
  type FieldSet,
  fieldsAt,
  has,
  intersection,
  isEmpty,
  type Path,
  paths,
  recursiveDifference,
  union,
  unionOf,
} from './field-set.ts'
import {
  decodeManagers,
  encodeManagers,
  idOf,
  type Manager,
  type Managers,
  secondsOf,
  toTime,
} from './managed-fields.ts'
import { unexplained } from './refusals.ts'
import { asStruct, toZeroObject, withMetadataStruct } from './struct-fields.ts'
import {
  assertTyped,
  type Comparison,
  compare,
  fitToSchema,
  identityFields,
  ignoring,
  merge,
  removeItems,
  TypeFault,
  toFieldSet,
  withNamedFields,
} from './typed-walk.ts'

const updateManagersMax = 10
const ancientManager = 'ancient-changes'
const beforeFirstApplyManager = 'before-first-apply'
const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration'
const annotationBytesMax = 256 * 1024

/** An object at another version, with that version's schema. */
export interface VersionedObject {
  readonly object: KubeObject
  readonly schema: Schema
  readonly definitions: Definitions
}

export interface OwnershipOptions {
  /** Of the request; all objects given here are at this version. */
  readonly apiVersion: string
  readonly kind: string
  readonly schema: Schema
  readonly definitions: Definitions
  readonly isCustom: boolean
  /** Empty counts as `unknown`. */
  readonly manager: string
  /** `status` and the like; absent for the object itself. */
  readonly subresource?: string
  readonly now: Date
  /** Fields that this verb does not write, such as `['status']` on the object itself; the writer does not own them. */
  readonly resetFields?: readonly (readonly string[])[]
  /**
   * The object as another version sees it, itself unchanged; undefined when that version is not served: its managers are
   * dropped.
   */
  readonly toVersion?: (object: KubeObject, apiVersion: string) => VersionedObject | undefined
}

export interface ApplyOptions extends OwnershipOptions {
  /** Undefined to create. */
  readonly live: KubeObject | undefined
  /** What the client sent, as it sent it. */
  readonly applied: JSONValue
  readonly force: boolean
}

export interface UpdateOptions extends OwnershipOptions {
  /** Undefined on create. */
  readonly live: KubeObject | undefined
  /** The object as it will be stored; its `managedFields` are those the client sent. */
  readonly updated: KubeObject
}

/** Reads nothing and writes nothing: the caller stores the result, which equals `live` when nothing changed. */
export function serverSideApply(options: ApplyOptions): { object: KubeObject } {
  const applied = toAppliable(options)
  const attempt = (force: boolean) => applyOnce(options, applied, force)
  let outcome = attempt(options.force)
  if (outcome.kind === 'conflict') {
    const left = conflictsBeyondLastApplied(options, outcome.conflicts)
    if (left.length > 0) throw conflictError(left)
    outcome = attempt(true)
  }
  if (outcome.kind === 'conflict') throw conflictError(outcome.conflicts)
  const { object, managers } = outcome
  if (options.manager === 'kubectl') refreshLastApplied(object, applied)
  object.metadata = withManagers(object.metadata, encodeManagers(managers))
  if (options.live !== undefined) keepTimesIfUnchanged(object, options.live)
  return { object }
}

/** The `managedFields` of an object that was created, updated or patched; empty when they are not kept. */
export function trackUpdate(options: UpdateOptions): ManagedFieldsEntry[] {
  const managers = managersForUpdate(options)
  const isCreate = options.live?.metadata.uid === undefined
  if (managers.size === 0 && !isCreate) return []
  try {
    const tracked = updateManagers(
      options,
      toLive(options),
      toTyped(options, options.updated),
      managers,
      options.manager,
    )
    return encodeManagers(capUpdaters(tracked))
  } catch (error) {
    // An object that its schema cannot hold is refused elsewhere. Here it only means that ownership cannot be told.
    if (error instanceof StatusError) throw error
    return []
  }
}

/** Writes that turned out to change nothing must not change times either; compare the object as it will be stored. */
export function keepTimesIfUnchanged(object: KubeObject, live: KubeObject): void {
  const [mine, theirs] = [object.metadata.managedFields ?? [], live.metadata.managedFields ?? []]
  if (mine.length === 0 || mine.length !== theirs.length) return
  const withoutTime = ({ time: _, ...entry }: ManagedFieldsEntry) => entry
  if (!equal(mine.map(withoutTime), theirs.map(withoutTime))) return
  if (!equal(withoutManagedFields(object), withoutManagedFields(live))) return
  object.metadata.managedFields = clone(theirs)
}

/** The manager's name when the request gives none: what stands before the slash in its User-Agent. */
export function managerFromUserAgent(userAgent: string): string {
  let name = ''
  let bytes = 0
  for (const character of userAgent.split('/', 1)[0] ?? '') {
    if (!isPrintable(character)) continue
    bytes += Buffer.byteLength(character)
    if (bytes > managerBytesMax) break
    name += character
  }
  return name
}

const managerBytesMax = 128

function isPrintable(character: string): boolean {
  return character === ' ' || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(character)
}

// One object at one version.

interface Typed {
  readonly value: JSONValue
  readonly type: ObjectType
  readonly apiVersion: string
}

function toTyped(options: OwnershipOptions, object: KubeObject): Typed {
  const { schema, definitions, apiVersion } = options
  const value = toStored(options, withoutManagedFields(object))
  return { value, type: toObjectType(schema, definitions), apiVersion }
}

/** Built-in objects are structs on a real server; of a custom object only the metadata is one. */
function toStored({ isCustom, schema, definitions }: OwnershipOptions, value: JSONValue): JSONValue {
  return isCustom ? withMetadataStruct(value) : asStruct(value, schema, definitions)
}

/** What was there before; on create an object of the kind in which nothing is set. */
function toLive(options: OwnershipOptions & { live: KubeObject | undefined }): Typed {
  if (options.live !== undefined) return toTyped(options, options.live)
  return toEmpty(options)
}

function toEmpty({ apiVersion, kind, schema, definitions, isCustom }: OwnershipOptions): Typed {
  const zero = isCustom ? {} : toZeroObject(schema, definitions)
  return { value: { ...zero, apiVersion, kind }, type: toObjectType(schema, definitions), apiVersion }
}

function atVersion(options: OwnershipOptions, typed: Typed, apiVersion: string): Typed | undefined {
  if (typed.apiVersion === apiVersion) return typed
  const converted = options.toVersion?.(typed.value as unknown as KubeObject, apiVersion)
  if (converted === undefined) return undefined
  return toTyped(
    { ...options, apiVersion, schema: converted.schema, definitions: converted.definitions },
    clone(converted.object),
  )
}

function withoutManagedFields(object: KubeObject): JSONValue {
  const value = object as unknown as Record<string, JSONValue>
  if (!isObject(object.metadata)) return value
  const { managedFields: _, ...metadata } = object.metadata
  return { ...value, metadata: metadata as unknown as JSONValue }
}

function withManagers(metadata: KubeObject['metadata'], entries: ManagedFieldsEntry[]): KubeObject['metadata'] {
  const { managedFields: _, ...rest } = metadata ?? {}
  return entries.length > 0 ? { ...rest, managedFields: entries } : rest
}

// Update.

function managersForUpdate({ live, updated, subresource, isCustom }: UpdateOptions): Managers {
  const kept = () => decodeOrNone(live?.metadata.managedFields)
  // A write to a subresource cannot change `managedFields`.
  if (subresource !== undefined) return kept()
  const sent = updated.metadata.managedFields
  if (isReset(sent, isCustom)) return new Map()
  // Clients that know nothing of managedFields drop them; that is no request to reset them.
  const managers = decodeOrNone(sent)
  return managers.size > 0 ? managers : kept()
}

/** One empty entry resets ownership; so does an empty list, except for custom kinds, whose metadata drops it. */
function isReset(entries: ManagedFieldsEntry[] | undefined, isCustom: boolean): boolean {
  if (!Array.isArray(entries)) return false
  const [only, ...others] = entries
  if (only === undefined) return !isCustom
  return others.length === 0 && isObject(only) && Object.keys(only).length === 0
}

function decodeOrNone(entries: ManagedFieldsEntry[] | undefined): Managers {
  try {
    return decodeManagers(Array.isArray(entries) ? entries : [])
  } catch {
    return new Map()
  }
}

function updateManagers(
  options: OwnershipOptions,
  live: Typed,
  updated: Typed,
  managers: Managers,
  name: string,
): Managers {
  const fitted = fitManagers(options, live, managers)
  const { changes, managers: others } = settle(options, live, updated, fitted, undefined)
  const taken = recursiveDifference(union(changes.modified, changes.added), resetSet(options))
  const own = difference(taken, identityFields)
  if (isEmpty(own)) return others
  const self = newManager(options, name, 'Update', own)
  const id = idOf(self)
  const previous = others.get(id)
  others.set(id, previous === undefined ? self : { ...self, fields: union(own, previous.fields) })
  return others
}

function newManager(
  { apiVersion, subresource, now }: OwnershipOptions,
  name: string,
  operation: Manager['operation'],
  fields: FieldSet,
): Manager {
  const manager = name === '' ? 'unknown' : name
  // A real server loses the time on the way from the scale back to the object it belongs to.
  const time = subresource === 'scale' ? undefined : toTime(now)
  return { manager, operation, apiVersion, subresource: subresource ?? '', fields, time }
}

/** Updaters beyond the cap go, oldest first, into one bucket per version: the list must not grow without bound. */
function capUpdaters(managers: Managers): Managers {
  const updaters = [...managers].filter(([, manager]) => manager.operation === 'Update')
  let excess = updaters.length - updateManagersMax
  if (excess <= 0) return managers
  updaters.sort(([idA, a], [idB, b]) => secondsOf(a) - secondsOf(b) || (idA < idB ? -1 : 1))
  const capped = new Map(managers)
  const firsts = new Map<string, string>()
  const gathered = new Map<string, FieldSet[]>()
  for (const [id, updater] of updaters) {
    if (excess <= 0) break
    const first = firsts.get(updater.apiVersion)
    if (first === undefined) {
      firsts.set(updater.apiVersion, id)
      continue
    }
    const name = { manager: ancientManager, operation: 'Update', subresource: '' } as const
    const bucketId = idOf({ ...name, apiVersion: updater.apiVersion })
    const bucket = capped.get(bucketId) ?? capped.get(first)
    if (!capped.has(bucketId)) capped.delete(first)
    const sets = gathered.get(bucketId) ?? [bucket?.fields ?? emptySet]
    sets.push(updater.fields)
    gathered.set(bucketId, sets)
    capped.delete(id)
    capped.set(bucketId, { ...updater, ...name })
    excess--
  }
  for (const [bucketId, sets] of gathered) {
    const bucket = capped.get(bucketId)
    if (bucket !== undefined) capped.set(bucketId, { ...bucket, fields: unionOf(sets) })
  }
  return capped
}

// What a change does to the other managers.

interface Conflict {
  readonly manager: Manager
  readonly path: Path
}

interface Settled {
  /** In the version of the request. */
  readonly changes: Comparison
  readonly managers: Managers
  readonly conflicts: Conflict[]
}

/** Takes what was changed or removed from all other managers, and returns what was taken as conflicts. */
function settle(
  options: OwnershipOptions,
  before: Typed,
  after: Typed,
  managers: Managers,
  writer: string | undefined,
): Settled {
  const reset = resetSet(options)
  const changes = ignoring(compare(after.type, before.value, after.value), reset)
  const byVersion = new Map<string, Taken | undefined>([[after.apiVersion, toTaken(changes)]])
  const takenAt = (version: string) => {
    if (!byVersion.has(version)) {
      const [old, now] = [atVersion(options, before, version), atVersion(options, after, version)]
      const known = old !== undefined && now !== undefined
      byVersion.set(version, known ? toTaken(ignoring(compare(now.type, old.value, now.value), reset)) : undefined)
    }
    return byVersion.get(version)
  }

  const left: Managers = new Map()
  const conflicts: Conflict[] = []
  for (const id of [...managers.keys()].sort()) {
    const manager = managers.get(id)
    if (manager === undefined) continue
    if (id === writer) {
      if (!isEmpty(manager.fields)) left.set(id, manager)
      continue
    }
    const theirs = takenAt(manager.apiVersion)
    if (theirs === undefined) continue
    const lost = intersection(manager.fields, theirs.set)
    for (const path of paths(lost)) conflicts.push({ manager, path })
    const fields = difference(difference(manager.fields, lost), theirs.removed)
    if (!isEmpty(fields)) left.set(id, { ...manager, fields })
  }
  return { changes, managers: left, conflicts }
}

interface Taken {
  readonly set: FieldSet
  readonly removed: FieldSet
}

function toTaken({ modified, added, removed }: Comparison): Taken {
  return { set: union(modified, added), removed }
}

function fitManagers(options: OwnershipOptions, live: Typed, managers: Managers): Managers {
  const fitted: Managers = new Map()
  const types = new Map<string, ObjectType | undefined>()
  for (const [id, manager] of managers) {
    const { apiVersion } = manager
    if (!types.has(apiVersion)) types.set(apiVersion, atVersion(options, live, apiVersion)?.type)
    const type = types.get(apiVersion)
    if (type !== undefined) fitted.set(id, { ...manager, fields: fitToSchema(type, manager.fields) })
  }
  return fitted
}

function resetSet({ resetFields }: OwnershipOptions): FieldSet {
  return resetFields === undefined ? emptySet : fieldsAt(...resetFields)
}

// Apply.

type Outcome =
  | { readonly kind: 'applied'; readonly object: KubeObject; readonly managers: Managers }
  | { readonly kind: 'conflict'; readonly conflicts: Conflict[] }

function applyOnce(options: ApplyOptions, applied: KubeObject, force: boolean): Outcome {
  const live = toLive(options)
  const config: Typed = { ...live, value: applied as unknown as JSONValue }
  const managers = fitManagers(options, live, managersForApply(options, live))
  const self = newManager(options, options.manager, 'Apply', ownedBy(options, config))
  const id = idOf(self)
  const last = managers.get(id)
  managers.set(id, { ...self, time: last?.time })

  const merged: Typed = { ...live, value: merge(live.type, live.value, config.value) }
  const pruned = last === undefined ? merged : prune(options, merged, managers, last)
  const settled = settle(options, live, pruned, managers, id)
  if (!force && settled.conflicts.length > 0) return { kind: 'conflict', conflicts: settled.conflicts }

  const isSame = equal(live.value, pruned.value)
  const mine = settled.managers.get(id)
  if (mine !== undefined) {
    const fields = difference(mine.fields, identityFields)
    if (isEmpty(fields)) settled.managers.delete(id)
    else settled.managers.set(id, { ...mine, fields, time: isSame ? mine.time : self.time })
  }
  return { kind: 'applied', object: toResult(options, live, pruned), managers: settled.managers }
}

/** The object to store: `live` itself when the two differ only in what a Go struct does not hold. */
function toResult(options: ApplyOptions, before: Typed, after: Typed): KubeObject {
  const { live, applied } = options
  const value = toStored(options, after.value)
  if (live !== undefined) return clone(equal(before.value, value) ? live : (value as unknown as KubeObject))
  const object = clone(value) as unknown as KubeObject
  dropUnsaid(object, applied)
  return object
}

function ownedBy(options: OwnershipOptions, config: Typed): FieldSet {
  return recursiveDifference(toFieldSet(config.type, config.value), resetSet(options))
}

/** An object without managers: all of it belongs to `before-first-apply`. */
function managersForApply(options: ApplyOptions, live: Typed): Managers {
  let managers: Managers
  try {
    managers = decodeManagers(options.live?.metadata.managedFields ?? [])
  } catch (error) {
    throw unexplained(`failed to decode managed fields: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (managers.size > 0 || options.live === undefined) return managers
  return updateManagers(options, toEmpty(options), live, managers, beforeFirstApplyManager)
}

/**
 * Takes away what the applier owned and did not apply again, except what another manager owns: everything it
 * ever owned is removed, then what has to stay is added back, because the owner of a field keeps its containers.
 */
function prune(options: OwnershipOptions, merged: Typed, managers: Managers, last: Manager): Typed {
  if (isEmpty(last.fields)) return merged
  const base = atVersion(options, merged, last.apiVersion)
  if (base === undefined) return merged
  const without = { ...base, value: removeItems(base.type, base.value, withNamedFields(base.type, last.fields)) }
  const kept = addBackOwned(options, base, without, managers)
  const pruned = addBackDangling(options, base, kept, last)
  return atVersion(options, pruned, merged.apiVersion) ?? pruned
}

function addBackOwned(options: OwnershipOptions, merged: Typed, pruned: Typed, managers: Managers): Typed {
  const owned = new Map<string, FieldSet[]>()
  for (const { apiVersion, fields } of managers.values()) {
    const sets = owned.get(apiVersion)
    if (sets === undefined) owned.set(apiVersion, [fields])
    else sets.push(fields)
  }
  // The version we are in goes first: conversion may need fields that only adding back restores.
  const versions = [...owned.keys()].sort((a, b) => Number(b === merged.apiVersion) - Number(a === merged.apiVersion))
  let result = pruned
  for (const version of versions) {
    const [whole, part] = [atVersion(options, merged, version), atVersion(options, result, version)]
    if (whole === undefined || part === undefined) continue
    const { type } = whole
    const wanted = union(namedSet(type, part), withNamedFields(type, unionOf(owned.get(version) ?? [])))
    result = { ...whole, value: removeItems(type, whole.value, difference(namedSet(type, whole), wanted)) }
  }
  return result
}

/** Only what the applier itself once applied may go: anything else that lost its owner stays. */
function addBackDangling(options: OwnershipOptions, merged: Typed, pruned: Typed, last: Manager): Typed {
  const part = atVersion(options, pruned, last.apiVersion)
  if (part === undefined) return merged
  const { type } = merged
  const gone = difference(namedSet(type, merged), namedSet(type, part))
  return { ...merged, value: removeItems(type, merged.value, intersection(gone, withNamedFields(type, last.fields))) }
}

function namedSet(type: ObjectType, typed: Typed): FieldSet {
  return withNamedFields(type, toFieldSet(type, typed.value))
}

/** A new object starts from one in which nothing is set; the nulls of that one were not applied. */
function dropUnsaid(object: object, applied: unknown): void {
  for (const [key, value] of Object.entries(object)) {
    const said = getOwn(applied, key)
    if (value === null && said === undefined) delete (object as Record<string, unknown>)[key]
    else if (isObject(value)) dropUnsaid(value, said)
  }
}

// What may be applied.

function toAppliable(options: ApplyOptions): KubeObject {
  const { applied, apiVersion, kind } = options
  if (!isObject(applied)) throw badRequest('error decoding YAML: the applied configuration is not an object')
  const given = { apiVersion: textAt(applied, 'apiVersion'), kind: textAt(applied, 'kind') }
  if (given.apiVersion !== apiVersion || given.kind !== kind) {
    throw badRequest(`invalid object type: ${describeKind(given.apiVersion, given.kind)}`)
  }
  const metadata = getOwn(applied, 'metadata')
  if (Array.isArray(getOwn(metadata, 'managedFields'))) throw badRequest('metadata.managedFields must be nil')
  const object = clone(applied) as unknown as KubeObject
  if (!isObject(metadata)) object.metadata = {}
  try {
    assertTyped(toObjectType(options.schema, options.definitions), object as unknown as JSONValue)
  } catch (error) {
    if (!(error instanceof TypeFault)) throw error
    const subject = `${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}; ${describeKind(apiVersion, kind)}`
    throw unexplained(`failed to create typed patch object (${subject}): ${error.message}`)
  }
  return object
}

function textAt(object: unknown, key: string): string {
  const value = getOwn(object, key)
  return typeof value === 'string' ? value : ''
}

function describeKind(apiVersion: string, kind: string): string {
  const { group, version } = parseAPIVersion(apiVersion)
  return `${group}/${version}, Kind=${kind}`
}

// Conflicts.

function conflictError(conflicts: readonly Conflict[]): StatusError {
  const causes = conflicts.map(({ manager, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${describeManager(manager)}`,
    field: describePath(path),
  }))
  return new StatusError(409, 'Conflict', conflictMessage(conflicts), { causes })
}

function conflictMessage(conflicts: readonly Conflict[]): string {
  const [first, ...others] = conflicts
  if (first !== undefined && others.length === 0) {
    return `Apply failed with 1 conflict: conflict with ${describeManager(first.manager)}: ${describePath(first.path)}`
  }
  const lines: string[] = []
  let current: Manager | undefined
  for (const { manager, path } of conflicts) {
    if (manager !== current) lines.push(`conflicts with ${describeManager(manager)}:`)
    current = manager
    lines.push(`- ${describePath(path)}`)
  }
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`
}

function describeManager({ manager, subresource, operation, apiVersion }: Manager): string {
  const where = subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`
  const how = operation === 'Update' ? ` using ${apiVersion}` : ''
  return `${JSON.stringify(manager)}${where}${how}`
}

// Objects that `kubectl apply` without `--server-side` made. Its annotation says what the same user applied, so
// kubectl may take those fields over without a conflict; the annotation is kept up to date, so that users can go back.

function conflictsBeyondLastApplied(options: ApplyOptions, conflicts: readonly Conflict[]): readonly Conflict[] {
  if (options.manager !== 'kubectl') return conflicts
  const allowed = fieldsLastApplied(options)
  return allowed === undefined ? conflicts : conflicts.filter(({ path }) => !has(allowed, path))
}

/** What the annotation says was applied and is still so. */
function fieldsLastApplied(options: ApplyOptions): FieldSet | undefined {
  const text = options.live?.metadata.annotations?.[lastAppliedAnnotation]
  if (text === undefined || text === '') return undefined
  try {
    const { value } = parseJSON(text)
    if (getOwn(value, 'apiVersion') !== options.apiVersion) return undefined
    const live = toLive(options)
    assertTyped(live.type, value)
    const { added, modified, removed } = compare(live.type, value, live.value)
    return difference(difference(difference(toFieldSet(live.type, value), modified), added), removed)
  } catch {
    return undefined
  }
}

function refreshLastApplied(object: KubeObject, applied: KubeObject): void {
  const annotations = object.metadata?.annotations
  if (!isObject(annotations) || !annotations[lastAppliedAnnotation]) return
  const copy = clone(applied)
  if (isObject(copy.metadata.annotations)) delete copy.metadata.annotations[lastAppliedAnnotation]
  const updated: Record<string, string> = { ...annotations, [lastAppliedAnnotation]: `${toSortedJSON(copy)}\n` }
  let bytes = 0
  for (const [key, value] of Object.entries(updated)) bytes += Buffer.byteLength(key) + Buffer.byteLength(value)
  if (bytes > annotationBytesMax) delete updated[lastAppliedAnnotation]
  object.metadata = { ...object.metadata, annotations: updated }
}

/** JSON with keys in order and HTML's special characters escaped, byte for byte what Go prints. */
function toSortedJSON(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toSortedJSON).join(',')}]`
  if (isObject(value)) {
    const keys = Object.keys(value).filter(key => value[key] !== undefined)
    return `{${keys
      .sort()
      .map(key => `${toSortedJSON(key)}:${toSortedJSON(value[key])}`)
      .join(',')}}`
  }
  if (typeof value === 'bigint') return value.toString()
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
