// The addresses of a migration network: one subnet of each family, what is excluded of it, and what is left to give out. All of it
// is intervals, in the same code by which pools are counted and addresses chosen (`src/ip/range-set.ts`): what is counted is what can be
// given, a /16 and a /64 cost the same.
//
// Neither the first nor the last address of a subnet is given out, of both families, and none of a subnet of one or two addresses:
// whereabouts has it so, and a network with `ipam` of type mooring is rendered to have it so (`attachment.ts`). An exclusion counts as the whole
// subnet that it names, host bits or not.

import type { AddressTexts } from '../api/migration-network.ts'
import { bitsOf, type Family, fromValue, type IP, isMapped, parseIP, toIPText, toValue } from '../ip/address.ts'
import {
  type CIDR,
  containsCIDR,
  containsIP,
  hasHostBits,
  overlapsCIDR,
  parseCIDR,
  toCIDR,
  toCIDRText,
  toNetwork,
} from '../ip/cidr.ts'
import { isMalformed } from '../ip/malformed.ts'
import { rangeOfCIDR } from '../ip/range.ts'
import { difference, emptySet, hasIP, intersection, type RangeSet, sizeOf, toRangeSet } from '../ip/range-set.ts'
import { type Place, type Problem, problem } from './problem.ts'

/** Of one family. */
export interface MigrationRange {
  readonly subnet: CIDR
  /** The part of the subnet that is given out; undefined for all of it. */
  readonly window: { readonly start: IP; readonly end: IP } | undefined
  /** Without host bits, in ascending order. */
  readonly exclude: readonly CIDR[]
}

/** What is given out: as many addresses as can be allocated. */
export function usableOf({ subnet, window, exclude }: MigrationRange): RangeSet {
  const { family } = subnet.ip
  if (bitsOf(family) - subnet.bits < 2) return emptySet(family)
  const { first, last } = rangeOfCIDR(subnet)
  const inner = toRangeSet(family, [{ family, first: first + 1n, last: last - 1n }])
  const asked = window && toRangeSet(family, [{ family, first: toValue(window.start), last: toValue(window.end) }])
  const excluded = toRangeSet(family, exclude.map(rangeOfCIDR))
  return difference(asked === undefined ? inner : intersection(inner, asked), excluded)
}

export const familyOf = ({ subnet }: MigrationRange): Family => subnet.ip.family

/** How many nodes can have an address: each takes one of each family. */
export function countUsable(ranges: readonly MigrationRange[]): bigint {
  const counts = ranges.map(range => sizeOf(usableOf(range)))
  return counts.reduce((least, count) => (count < least ? count : least), counts[0] ?? 0n)
}

/** Whether an address, as a text, is one of those that are given out. */
export function gives(ranges: readonly MigrationRange[], text: string): boolean {
  const ip = parseIP(text)
  return !isMalformed(ip) && ranges.some(range => hasIP(usableOf(range), ip))
}

/** Whether an address, as a text, is of the subnets, given out or not. */
export function hasSubnetOf(ranges: readonly MigrationRange[], text: string): boolean {
  const ip = parseIP(text)
  return !isMalformed(ip) && ranges.some(({ subnet }) => containsIP(subnet, ip))
}

/** The lowest and the highest address that is given out; undefined where there is none. */
export function endsOf(range: MigrationRange): { readonly start: IP; readonly end: IP } | undefined {
  const { family, ranges } = usableOf(range)
  const [first, last] = [ranges[0], ranges.at(-1)]
  if (first === undefined || last === undefined) return undefined
  return { start: fromValue(family, first.first), end: fromValue(family, last.last) }
}

// --- from texts ---

export interface ReadRanges {
  readonly ranges: readonly MigrationRange[]
  readonly problems: readonly Problem[]
}

/** The shortest prefix of an IPv4 range and of an exclusion that Harvester takes. */
const prefixMin = 16

export interface RangeRules {
  /** `harvester`: IPv4 is always there, and IPv6 has a start and an end. `plain`: one family is enough. */
  readonly rules: 'harvester' | 'plain'
}

