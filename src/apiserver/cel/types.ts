// A structural schema as CEL sees it: which types its values have, and the values themselves in those types. Rules
// cannot read what has no type in the schema; at the root of a resource they read only its type and its name.

import type { Environment } from '@marcbachmann/cel-js'
import { Duration } from '@marcbachmann/cel-js/evaluator'
import { isObject } from '../object.ts'
import { parseDuration } from '../schema/formats.ts'
import type { Node } from '../schema/node.ts'
import { neverNull } from './library/library.ts'
import { same } from './library/lists.ts'
import { escapeField } from './names.ts'

export interface Shape {
  /** The CEL type of a value that is not null. */
  readonly type: string
  /** The type a container declares for it: a null may be there instead. */
  readonly fieldType: string
  readonly node: Node | undefined
  /** JSON to CEL value. */
  convert(value: unknown): unknown
  /** By the name in the schema. */
  readonly fields: ReadonlyMap<string, Shape>
  /** Of a list's items or a map's values. */
  readonly element: Shape | undefined
  /** Least bytes of JSON such a value takes; bounds how often it can occur in one request. */
  readonly bytesMin: number
}

/** Makes shapes and registers the object types they need. The same node gives the same shape. */
export function shapeMaker(environment: Environment): (node: Node, isResource: boolean) => Shape | undefined {
  const known = new Map<Node, Shape | undefined>()
  let count = 0

  function make(node: Node, isResource: boolean): Shape | undefined {
    if (known.has(node)) return known.get(node)
    // A schema that contains itself has no finite type; rules cannot look into it.
    known.set(node, undefined)
    const shape = build(node, isResource || node.isEmbedded)
    known.set(node, shape)
    return shape
  }

  function build(node: Node, isResource: boolean): Shape | undefined {
    const { schema } = node
    if (schema['x-kubernetes-int-or-string'] === true) return leaf(node, 'dyn', toDyn, 1)
    switch (schema.type) {
      case 'string':
        return stringShape(node)
      case 'boolean':
        return leaf(node, 'bool', value => value, 4)
      case 'integer':
        return leaf(node, 'int', toInt, 1)
      case 'number':
        return leaf(node, 'double', value => (typeof value === 'bigint' ? Number(value) : value), 1)
      case 'array':
        return listShape(node)
      case 'object':
        return typeof node.additional === 'object' && !isResource ? mapShape(node) : objectShape(node, isResource)
      default:
        return undefined
    }
  }

  function listShape(node: Node): Shape | undefined {
    const element = node.items && make(node.items, false)
    if (element === undefined) return undefined
    const isSet = node.schema['x-kubernetes-list-type'] === 'set'
    const isScalar = element.element === undefined && element.fields.size === 0
    return {
      ...leaf(node, `list<${element.fieldType}>`, value => value, 2),
      element,
      convert: value => {
        if (!Array.isArray(value)) return toDyn(value)
        const items = value.map(item => element.convert(item))
        // A set of scalars compares without order; the engine knows that of JavaScript sets.
        return isSet && isScalar && items.every(item => typeof item !== 'object') ? new Set(items) : items
      },
    }
  }

  function mapShape(node: Node): Shape | undefined {
    const element = typeof node.additional === 'object' ? make(node.additional, false) : undefined
    if (element === undefined) return undefined
    return {
      ...leaf(node, `map<string, ${element.fieldType}>`, value => value, 2),
      element,
      convert: value => {
        if (!isObject(value)) return toDyn(value)
        return new Map(Object.keys(value).map(key => [key, element.convert(value[key])]))
      },
    }
  }

  function objectShape(node: Node, isResource: boolean): Shape {
    const fields = new Map<string, Shape>()
    for (const [name, property] of node.properties) {
      if (isResource && resourceFields.has(name)) continue
      const shape = make(property, false)
      if (shape !== undefined) fields.set(name, shape)
    }
    if (isResource) {
      for (const name of ['apiVersion', 'kind']) fields.set(name, text)
      fields.set(
        'metadata',
        objectOf(
          undefined,
          new Map([
            ['name', text],
            ['generateName', text],
          ]),
        ),
      )
    }
    return objectOf(node, fields)
  }

  function objectOf(node: Node | undefined, fields: ReadonlyMap<string, Shape>): Shape {
    const type = `Object${++count}`
    const Value = class extends Map<string, unknown> {}
    const reachable: [name: string, escaped: string, shape: Shape][] = []
    for (const [name, shape] of fields) {
      const escaped = escapeField(name)
      if (escaped !== undefined) reachable.push([name, escaped, shape])
    }
    environment.registerType(type, {
      ctor: Value,
      fields: Object.fromEntries(reachable.map(([, escaped, shape]) => [escaped, shape.fieldType])),
    })
    environment.registerOperator(`${type} == ${type}`, same)
    neverNull(environment, type)
    const required = new Set(node?.schema.required ?? [])
    const bytes = reachable.filter(([name, , shape]) => required.has(name) && !shape.node?.hasDefault)
    return {
      type,
      fieldType: node?.isNullable ? 'dyn' : type,
      node,
      fields,
      element: undefined,
      bytesMin: bytes.reduce((sum, [name, , shape]) => sum + name.length + 4 + shape.bytesMin, 2),
      convert: value => {
        if (!isObject(value)) return toDyn(value)
        const made = new Value()
        for (const [name, escaped, shape] of reachable) {
          if (Object.hasOwn(value, name) && value[name] !== undefined) made.set(escaped, shape.convert(value[name]))
        }
        return made
      },
    }
  }

  return make
}

const resourceFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

function leaf(node: Node, type: string, convert: (value: unknown) => unknown, bytesMin: number): Shape {
  const fieldType = node.isNullable ? 'dyn' : type
  return {
    type,
    fieldType,
    node,
    fields: new Map(),
    element: undefined,
    bytesMin,
    convert: value => (value === null ? null : convert(value)),
  }
}

const text: Shape = {
  type: 'string',
  fieldType: 'string',
  node: undefined,
  fields: new Map(),
  element: undefined,
  bytesMin: 2,
  convert: value => value,
}

function stringShape(node: Node): Shape {
  switch (node.schema.format) {
    case 'byte':
      return leaf(node, 'bytes', value => (typeof value === 'string' ? Buffer.from(value, 'base64') : value), 2)
    case 'duration':
      return leaf(node, 'google.protobuf.Duration', toDuration, 4)
    case 'date':
    case 'date-time':
      return leaf(node, 'google.protobuf.Timestamp', toTime, 12)
    default:
      return leaf(node, 'string', value => value, 2)
  }
}

function toDuration(value: unknown): unknown {
  const nanos = typeof value === 'string' ? parseDuration(value) : undefined
  if (nanos === undefined) return value
  return new Duration(nanos / 1_000_000_000n, Number(nanos % 1_000_000_000n))
}

function toTime(value: unknown): unknown {
  if (typeof value !== 'string') return value
  const time = new Date(value)
  return Number.isNaN(time.getTime()) ? value : time
}

function toInt(value: unknown): unknown {
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : value
}

/** JSON without a schema: integers are ints, objects are maps. */
export function toDyn(value: unknown): unknown {
  if (typeof value === 'number') return toInt(value)
  if (Array.isArray(value)) return value.map(toDyn)
  if (!isObject(value)) return value ?? null
  return new Map(Object.keys(value).map(key => [key, toDyn(value[key])]))
}
