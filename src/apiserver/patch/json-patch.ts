// JSON Patch (RFC 6902) as kube-apiserver applies it. All operations succeed or the object stays as it was. Where the
// server is laxer than the RFC so are we, because clients came to depend on it: `replace` on an absent key of an object
// adds it, negative indexes count from the end, and what stands before the first slash of a path is ignored.

import { stringify } from '../../json.ts'
import { bodyBytesMax, jsonDepthMax } from '../../limits.ts'
import { clone, equal, getOwn, isObject, type JSONValue, setOwn } from '../object.ts'
import { badRequest, tooLarge } from '../status.ts'
import { toJSONKind } from './go-text.ts'
import { notApplicable } from './refusals.ts'

const operationsMax = 10_000

/** What all `copy` operations of one patch may add: without a bound, forty of them double an object to a terabyte. */
const copiedBytesMax = bodyBytesMax

export function applyJSONPatch(document: JSONValue, patch: JSONValue): JSONValue {
  const operations = toOperations(patch)
  if (operations.length > operationsMax) {
    throw tooLarge(
      `Request entity too large: The allowed maximum operations in a JSON patch is ${operationsMax}, got ${operations.length}`,
    )
  }
  const state: State = { root: clone(document), copiedBytes: 0 }
  for (const operation of operations) applyOperation(state, operation)
  assertShallow(state.root)
  return state.root
}

interface State {
  root: JSONValue
  copiedBytes: number
}

type Container = JSONValue[] | Record<string, JSONValue>
type Operation = Record<string, unknown>

function toOperations(patch: JSONValue): Operation[] {
  if (patch === null) return []
  const operations = Array.isArray(patch) ? patch : undefined
  const odd = operations?.find(operation => operation !== null && !isObject(operation))
  if (operations === undefined || odd !== undefined) {
    const target = operations === undefined ? '[]handlers.jsonPatchOp' : 'handlers.jsonPatchOp'
    const found = toJSONKind(odd ?? patch)
    throw badRequest(`error decoding patch: json: cannot unmarshal ${found} into Go value of type ${target}`)
  }
  for (const operation of operations) {
    for (const field of ['op', 'path', 'from']) {
      const value = getOwn(operation, field)
      if (value === undefined || value === null || typeof value === 'string') continue
      const where = `Go struct field jsonPatchOp.${field} of type string`
      throw badRequest(`error decoding patch: json: cannot unmarshal ${toJSONKind(value)} into ${where}`)
    }
  }
  return operations.map(operation => (isObject(operation) ? operation : {}))
}

function applyOperation(state: State, operation: Operation): void {
  const kind = textOf(operation, 'op')
  switch (kind) {
    case 'add':
      addAt(state, pathOf(operation, 'path'), valueIn(operation))
      return
    case 'remove':
      removeAt(state, pathOf(operation, 'path'))
      return
    case 'replace':
      replaceAt(state, pathOf(operation, 'path'), valueIn(operation))
      return
    case 'move':
      move(state, pathOf(operation, 'from'), pathOf(operation, 'path'))
      return
    case 'copy':
      copy(state, pathOf(operation, 'from'), pathOf(operation, 'path'))
      return
    case 'test':
      test(state, pathOf(operation, 'path'), valueIn(operation))
      return
    default:
      throw notApplicable(`Unexpected kind: ${kind ?? 'unknown'}`)
  }
}

function textOf(operation: Operation, field: string): string | undefined {
  const value = getOwn(operation, field)
  return typeof value === 'string' ? value : undefined
}

function pathOf(operation: Operation, field: 'path' | 'from'): string {
  const path = textOf(operation, field)
  if (path === undefined) throw notApplicable(`operation missing ${field} field: missing value`)
  return path
}

/** A copy, because later operations may change what earlier ones brought in. An absent value counts as null. */
function valueIn(operation: Operation): JSONValue {
  return clone((getOwn(operation, 'value') ?? null) as JSONValue)
}

function addAt(state: State, path: string, value: JSONValue): void {
  const { container, key } = find(state, path)
  if (!Array.isArray(container)) {
    setOwn(container, key, value)
    return
  }
  if (key === '-') {
    container.push(value)
    return
  }
  container.splice(toIndex(key, container.length + 1), 0, value)
}

function removeAt(state: State, path: string): JSONValue {
  const { container, key } = find(state, path)
  if (Array.isArray(container)) return container.splice(toIndex(key, container.length), 1)[0] ?? null
  if (!Object.hasOwn(container, key)) throw notApplicable(`Unable to remove nonexistent key: ${key}: missing value`)
  const value = container[key] ?? null
  delete container[key]
  return value
}

function replaceAt(state: State, path: string, value: JSONValue): void {
  if (path === '') {
    if (!isContainer(value)) throw notApplicable('replace operation value must be object or array')
    state.root = value
    return
  }
  const { container, key } = find(state, path)
  if (Array.isArray(container)) container[toIndex(key, container.length)] = value
  else setOwn(container, key, value)
}

function move(state: State, from: string, path: string): void {
  addAt(state, path, removeAt(state, from))
}

function copy(state: State, from: string, path: string): void {
  const original = read(find(state, from)) ?? null
  assertShallow(original)
  state.copiedBytes += Buffer.byteLength(stringify(original))
  if (state.copiedBytes > copiedBytesMax) {
    const size = `the accumulated size increase of copy is ${state.copiedBytes}, exceeding the limit ${copiedBytesMax}`
    throw notApplicable(`Unable to complete the copy, ${size}`)
  }
  addAt(state, path, clone(original))
}

function test(state: State, path: string, expected: JSONValue): void {
  const actual = path === '' ? state.root : (read(find(state, path)) ?? null)
  assertShallow(actual)
  if (!equal(actual, expected)) throw notApplicable(`testing value ${path} failed: test failed`)
}

function find(state: State, path: string): { container: Container; key: string } {
  const [, ...steps] = path.split('/').map(unescapeStep)
  const key = steps.pop()
  let container: JSONValue | undefined = state.root
  for (const step of steps) {
    if (!isContainer(container)) break
    container = read({ container, key: step })
  }
  if (key === undefined || !isContainer(container)) {
    throw notApplicable(`doc is missing path: "${path}": missing value`)
  }
  return { container, key }
}

function read({ container, key }: { container: Container; key: string }): JSONValue | undefined {
  if (Array.isArray(container)) return container[toIndex(key, container.length)]
  return Object.hasOwn(container, key) ? container[key] : undefined
}

function isContainer(value: JSONValue | undefined): value is Container {
  return typeof value === 'object' && value !== null
}

function unescapeStep(step: string): string {
  return step.includes('~') ? step.replace(/~1/g, '/').replace(/~0/g, '~') : step
}

function toIndex(key: string, length: number): number {
  const index = /^[+-]?\d{1,18}$/.test(key) ? Number(key) : Number.NaN
  const fromStart = index < 0 ? index + length : index
  if (fromStart >= 0 && fromStart < length) return fromStart
  throw notApplicable(`Unable to access invalid index: ${key}: invalid index referenced`)
}

/** Moves can nest an object deeper than any body. All later steps recurse, so depth is checked here, by a loop. */
function assertShallow(value: JSONValue): void {
  let level: JSONValue[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > jsonDepthMax) throw notApplicable('exceeded max depth')
    const next: JSONValue[] = []
    for (const item of level) {
      if (!isContainer(item)) continue
      for (const child of Array.isArray(item) ? item : Object.values(item)) if (isContainer(child)) next.push(child)
    }
    level = next
  }
}
