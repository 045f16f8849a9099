// Why a claim gets no address, as a closed list: what each means to a machine, and one sentence that tells a person what to
// do about it. A sentence names nothing that its reader may not see: not which other claim holds an address. It has no counts
// either, for it is stored on every claim that waits, and must not change whenever another claim is served.

import type { Identity } from '../api/object.ts'
import { bitsOf, toIPText } from '../ip/address.ts'
import { toCIDRText } from '../ip/cidr.ts'
import { quoteText } from '../ip/malformed.ts'
import { quoteUnlessName } from '../ip/object-name.ts'
import type { Block } from './space-index.ts'

export type RefusalReason =
  | 'PoolNotFound'
  | 'PoolMalformed'
  | 'PoolDeleting'
  | 'PoolPaused'
  | 'NamespaceNotAllowed'
  | 'SpaceNotOffered'
  | 'SpaceUndecided'
  | 'KindNotRead'
  | 'QuotaReached'
  | 'RestQuotaReached'
  | 'PoolExhausted'
  | 'NotAnAddress'
  | 'NotCanonical'
  | 'WrongFamily'
  | 'AddressOutOfRange'
  | 'AddressExcluded'
  | 'AddressReserved'
  | 'AddressDraining'
  | 'AddressQuarantined'
  | 'AddressInUse'
  | 'RequestsConflict'
  | 'RequestMalformed'
  | 'MACInUse'
  | 'MACQuarantined'
  | 'MACReserved'
  | 'NetworkNotFound'
  | 'NetworkMalformed'
  | 'NetworkNotOffered'
  | 'NetworkDiffers'

export interface Refusal {
  readonly kind: 'refused'
  readonly reason: RefusalReason
  /** One sentence for the claim's author. */
  readonly message: string
}

export const refuse = (reason: RefusalReason, message: string): Refusal => ({ kind: 'refused', reason, message })

/** `InClusterIPPool default/vms`, as people write it. What a claim names may be no name, and no kind. */
export function poolText({ kind, namespace, name }: Identity): string {
  const shown = quoteUnlessName(name)
  return `${/^[A-Za-z0-9]{1,63}$/.test(kind) ? kind : quoteText(kind)} ${namespace === '' ? '' : `${namespace}/`}${shown}`
}

/** An address, or a prefix with its length. */
export const blockText = (block: Block): string =>
  block.bits === bitsOf(block.ip.family) ? toIPText(block.ip) : toCIDRText(block)

/** `text`: as it is called, where its kind and name alone do not say which is meant. */
export const poolNotFound = (pool: Identity, text = poolText(pool)): Refusal =>
  refuse('PoolNotFound', `${text} does not exist: create it, or make a claim that names another pool`)

export const poolMalformed = (pool: Identity, malformed: string): Refusal =>
  refuse('PoolMalformed', `${poolText(pool)} cannot be used until its spec is corrected: ${malformed}`)

/** `why`: what cannot be read. */
export const spaceUnread = (pool: Identity, why: string): Refusal =>
  refuse('SpaceUndecided', `it cannot be decided which space ${poolText(pool)} gets, and is tried again: ${why}`)

/** Else the pool would be apart from the network for good, and both would give out the same addresses on one wire. */
export function spaceAnnounced(pool: Identity, space: string): Refusal {
  const why = `${poolText(pool)} names the space of network ${space}, which is defined and cannot be used yet`
  const how = 'the pool is given it as soon as a NetworkAttachmentDefinition of the network can be used'
  return refuse('SpaceUndecided', `${why}: ${how}; or make another pool that names another space`)
}

export const spaceUndecided = (pool: Identity): Refusal =>
  refuse(
    'SpaceUndecided',
    `the space of ${poolText(pool)} is being decided: the claim is served as soon as the status of the pool says which it is`,
  )

/** A kind that tells of the pool, or of what is in use in its space. */
export function kindNotRead(pool: Identity, kind: string): Refusal {
  const why = `${poolText(pool)} gives out nothing new while the controller cannot read ${kind}`
  return refuse(
    'KindNotRead',
    `${why}: an administrator lets it list and watch them, or finds in its /readyz what is in the way`,
  )
}
