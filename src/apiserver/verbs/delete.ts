// Delete: an object with nothing left to wait for goes at once. Otherwise it is marked, and goes when its finalizers
// are gone and its grace is over. What becomes of dependants is written as a finalizer that the garbage collector
// removes.

import type { Entry } from '../../store/store.ts'
import { decodeBody } from '../body.ts'
import type { Answer, Call, World } from '../call.ts'
import { deletionRule } from '../kinds/deletion.ts'
import { foregroundFinalizer, orphanFinalizer, toTimestamp } from '../metadata.ts'
import { clone, equal, type KubeObject } from '../object.ts'
import { decodeEntry, encodeObject, keyOf } from '../objects.ts'
import { type DeleteOptions, readDeleteOptions } from '../options.ts'
import { conflict, notFound, type Status } from '../status.ts'
import { atCallVersion } from './change.ts'

export async function remove(call: Call, world: World): Promise<Answer> {
  return removeObject(call, world, readOptions(call))
}

export function readOptions(call: Call): DeleteOptions {
  const { body, headers, request, served } = call
  const value =
    body.length === 0
      ? undefined
      : decodeBody({ ...served.kind, isCustom: false }, { bytes: body, contentType: headers.contentType }).value
  return readDeleteOptions(request.query, value)
}

/** `admit` asks the webhooks; an eviction has asked them about itself. */
export async function removeObject(
  call: Call,
  world: World,
  options: DeleteOptions,
  admit: typeof admitRemoval = admitRemoval,
): Promise<Answer> {
  const { namespace, name } = call.request
  const key = keyOf(call.resource, namespace, name)
  for (;;) {
    const entry = world.store.get(key)
    if (entry === undefined) throw notFound(call.resource, name)
    const answer = await tryRemove(call, world, options, entry, admit)
    if (answer !== undefined) return answer
  }
}

async function admitRemoval(call: Call, world: World, options: DeleteOptions, entry: Entry): Promise<void> {
  const admission = {
    operation: 'DELETE',
    call,
    name: call.request.name,
    object: undefined,
    oldObject: await atCallVersion(call, entry),
    dryRun: options.dryRun,
    options: optionsObject(options),
  } as const
  await world.admission.mutate(admission)
  await world.admission.validate(admission)
}

async function tryRemove(
  call: Call,
  world: World,
  options: DeleteOptions,
  entry: Entry,
  admit: typeof admitRemoval,
): Promise<Answer | undefined> {
  const stored = decodeEntry(entry)
  refuseUnmetPreconditions(call, stored, options)
  await admit(call, world, options, entry)

  const { object: marked, goesNow } = mark(call, world, stored, options)
  if (options.dryRun) return goesNow ? success(call, stored, entry) : { type: 'object', code: 200, object: marked }
  if (goesNow) {
    const result = await world.store.delete(entry.key, entry.revision, revision => encodeObject(marked, revision))
    return result.ok ? success(call, marked, result.entry) : undefined
  }
  const code = options.orphanDependents === false ? 202 : 200
  if (equal(marked, stored)) return { type: 'entry', code, entry }
  const result = await world.store.update(entry.key, entry.revision, revision => encodeObject(marked, revision))
  return result.ok ? { type: 'entry', code, entry: result.entry } : undefined
}

interface Marked {
  readonly object: KubeObject
  /** There is nothing to wait for. */
  readonly goesNow: boolean
}

/** The object marked for deletion. One that goes now is marked too if its kind has a grace period, which is then 0. */
function mark(call: Call, world: World, stored: KubeObject, options: DeleteOptions): Marked {
  const rule = deletionRule(call.served.kind)
  const object = clone(stored)
  const { metadata } = object
  const isFirst = !metadata.deletionTimestamp
  if (isFirst) rule.begin?.(object, world.now())
  const present = metadata.finalizers ?? []
  const finalizers = rule.hasNoDependants ? present : finalizersFor(present, options)
  const grace = isFirst ? (rule.graceSeconds?.(stored, options.gracePeriodSeconds) ?? 0) : graceLeft(stored, options)
  const goesNow = grace === 0 && finalizers.length === 0 && !rule.isHeldBack?.(stored)
  if (goesNow && rule.graceSeconds === undefined) return { object: stored, goesNow }

  setFinalizers(object, finalizers)
  if (!isFirst) {
    shortenGrace(world, object, grace)
    return { object, goesNow }
  }
  metadata.deletionTimestamp = toTimestamp(new Date(world.now().getTime() + grace * 1000))
  metadata.deletionGracePeriodSeconds = grace
  if (metadata.generation !== undefined) metadata.generation = Number(metadata.generation) + 1
  return { object, goesNow }
}

