// Strategic merge patch: a merge patch that knows, from the kind's schema, which lists are really maps. It is what
// `kubectl apply`, `edit`, `label`, `set` and `scale` send for built-in kinds, together with directives: `$patch`
// (delete or replace), `$deleteFromPrimitiveList/F`, `$setElementOrder/F` and `$retainKeys`. Items
// named by the patch come in the patch's order, and the others keep their place among them.

import { clone, getOwn, isObject, type JSONValue, setOwn } from '../object.ts'
import { type Definitions, resolve, type Schema } from '../schema/schema.ts'
import { badRequest, type StatusError } from '../status.ts'
import { toGoText, toGoType, toJSONKind } from './go-text.ts'
import { notApplicable, unexplained } from './refusals.ts'

type JSONMap = Record<string, JSONValue>

const directiveKey = '$patch'
const retainKeysKey = '$retainKeys'
const deleteItemsPrefix = '$deleteFromPrimitiveList'
const orderPrefix = '$setElementOrder'

const badPrimitiveList = 'invalid patch format of primitive list'
const badRetainKeys = 'invalid patch format of retainKeys'
const badOrderList = 'invalid patch format of setElementOrder list'

/** Neither the object nor the patch is changed. */
export function applyStrategicMergePatch(
  original: JSONValue,
  patch: JSONValue,
  schema: Schema,
  definitions: Definitions,
): JSONValue {
  if (!isObject(patch) || !isObject(original)) {
    throw badRequest(`json: cannot unmarshal ${toJSONKind(patch)} into Go value of type map[string]interface {}`)
  }
  return mergeMap(clone(original) as JSONMap, clone(patch) as JSONMap, toShape(schema, definitions))
}

// Where we are in the schema.

interface Shape {
  readonly schema: Schema | undefined
  readonly name: string
  readonly definitions: Definitions
}

interface FieldShape {
  readonly shape: Shape
  readonly strategy: string
  readonly mergeKey: string
}

function toShape(schema: Schema | undefined, definitions: Definitions): Shape {
  if (schema === undefined) return { schema: undefined, name: '', definitions }
  const resolved = resolve(schema, definitions)
  const ref = schema.$ref ?? schema.allOf?.[0]?.$ref
  const kind = resolved['x-kubernetes-group-version-kind']?.[0]?.kind
  return { schema: resolved, name: ref?.slice(ref.lastIndexOf('.') + 1) ?? kind ?? '', definitions }
}

function fieldOf(parent: Shape, key: string): { field: Schema; strategy: string; mergeKey: string } {
  const properties = parent.schema?.properties
  if (properties === undefined) {
    throw unexplained('merging an object in json but data type is not struct, instead is: map')
  }
  const field = Object.hasOwn(properties, key) ? properties[key] : undefined
  if (field === undefined) {
    throw unexplained(`unable to find api field in struct ${parent.name} for the json field "${key}"`)
  }
  // `retainKeys` beside another strategy needs no work of its own here: its directive travels inside the patch.
  const strategies = (field['x-kubernetes-patch-strategy'] ?? '').split(',').filter(word => word !== '')
  const others = strategies.filter(word => word !== 'retainKeys')
  if (others.length > 1) throw unexplained(`unexpected patch strategy: ${toGoText(strategies)}`)
  return { field, strategy: others[0] ?? '', mergeKey: field['x-kubernetes-patch-merge-key'] ?? '' }
}

function mapField(parent: Shape, key: string): FieldShape {
  const { field, strategy, mergeKey } = fieldOf(parent, key)
  return { shape: toShape(field, parent.definitions), strategy, mergeKey }
}

function listField(parent: Shape, key: string): FieldShape {
  const { field, strategy, mergeKey } = fieldOf(parent, key)
  const { items } = resolve(field, parent.definitions)
  return { shape: toShape(Array.isArray(items) ? items[0] : items, parent.definitions), strategy, mergeKey }
}

// Maps.

/** Both arguments belong to us and are used up. */
function mergeMap(original: JSONMap, patch: JSONMap, shape: Shape): JSONMap {
  if (Object.hasOwn(patch, directiveKey)) return obeyMapDirective(patch)
  retainKeys(original, patch)
  mergeOrderedLists(original, patch, shape)
  for (const key of Object.keys(patch)) mergeField(original, key, patch[key] ?? null, shape)
  return original
}

