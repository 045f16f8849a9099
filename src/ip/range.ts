// A range: all addresses of one family from a first to a last, both included. It is kept as two numbers, so a range of
// 2^128 addresses is as cheap as a range of one. `parseEntry` reads the three ways in which people list addresses of a
// pool; what it accepts is what existing in-cluster pools contain.

import { type Family, fromValue, type IP, parseZonedIP, toIPText, toValue } from './address.ts'
import { type CIDR, firstIP, lastIP, parseCIDR } from './cidr.ts'
import { isMalformed, type Malformed, malformed } from './malformed.ts'

export interface Range {
  readonly family: Family
  readonly first: bigint
  /** Never below `first`. */
  readonly last: bigint
}

/**
 * One entry of an address list. A "-" makes it a range (`10.0.0.10-10.0.0.20`), else a "/" makes it a CIDR, host bits
 * allowed, else it is one address. Zones are dropped, except in a CIDR, which may not have one.
 */
export function parseEntry(text: string): Range | Malformed {
  if (text.includes('-')) return parseRange(text)
  if (text.includes('/')) {
    const cidr = parseCIDR(text)
    return isMalformed(cidr) ? cidr : rangeOfCIDR(cidr)
  }
  const single = parseZonedIP(text)
  return isMalformed(single) ? single : rangeOfIP(single.ip)
}

/** Two addresses of one family around a "-", the lower first. */
export function parseRange(text: string): Range | Malformed {
  const dash = text.indexOf('-')
  if (dash === -1)
    return malformed(text, 'is not a range: write two addresses with "-" between, such as 10.0.0.1-10.0.0.9')
  const start = parseZonedIP(text.slice(0, dash))
  if (isMalformed(start)) return malformed(text, `is not a range, its start is wrong: ${start.malformed}`)
  const end = parseZonedIP(text.slice(dash + 1))
  if (isMalformed(end)) return malformed(text, `is not a range, its end is wrong: ${end.malformed}`)
  if (start.ip.family !== end.ip.family) {
    return malformed(text, 'mixes IPv4 and IPv6: write both ends of a range in one family')
  }
  const first = toValue(start.ip)
  const last = toValue(end.ip)
  if (first > last) {
    return malformed(text, `ends before it starts: write ${toIPText(end.ip)}-${toIPText(start.ip)}`)
  }
  return { family: start.ip.family, first, last }
}

export function rangeOfIP(ip: IP): Range {
  const value = toValue(ip)
  return { family: ip.family, first: value, last: value }
}

export function rangeOfCIDR(cidr: CIDR): Range {
  return { family: cidr.ip.family, first: toValue(firstIP(cidr)), last: toValue(lastIP(cidr)) }
}

/** One address as itself, anything longer as `first-last`. */
export function toRangeText({ family, first, last }: Range): string {
  const start = toIPText(fromValue(family, first))
  return first === last ? start : `${start}-${toIPText(fromValue(family, last))}`
}

export const sizeOfRange = ({ first, last }: Range): bigint => last - first + 1n

export const overlapsRange = (a: Range, b: Range): boolean =>
  a.family === b.family && a.first <= b.last && b.first <= a.last
