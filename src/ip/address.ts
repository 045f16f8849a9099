// One IP address: strict text in, canonical text out, and the questions one can ask of it.
//
// Texts are judged and printed exactly as Go's net/netip does, because most neighbours are written in Go: an address that
// one side accepts and the other refuses, or two spellings of one address, is how the same address gets two holders.
//
// An address is four 32-bit words, most significant first, kept as signed integers: those are the only 32-bit values the
// engine stores without a heap box, which makes parsing several times faster than any form with a bigint in it. Arithmetic
// over many addresses is done on bigints (`toValue`, `fromValue`). The value never holds a zone, so equal addresses are
// equal words; a zone is a fact about one host's interface and is either refused (`parseIP`) or handed back beside the
// address (`parseZonedIP`).

import { isMalformed, type Malformed, malformed, quoteText } from './malformed.ts'

export type Family = 4 | 6

export interface IP {
  readonly family: Family
  /** Signed 32-bit words, most significant first. IPv4 uses the last one; its others are zero. */
  readonly w0: number
  readonly w1: number
  readonly w2: number
  readonly w3: number
}

declare const canonical: unique symbol

/** The one canonical text of an address. */
export type IPText = string & { readonly [canonical]: 'IPText' }

export interface ZonedIP {
  readonly ip: IP
  /** Empty where the text names no zone. */
  readonly zone: string
}

export const bitsOf = (family: Family): number => (family === 4 ? 32 : 128)
export const highestValue = (family: Family): bigint => (family === 4 ? 0xffff_ffffn : (1n << 128n) - 1n)

// --- text to address ---

/**
 * Parses an IPv4 or IPv6 address without a zone. IPv4-mapped IPv6 (`::ffff:192.0.2.1`) is IPv6 and answers true to
 * `isMapped`, so that a policy can refuse it.
 *
 * @example parseIP('2001:DB8:0::1') // the address whose text is '2001:db8::1'
 */
export function parseIP(text: string): IP | Malformed {
  return parse4(text, 0, text.length) ?? parse6(text, text.length) ?? explain(text)
}

/** Parses all that netip.ParseAddr does: as `parseIP`, and an IPv6 address may name a zone (`fe80::1%eth0`). */
export function parseZonedIP(text: string): ZonedIP | Malformed {
  const percent = text.indexOf('%')
  if (percent === -1) {
    const ip = parseIP(text)
    return isMalformed(ip) ? ip : { ip, zone: '' }
  }
  const zone = text.slice(percent + 1)
  if (zone === '') return malformed(text, 'has an empty zone: write an interface name after "%", or leave "%" out')
  const ip = parse6(text, percent)
  if (ip !== undefined) return { ip, zone }
  const address = text.slice(0, percent)
  if (parse4(address, 0, address.length) === undefined) return explain(address)
  return malformed(text, `gives a zone to an IPv4 address: write ${address}`)
}

// Written out digit by digit: this runs for every address of every listed object, and is a quarter faster than a loop.
function parse4(text: string, start: number, end: number): IP | undefined {
  let word = 0
  let i = start
  for (let octets = 0; octets < 4; octets++) {
    if (octets > 0 && (i >= end || text.charCodeAt(i++) !== dot)) return undefined
    if (i >= end) return undefined
    let octet = text.charCodeAt(i++) - 48
    if (octet < 0 || octet > 9) return undefined
    if (i < end) {
      const second = text.charCodeAt(i) - 48
      if (second >= 0 && second <= 9) {
        if (octet === 0) return undefined // a leading zero: some readers take it for octal
        octet = octet * 10 + second
        i++
        if (i < end) {
          const third = text.charCodeAt(i) - 48
          if (third >= 0 && third <= 9) {
            octet = octet * 10 + third
            if (octet > 255) return undefined
            i++
          }
        }
      }
    }
    word = (word << 8) | octet
  }
  return i === end ? { family: 4, w0: 0, w1: 0, w2: 0, w3: word } : undefined
}

