// Label selectors: the text form of `labelSelector=` and the object form of `spec.selector`, both turned into one list
// of requirements that all must hold. The text form is refused with Kubernetes' messages, because clients show them
// to users and tests compare them.

import { at, describeFault, type Fault, invalid, quote } from '../faults.ts'
import { checkLabelValue, checkQualifiedName } from '../names.ts'
import { badRequest } from '../status.ts'

export type LabelOperator = 'in' | 'notin' | '=' | '==' | '!=' | 'gt' | 'lt' | 'exists' | '!'

export interface LabelRequirement {
  readonly key: string
  readonly operator: LabelOperator
  readonly values: readonly string[]
}

export interface LabelSelector {
  readonly requirements: readonly LabelRequirement[]
  matches(labels: Readonly<Record<string, string>> | undefined): boolean
}

/** `metav1.LabelSelector` as objects carry it. */
export interface LabelSelectorObject {
  matchLabels?: Record<string, string>
  matchExpressions?: { key: string; operator: string; values?: string[] }[]
}

const everyLabel: LabelSelector = { requirements: [], matches: () => true }
const noLabel: LabelSelector = { requirements: [], matches: () => false }

/** Why a selector cannot be understood; the message is for users. */
export class SelectorError extends Error {
  override readonly name = 'SelectorError'
}

/** Parses `a=b,c!=d,e in (x,y),!f`; throws a 400 Status when it cannot. */
export function parseLabelSelector(text: string): LabelSelector {
  try {
    return toSelector(parseRequirements(text))
  } catch (error) {
    if (error instanceof SelectorError) throw badRequest(error.message)
    throw error
  }
}

/** The requirements of a selector's text, sorted by key; throws `SelectorError`. */
export function parseRequirements(text: string): LabelRequirement[] {
  return byKey(new Parser(scan(text)).selector())
}

function byKey(requirements: LabelRequirement[]): LabelRequirement[] {
  return requirements.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
}

/** A selector from its object form: absent selects nothing, empty selects everything. Throws `SelectorError`. */
export function fromLabelSelectorObject(object: LabelSelectorObject | undefined | null): LabelSelector {
  if (object === undefined || object === null) return noLabel
  const requirements: LabelRequirement[] = []
  for (const [key, value] of Object.entries(object.matchLabels ?? {})) requirements.push(require(key, '=', [value]))
  for (const { key, operator, values } of object.matchExpressions ?? []) {
    const known = objectOperators.get(operator)
    if (known === undefined) throw new SelectorError(`${quote(operator)} is not a valid label selector operator`)
    requirements.push(require(key, known, values ?? []))
  }
  return toSelector(byKey(requirements))
}

/** A selector that wants exactly these labels, as a Service or ReplicationController writes it. */
export function fromLabelSet(labels: Readonly<Record<string, string>>): LabelSelector {
  return toSelector(Object.entries(labels).map(([key, value]) => ({ key, operator: '=', values: [value] })))
}

/** The text form; parsing it gives the same selector again. */
export function formatLabelSelector(requirements: readonly LabelRequirement[]): string {
  return requirements.map(formatRequirement).join(',')
}

function formatRequirement({ key, operator, values }: LabelRequirement): string {
  const sorted = [...values].sort()
  switch (operator) {
    case 'exists':
      return key
    case '!':
      return `!${key}`
    case 'in':
    case 'notin':
      return `${key} ${operator} (${sorted.join(',')})`
    case 'gt':
      return `${key}>${sorted.join(',')}`
    case 'lt':
      return `${key}<${sorted.join(',')}`
    default:
      return `${key}${operator}${sorted.join(',')}`
  }
}

const objectOperators = new Map<string, LabelOperator>([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
])

function toSelector(requirements: readonly LabelRequirement[]): LabelSelector {
  if (requirements.length === 0) return everyLabel
  const tests = requirements.map(toTest)
  return { requirements, matches: labels => tests.every(test => test(labels ?? {})) }
}

