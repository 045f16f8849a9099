// Update: the whole object as the client wants it. Custom kinds must say which version they saw; built-in kinds may
// leave it out and then overwrite what is there.

import { readObject } from '../body.ts'
import type { Answer, Call, World } from '../call.ts'
import { invalid, required } from '../faults.ts'
import { clone, type KubeObject } from '../object.ts'
import { readWriteOptions } from '../options.ts'
import { badRequest, invalidObject, qualified } from '../status.ts'
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
    optionsKind: 'UpdateOptions',
    transform: () => {
      refuseUnversioned(call, object)
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
    throw invalidObject(call.served.kind, name, [required('metadata.name', 'name or generateName is required')])
  }
  if (given !== name) throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`)
}

function refuseUnversioned(call: Call, object: KubeObject): void {
  const { kind } = call.served
  if (!kind.isCustom || (object.metadata.resourceVersion ?? '') !== '') return
  const fault = invalid('metadata.resourceVersion', 0, 'must be specified for an update')
  throw invalidObject({ group: kind.group, kind: qualified(call.resource).split('.')[0] ?? '' }, call.request.name, [
    fault,
  ])
}
