// Create: read, default, admit, check, admit again, store. A generated name that is taken is drawn again.

import { readObject } from '../body.ts'
import type { Answer, Call, World } from '../call.ts'
import { dropRepeatedOwners, generateName, wipeSystemFields } from '../metadata.ts'
import { clone, type KubeObject } from '../object.ts'
import { encodeObject, keyOf } from '../objects.ts'
import { readWriteOptions, type WriteOptions } from '../options.ts'
import { alreadyExists, badRequest, forbidden } from '../status.ts'
import { recordManager } from './ownership.ts'
import { applyDefaults, dropStatus, prepareNew, settleNamespace } from './prepare.ts'
import { reserveAddresses } from './service-addresses.ts'
import { refuseChangedKind } from './settled-kind.ts'

const generatedNameTries = 8

export async function create(call: Call, world: World): Promise<Answer> {
  const options = readWriteOptions(call.request.query, 'CreateOptions')
  const source = { bytes: call.body, contentType: call.headers.contentType }
  const object = readObject(call.served, source, options.fieldValidation, call.warn)
  return createObject(call, world, object, options)
}

export async function createObject(
  call: Call,
  world: World,
  object: KubeObject,
  options: WriteOptions,
  record: typeof recordManager = recordManager,
): Promise<Answer> {
  if ((object.metadata.resourceVersion ?? '') !== '') {
    throw badRequest('resourceVersion should not be set on objects to be created')
  }
  if (call.resource.isTerminating) {
    const why = 'create not allowed while custom resource definition is terminating'
    throw forbidden(call.resource, object.metadata.name ?? '', why)
  }
  wipeSystemFields(object.metadata)
  settleNamespace(call, object)
  applyDefaults(call, object)
  dropStatus(call.served.kind, object)
  if (dropRepeatedOwners(object.metadata)) call.warn(repeatedOwnersWarning)

  for (let tries = 1; ; tries++) {
    const candidate = clone(object)
    if (!candidate.metadata.name && candidate.metadata.generateName) {
      candidate.metadata.name = generateName(candidate.metadata.generateName, world.random)
    }
    const answer = await tryCreate(call, world, candidate, options, record)
    if (answer !== undefined) return answer
    const name = candidate.metadata.name ?? ''
    if (object.metadata.name || tries === generatedNameTries) throw alreadyExists(call.resource, name)
  }
}

/** Undefined when the name is taken. */
async function tryCreate(
  call: Call,
  world: World,
  object: KubeObject,
  options: WriteOptions,
  record: typeof recordManager,
): Promise<Answer | undefined> {
  record(call, world, undefined, object, options)
  const admission = {
    operation: 'CREATE',
    call,
    name: object.metadata.name ?? '',
    oldObject: undefined,
    dryRun: options.dryRun,
    options: optionsObject('CreateOptions', options),
  } as const
  const admitted = (await world.admission.mutate({ ...admission, object })) ?? object
  if (admitted !== object) applyDefaults(call, admitted)
  prepareNew(call, world, admitted)
  await world.admission.validate({ ...admission, object: admitted })

  const letGo = reserveAddresses(call, world, admitted)
  try {
    return await store(call, world, admitted, options)
  } finally {
    letGo()
  }
}

async function store(call: Call, world: World, object: KubeObject, options: WriteOptions): Promise<Answer | undefined> {
  const key = keyOf(call.resource, object.metadata.namespace ?? '', object.metadata.name ?? '')
  if (options.dryRun) {
    if (world.store.get(key) !== undefined) return undefined
    return { type: 'object', code: 201, object }
  }
  const [stored] = await call.resource.convert([object], call.resource.storage)
  refuseChangedKind(call, world)
  const result = await world.store.create(key, revision => encodeObject(stored ?? object, revision))
  return result.ok ? { type: 'entry', code: 201, entry: result.entry } : undefined
}

export const repeatedOwnersWarning =
  '.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24'

export function optionsObject(kind: string, options: WriteOptions): Record<string, unknown> {
  return {
    kind,
    apiVersion: 'meta.k8s.io/v1',
    ...(options.dryRun && { dryRun: ['All'] }),
    ...(options.fieldManager !== '' && { fieldManager: options.fieldManager }),
    ...(options.saidFieldValidation !== '' && { fieldValidation: options.saidFieldValidation }),
  }
}
