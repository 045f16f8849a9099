// Kubernetes' protobuf: four magic bytes, an envelope with apiVersion and kind, and the object inside. Reading and
// writing follow the type tables, so there is no generated code; every length is checked against what is there before
// it is used, and nesting is bounded.

import { parseJSON, stringify } from '../../json.ts'
import { jsonDepthMax } from '../../limits.ts'
import { isObject, type KubeObject, parseAPIVersion, setOwn } from '../object.ts'
import type { Definitions } from '../schema/schema.ts'
import { type Field, type MessageType, messageType, type ValueType } from './message-types.ts'
import { settlePresence } from './presence.ts'
import { zeroScalar } from './zero.ts'

/** The bytes are not what a Kubernetes client would send. */
export class ProtobufError extends Error {
  override readonly name = 'ProtobufError'
}

const magic = Buffer.from('k8s\0', 'latin1')
const deleteOptions = 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions'

/** Reads an enveloped object of any kind the definitions know; fields appear as they do in Kubernetes' JSON. */
export function decodeProtobuf(bytes: Buffer, definitions: Definitions): KubeObject {
  if (bytes.length === 0) throw new ProtobufError('empty data')
  if (!bytes.subarray(0, magic.length).equals(magic)) {
    const expected = `[${[...magic].join(' ')}]`
    throw new ProtobufError(`provided data does not appear to be a protobuf message, expected prefix ${expected}`)
  }
  if (bytes.length === magic.length) throw new ProtobufError('empty body')
  const { apiVersion, kind, raw } = readEnvelope(bytes.subarray(magic.length))
  if (kind === '') throw new ProtobufError("Object 'Kind' is missing")
  if (apiVersion === '') throw new ProtobufError("Object 'apiVersion' is missing")
  const type = typeOfKind(apiVersion, kind, definitions)
  if (type === undefined) throw new ProtobufError(`no kind "${kind}" is registered for version "${apiVersion}"`)
  const object: Record<string, unknown> = { apiVersion, kind }
  readMessage(new Reader(raw), type, object, 0)
  settlePresence(object, type)
  return object as KubeObject
}

/** The answer to a client that accepts only protobuf. Undefined when the kind has no type. */
export function encodeProtobuf(object: KubeObject, definitions: Definitions): Buffer | undefined {
  const type = typeOfKind(object.apiVersion, object.kind, definitions)
  if (type === undefined) return undefined
  const envelope = new Writer()
  envelope.bytes(1, new Writer().text(1, object.apiVersion).text(2, object.kind).done())
  envelope.bytes(2, messageBytes(object, type))
  envelope.text(3, '')
  envelope.text(4, '')
  return Buffer.concat([magic, envelope.done()])
}

/** One event of a protobuf watch: its length in four bytes, then type and enveloped object. */
export function encodeWatchFrame(eventType: string, object: Buffer): Buffer {
  const event = new Writer().text(1, eventType).bytes(2, new Writer().bytes(1, object).done()).done()
  const length = Buffer.alloc(4)
  length.writeUInt32BE(event.length)
  return Buffer.concat([length, event])
}

/** Views of objects (`PartialObjectMetadata`) are kinds of a group that has no resources. */
function metaType(group: string, kind: string): string | undefined {
  return group === 'meta.k8s.io' ? `io.k8s.apimachinery.pkg.apis.meta.v1.${kind}` : undefined
}

const kindIndexes = new WeakMap<Definitions, Map<string, string>>()

function typeOfKind(apiVersion: string, kind: string, definitions: Definitions): MessageType | undefined {
  let index = kindIndexes.get(definitions)
  if (index === undefined) {
    index = new Map()
    for (const [name, schema] of Object.entries(definitions)) {
      for (const gvk of schema['x-kubernetes-group-version-kind'] ?? []) {
        index.set(`${gvk.group}/${gvk.version}/${gvk.kind}`, name)
      }
    }
    kindIndexes.set(definitions, index)
  }
  const { group, version } = parseAPIVersion(apiVersion)
  // Clients name DeleteOptions after the group of what they delete, custom groups included.
  const name =
    index.get(`${group}/${version}/${kind}`) ?? (kind === 'DeleteOptions' ? deleteOptions : metaType(group, kind))
  return name === undefined ? undefined : messageType(name, definitions)
}

