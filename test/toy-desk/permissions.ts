// What the toy desk may do in a cluster, and why. A verb that is not here is never used by it.

import { type Permission, permission, seeing, subresource } from '../../src/controllers/component.ts'
import { macHoldPermission } from '../../src/controllers/office/mac-holds.ts'
import { berths, networks } from './kinds.ts'

export const toyPermissions: readonly Permission[] = [
  seeing(berths, 'addresses that berths show are taken for free'),
  seeing(networks, 'networks are not seen'),
  permission(berths, ['get'], 'it cannot be told whether a berth is gone'),
  permission(berths, ['patch'], 'a berth does not remember what it has'),
  permission(subresource(berths, 'status'), ['patch'], 'a berth does not say what it has, or why it waits'),
  macHoldPermission,
  permission(networks, ['get'], 'a berth on a network that was made a moment ago is refused'),
]
