// Strings as Kubernetes' CEL has them. Positions count code points, patterns are RE2. Functions that the engine already
// has with another meaning live here under a prefix; `program.ts` sends calls to them.

import { compilePattern, type Pattern } from '../../schema/pattern.ts'
import { boundChars, define, defineNamespace, fail, type Library, toArray } from './library.ts'

/** Methods whose meaning here replaces the engine's. */
export const replacedMethods: ReadonlySet<string> = new Set([
  'matches',
  'indexOf',
  'lastIndexOf',
  'substring',
  'lowerAscii',
  'upperAscii',
  'split',
  'join',
  'trim',
])
export const replacedPrefix = 'k8s_'

type Texts = readonly string[] | ReadonlySet<string>

export const strings: Library = environment => {
  const add = <T extends readonly unknown[]>(signature: string, handler: (...args: T) => unknown) =>
    define(environment, signature, handler)

  add('string.k8s_matches(string): bool', (text: string, source: string) => pattern(source).test(text))
  add('matches(string, string): bool', (text: string, source: string) => pattern(source).test(text))
  add('string.find(string): string', (text: string, source: string) => pattern(source).find(text) ?? '')
  add('string.findAll(string): list<string>', (text: string, source: string) => pattern(source).findAll(text, -1))
  add('string.findAll(string, int): list<string>', (text: string, source: string, limit: bigint) =>
    pattern(source).findAll(text, Number(limit)),
  )

  add('string.charAt(int): string', (text: string, at: bigint) => {
    const points = Array.from(text)
    return points[within(at, points.length)] ?? ''
  })
  add('string.k8s_indexOf(string): int', (text: string, part: string) => indexOf(text, part, 0n))
  add('string.k8s_indexOf(string, int): int', indexOf)
  add('string.k8s_lastIndexOf(string): int', (text: string, part: string) => lastIndexOf(text, part, undefined))
  add('string.k8s_lastIndexOf(string, int): int', lastIndexOf)
  add('string.k8s_substring(int): string', (text: string, start: bigint) => substring(text, start, undefined))
  add('string.k8s_substring(int, int): string', substring)
  add('string.k8s_lowerAscii(): string', (text: string) => text.replace(/[A-Z]+/g, part => part.toLowerCase()))
  add('string.k8s_upperAscii(): string', (text: string) => text.replace(/[a-z]+/g, part => part.toUpperCase()))
  add('string.k8s_trim(): string', (text: string) => text.trim())
  add('string.reverse(): string', (text: string) => Array.from(text).reverse().join(''))
  add('string.replace(string, string): string', (text: string, from: string, to: string) =>
    replace(text, from, to, -1n),
  )
  add('string.replace(string, string, int): string', replace)
  add('string.k8s_split(string): list<string>', (text: string, by: string) => split(text, by, -1n))
  add('string.k8s_split(string, int): list<string>', split)
  add('list<string>.k8s_join(): string', (list: Texts) => join(list, ''))
  add('list<string>.k8s_join(string): string', join)
  defineNamespace(environment, 'strings', 'StringsNamespace')
  add('StringsNamespace.quote(string): string', (_: unknown, text: string) => JSON.stringify(text))
  add('string.format(list): string', (text: string, args: readonly unknown[]) => format(text, args))
}

function pattern(source: string): Pattern {
  try {
    return compilePattern(source)
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error))
  }
}

function within(at: bigint, length: number): number {
  if (at < 0n || at > BigInt(length)) fail(`index out of range: ${at}`)
  return Number(at)
}

function indexOf(text: string, part: string, from: bigint): bigint {
  const points = Array.from(text)
  if (from < 0n) return fail(`index out of range: ${from}`)
  if (part === '') return from
  if (from >= BigInt(points.length)) return -1n
  const start = Number(from)
  const found = points.slice(start).join('').indexOf(part)
  if (found < 0) return -1n
  return BigInt(start + Array.from(points.slice(start).join('').slice(0, found)).length)
}