function readEnvelope(bytes: Buffer): { apiVersion: string; kind: string; raw: Buffer } {
  const envelope: { apiVersion: string; kind: string; raw: Buffer } = { apiVersion: '', kind: '', raw: Buffer.alloc(0) }
  const reader = new Reader(bytes)
  for (let tag = reader.tag(); tag !== undefined; tag = reader.tag()) {
    if (tag.field === 1) readTypeMeta(new Reader(reader.lengthDelimited(tag)), envelope)
    else if (tag.field === 2) envelope.raw = reader.lengthDelimited(tag)
    else reader.skip(tag)
  }
  return envelope
}

function readTypeMeta(reader: Reader, envelope: { apiVersion: string; kind: string }): void {
  for (let tag = reader.tag(); tag !== undefined; tag = reader.tag()) {
    if (tag.field === 1) envelope.apiVersion = reader.lengthDelimited(tag).toString('utf8')
    else if (tag.field === 2) envelope.kind = reader.lengthDelimited(tag).toString('utf8')
    else reader.skip(tag)
  }
}

// Reading

function readMessage(reader: Reader, type: MessageType, into: Record<string, unknown>, depth: number): void {
  if (depth > jsonDepthMax) throw new ProtobufError('exceeded max depth')
  for (let tag = reader.tag(); tag !== undefined; tag = reader.tag()) {
    const field = type.byNumber.get(tag.field)
    if (field !== undefined) {
      readField(reader, tag, field, into, depth)
      continue
    }
    const inner = type.inlined.get(tag.field)
    if (inner !== undefined) readMessage(new Reader(reader.lengthDelimited(tag)), inner, into, depth + 1)
    else reader.skip(tag)
  }
}

function readField(reader: Reader, tag: Tag, field: Field, into: Record<string, unknown>, depth: number): void {
  const { type, name } = field
  const before = Object.hasOwn(into, name) ? into[name] : undefined
  if (type.is === 'list') {
    const list = Array.isArray(before) ? before : []
    readItems(reader, tag, type.of, list, depth)
    into[name] = list
    return
  }
  if (type.is === 'map') {
    const map = isObject(before) ? before : {}
    readEntry(new Reader(reader.lengthDelimited(tag)), type.of, map, depth)
    into[name] = map
    return
  }
  into[name] = readValue(reader, tag, type, before, depth)
}

function readItems(reader: Reader, tag: Tag, type: ValueType, list: unknown[], depth: number): void {
  const isPacked = tag.wire === lengthWire && (type.is === 'integer' || type.is === 'boolean' || type.is === 'double')
  if (!isPacked) {
    list.push(readValue(reader, tag, type, undefined, depth))
    return
  }
  const packed = new Reader(reader.lengthDelimited(tag))
  const item: Tag = { field: tag.field, wire: type.is === 'double' ? fixed64Wire : varintWire }
  while (!packed.isAtEnd) list.push(readValue(packed, item, type, undefined, depth))
}

function readEntry(reader: Reader, type: ValueType, map: Record<string, unknown>, depth: number): void {
  let key = ''
  let value: unknown
  for (let tag = reader.tag(); tag !== undefined; tag = reader.tag()) {
    if (tag.field === 1) key = reader.lengthDelimited(tag).toString('utf8')
    else if (tag.field === 2) value = readValue(reader, tag, type, undefined, depth)
    else reader.skip(tag)
  }
  setOwn(map, key, value ?? emptyValue(type))
}

/** A map entry whose value was left out, which is how protobuf writes one that is empty. */
function emptyValue(type: ValueType): unknown {
  switch (type.is) {
    case 'bytes':
      return ''
    case 'list':
    case 'boxed':
      return []
    case 'message':
    case 'map':
      return {}
    default:
      return zeroScalar(type) ?? null
  }
}

