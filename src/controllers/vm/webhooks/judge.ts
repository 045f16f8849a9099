// What can be said about a request before any address is taken: whether it can be read, and whether its network could give it to
// some claim. What other claims have is not asked: that may be another in a moment, and is for the claim to say.

import type { Pool } from '../../../api/pool.ts'
import { type AddressRequest, type RequestedIP, toRequestedText } from '../../../api/requests.ts'
import { toIPText } from '../../../ip/address.ts'
import { isMalformed, type Malformed } from '../../../ip/malformed.ts'
import { whyNotOpen } from '../../../ipam/choose.ts'

/** Sentences, of which each names the value and what to do; none where the request could be met. */
export function faultsOf(request: AddressRequest | Malformed, pools: readonly Pool[]): readonly string[] {
  if (isMalformed(request)) return [request.malformed]
  if (pools.length === 0) return []
  return request.ips.flatMap(one => faultOf(one, pools) ?? [])
}

function faultOf(one: RequestedIP, pools: readonly Pool[]): string | undefined {
  const { ip, prefix } = one
  const pool = pools.find(({ family }) => family === ip.family)
  const text = toRequestedText(one)
  if (pool === undefined) return `${text} is of IPv${ip.family}, and the network has no subnet of it: leave it out`
  // Which claim an address is kept for is for the claim to find out.
  const why = whyNotOpen(pool, { ip, bits: pool.bits, isKept: true })
  if (why !== undefined) return why.message
  if (prefix === undefined || prefix === pool.prefix) return undefined
  return `${text} has not the length of its subnet: write ${toIPText(ip)}/${pool.prefix}`
}
