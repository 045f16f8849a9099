// The part of JSONPath that printer columns may use: `.spec.x`, `['a.b']`, `\.` in a name, `[0]`, `[-1]`, `[1:3]`,
// `[*]`, `..name` and filters such as `[?(@.type=="Ready")].status`. A path that leads nowhere finds nothing; a path
// that cannot be read throws when it is made, never when it is used.

import { getOwn, isObject } from '../object.ts'

export type JSONPath = (root: unknown) => unknown[]

type Step =
  | { readonly type: 'field'; readonly name: string }
  | {
      readonly type: 'slice'
      readonly start: number | undefined
      readonly end: number | undefined
      readonly step: number
    }
  | { readonly type: 'index'; readonly index: number }
  | { readonly type: 'every' }
  | { readonly type: 'deep' }
  | { readonly type: 'filter'; readonly test: (item: unknown) => boolean }

export class JSONPathError extends Error {
  override readonly name = 'JSONPathError'
}

/** How many values a path may find before it stops looking: enough for any cell, little enough for any object. */
const foundMax = 10_000

/** Filters nest, so the length of a path bounds the depth of reading it. */
const pathLengthMax = 1_000

export function parseJSONPath(text: string): JSONPath {
  if (text.length > pathLengthMax) throw new JSONPathError(`a path may not be longer than ${pathLengthMax} characters`)
  const trimmed = text.trim()
  const steps = new PathParser(
    trimmed.startsWith('{') && trimmed.endsWith('}') ? trimmed.slice(1, -1) : trimmed,
  ).steps()
  return root => {
    let found: unknown[] = [root]
    for (const step of steps) {
      found = found.flatMap(value => follow(step, value)).slice(0, foundMax)
      if (found.length === 0) return found
    }
    return found
  }
}

function follow(step: Step, value: unknown): unknown[] {
  switch (step.type) {
    case 'field': {
      const next = getOwn(value, step.name)
      return next === undefined ? [] : [next]
    }
    case 'index': {
      if (!Array.isArray(value)) return []
      const at = step.index < 0 ? value.length + step.index : step.index
      return at >= 0 && at < value.length ? [value[at]] : []
    }
    case 'slice':
      return Array.isArray(value) ? slice(value, step.start, step.end, step.step) : []
    case 'every':
      if (Array.isArray(value)) return value
      return isObject(value) ? Object.values(value) : []
    case 'filter':
      return Array.isArray(value) ? value.filter(step.test) : []
    case 'deep':
      return descendants(value)
  }
}

function slice(
  values: readonly unknown[],
  start: number | undefined,
  end: number | undefined,
  step: number,
): unknown[] {
  const first = start === undefined ? 0 : start < 0 ? Math.max(values.length + start, 0) : start
  const last = end === undefined ? values.length : end < 0 ? values.length + end : Math.min(end, values.length)
  const taken: unknown[] = []
  for (let i = first; i < last; i += step) taken.push(values[i])
  return taken
}

function descendants(root: unknown): unknown[] {
  const found: unknown[] = []
  const waiting: unknown[] = [root]
  while (waiting.length > 0 && found.length < foundMax) {
    const value = waiting.shift()
    found.push(value)
    const inner = Array.isArray(value) ? value : isObject(value) ? Object.values(value) : []
    for (const item of inner) waiting.push(item)
  }
  return found
}