function readValue(reader: Reader, tag: Tag, type: ValueType, before: unknown, depth: number): unknown {
  switch (type.is) {
    case 'string':
      return reader.lengthDelimited(tag).toString('utf8')
    case 'bytes':
      return reader.lengthDelimited(tag).toString('base64')
    case 'integer':
      return reader.integer(tag)
    case 'boolean':
      return reader.integer(tag) !== 0
    case 'double':
      return reader.double(tag)
    case 'message': {
      const object = isObject(before) ? before : {}
      readMessage(new Reader(reader.lengthDelimited(tag)), type.message, object, depth + 1)
      return object
    }
    case 'boxed': {
      const list: unknown[] = Array.isArray(before) ? before : []
      const inner = new Reader(reader.lengthDelimited(tag))
      for (let item = inner.tag(); item !== undefined; item = inner.tag()) {
        if (item.field === 1) readItems(inner, item, type.of, list, depth + 1)
        else inner.skip(item)
      }
      return list
    }
    case 'list':
    case 'map':
      throw new ProtobufError('a list or a map inside a list or a map has no protobuf form')
    case 'time':
    case 'microTime':
      return readTime(new Reader(reader.lengthDelimited(tag)), type.is)
    case 'quantity':
      return (
        readTexts(new Reader(reader.lengthDelimited(tag)))
          .get(1)
          ?.toString('utf8') ?? '0'
      )
    case 'intOrString':
      return readIntOrString(new Reader(reader.lengthDelimited(tag)))
    case 'raw':
      return readRaw(new Reader(reader.lengthDelimited(tag)))
    case 'schemaOrList':
    case 'schemaOrBoolean':
    case 'schemaOrNames':
      return readChoice(new Reader(reader.lengthDelimited(tag)), type, depth)
  }
}

/** Seconds since 1970, and nanoseconds where JSON shows microseconds. An empty message is no time at all. */
function readTime(reader: Reader, precision: 'time' | 'microTime'): string | null {
  if (reader.isAtEnd) return null
  const numbers = readNumbers(reader)
  const seconds = Number(numbers.get(1) ?? 0n)
  const date = new Date(seconds * 1000)
  const year = date.getUTCFullYear()
  if (Number.isNaN(year) || year < 0 || year > 9999) throw new ProtobufError('a time lies outside the years 0 to 9999')
  const whole = date.toISOString().slice(0, 19)
  if (precision === 'time') return `${whole}Z`
  const nanos = Number(BigInt.asIntN(32, numbers.get(2) ?? 0n))
  if (nanos < 0 || nanos > 999_999_999) throw new ProtobufError('a time has more than a second of nanoseconds')
  return `${whole}.${String(Math.floor(nanos / 1000)).padStart(6, '0')}Z`
}

function readIntOrString(reader: Reader): number | string {
  let isText = false
  let number = 0
  let text = ''
  for (let tag = reader.tag(); tag !== undefined; tag = reader.tag()) {
    if (tag.field === 1) isText = reader.integer(tag) !== 0
    else if (tag.field === 2) number = Number(reader.integer(tag))
    else if (tag.field === 3) text = reader.lengthDelimited(tag).toString('utf8')
    else reader.skip(tag)
  }
  return isText ? text : number
}

/** JSON inside protobuf; nothing inside is JSON's null. */
function readRaw(reader: Reader): unknown {
  const raw = readTexts(reader).get(1)
  if (raw === undefined || raw.length === 0) return null
  try {
    return parseJSON(raw.toString('utf8')).value
  } catch (error) {
    throw new ProtobufError('a field that holds JSON holds something else', { cause: error })
  }
}

type Choice = Extract<ValueType, { is: 'schemaOrList' | 'schemaOrBoolean' | 'schemaOrNames' }>

function readChoice(reader: Reader, type: Choice, depth: number): unknown {
  const schemaField = type.is === 'schemaOrBoolean' ? 2 : 1
  let schema: Record<string, unknown> | undefined
  let isAllowed = false
  const items: unknown[] = []
  for (let tag = reader.tag(); tag !== undefined; tag = reader.tag()) {
    if (tag.field === schemaField) {
      schema ??= {}
      readMessage(new Reader(reader.lengthDelimited(tag)), type.message, schema, depth + 1)
    } else if (tag.field === 1) {
      isAllowed = reader.integer(tag) !== 0
    } else if (tag.field !== 2) {
      reader.skip(tag)
    } else if (type.is === 'schemaOrNames') {
      items.push(reader.lengthDelimited(tag).toString('utf8'))
    } else {
      const item = {}
      readMessage(new Reader(reader.lengthDelimited(tag)), type.message, item, depth + 1)
      items.push(item)
    }
  }
  if (type.is === 'schemaOrBoolean') return schema ?? isAllowed
  return items.length > 0 ? items : (schema ?? null)
}

function readNumbers(reader: Reader): Map<number, bigint> {
  const numbers = new Map<number, bigint>()
  for (let tag = reader.tag(); tag !== undefined; tag = reader.tag()) {
    if (tag.wire === varintWire) numbers.set(tag.field, BigInt(reader.integer(tag)))
    else reader.skip(tag)
  }
  return numbers
}

