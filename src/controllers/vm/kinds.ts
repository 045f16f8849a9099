// The kinds of the vm desk, as a client needs to know them. What their objects mean is in `src/api`.

import { defineKind, type KubeObject } from '../../kube/object.ts'

export { ipamClaims, nodes, pods } from '../office/kinds.ts'

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
