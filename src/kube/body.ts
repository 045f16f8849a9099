// Bodies as text. Integers of 64 bits stay exact: the quick parser is used unless a number may be too long for it.
// `managedFields` are half of a list's bytes and no caller reads them: they are cut out before anything is made of them.

import { hasLongNumber, parseJSON, stringify } from '../json.ts'

const [quote, comma, backslash, openingBracket, closingBracket] = [0x22, 0x2c, 0x5c, 0x5b, 0x5d]
const [openingBrace, closingBrace] = [0x7b, 0x7d]

export function parseBody(text: string): unknown {
  return hasLongNumber(text) ? parseJSON(text).value : JSON.parse(text)
}

/** Text in a JSON text has its quotes escaped, so this is found where a field of this name begins, and nowhere else. */
const managersField = '"managedFields":['

/** The same text without the lists of this name. A text that ends within one is left as it is, for the parser to refuse. */
export function withoutManagers(text: string): string {
  let at = text.indexOf(managersField)
  if (at === -1) return text
  // Joined at the end: a text that is added to piece by piece is slow to read until it is copied.
  const kept: string[] = []
  let from = 0
  for (; at !== -1; at = text.indexOf(managersField, from)) {
    const end = endOfFlatList(text, at + managersField.length) ?? endOfList(text, at + managersField.length)
    // With the comma that followed it; the last field of an object takes the one before it along.
    const isLast = text[end] !== ','
    kept.push(text.slice(from, isLast && text[at - 1] === ',' ? at - 1 : at))
    from = isLast ? end : end + 1
  }
  kept.push(text.slice(from))
  return kept.join('')
}

const managersFieldInBytes = Buffer.from(managersField)

/**
 * The same for a text of UTF-8 that is not a text yet, in place: what is cut out here need not become one. Lists with lists in them
 * stay, for `withoutManagers`.
 */
export function bytesWithoutManagers(bytes: Buffer): Buffer {
  let length = 0
  let from = 0
  let at = bytes.indexOf(managersFieldInBytes)
  while (at !== -1) {
    const end = endOfFlatListInBytes(bytes, at + managersFieldInBytes.length)
    if (end === undefined) {
      at = bytes.indexOf(managersFieldInBytes, at + managersFieldInBytes.length)
      continue
    }
    const isLast = bytes[end] !== comma
    const to = isLast && bytes[at - 1] === comma ? at - 1 : at
    bytes.copyWithin(length, from, to)
    length += to - from
    from = isLast ? end : end + 1
    at = bytes.indexOf(managersFieldInBytes, from)
  }
  if (from === 0) return bytes
  bytes.copyWithin(length, from)
  return bytes.subarray(0, length + bytes.length - from)
}

/**
 * Where a list ends that has only objects without lists in it, and a field after it: at `}],"n` or `}]},"s`. No text on the way is looked
 * at: were this within a text, the quote would end the text, and no letter follows there. Undefined where it is another list.
 */
function endOfFlatList(text: string, at: number): number | undefined {
  if (text.charCodeAt(at) !== openingBrace) return undefined
  const end = text.indexOf('}]', at) + 2
  if (end < at) return undefined
  let next = end
  while (text.charCodeAt(next) === closingBrace) next++
  const isField = text.charCodeAt(next) === comma && text.charCodeAt(next + 1) === quote
  if (!isField || !isLetter(text.charCodeAt(next + 2))) return undefined
  const inner = text.indexOf('[', at)
  return inner === -1 || inner > end ? end : undefined
}

/** As `endOfFlatList`: no byte of a character beyond ASCII looks like one of these. */
function endOfFlatListInBytes(bytes: Buffer, at: number): number | undefined {
  if (bytes[at] !== openingBrace) return undefined
  const end = bytes.indexOf('}]', at) + 2
  if (end < at) return undefined
  let next = end
  while (bytes[next] === closingBrace) next++
  const isField = bytes[next] === comma && bytes[next + 1] === quote
  if (!isField || !isLetter(bytes[next + 2] ?? 0)) return undefined
  const inner = bytes.indexOf(openingBracket, at)
  return inner === -1 || inner > end ? end : undefined
}

const isLetter = (code: number): boolean => (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a

/** Where a list ends, of which everything up to `at` was read. */
function endOfList(text: string, at: number): number {
  let depth = 1
  for (let i = at; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === quote) i = endOfText(text, i + 1)
    else if (code === openingBracket) depth++
    else if (code === closingBracket && --depth === 0) return i + 1
  }
  return text.length
}

/** Where the quote is that ends a text: one with an even number of backslashes before it. */
function endOfText(text: string, at: number): number {
  for (let end = text.indexOf('"', at); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end
    while (text.charCodeAt(before - 1) === backslash) before--
    if ((end - before) % 2 === 0) return end
  }
  return text.length
}

export function printBody(value: unknown): string {
  return stringify(value)
}
