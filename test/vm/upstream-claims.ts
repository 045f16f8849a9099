// IPAMClaims as the network plumbing working group defines them, for what ours does not let happen.

import { ipamClaims } from '../../src/controllers/vm/kinds.ts'
import type { Kind, KubeObject } from '../../src/kube/object.ts'

const text = { type: 'string' }
const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

/** As the network plumbing working group has it: unknown fields of the status are dropped. */
const claim = {
  spec: { type: 'object', required: ['network', 'interface'], properties: { network: text, interface: text } },
  status: {
    type: 'object',
    required: ['ips'],
    properties: {
      ips: { type: 'array', items: text },
      ownerPod: { type: 'object', properties: { name: text } },
      conditions: { type: 'array', items: anything },
    },
  },
}

function definitionOf({ group, versions, plural, kind }: Kind, properties: object, subresources: object): KubeObject {
  const schema = { openAPIV3Schema: { type: 'object', required: ['spec'], properties } }
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, annotations: { 'api-approved.kubernetes.io': 'unapproved, for tests' } },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: versions[0], served: true, storage: true, schema, subresources }],
    },
  }
  return definition
}

/** The server has the definition of the working group: ours lets no status be changed that is set. */
export const withUpstreamClaims = (definitions: readonly KubeObject[]): readonly KubeObject[] => {
  const isClaims = ({ metadata }: KubeObject) => metadata.name === `${ipamClaims.plural}.${ipamClaims.group}`
  return [...definitions.filter(one => !isClaims(one)), definitionOf(ipamClaims, claim, { status: {} })]
}
