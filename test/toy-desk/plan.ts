// What is to be done for a berth: one pure function from what was seen to a plan. The rules, in the order in which they count:
//
//   the berth is another controller's             leave it alone
//   it is deleted                                 release, unless it has nothing of ours or others still need it
//   its network is gone                           leave it alone, if it was served; refuse
//   it was served and has lost its choice         recall: ask the API server what it had
//   it has stored its choice                      keep, bind to exactly that, or refuse and give nothing back
//   it has not                                    bind to what can be had, or refuse and let go of what it has of it

import { readyCondition } from '../../src/api/names.ts'
import { identityKey } from '../../src/api/object.ts'
import type { Pool } from '../../src/api/pool.ts'
import { type AnyHold, type AnyHoldSpec, holdFinalizer, isOfAddress } from '../../src/controllers/office/hold/steps.ts'
import type { PartTaking } from '../../src/controllers/office/hold/take-all.ts'
import { needOf } from '../../src/controllers/office/need.ts'
import {
  chooseParts,
  macSpecOf,
  type PartAsk,
  type PartsApplicant,
  type RefusedParts,
  resumeParts,
  specOf,
} from '../../src/controllers/office/parts.ts'
import { parseIP, toIPText } from '../../src/ip/address.ts'
import { parseMAC } from '../../src/ip/mac.ts'
import { isMalformed } from '../../src/ip/malformed.ts'
import { keysOfKept } from '../../src/ipam/choose.ts'
import { poolText, type Refusal, refuse } from '../../src/ipam/refusal.ts'
import { isKeptByOthers } from '../../src/kube/finalizers.ts'
import type { Seen } from './observe.ts'
import { type Berth, berthFinalizer, type Choice, partNames } from './parsed.ts'

export type Plan =
  | { readonly kind: 'leave alone' | 'keep' | 'recall' | 'release' }
  /** `letGo` is what it holds of what it cannot have whole. */
  | { readonly kind: 'refuse'; readonly refusal: Omit<RefusedParts, 'part'>; readonly letGo: readonly AnyHold[] }
  | {
      readonly kind: 'bind'
      readonly parts: readonly PartTaking[]
      readonly choice: Choice
      readonly isStored: boolean
    }

export function decide(seen: Seen): Plan {
  const { berth, pools } = seen
  if (!seen.isInScope) return { kind: 'leave alone' }
  if (berth.isDeleting) {
    const isOurs = hasOurFinalizer(berth) && !isKeptByOthers(berth, berthFinalizer)
    return { kind: isOurs ? 'release' : 'leave alone' }
  }
  if (pools.length === 0) return saysReady(berth) ? { kind: 'leave alone' } : refuseAs(seen, networkNotFound(berth))
  if (berth.choice === undefined && wasServed(berth)) return seen.isLive ? decideRecalled(seen) : { kind: 'recall' }
  return berth.choice === undefined ? decideNew(seen) : decideStored(seen)
}

function decideNew(seen: Seen): Plan {
  const asks = asksOf(seen.berth, seen.pools)
  if ('kind' in asks) return refuseAs(seen, asks)
  const plan = chooseParts(asks, seen.applicant, seen.held, seen.ledger)
  if (plan.kind === 'refused') return { kind: 'refuse', refusal: plan, letGo: seen.held }
  return { kind: 'bind', parts: plan.parts, choice: choiceOf(plan.parts), isStored: false }
}

function decideStored(seen: Seen): Plan {
  const { berth, pools, applicant, ledger } = seen
  const chosen = isMalformed(berth.choice) ? undefined : toChosen(berth.choice ?? {}, pools, applicant)
  if (chosen === undefined) return refuseAs(seen, unreadableChoice)
  const plan = resumeParts(chosen, ledger)
  if (plan.kind === 'refused') return { kind: 'refuse', refusal: plan, letGo: [] }
  const choice = choiceOf(plan.parts)
  const isStored = hasOurFinalizer(berth) && plan.parts.every(isInPlace)
  if (isStored && saysReady(berth) && isSameChoice(berth.shown, choice)) return { kind: 'keep' }
  return { kind: 'bind', parts: plan.parts, choice, isStored }
}