function readTexts(reader: Reader): Map<number, Buffer> {
  const texts = new Map<number, Buffer>()
  for (let tag = reader.tag(); tag !== undefined; tag = reader.tag()) {
    if (tag.wire === lengthWire) texts.set(tag.field, reader.lengthDelimited(tag))
    else reader.skip(tag)
  }
  return texts
}

// Writing

function messageBytes(object: Record<string, unknown>, type: MessageType): Buffer {
  const writer = new Writer()
  for (const [number, inner] of type.inlined) writer.bytes(number, messageBytes(object, inner))
  for (const field of type.fields) {
    const value = field.number !== undefined && Object.hasOwn(object, field.name) ? object[field.name] : undefined
    if (field.number !== undefined && value !== undefined && value !== null) {
      writeField(writer, field.number, value, field.type)
    }
  }
  return writer.done()
}

function writeField(writer: Writer, number: number, value: unknown, type: ValueType): void {
  if (type.is === 'list') {
    for (const item of Array.isArray(value) ? value : []) writeValue(writer, number, item, type.of)
    return
  }
  if (type.is === 'map') {
    for (const [key, item] of Object.entries(isObject(value) ? value : {})) {
      const entry = new Writer().text(1, key)
      writeValue(entry, 2, item, type.of)
      writer.bytes(number, entry.done())
    }
    return
  }
  writeValue(writer, number, value, type)
}

function writeValue(writer: Writer, number: number, value: unknown, type: ValueType): void {
  switch (type.is) {
    case 'string':
      writer.text(number, String(value))
      return
    case 'bytes':
      writer.bytes(number, Buffer.from(String(value), 'base64'))
      return
    case 'integer':
      writer.integer(number, toInteger(value))
      return
    case 'boolean':
      writer.integer(number, value === true ? 1n : 0n)
      return
    case 'double':
      writer.double(number, Number(value))
      return
    case 'message':
      writer.bytes(number, messageBytes(isObject(value) ? value : {}, type.message))
      return
    case 'boxed': {
      const box = new Writer()
      writeField(box, 1, value, { is: 'list', of: type.of })
      writer.bytes(number, box.done())
      return
    }
    case 'list':
    case 'map':
      throw new Error('a list or a map inside a list or a map has no protobuf form')
    case 'time':
    case 'microTime':
      writer.bytes(number, timeBytes(value))
      return
    case 'quantity':
      writer.bytes(number, new Writer().text(1, String(value)).done())
      return
    case 'intOrString':
      writer.bytes(number, intOrStringBytes(value))
      return
    case 'raw':
      writer.bytes(number, new Writer().text(1, stringify(value)).done())
      return
    case 'schemaOrList':
    case 'schemaOrBoolean':
    case 'schemaOrNames':
      writer.bytes(number, choiceBytes(value, type))
      return
  }
}

function toInteger(value: unknown): bigint {
  if (typeof value === 'bigint') return value
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : 0n
}

function timeBytes(value: unknown): Buffer {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
  if (Number.isNaN(ms)) return Buffer.alloc(0)
  const micros = /\.(\d{1,6})/.exec(String(value))?.[1]?.padEnd(6, '0') ?? '0'
  return new Writer()
    .integer(1, BigInt(Math.floor(ms / 1000)))
    .integer(2, BigInt(micros) * 1000n)
    .done()
}

function intOrStringBytes(value: unknown): Buffer {
  if (typeof value === 'string') return new Writer().integer(1, 1n).integer(2, 0n).text(3, value).done()
  return new Writer().integer(1, 0n).integer(2, toInteger(value)).text(3, '').done()
}

function choiceBytes(value: unknown, type: Choice): Buffer {
  const writer = new Writer()
  if (type.is === 'schemaOrBoolean') {
    writer.integer(1, value === false ? 0n : 1n)
    if (isObject(value)) writer.bytes(2, messageBytes(value, type.message))
  } else if (isObject(value)) {
    writer.bytes(1, messageBytes(value, type.message))
  } else if (Array.isArray(value)) {
    for (const item of value) {
      if (type.is === 'schemaOrNames') writer.text(2, String(item))
      else writer.bytes(2, messageBytes(isObject(item) ? item : {}, type.message))
    }
  }
  return writer.done()
}

class Writer {
  readonly #parts: Buffer[] = []

