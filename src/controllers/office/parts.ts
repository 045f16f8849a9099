// What a claim of several parts is to hold: an address for each, a MAC where one is asked for; all of them, or none. Pure: the
// holds are taken by `hold/take-all.ts`.
//
//   the claim has                                    then
//   nothing yet                                      every part is chosen
//   holds in its name, of a pass that was cut off    they are used, unless something else is asked for by now, and only the
//                                                    other parts are chosen
//   stored its choice                                exactly that, or nothing: `resumeParts`
//
// What is refused says which part it is about, and what the claim waits for.

import type { Hold } from '../../api/hold.ts'
import type { ClaimReference, Owner } from '../../api/lock.ts'
import type { MACHold } from '../../api/mac-hold.ts'
import { identityKey } from '../../api/object.ts'
import { type Pool, poolKey } from '../../api/pool.ts'
import { type IP, isSameIP, parseIP } from '../../ip/address.ts'
import type { MACText } from '../../ip/mac.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { choose } from '../../ipam/choose.ts'
import { chooseAll, type PartChoice, type PartWish } from '../../ipam/choose-all.ts'
import { type Applicant, whyNotPermitted } from '../../ipam/permit.ts'
import { blockText, type Refusal, type RefusalReason, refuse } from '../../ipam/refusal.ts'
import { type Block, type SpaceIndex, wasLeftBy } from '../../ipam/space-index.ts'
import { type AnyHold, type AnyHoldSpec, isOfAddress } from './hold/steps.ts'
import type { PartTaking } from './hold/take-all.ts'
import { needOf } from './need.ts'
import type { Need } from './waiting.ts'

/** What one part of a claim is to be. */
export type PartAsk =
  | {
      readonly part: string
      readonly pool: Pool
      /** As its author typed it. */
      readonly requested?: string | undefined
      readonly keptFor?: readonly string[]
    }
  /** In the space of the pool. */
  | { readonly part: string; readonly pool: Pool; readonly mac: MACText }

/** The claim that asks for the parts. */
export interface PartsApplicant extends Omit<Applicant, 'taking'> {
  readonly claim: ClaimReference
  readonly owner: Owner | undefined
  /** In [0, 1). */
  readonly random: number
}

/** What the ledger answers, as it is in this moment. */
export interface PartsLedger {
  indexOf(space: string): SpaceIndex
  holdAt(space: string, ip: IP): Hold | undefined
  macHoldAt(space: string, mac: MACText): MACHold | undefined
  /** Whether an object that does not belong to the claim shows the address. */
  isDisputed(space: string, ip: IP): boolean
}

export type PartsPlan =
  /** In the order in which the parts were asked for. */
  { readonly kind: 'take'; readonly parts: readonly PartTaking[] } | RefusedParts

export interface RefusedParts extends Refusal {
  readonly part: string
  readonly needs: readonly Need[]
}

/** For a claim that has stored no choice. `held`: what is held in its name. */
export function chooseParts(
  asks: readonly PartAsk[],
  applicant: PartsApplicant,
  held: readonly AnyHold[],
  ledger: PartsLedger,
): PartsPlan {
  const found = new Map(asks.flatMap(ask => foundFor(ask, held).map(hold => [ask.part, hold] as const)))
  for (const { part, pool } of asks) {
    const hold = found.get(part)
    if (hold === undefined || !isOfAddress(hold) || !ledger.isDisputed(hold.space, hold.ip)) continue
    return refused({ part, pool }, shown(hold), hold)
  }
  const wishes = asks.flatMap(ask => ('mac' in ask || found.has(ask.part) ? [] : toWish(ask, applicant, ledger)))
  const chosen = chooseAll(wishes)
  if (chosen.kind === 'refused') return refusedWish(chosen, wishes)
  // What is only seen to be free is shown by no object; what the claim left in quarantine may be shown meanwhile.
  const disputed = chosen.choices.find(({ pool, ip }) => ledger.isDisputed(pool.space, ip))
  if (disputed !== undefined) return refused(disputed, shown(disputed), disputed)
  const parts: PartTaking[] = []
  for (const ask of asks) {
    const hold = found.get(ask.part)
    const taking =
      hold !== undefined
        ? ({ how: 'found', spec: hold, hold } as const)
        : 'mac' in ask
          ? takeMAC(ask, applicant, ledger)
          : takeChosen(ask, chosen.choices, applicant, ledger)
    if ('kind' in taking) return refused(ask, taking, 'mac' in ask ? ask.mac : undefined)
    parts.push(taking)
  }
  return { kind: 'take', parts }
}

/** For a claim that has stored its choice: it gets exactly that, whatever pools offer today. */
export function resumeParts(
  chosen: readonly { readonly spec: AnyHoldSpec; readonly pool: Pool }[],
  ledger: PartsLedger,
): PartsPlan {
  const parts: PartTaking[] = []
  for (const { spec, pool } of chosen) {
    const part = spec.claim.part ?? ''
    const taking = resume(spec, ledger)
    if ('kind' in taking) return refused({ part, pool }, taking, isOfAddress(spec) ? spec : spec.mac)
    parts.push(taking)
  }
  return { kind: 'take', parts }
}

export const specOf = ({ claim, owner }: PartsApplicant, part: string, pool: Pool, block: Block): AnyHoldSpec => ({
  space: pool.space,
  ip: block.ip,
  bits: block.bits,
  pool: pool.identity,
  claim: { ...claim, part },
  owner,
})

export const macSpecOf = ({ claim, owner }: PartsApplicant, part: string, pool: Pool, mac: MACText): AnyHoldSpec => ({
  space: pool.space,
  mac,
  pool: pool.identity,
  claim: { ...claim, part },
  owner,
})

