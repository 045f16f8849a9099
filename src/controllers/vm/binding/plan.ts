// What is to be done for an IPAMClaim: one pure function from what was seen to a plan. The rules, in the order in which they
// count:
//
//   the claim is another controller's               leave it alone
//   it is deleted                                   release, unless it has nothing of ours or others still need it; the node
//                                                   that made it for a pod does, until the Node object is gone
//   it is not known yet what others show            wait
//   its network is another program's to give out    mirror: what its status shows is held, if the network has it and is offered
//   it has what its status shows                    keep, whatever networks offer today; write what is missing, also in the
//                                                   holds: the machine that it was made before
//   it was served, and its status was changed       refuse: its machine uses what it holds, which stays its own
//   its status shows something it does not hold     a wish: exactly that, if it may have it; else refuse
//   it was served and has lost its status           recall: ask the API server what it had
//   it has its addresses, and asks for another MAC  take that one, or refuse: it keeps what it has; the former MAC is let go
//                                                   when no pod shows it
//   its status shows nothing                        bind to what its machine runs with, if it may have that; else to what is
//                                                   asked for; else to what can be had; or refuse and let go of what it has of it

import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import {
  ipAllocatedCondition,
  ipsAllocatedCondition,
  nodeFinalizer,
  persistentIPFinalizer,
} from '../../../api/names.ts'
import { identityKey } from '../../../api/object.ts'
import { type Pool, poolKey } from '../../../api/pool.ts'
import { noRequest } from '../../../api/requests.ts'
import { bitsOf, type IP, toIPText } from '../../../ip/address.ts'
import { toCIDRText } from '../../../ip/cidr.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { hasIP } from '../../../ip/range-set.ts'
import { whyNotForClaim } from '../../../ipam/choose.ts'
import { whyTooMuchRests } from '../../../ipam/permit.ts'
import type { Refusal } from '../../../ipam/refusal.ts'
import { isKeptByOthers } from '../../../kube/finalizers.ts'
import { whyMACReserved } from '../../../networks/reserved.ts'
import { type AnyHold, holdFinalizer, isOfAddress } from '../../office/hold/steps.ts'
import type { PartTaking } from '../../office/hold/take-all.ts'
import { needOf } from '../../office/need.ts'
import { chooseParts, type PartAsk, resumeParts, specOf } from '../../office/parts.ts'
import type { Need } from '../../office/waiting.ts'
import { ipMadeInto, macOfIP } from '../pods/annotation.ts'
import { type ChosenIP, chosenOf, isBeingLetGo, macPart, macProofOf, partOf, proofOf } from './choice.ts'
import { keptFor, keptIP, macApplicant } from './kept.ts'
import type { Seen } from './observe.ts'
import {
  derivedMAC,
  inNoSubnet,
  lostIPs,
  noSubnets,
  showsOther,
  unreadableIPs,
  unreadableRequest,
  wrongFamilies,
  wrongFamily,
  wrongPrefix,
} from './refusals.ts'
import { isTold } from './told.ts'
import { toldWhenServed } from './words.ts'

export type Refused = Refusal & { readonly needs: readonly Need[] }

export type Plan =
  | { readonly kind: 'leave alone' | 'recall' | 'release' | 'ask for node' }
  /** Nothing is decided before it is known what other claims and pods show. */
  | { readonly kind: 'wait'; readonly forMs: number }
  /**
   * `letGo` is held in its name, and is not what it has: another process was quicker to store a choice. With `isToTell`, its status
   * does not say yet what it has, or which pod uses it.
   */
  | { readonly kind: 'keep'; readonly letGo: readonly AnyHold[]; readonly isToTell: boolean }
  /**
   * `letGo` is what it holds of what it cannot have whole. `former` is the MAC that it had and asks for no more, once no pod runs
   * with it: another claim may wait for that, while this one waits for its next.
   */
  | {
      readonly kind: 'refuse'
      readonly refusal: Refused
      readonly letGo: readonly AnyHold[]
      readonly former?: readonly AnyHold[]
    }
  | {
      readonly kind: 'bind'
      readonly parts: readonly PartTaking[]
      /** As the status is to show them. */
      readonly ips: readonly string[]
    }
  /** Nothing is said to the claim: its status is another program's. */
  | { readonly kind: 'mirror'; readonly parts: readonly PartTaking[]; readonly refusal: Refused | undefined }

/** They are listed while this process starts. */
const notShownMs = 1_000

