// A YAML file whose every value knows its path and its line. Fields are read by name; one that is spelled in other letters is read too,
// as the installer reads it, with a warning; one that the installer does not read is a fault where all names are known.

import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument, type YAMLMap } from 'yaml'
import { quoteText } from '../ip/malformed.ts'
import { installFileCharsMax, installItemsMax, yamlAliasesMax } from '../limits.ts'
import { refuseYAMLBombs } from '../yaml.ts'
import { bare, type Fault, invalid, type Marked, type Place, type Report, reporterTo, tooMany } from './fault.ts'

/** A map of the file. */
export interface Field extends Marked<ReadonlyMap<string, Entry>> {
  readonly report: Report
  readonly document: Source
}

interface Entry {
  /** As it is spelled in the file. */
  readonly spelled: string
  readonly node: Node | null
  readonly place: Place
}

interface Source {
  placeOf(node: unknown): Place
  /** What an alias stands for. */
  settled(node: unknown): unknown
}

const start: Place = { line: 1, column: 1 }

/** Undefined where there is nothing to read in it; the faults say why. */
export function readDocument(text: string, faults: Fault[]): Field | undefined {
  const report = reporterTo(faults)
  const whole = { path: '', place: start }
  if (text.length > installFileCharsMax) {
    report('TooLong', whole, `the file has ${text.length} characters: at most ${installFileCharsMax} are read`)
    return undefined
  }
  try {
    refuseYAMLBombs(text)
  } catch (error) {
    report('TooLong', whole, error instanceof Error ? error.message : String(error))
    return undefined
  }
  const lines = new LineCounter()
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }
  // Keys that stand twice are looked for below: the parser would compare each with every other.
  const parsed = parseDocument(text, { uniqueKeys: false, lineCounter: lines, logLevel: 'error' })
  const [problem] = parsed.errors
  if (problem !== undefined) {
    const [sentence = ''] = problem.message.split('\n')
    const said = plainly[problem.code] ?? bare(sentence.replace(/ at line \d+, column \d+:?$/, ''))
    report('YAMLMalformed', { path: '', place: placeAt(problem.pos[0]) }, said)
    return undefined
  }
  let aliases = 0
  const document: Source = {
    placeOf: node => placeAt((node as Node | null)?.range?.[0] ?? 0),
    settled(node) {
      if (!isAlias(node)) return node
      return ++aliases > yamlAliasesMax ? undefined : node.resolve(parsed)
    },
  }
  const root = document.settled(parsed.contents)
  if (!isMap(root)) {
    const what = isSeq(root) ? 'a list' : text.trim() === '' ? 'empty' : 'a single value'
    report(
      'TypeWrong',
      whole,
      `the file is ${what}: write an install-config, a map with keys such as platform and controlPlane`,
    )
    return undefined
  }
  return fieldOf(root, '', document, report)
}

/** What the parser says in words for programmers, and what to do about it. */
const plainly: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'a tab is no indentation in YAML: write spaces',
  MULTIPLE_DOCS:
    'a second document begins after the line "---": an install-config is one, so take that line and what follows out',
  BLOCK_AS_IMPLICIT_KEY:
    'a value with ": " in it is taken for a key: put the value in quotes, or write it on a line of its own',
}

function fieldOf(map: YAMLMap, path: string, document: Source, report: Report): Field {
  const entries = new Map<string, Entry>()
  const place = document.placeOf(map)
  const add = (pairs: readonly Pair[], isMerged: boolean): void => {
    for (const { key, value } of pairs) {
      if (!isScalar(key)) continue
      const spelled = String(key.value)
      if (spelled === '<<' && !isMerged) {
        const merged = document.settled(value)
        if (isMap(merged)) add(merged.items, true)
        continue
      }
      const lower = spelled.toLowerCase()
      const entry = { spelled, node: (value ?? null) as Node | null, place: document.placeOf(key) }
      if (!entries.has(lower)) entries.set(lower, entry)
      else if (!isMerged)
        report('KeyTwice', { path: join(path, bare(spelled)), place: entry.place }, 'the key stands twice')
    }
  }
  add(map.items as Pair[], false)
  return { value: entries, path, place, report, document }
}

const join = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)

/** The value under a key, whatever it is; undefined where it is left out or null. */
function childOf({ value, path, document, report }: Field, key: string): Marked<unknown> | undefined {
  const entry = value.get(key.toLowerCase())
  if (entry === undefined) return undefined
  const at = { path: join(path, key), place: entry.place }
  if (entry.spelled !== key)
    report('KeyCase', at, `the key is spelled ${quoteText(entry.spelled)}: write ${quoteText(key)}`)
  const node = document.settled(entry.node)
  if (node === null || node === undefined || (isScalar(node) && node.value === null)) return undefined
  return { ...at, value: node, place: document.placeOf(node) }
}

