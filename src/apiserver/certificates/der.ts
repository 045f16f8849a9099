// DER, as much of it as an X.509 certificate needs: a writer that can only produce the one canonical form, and a reader
// that refuses anything it does not fully understand. Nothing here knows what a certificate is.

export const tag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  teletexString: 0x14,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const

export function node(tagByte: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tagByte]), lengthOf(content.length), content])
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => node(tag.sequence, ...parts)
export const set = (...parts: readonly Uint8Array[]): Buffer => node(tag.set, ...parts)
export const octetString = (content: Uint8Array): Buffer => node(tag.octetString, content)
export const utf8String = (text: string): Buffer => node(tag.utf8String, Buffer.from(text, 'utf8'))
export const boolean = (value: boolean): Buffer => node(tag.boolean, Buffer.from([value ? 0xff : 0x00]))

/** A non-negative integer from big-endian bytes: shortest form, and never mistaken for a negative one. */
export function integer(bytes: Uint8Array): Buffer {
  let start = 0
  while (start < bytes.length - 1 && bytes[start] === 0) start++
  const digits = Buffer.from(bytes.subarray(start))
  const needsSign = (digits[0] ?? 0) >= 0x80
  return node(tag.integer, needsSign ? Buffer.concat([Buffer.from([0]), digits]) : digits)
}

export function bitString(content: Uint8Array, unusedBits = 0): Buffer {
  return node(tag.bitString, Buffer.from([unusedBits]), content)
}

/** Named bits, as key usage has them: DER wants the trailing zero bits left out. */
export function namedBits(...positions: readonly number[]): Buffer {
  const last = Math.max(...positions)
  const bytes = Buffer.alloc((last >> 3) + 1)
  for (const position of positions) bytes[position >> 3] = (bytes[position >> 3] ?? 0) | (0x80 >> (position & 7))
  return bitString(bytes, 7 - (last & 7))
}

export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = [first * 40 + second, ...rest].flatMap(base128)
  return node(tag.objectIdentifier, Buffer.from(bytes))
}

/** Years to 2049 have two digits, later ones four: the rule of RFC 5280 for certificate validity. */
export function time(date: Date): Buffer {
  const digits = date
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replace(/[-:T]/g, '')
  if (date.getUTCFullYear() < 2050) return node(tag.utcTime, Buffer.from(digits.slice(2), 'ascii'))
  return node(tag.generalizedTime, Buffer.from(digits, 'ascii'))
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length])
  const bytes: number[] = []
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256)
  return Buffer.from([0x80 | bytes.length, ...bytes])
}

function base128(value: number): number[] {
  const bytes = [value % 128]
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift(0x80 | (rest % 128))
  return bytes
}

export interface Node {
  readonly tag: number
  readonly content: Buffer
  /** Tag, length and content together. */
  readonly whole: Buffer
}

export class MalformedDER extends Error {
  override readonly name = 'MalformedDER'
}

/** The nodes that stand one after another in `bytes`, to its very end. */
export function readAll(bytes: Buffer): Node[] {
  const nodes: Node[] = []
  for (let at = 0; at < bytes.length; ) {
    const next = readAt(bytes, at)
    nodes.push(next)
    at += next.whole.length
  }
  return nodes
}

function readAt(bytes: Buffer, start: number): Node {
  const tagByte = bytes[start]
  const short = bytes[start + 1]
  if (tagByte === undefined || short === undefined) throw new MalformedDER('the data ends inside a header')
  if ((tagByte & 0x1f) === 0x1f) throw new MalformedDER('tags of more than one byte are not understood')
  const lengthBytes = short < 0x80 ? 0 : short & 0x7f
  if (short === 0x80 || lengthBytes > 4) throw new MalformedDER('the length of a node is not understood')
  const header = 2 + lengthBytes
  if (start + header > bytes.length) throw new MalformedDER('the data ends inside a header')
  const length = lengthBytes === 0 ? short : bytes.readUIntBE(start + 2, lengthBytes)
  const end = start + header + length
  if (end > bytes.length) throw new MalformedDER('the data ends inside a node')
  return { tag: tagByte, content: bytes.subarray(start + header, end), whole: bytes.subarray(start, end) }
}

export function readObjectIdentifier(content: Buffer): string {
  const numbers: number[] = []
  let value = 0
  for (const byte of content) {
    value = value * 128 + (byte & 0x7f)
    if (byte & 0x80) continue
    numbers.push(value)
    value = 0
  }
  const [head = 0, ...rest] = numbers
  const first = Math.min(2, Math.floor(head / 40))
  return [first, head - first * 40, ...rest].join('.')
}

/** Text of the string types a distinguished name may use; undefined for a type that holds no text we can read. */
export function readText(found: Node): string | undefined {
  switch (found.tag) {
    case tag.utf8String:
      return found.content.toString('utf8')
    case tag.printableString:
    case tag.ia5String:
    case tag.teletexString:
      return found.content.toString('latin1')
    default:
      return undefined
  }
}
