// What would help a claim that was refused: what wakes it in the line of waiting claims. Every reason has a line here; a new
// one that has none does not compile.

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
  SpaceNotOffered: 'change',
  SpaceUndecided: 'change',
}

/** `wants` is the address that would help, where it is known. */
export function needOf(reason: RefusalReason, pool: string, wants: Block | undefined): Need {
  const kind = helps[reason]
  return kind === 'one' ? { kind, pool, block: wants } : { kind, pool }
}