/** Exactly what it holds: it was served, and is not given something else. */
function decideRecalled(seen: Seen): Plan {
  const asks = asksOf(seen.berth, seen.pools)
  if ('kind' in asks) return refuseAs(seen, asks)
  const isWhole = asks.every(({ part }) => seen.held.filter(({ claim }) => claim.part === part).length === 1)
  return isWhole ? decideNew(seen) : refuseAs(seen, lostChoice)
}

// --- what a berth asks for, and what it has ---

function asksOf({ mac, wishes, metadata }: Berth, pools: readonly Pool[]): PartAsk[] | Refusal {
  const asks: PartAsk[] = pools.map(pool => ({
    part: `v${pool.family}`,
    pool,
    requested: wishes.find(wish => wish.includes(':') === (pool.family === 6)),
    keptFor: keysOfKept(pool, metadata),
  }))
  asks.sort((one, other) => (one.part < other.part ? -1 : 1))
  const [first] = pools
  if (mac === undefined || first === undefined) return asks
  const card = parseMAC(mac)
  if (isMalformed(card)) return refuse('NotAnAddress', `spec.mac ${card.malformed}`)
  return [...asks, { part: 'mac', pool: first, mac: card }]
}

function toChosen(
  choice: Choice,
  pools: readonly Pool[],
  applicant: PartsApplicant,
): { readonly spec: AnyHoldSpec; readonly pool: Pool }[] | undefined {
  const chosen: { readonly spec: AnyHoldSpec; readonly pool: Pool }[] = []
  for (const part of partNames) {
    const text = choice[part]
    if (text === undefined) continue
    const ip = parseIP(text)
    const mac = part === 'mac' ? parseMAC(text) : undefined
    const pool = pools.find(({ family }) => part === 'mac' || `v${family}` === part)
    if (pool === undefined || isMalformed(mac) || (mac === undefined && isMalformed(ip))) return undefined
    if (mac !== undefined) chosen.push({ spec: macSpecOf(applicant, part, pool, mac), pool })
    else if (!isMalformed(ip)) chosen.push({ spec: specOf(applicant, part, pool, { ip, bits: pool.bits }), pool })
  }
  return chosen
}

const choiceOf = (parts: readonly PartTaking[]): Choice =>
  Object.fromEntries(parts.map(({ spec }) => [spec.claim.part, isOfAddress(spec) ? toIPText(spec.ip) : spec.mac]))

export const isSameChoice = (one: Choice | undefined, other: Choice): boolean =>
  partNames.every(part => one?.[part] === other[part])

/** The berth stands by a hold that it chose for its part; until it has chosen, by all of them. */
export function standsBy({ choice }: Berth, hold: AnyHold): boolean {
  if (choice === undefined || isMalformed(choice)) return true
  const chosen = partNames.find(part => part === hold.claim.part)
  return chosen !== undefined && choice[chosen] === (isOfAddress(hold) ? toIPText(hold.ip) : hold.mac)
}

const isInPlace = (taking: PartTaking): boolean =>
  taking.how === 'found' && taking.hold.metadata.finalizers.includes(holdFinalizer)

const hasOurFinalizer = ({ metadata }: Berth): boolean => metadata.finalizers.includes(berthFinalizer)

const wasServed = (berth: Berth): boolean => hasOurFinalizer(berth) || berth.shown !== undefined

export const saysReady = ({ shown, conditions }: Berth): boolean =>
  shown !== undefined && conditions.some(({ type, status }) => type === readyCondition && status === 'True')

// --- refusals ---

/** Only a change of the network, or of the berth, can help. */
function refuseAs({ berth, held }: Seen, refusal: Refusal): Plan {
  const needs = [needOf(refusal.reason, identityKey(berth.network), undefined)]
  const letGo = berth.choice === undefined && !wasServed(berth) ? held : []
  return { kind: 'refuse', refusal: { ...refusal, needs }, letGo }
}

const networkNotFound = ({ network }: Berth): Refusal =>
  refuse('PoolNotFound', `${poolText(network)} is not there, or cannot be read: create it, or correct its spec`)

const unreadableChoice = refuse('NotAnAddress', 'what the berth says it has cannot be read: make another berth')

const lostChoice = refuse(
  'RequestsConflict',
  'it cannot be told any more which addresses the berth had: make another berth',
)
