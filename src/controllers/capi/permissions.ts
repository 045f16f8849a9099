// What the capi desk may do in a cluster, and why. A verb that is not here is never used by it.

import { byRule, type Permission, permission, seeing, subresource } from '../component.ts'
import { pools } from '../office/kinds.ts'
import { claims, clusters, reports } from './kinds.ts'

export const capiPermissions: readonly Permission[] = [
  seeing(claims, 'claims are not seen'),
  permission(claims, ['get'], 'it is not known whether a claim is gone'),
  permission(claims, ['patch'], 'a claim does not remember its address'),
  permission(subresource(claims, 'status'), ['patch'], 'a claim does not say that it is bound, or why it waits'),
  permission(
    subresource(claims, 'finalizers'),
    ['update'],
    'an IPAddress cannot name its claim as owner where the API server checks which users may block a deletion',
  ),
  seeing(reports, 'addresses that IPAddresses show are taken for free'),
  permission(reports, ['create', 'delete'], 'claims get no IPAddress'),
  permission(
    reports,
    ['get', 'patch'],
    'an IPAddress that was there before is not adopted, and one of a claim that goes stays',
  ),
  ...byRule(pools).map(kinds =>
    permission(
      kinds.map(kind => subresource(kind, 'finalizers')),
      ['update'],
      'an IPAddress cannot name its pool as owner where the API server checks which users may block a deletion',
    ),
  ),
  permission(clusters, ['list', 'watch'], 'claims of a paused Cluster are not left alone'),
]
