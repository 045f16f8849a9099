// A CIDR: an address and how many of its leading bits name the network. Texts are judged as Go's netip.ParsePrefix does,
// so `10.0.0.0/08`, `/+8` and zones are refused. An address with host bits (`10.0.0.7/24`) is kept as written, for it is
// how an interface is described; where a network is meant, ask for that and it is refused.

import { bitsOf, type IP, isSameIP, parseIP, toIPText } from './address.ts'
import { isMalformed, type Malformed, malformed } from './malformed.ts'

export interface CIDR {
  readonly ip: IP
  /** The prefix length: 0 to 32, or 0 to 128. */
  readonly bits: number
}

export interface CIDROptions {
  /** Refuse an address that is not the first of its network. Allowed unless said. */
  readonly hostBits?: 'allow' | 'refuse'
}

export function parseCIDR(text: string, { hostBits = 'allow' }: CIDROptions = {}): CIDR | Malformed {
  const slash = text.lastIndexOf('/')
  if (slash === -1)
    return malformed(text, 'is not a CIDR: write an address, "/" and a prefix length, such as 10.0.0.0/24')
  const ip = parseIP(text.slice(0, slash))
  if (isMalformed(ip)) return malformed(text, `is not a CIDR: ${ip.malformed}`)
  const bits = parseBits(text, slash + 1)
  const bitsMax = bitsOf(ip.family)
  if (bits === undefined || bits > bitsMax) {
    const problem = `the prefix length of IPv${ip.family} is a plain number of 0 to ${bitsMax}`
    return malformed(text, `is not a CIDR: ${problem}; write it such as ${toIPText(ip)}/${bitsMax}`)
  }
  const cidr = { ip, bits }
  if (hostBits === 'refuse' && hasHostBits(cidr)) {
    return malformed(text, `names a host inside a network: write ${toCIDRText(toNetwork(cidr))} for the network`)
  }
  return cidr
}

/** One to three decimal digits up to the end of the text, without sign or leading zero. */
function parseBits(text: string, start: number): number | undefined {
  const digits = text.length - start
  if (digits < 1 || digits > 3) return undefined
  if (digits > 1 && text.charCodeAt(start) === 48) return undefined
  let bits = 0
  for (let i = start; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 48
    if (digit < 0 || digit > 9) return undefined
    bits = bits * 10 + digit
  }
  return bits
}

/** `toCIDR(ip, 24)`: the address with its host bits kept. A length its family does not have is a bug of the caller. */
export function toCIDR(ip: IP, bits: number): CIDR {
  if (Number.isInteger(bits) && bits >= 0 && bits <= bitsOf(ip.family)) return { ip, bits }
  throw new RangeError(`${bits} is not a prefix length of an IPv${ip.family} address`)
}

export const toCIDRText = ({ ip, bits }: CIDR): string => `${toIPText(ip)}/${bits}`

/** The same CIDR without host bits. */
export function toNetwork(cidr: CIDR): CIDR {
  return { ip: firstIP(cidr), bits: cidr.bits }
}

export const hasHostBits = (cidr: CIDR): boolean => !isSameIP(cidr.ip, firstIP(cidr))

/** The lowest address: the network address of IPv4, the subnet-router anycast address of IPv6. */
export function firstIP({ ip, bits }: CIDR): IP {
  const { family, w0, w1, w2, w3 } = ip
  if (family === 4) return { family, w0, w1, w2, w3: w3 & mask(bits) }
  return { family, w0: w0 & mask(bits), w1: w1 & mask(bits - 32), w2: w2 & mask(bits - 64), w3: w3 & mask(bits - 96) }
}

/** The highest address: the broadcast address of an IPv4 network that has one. */
export function lastIP({ ip, bits }: CIDR): IP {
  const { family, w0, w1, w2, w3 } = ip
  if (family === 4) return { family, w0, w1, w2, w3: w3 | ~mask(bits) }
  return {
    family,
    w0: w0 | ~mask(bits),
    w1: w1 | ~mask(bits - 32),
    w2: w2 | ~mask(bits - 64),
    w3: w3 | ~mask(bits - 96),
  }
}

export function containsIP({ ip, bits }: CIDR, other: IP): boolean {
  if (ip.family !== other.family) return false
  if (ip.family === 4) return sharesBits(ip.w3, other.w3, bits)
  if (bits <= 32) return sharesBits(ip.w0, other.w0, bits)
  if (ip.w0 !== other.w0) return false
  if (bits <= 64) return sharesBits(ip.w1, other.w1, bits - 32)
  if (ip.w1 !== other.w1) return false
  if (bits <= 96) return sharesBits(ip.w2, other.w2, bits - 64)
  return ip.w2 === other.w2 && sharesBits(ip.w3, other.w3, bits - 96)
}

/** Whether two words begin with the same 0 to 32 bits. A shift by 32 is a shift by 0, hence the special case. */
const sharesBits = (a: number, b: number, bits: number): boolean => bits === 0 || (a ^ b) >>> (32 - bits) === 0

export const containsCIDR = (outer: CIDR, inner: CIDR): boolean =>
  outer.bits <= inner.bits && containsIP(outer, inner.ip)

export const overlapsCIDR = (a: CIDR, b: CIDR): boolean => containsCIDR(a, b) || containsCIDR(b, a)

/** A word whose `bits` leading bits are set; fewer than 0 count as none, more than 32 as all. */
function mask(bits: number): number {
  if (bits <= 0) return 0
  return bits >= 32 ? -1 : -1 << (32 - bits)
}