// --- one part ---

function foundFor(ask: PartAsk, held: readonly AnyHold[]): AnyHold[] {
  const { part, pool } = ask
  const hold = held.find(one => {
    if (one.state !== 'held' || one.claim.part !== part || one.space !== pool.space) return false
    if (identityKey(one.pool) !== identityKey(pool.identity)) return false
    if ('mac' in ask) return !isOfAddress(one) && one.mac === ask.mac
    if (!isOfAddress(one) || one.ip.family !== pool.family || one.bits !== pool.bits) return false
    const named = namedIn(pool, ask.requested)
    return named === undefined || isSameIP(one.ip, named.ip)
  })
  return hold === undefined ? [] : [hold]
}

function toWish(
  { part, pool, requested, keptFor = [] }: Exclude<PartAsk, { mac: MACText }>,
  { claim, owner, namespaceLabels, random }: PartsApplicant,
  ledger: PartsLedger,
): PartWish {
  const wish = { claim: { ...claim, part }, owner, namespaceLabels, random, requested, keptFor }
  return { part, pool, index: ledger.indexOf(pool.space), wish }
}

function takeChosen(
  { part, pool }: PartAsk,
  choices: readonly PartChoice[],
  applicant: PartsApplicant,
  ledger: PartsLedger,
): PartTaking | Refusal {
  const choice = choices.find(one => one.part === part)
  if (choice === undefined) throw new Error(`nothing was chosen for ${part}`)
  const spec = specOf(applicant, part, pool, choice)
  const hold = choice.kind === 'retake' ? ledger.holdAt(pool.space, choice.ip) : undefined
  return hold === undefined ? { how: 'take', spec } : { how: 'regain', spec, hold }
}

function takeMAC(
  { part, pool, mac }: Extract<PartAsk, { mac: MACText }>,
  applicant: PartsApplicant,
  ledger: PartsLedger,
): PartTaking | Refusal {
  // Quotas count addresses.
  const why = whyNotPermitted({ ...pool, quota: {} }, ledger.indexOf(pool.space), applicant)
  return why ?? resume(macSpecOf(applicant, part, pool, mac), ledger)
}

/** Just this address or MAC. */
function resume(spec: AnyHoldSpec, ledger: PartsLedger): PartTaking | Refusal {
  const hold = isOfAddress(spec) ? ledger.holdAt(spec.space, spec.ip) : ledger.macHoldAt(spec.space, spec.mac)
  if (hold === undefined) {
    const isDisputed = isOfAddress(spec) && ledger.isDisputed(spec.space, spec.ip)
    return isDisputed ? shown(spec) : { how: 'take', spec }
  }
  if (hold.state === 'held' && hold.claim.uid === spec.claim.uid && hold.claim.part === spec.claim.part) {
    return { how: 'found', spec, hold }
  }
  if (hold.state === 'quarantined' && wasLeftBy(hold, spec.claim, spec.owner)) {
    const isDisputed = isOfAddress(spec) && ledger.isDisputed(spec.space, spec.ip)
    return isDisputed ? shown(spec) : { how: 'regain', spec, hold }
  }
  return heldByAnother(spec, hold)
}

// --- refusals ---

function heldByAnother(spec: AnyHoldSpec, { state }: AnyHold): Refusal {
  const text = isOfAddress(spec) ? blockText(spec) : spec.mac
  const reasons: readonly [RefusalReason, RefusalReason] = isOfAddress(spec)
    ? ['AddressInUse', 'AddressQuarantined']
    : ['MACInUse', 'MACQuarantined']
  if (state === 'held') {
    return refuse(reasons[0], `${text} is held by another claim: it is given to this one once it is free`)
  }
  return refuse(reasons[1], `${text} was released a short while ago: it is given once it has rested`)
}

const shown = (block: Block): Refusal =>
  refuse('AddressInUse', `${blockText(block)} is shown by another object: delete the one that is wrong`)

function refused(
  { part, pool }: { readonly part: string; readonly pool: Pool },
  { kind, reason, message }: Refusal,
  wants: Block | MACText | undefined,
): RefusedParts {
  return { kind, part, reason, message: `${part}: ${message}`, needs: [needOf(reason, poolKey(pool), wants)] }
}

/** A claim that waits for any address is woken when there is one for each of its parts that has none. */
function refusedWish(
  { part, ...refusal }: Refusal & { readonly part: string },
  wishes: readonly PartWish[],
): RefusedParts {
  const missed = wishes.find(wish => wish.part === part)
  if (missed === undefined) throw new Error(`${part} was refused, and not asked for`)
  const need = needOf(refusal.reason, poolKey(missed.pool), namedBy(missed))
  if (need.kind !== 'any') return { ...refusal, part, needs: [need] }
  const others = wishes.filter(wish => wish !== missed && needsAny(wish))
  const keys = new Set([need.pool, ...others.map(({ pool }) => poolKey(pool))])
  return { ...refusal, part, needs: [...keys].map(pool => ({ kind: 'any', pool })) }
}

function needsAny({ pool, index, wish }: PartWish): boolean {
  if (wish.requested !== undefined || wish.keptFor.some(key => pool.reservations.has(key))) return false
  const choice = choose(pool, index, wish)
  return choice.kind === 'take' || (choice.kind === 'refused' && choice.reason === 'PoolExhausted')
}

const namedBy = ({ pool, wish }: PartWish): Block | undefined => namedIn(pool, wish.requested)

function namedIn(pool: Pool, requested: string | undefined): Block | undefined {
  const ip = parseIP(requested?.split('/', 1)[0] ?? '')
  return isMalformed(ip) || ip.family !== pool.family ? undefined : { ip, bits: pool.bits }
}
