// The Go type behind the schema of a built-in type: a struct whose fields have protobuf numbers, kinds of value
// and rules for when they are printed. Compiled once per type; types may contain themselves.

import { type Definitions, refTo, type Schema } from '../schema/schema.ts'

export type ValueType =
  | { readonly is: 'string' | 'bytes' | 'boolean' | 'double' }
  | { readonly is: 'integer'; readonly bits: 32 | 64 }
  /** Messages on the wire, single values in JSON. */
  | { readonly is: 'time' | 'microTime' | 'quantity' | 'intOrString' | 'raw' }
  | { readonly is: 'schemaOrList' | 'schemaOrBoolean' | 'schemaOrNames'; readonly message: MessageType }
  | { readonly is: 'message'; readonly message: MessageType }
  | { readonly is: 'list' | 'boxed' | 'map'; readonly of: ValueType }

export type Presence = 'always' | 'null' | 'set' | 'nonzero' | 'plain'

export interface Field {
  readonly name: string
  /** Undefined for fields that live in an inlined message, and for `apiVersion` and `kind`. */
  readonly number: number | undefined
  readonly type: ValueType
  readonly presence: Presence
}

export interface MessageType {
  readonly name: string
  readonly fields: readonly Field[]
  readonly byName: ReadonlyMap<string, Field>
  readonly byNumber: ReadonlyMap<number, Field>
  /** Messages whose fields JSON shows among ours. */
  readonly inlined: ReadonlyMap<number, MessageType>
}

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1'
const extensions = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1'

const singleValues: ReadonlyMap<string, ValueType> = new Map<string, ValueType>([
  [`${meta}.Time`, { is: 'time' }],
  [`${meta}.MicroTime`, { is: 'microTime' }],
  [`${meta}.FieldsV1`, { is: 'raw' }],
  ['io.k8s.apimachinery.pkg.api.resource.Quantity', { is: 'quantity' }],
  ['io.k8s.apimachinery.pkg.util.intstr.IntOrString', { is: 'intOrString' }],
  ['io.k8s.apimachinery.pkg.runtime.RawExtension', { is: 'raw' }],
  [`${extensions}.JSON`, { is: 'raw' }],
])

const schemaChoices: ReadonlyMap<string, 'schemaOrList' | 'schemaOrBoolean' | 'schemaOrNames'> = new Map([
  [`${extensions}.JSONSchemaPropsOrArray`, 'schemaOrList'],
  [`${extensions}.JSONSchemaPropsOrBool`, 'schemaOrBoolean'],
  [`${extensions}.JSONSchemaPropsOrStringArray`, 'schemaOrNames'],
] as const)

const refPrefix = refTo('').$ref ?? ''
const compiled = new WeakMap<Definitions, Map<string, MessageType>>()

/** The type a schema name stands for; undefined when the definitions do not have it. */
export function messageType(name: string, definitions: Definitions): MessageType | undefined {
  let known = compiled.get(definitions)
  if (known === undefined) {
    known = new Map()
    compiled.set(definitions, known)
  }
  const seen = known.get(name)
  if (seen !== undefined) return seen
  if (!Object.hasOwn(definitions, name)) return undefined
  const schema = definitions[name] ?? {}
  const fields: Field[] = []
  const byName = new Map<string, Field>()
  const byNumber = new Map<number, Field>()
  const inlined = new Map<number, MessageType>()
  const type: MessageType = { name, fields, byName, byNumber, inlined }
  // Before its fields, so that a type that contains itself finds this one.
  known.set(name, type)
  for (const [property, of] of Object.entries(schema.properties ?? {})) {
    const number = of['x-proto']
    const field: Field = {
      name: property,
      number,
      type: valueType(of, definitions),
      presence: of['x-presence'] ?? 'plain',
    }
    fields.push(field)
    byName.set(property, field)
    if (number !== undefined) byNumber.set(number, field)
  }
  for (const [number, inner] of Object.entries(schema['x-proto-inline'] ?? {})) {
    inlined.set(Number(number), mustHave(inner, definitions))
  }
  return type
}

function valueType(schema: Schema, definitions: Definitions): ValueType {
  const ref = schema.$ref ?? schema.allOf?.[0]?.$ref
  if (ref !== undefined) return referredType(ref.slice(refPrefix.length), definitions)
  switch (schema.type) {
    case 'string':
      return { is: schema.format === 'byte' ? 'bytes' : 'string' }
    case 'integer':
      return { is: 'integer', bits: schema.format === 'int64' ? 64 : 32 }
    case 'boolean':
      return { is: 'boolean' }
    case 'number':
      return { is: 'double' }
    case 'array': {
      const of = valueType(Array.isArray(schema.items) ? {} : (schema.items ?? {}), definitions)
      return { is: schema['x-proto-boxed'] === true ? 'boxed' : 'list', of }
    }
    case 'object': {
      const of = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined
      return of === undefined ? { is: 'raw' } : { is: 'map', of: valueType(of, definitions) }
    }
    default:
      return { is: 'raw' }
  }
}

function referredType(name: string, definitions: Definitions): ValueType {
  const single = singleValues.get(name)
  if (single !== undefined) return single
  const choice = schemaChoices.get(name)
  if (choice !== undefined) return { is: choice, message: mustHave(`${extensions}.JSONSchemaProps`, definitions) }
  return { is: 'message', message: mustHave(name, definitions) }
}

function mustHave(name: string, definitions: Definitions): MessageType {
  const type = messageType(name, definitions)
  if (type === undefined) throw new Error(`schema reference to ${name} leads nowhere`)
  return type
}
