// The kinds of the toy desk: as a client needs to know them, and their definitions, which the desk brings to a server.

import { defineKind, type Kind, type KubeObject } from '../../src/kube/object.ts'

export const toyGroup = 'toy.example.org'

/** The claim: a place on a network, with an address of each family of it, and a MAC if it asks for one. */
export const berths = defineKind<KubeObject>({
  group: toyGroup,
  versions: ['v1'],
  plural: 'berths',
  kind: 'Berth',
  namespaced: true,
})

export const networks = defineKind<KubeObject>({
  group: toyGroup,
  versions: ['v1'],
  plural: 'toynetworks',
  kind: 'ToyNetwork',
  namespaced: false,
})

const text = { type: 'string' }
const texts = { type: 'array', items: text }
const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

const berthSpec = {
  type: 'object',
  required: ['network'],
  properties: { network: text, mac: text, addresses: texts },
  'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'a berth does not change: make another one' }],
}

const berthStatus = {
  type: 'object',
  properties: { addresses: texts, mac: text, gaveBackAt: text, conditions: { type: 'array', items: anything } },
}

const networkSpec = {
  type: 'object',
  required: ['subnets'],
  properties: {
    subnets: texts,
    gateways: texts,
    excludes: texts,
    allowedNamespaces: anything,
    quarantineSeconds: { type: 'integer', minimum: 0 },
    berthsPerNamespace: { type: 'integer', minimum: 1 },
    isDefault: { type: 'boolean' },
  },
}

export const toyDefinitions: readonly KubeObject[] = [
  definitionOf(berths, { spec: berthSpec, status: berthStatus }),
  definitionOf(networks, { spec: networkSpec }),
]

function definitionOf({ group, versions, plural, kind, namespaced }: Kind, properties: object): KubeObject {
  const openAPIV3Schema = { type: 'object', required: ['spec'], properties }
  const version = { name: versions[0], served: true, storage: true, subresources: { status: {} } }
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ ...version, schema: { openAPIV3Schema } }],
    },
  }
  return definition
}
