// What can come of IPAMClaims, by what their addresses come from: the counters of each start at zero (office/metrics.ts).

import { poolGroups } from '../../../networks/mooring-config.ts'
import { attachmentKind, networkKind } from '../../../networks/network.ts'
import { type Counted, countedPools, ofChoice, type ReasonAnswers, reasonsIn } from '../../office/metrics.ts'

const decisions = ['bound', 'waiting', 'lost race', 'released'] as const

/** Of every network: what is wrong with a request, and what others have. What is not here, each kind of source answers by itself. */
const ofAll = {
  ...ofChoice,
  PoolDeleting: true,
  PoolPaused: true,
  NetworkNotOffered: true,
  RequestMalformed: true,
  MACInUse: true,
  MACQuarantined: true,
} as const satisfies Partial<ReasonAnswers>

export const counted: readonly Counted[] = [
  // Also of a claim whose network is not known. Only these networks may be another program's to give out: then a claim is refused,
  // and goes on.
  {
    decisions: [...decisions, 'refused'],
    sources: [{ kind: networkKind, strategies: ['leastRecentlyUsed', ''] }],
    reasons: reasonsIn({
      ...ofAll,
      PoolNotFound: true,
      PoolMalformed: false,
      NetworkNotFound: true,
      NetworkMalformed: true,
      NetworkDiffers: true,
      SpaceNotOffered: true,
      SpaceUndecided: false,
      QuotaReached: false,
      RestQuotaReached: false,
      AddressDraining: false,
      MACReserved: true,
    }),
  },
  {
    decisions,
    sources: [{ kind: attachmentKind, strategies: ['leastRecentlyUsed'] }],
    reasons: reasonsIn({
      ...ofAll,
      PoolNotFound: false,
      PoolMalformed: false,
      NetworkNotFound: false,
      NetworkMalformed: false,
      NetworkDiffers: false,
      SpaceNotOffered: false,
      SpaceUndecided: false,
      QuotaReached: false,
      RestQuotaReached: false,
      AddressDraining: false,
      MACReserved: false,
    }),
  },
  {
    decisions,
    sources: countedPools
      .filter(({ kind }) => Object.hasOwn(poolGroups, kind))
      .map(({ kind, strategies }) => ({ kind, strategies: [...strategies, ''] })),
    reasons: reasonsIn({
      ...ofAll,
      PoolNotFound: true,
      PoolMalformed: true,
      NetworkNotFound: false,
      NetworkMalformed: false,
      NetworkDiffers: false,
      SpaceNotOffered: true,
      SpaceUndecided: true,
      QuotaReached: true,
      RestQuotaReached: true,
      AddressDraining: true,
      MACReserved: false,
    }),
  },
]
