// What an entry of a Metal3 pool offers, as a range. Metal3 counts from the start, or from the address after the one in
// `subnet`, up to the end, or to the last address of the subnet, broadcast included.

import { type IP, parseIP, toValue } from '../ip/address.ts'
import { lastIP, parseCIDR } from '../ip/cidr.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import type { Range } from '../ip/range.ts'
import type { Metal3Entry } from './metal3.ts'

export function rangeOfEntry({ start, end, subnet }: Metal3Entry): Range | Malformed {
  const cidr = subnet === '' ? undefined : parseCIDR(subnet)
  if (isMalformed(cidr)) return { malformed: `subnet ${cidr.malformed}` }
  const first = bound('start', start)
  if (isMalformed(first)) return first
  const last = bound('end', end)
  if (isMalformed(last)) return last
  const families = new Set([cidr?.ip.family, first?.family, last?.family].filter(family => family !== undefined))
  const [family] = families
  if (families.size > 1) return { malformed: 'start, end and subnet are of two families' }
  const from = first !== undefined ? toValue(first) : cidr && toValue(cidr.ip) + 1n
  const to = last !== undefined ? toValue(last) : cidr && toValue(lastIP(cidr))
  if (family === undefined || from === undefined) return { malformed: 'it has neither start nor subnet' }
  if (to === undefined) return { malformed: `it starts at ${start} and has no end: write one` }
  if (from > to) return { malformed: 'it ends before it starts' }
  return { family, first: from, last: to }
}

function bound(field: string, text: string): IP | Malformed | undefined {
  if (text === '') return undefined
  const ip = parseIP(text)
  return isMalformed(ip) ? { malformed: `${field} ${ip.malformed}` } : ip
}
