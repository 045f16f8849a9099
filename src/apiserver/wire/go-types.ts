// A real server does not decode a built-in object with a field of the wrong JSON type: decoding stops at the first such
// field, with the message of Go's JSON package. A null is accepted everywhere.

import { builtinDefinitions } from '../builtin/types.ts'
import { isObject } from '../object.ts'
import { type Field, type MessageType, messageType, type ValueType } from './message-types.ts'
import { toQuantity } from './quantity.ts'
import { parseTime, timeLayouts } from './time.ts'

/** What is wrong first, in the order the object was written; undefined when everything fits. */
export function wrongType(object: Record<string, unknown>, type: MessageType): string | undefined {
  return inMessage(object, type, '')
}

/** `metadata` of an object whose other fields have no types known to Go. It is read by itself, so paths begin in it. */
export function wrongMetadata(metadata: unknown): string | undefined {
  if (metadata === undefined || metadata === null) return undefined
  const type = messageType('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta', builtinDefinitions)
  if (!isObject(metadata)) return mismatch(metadata, 'v1.ObjectMeta', { struct: '', path: '' })
  return type === undefined ? undefined : inMessage(metadata, type, '')
}

/** A field of a struct without a name that should have been a string. */
export function wrongText(value: unknown, field: string): string {
  return mismatch(value, 'string', { struct: '', path: field })
}

function inMessage(object: Record<string, unknown>, type: MessageType, path: string): string | undefined {
  for (const name of Object.keys(object)) {
    const field = type.byName.get(name)
    if (field === undefined) continue
    const at = path === '' ? pathIn(type, field) : `${path}.${pathIn(type, field)}`
    const complaint = inValue(object[name], field.type, { struct: structOf(type), path: at })
    if (complaint !== undefined) return complaint
  }
  return undefined
}

interface Place {
  /** The struct that holds the field. */
  readonly struct: string
  readonly path: string
}

function inValue(value: unknown, type: ValueType, place: Place): string | undefined {
  if (value === null || value === undefined) return undefined
  switch (type.is) {
    case 'string':
    case 'boolean':
      return typeof value === type.is ? undefined : mismatch(value, goName(type), place)
    case 'bytes':
      return typeof value === 'string' ? badBase64(value) : mismatch(value, goName(type), place)
    case 'integer':
      return isInteger(value, type.bits) ? undefined : mismatch(value, goName(type), place, true)
    case 'double':
      return typeof value === 'number' || typeof value === 'bigint' ? undefined : mismatch(value, 'float64', place)
    case 'message':
      return isObject(value) ? inMessage(value, type.message, place.path) : mismatch(value, goName(type), place)
    case 'list':
    case 'boxed':
      if (!Array.isArray(value)) return mismatch(value, goName(type), place)
      return firstOf(value, item => inValue(item, type.of, place))
    case 'map':
      if (!isObject(value)) return mismatch(value, goName(type), place)
      return firstOf(Object.values(value), item => inValue(item, type.of, place))
    case 'time':
    case 'microTime':
      if (typeof value !== 'string') return mismatch(value, 'string', { struct: '', path: '' })
      return parseTime(value, type.is) === undefined ? badTime(value, timeLayouts[type.is]) : undefined
    case 'quantity':
      return toQuantity(value) === undefined ? badQuantity : undefined
    case 'intOrString':
      return typeof value === 'string' || isInteger(value, 32) ? undefined : mismatch(value, 'int32', place, true)
    default:
      return undefined
  }
}

function firstOf(values: readonly unknown[], check: (value: unknown) => string | undefined): string | undefined {
  for (const value of values) {
    const complaint = check(value)
    if (complaint !== undefined) return complaint
  }
  return undefined
}

const badQuantity = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

function isInteger(value: unknown, bits: 32 | 64): boolean {
  if (typeof value === 'bigint') return bits === 64 && BigInt.asIntN(64, value) === value
  if (typeof value !== 'number' || !Number.isInteger(value)) return false
  return bits === 64 || (value >= -(2 ** 31) && value < 2 ** 31)
}

function badBase64(value: string): string | undefined {
  const text = value.replace(/[\r\n]/g, '')
  const bad = text.search(/[^A-Za-z0-9+/=]/)
  if (bad >= 0) return `illegal base64 data at input byte ${bad}`
  const isPadded = text.length % 4 === 0 && /^[^=]*={0,2}$/.test(text)
  return isPadded ? undefined : `illegal base64 data at input byte ${text.length - (text.length % 4 || 4)}`
}

/** Which part of the layout was not met: the whole of it, or what comes after the seconds. */
function badTime(value: string, layout: string): string {
  const seconds = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}/.exec(value)?.[0] ?? ''
  const rest = JSON.stringify(value.slice(seconds.length))
  const wanted = seconds === '' ? '2006' : layout.includes('.') ? '.000000' : 'Z07:00'
  return `parsing time ${JSON.stringify(value)} as "${layout}": cannot parse ${rest} as "${wanted}"`
}

/** A number that has the right type but not the right range is shown; any other value is named by its JSON type. */
function mismatch(value: unknown, expected: string, { struct, path }: Place, showsNumber = false): string {
  const isNumber = typeof value === 'number' || typeof value === 'bigint'
  const shown = isNumber && showsNumber ? `number ${String(value)}` : jsonType(value)
  const where = path === '' ? 'Go value' : `Go struct field ${struct}.${path}`
  return `json: cannot unmarshal ${shown} into ${where} of type ${expected}`
}

function jsonType(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'boolean') return 'bool'
  return typeof value === 'bigint' ? 'number' : typeof value
}

const structOf = (type: MessageType): string => type.name.slice(type.name.lastIndexOf('.') + 1)

/** Fields of an inlined struct are named with it. */
function pathIn(type: MessageType, field: Field): string {
  for (const inner of type.inlined.values()) {
    if (inner.byName.has(field.name)) return `${structOf(inner)}.${pathIn(inner, field)}`
  }
  return field.name
}

function goName(type: ValueType): string {
  switch (type.is) {
    case 'string':
      return 'string'
    case 'boolean':
      return 'bool'
    case 'bytes':
      return '[]uint8'
    case 'integer':
      return type.bits === 64 ? 'int64' : 'int32'
    case 'double':
      return 'float64'
    case 'message':
      return type.message.name.split('.').slice(-2).join('.')
    case 'list':
    case 'boxed':
      return `[]${goName(type.of)}`
    case 'map':
      return `map[string]${goName(type.of)}`
    case 'quantity':
      return 'resource.Quantity'
    case 'intOrString':
      return 'intstr.IntOrString'
    case 'time':
      return 'v1.Time'
    case 'microTime':
      return 'v1.MicroTime'
    case 'raw':
      return 'runtime.RawExtension'
    default:
      return 'v1.JSONSchemaProps'
  }
}
