// Which address a claim gets. Pure: the same pool, index and wish give the same answer, and an answer takes nothing; the
// Hold that is then created does. In this order:
//
//   whether the claim may have anything      permit.ts; nothing, while it is not known what is in use
//   the address kept for it, or asked for    that one or none: something else would not be what was asked for
//   what it left in quarantine               so that a claim, or its owner, finds its own address again
//   the pool's strategy
//
// A new address, one that the claim has not left itself, is refused while too much rests that its namespace released.
// Never proposed to another claim: what is held, quarantined, excluded, reserved, the gateway, kept for a claim, draining.

import type { Identity } from '../api/object.ts'
import type { Pool, Strategy } from '../api/pool.ts'
import { bitsOf, type IP, isSameIP, toIPText } from '../ip/address.ts'
import { firstIP, toCIDRText } from '../ip/cidr.ts'
import { isMalformed } from '../ip/malformed.ts'
import { hasValue } from '../ip/range-set.ts'
import { wideNumber } from './blocks.ts'
import { type Applicant, whyNotPermitted, whyTooMuchRests } from './permit.ts'
import { type PoolSet, poolSetOf, whyNotOffered } from './pool-set.ts'
import { blockText, kindNotRead, poolText, type Refusal, refuse } from './refusal.ts'
import type { Block, SpaceIndex } from './space-index.ts'
import { parseWish } from './wish.ts'

export interface Wish extends Applicant {
  /** The object that the claim serves, where it is known and outlives the claim. */
  readonly owner: Identity | undefined
  /**
   * The keys under which the pool's reservations may be kept for this claim, the first that has one counts: its name, with or
   * without its namespace, the MAC address or the node it is for.
   */
  readonly keptFor: readonly string[]
  /** What the claim's author asked for, as typed. */
  readonly requested: string | undefined
  /** Whether another object shows an address that the claim left in quarantine: then it is not the claim's to have back. */
  readonly isShown?: (ip: IP) => boolean
  /** In [0, 1). */
  readonly random: number
}

/**
 * The keys under which a pool keeps an address for a claim. The plain name counts in a pool of the claim's own namespace alone:
 * in one of the cluster it would be a key for every namespace that has a claim of that name.
 */
export function keysOfKept(
  { identity }: Pick<Pool, 'identity'>,
  { namespace, name }: Pick<Identity, 'namespace' | 'name'>,
): string[] {
  const key = `${namespace}/${name}`
  return identity.namespace === namespace ? [key, name] : [key]
}

/** Take: create the hold. Retake: it is there, in quarantine, and the claim's own; change it under its version. */
export type Choice = ({ readonly kind: 'take' | 'retake' } & Block) | Refusal

export function choose(pool: Pool, index: SpaceIndex, wish: Wish): Choice {
  const refusal = whyNotPermitted(pool, index, wish) ?? whyNotKnown(pool, index)
  if (refusal !== undefined) return refusal
  const named = namedAddress(pool, wish)
  if (named?.kind === 'refused') return named
  const choice =
    named !== undefined
      ? takeNamed(pool, index, wish, named)
      : (retakeOwn(pool, index, wish) ?? byStrategy(pool, index, wish))
  return choice.kind === 'take' ? (whyTooMuchRests(pool, index, wish) ?? choice) : choice
}

/** I5: while a kind cannot be read that may show what is in use, nothing is known to be free. */
export function whyNotKnown({ identity }: Pool, index: SpaceIndex): Refusal | undefined {
  const kind = index.unread()
  return kind === undefined ? undefined : kindNotRead(identity, kind)
}

/** The address that must be it: kept for this claim by the pool's admin, or asked for by the claim's author. */
function namedAddress(
  pool: Pool,
  wish: Pick<Wish, 'keptFor' | 'requested'>,
): ({ readonly kind: 'named'; readonly isKept: boolean } & Block) | Refusal | undefined {
  const kept = keptFor(pool, wish)
  const asked = wish.requested === undefined ? undefined : parseRequest(pool, wish.requested)
  if (asked !== undefined && 'kind' in asked) return asked
  if (kept !== undefined && asked !== undefined && !isSameIP(kept, asked)) {
    const why = `the claim asks for ${toIPText(asked)}, and ${poolText(pool.identity)} keeps ${toIPText(kept)} for it`
    return refuse('RequestsConflict', `${why}: remove the request, or have what is kept for it changed`)
  }
  const ip = kept ?? asked
  return ip === undefined ? undefined : { kind: 'named', isKept: kept !== undefined, ip, bits: pool.bits }
}

function keptFor({ reservations }: Pool, { keptFor }: Pick<Wish, 'keptFor'>): IP | undefined {
  if (reservations.size === 0) return undefined
  const key = keptFor.find(one => reservations.has(one))
  return key === undefined ? undefined : reservations.get(key)
}

function parseRequest(pool: Pool, text: string): IP | Refusal {
  const asked = parseWish(text, pool.bits < bitsOf(pool.family))
  if (isMalformed(asked)) {
    return refuse('NotAnAddress', `what the claim asks for cannot be read: ${asked.malformed}`)
  }
  const { ip, bits } = asked
  if (ip.family !== pool.family) return wrongFamily(pool, toIPText(ip))
  const base = firstIP({ ip, bits: pool.bits })
  if (isSameIP(ip, base) && (bits === undefined || bits === pool.bits)) return ip
  const advice = `ask for ${toCIDRText({ ip: base, bits: pool.bits })}`
  return refuse('NotCanonical', `${poolText(pool.identity)} gives out prefixes of ${pool.bits} bits: ${advice}`)
}

