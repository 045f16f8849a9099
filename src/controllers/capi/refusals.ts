// Why a claim of Cluster API gets no address, where that is more than what its pool says (`src/ipam/refusal.ts`): one sentence
// each, that tells its author what to do. Another claim is named only if it is in the namespace of this one.

import type { Hold } from '../../api/hold.ts'
import type { IPAddress } from '../../api/ip-address.ts'
import { claimablePoolKinds, type IPAddressClaim } from '../../api/ip-address-claim.ts'
import type { Identity } from '../../api/object.ts'
import { quoteUnlessIP } from '../../ip/address.ts'
import { quoteText } from '../../ip/malformed.ts'
import { quoteUnlessName } from '../../ip/object-name.ts'
import { poolNotFound, poolText, type Refusal, type RefusalReason, refuse } from '../../ipam/refusal.ts'

/** Of the pool that a claim names, by the kinds that a claim may name. */
export function namedPoolNotFound(pool: Identity): Refusal {
  const namesakes = claimablePoolKinds.filter(({ kind }) => kind === pool.kind)
  if (!namesakes.some(({ group }) => group === pool.apiGroup)) return kindNotFound(pool)
  // Several groups have a kind of this name: which of them is meant is part of what is missing.
  return namesakes.length > 1 ? poolNotFound(pool, `${poolText(pool)} of ${pool.apiGroup}`) : poolNotFound(pool)
}

/** What a claim asks for does not change: with a kind that is misspelt it is made anew. */
function kindNotFound({ apiGroup, kind }: Identity): Refusal {
  const kinds = claimablePoolKinds.filter(({ group }) => group === apiGroup).map(known => known.kind)
  const why = `${apiGroup} has no kind ${quoteText(kind)} of pool`
  return refuse('PoolNotFound', `${why}: make another claim, whose spec.poolRef.kind is ${kinds.join(' or ')}`)
}

/** Of an address that the claim has, by its own word or its IPAddress. */
export function heldByAnother(address: string, hold: Hold, claim: IPAddressClaim): Refusal {
  const reason = hold.state === 'quarantined' ? 'AddressQuarantined' : 'AddressInUse'
  const why = `${address}, which this claim asks for as its own, ${holdText(hold, claim)}`
  return refuse(reason, `${why}: ${givenWhenFree(hold)}; or make a new claim`)
}

/** Of an address that the claim wishes for. */
export function wishHeldByAnother(address: string, reason: RefusalReason, hold: Hold, claim: IPAddressClaim): Refusal {
  return refuse(reason, `${address} ${holdText(hold, claim)}: ${givenWhenFree(hold)}; or ask for another`)
}

function holdText({ state, claim: holder }: Hold, { metadata }: IPAddressClaim): string {
  const other = otherText(holder, metadata)
  return state === 'quarantined' ? `was released by ${other} and rests` : `is held by ${other}`
}

/** A claim is not told about itself: of its own name only an earlier one can be meant, which had another uid. */
function otherText(holder: Hold['claim'], { namespace, name }: IPAddressClaim['metadata']): string {
  if (holder.namespace !== namespace) return 'another claim'
  return holder.name === name && holder.kind === 'IPAddressClaim'
    ? 'an earlier claim of this name'
    : `claim ${holder.name}`
}

function givenWhenFree({ state, until }: Hold): string {
  return state === 'quarantined' && until !== undefined ? `it is given after ${until}` : 'it is given once it is free'
}

export function shownByAnother(address: string): Refusal {
  const why = `${address}, which this claim asks for as its own, is shown by another claim or IPAddress of the pool`
  return refuse('AddressInUse', `${why}: delete the one that is wrong`)
}

export function reportShowsOther(report: IPAddress, address: string): Refusal {
  const { namespace, name } = report.metadata
  const why = `IPAddress ${namespace}/${name} shows ${quoteUnlessIP(report.address)} of ${quoteUnlessName(report.poolRef.name)}, and this claim has ${address}: delete the one that is wrong`
  return refuse('AddressInUse', why)
}

/** Of a claim that was served, while its pool is not there to make its IPAddress anew from. */
export function reportLost({ addressName, choice }: IPAddressClaim, { reason, message }: Refusal): Refusal {
  const name = quoteUnlessName(addressName)
  const what = choice === undefined ? `IPAddress ${name}` : `IPAddress ${name}, which showed ${quoteUnlessIP(choice)},`
  return refuse(reason, `${what} of this claim is gone, and is made anew once its pool is back: ${message}`)
}

export function wrongFamily(address: string): Refusal {
  return refuse('WrongFamily', `the claim has ${address}, which is not of the family of its pool: make a new claim`)
}

export function unreadableChoice({ choice }: IPAddressClaim): Refusal {
  return refuse(
    'NotAnAddress',
    `the annotation mooring.dev/address says ${quoteText(choice ?? '')}, which is no address: remove it`,
  )
}

export function otherSubnet(said: string, subnet: string, pool: Identity): Refusal {
  const why = `the annotation mooring.dev/subnet says that the IPAddress of this claim said ${quoteText(said)}, and ${poolText(pool)} says "${subnet}"`
  return refuse('RequestsConflict', `${why}: create the IPAddress that the claim had, or remove the annotation`)
}

export function severalHolds(): Refusal {
  const why = 'several addresses are held in the name of this claim, and nothing says which one it had'
  return refuse('AddressInUse', `${why}: set the annotation mooring.dev/address, or make a new claim`)
}

export function lostAddress({ addressName }: IPAddressClaim): Refusal {
  const why = `this claim had the address of IPAddress ${quoteUnlessName(addressName)}, and nothing is left that says which`
  return refuse('AddressInUse', `${why}: set the annotation mooring.dev/address, or make a new claim`)
}
