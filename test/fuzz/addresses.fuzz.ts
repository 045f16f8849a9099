// Addresses, CIDRs, ranges and MACs, beside readers that are slow and plain.

import { isIPv4, isIPv6 } from 'node:net'
import { type Family, fromValue, parseIP, toIPText, toValue } from '../../src/ip/address.ts'
import { firstIP, lastIP, parseCIDR, toCIDRText } from '../../src/ip/cidr.ts'
import { parseMAC } from '../../src/ip/mac.ts'
import { isMalformed } from '../../src/ip/malformed.ts'
import { parseEntry, type Range, toRangeText } from '../../src/ip/range.ts'
import { type FuzzTarget, must, mustBeReadable } from './target.ts'

interface Slow {
  readonly family: Family
  readonly value: bigint
}

/** Without a zone. */
function slowIP(text: string): Slow | undefined {
  if (isIPv4(text)) return { family: 4, value: slow4(text) }
  if (!isIPv6(text) || text.includes('%')) return undefined
  const dotted = text.slice(text.lastIndexOf(':') + 1)
  const hex = dotted.includes('.') ? `${text.slice(0, -dotted.length)}${hexOf4(dotted)}` : text
  const [left = [], right = []] = hex.split('::').map(half => half.split(':').filter(group => group !== ''))
  const zeros = Array(8 - left.length - right.length).fill('0')
  const digits = [...left, ...zeros, ...right].map(group => group.padStart(4, '0')).join('')
  return { family: 6, value: BigInt(`0x${digits}`) }
}

const slow4 = (text: string): bigint => text.split('.').reduce((sum, octet) => sum * 256n + BigInt(octet), 0n)
const hexOf4 = (text: string): string => `${(slow4(text) >> 16n).toString(16)}:${(slow4(text) & 0xffffn).toString(16)}`

function slowCIDR(text: string): Range | undefined {
  const [, address = '', bits = ''] = /^([^/]*)\/(0|[1-9]\d{0,2})$/.exec(text) ?? []
  const ip = slowIP(address)
  const length = ip?.family === 4 ? 32n : 128n
  if (bits === '' || ip === undefined || BigInt(bits) > length) return undefined
  const size = 1n << (length - BigInt(bits))
  const first = (ip.value / size) * size
  return { family: ip.family, first, last: first + size - 1n }
}

/** Of the three ways to write an entry; a zone behind an IPv6 address is dropped, except in a CIDR. */
function slowEntry(text: string): Range | undefined {
  if (!text.includes('-') && text.includes('/')) return slowCIDR(text)
  const cut = text.indexOf('-')
  const ends = (cut === -1 ? [text] : [text.slice(0, cut), text.slice(cut + 1)]).map(slowZoned)
  const [first, last = first] = ends
  if (first === undefined || last === undefined || (ends.length === 2 && ends[1] === undefined)) return undefined
  if (first.family !== last.family || first.value > last.value) return undefined
  return { family: first.family, first: first.value, last: last.value }
}

function slowZoned(text: string): Slow | undefined {
  const [, address = text, zone] = /^([^%]*)%(.+)$/s.exec(text) ?? []
  const ip = slowIP(address)
  return zone !== undefined && ip?.family === 4 ? undefined : ip
}

const isSame = (one: Range, other: Range | undefined): boolean =>
  one.family === other?.family && one.first === other.first && one.last === other.last

export const addresses: FuzzTarget = {
  name: 'addresses, CIDRs and ranges',
  corpus: [
    '10.0.0.1',
    '255.255.255.255/32',
    '::ffff:192.0.2.1',
    '2001:DB8::0:1/64',
    'fe80::1%eth0',
    '1:2:3:4:5:6:7:8',
    '::',
    '1::8/128',
    '10.0.0.1-10.0.0.9',
    'fd00::1-fd00::ffff:ffff',
    '10.0.0.9-10.0.0.1',
    '010.0.0.1',
    '1:2:3:4:5:6:1.2.3.4',
    `${'0:'.repeat(5_000)}:1`,
    `10.${'0'.repeat(50_000)}.0.1`,
  ],
  dictionary: ['::', '/', '-', '.', '%', '0', 'ffff', '/128', '/032', '1.2.3.4', ' ', '\n', '\u202e', '٣'],
  run(input) {
    const text = input.toString('utf8')
    const ip = parseIP(text)
    const slow = slowIP(text)
    if (isMalformed(ip)) {
      mustBeReadable(ip.malformed)
      must(slow === undefined, 'what is an address is read')
    } else {
      must(slow?.family === ip.family && slow.value === toValue(ip), 'it is the same address')
      must(toIPText(fromValue(ip.family, toValue(ip))) === toIPText(ip), 'an address has one text')
    }
    const cidr = parseCIDR(text)
    if (isMalformed(cidr)) mustBeReadable(cidr.malformed)
    else {
      const again = parseCIDR(toCIDRText(cidr))
      must(!isMalformed(again) && toCIDRText(again) === toCIDRText(cidr), 'a CIDR has one text')
      const range = { family: cidr.ip.family, first: toValue(firstIP(cidr)), last: toValue(lastIP(cidr)) }
      must(isSame(range, slowCIDR(text)), 'it is the same CIDR')
    }
    const entry = parseEntry(text)
    if (isMalformed(entry)) {
      mustBeReadable(entry.malformed)
      return must(slowEntry(text) === undefined, 'what is an entry is read')
    }
    must(isSame(entry, slowEntry(text)), 'it is the same range')
    must(isSame(entry, slowEntry(toRangeText(entry))), 'its text is the same range')
  },
}

export const macs: FuzzTarget = {
  name: 'MACs',
  corpus: ['02:00:5e:10:00:01', '02-00-5E-10-00-01', '0200.5e10.0001', '02005E100001', '2:0:5e:10:0:1'],
  run(input) {
    const text = input.toString('utf8')
    const mac = parseMAC(text)
    const digits = [...text].filter(character => !':-.'.includes(character)).join('')
    if (isMalformed(mac)) return mustBeReadable(mac.malformed)
    must(/^[0-9a-f]{12}$/i.test(digits) && mac.replaceAll(':', '') === digits.toLowerCase(), 'it has the same digits')
    must(mac.length === 17 && parseMAC(mac) === mac, 'a MAC has one text')
    must(new Set([...text].filter(character => ':-.'.includes(character))).size <= 1, 'separators are not mixed')
  },
}