function obeyMapDirective(patch: JSONMap): JSONMap {
  const directive = patch[directiveKey] ?? null
  if (directive === 'delete') return {}
  if (directive !== 'replace') throw unknownPatchType(directive, patch)
  delete patch[directiveKey]
  return withoutNulls(patch) as JSONMap
}

function retainKeys(original: JSONMap, patch: JSONMap): void {
  const directive = getOwn(patch, retainKeysKey)
  if (directive === undefined) return
  if (!Array.isArray(directive)) throw badRequest(badRetainKeys)
  delete patch[retainKeysKey]
  const retained = new Set<unknown>(directive)
  for (const key of Object.keys(patch)) {
    if (patch[key] === null || key.startsWith(deleteItemsPrefix) || key.startsWith(orderPrefix)) continue
    if (!retained.has(key)) throw badRequest(badRetainKeys)
  }
  for (const key of Object.keys(original)) if (!retained.has(key)) delete original[key]
}

function mergeField(original: JSONMap, patchKey: string, value: JSONValue, shape: Shape): void {
  const isDeletion = patchKey.startsWith(deleteItemsPrefix)
  const key = isDeletion ? afterSlash(patchKey, deleteItemsPrefix, badPrimitiveList) : patchKey
  if (value === null) {
    delete original[key]
    return
  }
  const current = getOwn(original, key) as JSONValue | undefined
  if (current === undefined || toGoType(current) !== toGoType(value)) {
    if (!isDeletion) setOrDelete(original, key, withoutDirectives(withoutNulls(value)))
    return
  }
  if (Array.isArray(value)) {
    const field = listField(shape, key)
    const items = current as JSONValue[]
    if (isDeletion) setOwn(original, key, deleteItems(items, value, field))
    else setOwn(original, key, field.strategy === 'merge' ? mergeList(items, value, field) : withoutNulls(value))
    return
  }
  if (!isObject(value)) {
    setOwn(original, key, value)
    return
  }
  const { shape: inner, strategy } = mapField(shape, key)
  const change = value as JSONMap
  setOwn(original, key, strategy === 'replace' ? withoutNulls(change) : mergeMap(current as JSONMap, change, inner))
}

function setOrDelete(target: JSONMap, key: string, value: JSONValue | undefined): void {
  if (value === undefined) delete target[key]
  else setOwn(target, key, value)
}

function afterSlash(key: string, prefix: string, refusal: string): string {
  if (!key.startsWith(`${prefix}/`)) throw badRequest(refusal)
  return key.slice(prefix.length + 1)
}

/** New values come without the nulls that would have deleted something, but list items that are null stay. */
function withoutNulls(value: JSONValue): JSONValue {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  const kept: JSONMap = {}
  for (const key of Object.keys(value)) {
    if (value[key] !== null) setOwn(kept, key, withoutNulls(value[key] as JSONValue))
  }
  return kept
}

/** A map that carries `$patch` speaks about something to change; where nothing was, it leaves nothing. */
function withoutDirectives(value: JSONValue): JSONValue | undefined {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter(item => item !== undefined)
  if (!isObject(value)) return value
  if (Object.hasOwn(value, directiveKey)) return undefined
  const kept: JSONMap = {}
  for (const key of Object.keys(value)) {
    const inner = withoutDirectives(value[key] as JSONValue)
    if (inner !== undefined) setOwn(kept, key, inner)
  }
  return kept
}

// Lists.

/** `$setElementOrder/F` together with the list `F` it speaks of; both are taken out of the patch. */
function mergeOrderedLists(original: JSONMap, patch: JSONMap, shape: Shape): void {
  for (const directive of Object.keys(patch)) {
    if (!directive.startsWith(orderPrefix)) continue
    const order = patch[directive] ?? null
    delete patch[directive]
    if (!Array.isArray(order)) throw wrongType('[]interface {}', order)
    const key = afterSlash(directive, orderPrefix, badOrderList)
    const current = listAt(original, key)
    const changes = listAt(patch, key)
    const field = listField(shape, key)
    checkOrder(changes ?? [], order, field.mergeKey)
    const merged = mergeForOrder(current, changes, field)
    if (merged === undefined) continue
    const isMaps = elementKind(current ?? [], changes ?? []) === 'map'
    const [named, others] = partition(merged, order, field.mergeKey)
    setOwn(original, key, interleave(named, others, order, current ?? [], isMaps ? field.mergeKey : ''))
    delete patch[key]
  }
}

