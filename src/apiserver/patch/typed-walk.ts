// Walks over objects with their schema in hand: which fields does an object set, how do two objects differ, what is
// their merge, what remains without some fields, is the object possible at all. These are the five questions
// server-side apply asks; none of the walks changes its arguments.
//
// Depth is bounded by the depth of JSON that was accepted; nothing here nests deeper than its arguments.

import { equal, getOwn, isObject, type JSONValue, setOwn } from '../object.ts'
import {
  type Atom,
  type AtomKind,
  atomOf,
  chooseKind,
  type ListType,
  type MapType,
  type ObjectType,
  type TypeRef,
} from './atom.ts'
import {
  describeStep,
  type FieldSet,
  type FieldSetBuilder,
  fieldName,
  fieldsAt,
  insert,
  isEmpty,
  isFieldStep,
  isKeyStep,
  newBuilder,
  type Path,
  recursiveDifference,
  type Step,
  toFieldStep,
  toKeyStep,
  toSet,
  toValueStep,
  under,
  union,
} from './field-set.ts'
import { toGoSyntax, toGoText, toGoType } from './go-text.ts'

type Value = JSONValue | undefined
type JSONMap = Record<string, JSONValue>

/** An object that its schema cannot hold, in the words of Kubernetes. */
export class TypeFault extends Error {
  override readonly name = 'TypeFault'

  constructor(faults: readonly string[]) {
    super(faults.length === 1 ? faults[0] : ['errors:', ...faults.map(fault => `  ${fault}`)].join('\n'))
  }
}

// Steps of list items.

function stepOf(list: ListType, item: JSONValue, type: ObjectType): Step {
  if (list.keys.length > 0) return keyStepOf(list, item, type)
  if (item === null) throw new Error("associative list without keys has an element that's an explicit null")
  if (Array.isArray(item)) throw new Error('not supported: associative list with lists as elements')
  if (isObject(item)) throw new Error("associative list without keys has an element that's a map type")
  return toValueStep(item)
}

function keyStepOf(list: ListType, item: JSONValue, type: ObjectType): Step {
  if (item === null) throw new Error('associative list with keys may not have a null element')
  if (!isObject(item)) throw new Error('associative list with keys may not have non-map elements')
  const keys: [string, JSONValue][] = []
  for (const name of list.keys) {
    const value = (getOwn(item, name) ?? defaultOf(list, name, type)) as Value
    // A key that is left out makes a different item than any value of it would.
    if (value !== undefined) keys.push([name, value])
  }
  if (keys.length > 0) return toKeyStep(keys)
  const names = `[${list.keys.map(name => JSON.stringify(name)).join(' ')}]`
  throw new Error(
    `associative list with keys has an element that omits all key fields ${names} (and doesn't have default values for any key fields)`,
  )
}

function defaultOf(list: ListType, name: string, type: ObjectType): unknown {
  const field = atomOf(list.element, type.definitions).map?.fields.get(name)
  return field?.kind === 'schema' ? (field.schema.default ?? undefined) : undefined
}

function fieldRef(map: MapType, name: string): TypeRef | undefined {
  return map.fields.get(name) ?? map.element
}

function asMap(value: Value): JSONMap | undefined {
  return isObject(value) ? (value as JSONMap) : undefined
}

function asList(value: Value): JSONValue[] | undefined {
  return Array.isArray(value) ? value : undefined
}

function keysOf(map: JSONMap | undefined): string[] {
  return map === undefined ? [] : Object.keys(map).filter(key => map[key] !== undefined)
}

function valueAt(map: JSONMap | undefined, key: string): Value {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined
}

// Is it possible?

/** Throws a `TypeFault` that names every field the schema does not know or cannot hold. */
export function assertTyped(type: ObjectType, value: JSONValue): void {
  const faults: string[] = []
  check(type.root, value, '', { type, faults })
  if (faults.length > 0) throw new TypeFault(faults)
}

interface Check {
  readonly type: ObjectType
  readonly faults: string[]
}

