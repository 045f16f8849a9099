// Sets of field paths, for field ownership. A path is a list of steps, and a step is kept in the very text that
// `metadata.managedFields` uses for it: `f:name` for a field, `k:{"name":"x"}` for an item of a keyed list, `v:"x"` for
// a member of a set, `i:0` for a place in a list. Two steps are the same when their texts are, so the texts must be
// canonical: `toKeyStep` and `parseStep` see to that.
//
// A set is a tree. A step under `members` is in the set; a step under `children` has something below it that is. A
// field can be both, and then is written with a `.` inside: `f:labels: {".": {}, "f:app": {}}`.
//
// Sets are never changed after they are built; results of the operations may share parts with their arguments.

import { parseJSON } from '../../json.ts'
import { isObject, type JSONObject, type JSONValue, setOwn } from '../object.ts'

export type Step = string
export type Path = readonly Step[]

export interface FieldSet {
  readonly members: ReadonlySet<Step>
  readonly children: ReadonlyMap<Step, FieldSet>
}

export const emptySet: FieldSet = { members: new Set(), children: new Map() }

// Steps.

export function toFieldStep(name: string): Step {
  return `f:${name}`
}

export function toValueStep(value: JSONValue): Step {
  return `v:${toText(value)}`
}

/** The item of a keyed list that has these values in its key fields. */
export function toKeyStep(keys: readonly (readonly [name: string, value: JSONValue])[]): Step {
  const fields = keys.slice().sort((a, b) => compareText(a[0], b[0]))
  return `k:{${fields.map(([name, value]) => `${toText(name)}:${toText(value)}`).join(',')}}`
}

export function isFieldStep(step: Step): boolean {
  return step.startsWith('f:')
}

export function isKeyStep(step: Step): boolean {
  return step.startsWith('k:')
}

export function fieldName(step: Step): string {
  return step.slice(2)
}

/** The canonical text of a step, or undefined for a kind of step that a later version may know. */
export function parseStep(text: string): Step | undefined {
  if (text.length < 2) throw new Error('key must be 2 characters long:')
  if (text[1] !== ':') throw new Error(`missing colon: ${text}`)
  switch (text[0]) {
    case 'f':
      return text
    case 'v':
      return toValueStep(parseJSON(text.slice(2)).value)
    case 'k': {
      const { value } = parseJSON(text.slice(2))
      if (!isObject(value)) throw new Error(`not a key: ${text}`)
      return toKeyStep(Object.keys(value).map(name => [name, value[name] as JSONValue] as const))
    }
    case 'i':
      if (!/^[+-]?\d{1,15}$/.test(text.slice(2))) throw new Error(`not an index: ${text}`)
      return `i:${Number(text.slice(2))}`
    default:
      return undefined
  }
}

/** JSON as Go prints it into the steps: compact, keys sorted, the characters that are special in HTML escaped. */
function toText(value: JSONValue): string {
  if (typeof value === 'bigint') return value.toString()
  if (Array.isArray(value)) return `[${value.map(toText).join(',')}]`
  if (isObject(value)) {
    const fields = Object.keys(value).sort(compareText)
    return `{${fields.map(name => `${toText(name)}:${toText(value[name] as JSONValue)}`).join(',')}}`
  }
  const text = JSON.stringify(value)
  return typeof value === 'string' ? text.replace(/[<>&\u2028\u2029]/g, escapeCharacter) : text
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

// Paths, as a conflict shows them: `.spec.containers[name="web"].image`.

export function describePath(path: Path): string {
  return path.map(describeStep).join('')
}

export function describeStep(step: Step): string {
  const content = step.slice(2)
  switch (step[0]) {
    case 'f':
      return `.${content}`
    case 'k': {
      const { value } = parseJSON(content)
      const fields = isObject(value) ? Object.keys(value) : []
      return `[${fields.map(name => `${name}=${describeValue((value as JSONObject)[name] as JSONValue)}`).join(',')}]`
    }
    case 'v':
      return `[=${describeValue(parseJSON(content).value)}]`
    default:
      return `[${content}]`
  }
}

function describeValue(value: JSONValue): string {
  if (Array.isArray(value)) return `[${value.map(describeValue).join(',')}]`
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}

/** Fields before keys before values before indexes; the order in which Kubernetes writes and lists them. */
function sortSteps(steps: Iterable<Step>): Step[] {
  // Each step is read once, not at every comparison.
  return [...steps]
    .map(read)
    .sort(compareRead)
    .map(({ step }) => step)
}

interface ReadStep {
  readonly step: Step
  readonly rank: number
  readonly value: JSONValue
}

function read(step: Step): ReadStep {
  const rank = 'fkvi'.indexOf(step[0] ?? '')
  const content = step.slice(2)
  if (rank === 0) return { step, rank, value: content }
  return { step, rank, value: rank === 3 ? Number(content) : parseJSON(content).value }
}

function compareRead(a: ReadStep, b: ReadStep): number {
  return a.rank - b.rank || compareValues(a.value, b.value)
}

function compareValues(a: JSONValue, b: JSONValue): number {
  const byKind = rankOf(a) - rankOf(b)
  if (byKind !== 0) return byKind
  if (isObject(a) && isObject(b)) return compareFields(a as JSONObject, b as JSONObject)
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b)
  if (Array.isArray(a) && Array.isArray(b)) {
    const at = a.findIndex((item, i) => i >= b.length || compareValues(item, b[i] as JSONValue) !== 0)
    if (at < 0) return a.length - b.length
    return at >= b.length ? 1 : compareValues(a[at] as JSONValue, b[at] as JSONValue)
  }
  if (a === null || b === null || a === b) return 0
  return a < b ? -1 : 1
}