/** Where `parse6` collects groups. One for all calls: parsing never waits and never calls itself. */
const parsed = new Uint16Array(8)

function parse6(text: string, end: number): IP | undefined {
  let groups = 0
  let gap = -1 // the group before which `::` stands
  let i = 0

  if (end >= 2 && text.charCodeAt(0) === colon && text.charCodeAt(1) === colon) {
    gap = 0
    i = 2
  }

  while (groups < 8 && i < end) {
    const start = i
    let group = 0
    let code = 0
    for (; i < end; i++) {
      code = text.charCodeAt(i)
      const digit = hexDigit(code)
      if (digit === -1) break
      if (i - start === 4) return undefined
      group = (group << 4) | digit
    }
    if (i === start) return undefined

    if (i < end && code === dot) {
      if (groups > 6) return undefined // no room for the two groups it stands for
      const tail = parse4(text, start, end)
      if (tail === undefined) return undefined
      parsed[groups++] = tail.w3 >>> 16
      parsed[groups++] = tail.w3
      i = end
      break
    }

    parsed[groups++] = group
    if (i === end) break
    if (code !== colon) return undefined
    i++
    if (i === end) return undefined
    if (text.charCodeAt(i) !== colon) continue
    if (gap !== -1) return undefined
    gap = groups
    i++
  }

  if (i !== end) return undefined
  if (gap === -1) return groups === 8 ? toIP6(parsed) : undefined
  if (groups === 8) return undefined // `::` stands for at least one group
  let to = 7
  for (let from = groups - 1; from >= gap; from--) parsed[to--] = parsed[from] ?? 0
  while (to >= gap) parsed[to--] = 0
  return toIP6(parsed)
}

function toIP6(groups: Uint16Array): IP {
  return {
    family: 6,
    w0: wordAt(groups, 0),
    w1: wordAt(groups, 2),
    w2: wordAt(groups, 4),
    w3: wordAt(groups, 6),
  }
}

const wordAt = (groups: Uint16Array, index: number): number => ((groups[index] ?? 0) << 16) | (groups[index + 1] ?? 0)

const dot = 46
const colon = 58

const isDigit = (code: number): boolean => code >= 48 && code <= 57

function hexDigit(code: number): number {
  if (isDigit(code)) return code - 48
  const lower = code | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : -1
}

// --- why a text is not an address ---
// Parsing only says no, which keeps it fast; the reason is looked for afterwards, in the order a person would notice.

/** The longest text of an address is `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255`, 45 characters. */
const textCharsMax = 45

const examples = 'write one such as 192.0.2.1 or 2001:db8::1'

function explain(text: string): Malformed {
  if (text === '') return malformed(text, `is not an IP address: ${examples}`)
  const percent = text.indexOf('%')
  if (percent !== -1) {
    const ip = parse6(text, percent)
    if (ip === undefined) return malformed(text, `is not an IP address: ${examples}, without "%"`)
    return malformed(text, `names a zone, which has no meaning here: write ${toIPText(ip)}`)
  }
  if (text.length > textCharsMax) return malformed(text, `is too long to be an IP address: ${examples}`)
  if (/\s/.test(text)) return malformed(text, 'contains white space: write the address alone')
  if (text.includes('/')) return malformed(text, 'has a prefix length: write the address alone, without "/"')
  if (text.includes('[')) return malformed(text, 'has brackets: write the address alone, without brackets or port')
  const host = text.slice(0, text.indexOf(':'))
  if (text.includes(':') && parse4(host, 0, host.length)) return malformed(text, `has a port: write ${host} alone`)
  const problem = text.includes(':') ? problemOf6(text) : problemOf4(text)
  return malformed(text, `is not an IP address: ${problem}`)
}