class PathParser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  steps(): Step[] {
    const steps: Step[] = []
    if (this.#text[0] === '$' || this.#text[0] === '@') this.#at = 1
    while (this.#at < this.#text.length) {
      const character = this.#text[this.#at]
      if (character === '[') steps.push(...this.#bracket())
      else if (character === '.') {
        this.#at++
        if (this.#text[this.#at] === '.') {
          this.#at++
          steps.push({ type: 'deep' })
        }
        if (this.#at >= this.#text.length || this.#text[this.#at] === '[') continue
        steps.push(this.#name())
      } else throw new JSONPathError(`unexpected character ${JSON.stringify(character)} in ${this.#text}`)
    }
    return steps
  }

  #name(): Step {
    let name = ''
    for (; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at] ?? ''
      if (character === '.' || character === '[') break
      if (character === '\\') this.#at++
      name += this.#text[this.#at] ?? ''
    }
    if (name === '') throw new JSONPathError(`a name is missing in ${this.#text}`)
    return name === '*' ? { type: 'every' } : { type: 'field', name }
  }

  #bracket(): Step[] {
    const inside = this.#inBrackets()
    if (inside === '*') return [{ type: 'every' }]
    if (inside.startsWith('?(') && inside.endsWith(')'))
      return [{ type: 'filter', test: parseFilter(inside.slice(2, -1)) }]
    const quoted = unquote(inside)
    if (quoted !== undefined) return [{ type: 'field', name: quoted }]
    if (/^-?\d{1,9}$/.test(inside)) return [{ type: 'index', index: Number(inside) }]
    const range = /^(-?\d{1,9})?:(-?\d{1,9})?(?::(\d{1,9}))?$/.exec(inside)
    if (range === null) throw new JSONPathError(`cannot read [${inside}] in ${this.#text}`)
    const toNumber = (digits: string | undefined) => (digits === undefined ? undefined : Number(digits))
    return [{ type: 'slice', start: toNumber(range[1]), end: toNumber(range[2]), step: Number(range[3] ?? 1) || 1 }]
  }

  /** The text between this bracket and its partner; brackets inside quotes do not count. */
  #inBrackets(): string {
    const start = this.#at + 1
    let depth = 0
    let quote = ''
    for (; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at] ?? ''
      if (quote !== '') {
        if (character === '\\') this.#at++
        else if (character === quote) quote = ''
      } else if (character === '"' || character === "'") quote = character
      else if (character === '[') depth++
      else if (character === ']' && --depth === 0) return this.#text.slice(start, this.#at++).trim()
    }
    throw new JSONPathError(`unterminated array in ${this.#text}`)
  }
}

function unquote(text: string): string | undefined {
  const first = text[0]
  if (text.length < 2 || (first !== '"' && first !== "'") || text.at(-1) !== first) return undefined
  return text.slice(1, -1).replace(/\\(.)/g, '$1')
}

type Comparison = '==' | '!=' | '<=' | '>=' | '<' | '>'
const comparisons: readonly Comparison[] = ['==', '!=', '<=', '>=', '<', '>']

function parseFilter(text: string): (item: unknown) => boolean {
  const found = findComparison(text)
  if (found === undefined) {
    const path = parseJSONPath(text.trim())
    return item => path(item).length > 0
  }
  const left = parseOperand(text.slice(0, found.at))
  const right = parseOperand(text.slice(found.at + found.operator.length))
  return item => compare(left(item), found.operator, right(item))
}

function findComparison(text: string): { at: number; operator: Comparison } | undefined {
  let quote = ''
  for (let i = 0; i < text.length; i++) {
    const character = text[i] ?? ''
    if (quote !== '') {
      if (character === '\\') i++
      else if (character === quote) quote = ''
      continue
    }
    if (character === '"' || character === "'") quote = character
    const operator = comparisons.find(candidate => text.startsWith(candidate, i))
    if (operator !== undefined) return { at: i, operator }
  }
  return undefined
}

function parseOperand(raw: string): (item: unknown) => unknown {
  const text = raw.trim()
  const quoted = unquote(text)
  if (quoted !== undefined) return () => quoted
  if (text === 'true' || text === 'false') return () => text === 'true'
  if (/^-?\d{1,15}(\.\d{1,15})?$/.test(text)) return () => Number(text)
  const path = parseJSONPath(text)
  return item => path(item)[0]
}

function compare(left: unknown, operator: Comparison, right: unknown): boolean {
  if (left === undefined || right === undefined) return false
  if (operator === '==') return left === right
  if (operator === '!=') return left !== right
  const isOrdered =
    (typeof left === 'number' && typeof right === 'number') || (typeof left === 'string' && typeof right === 'string')
  if (!isOrdered) return false
  if (operator === '<') return left < right
  if (operator === '>') return left > right
  return operator === '<=' ? left <= right : left >= right
}