function compareFields(a: JSONObject, b: JSONObject): number {
  const names = Object.keys(a)
  const others = Object.keys(b)
  for (const [i, name] of names.entries()) {
    const other = others[i]
    if (other === undefined) return 1
    const order = compareText(name, other) || compareValues(a[name] as JSONValue, b[other] as JSONValue)
    if (order !== 0) return order
  }
  return names.length - others.length
}

function rankOf(value: JSONValue): number {
  if (typeof value === 'number' || typeof value === 'bigint') return 0
  if (typeof value === 'string') return 1
  if (typeof value === 'boolean') return 2
  if (Array.isArray(value)) return 3
  return value === null ? 5 : 4
}

/** Go compares the bytes of UTF-8. So do JavaScript's units, except where one side has half of a surrogate pair. */
function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const [mine, other] = [a.charCodeAt(i), b.charCodeAt(i)]
    if (mine !== other) return rankOfUnit(mine) - rankOfUnit(other)
  }
  return a.length - b.length
}

function rankOfUnit(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}

// Building.

export interface FieldSetBuilder {
  readonly members: Set<Step>
  readonly children: Map<Step, FieldSetBuilder>
}

export function newBuilder(): FieldSetBuilder {
  return { members: new Set(), children: new Map() }
}

/** No manager owns "the whole object": an empty path adds nothing. */
export function insert(builder: FieldSetBuilder, path: Path): void {
  const last = path.at(-1)
  if (last === undefined) return
  let node = builder
  for (const step of path.slice(0, -1)) {
    let next = node.children.get(step)
    if (next === undefined) {
      next = newBuilder()
      node.children.set(step, next)
    }
    node = next
  }
  node.members.add(last)
}

export function toSet(paths: Iterable<Path>): FieldSet {
  const builder = newBuilder()
  for (const path of paths) insert(builder, path)
  return builder
}

/** A set of plain fields: `fieldsAt(['metadata', 'labels'], ['status'])`. */
export function fieldsAt(...paths: readonly (readonly string[])[]): FieldSet {
  return toSet(paths.map(path => path.map(toFieldStep)))
}

// Asking.

export function isEmpty(set: FieldSet): boolean {
  if (set.members.size > 0) return false
  for (const child of set.children.values()) if (!isEmpty(child)) return false
  return true
}

export function has(set: FieldSet, path: Path): boolean {
  const last = path.at(-1)
  if (last === undefined) return false
  let node: FieldSet | undefined = set
  for (const step of path.slice(0, -1)) {
    node = node.children.get(step)
    if (node === undefined) return false
  }
  return node.members.has(last)
}

export function under(set: FieldSet, step: Step): FieldSet {
  return set.children.get(step) ?? emptySet
}