function problemOf4(text: string): string {
  if (!text.includes('.')) return examples
  const octets = text.split('.')
  for (const octet of octets) {
    const problem = problemOfOctet(octet)
    if (problem !== undefined) return problem
  }
  return `IPv4 has four decimal numbers, here are ${octets.length}; write one such as 192.0.2.1`
}

function problemOfOctet(octet: string): string | undefined {
  if (octet === '') return 'a number is missing next to a "."; write four, such as 192.0.2.1'
  for (const character of octet) {
    if (isDigit(character.charCodeAt(0))) continue
    return `${quoteText(octet)} is not a decimal number; write four of 0 to 255, such as 192.0.2.1`
  }
  if (Number(octet) > 255) return `${octet} is more than 255; write four numbers of 0 to 255`
  if (octet.length > 1 && octet.startsWith('0')) return `${octet} has a leading zero; write ${Number(octet)}`
  return undefined
}

function problemOf6(text: string): string {
  const halves = text.split('::')
  if (halves.length > 2) return '"::" may stand once; write the other zero groups as 0'
  const groups = text.split(':').filter(group => group !== '')
  for (const [index, group] of groups.entries()) {
    if (group.includes('.')) {
      if (index < groups.length - 1) return `${quoteUnlessIP(group)} may stand only at the end`
      if (parse4(group, 0, group.length) === undefined) return `in ${quoteText(group)}, ${problemOf4(group)}`
      continue
    }
    for (const character of group) {
      if (hexDigit(character.charCodeAt(0)) !== -1) continue
      return `${quoteText(character)} is not a hexadecimal digit; write groups of 0 to ffff between colons`
    }
    if (group.length > 4) return `${group} is longer than four digits; write groups of 0 to ffff between colons`
  }
  if (halves.some(half => half.startsWith(':') || half.endsWith(':'))) {
    return 'a group is missing next to a ":"; write 0, or "::" once for a run of zero groups'
  }
  const count = groups.length + (text.includes('.') ? 1 : 0)
  if (halves.length === 2) return `"::" stands for at least one group, but ${count} are written out; IPv6 has eight`
  return `IPv6 has eight groups, here are ${count}; write "::" once for a run of zero groups`
}

// --- address to text ---

/** For a message: an address as it stands there, anything else quoted and cut. */
export const quoteUnlessIP = (text: string): string => (isMalformed(parseIP(text)) ? quoteText(text) : text)

/** The text netip.Addr.String gives: RFC 5952, and `::ffff:192.0.2.1` for a mapped address. */
export function toIPText(ip: IP): IPText {
  const text = ip.family === 4 ? text4(ip.w3) : isMapped(ip) ? `::ffff:${text4(ip.w3)}` : text6(ip)
  return text as IPText
}

const octetTexts = Array.from({ length: 256 }, (_, octet) => `${octet}`)
const octetDotTexts = octetTexts.map(text => `${text}.`)

function text4(word: number): string {
  return `${octetDotTexts[word >>> 24]}${octetDotTexts[(word >>> 16) & 255]}${octetDotTexts[(word >>> 8) & 255]}${octetTexts[word & 255]}`
}

function text6(ip: IP): string {
  let runStart = -1
  let runLength = 1 // a single zero group is written out
  for (let i = 0; i < 8; i++) {
    let zeros = 0
    while (i + zeros < 8 && groupAt(ip, i + zeros) === 0) zeros++
    if (zeros > runLength) {
      runStart = i
      runLength = zeros
    }
    i += zeros
  }
  let text = ''
  for (let i = 0; i < 8; i++) {
    if (i === runStart) {
      text += '::'
      i += runLength - 1
      continue
    }
    if (i > 0 && i !== runStart + runLength) text += ':'
    text += groupText(groupAt(ip, i))
  }
  return text
}

const hexTexts = Array.from({ length: 256 }, (_, byte) => byte.toString(16))
const hexPairTexts = hexTexts.map(text => text.padStart(2, '0'))