export function readRanges(texts: AddressTexts, { rules }: RangeRules): ReadRanges {
  const problems: Problem[] = []
  const isV6Alone = rules === 'plain' && texts.range === '' && texts.rangeV6 !== ''
  const v4 = isV6Alone ? undefined : readV4(texts, problems)
  const v6 = readV6(texts, rules, problems)
  if (isV6Alone && texts.exclude.length > 0) {
    const message = 'exclude is of range, and there is none'
    problems.push(
      problem(['exclude'], texts.exclude, message, 'leave it out; rangeV6Start and rangeV6End narrow rangeV6'),
    )
  }
  return { ranges: [v4, v6].flatMap(range => range ?? []), problems }
}

function readV4({ range: text, exclude }: AddressTexts, problems: Problem[]): MigrationRange | undefined {
  const before = problems.length
  const subnet = readSubnetV4(text, problems)
  const read = exclude.map((one, i) => readExclude(one, ['exclude', i], subnet, problems))
  for (const { i, other } of overlapsIn(read)) {
    const message = `exclude ranges have overlapping subnets ${exclude[i]} ${exclude[other]}`
    const [one, wide] = [read[i], read[other]]
    const isInside = one !== undefined && wide !== undefined && containsCIDR(wide, one)
    const fix = isInside ? 'remove it: the other one has all of it' : 'remove the other one: this one has all of it'
    problems.push(problem(['exclude', i], exclude[i], message, fix))
  }
  if (subnet === undefined || problems.length > before) return undefined
  return { subnet, window: undefined, exclude: read.flatMap(one => one ?? []).sort(byAddress) }
}

/**
 * Of each that overlaps one further up in the list, the two positions. Of two CIDRs that overlap one has all of the other: so in the order
 * of their addresses, the wider first, it is enough to look back at the last one that lies in no other.
 */
function overlapsIn(cidrs: readonly (CIDR | undefined)[]): { readonly i: number; readonly other: number }[] {
  const sorted = cidrs
    .flatMap((cidr, at) => (cidr === undefined ? [] : [{ cidr, at }]))
    .sort((a, b) => a.cidr.ip.family - b.cidr.ip.family || byAddress(a.cidr, b.cidr) || a.at - b.at)
  const overlaps: { readonly i: number; readonly other: number }[] = []
  let outer = sorted[0]
  for (const one of sorted.slice(1)) {
    if (outer === undefined || !overlapsCIDR(outer.cidr, one.cidr)) outer = one
    else overlaps.push({ i: Math.max(one.at, outer.at), other: Math.min(one.at, outer.at) })
  }
  return overlaps.sort((a, b) => a.i - b.i)
}

function readSubnetV4(text: string, problems: Problem[]): CIDR | undefined {
  const subnet = readSubnet(text, ['range'], 'range', problems)
  if (subnet === undefined) return undefined
  const refuse = (message: string, fix: string): undefined => void problems.push(problem(['range'], text, message, fix))
  if (subnet.ip.family === 6) {
    const message = 'IPv6 ranges are not supported for network settings'
    return refuse(message, 'range must be an IPv4 CIDR; use rangeV6 for IPv6')
  }
  if (subnet.bits >= prefixMin) return subnet
  const message = `min supported prefix length for network is ${prefixMin}, include Range PrefixLen received ${subnet.bits}`
  return refuse(message, `write a range of /${prefixMin} or smaller`)
}

