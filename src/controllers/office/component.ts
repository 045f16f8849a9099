// What the office brings: holds, pools, networks and namespaces, the permissions it needs for them, and the webhooks of pools.

import type { Component } from '../component.ts'
import { attachments, clusterUserDefinedNetworks, holds, ipPools, macHolds, namespaces, pools } from './kinds.ts'
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
    { kind: attachments, isNeeded: false, comesWith: 'Multus or OVN-Kubernetes' },
    { kind: clusterUserDefinedNetworks, isNeeded: false, comesWith: 'OVN-Kubernetes' },
    { kind: ipPools, isNeeded: false, comesWith: ours, usedAs: 'pool' },
    ...pools.map(kind => ({ kind, isNeeded: false, comesWith: ours, usedAs: 'pool' as const })),
  ],
  permissions: officePermissions,
  webhooks: poolWebhooks,
  conversions: poolConversions,
  definitions: ['crd/'],
  standIns: ['crd/networks/'],
}
