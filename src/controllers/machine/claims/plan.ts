// What is to be done for the claims of a Machine: one pure function from what was seen to a plan. For each entry of
// `addressesFromPools`, in this order:
//
//   there is no claim of its name                        make one; of a Machine that was ordered already, one that asks for the
//                                                        address it had, or none at all where that is not known
//   the claim is another object's, or an earlier Machine's    leave it alone, and say whose it is
//   the claim is being deleted                           wait until it is gone, then make it anew
//   the claim names another pool                         leave it alone, and say so
//   the claim has no owner                               it becomes the Machine's
//   the claim is not bound                               wait, and repeat what its provider says about it
//   its IPAddress is gone, or another claim's            wait, and say so
//   another IPAddress of the pool has its address        wait, and say which: where there is no pool, no ledger sees it
//   it is bound                                          its address is the Machine's
//
// One condition tells of all of them. A virtual machine is ordered only when all are bound, and with what the Machine then remembers:
// from there on an address that is not the remembered one is reported, and never told to a virtual machine that runs.

import type { ConditionFact } from '../../../api/condition.ts'
import type { IPAddress } from '../../../api/ip-address.ts'
import { type IPAddressClaim, poolOfClaim } from '../../../api/ip-address-claim.ts'
import { hasInstance, type Machine } from '../../../api/machine.ts'
import {
  addressClaimedCondition,
  addressClaimedReasons,
  claimProtectionFinalizers,
  readyCondition,
} from '../../../api/names.ts'
import { hasStaticNetwork } from '../../../api/vsphere-provider-spec.ts'
import { parseIP, toIPText } from '../../../ip/address.ts'
import { isMalformed, quoteText } from '../../../ip/malformed.ts'
import { quoteUnlessName } from '../../../ip/object-name.ts'
import { type ClaimedAddress, rememberedIn, toRememberedText } from './remembered.ts'
import { type WantedClaim, wantedBy, wishFaults } from './wanted.ts'

/** The claim of a name, and the IPAddress that its status names. */
export interface ClaimSeen {
  readonly claim: IPAddressClaim
  readonly report: IPAddress | undefined
  /** Another one of the same pool and address, which was there before. */
  readonly rival?: IPAddress | undefined
}

export interface ClaimsSeen {
  readonly machine: Machine
  /** By name; 'unreadable' for one that is no claim any program can read. */
  claimNamed(name: string): ClaimSeen | 'unreadable' | undefined
}

export interface NewClaim extends WantedClaim {
  /** What the virtual machine has already. */
  readonly address: string | undefined
}

export interface ClaimsPlan {
  readonly make: readonly NewClaim[]
  /** They get what a claim of this Machine has: the owner reference and the finalizer. */
  readonly adopt: readonly IPAddressClaim[]
  /** Their IPAddress has no owner, as the installer makes it: it is to go with its claim, whether there is a pool or not. */
  readonly own: readonly { readonly claim: IPAddressClaim; readonly report: IPAddress }[]
  /** What the Machine says of its claims; undefined where it has nothing to say. */
  readonly fact: ConditionFact | undefined
  /** What the Machine remembers from now on; undefined where that stays as it is. */
  readonly remember: string | undefined
}

const nothing: ClaimsPlan = { make: [], adopt: [], own: [], fact: undefined, remember: undefined }

export function decide(seen: ClaimsSeen): ClaimsPlan {
  const { machine } = seen
  const { providerSpec, metadata } = machine
  if (machine.isDeleting || providerSpec === undefined) return nothing
  if (isMalformed(providerSpec)) return invalid(providerSpec.malformed)
  if (!hasStaticNetwork(providerSpec)) return nothing
  const faults = wishFaults(providerSpec)
  if (faults.length > 0) {
    const named = faults.slice(0, namedMax).map(({ field, value, detail }) => `${field} is ${show(value)}: ${detail}`)
    return invalid([...named, ...more(faults.length)].join('; '))
  }
  const remembered = rememberedIn(metadata.annotations)
  const isOrdered = hasInstance(machine)
  const states = wantedBy(metadata.name, providerSpec).map(wanted =>
    stateOf(wanted, seen, isOrdered, remembered.get(wanted.name)),
  )
  return {
    make: states.flatMap(({ make }) => make ?? []),
    adopt: states.flatMap(({ adopt }) => adopt ?? []),
    own: states.flatMap(({ own }) => own ?? []),
    ...(isOrdered ? saidOfOrdered(states, remembered) : saidOfNew(states, remembered)),
  }
}

