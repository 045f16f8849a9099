// Update: the whole object as the client wants it. Custom kinds must say which version they saw; built-in kinds may
// leave it out and then overwrite what is there.

import { readObject } from '../body.ts'
import type { Answer, Call, World } from '../call.ts'
import { invalid, quote } from '../faults.ts'
import { clone, type KubeObject } from '../object.ts'
import { keyOf } from '../objects.ts'
import { readWriteOptions } from '../options.ts'
import { badRequest, conflict, invalidObject } from '../status.ts'
import { changeObject } from './change.ts'
import { createObject } from './create.ts'

export async function update(call: Call, world: World): Promise<Answer> {
  const options = readWriteOptions(call.request.query, 'UpdateOptions')
  const source = { bytes: call.body, contentType: call.headers.contentType }
  const object = readObject(call.served, source, options.fieldValidation, call.warn)
  refuseOtherName(call, object)
  const { kind } = call.served
  return changeObject(call, world, {
    options,
    transform: existing => {
      refuseUnversioned(call, object)
      refuseOtherUid(call, object, existing)
      return clone(object)
    },
    ...(createsOnUpdate.has(kind.kind) &&
      !kind.isCustom && { otherwise: () => createObject(call, world, object, options) }),
  })
}

/** Kinds that a PUT may bring into being. */
const createsOnUpdate = new Set([
  'Event',
  'Lease',
  'Endpoints',
  'Role',
  'ClusterRole',
  'RoleBinding',
  'ClusterRoleBinding',
])

function refuseOtherName(call: Call, object: KubeObject): void {
  const { name } = call.request
  const given = object.metadata.name ?? ''
  if (given === '') {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`)
  }
  if (given !== name) throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`)
}

/** Built-in kinds that, like custom ones, are never overwritten blindly. */
const versioned = new Set([
  'Lease',
  'PodDisruptionBudget',
  'RuntimeClass',
  'MutatingWebhookConfiguration',
  'ValidatingWebhookConfiguration',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'CustomResourceDefinition',
  'CSIDriver',
  'CSINode',
  'CSIStorageCapacity',
  'VolumeAttachment',
])

function refuseUnversioned(call: Call, object: KubeObject): void {
  const { kind } = call.served
  const asked = object.metadata.resourceVersion ?? ''
  if (asked !== '') return refuseNonsense(call, asked)
  if (!kind.isCustom && !versioned.has(kind.kind)) return
  const fault = invalid('metadata.resourceVersion', 0, 'must be specified for an update')
  throw invalidObject({ group: kind.group, kind: kind.plural }, call.request.name, [fault])
}

function refuseNonsense(call: Call, asked: string): void {
  if (/^\d+$/.test(asked)) return
  const why = `strconv.ParseUint: parsing ${quote(asked)}: invalid syntax`
  throw invalidObject(call.served.kind, call.request.name, [invalid('metadata.resourceVersion', asked, why)])
}

/** A client that names a uid means that incarnation of the object, and no other. */
function refuseOtherUid(call: Call, object: KubeObject, existing: KubeObject): void {
  const uid = object.metadata.uid ?? ''
  if (uid === '' || uid === existing.metadata.uid) return
  throw conflict(
    call.resource,
    call.request.name,
    `StorageError: invalid object, Code: 4, Key: ${keyOf(call.resource, call.request.namespace, call.request.name)}, ` +
      `ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, ` +
      `UID in object meta: ${existing.metadata.uid}`,
  )
}