function toTest({ key, operator, values }: LabelRequirement): (labels: Readonly<Record<string, string>>) => boolean {
  const wanted = new Set(values)
  const read = (labels: Readonly<Record<string, string>>) => (Object.hasOwn(labels, key) ? labels[key] : undefined)
  switch (operator) {
    case 'in':
    case '=':
    case '==':
      return labels => {
        const value = read(labels)
        return value !== undefined && wanted.has(value)
      }
    case 'notin':
    case '!=':
      return labels => {
        const value = read(labels)
        return value === undefined || !wanted.has(value)
      }
    case 'exists':
      return labels => read(labels) !== undefined
    case '!':
      return labels => read(labels) === undefined
    case 'gt':
    case 'lt': {
      const bound = toInteger(values[0] ?? '')
      return labels => {
        const value = toInteger(read(labels) ?? '')
        if (value === undefined || bound === undefined) return false
        return operator === 'gt' ? value > bound : value < bound
      }
    }
  }
}

/** A 64-bit integer as Go reads it, else undefined. */
function toInteger(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,30}$/.test(text)) return undefined
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text)
  return BigInt.asIntN(64, value) === value ? value : undefined
}

function require(key: string, operator: LabelOperator, values: readonly string[]): LabelRequirement {
  const faults: Fault[] = keyFaults('key', key)
  switch (operator) {
    case 'in':
    case 'notin':
      if (values.length === 0) {
        faults.push(invalid('values', values, "for 'in', 'notin' operators, values set can't be empty"))
      }
      break
    case '=':
    case '==':
    case '!=':
      if (values.length !== 1) {
        faults.push(invalid('values', values, 'exact-match compatibility requires one single value'))
      }
      break
    case 'exists':
    case '!':
      if (values.length !== 0) {
        faults.push(invalid('values', values, 'values set must be empty for exists and does not exist'))
      }
      break
    case 'gt':
    case 'lt':
      if (values.length !== 1) {
        faults.push(invalid('values', values, "for 'Gt', 'Lt' operators, exactly one value is required"))
      }
      for (const [i, value] of values.entries()) {
        if (toInteger(value) !== undefined) continue
        faults.push(invalid(at('values', i), value, "for 'Gt', 'Lt' operators, the value must be an integer"))
      }
  }
  for (const [i, value] of values.entries()) {
    const why = checkLabelValue(value)
    if (why.length > 0) faults.push(invalid(at(at('values', i), key), value, why.join('; ')))
  }
  if (faults.length > 0) throw new SelectorError(describeAll(faults))
  return { key, operator, values }
}

function keyFaults(path: string, key: string): Fault[] {
  const why = checkQualifiedName(key)
  return why.length > 0 ? [invalid(path, key, why.join('; '))] : []
}

function describeAll(faults: readonly Fault[]): string {
  const texts = [...new Set(faults.map(describeFault))]
  return texts.length === 1 ? `${texts[0]}` : `[${texts.join(', ')}]`
}

type TokenType = 'end' | 'identifier' | ')' | ',' | '!' | '==' | '=' | '>' | 'in' | '<' | '!=' | 'notin' | '('
interface Token {
  readonly type: TokenType
  readonly text: string
}

const special = new Set(['=', '!', '(', ')', ',', '>', '<'])
const space = new Set([' ', '\t', '\r', '\n'])
const symbols: ReadonlySet<string> = new Set([')', ',', '!', '==', '=', '>', '<', '!=', '('])

function scan(text: string): Token[] {
  const tokens: Token[] = []
  let i = 0
  for (;;) {
    while (space.has(text[i] ?? '')) i++
    const first = text[i]
    // A zero byte ends the text, as it does for every other reader of selectors.
    if (first === undefined || first === '\0') return [...tokens, { type: 'end', text: '' }]
    const start = i
    if (special.has(first)) {
      const token = symbolAt(text, start)
      tokens.push(token)
      i = start + token.text.length
      continue
    }
    while (i < text.length && !special.has(text[i] ?? '') && !space.has(text[i] ?? '') && text[i] !== '\0') i++
    const word = text.slice(start, i)
    tokens.push({ type: word === 'in' || word === 'notin' ? word : 'identifier', text: word })
  }
}

/** The longest symbol that starts here; every special character is one by itself. */
function symbolAt(text: string, start: number): Token {
  const two = text.slice(start, start + 2)
  const symbol = symbols.has(two) ? two : text.slice(start, start + 1)
  return { type: symbol as TokenType, text: symbol }
}