/** Where the range is wrong, it is judged by itself. A single address is taken as the CIDR of it alone, as whereabouts takes it. */
function readExclude(text: string, place: Place, range: CIDR | undefined, problems: Problem[]): CIDR | undefined {
  const refuse = (message: string, fix: string): undefined => void problems.push(problem(place, text, message, fix))
  const single = parseIP(text)
  const written = isMalformed(single) ? parseCIDR(text) : toCIDR(single, bitsOf(single.family))
  if (isMalformed(written)) return refuse(`invalid CIDR address: ${text}`, 'write a CIDR such as 10.1.2.0/28')
  const cidr = toNetwork(written)
  if (cidr.bits < prefixMin) {
    const message = `min supported prefix length for network is ${prefixMin}, exclude Range PrefixLen received ${cidr.bits}`
    return refuse(message, `write exclusions of /${prefixMin} or smaller`)
  }
  if (range === undefined) return cidr
  const rangeText = toCIDRText(range)
  if (!overlapsCIDR(cidr, range)) {
    return refuse(
      `exclude range ${text} do not overlap include range ${rangeText}`,
      'remove it: nothing there is given out',
    )
  }
  if (cidr.bits <= range.bits) {
    const message = `exclude Range ${text} includes include Range ${rangeText}, no allocatable ip addresses`
    return refuse(message, 'exclude a part of the range')
  }
  return cidr
}

function readV6(texts: AddressTexts, rules: RangeRules['rules'], problems: Problem[]): MigrationRange | undefined {
  const { rangeV6: text, rangeV6Start, rangeV6End } = texts
  const before = problems.length
  if (text === '') {
    for (const key of ['rangeV6Start', 'rangeV6End'] as const) {
      if (texts[key] !== '')
        problems.push(problem([key], texts[key], `${key} needs rangeV6`, 'write rangeV6 too, or remove it'))
    }
    return undefined
  }
  const subnet = readSubnet(text, ['rangeV6'], 'rangeV6', problems)
  if (subnet === undefined) return undefined
  if (subnet.ip.family === 4 || isMapped(subnet.ip)) {
    problems.push(problem(['rangeV6'], text, 'rangeV6 must be an IPv6 CIDR', 'write IPv4 in range'))
    return undefined
  }
  if (rangeV6Start === '' && rangeV6End === '' && rules === 'plain') return { subnet, window: undefined, exclude: [] }
  const start = readEnd(rangeV6Start, 'rangeV6Start', subnet, problems)
  const end = readEnd(rangeV6End, 'rangeV6End', subnet, problems)
  if (start === undefined || end === undefined || problems.length > before) return undefined
  if (toValue(start) > toValue(end)) {
    const message = `rangeV6Start ${toIPText(start)} is above rangeV6End ${toIPText(end)}`
    problems.push(problem(['rangeV6Start'], rangeV6Start, message, 'exchange the two'))
    return undefined
  }
  return { subnet, window: { start, end }, exclude: [] }
}

function readEnd(text: string, key: string, subnet: CIDR, problems: Problem[]): IP | undefined {
  const refuse = (message: string, fix: string): undefined => void problems.push(problem([key], text, message, fix))
  if (text === '') return refuse(`${key} is required with rangeV6`, `write an address of ${toCIDRText(subnet)}`)
  const ip = parseIP(text)
  if (isMalformed(ip)) return refuse(`invalid IP address: ${text}`, `write an address of ${toCIDRText(subnet)}`)
  if (!containsIP(subnet, ip)) {
    return refuse(`${key} ${toIPText(ip)} is not in ${toCIDRText(subnet)}`, 'write an address of rangeV6')
  }
  return ip
}

function readSubnet(text: string, place: Place, name: string, problems: Problem[]): CIDR | undefined {
  const refuse = (message: string, fix: string): undefined => void problems.push(problem(place, text, message, fix))
  const cidr = parseCIDR(text)
  if (isMalformed(cidr)) {
    return refuse(
      `invalid CIDR address: ${text}`,
      `write ${name} as a CIDR such as ${name === 'range' ? '10.1.2.0/24' : 'fd00:1::/64'}`,
    )
  }
  if (!hasHostBits(cidr)) return cidr
  const canonical = toCIDRText(toNetwork(cidr))
  return refuse(`${name} should be subnet CIDR ${canonical}`, `write ${canonical}`)
}

function byAddress(a: CIDR, b: CIDR): number {
  const [one, other] = [toValue(a.ip), toValue(b.ip)]
  return one < other ? -1 : one > other ? 1 : a.bits - b.bits
}
