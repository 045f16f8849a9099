// Amounts as Kubernetes writes them: `500m`, `1Gi`, `2e3`. Equal amounts have one canonical text, and every object that
// is read back shows that one: `0.5` comes back as `500m`, `1024Mi` as `1Gi`.

const pattern = /^([+-]?)(\d*)(?:\.(\d*))?(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?$/
const decimalSuffixes = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const digitsMax = 64
const exponentMax = 64
const nano = 1_000_000_000n

export interface Quantity {
  /** The amount in billionths, rounded away from zero: nothing smaller is kept. */
  readonly nanos: bigint
  readonly format: 'decimal' | 'exponent' | 'binary'
}

export function parseQuantity(text: string): Quantity | undefined {
  if (text.length > digitsMax * 2) return undefined
  const match = pattern.exec(text)
  if (match === null) return undefined
  const [, sign = '', whole = '', fraction = '', exponent, suffix = ''] = match
  if (whole === '' && fraction === '') return undefined
  const digits = BigInt(`${whole}${fraction}`)
  const power = exponent === undefined ? 0 : Number(exponent.slice(1))
  if (Math.abs(power) > exponentMax) return undefined
  const binary = binarySuffixes.indexOf(suffix)
  const isBinary = suffix !== '' && binary > 0
  const decimal = isBinary || suffix === '' ? power : (decimalSuffixes.indexOf(suffix) - 3) * 3
  const scaled = digits * (isBinary ? 1024n ** BigInt(binary) : 1n)
  const nanos = shift(scaled, decimal + 9 - fraction.length)
  const format = isBinary ? 'binary' : exponent === undefined ? 'decimal' : 'exponent'
  return { nanos: sign === '-' ? -nanos : nanos, format }
}

/** Times a power of ten, rounded up. */
function shift(value: bigint, power: number): bigint {
  if (power >= 0) return value * 10n ** BigInt(power)
  const divisor = 10n ** BigInt(-power)
  return (value + divisor - 1n) / divisor
}

export function formatQuantity({ nanos, format }: Quantity): string {
  if (nanos === 0n) return '0'
  const sign = nanos < 0n ? '-' : ''
  const amount = nanos < 0n ? -nanos : nanos
  if (format === 'binary' && amount >= 1024n * nano && amount % nano === 0n) return sign + inBinary(amount / nano)
  let rest = amount
  let step = 0
  // Below a thousand of one unit is told in the next smaller one; suffixes end at E, so the last step keeps the rest.
  while (rest % 1000n === 0n && (format === 'exponent' || step < decimalSuffixes.length - 1)) {
    rest /= 1000n
    step++
  }
  if (format !== 'exponent') return `${sign}${rest}${decimalSuffixes[step] ?? ''}`
  const exponent = (step - 3) * 3
  return exponent === 0 ? `${sign}${rest}` : `${sign}${rest}e${exponent}`
}

function inBinary(amount: bigint): string {
  let rest = amount
  let step = 0
  while (rest % 1024n === 0n && step < binarySuffixes.length - 1) {
    rest /= 1024n
    step++
  }
  return `${rest}${binarySuffixes[step] ?? ''}`
}

/** The amount in a field, which may be written as a text or as a number. */
export function toQuantity(value: unknown): Quantity | undefined {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint') return undefined
  return parseQuantity(String(value).trim())
}

/** The one text of an amount; a text or number that is no amount stays as it is and is refused by the checks. */
export function canonicalQuantity(value: unknown): unknown {
  const quantity = toQuantity(value)
  return quantity === undefined ? value : formatQuantity(quantity)
}

const milli = 1_000_000n

/** Resources are counted in thousandths: anything finer is rounded up. */
export function roundUpToMilli(value: unknown): unknown {
  const quantity = toQuantity(value)
  if (quantity === undefined || quantity.nanos <= 0n || quantity.nanos % milli === 0n) return value
  return formatQuantity({ ...quantity, nanos: (quantity.nanos / milli + 1n) * milli })
}
