// Interfaces of whereabouts, kept, by the steps of the protocol: the claim, whose uid the hold names; the hold, which locks the address
// for it; the choice in its status. Each is done once, however often this is said. Pools come after all of them: none may offer
// an address that is not locked yet.

import { holdName } from '../api/hold.ts'
import { type IPAMClaim, ipamClaimReference, parseIPAMClaim } from '../api/ipam-claim.ts'
import { type HoldWorld, takeHold } from '../controllers/office/hold/steps.ts'
import { ipamClaims } from '../controllers/office/kinds.ts'
import { holdOf } from '../controllers/office/parsed.ts'
import { toIPText } from '../ip/address.ts'
import { toCIDRText } from '../ip/cidr.ts'
import { isMalformed } from '../ip/malformed.ts'
import { isApiError } from '../kube/api-error.ts'
import { Cache } from '../kube/cache.ts'
import type { Client } from '../kube/client.ts'
import { type KubeObject, keyOf, refOf } from '../kube/object.ts'
import { realClock } from '../runtime/clock.ts'
import type { KeptInterface } from './whereabouts-translation.ts'

/** Sentences about what could not be kept; empty where all is. */
export async function keepInterface(
  client: Client,
  nowMs: number,
  kept: KeptInterface,
  namespaceUID: string | undefined,
): Promise<readonly string[]> {
  const { claim, addresses } = kept
  const stored = parseIPAMClaim(await created(client, claim))
  if (isMalformed(stored)) return [`claim ${keyOf(claim)} cannot be read: ${stored.malformed}`]
  const lost = await lock(client, nowMs, kept, stored, namespaceUID)
  if (lost.length > 0 || stored.ips.length > 0) return lost
  const ips = addresses.map(({ ip, pool }) => toCIDRText({ ip, bits: pool.prefix }))
  const { uid } = stored.metadata
  await client.mergePatch(ipamClaims, refOf(claim), { status: { ips } }, { uid, subresource: 'status' })
  // While it had no choice, and its network named whereabouts, the desk could take the hold for one of no use.
  return lock(client, nowMs, kept, stored, namespaceUID)
}

async function lock(
  client: Client,
  nowMs: number,
  { addresses }: KeptInterface,
  claim: IPAMClaim,
  namespaceUID: string | undefined,
): Promise<readonly string[]> {
  const holds = new Cache<KubeObject>()
  const clock = { ...realClock, now: () => nowMs }
  const world: HoldWorld = { client, clock, caches: { holds, macHolds: holds }, note: () => {} }
  const lost: string[] = []
  for (const { ip, pool } of addresses) {
    const { identity, space, bits } = pool
    const reference = { ...ipamClaimReference(claim, namespaceUID), part: `v${ip.family}` }
    if (await takeHold(world, { space, ip, bits, pool: identity, claim: reference, owner: undefined })) continue
    // Read after the refusal; the cache is of this interface alone.
    const found = holds.get(holdName(space, ip))
    const hold = found && holdOf(found)
    if (hold !== undefined && !isMalformed(hold) && hold.claim.uid === claim.metadata.uid) continue
    lost.push(`${toIPText(ip)} was taken by another claim meanwhile: say this again to see which`)
  }
  return lost
}

async function created(client: Client, claim: KubeObject): Promise<KubeObject> {
  const known = await client.get(ipamClaims, refOf(claim))
  if (known !== undefined) return known
  try {
    return await client.create(ipamClaims, claim)
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists')) throw error
    return (await client.get(ipamClaims, refOf(claim))) ?? claim
  }
}