export function decide(seen: Seen): Plan {
  const { claim } = seen
  if (!seen.isInScope) return { kind: 'leave alone' }
  if (claim.isDeleting) {
    const isOurs = isGuarded(claim) && !isKeptByOthers(claim, persistentIPFinalizer)
    if (!isOurs && isKeptByNode(claim)) return { kind: 'ask for node' }
    return { kind: isOurs ? 'release' : 'leave alone' }
  }
  if (!seen.isAllShown) return { kind: 'wait', forMs: notShownMs }
  if (seen.isObserved) return decideObserved(seen)
  if (claim.ips.length > 0) return decideStored(seen)
  if (saysServed(claim) && !seen.isLive) return { kind: 'recall' }
  return decideNew(seen)
}

/** By the node that made it, and by no other. */
const isKeptByNode = (claim: IPAMClaim): boolean => {
  const finalizers = claim.metadata.finalizers.filter(one => one !== nodeFinalizer)
  return (
    claim.metadata.finalizers.includes(nodeFinalizer) &&
    !isKeptByOthers({ metadata: { finalizers } }, persistentIPFinalizer)
  )
}

function decideNew(seen: Seen): Plan {
  const { pools, held, applicant, ledger, claim } = seen
  if ('kind' in pools) return refuseAs(seen, pools)
  if (pools.length === 0) return refuseAs(seen, noSubnets(claim))
  const wrong = saysServed(claim) ? undefined : (whyNotAsked(claim, pools) ?? whyKeptFromIt(seen))
  if (wrong !== undefined) return refuseAs(seen, wrong)
  const asks = asksOf(seen, pools)
  const isHeld = (ask: PartAsk) => 'mac' in ask || held.some(hold => hold.claim.part === ask.part)
  const adopted = asks.flatMap(ask => ('mac' in ask || isHeld(ask) ? [] : (adopt(ask, seen) ?? [])))
  const isAdopted = ({ part }: PartAsk) => adopted.some(({ spec }) => spec.claim.part === part)
  if (saysServed(claim) && !asks.every(ask => isHeld(ask) || isAdopted(ask))) return refuseAs(seen, lostIPs())
  const others = asks.filter(ask => !isAdopted(ask))
  const plan = chooseParts(others, applicant, held, ledger)
  if (plan.kind === 'refused') return { kind: 'refuse', refusal: plan, letGo: saysServed(claim) ? [] : held }
  const taken = [...adopted, ...plan.parts]
  const parts = asks.flatMap(({ part }) => taken.filter(({ spec }) => spec.claim.part === part))
  const ips = parts.flatMap(({ spec }) => (isOfAddress(spec) ? [spec.ip] : []))
  const disturbs = whyDerived(seen, ips)
  if (disturbs !== undefined) return refuseAs(seen, disturbs)
  return { kind: 'bind', parts, ips: ips.map(ip => toText(ip, pools)) }
}

/**
 * What the machine runs with already, by the rules for what is asked for: a user may have written it. Undefined where the claim may not
 * have it, or another has it: then the machine gets another address, when it starts again.
 */
function adopt({ part, pool, keptFor = [] }: AddressAsk, seen: Seen): PartTaking | undefined {
  const { applicant, ledger, runningIPs } = seen
  const index = ledger.indexOf(pool.space)
  const wish = { ...applicant, claim: { ...applicant.claim, part }, keptFor }
  for (const ip of runningIPs.filter(({ family }) => family === pool.family)) {
    const asked = { ...wish, requested: toIPText(ip), counted: ledger.isCounted(pool.space, ip) ? 1 : 0 }
    if (whyNotForClaim(pool, index, asked) !== undefined) continue
    const plan = resumeParts([{ pool, spec: specOf(applicant, part, pool, { ip, bits: pool.bits }) }], ledger)
    const [taking] = plan.kind === 'refused' ? [] : plan.parts
    if (taking === undefined) continue
    if (taking.how !== 'take' || whyTooMuchRests(pool, index, wish) === undefined) return taking
  }
  return undefined
}

