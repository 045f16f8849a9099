// What an IPAMClaim says of itself: two conditions, of which one is OVN-Kubernetes' and one the proposal's, with one sentence.
// Every reason of a refusal has a line here; a new one that has none does not compile.

import { toIPText } from '../../../ip/address.ts'
import type { Refusal, RefusalReason } from '../../../ipam/refusal.ts'
import type { Block } from '../../../ipam/space-index.ts'
import type { Holder } from './holder.ts'

export interface Words {
  /** Reason of `IPsAllocated`. */
  readonly ipsAllocated: string
  /** Reason of `IPAllocated`. */
  readonly ipAllocated: string
  readonly message: string
}

interface Line extends Pick<Words, 'ipsAllocated' | 'ipAllocated'> {
  /** Where the sentence of the refusal is not the one that readers of these claims look for. */
  readonly sentence?: (ip: string) => string
}

const same = (reason: string): Line => ({ ipsAllocated: reason, ipAllocated: reason })

/** What the claim holds and what its status shows contradict each other. */
const ipsChangedReason = 'IPAddressMismatch'

const lines: Readonly<Record<RefusalReason, Line>> = {
  PoolNotFound: same('NetworkNotFound'),
  PoolMalformed: same('NetworkMalformed'),
  PoolDeleting: same('NetworkDeleting'),
  PoolPaused: same('NetworkPaused'),
  NamespaceNotAllowed: same('NotPermitted'),
  SpaceNotOffered: same('NetworkNotOffered'),
  SpaceUndecided: same('NetworkUndecided'),
  KindNotRead: same('NetworkUndecided'),
  NetworkNotFound: same('NetworkNotFound'),
  NetworkMalformed: same('NetworkMalformed'),
  NetworkDiffers: same('NetworkDiffers'),
  NetworkNotOffered: same('NetworkNotOffered'),
  QuotaReached: same('QuotaReached'),
  RestQuotaReached: same('RestQuotaReached'),
  PoolExhausted: same('SubnetExhausted'),
  NotAnAddress: same('InvalidIPAddress'),
  NotCanonical: same('IPPrefixMismatch'),
  WrongFamily: same('IPFamilyMismatch'),
  AddressOutOfRange: same('IPAddressOutOfSubnet'),
  AddressExcluded: same('IPAddressExcluded'),
  AddressReserved: same('IPAddressReserved'),
  AddressDraining: same('IPAddressDraining'),
  AddressQuarantined: same('IPAddressQuarantined'),
  AddressInUse: {
    ipsAllocated: 'IPAddressConflict',
    ipAllocated: 'IPAlreadyExists',
    sentence: ip => `Requested IP ${ip} is already assigned in the network`,
  },
  RequestsConflict: same(ipsChangedReason),
  RequestMalformed: same('InvalidRequest'),
  MACInUse: same('MACAddressConflict'),
  MACQuarantined: same('MACAddressQuarantined'),
  MACReserved: same('MACAddressReserved'),
}

/** Reasons that a claim can be told while it has its addresses: about its status, and about a MAC that it asks for. */
export const toldWhenServed: readonly string[] = [
  ipsChangedReason,
  lines.MACInUse.ipsAllocated,
  lines.MACQuarantined.ipsAllocated,
  lines.MACReserved.ipsAllocated,
]

/** Of claims that wait. */
export const claimReasons: readonly string[] = Object.values(lines).map(({ ipsAllocated }) => ipsAllocated)

/** `about`: the address that was refused, where one was asked for. */
export function wordsOfRefusal({ reason, message }: Refusal, about: Block | undefined, holder: Holder): Words {
  const { sentence, ...reasons } = lines[reason]
  const text = sentence === undefined || about === undefined ? message : sentence(toIPText(about.ip))
  return { ...reasons, message: withPods(text, holder) }
}

/** `outside`: those of them that the network would not give out any more. */
export function wordsOfSuccess(ips: readonly string[], outside: readonly string[], holder: Holder): Words {
  const bare = ips.map(ip => ip.split('/', 1)[0])
  const had = `${ips.length === 1 ? 'IP' : 'IPs'} ${bare.join(', ')} allocated successfully`
  const but = outside.map(ip => `; ${ip} is outside of what its network has now, and stays until the claim is deleted`)
  const text = [had, ...but].join('')
  return { ...same('SuccessfulAllocation'), message: withPods(text, holder) }
}

function withPods(text: string, { migration }: Holder): string {
  if (migration === undefined) return text
  return `${text}; a live migration is under way from pod ${migration.source} to pod ${migration.target}`
}
