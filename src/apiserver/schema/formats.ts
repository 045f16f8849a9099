// The string formats kube-apiserver checks. A format that is not listed here is a hint for readers and nothing more,
// and names are compared without their dashes (`date-time` is `datetime`), as it does.

import { isIP, isIPv6 } from 'node:net'
import { compilePattern, type Pattern } from './pattern.ts'

type Check = (text: string) => boolean

/** Compiled when first used: all of them at once would be a tenth of what a start of the program computes. */
const matching = (source: string): Check => {
  let pattern: Pattern | undefined
  return text => {
    pattern ??= compilePattern(source)
    return pattern.test(text)
  }
}

const hostnamePattern = matching(
  '^([a-zA-Z0-9\\p{S}\\p{L}]((-?[a-zA-Z0-9\\p{S}\\p{L}]{0,62})?)|' +
    '([a-zA-Z0-9\\p{S}\\p{L}](([a-zA-Z0-9-\\p{S}\\p{L}]{0,61}[a-zA-Z0-9\\p{S}\\p{L}])?)(\\.)){1,}([a-zA-Z\\p{L}]){2,63})$',
)
const byte = '(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])'
const cardPattern = matching(
  '^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|' +
    '3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\\d{3})\\d{11})$',
)
const nameSegment = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const shortName = matching(`^${nameSegment}$`)
const longName = matching(`^${nameSegment}(\\.${nameSegment})*$`)

const checks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['bsonobjectid', matching('^[0-9a-fA-F]{24}$')],
  ['uri', isRequestURI],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', text => text.includes('.') && isIPSloppy(text)],
  ['ipv6', text => text.includes(':') && isIP(text) !== 0 && !text.includes('%')],
  ['cidr', isCIDR],
  [
    'mac',
    matching(
      '^(?i)(?:[0-9a-f]{2}(?::[0-9a-f]{2}){5}|[0-9a-f]{2}(?::[0-9a-f]{2}){7}|[0-9a-f]{2}(?::[0-9a-f]{2}){19}|' +
        '[0-9a-f]{2}(?:-[0-9a-f]{2}){5}|[0-9a-f]{2}(?:-[0-9a-f]{2}){7}|[0-9a-f]{2}(?:-[0-9a-f]{2}){19}|' +
        '[0-9a-f]{4}(?:\\.[0-9a-f]{4}){2}|[0-9a-f]{4}(?:\\.[0-9a-f]{4}){3}|[0-9a-f]{4}(?:\\.[0-9a-f]{4}){9})$',
    ),
  ],
  ['uuid', matching('(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$')],
  ['uuid3', matching('(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$')],
  ['uuid4', matching('(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$')],
  ['uuid5', matching('(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$')],
  ['isbn', text => isISBN10(text) || isISBN13(text)],
  ['isbn10', isISBN10],
  ['isbn13', isISBN13],
  ['creditcard', isCreditCard],
  ['ssn', text => text.length === 11 && /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text)],
  ['hexcolor', matching('^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$')],
  ['rgbcolor', matching(`^rgb\\(\\s*${byte}\\s*,\\s*${byte}\\s*,\\s*${byte}\\s*\\)$`)],
  ['byte', isBase64],
  ['password', () => true],
  ['date', isDate],
  ['duration', text => parseDuration(text) !== undefined],
  ['datetime', isDateTime],
  ['k8sshortname', text => text.length <= 63 && shortName(text)],
  ['k8slongname', text => text.length <= 253 && longName(text)],
])

/** The check behind a format's name, or undefined when the server does not look at it. */
export function formatCheck(format: string | undefined): Check | undefined {
  return format === undefined ? undefined : checks.get(format.replaceAll('-', ''))
}

function isDate(text: string): boolean {
  const parts = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)
  if (parts === null) return false
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])]
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month)
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

function isDateTime(text: string): boolean {
  const [date, time] = text.toLowerCase().split('t')
  if (date === undefined || time === undefined || !isDate(date)) return false
  const parts = /^(\d{2}):(\d{2}):(\d{2})(?:[^\n]\d+)?(?:z|[+-]\d{2}:\d{2})$/.exec(time)
  return parts !== null && Number(parts[1]) <= 23 && Number(parts[2]) <= 59 && Number(parts[3]) <= 59
}

/** Leading zeros are accepted in IPv4, as they were when the format was introduced. */
function isIPSloppy(text: string): boolean {
  return isIP(text.replace(/(^|[.:])0+(?=\d)/g, '$1')) !== 0 && !text.includes('%')
}

function isCIDR(text: string): boolean {
  const slash = text.indexOf('/')
  const [address, bits] = [text.slice(0, slash), text.slice(slash + 1)]
  if (slash < 0 || !/^\d{1,3}$/.test(bits) || !isIPSloppy(address)) return false
  return Number(bits) <= (isIPv6(address) ? 128 : 32)
}

function isBase64(text: string): boolean {
  return text.length > 0 && text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)
}

function isHostname(text: string): boolean {
  if (text.length > 255 || !hostnamePattern(text) || Buffer.byteLength(text) > 255) return false
  return text.split('.').every(label => Buffer.byteLength(label) <= 63)
}