function decideStored(seen: Seen): Plan {
  const { claim, held } = seen
  const chosen = chosenOf(claim.ips)
  if (isMalformed(chosen)) return refuseAs(seen, unreadableIPs(chosen.malformed))
  const proofs = chosen.flatMap(one => proofOf(one, held) ?? [])
  if (proofs.length < chosen.length) {
    const changed = wasServed(claim) ? changeIn(chosen, held) : undefined
    return changed === undefined ? decideWish(seen, chosen) : refuseAs(seen, changed)
  }
  const card = planMAC(seen, chosen)
  const found = proofs.map(hold => foundFor(seen, hold))
  if (card !== undefined && 'kind' in card) {
    const former = leftOf(seen, found).filter(hold => !isOfAddress(hold))
    return { kind: 'refuse', refusal: card, letGo: [], former }
  }
  const parts: readonly PartTaking[] = card === undefined ? found : [...found, card]
  const isSure = (part: PartTaking) => isHeldInPlace(part) && saysOwner(part) && !isGoing(part, claim)
  const isInPlace = isGuarded(claim) && saysServed(claim) && parts.every(isSure)
  return isInPlace
    ? { kind: 'keep', letGo: leftOf(seen, parts), isToTell: !isTold(seen) }
    : { kind: 'bind', parts, ips: claim.ips }
}

/** What is held in its name and is not what it has, as far as no pod runs with it. */
function leftOf({ claim: { request }, held, ...seen }: Seen, parts: readonly PartTaking[]): readonly AnyHold[] {
  return held.filter(hold => {
    if (parts.some(part => part.how !== 'take' && part.hold === hold)) return false
    // While it cannot be read which MAC is asked for, it may be this one.
    return isOfAddress(hold) ? !seen.isShownByPod(hold.ip) : !isMalformed(request) && !seen.isMACShownByPod(hold.mac)
  })
}

/** Exactly what the status shows, by the rules for what is asked for: any user may have written it. */
function decideWish(seen: Seen, chosen: readonly ChosenIP[]): Plan {
  const { claim, pools, held, applicant, ledger } = seen
  if ('kind' in pools) return refuseAs(seen, pools)
  const missing = pools.find(pool => !chosen.some(({ ip }) => ip.family === pool.family))
  if (missing !== undefined && pools.length > 1) return refuseAs(seen, wrongFamilies(claim, missing))
  const asked: { readonly one: ChosenIP; readonly pool: Pool }[] = []
  for (const one of chosen) {
    const pool = pools.find(({ family }) => family === one.ip.family)
    if (pool === undefined) return refuseAs(seen, wrongFamily(claim, one))
    asked.push({ one, pool })
    if (proofOf(one, held) !== undefined) continue
    const why =
      whyNotForClaim(pool, ledger.indexOf(pool.space), {
        ...applicant,
        claim: { ...applicant.claim, part: one.part },
        keptFor: keptFor(pool, claim, applicant.owner, one.ip),
        requested: toIPText(one.ip),
        counted: ledger.isCounted(pool.space, one.ip) ? 1 : 0,
      }) ?? (one.prefix === pool.prefix ? undefined : wrongPrefix(one, pool))
    if (why !== undefined) return refuseAs(seen, why, pool)
  }
  const specs = asked.map(({ one, pool }) => ({
    pool,
    spec: specOf(applicant, one.part, pool, { ip: one.ip, bits: pool.bits }),
  }))
  const plan = resumeParts(specs, ledger)
  if (plan.kind === 'refused') return { kind: 'refuse', refusal: plan, letGo: [] }
  const card = planMAC(seen, chosen)
  if (card !== undefined && 'kind' in card) return { kind: 'refuse', refusal: card, letGo: [] }
  return { kind: 'bind', parts: card === undefined ? plan.parts : [...plan.parts, card], ips: claim.ips }
}

/**
 * The other program answers for what it gave: pools are not asked, only whether another claim has it. Any user who may write
 * statuses can write this one: what the other program cannot have given is not held, else it would be kept from others.
 */
