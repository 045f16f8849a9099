// Why an IPAMClaim gets no address, where that is more than what its pool or its network says (`src/ipam/refusal.ts`,
// `office/networks.ts`): one sentence each, that tells its author what to do. Where readers of these claims look for another
// sentence, it is in `words.ts`.

import type { Hold } from '../../../api/hold.ts'
import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import { cniGroup } from '../../../api/names.ts'
import type { Pool } from '../../../api/pool.ts'
import { type IP, toIPText } from '../../../ip/address.ts'
import type { MACText } from '../../../ip/mac.ts'
import { poolText, type Refusal, refuse } from '../../../ipam/refusal.ts'
import type { ChosenIP } from './choice.ts'

type OnNetwork = Pick<IPAMClaim, 'network'>

const networkText = ({ network }: OnNetwork): string =>
  poolText({ apiGroup: cniGroup, kind: 'Network', namespace: '', name: network })

export const noSubnets = (claim: OnNetwork): Refusal =>
  refuse('PoolNotFound', `${networkText(claim)} has no subnets, and gives out no addresses: name some in its config`)

export const unreadableRequest = (malformed: string): Refusal =>
  refuse('RequestMalformed', `what the claim asks for cannot be read: ${malformed}`)

export const unreadableIPs = (malformed: string): Refusal =>
  refuse('NotAnAddress', `status.ips cannot be read: ${malformed}`)

export const derivedMAC = (claim: OnNetwork, mac: MACText, ip: IP): Refusal =>
  refuse('MACInUse', `${mac} is the MAC of ${toIPText(ip)} in ${networkText(claim)}: ask for another MAC`)

export const wrongFamily = (claim: OnNetwork, { ip }: Pick<ChosenIP, 'ip'>): Refusal =>
  refuse('WrongFamily', `${toIPText(ip)} is an IPv${ip.family} address, and ${networkText(claim)} has none of these`)

export const wrongFamilies = (claim: OnNetwork, { family }: Pick<Pool, 'family'>): Refusal =>
  refuse('WrongFamily', `status.ips has no IPv${family} address, and ${networkText(claim)} gives one of each family`)

export const wrongPrefix = ({ ip, prefix }: Pick<ChosenIP, 'ip' | 'prefix'>, pool: Pick<Pool, 'prefix'>): Refusal =>
  refuse('NotCanonical', `${toIPText(ip)}/${prefix} is not in the subnet as it is: its length is ${pool.prefix}`)

/** Of an address that another program gave out. */
export const inNoSubnet = (claim: OnNetwork, ip: IP): Refusal =>
  refuse('AddressOutOfRange', `${toIPText(ip)} is in no subnet of ${networkText(claim)}, and is not held`)

/** Of a claim that was served, and whose status was changed since. */
export function showsOther(shown: Pick<ChosenIP, 'ip'>, hold: Pick<Hold, 'ip'>): Refusal {
  const why = `status.ips shows ${toIPText(shown.ip)}, and the claim holds ${toIPText(hold.ip)}`
  return refuse('RequestsConflict', `${why}: write that back, or delete the claim`)
}

/** Of a claim that was served, and has neither its status nor its holds any more. */
export function lostIPs(): Refusal {
  const why = 'it cannot be told any more which addresses the claim had'
  return refuse('RequestsConflict', `${why}: delete it, and its virtual machine gets another`)
}
