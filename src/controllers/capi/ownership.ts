// Which claim an IPAddress or a hold belongs to, as far as the two objects show it.

import type { Hold } from '../../api/hold.ts'
import type { IPAddress } from '../../api/ip-address.ts'
import { type IPAddressClaim, poolOfClaim } from '../../api/ip-address-claim.ts'
import type { Owner } from '../../api/lock.ts'
import { protectAddressFinalizer, releaseAddressFinalizer } from '../../api/names.ts'
import type { Identity } from '../../api/object.ts'
import type { Pool } from '../../api/pool.ts'
import { isSameIP, parseIP } from '../../ip/address.ts'
import { firstIP } from '../../ip/cidr.ts'
import { isMalformed } from '../../ip/malformed.ts'
import type { Block } from '../../ipam/space-index.ts'
import type { KubeObject } from '../../kube/object.ts'
import { type AnyHold, isOfAddress } from '../office/hold/steps.ts'
import { claimOf } from './parsed.ts'

/** It names this claim's uid, or no claim at all and was not left behind by an earlier one of the name. */
export function isOwnOrUnowned(report: IPAddress, claim: IPAddressClaim, pool: Pool | undefined): boolean {
  const owners = report.metadata.ownerReferences.filter(({ kind }) => kind === 'IPAddressClaim')
  if (owners.length === 0) return !isLeftBehind(report, claim, pool)
  return owners.every(({ uid }) => uid === claim.metadata.uid)
}

/**
 * Rule 8: with our finalizer it had an owner once. This claim can have been that only if it was bound before, and to nothing
 * else; one that has just been made under the name was not. While the pool cannot be read, its prefix length is not known, and
 * nothing counts as left behind.
 */
function isLeftBehind(report: IPAddress, claim: IPAddressClaim, pool: Pool | undefined): boolean {
  if (!report.metadata.finalizers.includes(protectAddressFinalizer)) return false
  if (claim.choice === undefined) return !wasBound(claim)
  const ip = parseIP(claim.choice)
  if (pool === undefined || isMalformed(ip) || isMalformed(parseIP(report.address))) return false
  return !shows(report, { ip: firstIP({ ip, bits: pool.bits }), bits: pool.bits })
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

/**
 * Made for the claim, or taken over for it, with all that belongs to it. One that comes from another cluster may name the pool
 * that was there; the garbage collector takes that off.
 */
export function isAdopted({ metadata }: IPAddress, claim: IPAddressClaim, pool: Pool): boolean {
  const isOwnedBy = (owner: string) => metadata.ownerReferences.some(({ uid }) => uid === owner)
  const isOwned = isOwnedBy(claim.metadata.uid) && isOwnedBy(pool.metadata.uid)
  return isOwned && metadata.finalizers.includes(protectAddressFinalizer)
}

export function isSamePool({ poolRef }: IPAddress, claim: IPAddressClaim): boolean {
  const { apiGroup, kind, name } = claim.poolRef
  return poolRef.apiGroup === apiGroup && poolRef.kind === kind && poolRef.name === name
}

/**
 * The hold names this claim's uid: whether the claim chose its address, or nothing yet, or has an IPAddress that shows it. Then
 * a machine uses it, whatever was written to the choice.
 */
export function standsBy(object: KubeObject, hold: AnyHold, reportOfClaim: () => IPAddress | undefined): boolean {
  const claim = claimOf(object)
  // One that cannot be read is not ours to judge.
  if (isMalformed(claim) || claim.choice === undefined) return true
  if (!isOfAddress(hold)) return false
  if (chose(claim, hold)) return true
  const report = reportOfClaim()
  const isOwn = report?.metadata.ownerReferences.some(({ uid }) => uid === claim.metadata.uid) === true
  return isOwn && shows(report, hold)
}

export function chose({ choice }: IPAddressClaim, { ip, bits }: Hold): boolean {
  const chosen = parseIP(choice ?? '')
  return !isMalformed(chosen) && chosen.family === ip.family && isSameIP(firstIP({ ip: chosen, bits }), ip)
}

/** The pool that an IPAddress names, if it is of a kind that Mooring serves. */
export const poolOfReport = (report: Pick<IPAddress, 'poolRef' | 'metadata'>): Identity | undefined =>
  poolOfClaim(report)

/** The object a claim is made for outlives it: a machine that is rebuilt may have its address back. */
export function ownerOf({ metadata }: IPAddressClaim): Owner | undefined {
  const owner = metadata.ownerReferences.find(({ controller }) => controller === true) ?? metadata.ownerReferences[0]
  if (owner === undefined) return undefined
  const slash = owner.apiVersion.indexOf('/')
  const apiGroup = slash < 0 ? '' : owner.apiVersion.slice(0, slash)
  return { apiGroup, kind: owner.kind, namespace: metadata.namespace, name: owner.name, uid: owner.uid }
}