function check(ref: TypeRef, value: JSONValue, path: string, context: Check): void {
  const atom = atomOf(ref, context.type.definitions)
  const fail = (message: string) => context.faults.push(path === '' ? message : `${path}: ${message}`)
  if (value === null) return
  switch (chooseKind(atom, value)) {
    case 'map':
      if (!isObject(value)) fail(`expected map, got &{${toGoText(value)}}`)
      else if (atom.map !== undefined) checkMap(atom.map, value as JSONMap, path, context)
      return
    case 'list':
      if (!Array.isArray(value)) fail(`expected list, got &{${toGoText(value)}}`)
      else if (atom.list !== undefined) checkList(atom.list, value, path, context)
      return
    case 'scalar': {
      const fault = scalarFault(atom, value)
      if (fault !== undefined) fail(fault)
    }
  }
}

function scalarFault(atom: Atom, value: JSONValue): string | undefined {
  const isNumber = typeof value === 'number' || typeof value === 'bigint'
  switch (atom.scalar) {
    case 'numeric':
      return isNumber ? undefined : `expected numeric (int or float), got ${toGoType(value)}`
    case 'string':
      if (typeof value === 'string') return undefined
      return `expected string, got &value.valueUnstructured{Value:${toGoSyntax(value)}}`
    case 'boolean':
      return typeof value === 'boolean' ? undefined : `expected boolean, got &{${toGoText(value)}}`
    default:
      return typeof value === 'object' ? `expected any scalar, got &{${toGoText(value)}}` : undefined
  }
}

function checkMap(map: MapType, value: JSONMap, path: string, context: Check): void {
  for (const key of keysOf(value)) {
    const ref = fieldRef(map, key)
    if (ref === undefined) {
      // One unknown field is enough to know that the rest was meant for something else.
      context.faults.push(`${path}.${key}: field not declared in schema`)
      return
    }
    check(ref, value[key] as JSONValue, `${path}.${key}`, context)
  }
}

function checkList(list: ListType, value: JSONValue[], path: string, context: Check): void {
  const seen = new Set<Step>()
  for (const [i, item] of value.entries()) {
    const step = list.isAtomic ? `i:${i}` : attemptStep(list, item, i, path, context)
    if (step === undefined) return
    if (seen.has(step)) context.faults.push(`${path}: duplicate entries for key ${describeStep(step)}`)
    seen.add(step)
    check(list.element, item, path + describeStep(step), context)
  }
}

