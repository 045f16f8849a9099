// The name of the object that stands for one address. "Already exists" on such a name is what keeps an address from having
// two holders, so address and name must be a bijection: no two addresses share a name, and no address has two.
//
// IPv4 keeps its look, `ip-10-0-0-1`. IPv6 writes all eight groups, `ip6-fd00-0-0-0-0-0-0-1`: with `::` a name could end in
// "-", which DNS-1123 forbids. A MAC address is `mac-0a-58-c0-a8-01-05`. The part for the address has no dot, so a scope
// may follow behind the first dot, whatever dots it has itself.

import type { IP } from './address.ts'
import type { MACText } from './mac.ts'
import { quoteText } from './malformed.ts'

/** A DNS-1123 label of at most 43 characters. */
export function toObjectName(ip: IP): string {
  if (ip.family === 6) return `ip6-${groupsOf(ip.w0)}-${groupsOf(ip.w1)}-${groupsOf(ip.w2)}-${groupsOf(ip.w3)}`
  return `ip-${ip.w3 >>> 24}-${(ip.w3 >>> 16) & 255}-${(ip.w3 >>> 8) & 255}-${ip.w3 & 255}`
}

const groupsOf = (word: number): string => `${(word >>> 16).toString(16)}-${(word & 0xffff).toString(16)}`

/** A DNS-1123 label of 21 characters. */
export const toMACObjectName = (mac: MACText): string => `mac-${mac.replaceAll(':', '-')}`

/** The longest scope: a name has 253 characters, of which the address and a dot may need 44. */
export const scopeCharsMax = 253 - 44

/** Whether the names of objects can end in this: a DNS-1123 subdomain that leaves room for the address. */
export function isScope(text: string): boolean {
  // One is asked about for every address in it.
  if (text === lastScope) return true
  if (text.length > scopeCharsMax || !isSubdomain(text)) return false
  lastScope = text
  return true
}

let lastScope: string | undefined

/** For a message: a name as it stands there, anything else quoted and cut. A reference may say what no object is called. */
export const quoteUnlessName = (text: string): string =>
  text.length <= nameCharsMax && isSubdomain(text) ? text : quoteText(text)

const nameCharsMax = 253

/** DNS-1123, as the API server takes it for names of most kinds; how long it may be depends on the kind. */
export function isSubdomain(text: string): boolean {
  return text.split('.').every(label => label.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(label))
}
