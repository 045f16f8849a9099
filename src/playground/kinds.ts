// The kinds of the playground, with the shapes that it reads them in.

import {
  clusterNetworks as clusterNetworkKind,
  kubeVirts as kubeVirtKind,
  settings as settingKind,
  vlanConfigs as vlanConfigKind,
  vlanStatuses as vlanStatusKind,
} from '../controllers/migration/kinds.ts'
import { attachments as attachmentKind, holds as holdKind, namespaces } from '../controllers/office/kinds.ts'
import { ipamClaims, pods as podKind, virtualMachineInstances, virtualMachines } from '../controllers/vm/kinds.ts'
import { defineKind, type Kind, type KubeObject } from '../kube/object.ts'
import type {
  AddressClaim,
  HarvesterObject,
  Instance,
  KubeVirt,
  LedgerHold,
  Machine,
  Migration,
  NetworkAttachment,
  Node,
  Pod,
  VlanConfig,
} from './shapes.ts'

export { namespaces }

export const machines: Kind<Machine> = virtualMachines
export const instances: Kind<Instance> = virtualMachineInstances
export const pods: Kind<Pod> = podKind
export const attachments: Kind<NetworkAttachment> = attachmentKind
export const claims: Kind<AddressClaim> = ipamClaims
export const holds: Kind<LedgerHold> = holdKind
export const kubeVirts: Kind<KubeVirt> = kubeVirtKind
export const settings: Kind<HarvesterObject> = settingKind
export const clusterNetworks: Kind<HarvesterObject> = clusterNetworkKind
export const vlanConfigs: Kind<VlanConfig> = vlanConfigKind
export const vlanStatuses: Kind<HarvesterObject> = vlanStatusKind

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
