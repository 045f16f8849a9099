// The table of desks, with one more line.

import type { Conversion } from '../../src/admission/conversion.ts'
import type { Desk } from '../../src/controllers/desk.ts'
import { desks } from '../../src/controllers/desks.ts'
import { toy } from './desk.ts'
import { networks, toyGroup } from './kinds.ts'

export const desksWithToy: readonly Desk[] = [...desks, toy]

interface Definition {
  readonly spec: { readonly names: { readonly kind: string }; readonly versions: readonly object[] }
}

/** In v0 of a network, which is not stored, subnets have another name. */
const withOlderVersion = (definition: Definition): Definition => {
  if (definition.spec.names.kind !== networks.kind) return definition
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  const older = { name: 'v0', served: false, storage: false, schema }
  return { ...definition, spec: { ...definition.spec, versions: [...definition.spec.versions, older] } }
}

const older: Conversion = {
  group: toyGroup,
  kinds: [networks.kind],
  convert(object, apiVersion) {
    const { subnets, nets, ...rest } = object.spec as Readonly<Record<string, unknown>>
    const spec = apiVersion.endsWith('/v0') ? { ...rest, nets: subnets } : { ...rest, subnets: nets }
    return { ...object, apiVersion, spec }
  },
}

/** The same, and the toy desk has a kind of two versions. */
export const desksWithConverter: readonly Desk[] = [
  ...desks,
  { ...toy, conversions: [older], definitions: toy.definitions.map(one => withOlderVersion(one as Definition)) },
]
