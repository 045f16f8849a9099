// What the migration desk may do in a cluster, and why. A verb that is not here is never used by it, but for those to list and watch
// NetworkAttachmentDefinitions, which the office asks for, and pods, which the vm desk asks for.

import { type Permission, permission, subresource } from '../component.ts'
import {
  attachments,
  clusterNetworks,
  kubeVirts,
  migrationNetworks,
  migrations,
  nodes,
  settings,
  vlanConfigs,
  vlanStatuses,
} from './kinds.ts'

export const migrationPermissions: readonly Permission[] = [
  permission(nodes, ['get', 'list', 'watch'], 'nodes are not seen, and what is held for one that is gone stays held'),
  permission(settings, ['get', 'list', 'watch'], 'the setting vm-migration-network is not seen'),
  permission(settings, ['patch'], 'the setting vm-migration-network does not say what became of it'),
  permission(migrationNetworks, ['get', 'list', 'watch'], 'MigrationNetworks are not seen'),
  permission(migrationNetworks, ['patch'], 'a MigrationNetwork does not stay until it is undone'),
  permission(subresource(migrationNetworks, 'status'), ['patch'], 'a MigrationNetwork does not say what became of it'),
  permission(kubeVirts, ['get', 'list', 'watch'], 'it is not known whether migrations may begin'),
  permission(kubeVirts, ['patch'], 'KubeVirt is not told over which network virtual machines migrate'),
  permission(migrations, ['list', 'watch'], 'the network may change while a virtual machine migrates'),
  permission(
    [clusterNetworks, vlanConfigs, vlanStatuses],
    ['list', 'watch'],
    'it is not known on which nodes a cluster network is there',
  ),
  permission(
    attachments,
    ['get', 'create', 'patch', 'delete'],
    'no NetworkAttachmentDefinition is made of a migration network',
  ),
]
