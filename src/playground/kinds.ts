// The kinds of the playground, with the shapes that it reads them in.

import { attachments as attachmentKind } from '../controllers/office/kinds.ts'
import { ipamClaims, pods as podKind, virtualMachineInstances, virtualMachines } from '../controllers/vm/kinds.ts'
import { defineKind, type Kind, type KubeObject } from '../kube/object.ts'
import type { AddressClaim, Instance, Machine, Migration, NetworkAttachment, Node, Pod } from './shapes.ts'

export const machines: Kind<Machine> = virtualMachines
export const instances: Kind<Instance> = virtualMachineInstances
export const pods: Kind<Pod> = podKind
export const attachments: Kind<NetworkAttachment> = attachmentKind
export const claims: Kind<AddressClaim> = ipamClaims

export const migrations = defineKind<Migration>({
  group: 'kubevirt.io',
  versions: ['v1'],
  plural: 'virtualmachineinstancemigrations',
  kind: 'VirtualMachineInstanceMigration',
  namespaced: true,
})

export const nodes = defineKind<Node>({
  group: '',
  versions: ['v1'],
  plural: 'nodes',
  kind: 'Node',
  namespaced: false,
})

/** What a scheduler creates: it says on which node a pod runs. */
export const bindings = defineKind<KubeObject & { readonly target: object }>({
  group: '',
  versions: ['v1'],
  plural: 'bindings',
  kind: 'Binding',
  namespaced: true,
})