function attemptStep(list: ListType, item: JSONValue, i: number, path: string, context: Check): Step | undefined {
  try {
    return stepOf(list, item, context.type)
  } catch (error) {
    context.faults.push(`${path}: element ${i}: ${messageOf(error)}`)
    return undefined
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

// Which fields does it set?

export function toFieldSet(type: ObjectType, value: JSONValue): FieldSet {
  const set = newBuilder()
  collect(type.root, value, [], { type, set })
  return set
}

interface Collection {
  readonly type: ObjectType
  readonly set: FieldSetBuilder
}

function collect(ref: TypeRef, value: JSONValue, path: Path, context: Collection): void {
  const atom = atomOf(ref, context.type.definitions)
  const kind = chooseKind(atom, value)
  if (kind === 'scalar' || atom[kind]?.isAtomic) {
    insert(context.set, path)
    return
  }
  if (kind === 'map' && atom.map !== undefined) collectMap(atom.map, asMap(value), path, context)
  if (kind === 'list' && atom.list !== undefined) collectList(atom.list, asList(value), path, context)
}

function collectMap(map: MapType, value: JSONMap | undefined, path: Path, context: Collection): void {
  for (const key of keysOf(value)) {
    const ref = fieldRef(map, key)
    const item = valueAt(value, key) ?? null
    const inner = [...path, toFieldStep(key)]
    if (ref !== undefined) collect(ref, item, inner, context)
    // An empty map has no field to stand for it, and neither has a key that no schema declares.
    const isBlank = item === null || (isObject(item) && keysOf(item as JSONMap).length === 0)
    if (isBlank || !map.fields.has(key)) insert(context.set, inner)
  }
}

function collectList(list: ListType, value: JSONValue[] | undefined, path: Path, context: Collection): void {
  const steps = (value ?? []).map(item => stepOf(list, item, context.type))
  const counts = countOf(steps)
  for (const [i, step] of steps.entries()) {
    const inner = [...path, step]
    // Duplicates are owned together, as one.
    if (counts.get(step) === 1) collect(list.element, value?.[i] ?? null, inner, context)
    insert(context.set, inner)
  }
}

function countOf(steps: readonly Step[]): Map<Step, number> {
  const counts = new Map<Step, number>()
  for (const step of steps) counts.set(step, (counts.get(step) ?? 0) + 1)
  return counts
}

// How do they differ?

export interface Comparison {
  readonly added: FieldSet
  readonly modified: FieldSet
  readonly removed: FieldSet
}

export function compare(type: ObjectType, before: JSONValue, after: JSONValue): Comparison {
  const difference: Difference = { type, added: newBuilder(), modified: newBuilder(), removed: newBuilder() }
  compareAt(type.root, before, after, [], difference)
  return difference
}

/** Leaves ignored fields, and all below them, out of a comparison. */
export function ignoring(comparison: Comparison, ignored: FieldSet): Comparison {
  return {
    added: recursiveDifference(comparison.added, ignored),
    modified: recursiveDifference(comparison.modified, ignored),
    removed: recursiveDifference(comparison.removed, ignored),
  }
}

interface Difference {
  readonly type: ObjectType
  readonly added: FieldSetBuilder
  readonly modified: FieldSetBuilder
  readonly removed: FieldSetBuilder
}

function compareAt(ref: TypeRef, before: Value, after: Value, path: Path, context: Difference): void {
  const atom = atomOf(ref, context.type.definitions)
  // A value that changed its kind is a change of the old kind and of the new one.
  const kinds = kindsOf(atom, before, after)
  let isLeaf = false
  for (const kind of kinds) isLeaf = compareAs(kind, atom, before, after, path, context)
  if (isLeaf) return
  if (before === undefined) insert(context.added, path)
  else if (after === undefined) insert(context.removed, path)
}

function kindsOf(atom: Atom, before: Value, after: Value): AtomKind[] {
  if (after === undefined) return [chooseKind(atom, before)]
  const kind = chooseKind(atom, after)
  const previous = before === undefined ? kind : chooseKind(atom, before)
  return previous === kind ? [kind] : [previous, kind]
}

/** True when the place counts as one value, which is then fully compared. */
function compareAs(kind: AtomKind, atom: Atom, before: Value, after: Value, path: Path, context: Difference): boolean {
  const isGranular = kind !== 'scalar' && atom[kind]?.isAtomic === false
  if (kind === 'map' && atom.map !== undefined && isGranular && !(isBlankMap(before) && isBlankMap(after))) {
    compareMaps(atom.map, asMap(before), asMap(after), path, context)
    return false
  }
  if (kind === 'list' && atom.list !== undefined && isGranular && !(isBlankList(before) && isBlankList(after))) {
    compareLists(atom.list, asList(before) ?? [], asList(after) ?? [], path, context)
    return false
  }
  if (before === undefined) insert(context.added, path)
  else if (after === undefined) insert(context.removed, path)
  else if (!equal(before, after)) insert(context.modified, path)
  return true
}

/** Two empty maps are compared as values, which keeps apart the empty one and the absent one. */
function isBlankMap(value: Value): boolean {
  return !isObject(value) || keysOf(value as JSONMap).length === 0
}

function isBlankList(value: Value): boolean {
  return !Array.isArray(value) || value.length === 0
}

function compareMaps(
  map: MapType,
  before: JSONMap | undefined,
  after: JSONMap | undefined,
  path: Path,
  context: Difference,
): void {
  for (const key of new Set([...keysOf(before), ...keysOf(after)])) {
    const ref = fieldRef(map, key)
    if (ref !== undefined) {
      compareAt(ref, valueAt(before, key), valueAt(after, key), [...path, toFieldStep(key)], context)
    }
  }
}

function compareLists(list: ListType, before: JSONValue[], after: JSONValue[], path: Path, context: Difference): void {
  const old = groupByStep(list, before, context.type)
  const now = groupByStep(list, after, context.type)
  for (const step of new Set([...old.keys(), ...now.keys()])) {
    const inner = [...path, step]
    const [first, ...others] = old.get(step) ?? []
    const [next, ...rest] = now.get(step) ?? []
    const wasDuplicate = others.length > 0
    const isDuplicate = rest.length > 0
    if (!wasDuplicate && !isDuplicate) {
      compareAt(list.element, first, next, inner, context)
      continue
    }
    if (wasDuplicate && isDuplicate) {
      if (!equal(old.get(step), now.get(step))) insert(context.modified, inner)
      continue
    }
    // Duplicates are owned as one: becoming or ceasing to be one changes the place as a whole.
    if (wasDuplicate && next !== undefined) compareAt(list.element, undefined, next, inner, context)
    if (isDuplicate && first !== undefined) compareAt(list.element, first, undefined, inner, context)
    insert(wasDuplicate ? context.removed : context.added, inner)
  }
}

function groupByStep(list: ListType, items: JSONValue[], type: ObjectType): Map<Step, JSONValue[]> {
  const groups = new Map<Step, JSONValue[]>()
  for (const item of items) {
    const step = stepOf(list, item, type)
    const group = groups.get(step)
    if (group === undefined) groups.set(step, [item])
    else group.push(item)
  }
  return groups
}

// What is their merge?

/** All of `live`, overwritten by what `config` sets. Nothing is removed; lists follow the order of `config`. */
export function merge(type: ObjectType, live: JSONValue, config: JSONValue): JSONValue {
  return mergeAt(type.root, live, config, type) ?? {}
}

function mergeAt(ref: TypeRef, live: Value, config: Value, type: ObjectType): Value {
  const atom = atomOf(ref, type.definitions)
  const kind = chooseKind(atom, config === undefined ? live : config)
  const isGranular = kind !== 'scalar' && atom[kind]?.isAtomic === false
  if (kind === 'map' && atom.map !== undefined && isGranular && !(isBlankMap(live) && isBlankMap(config))) {
    return mergeMaps(atom.map, asMap(live), asMap(config), type)
  }
  if (kind === 'list' && atom.list !== undefined && isGranular && !(isBlankList(live) && isBlankList(config))) {
    return mergeLists(atom.list, asList(live) ?? [], asList(config) ?? [], type)
  }
  return config === undefined ? live : config
}

function mergeMaps(map: MapType, live: JSONMap | undefined, config: JSONMap | undefined, type: ObjectType): Value {
  const merged: JSONMap = {}
  for (const key of new Set([...keysOf(live), ...keysOf(config)])) {
    const ref = fieldRef(map, key)
    const [before, after] = [valueAt(live, key), valueAt(config, key)]
    const value = ref === undefined ? (after ?? before) : mergeAt(ref, before, after, type)
    if (value !== undefined) setOwn(merged, key, value)
  }
  return keysOf(merged).length > 0 ? merged : undefined
}

/**
 * Items both have come in the order of `config`; items only `live` has keep their place among their neighbours. An item
 * that `live` has twice cannot be merged with, so `config`'s takes its place.
 */
function mergeLists(list: ListType, live: JSONValue[], config: JSONValue[], type: ObjectType): Value {
  const liveSteps = live.map(item => stepOf(list, item, type))
  const configSteps = config.map(item => stepOf(list, item, type))
  const liveItems = new Map<Step, Value>()
  for (const [i, step] of liveSteps.entries()) liveItems.set(step, liveItems.has(step) ? null : live[i])
  const configItems = new Map(configSteps.map((step, i) => [step, config[i]] as const))
  const shared = configSteps.filter(step => liveItems.has(step))
  const merged: JSONValue[] = []
  const push = (step: Step, before: Value) => {
    const value = mergeAt(list.element, before, configItems.get(step), type)
    if (value !== undefined) merged.push(value)
  }

  const taken = new Set<Step>()
  let nextShared = shared.shift()
  let l = 0
  let c = 0
  while (l < live.length || c < config.length) {
    const liveStep = liveSteps[l]
    const configStep = configSteps[c]
    if (liveStep !== undefined && configStep !== undefined) {
      if (liveStep === configStep) {
        taken.add(liveStep)
        push(liveStep, liveItems.get(liveStep))
        l++
        c++
        nextShared = shared.shift()
        continue
      }
      if (configItems.has(liveStep) && nextShared !== undefined && nextShared !== liveStep) {
        l++
        continue
      }
    }
    if (liveStep !== undefined) {
      if (!configItems.has(liveStep)) {
        push(liveStep, live[l])
        l++
        continue
      }
      if (taken.has(liveStep)) l++
    }
    if (configStep !== undefined) {
      taken.add(configStep)
      push(configStep, liveItems.get(configStep))
      c++
      if (nextShared === configStep) nextShared = shared.shift()
    }
  }
  return merged.length > 0 ? merged : undefined
}

// What remains without some fields?

/** A container that loses its last item becomes null, as it does on a real server. */
export function removeItems(type: ObjectType, value: JSONValue, doomed: FieldSet): JSONValue {
  return removeAt(type.root, value, doomed, type) ?? {}
}

function removeAt(ref: TypeRef | undefined, value: JSONValue, doomed: FieldSet, type: ObjectType): JSONValue {
  if (ref === undefined) return value
  const atom = atomOf(ref, type.definitions)
  const kind = chooseKind(atom, value)
  if (kind === 'scalar') return value
  if (atom[kind]?.isAtomic) return null
  if (kind === 'map' && atom.map !== undefined) return removeFromMap(atom.map, asMap(value), doomed, type)
  return atom.list === undefined ? null : removeFromList(atom.list, asList(value) ?? [], doomed, type)
}

function removeFromMap(map: MapType, value: JSONMap | undefined, doomed: FieldSet, type: ObjectType): JSONValue {
  const kept: JSONMap = {}
  for (const key of keysOf(value)) {
    const step = toFieldStep(key)
    if (doomed.members.has(step)) continue
    const below = under(doomed, step)
    const item = valueAt(value, key) ?? null
    setOwn(kept, key, isEmpty(below) ? item : removeAt(fieldRef(map, key), item, below, type))
  }
  return keysOf(kept).length > 0 ? kept : null
}

function removeFromList(list: ListType, value: JSONValue[], doomed: FieldSet, type: ObjectType): JSONValue {
  const kept: JSONValue[] = []
  for (const item of value) {
    const step = stepOf(list, item, type)
    if (doomed.members.has(step)) continue
    const below = under(doomed, step)
    kept.push(isEmpty(below) ? item : removeAt(list.element, item, below, type))
  }
  return kept.length > 0 ? kept : null
}

// Sets that must fit the schema.

/** A declared field with something owned below it counts as owned itself: it goes when the last thing in it goes. */
export function withNamedFields(type: ObjectType, set: FieldSet): FieldSet {
  return nameFields(type.root, set, type)
}

function nameFields(ref: TypeRef | undefined, set: FieldSet, type: ObjectType): FieldSet {
  const atom = ref === undefined ? {} : atomOf(ref, type.definitions)
  const members = new Set(set.members)
  const children = new Map<Step, FieldSet>()
  for (const [step, child] of set.children) {
    if (isFieldStep(step) && atom.map?.fields.has(fieldName(step))) members.add(step)
    children.set(step, nameFields(refBelow(atom, step), child, type))
  }
  return { members, children }
}

function refBelow(atom: Atom, step: Step): TypeRef | undefined {
  if (isFieldStep(step)) return atom.map && fieldRef(atom.map, fieldName(step))
  return isKeyStep(step) ? atom.list?.element : undefined
}

/** Ownership written when a list or map was granular, read after the schema made it atomic: the whole is owned now. */
export function fitToSchema(type: ObjectType, set: FieldSet): FieldSet {
  const turned: Path[] = []
  findAtomic(type.root, set, [], { type, turned })
  if (turned.length === 0) return set
  const whole = toSet(turned)
  return union(recursiveDifference(set, whole), whole)
}

interface Turned {
  readonly type: ObjectType
  readonly turned: Path[]
}

function findAtomic(ref: TypeRef, set: FieldSet, path: Path, context: Turned): void {
  if (ref.kind === 'deduced') return
  const atom = atomOf(ref, context.type.definitions)
  const kind = chooseKind(atom, undefined)
  if (kind === 'scalar') return
  if (kind === 'map' && atom.map?.fields.size === 0 && atom.map.element?.kind === 'deduced') return
  if (path.length > 0 && atom[kind]?.isAtomic && !isEmpty(set)) {
    context.turned.push(path)
    return
  }
  for (const [step, child] of set.children) {
    const inner = kind === 'list' ? atom.list?.element : refBelow(atom, step)
    if (inner !== undefined) findAtomic(inner, child, [...path, step], context)
  }
}

/** The fields of every object that belong to the server or to its identity, and so to no manager. */
export const identityFields: FieldSet = fieldsAt(
  ['apiVersion'],
  ['kind'],
  ['metadata'],
  ['metadata', 'name'],
  ['metadata', 'namespace'],
  ['metadata', 'creationTimestamp'],
  ['metadata', 'selfLink'],
  ['metadata', 'uid'],
  ['metadata', 'clusterName'],
  ['metadata', 'generation'],
  ['metadata', 'managedFields'],
  ['metadata', 'resourceVersion'],
)
