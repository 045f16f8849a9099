// What the machine desk may do in a cluster, and why. A verb that is not here is never used by it, but for those to list and watch
// claims and IPAddresses, which the capi desk asks for, whichever desks are on.

import { type Permission, permission, subresource } from '../component.ts'
import { claims, machines, reports } from './kinds.ts'

export const machinePermissions: readonly Permission[] = [
  permission(machines, ['get', 'list', 'watch'], 'Machines are not seen'),
  permission(machines, ['patch'], 'a Machine does not remember which addresses its virtual machine has'),
  permission(subresource(machines, 'status'), ['patch'], 'a Machine does not say which claims it waits for'),
  permission(
    subresource(machines, 'finalizers'),
    ['update'],
    'a claim cannot name its Machine as owner where the API server checks which users may block a deletion',
  ),
  permission(claims, ['create'], 'Machines get no claims'),
  // As the capi desk asks for them, so that a role has them once.
  permission(claims, ['get'], 'a claim that another process made meanwhile is not seen'),
  permission(
    claims,
    ['patch'],
    'claims that were there before their Machine are not adopted, and those of one that is gone stay',
  ),
  permission(
    subresource(claims, 'finalizers'),
    ['update'],
    'an IPAddress cannot name its claim as owner where the API server checks which users may block a deletion',
  ),
  permission(reports, ['get', 'patch'], 'an IPAddress that an installation made stays when its Machine is gone'),
]