function mergeForOrder(
  current: JSONValue[] | undefined,
  changes: JSONValue[] | undefined,
  field: FieldShape,
): JSONValue[] | undefined {
  if (current === undefined) return changes && (withoutDirectives(changes) as JSONValue[])
  if (changes === undefined) return current
  return field.strategy === 'merge' ? mergeList(current, changes, field) : changes
}

function listAt(map: JSONMap, key: string): JSONValue[] | undefined {
  const value = getOwn(map, key)
  if (value === undefined) return undefined
  if (!Array.isArray(value)) throw wrongType('[]interface {}', value)
  return value
}

/** Every item of the patch list, deletions aside, must appear in the order list, in the same relative order. */
function checkOrder(changes: JSONValue[], order: JSONValue[], mergeKey: string): void {
  if (order.length === 0 || changes.length === 0) return
  const kept = mergeKey === '' ? changes : changes.filter(item => directiveOf(asMap(item)) !== 'delete')
  let at = 0
  for (const place of order) {
    while (at < kept.length && isObject(kept[at]) && Object.hasOwn(kept[at] as JSONMap, directiveKey)) at++
    if (at >= kept.length) return
    if (identityOf(kept[at] as JSONValue, mergeKey) === identityOf(place, mergeKey)) at++
  }
  if (at >= kept.length) return
  throw unexplained(
    `The order in patch list:\n${toGoText(changes)}\n doesn't match ${orderPrefix} list:\n${toGoText(order)}\n`,
  )
}

function mergeList(original: JSONValue[], patch: JSONValue[], field: FieldShape): JSONValue[] {
  if (original.length === 0 && patch.length === 0) return original
  if (elementKind(original, patch) !== 'map') {
    const [named, others] = partition([...new Set([...original, ...patch])], patch, '')
    return interleave(named, others, patch, original, '')
  }
  const { mergeKey } = field
  if (mergeKey === '') throw unexplained(`cannot merge lists without merge key for ${field.shape.name}`)
  const { items, changes } = obeyListDirectives(original, patch, mergeKey)
  const order = items.slice()
  const merged = mergeItems(items, changes, field)
  const [named, others] = partition(merged, changes, mergeKey)
  return interleave(named, others, changes, order, mergeKey)
}

function mergeItems(items: JSONValue[], changes: JSONValue[], { mergeKey, shape }: FieldShape): JSONValue[] {
  const merged = items.slice()
  const places = new Map<unknown, number>()
  for (const [place, item] of items.entries()) {
    const key = getOwn(item, mergeKey)
    if (!places.has(key)) places.set(key, place)
  }
  for (const change of changes) {
    const key = keyOf(change, mergeKey)
    const at = places.get(key)
    if (at === undefined) places.set(key, merged.push(withoutNulls(change)) - 1)
    else merged[at] = mergeMap(merged[at] as JSONMap, asMap(change), shape)
  }
  return merged
}

function obeyListDirectives(
  original: JSONValue[],
  patch: JSONValue[],
  mergeKey: string,
): { items: JSONValue[]; changes: JSONValue[] } {
  const doomed = new Set<unknown>()
  let replaces = false
  const changes: JSONValue[] = []
  for (const change of patch) {
    const map = asMap(change)
    if (!Object.hasOwn(map, directiveKey)) {
      changes.push(change)
      continue
    }
    const directive = directiveOf(map)
    if (directive === 'merge') throw unexplained('merging lists cannot yet be specified in the patch')
    if (directive !== 'delete' && directive !== 'replace') throw unknownPatchType(directive, map)
    if (directive === 'replace') {
      replaces = true
      continue
    }
    doomed.add(keyOf(change, mergeKey))
  }
  const items = doomed.size === 0 ? original : original.filter(item => !doomed.has(getOwn(item, mergeKey)))
  return replaces ? { items: changes, changes: [] } : { items, changes }
}

