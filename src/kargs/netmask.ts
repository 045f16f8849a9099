// The mask of an IPv4 network in dotted form, and back. NetworkManager reads a mask that is none by its lowest bit; so does this.

import { fromValue, type IP, toIPText } from '../ip/address.ts'

/** @example toNetmask(23) // '255.255.254.0' */
export const toNetmask = (bits: number): string =>
  toIPText(fromValue(4, ((1n << BigInt(bits)) - 1n) << BigInt(32 - bits)))

/** @example fromNetmask(parseIP('255.255.254.0')) // 23 */
export function fromNetmask({ w3 }: IP): number {
  if (w3 === 0) return 0
  return 32 - (31 - Math.clz32(w3 & -w3))
}
