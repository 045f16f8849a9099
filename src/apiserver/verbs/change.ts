// One way to change a stored object, for update, patch, apply and the server's own controllers alike: read, let the
// caller make the new object from the old, admit, check, write under the version that was read. When another
// write came first, all of this is repeated on its result, unless the client named the version it wants to change.

import type { Entry } from '../../store/store.ts'
import type { AdmissionRequest, Answer, Call, World } from '../call.ts'
import { quote } from '../faults.ts'
import { deletionRule } from '../kinds/deletion.ts'
import { dropRepeatedOwners } from '../metadata.ts'
import { clone, equal, type KubeObject } from '../object.ts'
import { encodeObject, keyOf } from '../objects.ts'
import type { WriteOptions } from '../options.ts'
import { bareError, conflict, internalError, isStatus, modifiedMeanwhile, notFound } from '../status.ts'
import { optionsObject, repeatedOwnersWarning } from './create.ts'
import { recordManager } from './ownership.ts'
import { applyDefaults, prepareChange, settleNamespace } from './prepare.ts'
import { reserveAddresses } from './service-addresses.ts'
import { refuseChangedKind } from './settled-kind.ts'

/** A patch under constant contention gives up in the end, as on a real server. */
const triesMax = 50

export interface ChangeRequest {
  readonly options: WriteOptions
  /** Makes the wanted object from a private copy of the stored one, both at the call's version. */
  readonly transform: (existing: KubeObject) => Promise<KubeObject> | KubeObject
  /** How the change is written down in `managedFields`; an apply does it itself. */
  readonly record?: typeof recordManager
  /** What validating webhooks are shown of the object: a Scale. `transform` has asked the mutating ones itself. */
  readonly shownAs?: (object: KubeObject) => KubeObject
  /** Admission was asked about something else already, such as a Binding. */
  readonly isAdmitted?: boolean
  /** Makes what is not there to be changed, when given; otherwise that is a 404. */
  readonly otherwise?: () => Promise<Answer>
}

export async function changeObject(call: Call, world: World, change: ChangeRequest): Promise<Answer> {
  const { namespace, name } = call.request
  const key = keyOf(call.resource, namespace, name)
  for (let tries = 0; tries < triesMax; tries++) {
    const entry = world.store.get(key)
    if (entry === undefined) {
      const made = await makeInstead(call, change)
      if (made !== undefined) return made
      continue
    }
    const answer = await tryChange(call, world, change, entry)
    if (answer !== undefined) return answer
  }
  throw conflict(call.resource, name, modifiedMeanwhile)
}

/** Undefined when another client created the object first: then there is an object to change after all. */
async function makeInstead(call: Call, { otherwise }: ChangeRequest): Promise<Answer | undefined> {
  if (otherwise === undefined) throw notFound(call.resource, call.request.name)
  try {
    return await otherwise()
  } catch (error) {
    if (isStatus(error, 'AlreadyExists')) return undefined
    throw error
  }
}

/** Undefined when the object was changed meanwhile. */
async function tryChange(call: Call, world: World, change: ChangeRequest, entry: Entry): Promise<Answer | undefined> {
  const { options } = change
  const old = await atCallVersion(call, entry)
  const object = await change.transform(clone(old))
  settleNamespace(call, object)
  refuseOtherVersion(call, object, old)
  applyDefaults(call, object)
  if (dropRepeatedOwners(object.metadata)) call.warn(repeatedOwnersWarning)
  const record = change.record ?? recordManager
  record(call, world, old, object, options)

  const { shownAs = same, isAdmitted = false } = change
  const admission = updateAdmission(call, options)
  const isMutated = isAdmitted || change.shownAs !== undefined
  const admitted = isMutated ? object : await mutate(call, world, { ...admission, object, oldObject: old })
  prepareChange(call, world, admitted, old)
  if (!isAdmitted) await world.admission.validate({ ...admission, object: shownAs(admitted), oldObject: shownAs(old) })

  const letGo = reserveAddresses(call, world, admitted, old)
  try {
    return await write(call, world, options, { entry, old, object: admitted })
  } finally {
    letGo()
  }
}

/** A patch is an update to webhooks: they see its result, and options of an update. */
export function updateAdmission(call: Call, options: WriteOptions) {
  return {
    operation: 'UPDATE',
    call,
    name: call.request.name,
    dryRun: options.dryRun,
    options: optionsObject('UpdateOptions', options),
  } as const
}

async function mutate(call: Call, world: World, request: AdmissionRequest & { object: KubeObject }) {
  const { object } = request
  const admitted = (await world.admission.mutate(request)) ?? object
  if (admitted !== object) applyDefaults(call, admitted)
  return admitted
}

const same = (object: KubeObject) => object

async function write(
  call: Call,
  world: World,
  options: WriteOptions,
  { entry, old, object }: { entry: Entry; old: KubeObject; object: KubeObject },
): Promise<Answer | undefined> {
  delete object.metadata.resourceVersion
  if (isUnchanged(object, old)) return { type: 'entry', code: 200, entry }
  if (options.dryRun) {
    return { type: 'object', code: 200, object: withVersion(object, entry) }
  }
  const [stored = object] = await call.resource.convert([object], call.resource.storage)
  const encode = (revision: number) => encodeObject(stored, revision)
  refuseChangedKind(call, world)
  if (shouldVanish(call, object, old)) {
    const { ok } = await world.store.delete(key(entry), entry.revision, encode)
    // As on a real server, the answer does not show the revision of the delete.
    return ok ? { type: 'object', code: 200, object: withVersion(object, entry) } : undefined
  }
  const result = await world.store.update(key(entry), entry.revision, encode)
  return result.ok ? { type: 'entry', code: 200, entry: result.entry } : undefined
}

export async function atCallVersion(call: Call, entry: Entry): Promise<KubeObject> {
  const [object] = await call.resource.read([entry], call.served)
  if (object === undefined) throw internalError(`the stored object ${entry.key} could not be converted`)
  return object
}

/** The last finalizer of an object that waits for deletion is gone: so is the object. */
function shouldVanish({ served }: Call, object: KubeObject, old: KubeObject): boolean {
  const { deletionTimestamp, finalizers, deletionGracePeriodSeconds } = object.metadata
  if (!deletionTimestamp || !old.metadata.deletionTimestamp) return false
  if ((finalizers ?? []).length > 0 || deletionRule(served.kind).isHeldBack?.(object)) return false
  return (deletionGracePeriodSeconds ?? 0) === 0
}

function refuseOtherVersion(call: Call, object: KubeObject, old: KubeObject): void {
  const name = call.request.name
  const asked = object.metadata.resourceVersion ?? ''
  if (!/^\d*$/.test(asked)) throw bareError(`strconv.ParseUint: parsing ${quote(asked)}: invalid syntax`)
  if (asked !== '' && asked !== '0' && asked !== old.metadata.resourceVersion) {
    throw conflict(call.resource, name, modifiedMeanwhile)
  }
}

function isUnchanged(object: KubeObject, old: KubeObject): boolean {
  const { resourceVersion: _, ...metadata } = old.metadata
  return equal(object, { ...old, metadata })
}

function withVersion(object: KubeObject, entry: Entry): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(entry.revision) } }
}

const key = (entry: Entry) => entry.key
