// The kinds of the migration desk, as a client needs to know them. What their objects mean is in `src/api` and `src/migration`.

import { defineKind, type KubeObject } from '../../kube/object.ts'

export { attachments, nodes, pods } from '../office/kinds.ts'

/** Of Harvester. One of them, `vm-migration-network`, asks for a migration network. */
export const settings = defineKind<KubeObject>({
  group: 'harvesterhci.io',
  versions: ['v1beta1'],
  plural: 'settings',
  kind: 'Setting',
  namespaced: false,
})

/** Asks for a migration network where there is no Harvester. */
export const migrationNetworks = defineKind<KubeObject>({
  group: 'mooring.dev',
  versions: ['v1alpha1'],
  plural: 'migrationnetworks',
  kind: 'MigrationNetwork',
  namespaced: false,
})

const harvesterNetwork = (plural: string, kind: string) =>
  defineKind<KubeObject>({
    group: 'network.harvesterhci.io',
    versions: ['v1beta1'],
    plural,
    kind,
    namespaced: false,
  })

export const clusterNetworks = harvesterNetwork('clusternetworks', 'ClusterNetwork')
export const vlanConfigs = harvesterNetwork('vlanconfigs', 'VlanConfig')
export const vlanStatuses = harvesterNetwork('vlanstatuses', 'VlanStatus')

export const kubeVirts = defineKind<KubeObject>({
  group: 'kubevirt.io',
  versions: ['v1'],
  plural: 'kubevirts',
  kind: 'KubeVirt',
  namespaced: true,
})

export const migrations = defineKind<KubeObject>({
  group: 'kubevirt.io',
  versions: ['v1'],
  plural: 'virtualmachineinstancemigrations',
  kind: 'VirtualMachineInstanceMigration',
  namespaced: true,
})
