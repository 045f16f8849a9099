// What `status.ips` of an IPAMClaim says, read: at most one address of each family, each with the length of its subnet. It is
// the choice of the claim, and it may have been written by any user who may write a status.

import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import { type IP, isSameIP } from '../../../ip/address.ts'
import { parseCIDR } from '../../../ip/cidr.ts'
import type { MACText } from '../../../ip/mac.ts'
import { isMalformed, type Malformed } from '../../../ip/malformed.ts'
import { isOlder } from '../../../kube/object.ts'
import type { AnyHold } from '../../office/hold/steps.ts'
import { isOfAddress } from '../../office/hold/steps.ts'

export type PartName = 'v4' | 'v6'
export const macPart = 'mac'

export interface ChosenIP {
  readonly part: PartName
  readonly ip: IP
  /** Of the subnet. */
  readonly prefix: number
}

/** IPv4 first, whichever order they stand in; empty while nothing was chosen. */
export function chosenOf(ips: readonly string[]): readonly ChosenIP[] | Malformed {
  const chosen: ChosenIP[] = []
  for (const text of ips) {
    const cidr = parseCIDR(text)
    if (isMalformed(cidr)) return cidr
    const part = partOf(cidr.ip)
    if (chosen.some(one => one.part === part))
      return { malformed: `there are two addresses of IPv${cidr.ip.family}, and a claim has one of each family` }
    chosen.push({ part, ip: cidr.ip, prefix: cidr.bits })
  }
  return chosen.sort((one, other) => (one.part < other.part ? -1 : 1))
}

export const partOf = ({ family }: Pick<IP, 'family'>): PartName => (family === 4 ? 'v4' : 'v6')

/** The hold in the claim's name that proves what it shows. */
export function proofOf<H extends AnyHold>(
  { part, ip }: Pick<ChosenIP, 'part' | 'ip'>,
  held: readonly H[],
): H | undefined {
  return held.find(
    hold => hold.state === 'held' && hold.claim.part === part && isOfAddress(hold) && isSameIP(hold.ip, ip),
  )
}

/**
 * The claim had asked for another MAC, and this hold is on its way to rest: it is the claim's again once it is renewed, or taken once
 * more. Whichever user may write claims can write the mark: one that is ahead of its own claim is none, so a hold that was just
 * renewed is never in doubt.
 */
export function isBeingLetGo(
  { metadata, formerMACs }: Pick<IPAMClaim, 'metadata' | 'formerMACs'>,
  hold: AnyHold,
): boolean {
  if (isOfAddress(hold) || formerMACs === undefined || !/^[1-9]\d*$/.test(formerMACs)) return false
  return !isOlder(metadata.resourceVersion, formerMACs) && !isOlder(formerMACs, hold.metadata.resourceVersion)
}

/** As `proofOf`, for the MAC that it asks for. */
export function macProofOf(mac: MACText, held: readonly AnyHold[]): AnyHold | undefined {
  return held.find(
    hold => hold.state === 'held' && hold.claim.part === macPart && !isOfAddress(hold) && hold.mac === mac,
  )
}