/** Members of a node come before what lies below it, each in the order of `sortSteps`. */
export function* paths(set: FieldSet, prefix: Path = []): Generator<Path> {
  for (const step of sortSteps(set.members)) yield [...prefix, step]
  for (const step of sortSteps(set.children.keys())) yield* paths(under(set, step), [...prefix, step])
}

// The algebra.

/** Of many sets in one go: to unite them one after the other copies the first of them as often as there are others. */
export function unionOf(sets: Iterable<FieldSet>): FieldSet {
  const builder = newBuilder()
  for (const set of sets) addAll(builder, set)
  return builder
}

function addAll(builder: FieldSetBuilder, { members, children }: FieldSet): void {
  for (const step of members) builder.members.add(step)
  for (const [step, set] of children) {
    let below = builder.children.get(step)
    if (below === undefined) {
      below = newBuilder()
      builder.children.set(step, below)
    }
    addAll(below, set)
  }
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (isBare(a)) return b
  if (isBare(b)) return a
  const children = new Map(a.children)
  for (const [step, set] of b.children) {
    const mine = children.get(step)
    children.set(step, mine === undefined ? set : union(mine, set))
  }
  return { members: new Set([...a.members, ...b.members]), children }
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  const children = new Map<Step, FieldSet>()
  for (const [step, set] of a.children) {
    const other = b.children.get(step)
    if (other === undefined) continue
    const shared = intersection(set, other)
    if (!isEmpty(shared)) children.set(step, shared)
  }
  return { members: new Set([...a.members].filter(step => b.members.has(step))), children }
}

/** What is in `a` and not in `b`. Taking away a field leaves what lies below it. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (isBare(b)) return a
  const children = new Map<Step, FieldSet>()
  for (const [step, set] of a.children) {
    const other = b.children.get(step)
    const left = other === undefined ? set : difference(set, other)
    if (!isEmpty(left)) children.set(step, left)
  }
  return { members: new Set([...a.members].filter(step => !b.members.has(step))), children }
}

/** As `difference`, but taking away a field takes away all below it too. */
export function recursiveDifference(a: FieldSet, b: FieldSet): FieldSet {
  if (isBare(b)) return a
  const children = new Map<Step, FieldSet>()
  for (const [step, set] of a.children) {
    if (b.members.has(step)) continue
    const other = b.children.get(step)
    const left = other === undefined ? set : recursiveDifference(set, other)
    if (!isEmpty(left)) children.set(step, left)
  }
  return { members: new Set([...a.members].filter(step => !b.members.has(step))), children }
}

/** Members with nothing below them. */
export function leaves(set: FieldSet): FieldSet {
  const children = new Map<Step, FieldSet>()
  for (const [step, child] of set.children) children.set(step, leaves(child))
  return { members: new Set([...set.members].filter(step => !set.children.has(step))), children }
}

function isBare(set: FieldSet): boolean {
  return set.members.size === 0 && set.children.size === 0
}

// The wire.

export function encodeFields(set: FieldSet): JSONObject {
  return encode(set, false)
}

function encode(set: FieldSet, isMember: boolean): JSONObject {
  const result: JSONObject = {}
  if (isMember && !isBare(set)) result['.'] = {}
  const steps = new Set([...set.members, ...set.children.keys()])
  for (const step of sortSteps(steps)) {
    const child = set.children.get(step)
    setOwn(result, step, child === undefined ? {} : encode(child, set.members.has(step)))
  }
  return result
}

/** Throws on text that is no step; drops steps of a kind that a later version may know. */
export function decodeFields(fields: JSONObject): FieldSet {
  return decode(fields).set ?? emptySet
}

function decode(fields: unknown): { set: FieldSet | undefined; isMember: boolean } {
  if (!isObject(fields)) return { set: undefined, isMember: true }
  const result = newBuilder()
  let isMember = false
  for (const text of Object.keys(fields)) {
    if (text === '.') {
      isMember = true
      continue
    }
    const step = parseStep(text)
    if (step === undefined) continue
    const inner = decode(fields[text])
    if (inner.isMember) result.members.add(step)
    if (inner.set !== undefined) result.children.set(step, inner.set as FieldSetBuilder)
  }
  if (isBare(result)) return { set: undefined, isMember: true }
  return { set: result, isMember }
}