function lastIndexOf(text: string, part: string, from: bigint | undefined): bigint {
  const points = Array.from(text)
  if (from !== undefined && from < 0n) return fail(`index out of range: ${from}`)
  if (from !== undefined && from >= BigInt(points.length)) return -1n
  const last = from === undefined ? points.length : Number(from)
  if (part === '') return BigInt(last)
  const units = points.slice(0, last).join('').length
  const found = text.lastIndexOf(part, units)
  return found < 0 ? -1n : BigInt(Array.from(text.slice(0, found)).length)
}

function substring(text: string, start: bigint, end: bigint | undefined): string {
  const points = Array.from(text)
  const from = within(start, points.length)
  const to = end === undefined ? points.length : within(end, points.length)
  if (from > to) fail(`invalid substring range. start: ${from}, end: ${to}`)
  return points.slice(from, to).join('')
}

function split(text: string, by: string, limit: bigint): string[] {
  if (limit === 0n) return []
  const parts = by === '' ? Array.from(text) : text.split(by)
  const most = Number(limit)
  if (most < 0 || parts.length <= most) return parts
  return [...parts.slice(0, most - 1), parts.slice(most - 1).join(by)]
}

function replace(text: string, from: string, to: string, limit: bigint): string {
  const pieces = from === '' ? ['', ...Array.from(text), ''] : text.split(from)
  const times = limit < 0n ? pieces.length - 1 : Math.min(Number(limit), pieces.length - 1)
  boundChars(text.length + times * to.length)
  return (
    pieces.slice(0, times + 1).join(to) +
    pieces
      .slice(times + 1)
      .map(piece => from + piece)
      .join('')
  )
}

function join(list: Texts, by: string): string {
  const texts = toArray(list)
  boundChars(texts.reduce((sum, text) => sum + text.length + by.length, 0))
  return texts.join(by)
}

/** printf with %s %d %f %e %b %x %X %o %%. */
function format(text: string, args: readonly unknown[]): string {
  let next = 0
  const made = text.replace(/%(?:\.(\d{1,2}))?([sdfebxXo%])/g, (_, precision: string | undefined, verb: string) => {
    if (verb === '%') return '%'
    if (next >= args.length) fail(`index ${next} out of range`)
    return formatOne(args[next++], verb, precision === undefined ? 6 : Number(precision))
  })
  boundChars(made.length)
  return made
}

function formatOne(value: unknown, verb: string, precision: number): string {
  switch (verb) {
    case 's':
      return toText(value)
    case 'd':
      return typeof value === 'bigint' ? value.toString() : fail('decimal clause can only be used on integers')
    case 'f':
      return Number(value).toFixed(precision)
    case 'e':
      return scientific(Number(value))
    default:
      return radix(value, verb)
  }
}

/** `1.5e3` as the API server writes it: six digits whatever was asked, a times sign and a raised exponent. */
function scientific(value: number): string {
  const [mantissa = '', exponent = ''] = value.toExponential(6).split('e')
  const digits = exponent.slice(1).padStart(2, '0')
  const raised = Array.from(digits, digit => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(digit)]).join('')
  return `${mantissa}×10${exponent.startsWith('-') ? '⁻' : ''}${raised}`
}

function radix(value: unknown, verb: string): string {
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (typeof value === 'string') return Buffer.from(value).toString('hex')
  if (typeof value !== 'bigint') return fail(`clause %${verb} cannot be used on this type`)
  const text = value.toString(verb === 'b' ? 2 : verb === 'o' ? 8 : 16)
  return verb === 'X' ? text.toUpperCase() : text
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value instanceof Date) return value.toISOString().replace(/\.000Z$/, 'Z')
  if (Array.isArray(value) || value instanceof Set) return `[${toArray(value).map(toText).join(', ')}]`
  if (value instanceof Map) return `{${[...value].map(([key, item]) => `${toText(key)}: ${toText(item)}`).join(', ')}}`
  return String(value)
}
