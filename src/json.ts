// JSON as an API server must read it: integers beyond 2^53 stay exact (as bigint), repeated keys are noticed instead of
// swallowed, depth is bounded, `__proto__` is a key like any other, and the complaint about a syntax error is the one
// Go's decoder makes, because that is what users find when they search for it.

import { jsonDepthMax } from './limits.ts'

export type JSONValue = null | boolean | number | bigint | string | JSONValue[] | JSONObject
export interface JSONObject {
  [key: string]: JSONValue | undefined
}

export class JSONSyntaxError extends Error {
  override readonly name = 'JSONSyntaxError'
  /** The index in the text where reading ended. */
  readonly at: number

  constructor(message: string, at: number) {
    super(message)
    this.at = at
  }
}

export interface ParsedJSON {
  readonly value: JSONValue
  /** Paths of keys that appeared twice in one object (`spec.replicas`); the last one won. */
  readonly duplicates: readonly string[]
}

export function parseJSON(text: string): ParsedJSON {
  const parser = new Parser(text)
  return { value: parser.document(), duplicates: parser.duplicates }
}

/** Compact JSON text; bigint values are printed as the integers they are. */
export function stringify(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return print(value) ?? 'null'
  }
}

/** So many digits in a row may be an integer that a JavaScript number cannot hold. */
const longDigits = 16

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

/** Characters that a terminal or a page obeys instead of showing: controls, marks of direction, what has no shape. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
const hidden = /[\0-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\p{Cf}]/gu

/** Makes them visible as JSON's escapes; ends of lines and tabs stay. Inside of JSON text the value stays the same. */
export function showHidden(text: string): string {
  return text.replace(hidden, character =>
    [...Array(character.length).keys()]
      .map(i => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}

function print(value: unknown): string | undefined {
  if (typeof value === 'bigint') return value.toString()
  if (Array.isArray(value)) return `[${value.map(item => print(item) ?? 'null').join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields: string[] = []
  for (const [key, item] of Object.entries(value)) {
    const text = print(item)
    if (text !== undefined) fields.push(`${JSON.stringify(key)}:${text}`)
  }
  return `{${fields.join(',')}}`
}

/** Sets a key as an own property, whatever its name: plain assignment of `__proto__` would change the prototype. */
export function setOwn(target: object, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
    return
  }
  ;(target as Record<string, unknown>)[key] = value
}

const quoteCode = 0x22
const backslashCode = 0x5c
/** Shorter ones are copied by the engine itself. */
const sliceCharsMin = 13
const integerPattern = /^-?\d+$/

class Parser {
  readonly duplicates: string[] = []
  readonly #text: string
  #at = 0
  #path: (string | number)[] = []

  constructor(text: string) {
    this.#text = text
  }

  document(): JSONValue {
    const value = this.#value(0)
    this.#skipSpace()
    if (this.#at < this.#text.length) throw this.#unexpected('after top-level value')
    return value
  }

  #value(depth: number): JSONValue {
    if (depth > jsonDepthMax) throw new JSONSyntaxError('exceeded max depth', this.#at)
    this.#skipSpace()
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object(depth)
      case '[':
        return this.#array(depth)
      case '"':
        return this.#string()
      case 't':
        return this.#word('true', true)
      case 'f':
        return this.#word('false', false)
      case 'n':
        return this.#word('null', null)
      default:
        return this.#number()
    }
  }

  #object(depth: number): JSONValue {
    const result: Record<string, JSONValue> = {}
    this.#at++
    this.#skipSpace()
    if (this.#text[this.#at] === '}') {
      this.#at++
      return result
    }
    for (;;) {
      this.#skipSpace()
      if (this.#text.charCodeAt(this.#at) !== quoteCode) {
        throw this.#unexpected('looking for beginning of object key string')
      }
      const key = this.#string()
      this.#path.push(key)
      if (Object.hasOwn(result, key)) this.duplicates.push(this.#pathText())
      this.#skipSpace()
      if (this.#text[this.#at] !== ':') throw this.#unexpected('after object key')
      this.#at++
      setOwn(result, key, this.#value(depth + 1))
      this.#path.pop()
      this.#skipSpace()
      const next = this.#text[this.#at]
      if (next !== ',' && next !== '}') throw this.#unexpected('after object key:value pair')
      this.#at++
      if (next === '}') return result
    }
  }

  #array(depth: number): JSONValue {
    const result: JSONValue[] = []
    this.#at++
    this.#skipSpace()
    if (this.#text[this.#at] === ']') {
      this.#at++
      return result
    }
    for (;;) {
      this.#path.push(result.length)
      result.push(this.#value(depth + 1))
      this.#path.pop()
      this.#skipSpace()
      const next = this.#text[this.#at]
      if (next !== ',' && next !== ']') throw this.#unexpected('after array element')
      this.#at++
      if (next === ']') return result
    }
  }

  #string(): string {
    const start = this.#at
    let hasEscape = false
    for (let i = start + 1; i < this.#text.length; i++) {
      const code = this.#text.charCodeAt(i)
      if (code === quoteCode) {
        this.#at = i + 1
        return hasEscape ? this.#unescape(start, i + 1) : this.#plain(start + 1, i)
      }
      if (code === backslashCode) {
        hasEscape = true
        i++
      } else if (code < 0x20) {
        this.#at = i
        throw this.#unexpected('in string literal')
      }
    }
    throw new JSONSyntaxError('unexpected end of JSON input', this.#text.length)
  }

  /** A slice of some length is a view that keeps the whole text in memory; a value may be kept for ever, a page may not. */
  #plain(start: number, end: number): string {
    const slice = this.#text.slice(start, end)
    return end - start < sliceCharsMin ? slice : (JSON.parse(`"${slice}"`) as string)
  }

  #unescape(start: number, end: number): string {
    try {
      return JSON.parse(this.#text.slice(start, end)) as string
    } catch {
      throw new JSONSyntaxError('invalid character in string escape code', start)
    }
  }

  #number(): JSONValue {
    numberPattern.lastIndex = this.#at
    const text = numberPattern.exec(this.#text)?.[0]
    if (text === undefined) throw this.#unexpected('looking for beginning of value')
    this.#at += text.length
    const value = Number(text)
    if (Number.isSafeInteger(value)) return value
    // It would be stored as null, which the client did not write. Also of integers: reading and printing one of a million
    // digits takes seconds.
    if (!Number.isFinite(value)) {
      const problem = `json: cannot unmarshal number ${shorten(text)} into Go value of type float64`
      throw new JSONSyntaxError(problem, this.#at - text.length)
    }
    return integerPattern.test(text) ? BigInt(text) : value
  }

  #word<T extends JSONValue>(word: string, value: T): T {
    for (let i = 0; i < word.length; i++, this.#at++) {
      if (this.#text[this.#at] !== word[i]) throw this.#unexpected(`in literal ${word} (expecting '${word[i]}')`)
    }
    return value
  }

  #skipSpace(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
      this.#at++
    }
  }

  #pathText(): string {
    let path = ''
    for (const step of this.#path) path += typeof step === 'number' ? `[${step}]` : path === '' ? step : `.${step}`
    return path
  }

  #unexpected(where: string): JSONSyntaxError {
    const found = this.#text.codePointAt(this.#at)
    if (found === undefined) return new JSONSyntaxError('unexpected end of JSON input', this.#text.length)
    const shown = String.fromCodePoint(found)
    return new JSONSyntaxError(`invalid character '${shown === "'" ? "\\'" : shown}' ${where}`, this.#at)
  }
}

/** A message is to be read. */
const shorten = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}...` : text)

const numberPattern = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
