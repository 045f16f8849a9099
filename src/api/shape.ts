// From `unknown` to a trusted type. An object from the API may hold anything: a field of the wrong type, no field at all,
// a list with a hole. Readers never throw; each adds a sentence about what it found to the faults of the whole, so one
// answer names everything that is wrong. Only own properties are read: `constructor` is a field of no object.

import type { Malformed } from '../ip/malformed.ts'
import { quoteText } from '../ip/malformed.ts'

/** An object under inspection: its fields, where it stands, and where its faults go. */
export interface Shape {
  readonly value: Readonly<Record<string, unknown>>
  /** Made into a path only when there is a fault: tens of thousands of objects are read at a start, and have none. */
  readonly place: Place
  readonly faults: string[]
}

/** A text: the path to the whole. Otherwise the field, or the item of a list, of what stands elsewhere. */
type Place = string | { readonly of: Place; readonly key: string | number }

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Undefined where the text is no JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function shapeOf(value: unknown, place: Place, faults: string[]): Shape {
  if (isRecord(value)) return { value, place, faults }
  if (value !== undefined && value !== null) faults.push(`${pathOf(place)} is ${kindOf(value)} where an object belongs`)
  return { value: nothing, place, faults }
}

const nothing = {}

/** A nested object; an absent one reads as empty, and its own readers say what is missing. */
export const childOf = (shape: Shape, key: string): Shape =>
  shapeOf(fieldOf(shape, key), { of: shape.place, key }, shape.faults)

export const has = (shape: Shape, key: string): boolean => fieldOf(shape, key) !== undefined

export function textOf(shape: Shape, key: string): string | undefined {
  const value = fieldOf(shape, key)
  if (value === undefined || typeof value === 'string') return value
  shape.faults.push(`${pathTo(shape, key)} is ${kindOf(value)} where a text belongs`)
  return undefined
}

/** A text that must be there and say something. */
export function requiredText(shape: Shape, key: string): string {
  const before = shape.faults.length
  const text = textOf(shape, key)
  if (text !== undefined && text !== '') return text
  if (shape.faults.length === before) shape.faults.push(`${pathTo(shape, key)} is missing`)
  return ''
}

export function flagOf(shape: Shape, key: string): boolean {
  const value = fieldOf(shape, key)
  if (value === undefined || typeof value === 'boolean') return value ?? false
  shape.faults.push(`${pathTo(shape, key)} is ${kindOf(value)} where true or false belongs`)
  return false
}

export function integerOf(shape: Shape, key: string, least: number, most: number): number | undefined {
  const value = fieldOf(shape, key)
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value
  shape.faults.push(`${pathTo(shape, key)} is ${kindOf(value)} where a whole number of ${least} to ${most} belongs`)
  return undefined
}

export function textsOf(shape: Shape, key: string): readonly string[] {
  const value = fieldOf(shape, key)
  if (value === undefined) return []
  if (Array.isArray(value) && value.every(item => typeof item === 'string')) return value
  shape.faults.push(`${pathTo(shape, key)} is not a list of texts`)
  return []
}

export function shapesOf(shape: Shape, key: string): readonly Shape[] {
  const value = fieldOf(shape, key)
  if (value === undefined) return []
  if (Array.isArray(value)) {
    const list: Place = { of: shape.place, key }
    return value.map((item, i) => shapeOf(item, { of: list, key: i }, shape.faults))
  }
  shape.faults.push(`${pathTo(shape, key)} is ${kindOf(value)} where a list belongs`)
  return []
}

/** A map of texts, such as labels. Look a key up with `ownText`: the keys are chosen by users. */
export function textMapOf(shape: Shape, key: string): Readonly<Record<string, string>> {
  const value = fieldOf(shape, key)
  if (value === undefined) return noTexts
  if (isRecord(value) && isTextMap(value)) return value
  shape.faults.push(`${pathTo(shape, key)} is not a map of texts`)
  return noTexts
}

export function oneOf<const T extends string>(shape: Shape, key: string, allowed: readonly T[], otherwise: T): T {
  const text = textOf(shape, key)
  if (text === undefined) return otherwise
  const match = allowed.find(one => one === text)
  if (match !== undefined) return match
  shape.faults.push(`${pathTo(shape, key)} is ${quoteText(text)}, which is none of ${allowed.join(', ')}`)
  return otherwise
}

export const ownText = (map: Readonly<Record<string, string>>, key: string): string | undefined =>
  Object.hasOwn(map, key) ? map[key] : undefined

/** What an annotation lists, separated by commas. Most objects have no such annotation: they share one empty list. */
export const itemsOf = (text: string | undefined): readonly string[] =>
  text === undefined || text.trim() === '' ? noItems : text.split(',').map(item => item.trim())

const noItems: readonly string[] = []

/** More are counted: a list may have thousands of entries, and a condition takes no message of any length. */
const faultsNamedMax = 10

export function malformedBy(faults: readonly string[]): Malformed {
  const more = faults.length - faultsNamedMax
  const named = faults.slice(0, faultsNamedMax).join('; ')
  return { malformed: more > 0 ? `${named}; and ${more} more` : named }
}

const noTexts: Readonly<Record<string, string>> = {}

function isTextMap(value: Readonly<Record<string, unknown>>): value is Readonly<Record<string, string>> {
  for (const key in value) if (typeof value[key] !== 'string') return false
  return true
}

/** Null reads as absent, as the API server has it. What an object has by birth are functions, and nothing that was read is one. */
function fieldOf({ value }: Shape, key: string): unknown {
  const found = value[key] ?? undefined
  return typeof found === 'function' && !Object.hasOwn(value, key) ? undefined : found
}

export const pathTo = ({ place }: Shape, key: string): string => pathOf({ of: place, key })

function pathOf(place: Place): string {
  if (typeof place === 'string') return place
  const path = pathOf(place.of)
  if (typeof place.key === 'number') return `${path}[${place.key}]`
  return path === '' ? place.key : `${path}.${place.key}`
}

function kindOf(value: unknown): string {
  if (typeof value === 'string') return quoteText(value)
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return `${value}`
  return 'an object'
}
