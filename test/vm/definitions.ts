// The kinds that virtual machines are tried with: IPAMClaim as it is shipped, those of KubeVirt as far as it matters here.

import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { attachments } from '../../src/controllers/office/kinds.ts'
import { virtualMachineInstances, virtualMachines } from '../../src/controllers/vm/kinds.ts'
import type { Kind, KubeObject } from '../../src/kube/object.ts'

const shipped = new URL('../../config/crd/networks/ipamclaims.k8s.cni.cncf.io.yaml', import.meta.url)

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

function definitionOf({ group, versions, plural, kind }: Kind): KubeObject {
  const version = { name: versions[0], served: true, storage: true, schema: { openAPIV3Schema: anything } }
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [version],
    },
  }
  return definition
}

export const vmDefinitions: readonly KubeObject[] = [
  parse(readFileSync(shipped, 'utf8')) as KubeObject,
  ...[virtualMachines, virtualMachineInstances, attachments].map(definitionOf),
]
