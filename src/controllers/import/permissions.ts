// What the import desk may do in a cluster, and why. A verb that is not here is never used by it, but for those to list and watch:
// NetworkAttachmentDefinitions and ClusterUserDefinedNetworks are seen by the office, claims and pods by the vm desk, whichever
// desks are on.

import { type Permission, permission, subresource } from '../component.ts'
import { attachments, clusterUserDefinedNetworks, ipPools, userDefinedNetworks } from '../office/kinds.ts'

const notMarked = 'networks that users define do not stay while they are in use'

export const importPermissions: readonly Permission[] = [
  permission(userDefinedNetworks, ['list', 'watch'], 'networks that users define are not seen'),
  ...[userDefinedNetworks, clusterUserDefinedNetworks].flatMap(kind => [
    permission(kind, ['get', 'patch'], notMarked),
    permission(subresource(kind, 'status'), ['patch'], 'a network does not say whether it is there'),
    permission(
      subresource(kind, 'finalizers'),
      ['update'],
      'a NetworkAttachmentDefinition cannot name its network as owner where the API server checks which users may block a deletion',
    ),
  ]),
  permission(
    attachments,
    ['get', 'create', 'patch', 'delete'],
    'no NetworkAttachmentDefinitions are made of the networks that users define',
  ),
  permission(ipPools, ['get'], 'the status of an IPPool that another process wrote meanwhile is not seen'),
  permission(
    subresource(ipPools, 'status'),
    ['patch'],
    'an IPPool does not say what is wrong with it, and what is in use',
  ),
]
