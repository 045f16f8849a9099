// What the office brings: holds, pools and namespaces, the permissions it needs for them, and the webhooks of pools.

import type { Component } from '../component.ts'
import { holds, macHolds, namespaces, pools } from './kinds.ts'
import { officePermissions } from './permissions.ts'
import { poolConversions } from './webhooks/conversion.ts'
import { poolWebhooks } from './webhooks/webhooks.ts'

const ours = "Mooring's definitions, config/crd"

export const officeComponent: Component = {
  name: 'office',
  about: 'holds and pools, which all desks share',
  kinds: [
    { kind: holds, isNeeded: true, comesWith: ours, usedAs: 'hold' },
    { kind: macHolds, isNeeded: true, comesWith: ours, usedAs: 'hold' },
    { kind: namespaces, isNeeded: true, comesWith: 'every API server' },
    ...pools.map(kind => ({ kind, isNeeded: false, comesWith: ours, usedAs: 'pool' as const })),
  ],
  permissions: officePermissions,
  webhooks: poolWebhooks,
  conversions: poolConversions,
  definitions: ['crd/'],
}
