// The kind of a subresource's body when it is not the parent's own: a Binding, a Scale, a TokenRequest.

import { builtinDefinitions, builtinSchema } from '../../builtin/types.ts'
import type { Call } from '../../call.ts'
import type { ServedVersion } from '../../kinds/registry.ts'
import { compileSchema } from '../../schema/structural.ts'

const packages: Record<string, string> = {
  '': 'io.k8s.api.core.v1',
  'authentication.k8s.io': 'io.k8s.api.authentication.v1',
  policy: 'io.k8s.api.policy.v1',
  autoscaling: 'io.k8s.api.autoscaling.v1',
}

const made = new Map<string, ServedVersion>()

export function bodyKind(call: Call): ServedVersion {
  const { kind: parent } = call.served
  const subresource = parent.subresources.find(({ name }) => name === call.request.subresource)
  const group = subresource?.group ?? parent.group
  const version = subresource?.version ?? (subresource?.group === undefined ? parent.version : 'v1')
  const kind = subresource?.kind ?? parent.kind
  const schemaName = `${packages[group] ?? packages['']}.${kind}`
  const known = made.get(schemaName)
  if (known !== undefined) return known
  const schema = builtinSchema(schemaName)
  const served: ServedVersion = {
    kind: {
      ...parent,
      group,
      version,
      kind,
      schema,
      schemaName,
      definitions: builtinDefinitions,
      isCustom: false,
      behaviour: {},
    },
    compiled: compileSchema(schema, builtinDefinitions, { isBuiltin: true }),
  }
  made.set(schemaName, served)
  return served
}
