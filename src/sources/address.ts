// The parts of an address that sources write in ways of their own: prefixes, masks, gateways, routes.

import {
  bitsOf,
  isLinkLocal,
  isLoopback,
  isUnspecified,
  parseIP,
  parseZonedIP,
  toIPText,
  toValue,
} from '../ip/address.ts'
import { parseCIDR, toCIDRText, toNetwork } from '../ip/cidr.ts'
import { isMalformed, type Malformed, malformed } from '../ip/malformed.ts'
import type { SourceGateway, SourceRoute } from './machine.ts'

/** Undefined of 0, which says that it is not known, and of what no address of this family can have. */
export function readPrefix(text: string | undefined, address: string): number | undefined {
  const ip = parseIP(address)
  if (isMalformed(ip) || !/^\d{1,3}$/.test(text ?? '')) return undefined
  const bits = Number(text)
  return bits > 0 && bits <= bitsOf(ip.family) ? bits : undefined
}

/** Of a prefix length or a mask: `24`, `255.255.255.0`. */
export function readMask(text: string, address: string): number | undefined | Malformed {
  const trimmed = text.trim()
  if (trimmed === '') return undefined
  const mask = parseIP(trimmed.replace(/^\//, ''))
  if (isMalformed(mask)) {
    const bits = readPrefix(trimmed.replace(/^\//, ''), address)
    return bits ?? malformed(text, 'is neither a mask nor a prefix length: write 255.255.255.0 or 24')
  }
  const width = bitsOf(mask.family)
  const digits = toValue(mask).toString(2).padStart(width, '0')
  const bits = digits.indexOf('0') === -1 ? width : digits.indexOf('0')
  if (digits.slice(bits).includes('1')) return malformed(text, 'is not a mask: write one such as 255.255.255.0')
  return bits === 0 ? undefined : bits
}

/** Undefined where there is none: empty, or unspecified. */
export function readGateway(text: string): SourceGateway | undefined | Malformed {
  if (text.trim() === '') return undefined
  const zoned = parseZonedIP(text.trim())
  if (isMalformed(zoned)) return zoned
  const { ip } = zoned
  if (isUnspecified(ip) || isLoopback(ip)) return undefined
  const isAdvertised = ip.family === 6 && isLinkLocal(ip)
  return { address: toIPText(ip), origin: isAdvertised ? 'router-advertised' : 'fixed' }
}

/** None where one of the two cannot be read. */
export function toRoute(destination: string, gateway: string | undefined): SourceRoute[] {
  const cidr = parseCIDR(destination)
  const ip = gateway === undefined ? undefined : parseZonedIP(gateway)
  if (isMalformed(cidr) || isMalformed(ip)) return []
  return [{ destination: toCIDRText(toNetwork(cidr)), ...(ip && { gateway: toIPText(ip.ip) }) }]
}
