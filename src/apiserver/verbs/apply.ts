// Server-side apply: the client sends the fields it wants and owns exactly those. Creates an object that does not
// exist.

import type { Answer, Call, World } from '../call.ts'
import { isObject, type JSONValue, type KubeObject } from '../object.ts'
import type { WriteOptions } from '../options.ts'
import { keepTimesIfUnchanged, serverSideApply } from '../patch/apply.ts'
import { badRequest, conflict, modifiedMeanwhile } from '../status.ts'
import { changeObject } from './change.ts'
import { createObject } from './create.ts'
import { ownershipOptions } from './ownership.ts'

export async function apply(call: Call, world: World, applied: unknown, options: WriteOptions): Promise<Answer> {
  if (!isObject(applied)) throw badRequest('error decoding YAML: the body is not an object')
  const { name, subresource } = call.request
  const metadata = isObject(applied.metadata) ? applied.metadata : {}
  const given = metadata.name
  if (given !== undefined && given !== name) {
    throw badRequest(`the name of the object (${String(given)}) does not match the name on the URL (${name})`)
  }
  const config = { ...applied, metadata: { ...metadata, name } } as JSONValue
  const merge = (live: KubeObject | undefined): KubeObject => {
    const { object } = serverSideApply({
      ...ownershipOptions(call, world, options),
      live,
      applied: config,
      force: options.force,
    })
    return object
  }
  return changeObject(call, world, {
    options,
    transform: merge,
    record: (_call, _world, old, object) => {
      if (old !== undefined) keepTimesIfUnchanged(object, old)
    },
    ...(subresource === '' && { otherwise: () => applyNew(call, world, merge, config, options) }),
  })
}

async function applyNew(
  call: Call,
  world: World,
  merge: (live: undefined) => KubeObject,
  config: JSONValue,
  options: WriteOptions,
): Promise<Answer> {
  const asked = isObject(config) && isObject(config.metadata) ? config.metadata : {}
  const { uid, resourceVersion } = asked
  if (uid) {
    const why = `uid mismatch: the provided object specified uid ${String(uid)}, and no existing object was found`
    throw conflict(call.resource, call.request.name, why)
  }
  if (resourceVersion) throw conflict(call.resource, call.request.name, modifiedMeanwhile)
  return createObject(call, world, merge(undefined), options, () => {})
}
