// What the office may do in a cluster, and why: for holds, pools and networks, whichever desks are on. A verb that is not here is never used
// by it.

import { mooringGroup } from '../../api/names.ts'
import { events } from '../../kube/events.ts'
import type { Kind } from '../../kube/object.ts'
import { byRule, type Permission, permission, subresource } from '../component.ts'
import {
  attachments,
  clusterUserDefinedNetworks,
  holds,
  ipPools,
  macHolds,
  namespaces,
  pools,
  userDefinedNetworks,
} from './kinds.ts'

/** By its space, and what it keeps there. A pool of another product is in a space of its own: only its own claims miss it. */
const decidesOverOthers = ({ group }: Kind): boolean => group === mooringGroup

export const officePermissions: readonly Permission[] = [
  permission(holds, ['get', 'list', 'watch', 'create', 'patch', 'delete'], 'no address can be held'),
  // A desk whose claims hold MACs brings the rest (mac-holds.ts).
  permission(macHolds, ['list', 'watch'], 'MACs in use are not seen'),
  ...byRule(pools).flatMap(kinds =>
    [
      permission(kinds, ['list', 'watch'], 'pools are not seen'),
      permission(kinds, ['patch'], 'a pool in use can be deleted'),
      permission(
        kinds.map(kind => subresource(kind, 'status')),
        ['patch'],
        'a pool does not say what is used and free',
      ),
    ].map(of => ({ ...of, isNeeded: kinds.every(decidesOverOthers) })),
  ),
  // The desks of networks wait without it: what IPPools keep would be given to others.
  { ...permission(ipPools, ['list', 'watch'], 'it is not seen which addresses IPPools keep'), isNeeded: false },
  { ...permission(attachments, ['list', 'watch'], 'networks are not seen'), isNeeded: false },
  {
    ...permission(
      clusterUserDefinedNetworks,
      ['list', 'watch'],
      'it is not seen what a ClusterUserDefinedNetwork keeps, and which namespaces it is offered to',
    ),
    isNeeded: false,
  },
  {
    ...permission(
      userDefinedNetworks,
      ['get'],
      'a pool whose space begins with its namespace and _ waits until a network has that name',
    ),
    isNeeded: false,
  },
  { ...permission(events, ['create', 'patch'], 'kubectl describe shows no events'), isNeeded: false },
  permission(
    namespaces,
    ['get', 'list', 'watch'],
    'pools cannot be offered to namespaces by their labels, nor a released address be had back',
  ),
]
