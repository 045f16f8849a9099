// Bodies as text. Integers of 64 bits stay exact: the quick parser is used unless a number may be too long for it.

import { parseJSON, stringify } from '../json.ts'

/** So many digits in a row may be an integer that a JavaScript number cannot hold. */
const longDigits = 16

export function parseBody(text: string): unknown {
  return hasLongNumber(text) ? parseJSON(text).value : JSON.parse(text)
}

/** Every run of so many digits has one at a multiple of that many: only those are looked at, and what is around a digit. */
export function hasLongNumber(text: string): boolean {
  for (let at = longDigits - 1; at < text.length; at += longDigits) {
    if (!isDigit(text, at)) continue
    let first = at
    while (first > 0 && isDigit(text, first - 1)) first--
    let last = at
    while (isDigit(text, last + 1)) last++
    if (last - first + 1 >= longDigits) return true
  }
  return false
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code >= 0x30 && code <= 0x39
}

export function printBody(value: unknown): string {
  return stringify(value)
}