/** What Go's `url.ParseRequestURI` takes: an absolute URI or an absolute path. */
export function isRequestURI(text: string): boolean {
  if (text === '' || hasControl(text)) return false
  if (text === '*') return true
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:/.exec(text)?.[0]
  const rest = text.slice(scheme?.length ?? 0)
  if (!hasSoundEscapes(rest.split('?', 1)[0] ?? '')) return false
  if (!rest.startsWith('/')) return scheme !== undefined && !text.startsWith(':')
  if (!rest.startsWith('//') || scheme === undefined) return true
  const host = (rest.slice(2).split(/[/?]/, 1)[0] ?? '').replace(/^[^@]*@/, '')
  return isAuthority(host)
}

function isAuthority(host: string): boolean {
  const bracketed = /^\[([^\]]*)\](?::(\d*))?$/.exec(host)
  if (bracketed !== null) return isIP(bracketed[1] ?? '') === 6
  return /^[^\s<>"`{}|\\^[\]]*$/.test(host) && /^[^:]*(?::\d*)?$/.test(host)
}

function hasControl(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x20 || code === 0x7f) return true
  }
  return false
}

function hasSoundEscapes(path: string): boolean {
  return !/%(?![0-9A-Fa-f]{2})/.test(path)
}

/** An RFC 5322 mailbox, with or without a display name. */
function isEmail(text: string): boolean {
  const angled = /^([^<>]*)<([^<>]*)>$/.exec(text.trim())
  const address = angled?.[2] ?? text.trim()
  const split = address.lastIndexOf('@')
  if (split <= 0) return false
  const [local, domain] = [address.slice(0, split), address.slice(split + 1)]
  const isQuoted = local.length > 1 && local.startsWith('"') && local.endsWith('"')
  return (isQuoted || isDotAtom(local)) && (isDotAtom(domain) || /^\[[^[\]]*\]$/.test(domain))
}

function isDotAtom(text: string): boolean {
  return text.split('.').every(atom => /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\u{10ffff}-]+$/u.test(atom))
}

function isCreditCard(text: string): boolean {
  const digits = text.replace(/\D/g, '')
  if (!cardPattern(digits)) return false
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i])
    const weighed = i % 2 === 0 ? digit : digit * 2
    sum += weighed >= 10 ? weighed - 9 : weighed
  }
  return sum % 10 === 0
}

function isISBN10(text: string): boolean {
  const digits = text.replace(/[\s-]/g, '')
  if (!/^(?:\d{9}X|\d{10})$/.test(digits)) return false
  let sum = 0
  for (let i = 0; i < 10; i++) sum += (i + 1) * (digits[i] === 'X' ? 10 : Number(digits[i]))
  return sum % 11 === 0
}

function isISBN13(text: string): boolean {
  const digits = text.replace(/[\s-]/g, '')
  if (!/^\d{13}$/.test(digits)) return false
  let sum = 0
  for (let i = 0; i < 12; i++) sum += Number(digits[i]) * (i % 2 === 0 ? 1 : 3)
  return (10 - (sum % 10)) % 10 === Number(digits[12])
}

const nanosPerUnit = new Map<string, bigint>([
  ['ns', 1n],
  ['us', 1_000n],
  ['µs', 1_000n],
  ['μs', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
])
/** Words people write (`3 hours`), each by its shortest form; a longer word counts when it begins with the last one. */
const wordsOfUnits: readonly (readonly [readonly string[], bigint])[] = [
  [['ns', 'nano'], 1n],
  [['us', 'µs', 'micro'], 1_000n],
  [['ms', 'milli'], 1_000_000n],
  [['s', 'sec'], 1_000_000_000n],
  [['m', 'min'], 60_000_000_000n],
  [['h', 'hr', 'hour'], 3_600_000_000_000n],
  [['d', 'day'], 86_400_000_000_000n],
  [['w', 'wk', 'week'], 604_800_000_000_000n],
]

/** Nanoseconds, or undefined when the text is no duration. Go's form first, then a number with a unit in words. */
export function parseDuration(text: string): bigint | undefined {
  return parseGoDuration(text) ?? parseWordyDuration(text)
}

function parseGoDuration(text: string): bigint | undefined {
  const isNegative = text.startsWith('-')
  let rest = isNegative || text.startsWith('+') ? text.slice(1) : text
  if (rest === '0') return 0n
  if (rest === '') return undefined
  let total = 0n
  while (rest !== '') {
    const step = /^(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/.exec(rest)
    if (step === null) return undefined
    const [whole = '', fraction = '', unit = ''] = step.slice(1)
    if (whole === '' && fraction === '') return undefined
    const nanos = nanosPerUnit.get(unit) ?? 1n
    const digits = fraction.slice(0, 18)
    total +=
      BigInt(whole === '' ? 0 : whole) * nanos +
      (BigInt(digits === '' ? 0 : digits) * nanos) / 10n ** BigInt(digits.length)
    rest = rest.slice(step[0].length)
  }
  if (total > 9_223_372_036_854_775_807n) return undefined
  return isNegative ? -total : total
}

function parseWordyDuration(text: string): bigint | undefined {
  let total: bigint | undefined
  for (const [, amount = '', word = ''] of text.matchAll(/(\d+)\s*([A-Za-zµ]+)/g)) {
    if (amount.length > 19) return undefined
    const unit = word.toLowerCase()
    for (const [words, nanos] of wordsOfUnits) {
      const last = words.at(-1) ?? ''
      if (words.includes(unit) || unit.startsWith(last)) total = (total ?? 0n) + BigInt(amount) * nanos
    }
  }
  return total
}
