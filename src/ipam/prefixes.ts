// Prefix pools beyond what blocks already do: which prefix an existing IPAddress stands for, and whether a prefix is one
// that the pool gives out. Which one is the lowest free is for `choose.ts`, as with addresses.

import type { IPAddress } from '../api/ip-address.ts'
import type { Pool } from '../api/pool.ts'
import { bitsOf, parseZonedIP } from '../ip/address.ts'
import { firstIP } from '../ip/cidr.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import { hasValue } from '../ip/range-set.ts'
import { wideNumber } from './blocks.ts'
import { poolSetOf } from './pool-set.ts'
import type { Block } from './space-index.ts'

/** Whether the pool may give out this block: of its length, and wholly among what it offers. */
export function isOffered(pool: Pool, { ip, bits }: Block): boolean {
  if (ip.family !== pool.family || bits !== pool.bits) return false
  return hasValue(poolSetOf(pool).offered, wideNumber(ip, bits))
}

/**
 * What an IPAddress that a user or another provider made occupies in the space of its pool. Its prefix counts only where the pool gives out
 * prefixes: on a single address it is the length of the subnet.
 */
export function blockOfReport(
  pool: Pool,
  { address, prefix }: Pick<IPAddress, 'address' | 'prefix'>,
): Block | Malformed {
  const zoned = parseZonedIP(address)
  if (isMalformed(zoned)) return zoned
  const { ip } = zoned
  if (ip.family !== pool.family)
    return { malformed: `${address} is IPv${ip.family}, and its pool is IPv${pool.family}` }
  const whole = bitsOf(ip.family)
  if (pool.bits === whole) return { ip, bits: whole }
  const bits = Math.min(prefix ?? pool.bits, whole)
  return { ip: firstIP({ ip, bits }), bits }
}