function invalid(why: string): ClaimsPlan {
  const { invalid: reason } = addressClaimedReasons
  return { ...nothing, fact: { type: addressClaimedCondition, status: 'False', reason, message: why } }
}

const show = (value: unknown): string => (typeof value === 'string' ? quoteText(value) : String(value))

// --- one claim ---

interface ClaimState {
  readonly name: string
  readonly make?: NewClaim
  readonly adopt?: IPAddressClaim
  readonly own?: { readonly claim: IPAddressClaim; readonly report: IPAddress }
  /** With the length of its subnet; undefined while it is not bound. */
  readonly address?: string
  /** Why there is no address. */
  readonly why: string
}

function stateOf(
  wanted: WantedClaim,
  { machine, claimNamed }: ClaimsSeen,
  isOrdered: boolean,
  address: string | undefined,
): ClaimState {
  const { name } = wanted
  const seen = claimNamed(name)
  if (seen === 'unreadable') return { name, why: 'what has its name cannot be read: delete it' }
  if (seen === undefined) {
    if (!isOrdered) return { name, make: { ...wanted, address: undefined }, why: 'it was made a moment ago' }
    // Bound to whatever is free, it would say an address that the virtual machine does not have.
    if (address === undefined)
      return { name, why: 'it does not exist, and which address it had is not known: make it anew' }
    return { name, make: { ...wanted, address }, why: `it was deleted, and asks for ${address} again` }
  }
  const { claim, report, rival } = seen
  const why = whyNotUsed(claim, wanted, machine)
  if (why !== undefined) return { name, why }
  const adopted = isWhole(claim, machine) ? {} : { adopt: claim }
  const found = addressOf(claim, report, rival)
  if (!('address' in found)) return { name, ...adopted, why: found.why }
  const isUnowned = report?.metadata.ownerReferences.length === 0 && poolOfClaim(claim) !== undefined
  return { name, ...adopted, ...(isUnowned && { own: { claim, report } }), address: found.address, why: '' }
}

function whyNotUsed(claim: IPAddressClaim, { poolRef }: WantedClaim, { metadata }: Machine): string | undefined {
  const stranger = claim.metadata.ownerReferences.find(({ uid }) => uid !== metadata.uid)
  if (stranger !== undefined) {
    const { kind, name } = stranger
    if (kind === 'Machine' && name === metadata.name)
      return 'it is of an earlier Machine of this name, and has yet to go'
    return `it belongs to ${quoteUnlessKind(kind)} ${quoteUnlessName(name)}: delete it, or give the Machine another name`
  }
  if (claim.isDeleting) return 'it is being deleted, and is made anew when it is gone'
  const { apiGroup, kind, name } = claim.poolRef
  if (apiGroup === poolRef.apiGroup && kind === poolRef.kind && name === poolRef.name) return undefined
  return `it names ${poolText(claim.poolRef)}, and the Machine ${poolText(poolRef)}: delete the claim, or correct the Machine`
}

const poolText = ({ apiGroup, kind, name }: WantedClaim['poolRef']): string =>
  `${quoteUnlessKind(kind)} ${quoteUnlessName(name)} of ${quoteUnlessName(apiGroup)}`

const quoteUnlessKind = (kind: string): string => (/^[A-Za-z0-9]{1,63}$/.test(kind) ? kind : quoteText(kind))

function isWhole({ metadata }: IPAddressClaim, machine: Machine): boolean {
  const isControlled = metadata.ownerReferences.some(
    ({ uid, controller }) => uid === machine.metadata.uid && controller,
  )
  return isControlled && claimProtectionFinalizers.some(finalizer => metadata.finalizers.includes(finalizer))
}

