// What can come of IPAMClaims, by what their addresses come from: the counters of each start at zero (office/metrics.ts).

import type { RefusalReason } from '../../../ipam/refusal.ts'
import { poolGroups } from '../../../networks/mooring-config.ts'
import { attachmentKind, networkKind } from '../../../networks/network.ts'
import { type Counted, countedOfChoice, countedPools } from '../../office/metrics.ts'

const decisions = ['bound', 'waiting', 'lost race', 'released'] as const

/** Of every network: what is wrong with a request, and what others have. */
const ofAll: readonly RefusalReason[] = [
  ...countedOfChoice,
  'PoolDeleting',
  'PoolPaused',
  'NetworkNotOffered',
  'RequestMalformed',
  'MACInUse',
  'MACQuarantined',
]

export const counted: readonly Counted[] = [
  // Also of a claim whose network is not known. Only these networks may be another program's to give out: then a claim is refused,
  // and goes on.
  {
    decisions: [...decisions, 'refused'],
    sources: [{ kind: networkKind, strategies: ['leastRecentlyUsed', ''] }],
    reasons: [
      ...ofAll,
      'PoolNotFound',
      'NetworkNotFound',
      'NetworkMalformed',
      'NetworkDiffers',
      'SpaceNotOffered',
      'MACReserved',
    ],
  },
  { decisions, sources: [{ kind: attachmentKind, strategies: ['leastRecentlyUsed'] }], reasons: ofAll },
  {
    decisions,
    sources: countedPools
      .filter(({ kind }) => Object.hasOwn(poolGroups, kind))
      .map(({ kind, strategies }) => ({ kind, strategies: [...strategies, ''] })),
    reasons: [
      ...ofAll,
      'PoolNotFound',
      'PoolMalformed',
      'SpaceNotOffered',
      'SpaceUndecided',
      'QuotaReached',
      'RestQuotaReached',
      'AddressDraining',
    ],
  },
]