function groupText(group: number): string {
  if (group < 256) return `${hexTexts[group]}`
  return `${hexTexts[group >>> 8]}${hexPairTexts[group & 255]}`
}

/** One of the eight 16-bit groups of an IPv6 address. */
function groupAt(ip: IP, index: number): number {
  const word = index < 4 ? (index < 2 ? ip.w0 : ip.w1) : index < 6 ? ip.w2 : ip.w3
  return (index & 1) === 0 ? word >>> 16 : word & 0xffff
}

// --- address and number ---

const words = new DataView(new ArrayBuffer(16))

export function toValue(ip: IP): bigint {
  if (ip.family === 4) return BigInt(ip.w3 >>> 0)
  words.setInt32(0, ip.w0)
  words.setInt32(4, ip.w1)
  words.setInt32(8, ip.w2)
  words.setInt32(12, ip.w3)
  return (words.getBigUint64(0) << 64n) | words.getBigUint64(8)
}

/** The address with this number. A number outside its family is a bug of the caller. */
export function fromValue(family: Family, value: bigint): IP {
  if (value < 0n || value > highestValue(family))
    throw new RangeError(`${value} is not the number of an IPv${family} address`)
  if (family === 4) return { family, w0: 0, w1: 0, w2: 0, w3: Number(value) | 0 }
  words.setBigUint64(0, value >> 64n)
  words.setBigUint64(8, BigInt.asUintN(64, value))
  return { family, w0: words.getInt32(0), w1: words.getInt32(4), w2: words.getInt32(8), w3: words.getInt32(12) }
}

// --- order ---

export function isSameIP(a: IP, b: IP): boolean {
  return a.w3 === b.w3 && a.w2 === b.w2 && a.w1 === b.w1 && a.w0 === b.w0 && a.family === b.family
}

/** Negative, zero or positive as `a` comes before, is, or comes after `b`; all of IPv4 comes before IPv6. */
export function compareIP(a: IP, b: IP): number {
  if (a.family !== b.family) return a.family - b.family
  if (a.w0 !== b.w0) return (a.w0 >>> 0) - (b.w0 >>> 0)
  if (a.w1 !== b.w1) return (a.w1 >>> 0) - (b.w1 >>> 0)
  if (a.w2 !== b.w2) return (a.w2 >>> 0) - (b.w2 >>> 0)
  return (a.w3 >>> 0) - (b.w3 >>> 0)
}

// --- what an address is for ---
// A mapped address answers as the IPv4 address inside it, as in Go: a filter must not be passed by a change of clothes.

/** An IPv4 address written as IPv6, `::ffff:0:0/96`. It is a second spelling of the same host. */
export function isMapped(ip: IP): boolean {
  return ip.family === 6 && ip.w0 === 0 && ip.w1 === 0 && ip.w2 === 0xffff
}

/** `0.0.0.0` and `::`. */
export function isUnspecified(ip: IP): boolean {
  return ip.w0 === 0 && ip.w1 === 0 && ip.w2 === 0 && ip.w3 === 0
}

/** `127.0.0.0/8` and `::1`. */
export function isLoopback(ip: IP): boolean {
  if (isIPv4Inside(ip)) return ip.w3 >>> 24 === 127
  return ip.w0 === 0 && ip.w1 === 0 && ip.w2 === 0 && ip.w3 === 1
}

/** `169.254.0.0/16` and `fe80::/10`. */
export function isLinkLocal(ip: IP): boolean {
  if (isIPv4Inside(ip)) return ip.w3 >>> 16 === 0xa9fe
  return ip.w0 >>> 22 === 0x3fa
}

/** `224.0.0.0/4` and `ff00::/8`. */
export function isMulticast(ip: IP): boolean {
  if (isIPv4Inside(ip)) return ip.w3 >>> 28 === 0xe
  return ip.w0 >>> 24 === 0xff
}

const isIPv4Inside = (ip: IP): boolean => ip.family === 4 || isMapped(ip)