/**
 * Why a claim may not have the address that it names, whether or not another claim has it now: the claim learns nothing about
 * an address that is not for it.
 */
export function whyNotForClaim(
  pool: Pool,
  index: SpaceIndex,
  wish: Omit<Wish, 'owner' | 'random'>,
): Refusal | undefined {
  const refusal = whyNotPermitted(pool, index, wish)
  if (refusal !== undefined) return refusal
  const named = namedAddress(pool, wish)
  return named === undefined || named.kind === 'refused' ? named : whyNotOpen(pool, named)
}

function takeNamed(pool: Pool, index: SpaceIndex, wish: Wish, named: Block & { isKept: boolean }): Choice {
  return whyNotOpen(pool, named) ?? takeUnlessTaken(index, wish, named)
}

/** Why the pool gives the address to no claim, or to no other than the one it is kept for. */
export function whyNotOpen(pool: Pool, { ip, bits, isKept }: Block & { isKept: boolean }): Refusal | undefined {
  const text = blockText({ ip, bits })
  const name = poolText(pool.identity)
  switch (whyNotOffered(pool, ip)) {
    case 'outOfRange':
      return refuse('AddressOutOfRange', `${text} is not among the addresses of ${name}: ask for one that is`)
    case 'excluded':
      return refuse('AddressExcluded', `${text} is excluded from ${name}: ask for another address`)
    case 'gateway':
      return refuse('AddressReserved', `${text} is the gateway of ${name}: ask for another address`)
    case 'reserved':
      return refuse('AddressReserved', `${text} is no address for a host in the subnet of ${name}: ask for another`)
    case undefined:
      break
  }
  const set = poolSetOf(pool)
  const block = wideNumber(ip, bits)
  if (!isKept && hasValue(set.kept, block)) {
    return refuse('AddressReserved', `${text} is kept for another claim of ${name}: ask for another address`)
  }
  if (hasValue(set.draining, block)) {
    return refuse('AddressDraining', `${text} is being drained from ${name}: ask for another address`)
  }
  return undefined
}

function takeUnlessTaken(index: SpaceIndex, wish: Wish, { ip, bits }: Block): Choice {
  switch (index.stateOf({ ip, bits })) {
    case 'free':
      return { kind: 'take', ip, bits }
    case 'held':
      return refuse(
        'AddressInUse',
        `${blockText({ ip, bits })} is held by another claim: it is given to this one once it is free`,
      )
    case 'quarantined':
      if (isOwn(index, wish, { ip, bits })) return { kind: 'retake', ip, bits }
      return refuse(
        'AddressQuarantined',
        `${blockText({ ip, bits })} was released a short while ago: it is given once it has rested`,
      )
  }
}

const isOwn = (index: SpaceIndex, { claim, owner, isShown }: Wish, { ip, bits }: Block): boolean =>
  isShown?.(ip) !== true && index.leftBy(claim, owner).some(left => left.bits === bits && isSameIP(left.ip, ip))

/** What the claim of this name left comes before what others left that served the same owner: they may come back too. */
function retakeOwn(pool: Pool, index: SpaceIndex, wish: Wish): Choice | undefined {
  const { claim, owner } = wish
  const own = lowestOf(pool, index.leftBy(claim, undefined), wish)
  return own ?? (owner === undefined ? undefined : lowestOf(pool, index.leftBy(claim, owner), wish))
}

/** The lowest that could be given today. */
function lowestOf(pool: Pool, leftBehind: readonly Block[], { isShown }: Wish): Choice | undefined {
  if (leftBehind.length === 0) return undefined
  const { open, bits, family } = poolSetOf(pool)
  let lowest: { readonly ip: IP; readonly block: bigint } | undefined
  for (const left of leftBehind) {
    if (left.bits !== bits || left.ip.family !== family) continue
    const block = wideNumber(left.ip, bits)
    if (!hasValue(open, block) || isShown?.(left.ip) === true) continue
    if (lowest === undefined || block < lowest.block) lowest = { ip: left.ip, block }
  }
  return lowest === undefined ? undefined : { kind: 'retake', ip: lowest.ip, bits }
}

function byStrategy(pool: Pool, index: SpaceIndex, { random }: Wish): Choice {
  const set = poolSetOf(pool)
  const ip = freeBy(pool.strategy, set, index, random)
  if (ip !== undefined) return { kind: 'take', ip, bits: set.bits }
  const what = set.bits < bitsOf(set.family) ? 'no prefix available' : 'no address available'
  const advice = 'the claim is served, oldest first, when one is released or the pool grows'
  return refuse('PoolExhausted', `${what} in ${poolText(pool.identity)}: ${advice}`)
}

function freeBy(strategy: Strategy, set: PoolSet, index: SpaceIndex, random: number): IP | undefined {
  switch (strategy) {
    case 'lowestFree':
      return index.lowestFree(set)
    case 'random':
      return index.randomFree(set, random)
    case 'leastRecentlyUsed':
      return index.leastRecentlyUsed(set)
  }
}

function wrongFamily(pool: Pool, text: string): Refusal {
  const why = `${text} is not an IPv${pool.family} address, and ${poolText(pool.identity)} has no others`
  return refuse('WrongFamily', `${why}: ask for one of its addresses`)
}