  text(field: number, text: string): this {
    return this.bytes(field, Buffer.from(text, 'utf8'))
  }

  bytes(field: number, bytes: Buffer): this {
    this.#tag(field, lengthWire)
    this.#varint(BigInt(bytes.length))
    this.#parts.push(bytes)
    return this
  }

  integer(field: number, value: bigint): this {
    this.#tag(field, varintWire)
    this.#varint(BigInt.asUintN(64, value))
    return this
  }

  double(field: number, value: number): this {
    this.#tag(field, fixed64Wire)
    const bytes = Buffer.alloc(8)
    bytes.writeDoubleLE(value)
    this.#parts.push(bytes)
    return this
  }

  done(): Buffer {
    return Buffer.concat(this.#parts)
  }

  #tag(field: number, wire: number): void {
    this.#varint(BigInt(field * 8 + wire))
  }

  #varint(value: bigint): void {
    const bytes: number[] = []
    let rest = value
    for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
    bytes.push(Number(rest))
    this.#parts.push(Buffer.from(bytes))
  }
}

// The wire

const varintWire = 0
const fixed64Wire = 1
const lengthWire = 2
const groupStartWire = 3
const groupEndWire = 4
const fixed32Wire = 5

interface Tag {
  readonly field: number
  readonly wire: number
}

class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  /** The next field's tag; undefined at the end. */
  tag(): Tag | undefined {
    if (this.isAtEnd) return undefined
    const number = this.#varint()
    const field = Number((number >> 3n) & 0x1fff_ffffn)
    const wire = Number(number & 7n)
    if (field === 0) throw new ProtobufError(`proto: illegal tag 0 (wire type ${wire})`)
    return { field, wire }
  }

  /** A signed integer; a bigint when a number cannot hold it. */
  integer(tag: Tag): number | bigint {
    this.#expect(tag, varintWire)
    const first = this.#bytes[this.#at]
    if (first !== undefined && first < 0x80) {
      this.#at++
      return first
    }
    const value = BigInt.asIntN(64, this.#varint())
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : value
  }

  double(tag: Tag): number {
    this.#expect(tag, fixed64Wire)
    return this.#take(8).readDoubleLE(0)
  }

  lengthDelimited(tag: Tag): Buffer {
    this.#expect(tag, lengthWire)
    return this.#take(this.#length())
  }

  skip(tag: Tag): void {
    switch (tag.wire) {
      case varintWire:
        this.#varint()
        return
      case fixed64Wire:
        this.#take(8)
        return
      case lengthWire:
        this.#take(this.#length())
        return
      case fixed32Wire:
        this.#take(4)
        return
      case groupStartWire:
        this.#skipGroup()
        return
      default:
        throw new ProtobufError(`proto: illegal wireType ${tag.wire}`)
    }
  }

  /** Groups may hold groups; counting them needs no recursion. */
  #skipGroup(): void {
    for (let open = 1; open > 0; ) {
      const tag = this.tag()
      if (tag === undefined) throw new ProtobufError('unexpected EOF')
      if (tag.wire === groupStartWire) open++
      else if (tag.wire === groupEndWire) open--
      else this.skip(tag)
    }
  }

  #length(): number {
    const length = this.#varint()
    if (length > BigInt(this.#bytes.length - this.#at)) throw new ProtobufError('unexpected EOF')
    return Number(length)
  }

  #take(count: number): Buffer {
    if (count > this.#bytes.length - this.#at) throw new ProtobufError('unexpected EOF')
    const taken = this.#bytes.subarray(this.#at, this.#at + count)
    this.#at += count
    return taken
  }

  #varint(): bigint {
    let low = 0
    // Up to 28 bits fit arithmetic on small integers; longer ones are rare and go on as bigint.
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte()
      low |= (byte & 0x7f) << shift
      if (byte < 0x80) return BigInt(low)
    }
    let value = BigInt(low)
    for (let shift = 28n; shift < 70n; shift += 7n) {
      const byte = this.#byte()
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asUintN(64, value)
    }
    throw new ProtobufError('proto: integer overflow')
  }

  #byte(): number {
    const byte = this.#bytes[this.#at]
    if (byte === undefined) throw new ProtobufError('unexpected EOF')
    this.#at++
    return byte
  }

  #expect(tag: Tag, wire: number): void {
    if (tag.wire !== wire) throw new ProtobufError(`proto: wrong wireType = ${tag.wire} for field ${tag.field}`)
  }
}
