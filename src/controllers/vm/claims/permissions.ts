// What `vm.claims` and the webhook on pods may do in a cluster, and why.

import { type Permission, permission, seeing, subresource } from '../../component.ts'
import { ipamClaims, pods, virtualMachineInstances, virtualMachines } from '../kinds.ts'

export const claimsPermissions: readonly Permission[] = [
  seeing(ipamClaims, 'addresses that IPAMClaims show are taken for free'),
  permission(
    ipamClaims,
    ['get', 'create', 'patch', 'delete'],
    'virtual machines get no IPAMClaims, and those of interfaces that were removed stay',
  ),
  permission([virtualMachines, virtualMachineInstances], ['get', 'list', 'watch'], 'virtual machines are not seen'),
  permission(virtualMachines, ['patch'], 'a virtual machine does not show which addresses it has'),
  permission(
    [subresource(virtualMachines, 'finalizers'), subresource(virtualMachineInstances, 'finalizers')],
    ['update'],
    'an IPAMClaim cannot name its virtual machine as owner where the API server checks which users may block a deletion',
  ),
  permission(pods, ['get'], 'it is not known whether a pod still uses the addresses of a claim'),
]
