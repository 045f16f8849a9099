// What would help a claim that was refused: what wakes it in the line of waiting claims. Every reason has a line here; a new
// one that has none does not compile.

import type { MACText } from '../../ip/mac.ts'
import type { RefusalReason } from '../../ipam/refusal.ts'
import type { Block } from '../../ipam/space-index.ts'
import type { Need, NeedKind } from './waiting.ts'

const helps: Readonly<Record<RefusalReason, NeedKind['kind']>> = {
  PoolNotFound: 'change',
  PoolMalformed: 'change',
  PoolDeleting: 'change',
  PoolPaused: 'change',
  NamespaceNotAllowed: 'change',
  QuotaReached: 'quota',
  RestQuotaReached: 'quota',
  PoolExhausted: 'any',
  NotAnAddress: 'change',
  NotCanonical: 'change',
  WrongFamily: 'change',
  AddressOutOfRange: 'change',
  AddressExcluded: 'change',
  AddressReserved: 'change',
  AddressDraining: 'change',
  AddressQuarantined: 'one',
  AddressInUse: 'one',
  RequestsConflict: 'change',
  RequestMalformed: 'change',
  MACInUse: 'mac',
  MACQuarantined: 'mac',
  MACReserved: 'change',
  SpaceNotOffered: 'change',
  SpaceUndecided: 'change',
  KindNotRead: 'change',
  NetworkNotFound: 'change',
  NetworkMalformed: 'change',
  NetworkNotOffered: 'change',
  NetworkDiffers: 'change',
}

/** `wants` is the address or the MAC that would help, where it is known. */
export function needOf(reason: RefusalReason, pool: string, wants: Block | MACText | undefined): Need {
  const kind = helps[reason]
  if (kind === 'one') return { kind, pool, block: typeof wants === 'object' ? wants : undefined }
  if (kind !== 'mac') return { kind, pool }
  return typeof wants === 'string' ? { kind, pool, mac: wants } : { kind: 'change', pool }
}
