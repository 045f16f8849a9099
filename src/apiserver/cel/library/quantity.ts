// Resource quantities (`100m`, `1.5Gi`) and versions (`1.2.3`). A quantity is exact to a billionth, rounded up beyond,
// as Kubernetes keeps it.

import { define, defineType, fail, type Library } from './library.ts'

const nano = 1_000_000_000n

class Quantity {
  readonly nanos: bigint

  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

const decimalPower = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
])
const binaryPower = new Map([
  ['Ki', 10n],
  ['Mi', 20n],
  ['Gi', 30n],
  ['Ti', 40n],
  ['Pi', 50n],
  ['Ei', 60n],
])

/** Billionths, or undefined when the text is no quantity. */
function parseQuantity(text: string): bigint | undefined {
  const parts = /^([+-]?)(\d*)(?:\.(\d*))?([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d{1,3})?$/.exec(text)
  if (parts === null || text.length > 200) return undefined
  const [sign = '', whole = '', fraction = '', suffix = ''] = parts.slice(1)
  if (whole === '' && fraction === '') return undefined
  const digits = BigInt(`${whole}${fraction}` === '' ? 0 : `${whole}${fraction}`)
  const power = binaryPower.get(suffix)
  const exponent = power === undefined ? (decimalPower.get(suffix) ?? Number(suffix.slice(1))) : 0
  const scaled = (power === undefined ? digits : digits << power) * nano
  const shift = exponent - fraction.length
  const size = shift >= 0 ? scaled * 10n ** BigInt(shift) : divideUp(scaled, 10n ** BigInt(-shift))
  return sign === '-' ? -size : size
}

function divideUp(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by
}

const int64Max = 9_223_372_036_854_775_807n

function isInteger({ nanos }: Quantity): boolean {
  const value = nanos / nano
  return nanos % nano === 0n && value <= int64Max && value >= -int64Max - 1n
}

const sign = (value: bigint): bigint => (value > 0n ? 1n : value < 0n ? -1n : 0n)

export const quantities: Library = environment => {
  const add = <T extends readonly unknown[]>(signature: string, handler: (...args: T) => unknown) =>
    define(environment, signature, handler)
  const type = 'kubernetes.Quantity'
  defineType(environment, type, Quantity, (a, b) => a.nanos === b.nanos)
  add('isQuantity(string): bool', (text: string) => parseQuantity(text) !== undefined)
  add(`quantity(string): ${type}`, (text: string) => {
    const nanos = parseQuantity(text)
    if (nanos !== undefined) return new Quantity(nanos)
    return fail("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
  })
  add(`sign(${type}): int`, ({ nanos }: Quantity) => sign(nanos))
  add(`${type}.sign(): int`, ({ nanos }: Quantity) => sign(nanos))
  add(`${type}.isGreaterThan(${type}): bool`, (a: Quantity, b: Quantity) => a.nanos > b.nanos)
  add(`${type}.isLessThan(${type}): bool`, (a: Quantity, b: Quantity) => a.nanos < b.nanos)
  add(`${type}.compareTo(${type}): int`, (a: Quantity, b: Quantity) => sign(a.nanos - b.nanos))
  add(`${type}.asApproximateFloat(): double`, ({ nanos }: Quantity) => Number(nanos) / 1e9)
  add(`${type}.asInteger(): int`, (value: Quantity) =>
    isInteger(value) ? value.nanos / nano : fail('cannot convert value to integer'),
  )
  add(`${type}.isInteger(): bool`, isInteger)
  add(`${type}.add(${type}): ${type}`, (a: Quantity, b: Quantity) => new Quantity(a.nanos + b.nanos))
  add(`${type}.add(int): ${type}`, (a: Quantity, b: bigint) => new Quantity(a.nanos + b * nano))
  add(`${type}.sub(${type}): ${type}`, (a: Quantity, b: Quantity) => new Quantity(a.nanos - b.nanos))
  add(`${type}.sub(int): ${type}`, (a: Quantity, b: bigint) => new Quantity(a.nanos - b * nano))
}

class Version {
  readonly numbers: readonly bigint[]
  readonly pre: readonly string[]

  constructor(numbers: readonly bigint[], pre: readonly string[]) {
    this.numbers = numbers
    this.pre = pre
  }
}

function parseVersion(text: string, isLenient: boolean): Version | undefined {
  const written = isLenient ? lenient(text) : text
  const parts =
    /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/.exec(
      written,
    )
  if (parts === null || text.length > 256) return undefined
  const pre = parts[4] === undefined ? [] : parts[4].split('.')
  if (pre.some(part => /^0\d+$/.test(part))) return undefined
  return new Version(
    [parts[1], parts[2], parts[3]].map(part => BigInt(part ?? 0)),
    pre,
  )
}

/** `v1.2` is read as `1.2.0`, and leading zeros go. */
function lenient(text: string): string {
  const [, numbers = '', rest = ''] = /^v?([\d.]*)(.*)$/s.exec(text.trim()) ?? []
  const parts = numbers.split('.').map(part => part.replace(/^0+(?=\d)/, ''))
  while (parts.length < 3 && numbers !== '') parts.push('0')
  return parts.join('.') + rest
}

function compareVersions(a: Version, b: Version): bigint {
  for (const [i, number] of a.numbers.entries()) {
    const other = b.numbers[i] ?? 0n
    if (number !== other) return sign(number - other)
  }
  if (a.pre.length === 0 || b.pre.length === 0) return sign(BigInt(b.pre.length) - BigInt(a.pre.length))
  for (const [i, part] of a.pre.entries()) {
    const other = b.pre[i]
    if (other === undefined) return 1n
    const order = comparePre(part, other)
    if (order !== 0n) return order
  }
  return a.pre.length < b.pre.length ? -1n : 0n
}

function comparePre(a: string, b: string): bigint {
  const [isNumberA, isNumberB] = [/^\d+$/.test(a), /^\d+$/.test(b)]
  if (isNumberA && isNumberB) return sign(BigInt(a) - BigInt(b))
  if (isNumberA !== isNumberB) return isNumberA ? -1n : 1n
  return a < b ? -1n : a > b ? 1n : 0n
}

export const versions: Library = environment => {
  const add = <T extends readonly unknown[]>(signature: string, handler: (...args: T) => unknown) =>
    define(environment, signature, handler)
  const type = 'kubernetes.Semver'
  const toVersion = (text: string, isLenient: boolean): Version =>
    parseVersion(text, isLenient) ?? fail(`invalid semver: ${text}`)
  defineType(environment, type, Version, (a, b) => compareVersions(a, b) === 0n)
  add('isSemver(string): bool', (text: string) => parseVersion(text, false) !== undefined)
  add('isSemver(string, bool): bool', (text: string, isLenient: boolean) => parseVersion(text, isLenient) !== undefined)
  add(`semver(string): ${type}`, (text: string) => toVersion(text, false))
  add(`semver(string, bool): ${type}`, toVersion)
  add(`${type}.isGreaterThan(${type}): bool`, (a: Version, b: Version) => compareVersions(a, b) > 0n)
  add(`${type}.isLessThan(${type}): bool`, (a: Version, b: Version) => compareVersions(a, b) < 0n)
  add(`${type}.compareTo(${type}): int`, compareVersions)
  for (const [i, part] of ['major', 'minor', 'patch'].entries()) {
    add(`${type}.${part}(): int`, ({ numbers }: Version) => numbers[i] ?? 0n)
  }
}
