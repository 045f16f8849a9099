// The kinds that a node reads, as a client needs to know them.

import { defineKind, type KubeObject } from '../kube/object.ts'

export { attachments, holds, ipamClaims, kindAs, pods } from '../controllers/office/kinds.ts'
export { nodes, virtualMachineInstances } from '../controllers/vm/kinds.ts'

/** That which this process is of. */
export const daemonSets = defineKind<KubeObject>({
  group: 'apps',
  versions: ['v1'],
  plural: 'daemonsets',
  kind: 'DaemonSet',
  namespaced: true,
})