class Parser {
  readonly #tokens: readonly Token[]
  #at = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  selector(): LabelRequirement[] {
    const requirements: LabelRequirement[] = []
    for (;;) {
      const token = this.#peek()
      if (token.type === 'end') return requirements
      if (token.type !== 'identifier' && token.type !== '!') {
        throw new SelectorError(`found '${token.text}', expected: !, identifier, or 'end of string'`)
      }
      requirements.push(this.#requirement())
      const next = this.#take()
      if (next.type === 'end') return requirements
      if (next.type !== ',') throw new SelectorError(`found '${next.text}', expected: ',' or 'end of string'`)
      const after = this.#peek()
      if (after.type !== 'identifier' && after.type !== '!') {
        throw new SelectorError(`found '${after.text}', expected: identifier after ','`)
      }
    }
  }

  #requirement(): LabelRequirement {
    try {
      return this.#keyOperatorValues()
    } catch (error) {
      if (error instanceof SelectorError) throw new SelectorError(`unable to parse requirement: ${error.message}`)
      throw error
    }
  }

  #keyOperatorValues(): LabelRequirement {
    let token = this.#take()
    const isNegated = token.type === '!'
    if (isNegated) token = this.#take()
    if (token.type !== 'identifier') throw new SelectorError(`found '${token.text}', expected: identifier`)
    const key = token.text
    const faults = keyFaults('<nil>', key)
    if (faults.length > 0) throw new SelectorError(describeAll(faults))
    if (isNegated) return require(key, '!', [])
    const next = this.#peek().type
    if (next === 'end' || next === ',') return require(key, 'exists', [])
    const operator = this.#operator()
    const values = operator === 'in' || operator === 'notin' ? this.#values() : [this.#exactValue()]
    return require(key, operator, values)
  }

  #operator(): LabelOperator {
    const token = this.#takeRaw()
    switch (token.type) {
      case 'in':
      case 'notin':
      case '=':
      case '==':
      case '!=':
        return token.type
      case '>':
        return 'gt'
      case '<':
        return 'lt'
      default:
        throw new SelectorError(`found '${token.text}', expected: in, notin, =, ==, !=, gt, lt`)
    }
  }

  #values(): string[] {
    const open = this.#take()
    if (open.type !== '(') throw new SelectorError(`found '${open.text}' expected: '('`)
    const first = this.#peek()
    if (first.type === ')') {
      this.#take()
      return ['']
    }
    if (first.type !== 'identifier' && first.type !== ',') {
      throw new SelectorError(`found '${first.text}', expected: ',', ')' or identifier`)
    }
    const values = new Set<string>()
    for (;;) {
      const token = this.#take()
      if (token.type !== 'identifier' && token.type !== ',') {
        throw new SelectorError(`found '${token.text}', expected: ',', or identifier`)
      }
      const next = this.#peek()
      if (token.type === 'identifier') {
        values.add(token.text)
        if (next.type !== ',' && next.type !== ')') {
          throw new SelectorError(`found '${next.text}', expected: ',' or ')'`)
        }
      } else if (values.size === 0 || next.type === ')' || next.type === ',') {
        values.add('') // a comma with nothing before or after it is next to an empty value
      }
      if (next.type !== ')') continue
      this.#take()
      return [...values].sort()
    }
  }

  #exactValue(): string {
    const next = this.#peek()
    if (next.type === 'end' || next.type === ',') return ''
    const token = this.#take()
    if (token.type !== 'identifier') throw new SelectorError(`found '${token.text}', expected: identifier`)
    return token.text
  }

  // `in` and `notin` are words like any other except where an operator must stand.
  #peek(): Token {
    return toWord(this.#tokens[Math.min(this.#at, this.#tokens.length - 1)])
  }

  #take(): Token {
    return toWord(this.#takeRaw())
  }

  #takeRaw(): Token {
    return this.#tokens[Math.min(this.#at++, this.#tokens.length - 1)] ?? endToken
  }
}

const endToken: Token = { type: 'end', text: '' }

function toWord(token: Token | undefined): Token {
  if (token === undefined) return endToken
  return token.type === 'in' || token.type === 'notin' ? { type: 'identifier', text: token.text } : token
}