/** Where something would stand that is not there: its map. */
export const missingAt = ({ path, place }: Pick<Field, 'path' | 'place'>, key: string) => ({
  path: join(path, key),
  place,
})

export function mapAt(field: Field, key: string): Field | undefined {
  const child = childOf(field, key)
  if (child === undefined) return undefined
  if (isMap(child.value)) return fieldOf(child.value, child.path, field.document, field.report)
  field.report('TypeWrong', child, invalid(shown(child.value), 'must be a map'))
  return undefined
}

export function textAt(field: Field, key: string): Marked<string> | undefined {
  const child = childOf(field, key)
  return child && textIn(child, field)
}

export function integerAt(field: Field, key: string): Marked<number> | undefined {
  const child = childOf(field, key)
  if (child === undefined) return undefined
  const value = isScalar(child.value) ? child.value.value : undefined
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31) return { ...child, value }
  const advice = typeof value === 'string' && /^\d+$/.test(value) ? ': take the quotes off' : ''
  field.report('TypeWrong', child, invalid(shown(child.value), `must be a whole number that is not negative${advice}`))
  return undefined
}

/** Undefined where it is left out; the empty list is something else. */
function itemsAt(field: Field, key: string): readonly Marked<unknown>[] | undefined {
  const child = childOf(field, key)
  if (child === undefined) return undefined
  if (!isSeq(child.value)) {
    field.report('TypeWrong', child, invalid(shown(child.value), 'must be a list'))
    return []
  }
  const { items } = child.value
  if (items.length > installItemsMax) field.report('TooLong', child, tooMany(items.length, installItemsMax))
  return items.slice(0, installItemsMax).map((item, i) => {
    const value = field.document.settled(item)
    return { value, path: `${child.path}[${i}]`, place: field.document.placeOf(value) }
  })
}

export function textsAt(field: Field, key: string): readonly Marked<string>[] | undefined {
  return itemsAt(field, key)?.flatMap(item => textIn(item, field) ?? [])
}

export function mapsAt(field: Field, key: string): readonly Field[] | undefined {
  return itemsAt(field, key)?.flatMap(({ value, path, place }) => {
    if (isMap(value)) return [fieldOf(value, path, field.document, field.report)]
    field.report('TypeWrong', { path, place }, invalid(shown(value), 'must be a map'))
    return []
  })
}

function textIn(child: Marked<unknown>, { report }: Field): Marked<string> | undefined {
  const value = isScalar(child.value) ? child.value.value : undefined
  if (typeof value === 'string') return { ...child, value }
  const advice = isScalar(child.value) ? 'must be a text: put it in quotes' : 'must be a text'
  report('TypeWrong', child, invalid(shown(child.value), advice))
  return undefined
}

const shown = (node: unknown): string => {
  if (isMap(node)) return '{...}'
  if (isSeq(node)) return '[...]'
  return isScalar(node) ? String(node.source ?? node.value) : ''
}

export interface Elsewhere {
  readonly below: string
  readonly keys: readonly string[]
}

/** Says which keys the installer does not read, with where each belongs, or the one that is most like it. */
export function refuseOtherKeys(
  { value, path, report }: Field,
  known: readonly string[],
  elsewhere: readonly Elsewhere[] = [],
): void {
  const lower = new Set(known.map(key => key.toLowerCase()))
  for (const [key, { spelled, place }] of value) {
    if (lower.has(key)) continue
    const inside = elsewhere.find(({ keys }) => keys.some(one => one.toLowerCase() === key))
    const nearest = nearestOf(spelled, known)
    const advice = inside
      ? `write it below ${inside.below}`
      : nearest
        ? `write ${nearest}, or leave it out`
        : 'leave it out'
    const here = `the keys here are ${known.join(', ')}`
    report('KeyUnknown', { path: join(path, bare(spelled)), place }, `unknown key: ${advice}; ${here}`)
  }
}

const keyCharsCompared = 60

/** Undefined where most of it would have to be written anew: another key is meant. */
function nearestOf(text: string, known: readonly string[]): string | undefined {
  const distances = known.map(key => ({
    key,
    distance: distance(text.toLowerCase().slice(0, keyCharsCompared), key.toLowerCase()),
  }))
  const { key, distance: least } = distances.reduce((best, one) => (one.distance < best.distance ? one : best))
  return least <= key.length / 2 ? key : undefined
}

/** Letters to add, take away or change. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i)
  for (const [i, letter] of one.split('').entries()) {
    const next = [i + 1]
    for (const [j, against] of other.split('').entries()) {
      const changed = (row[j] ?? 0) + (letter === against ? 0 : 1)
      next.push(Math.min(changed, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row[other.length] ?? 0
}
