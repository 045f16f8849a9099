// Faults: what is wrong with one field of one object, with Kubernetes' message. Checks return lists of
// faults, in field order; `status.ts` turns a list into one 422 answer that names them all.

import { stringify } from '../json.ts'
import { isObject } from './object.ts'

export type FaultType =
  | 'FieldValueNotFound'
  | 'FieldValueRequired'
  | 'FieldValueDuplicate'
  | 'FieldValueInvalid'
  | 'FieldValueTypeInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'InternalError'

export interface Fault {
  readonly type: FaultType
  /** The path as a user writes it: `spec.containers[0].name`, `metadata.labels[a/b]`. */
  readonly field: string
  /** What follows the path: `Invalid value: "x": must be ...`. */
  readonly message: string
}

const titles: Record<FaultType, string> = {
  FieldValueNotFound: 'Not found',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueInvalid: 'Invalid value',
  FieldValueTypeInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  InternalError: 'Internal error',
}

export const invalid = (field: string, value: unknown, detail: string): Fault =>
  withValue('FieldValueInvalid', field, value, detail)
export const typeInvalid = (field: string, value: unknown, detail: string): Fault =>
  withValue('FieldValueTypeInvalid', field, value, detail)
export const notFoundValue = (field: string, value: unknown): Fault => withValue('FieldValueNotFound', field, value, '')
export const duplicate = (field: string, value: unknown): Fault => withValue('FieldValueDuplicate', field, value, '')
export const required = (field: string, detail = ''): Fault => plain('FieldValueRequired', field, detail)
export const forbidden = (field: string, detail: string): Fault => plain('FieldValueForbidden', field, detail)

export function notSupported(field: string, value: unknown, supported: readonly string[]): Fault {
  const detail = supported.length > 0 ? `supported values: ${supported.map(quote).join(', ')}` : ''
  return withValue('FieldValueNotSupported', field, value, detail)
}

export function tooLong(field: string, maxLength: number): Fault {
  return plain('FieldValueTooLong', field, `may not be more than ${maxLength} ${maxLength === 1 ? 'byte' : 'bytes'}`)
}

export function tooMany(field: string, actual: number, max: number): Fault {
  return withValue('FieldValueTooMany', field, actual, `must have at most ${max} ${max === 1 ? 'item' : 'items'}`)
}

export function describeFault(fault: Fault): string {
  return `${fault.field}: ${fault.message}`
}

/** A path one step deeper. Map keys and list indexes stand in brackets, fields behind a dot. */
export function child(path: string, field: string): string {
  return path === '' ? field : `${path}.${field}`
}
export function at(path: string, keyOrIndex: string | number): string {
  return `${path}[${keyOrIndex}]`
}

/** Text as Go prints it with %q, which is how Kubernetes shows strings. */
export function quote(text: string): string {
  return JSON.stringify(text).replace(/\\(?:u00([01][0-9a-f])|.)|\u007f/g, toGoEscape)
}

function toGoEscape(escaped: string, hex: string | undefined): string {
  if (escaped === '\u007f') return '\\x7f'
  if (hex === undefined) return escaped
  if (hex === '07') return '\\a'
  return hex === '0b' ? '\\v' : `\\x${hex}`
}

function withValue(type: FaultType, field: string, value: unknown, detail: string): Fault {
  const shown = typeof value === 'string' ? quote(value) : toShown(value)
  return { type, field, message: join(`${titles[type]}: ${shown}`, detail) }
}

function plain(type: FaultType, field: string, detail: string): Fault {
  return { type, field, message: join(titles[type], detail) }
}

function join(head: string, detail: string): string {
  return detail === '' ? head : `${head}: ${detail}`
}

function toShown(value: unknown): string {
  if (value === undefined || value === null) return 'null'
  if (isObject(value) || Array.isArray(value)) return stringify(value).replace(/[<>&]/g, escapeMark)
  return String(value)
}

/** Go's JSON encoder writes these three as escapes, so that the text can stand in a page. */
function escapeMark(mark: string): string {
  return `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`
}
