// What is wrong with one field, in the form of Kubernetes: where, what kind of fault, the value, and one sentence for the
// author. Checks answer lists of these, in field order.

import { showHidden } from '../json.ts'

export type FaultType = 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueTooMany'

export interface Fault {
  readonly type: FaultType
  /** `spec.addresses`, `spec.preAllocations[web-0]`. */
  readonly field: string
  /** What follows the path: `Invalid value: "x": not a valid IP address`. */
  readonly message: string
}

/** More are counted: a pool may list thousands of addresses, and all of them may be wrong. */
export const faultsNamedMax = 20

/** Longer values are cut: a message is to be read, and a list may be as long as a request body. */
const shownCharsMax = 400

export function invalid(field: string, value: unknown, detail: string): Fault {
  return fault('FieldValueInvalid', field, `Invalid value: ${show(value)}: ${detail}`)
}

export function forbidden(field: string, detail: string): Fault {
  return fault('FieldValueForbidden', field, `Forbidden: ${detail}`)
}

export const required = (field: string, detail: string): Fault =>
  fault('FieldValueRequired', field, `Required value: ${detail}`)

export const tooMany = (field: string, count: number, max: number): Fault =>
  fault('FieldValueTooMany', field, `Too many: ${count}: must have at most ${max} items`)

/** They repeat what the author wrote, and are read in a terminal by another user. */
const fault = (type: FaultType, field: string, message: string): Fault => ({
  type,
  field: showHidden(field),
  message: showHidden(message),
})

export const describeFault = ({ field, message }: Fault): string => `${field}: ${message}`

/** One fault as it is, several in brackets: how lists of errors read everywhere in Kubernetes. */
export function describeFaults(faults: readonly Fault[]): string {
  const texts = faults.slice(0, faultsNamedMax).map(describeFault)
  if (faults.length > texts.length) texts.push(`and ${faults.length - texts.length} more`)
  return texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`
}

function show(value: unknown): string {
  const text = textOf(value)
  return text.length <= shownCharsMax ? text : `${text.slice(0, shownCharsMax)}...`
}

function textOf(value: unknown): string {
  if (typeof value === 'bigint') return value.toString()
  return JSON.stringify(value ?? null, (_, inner) => (typeof inner === 'bigint' ? inner.toString() : inner)) ?? 'null'
}