function decideObserved(seen: Seen): Plan {
  const { claim, pools, places, applicant, ledger } = seen
  const chosen = chosenOf(claim.ips)
  if (isMalformed(chosen))
    return { kind: 'mirror', parts: [], refusal: withNeeds(seen, unreadableIPs(chosen.malformed)) }
  const parts: PartTaking[] = []
  let refusal: Refused | undefined
  for (const one of chosen) {
    const pool = places.find(({ family }) => family === one.ip.family)
    if (pool === undefined) {
      refusal ??= withNeeds(seen, 'kind' in pools ? pools : wrongFamily(claim, one))
      continue
    }
    const spec = specOf(applicant, one.part, pool, { ip: one.ip, bits: pool.bits })
    const plan = resumeParts([{ spec, pool }], ledger)
    const isHeld = plan.kind === 'take' && plan.parts.every(({ how }) => how === 'found')
    const why = isHeld ? undefined : whyNotGiven(one, pool, seen)
    if (why !== undefined) refusal ??= withNeeds(seen, why)
    else if (plan.kind === 'refused') refusal ??= plan
    else parts.push(...plan.parts)
  }
  const card = planMAC(seen, chosen)
  if (card !== undefined && 'kind' in card) refusal ??= card
  else if (card !== undefined) parts.push(card)
  return refusal === undefined && parts.every(isHeldInPlace)
    ? { kind: 'keep', letGo: leftOf(seen, parts).filter(hold => !isOfAddress(hold)), isToTell: false }
    : { kind: 'mirror', parts: parts.filter(({ how }) => how !== 'found'), refusal }
}

function whyNotGiven({ ip }: ChosenIP, pool: Pool, { claim, pools }: Seen): Refusal | undefined {
  if ('kind' in pools) return pools
  return hasIP(pool.addresses, ip) ? undefined : inNoSubnet(claim, ip)
}

// --- what a claim asks for, and what it has ---

type AddressAsk = Exclude<PartAsk, { readonly mac: unknown }>

/** The parts in the order in which they are taken: IPv4, IPv6, the MAC. A claim that was served keeps what it holds. */
function asksOf({ claim, applicant }: Seen, pools: readonly Pool[]): PartAsk[] {
  const { ips, mac } = isMalformed(claim.request) ? noRequest : claim.request
  const asks = pools.map((pool): PartAsk => {
    const asked = ips.find(({ ip }) => ip.family === pool.family)?.ip
    const keys = keptFor(pool, claim, applicant.owner, asked)
    // What is kept for it counts as asked for: it waits for just that.
    const named = saysServed(claim) ? undefined : (asked ?? keptIP(pool, keys))
    return { part: partOf(pool), pool, requested: named && toIPText(named), keptFor: keys }
  })
  asks.sort((one, other) => (one.part < other.part ? -1 : 1))
  const [pool] = pools
  if (mac !== undefined && pool !== undefined) asks.push({ part: macPart, pool, mac })
  return asks
}

/** Its MAC is kept for another, or for no claim while that is not clear. What it holds, it has. */
function whyKeptFromIt({ claim, applicant, reserved, held }: Seen): Refusal | undefined {
  const asks = macApplicant(claim, applicant.owner)
  if (asks === undefined || macProofOf(asks.mac, held) !== undefined) return undefined
  return whyMACReserved(reserved, asks)
}

/** Why the request cannot be met, whatever other claims have. */
function whyNotAsked(claim: IPAMClaim, pools: readonly Pool[]): Refusal | undefined {
  const { request } = claim
  if (isMalformed(request)) return unreadableRequest(request.malformed)
  for (const { ip, prefix } of request.ips) {
    const pool = pools.find(({ family }) => family === ip.family)
    if (pool === undefined) return wrongFamily(claim, { ip })
    if (prefix !== undefined && prefix !== pool.prefix) return wrongPrefix({ ip, prefix }, pool)
  }
  return undefined
}

/** How the MAC that is asked for becomes the claim's, beside these addresses; undefined where none is asked for. */
function planMAC(seen: Seen, chosen: readonly ChosenIP[]): PartTaking | Refused | undefined {
  const { claim, held, pools, applicant, ledger } = seen
  const mac = isMalformed(claim.request) ? undefined : claim.request.mac
  if (mac === undefined) return undefined
  const hold = macProofOf(mac, held)
  if (hold !== undefined) return foundFor(seen, hold)
  if ('kind' in pools) return withNeeds(seen, pools)
  const [pool] = pools
  if (pool === undefined) return undefined
  const ips = chosen.map(({ ip }) => ip)
  const disturbs = whyDerived(seen, ips)
  const why = disturbs ?? whyKeptFromIt(seen)
  if (why !== undefined) return withNeeds(seen, why)
  const plan = chooseParts([{ part: macPart, pool, mac }], applicant, held, ledger)
  return plan.kind === 'refused' ? plan : plan.parts[0]
}

/**
 * OVN-Kubernetes makes the MAC of an interface from its address where none is asked for. So one that could be made from another
 * address of the network is not to be had: of an IPv4 address it can be told, of IPv6 for the two that are always in use.
 */
