// A schema made ready to walk: references followed, fields in maps, checks prepared. Nodes form a graph, not a tree,
// because a schema may refer to itself (a schema of schemas does); values are trees, so every walk ends.

import { formatCheck } from './formats.ts'
import { type Definitions, resolve, type Schema } from './schema.ts'

export interface Node {
  readonly schema: Schema
  /** JSON types a value may have; undefined means any. */
  readonly types: readonly string[] | undefined
  readonly isNullable: boolean
  /** Only formats the server checks, or that numbers carry. */
  readonly format: string | undefined
  readonly checkFormat: ((text: string) => boolean) | undefined
  readonly properties: ReadonlyMap<string, Node>
  /** `any` is `additionalProperties: true`, `none` is `false`. */
  readonly additional: Node | 'any' | 'none' | undefined
  readonly patterns: readonly (readonly [string, Node])[]
  readonly items: Node | undefined
  readonly tuple: readonly Node[]
  readonly allOf: readonly Node[]
  readonly anyOf: readonly Node[]
  readonly oneOf: readonly Node[]
  readonly not: Node | undefined
  readonly keepsUnknown: boolean
  readonly isEmbedded: boolean
  readonly hasDefault: boolean
  /** No property and no map: in a built-in kind that is raw JSON, in a custom kind an object without fields. */
  readonly isBare: boolean
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** Compiles nodes of one document; the same schema object always gives the same node. */
export function nodeCompiler(definitions: Definitions): (schema: Schema) => Node {
  const known = new Map<Schema, Node>()

  function compile(written: Schema): Node {
    const seen = known.get(written)
    if (seen !== undefined) return seen
    const schema = resolve(written, definitions)
    const twin = known.get(schema)
    if (twin !== undefined) {
      known.set(written, twin)
      return twin
    }
    const properties = new Map<string, Node>()
    const node: Mutable<Node> = {
      schema,
      types: typesOf(schema),
      isNullable: schema.nullable === true,
      format: schema.format,
      checkFormat: formatCheck(schema.format),
      properties,
      additional: undefined,
      patterns: [],
      items: undefined,
      tuple: [],
      allOf: [],
      anyOf: [],
      oneOf: [],
      not: undefined,
      keepsUnknown: schema['x-kubernetes-preserve-unknown-fields'] === true,
      isEmbedded: schema['x-kubernetes-embedded-resource'] === true,
      hasDefault: schema.default !== undefined && schema.default !== null,
      isBare: schema.properties === undefined && schema.additionalProperties === undefined,
    }
    // Before its children, so that a schema that leads back to itself finds this node.
    known.set(written, node)
    known.set(schema, node)
    for (const [name, property] of Object.entries(schema.properties ?? {})) properties.set(name, compile(property))
    node.additional = additionalOf(schema, compile)
    node.patterns = Object.entries(schema.patternProperties ?? {}).map(([source, of]) => [source, compile(of)] as const)
    if (Array.isArray(schema.items)) node.tuple = schema.items.map(compile)
    else if (schema.items !== undefined) node.items = compile(schema.items)
    node.allOf = (schema.allOf ?? []).map(compile)
    node.anyOf = (schema.anyOf ?? []).map(compile)
    node.oneOf = (schema.oneOf ?? []).map(compile)
    node.not = schema.not === undefined ? undefined : compile(schema.not)
    return node
  }

  return compile
}

function additionalOf(schema: Schema, compile: (schema: Schema) => Node): Node['additional'] {
  if (schema.additionalProperties === undefined) return undefined
  if (schema.additionalProperties === true) return 'any'
  if (schema.additionalProperties === false) return 'none'
  return compile(schema.additionalProperties)
}

function typesOf(schema: Schema): readonly string[] | undefined {
  if (schema['x-kubernetes-int-or-string'] === true || schema.format === 'int-or-string') return ['integer', 'string']
  return schema.type === undefined || schema.type === '' ? undefined : [schema.type]
}

/** The schema of one field: its own, else that of the map. */
export function nodeOfField(node: Node | undefined, field: string): Node | undefined {
  if (node === undefined) return undefined
  const property = node.properties.get(field)
  if (property !== undefined) return property
  return typeof node.additional === 'object' ? node.additional : undefined
}
