// The kinds of the vm desk, as a client needs to know them. What their objects mean is in `src/api`.

import { defineKind, type KubeObject } from '../../kube/object.ts'

export { ipamClaims, pods } from '../office/kinds.ts'

/** Whether one is there is all that is asked. */
export const nodes = defineKind<KubeObject>({
  group: '',
  versions: ['v1'],
  plural: 'nodes',
  kind: 'Node',
  namespaced: false,
})

export const virtualMachines = defineKind<KubeObject>({
  group: 'kubevirt.io',
  versions: ['v1'],
  plural: 'virtualmachines',
  kind: 'VirtualMachine',
  namespaced: true,
})

export const virtualMachineInstances = defineKind<KubeObject>({
  group: 'kubevirt.io',
  versions: ['v1'],
  plural: 'virtualmachineinstances',
  kind: 'VirtualMachineInstance',
  namespaced: true,
})
