// Which fields of a built-in object are shown. Kubernetes keeps built-in objects as Go structs, so a user reads back
// something else than they wrote: an empty list disappears, an empty `resources` appears, a null is dropped. Clients
// compare and patch what they read, so the same rules hold here, whichever way the object arrived.

import { isObject, setOwn } from '../object.ts'
import type { Field, MessageType, ValueType } from './message-types.ts'
import { canonicalQuantity } from './quantity.ts'
import { canonicalTime } from './time.ts'
import { zeroScalar } from './zero.ts'

/** Brings an object to the form Kubernetes prints, in place. Fields without a type are left alone. */
export function settlePresence(object: Record<string, unknown>, type: MessageType): void {
  for (const field of type.fields) {
    const value = Object.hasOwn(object, field.name) ? settled(object[field.name], field) : ifAbsent(field)
    if (value === undefined) delete object[field.name]
    else setOwn(object, field.name, value)
  }
}

/** The value to show; undefined when there is nothing to show. */
function settled(written: unknown, field: Field): unknown {
  if (written === null || written === undefined) return ifAbsent(field)
  settleInside(written, field.type)
  const value = canonical(written, field.type)
  if (field.presence === 'set' || field.presence === 'null') return value
  if (field.presence === 'always') return isEmpty(value) && isCollection(field.type) ? null : value
  if (field.presence === 'nonzero') return isEmpty(value) ? undefined : value
  return isZero(value, field.type) ? undefined : value
}

function settleInside(value: unknown, type: ValueType): void {
  switch (type.is) {
    case 'message':
    case 'schemaOrBoolean':
      if (isObject(value)) settlePresence(value, type.message)
      return
    case 'schemaOrList':
    case 'schemaOrNames':
      for (const item of Array.isArray(value) ? value : [value]) if (isObject(item)) settlePresence(item, type.message)
      return
    case 'list':
    case 'boxed':
      if (Array.isArray(value)) settleItems(value, type.of)
      return
    case 'map':
      if (isObject(value)) settleEntries(value, type.of)
      return
    default:
      return
  }
}

/** Values that have one canonical text however they were written. */
function canonical(value: unknown, type: ValueType): unknown {
  if (type.is === 'quantity') return canonicalQuantity(value)
  if (type.is === 'time' || type.is === 'microTime') return canonicalTime(value, type.is)
  return value
}

function settleItems(items: unknown[], type: ValueType): void {
  for (const [i, item] of items.entries()) {
    if (item === null) items[i] = zeroOf(type)
    else settleInside(item, type)
  }
}

function settleEntries(map: Record<string, unknown>, type: ValueType): void {
  for (const key of Object.keys(map)) {
    if (map[key] === null) setOwn(map, key, type.is === 'bytes' ? '' : zeroOf(type))
    else {
      settleInside(map[key], type)
      setOwn(map, key, canonical(map[key], type))
    }
  }
}

function ifAbsent(field: Field): unknown {
  if (field.presence === 'null') return null
  return field.presence === 'always' ? zeroOf(field.type) : undefined
}

function zeroOf(type: ValueType): unknown {
  if (type.is !== 'message') return zeroScalar(type) ?? null
  const object = {}
  settlePresence(object, type.message)
  return object
}

/** What a field without a rule of its own leaves out: zero scalars and empty collections, but no empty message. */
function isZero(value: unknown, type: ValueType): boolean {
  switch (type.is) {
    case 'string':
    case 'bytes':
      return value === ''
    case 'integer':
    case 'double':
      return value === 0
    case 'boolean':
      return value === false
    case 'list':
    case 'map':
    case 'boxed':
      return isEmpty(value)
    default:
      return false
  }
}

function isCollection(type: ValueType): boolean {
  return type.is === 'list' || type.is === 'map' || type.is === 'boxed'
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0
  return isObject(value) && Object.keys(value).length === 0
}
