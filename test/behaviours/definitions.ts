// The kinds that behaviours are tried with, as they are shipped, or with Cluster API's as they were before v1beta2.

import { shippedDefinitions } from '../../scripts/real/kinds.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { toyDefinitions } from '../toy-desk/kinds.ts'

interface Definition extends KubeObject {
  readonly spec: {
    readonly names: { readonly kind: string }
    readonly versions: readonly { readonly name: string }[]
  }
}

/** The newest version in which Cluster API's own kinds are served, and the one that is stored. */
export type CoreVersion = 'v1beta2' | 'v1beta1'

export const coreVersion: CoreVersion = process.env.MOORING_BEHAVIOURS_CRDS === 'v1beta1' ? 'v1beta1' : 'v1beta2'

const ofClusterAPI: readonly string[] = ['IPAddressClaim', 'IPAddress', 'Cluster']

export const kindIn = (definition: KubeObject): string => (definition as Definition).spec.names.kind

export const isOfClusterAPI = (definition: KubeObject): boolean => ofClusterAPI.includes(kindIn(definition))

/** As Cluster API was before v1beta2. */
export function withoutV1beta2(definition: KubeObject): KubeObject {
  if (!isOfClusterAPI(definition)) return definition
  const { spec } = definition as Definition
  const versions = spec.versions
    .filter(({ name }) => name === 'v1beta1')
    .map(version => ({ ...version, storage: true }))
  return { ...definition, spec: { ...spec, versions } } as KubeObject
}

const shipped = coreVersion === 'v1beta1' ? shippedDefinitions.map(withoutV1beta2) : shippedDefinitions

/** With those of the toy desk, which no other test looks at. */
export const definitions: readonly KubeObject[] = [...shipped, ...toyDefinitions]
