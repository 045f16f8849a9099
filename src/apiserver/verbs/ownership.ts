// Field ownership on each write: the server's side of `metadata.managedFields`.

import type { Call, World } from '../call.ts'
import { type KubeObject, toAPIVersion } from '../object.ts'
import type { WriteOptions } from '../options.ts'
import { keepTimesIfUnchanged, managerFromUserAgent, type OwnershipOptions, trackUpdate } from '../patch/apply.ts'
import { hasSubresource } from './prepare.ts'

export function ownershipOptions(call: Call, world: World, options: WriteOptions): OwnershipOptions {
  const { kind } = call.served
  const { subresource } = call.request
  return {
    apiVersion: toAPIVersion(kind.group, kind.version),
    kind: kind.kind,
    schema: kind.schema,
    definitions: kind.definitions,
    isCustom: kind.isCustom,
    manager: options.fieldManager === '' ? managerFromUserAgent(call.headers.userAgent ?? '') : options.fieldManager,
    ...(subresource !== '' && { subresource }),
    now: world.now(),
    resetFields: resetFields(call),
    toVersion: (object, apiVersion) => {
      const version = apiVersion.split('/').at(-1) ?? ''
      const served = call.resource.versions.get(version)
      if (served === undefined || toAPIVersion(call.resource.group, version) !== apiVersion) return undefined
      return { object: { ...object, apiVersion }, schema: served.kind.schema, definitions: served.kind.definitions }
    },
  }
}

/** A write to the main resource does not own `status`, and a write to the status subresource owns nothing else. */
function resetFields({ served, request }: Call): string[][] {
  if (request.subresource === 'status') {
    return served.kind.kind === 'Deployment' && !served.kind.isCustom ? [['spec'], ['metadata', 'labels']] : [['spec']]
  }
  return hasSubresource(served.kind, 'status') ? [['status']] : []
}

export function recordManager(
  call: Call,
  world: World,
  old: KubeObject | undefined,
  object: KubeObject,
  options: WriteOptions,
): void {
  const managedFields = trackUpdate({ ...ownershipOptions(call, world, options), live: old, updated: object })
  if (managedFields.length > 0) object.metadata.managedFields = managedFields
  else delete object.metadata.managedFields
  if (old !== undefined) keepTimesIfUnchanged(object, old)
}