/** Asking again can only shorten the wait. */
function graceLeft(stored: KubeObject, { gracePeriodSeconds: asked }: DeleteOptions): number {
  const current = stored.metadata.deletionGracePeriodSeconds ?? 0
  return asked === undefined ? current : Math.min(current, asked < 0 ? 1 : asked)
}

function shortenGrace(world: World, object: KubeObject, grace: number): void {
  const { metadata } = object
  const current = metadata.deletionGracePeriodSeconds ?? 0
  if (grace >= current) return
  const started = new Date(metadata.deletionTimestamp ?? world.now()).getTime() - current * 1000
  metadata.deletionTimestamp = toTimestamp(new Date(Math.max(started + grace * 1000, world.now().getTime())))
  metadata.deletionGracePeriodSeconds = grace
}

function finalizersFor(present: readonly string[], options: DeleteOptions): readonly string[] {
  const others = present.filter(finalizer => finalizer !== orphanFinalizer && finalizer !== foregroundFinalizer)
  const policy = policyOf(present, options)
  if (policy === 'Orphan') return [...others, orphanFinalizer]
  if (policy === 'Foreground') return [...others, foregroundFinalizer]
  return others
}

function policyOf(present: readonly string[], options: DeleteOptions): DeleteOptions['propagationPolicy'] {
  if (options.orphanDependents !== undefined) return options.orphanDependents ? 'Orphan' : 'Background'
  if (options.propagationPolicy !== undefined) return options.propagationPolicy
  if (present.includes(orphanFinalizer)) return 'Orphan'
  return present.includes(foregroundFinalizer) ? 'Foreground' : 'Background'
}

function setFinalizers(object: KubeObject, finalizers: readonly string[]): void {
  if (finalizers.length > 0) object.metadata.finalizers = [...finalizers]
  else delete object.metadata.finalizers
}

export function refuseUnmetPreconditions(call: Call, stored: KubeObject, { preconditions }: DeleteOptions): void {
  const { uid, resourceVersion } = preconditions
  const name = call.request.name
  // The one refusal in which Kubernetes names the kind instead of the resource.
  const named = { group: call.served.kind.group, plural: call.served.kind.kind }
  if (uid !== undefined && uid !== stored.metadata.uid) {
    throw conflict(
      named,
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${stored.metadata.uid}). The object might have been deleted and then recreated`,
    )
  }
  if (resourceVersion !== undefined && resourceVersion !== stored.metadata.resourceVersion) {
    throw conflict(
      named,
      name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${stored.metadata.resourceVersion}). The object might have been modified`,
    )
  }
}

function success(call: Call, stored: KubeObject, entry: Entry): Answer {
  const { kind } = call.served
  if (deletionRule(kind).showsDeleted) return { type: 'entry', code: 200, entry }
  const status: Status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: {
      name: call.request.name,
      ...(kind.group !== '' && { group: kind.group }),
      kind: kind.plural,
      uid: stored.metadata.uid ?? '',
    },
  }
  return { type: 'status', status }
}

function optionsObject(options: DeleteOptions): Record<string, unknown> {
  return {
    kind: 'DeleteOptions',
    apiVersion: 'meta.k8s.io/v1',
    ...(options.dryRun && { dryRun: ['All'] }),
    ...(options.gracePeriodSeconds !== undefined && { gracePeriodSeconds: options.gracePeriodSeconds }),
    ...(options.propagationPolicy !== undefined && { propagationPolicy: options.propagationPolicy }),
  }
}