function whyDerived({ claim, places, ovn }: Seen, ips: readonly IP[]): Refusal | undefined {
  const mac = isMalformed(claim.request) ? undefined : claim.request.mac
  if (mac === undefined || ovn === undefined || ips.some(ip => macOfIP(ip) === mac)) return undefined
  const ofIPv4 = ipMadeInto(mac)
  const isListed = ofIPv4 !== undefined && places.some(pool => pool.family === 4 && hasIP(pool.addresses, ofIPv4))
  const infrastructure = [...ovn.gateways, ...ovn.managements]
  const other = isListed ? ofIPv4 : infrastructure.find(ip => ip.family === 6 && macOfIP(ip) === mac)
  return other && derivedMAC(claim, mac, other)
}

function toText(ip: IP, pools: readonly Pool[]): string {
  const pool = pools.find(({ family }) => family === ip.family)
  return toCIDRText({ ip, bits: pool?.prefix ?? bitsOf(ip.family) })
}

/**
 * The claim stands by a hold of what its status shows; and by all in its name until it shows something that can be read, and
 * holds that: a status that was changed by hand frees nothing that a guest may use. `held`: all that is held in its name.
 * `isShownByPod`: a pod of its machine that can still run is configured with it. By MACs it stands as long as it lives: it may ask for
 * the former one again, so its own binding lets go of that (`putToRest` in `binding.ts`).
 */
export function standsBy(
  { ips }: Pick<IPAMClaim, 'ips'>,
  hold: AnyHold,
  held: readonly AnyHold[],
  isShownByPod: () => boolean,
): boolean {
  if (!isOfAddress(hold)) return true
  const chosen = chosenOf(ips)
  if (isMalformed(chosen) || chosen.length === 0) return true
  const isProven = chosen.every(one => proofOf(one, held) !== undefined)
  if (!isProven || chosen.some(one => proofOf(one, [hold]) !== undefined)) return true
  return isShownByPod()
}

export const isGuarded = ({ metadata }: Pick<IPAMClaim, 'metadata'>): boolean =>
  metadata.finalizers.includes(persistentIPFinalizer)

/** By both of its conditions: a status of OVN-Kubernetes has one, and gets the other. */
export const saysServed = ({ conditions }: Pick<IPAMClaim, 'conditions'>): boolean =>
  [ipsAllocatedCondition, ipAllocatedCondition].every(type =>
    conditions.some(condition => condition.type === type && condition.status === 'True'),
  )

/** Also when it has since been told that its status was changed, or that it cannot have another MAC. */
const wasServed = (claim: Pick<IPAMClaim, 'conditions'>): boolean =>
  saysServed(claim) || claim.conditions.some(({ reason }) => toldWhenServed.includes(reason))

/** What the status shows for a part that the claim holds another address for. */
function changeIn(chosen: readonly ChosenIP[], held: readonly AnyHold[]): Refusal | undefined {
  for (const one of chosen) {
    if (proofOf(one, held) !== undefined) continue
    const hold = held.find(({ claim }) => claim.part === one.part)
    if (hold === undefined || !isOfAddress(hold)) continue
    return showsOther(one, hold)
  }
  return undefined
}

/** A claim that was made before its virtual machine had no owner when its addresses were taken. */
const foundFor = ({ applicant }: Seen, hold: AnyHold): PartTaking => ({
  how: 'found',
  spec: { ...hold, owner: hold.owner ?? applicant.owner },
  hold,
})

const saysOwner = (part: PartTaking): boolean =>
  part.how === 'found' && (part.hold.owner !== undefined || part.spec.owner === undefined)

const isHeldInPlace = (part: PartTaking): boolean =>
  part.how === 'found' && part.hold.metadata.finalizers.includes(holdFinalizer)

const isGoing = (part: PartTaking, claim: IPAMClaim): boolean => part.how === 'found' && isBeingLetGo(claim, part.hold)

// --- what would help ---

function refuseAs(seen: Seen, refusal: Refusal, pool?: Pool): Plan {
  const { claim, held } = seen
  const letGo = claim.ips.length === 0 && !saysServed(claim) ? held : []
  return { kind: 'refuse', refusal: withNeeds(seen, refusal, pool), letGo }
}

/** Only a change of the network, or of the claim, can help. */
const withNeeds = ({ source }: Seen, refusal: Refusal, pool?: Pool): Refused => ({
  ...refusal,
  needs: [needOf(refusal.reason, pool === undefined ? identityKey(source) : poolKey(pool), undefined)],
})