function deleteItems(items: JSONValue[], doomed: JSONValue[], field: FieldShape): JSONValue[] {
  if (items.length === 0 && doomed.length === 0) return items
  if (elementKind(items, doomed) === 'map') return mergeList(items, doomed, field)
  const gone = new Set(doomed)
  return items.filter(item => !gone.has(item))
}

/** Items that the order names, and those only the server knows. */
function partition(merged: JSONValue[], order: JSONValue[], mergeKey: string): [JSONValue[], JSONValue[]] {
  const names = new Set(order.map(item => (mergeKey === '' ? item : getOwn(item, mergeKey))))
  const named: JSONValue[] = []
  const others: JSONValue[] = []
  for (const item of merged) (names.has(identityOf(item, mergeKey)) ? named : others).push(item)
  return [named, others]
}

/**
 * Named items in the wanted order; the others keep their own order and go before the first named item that came after
 * them on the server.
 */
function interleave(
  named: JSONValue[],
  others: JSONValue[],
  order: JSONValue[],
  serverOrder: JSONValue[],
  mergeKey: string,
): JSONValue[] {
  const wanted = placesOf(order, mergeKey)
  const live = placesOf(serverOrder, mergeKey)
  const left = sorted(others, live, mergeKey)
  const right = sorted(named, wanted, mergeKey)
  const result: JSONValue[] = []
  let at = 0
  for (const item of right) {
    const place = live.get(identityOf(item, mergeKey))
    while (at < left.length && place !== undefined) {
      const other = live.get(identityOf(left[at] as JSONValue, mergeKey))
      if (other === undefined || other >= place) break
      result.push(left[at++] as JSONValue)
    }
    result.push(item)
  }
  return [...result, ...left.slice(at)]
}

function placesOf(items: JSONValue[], mergeKey: string): Map<unknown, number> {
  const places = new Map<unknown, number>()
  for (const [place, item] of items.entries()) {
    const identity = mergeKey === '' ? item : keyOf(item, mergeKey)
    if (!places.has(identity)) places.set(identity, place)
  }
  return places
}

function sorted(items: JSONValue[], places: Map<unknown, number>, mergeKey: string): JSONValue[] {
  const placeOf = (item: JSONValue) => places.get(identityOf(item, mergeKey)) ?? -1
  return items.slice().sort((a, b) => placeOf(a) - placeOf(b))
}

function identityOf(item: JSONValue, mergeKey: string): unknown {
  return mergeKey === '' ? item : keyOf(item, mergeKey)
}

function keyOf(item: JSONValue, mergeKey: string): unknown {
  const map = asMap(item)
  if (Object.hasOwn(map, mergeKey)) return map[mergeKey]
  throw unexplained(`map: ${toGoText(map)} does not contain declared merge key: ${mergeKey}`)
}

function asMap(item: JSONValue): JSONMap {
  if (isObject(item)) return item as JSONMap
  throw wrongType('map[string]interface {}', item)
}

function directiveOf(map: JSONMap): JSONValue {
  return (getOwn(map, directiveKey) ?? null) as JSONValue
}

/** All items of lists that are merged must be of one type, and never lists. */
function elementKind(...lists: JSONValue[][]): 'map' | 'scalar' {
  const [first, ...rest] = lists.flat()
  if (first === undefined) throw unexplained('no elements in any of the given slices')
  if (Array.isArray(first)) throw notApplicable('lists of lists are not supported')
  if (rest.some(item => toGoType(item) !== toGoType(first))) {
    throw unexplained(`list element types are not identical: ${toGoText(lists)}`)
  }
  return isObject(first) ? 'map' : 'scalar'
}

function unknownPatchType(directive: JSONValue, map: JSONMap): StatusError {
  return unexplained(`unknown patch type: ${toGoText(directive)} in map: ${toGoText(map)}`)
}

function wrongType(expected: string, actual: unknown): StatusError {
  return unexplained(`expected a ${expected}, but received a ${toGoType(actual)}`)
}