function addressOf(
  claim: IPAddressClaim,
  report: IPAddress | undefined,
  rival: IPAddress | undefined,
): { address: string } | { why: string } {
  if (claim.addressName === '') return { why: whyUnbound(claim) }
  const named = `IPAddress ${quoteUnlessName(claim.addressName)}`
  if (report === undefined) return { why: `it is bound to ${named}, which does not exist or cannot be read` }
  if (report.claimName !== claim.metadata.name) {
    return { why: `it is bound to ${named}, which is of claim ${quoteUnlessName(report.claimName)}` }
  }
  const ip = parseIP(report.address)
  if (isMalformed(ip)) return { why: `it is bound to ${named}, and ${ip.malformed}` }
  if (report.prefix === undefined) return { why: `it is bound to ${named}, which does not say how long its subnet is` }
  if (rival !== undefined) {
    const other = `IPAddress ${quoteUnlessName(rival.metadata.name)}`
    return { why: `its address ${toIPText(ip)} is that of ${other} too, which was there before: delete one of them` }
  }
  return { address: `${toIPText(ip)}/${report.prefix}` }
}

/** What its provider says; the sentence of a provider may be as long as it likes. */
function whyUnbound({ conditions, poolRef }: IPAddressClaim): string {
  const ready = conditions.find(({ type, status }) => type === readyCondition && status !== 'True')
  if (ready === undefined) return `no provider of ${poolText(poolRef)} has answered yet`
  const text = ready.message === '' ? ready.reason : `${ready.reason}: ${ready.message}`
  return text.length > providerCharsMax ? `${text.slice(0, providerCharsMax)}...` : text
}

const providerCharsMax = 400

// --- what the Machine says ---

type Said = Pick<ClaimsPlan, 'fact' | 'remember'>

function saidOfNew(states: readonly ClaimState[], remembered: ReadonlyMap<string, string>): Said {
  const waiting = states.filter(({ address }) => address === undefined)
  if (waiting.length > 0) return { fact: waitingFor(waiting), remember: undefined }
  const text = toRememberedText(boundIn(states))
  const before = toRememberedText([...remembered].map(([claim, address]) => ({ claim, address })))
  return { fact: allBound, remember: text === before ? undefined : text }
}

/** Of a virtual machine that was ordered before anything was remembered, what its claims say is believed. */
function saidOfOrdered(states: readonly ClaimState[], remembered: ReadonlyMap<string, string>): Said {
  const known = [...remembered].map(([claim, address]) => ({ claim, address }))
  const bound = boundIn(states)
  const fresh = bound.filter(({ claim }) => !remembered.has(claim))
  const remember = fresh.length === 0 ? undefined : toRememberedText([...known, ...fresh])
  const drifted = bound.filter(({ claim, address }) => remembered.has(claim) && remembered.get(claim) !== address)
  const waiting = states.filter(({ address }) => address === undefined)
  if (drifted.length === 0) return { fact: waiting.length > 0 ? waitingFor(waiting) : allBound, remember }
  const named = drifted
    .slice(0, namedMax)
    .map(({ claim, address }) => `${claim} is bound to ${address}, and was to ${remembered.get(claim)}`)
  const message = `The virtual machine does not have what its claims say: ${[...named, ...more(drifted.length)].join('; ')}`
  return { fact: factOf('False', addressClaimedReasons.drifted, message), remember }
}

const boundIn = (states: readonly ClaimState[]): ClaimedAddress[] =>
  states.flatMap(({ name, address }) => (address === undefined ? [] : [{ claim: name, address }]))

/** The first sentence is the one that other programs, and people, know. */
function waitingFor(waiting: readonly ClaimState[]): ConditionFact {
  const named = waiting.slice(0, namedMax).map(({ name, why }) => `${name} (${why})`)
  const message = `Waiting on ${waiting.length} IP address claims to be bound: ${[...named, ...more(waiting.length)].join('; ')}`
  return factOf('False', addressClaimedReasons.waiting, message)
}

const factOf = (status: 'True' | 'False', reason: string, message: string): ConditionFact => ({
  type: addressClaimedCondition,
  status,
  reason,
  message,
})

const allBound = factOf('True', addressClaimedReasons.claimed, 'All IP address claims are bound')

/** More are counted: a condition is to be read. */
const namedMax = 10

const more = (count: number): string[] => (count > namedMax ? [`and ${count - namedMax} more`] : [])
