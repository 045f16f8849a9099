// Whose an IPAddress is, as far as it can be told from the two objects.

import type { IPAddress } from '../../api/ip-address.ts'
import type { IPAddressClaim } from '../../api/ip-address-claim.ts'
import { protectAddressFinalizer, releaseAddressFinalizer } from '../../api/names.ts'
import { isSameIP, parseIP } from '../../ip/address.ts'
import { firstIP } from '../../ip/cidr.ts'
import { isMalformed } from '../../ip/malformed.ts'
import type { Block } from '../../ipam/space-index.ts'

/** It names this claim's uid, or no claim at all and was not left behind by an earlier one of the name. */
export function isOursOrNobodys(report: IPAddress, claim: IPAddressClaim): boolean {
  const owners = report.metadata.ownerReferences.filter(({ kind }) => kind === 'IPAddressClaim')
  if (owners.length === 0) return !isLeftBehind(report, claim)
  return owners.every(({ uid }) => uid === claim.metadata.uid)
}

/**
 * Rule 8: with our finalizer it had an owner once. This claim can have been that only if it was bound before, and to nothing
 * else; one that has just been made under the name was not.
 */
function isLeftBehind({ address, metadata }: IPAddress, claim: IPAddressClaim): boolean {
  if (!metadata.finalizers.includes(protectAddressFinalizer)) return false
  if (claim.choice === undefined) return !wasBound(claim)
  const [shown, chosen] = [parseIP(address), parseIP(claim.choice)]
  return !isMalformed(shown) && !isMalformed(chosen) && !isSameIP(shown, chosen)
}

/** Of a prefix, any address inside will do: people write what their router says. */
export function shows(report: IPAddress, { ip, bits }: Block): boolean {
  const shown = parseIP(report.address)
  return !isMalformed(shown) && shown.family === ip.family && isSameIP(firstIP({ ip: shown, bits }), ip)
}

export function wasBound(claim: IPAddressClaim): boolean {
  return claim.addressName !== '' || hasOurFinalizer(claim)
}

export function hasOurFinalizer({ metadata }: IPAddressClaim): boolean {
  return metadata.finalizers.includes(releaseAddressFinalizer)
}

/** Made for the claim, or taken over for it, with all that belongs to it. */
export function isAdopted({ metadata }: IPAddress, claim: IPAddressClaim): boolean {
  const isOwned = metadata.ownerReferences.some(({ uid }) => uid === claim.metadata.uid)
  return isOwned && metadata.finalizers.includes(protectAddressFinalizer)
}

export function isSamePool({ poolRef }: IPAddress, claim: IPAddressClaim): boolean {
  const { apiGroup, kind, name } = claim.poolRef
  return poolRef.apiGroup === apiGroup && poolRef.kind === kind && poolRef.name === name
}
