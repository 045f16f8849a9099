// What the vm desk may do in a cluster, and why. A verb that is not here is never used by it.

import { type Permission, permission, seeing, subresource } from '../component.ts'
import { macHoldPermission } from '../office/mac-holds.ts'
import { claimsPermissions } from './claims/permissions.ts'
import { ipamClaims, nodes, pods } from './kinds.ts'

export const vmPermissions: readonly Permission[] = [
  ...claimsPermissions,
  macHoldPermission,
  permission(
    subresource(ipamClaims, 'status'),
    ['patch'],
    'a claim does not say which addresses it has, or why it waits',
  ),
  seeing(pods, 'addresses that pods of virtual machines show are taken for free'),
  {
    ...permission(nodes, ['get'], 'the address of a pod stays held when its node is removed from the cluster'),
    isNeeded: false,
  },
  permission(subresource(pods, 'status'), ['patch'], 'pods on networks of OVN-Kubernetes are not told their addresses'),
]
