// Bodies as text. Integers of 64 bits stay exact: the quick parser is used unless a number may be too long for it.

import { parseJSON, stringify } from '../json.ts'

/** Sixteen digits in a row may be an integer that a JavaScript number cannot hold. */
const longNumber = /\d{16}/

export function parseBody(text: string): unknown {
  return longNumber.test(text) ? parseJSON(text).value : JSON.parse(text)
}

export function printBody(value: unknown): string {
  return stringify(value)
}
