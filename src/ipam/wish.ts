// What a claim's author asked for, as it was typed. The webhook that warns and the choice that serves both parse it here, so
// that they agree.

import type { IP } from '../ip/address.ts'
import { parseIP } from '../ip/address.ts'
import { parseCIDR } from '../ip/cidr.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'

export interface NamedAddress {
  readonly ip: IP
  /** The length, where a prefix was asked for and not just its first address. */
  readonly bits: number | undefined
}

/** An address, or where prefixes are given out also a CIDR. Any spelling of it will do. */
export function parseWish(text: string, isOfPrefixes: boolean): NamedAddress | Malformed {
  const cidr = isOfPrefixes && text.includes('/') ? parseCIDR(text) : undefined
  if (cidr !== undefined) return cidr
  const ip = parseIP(text)
  return isMalformed(ip) ? ip : { ip, bits: undefined }
}
