// What the office brings: holds, pools and namespaces, the permissions it needs for them, and the webhooks of pools.

import { events } from '../../kube/events.ts'
import { byRule, type Component, permission, subresource } from '../component.ts'
import { holds, macHolds, namespaces, pools } from './kinds.ts'
import { poolConversions } from './webhooks/conversion.ts'
import { poolWebhooks } from './webhooks/webhooks.ts'

const ours = "Mooring's definitions, config/crd"

export const officeComponent: Component = {
  name: 'office',
  about: 'holds and pools, which all desks share',
  kinds: [
    { kind: holds, isNeeded: true, comesWith: ours },
    { kind: macHolds, isNeeded: true, comesWith: ours },
    { kind: namespaces, isNeeded: true, comesWith: 'every API server' },
    ...pools.map(kind => ({ kind, isNeeded: false, comesWith: ours })),
  ],
  permissions: [
    permission([holds, macHolds], ['get', 'list', 'watch', 'create', 'patch', 'delete'], 'nothing can be held'),
    ...byRule(pools).flatMap(kinds => [
      permission(kinds, ['list', 'watch'], 'pools are not seen'),
      permission(kinds, ['patch'], 'a pool in use can be deleted'),
      permission(
        kinds.map(kind => subresource(kind, 'status')),
        ['patch'],
        'a pool does not say what is used and free',
      ),
    ]),
    { ...permission(events, ['create', 'patch'], 'kubectl describe shows no events'), isNeeded: false },
    permission(namespaces, ['get', 'list', 'watch'], 'pools cannot be offered to namespaces by their labels'),
  ],
  webhooks: poolWebhooks,
  conversions: poolConversions,
  definitions: ['crd/'],
}
