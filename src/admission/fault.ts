// What is wrong with one field, in the form of Kubernetes: where, what kind of fault, the value, and one sentence for the
// author. Checks answer lists of these, in field order.

export type FaultType = 'FieldValueInvalid' | 'FieldValueForbidden'

export interface Fault {
  readonly type: FaultType
  /** `spec.addresses`, `spec.preAllocations[web-0]`. */
  readonly field: string
  /** What follows the path: `Invalid value: "x": not a valid IP address`. */
  readonly message: string
}

/** Longer values are cut: a message is to be read, and a list may be as long as a request body. */
const shownCharsMax = 400

export function invalid(field: string, value: unknown, detail: string): Fault {
  return { type: 'FieldValueInvalid', field, message: `Invalid value: ${show(value)}: ${detail}` }
}

export function forbidden(field: string, detail: string): Fault {
  return { type: 'FieldValueForbidden', field, message: `Forbidden: ${detail}` }
}

export const describeFault = ({ field, message }: Fault): string => `${field}: ${message}`

/** One fault as it is, several in brackets: how lists of errors read everywhere in Kubernetes. */
export function describeFaults(faults: readonly Fault[]): string {
  const texts = faults.map(describeFault)
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
