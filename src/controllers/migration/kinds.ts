// The kinds of the migration desk, as a client needs to know them. What their objects mean is in `src/api` and `src/migration`.

import { clusterNetworkKind, settingKind, vlanConfigKind, vlanStatusKind } from '../../api/harvester.ts'
import { migrationNetworkKind } from '../../api/migration-network.ts'
import { defineKind, type KubeObject } from '../../kube/object.ts'
import { kindAs } from '../office/kinds.ts'

export { attachments, nodes, pods } from '../office/kinds.ts'

/** Of Harvester. One of them, `vm-migration-network`, asks for a migration network. */
export const settings = kindAs(settingKind)

/** Asks for a migration network where there is no Harvester. */
export const migrationNetworks = kindAs(migrationNetworkKind)

export const clusterNetworks = kindAs(clusterNetworkKind)
export const vlanConfigs = kindAs(vlanConfigKind)
export const vlanStatuses = kindAs(vlanStatusKind)

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
