// Values of the vSphere API as it writes them: what a call sends, and what is read from an answer. The order of fields is part
// of the format, and objects here keep the order they were written in.

import { attributeOf, escapeXML, type XMLElement } from '../xml.ts'

/** A reference to an object of the server: `{ type: 'VirtualMachine', value: 'vm-12' }`. */
export interface ManagedRef {
  readonly ref: { readonly type: string; readonly value: string }
}

/** A value whose type the server cannot know from its place: `{ type: 'TraversalSpec', of: { ... } }`. */
export interface TypedValue {
  readonly type: string
  readonly of: VimFields | string | number | boolean
}

export interface VimFields {
  readonly [field: string]: VimValue | undefined
}

/** A list is the same element several times. */
export type VimValue = string | number | boolean | ManagedRef | TypedValue | { readonly fields: VimFields } | VimValue[]

export const schemaInstance = 'http://www.w3.org/2001/XMLSchema-instance'

export const toRef = (type: string, value: string): ManagedRef => ({ ref: { type, value } })
export const keyOfRef = ({ ref: { type, value } }: ManagedRef): string => `${type}:${value}`

export function printFields(fields: VimFields): string {
  return Object.entries(fields)
    .map(([name, value]) => (value === undefined ? '' : printElement(name, value)))
    .join('')
}

export function printElement(name: string, value: VimValue): string {
  if (Array.isArray(value)) return value.map(item => printElement(name, item)).join('')
  if (typeof value !== 'object') return `<${name}>${printScalar(value, name)}</${name}>`
  if ('ref' in value) {
    const { type, value: id } = value.ref
    return `<${name} type="${printScalar(type, name)}">${printScalar(id, name)}</${name}>`
  }
  if ('fields' in value) return `<${name}>${printFields(value.fields)}</${name}>`
  const inside = typeof value.of === 'object' ? printFields(value.of) : printScalar(value.of, name)
  return `<${name} xsi:type="${printScalar(value.type, name)}">${inside}</${name}>`
}

/** The value is not repeated in the error: it may be a password. */
function printScalar(value: string | number | boolean, name: string): string {
  try {
    return escapeXML(String(value))
  } catch {
    throw new RangeError(`${name} has a character that XML cannot carry: leave out control characters`)
  }
}

/** `VirtualE1000`, of any prefix. */
export function typeOf(element: XMLElement): string | undefined {
  return attributeOf(element, { name: 'type', namespace: schemaInstance })?.replace(/^.*:/, '')
}

/** Undefined where the element is none. */
export function readRef(element: XMLElement | undefined): ManagedRef | undefined {
  const type = element && attributeOf(element, { name: 'type' })
  const value = element?.text.trim()
  return type && value ? toRef(type, value) : undefined
}
