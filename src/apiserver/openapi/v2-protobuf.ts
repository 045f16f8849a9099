// The version 2 document in protobuf, the only form in which the Go client's `OpenAPISchema()` asks for it. The message
// is gnostic's `openapi.v2.Document`; field numbers are its own. Only what our documents can contain is written.
// Extensions travel as YAML text, of which JSON is a part.

import { stringify } from '../../json.ts'
import { isObject } from '../object.ts'
import type { Schema } from '../schema/schema.ts'

/** What a message is made of: any number of encoded fields. */
type Fields = Buffer[]

const lengthDelimited = 2
const fixed64 = 1
const varintType = 0

function varint(value: bigint): Buffer {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, value)
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  bytes.push(Number(rest))
  return Buffer.from(bytes)
}

const tag = (field: number, type: number) => varint(BigInt((field << 3) | type))

function bytes(field: number, content: Buffer): Buffer {
  return Buffer.concat([tag(field, lengthDelimited), varint(BigInt(content.length)), content])
}

const message = (field: number, fields: Fields): Buffer => bytes(field, Buffer.concat(fields))

function text(field: number, value: unknown): Fields {
  return typeof value === 'string' && value !== '' ? [bytes(field, Buffer.from(value))] : []
}

function texts(field: number, values: unknown): Fields {
  return Array.isArray(values) ? values.map(value => bytes(field, Buffer.from(String(value)))) : []
}

function flag(field: number, value: unknown): Fields {
  return value === true ? [Buffer.concat([tag(field, varintType), varint(1n)])] : []
}

function integer(field: number, value: unknown): Fields {
  if (typeof value !== 'number' || value === 0) return []
  return [Buffer.concat([tag(field, varintType), varint(BigInt(Math.trunc(value)))])]
}

function double(field: number, value: unknown): Fields {
  if (typeof value !== 'number' || value === 0) return []
  const content = Buffer.alloc(8)
  content.writeDoubleLE(value)
  return [Buffer.concat([tag(field, fixed64), content])]
}

const any = (field: number, value: unknown): Buffer => message(field, text(2, stringify(value)))

const named = (field: number, name: string, value: Fields): Buffer =>
  message(field, [...text(1, name), message(2, value)])

function extensions(field: number, object: object): Fields {
  return Object.entries(object)
    .filter(([name]) => name.startsWith('x-'))
    .map(([name, value]) => message(field, [...text(1, name), any(2, value)]))
}

function schemaFields(schema: Schema): Fields {
  const { additionalProperties, items } = schema
  const properties = Object.entries(schema.properties ?? {})
  return [
    ...text(1, schema.$ref),
    ...text(2, schema.format),
    ...text(3, schema.title),
    ...text(4, schema.description),
    ...double(6, schema.multipleOf),
    ...double(7, schema.maximum),
    ...flag(8, schema.exclusiveMaximum),
    ...double(9, schema.minimum),
    ...flag(10, schema.exclusiveMinimum),
    ...integer(11, schema.maxLength),
    ...integer(12, schema.minLength),
    ...text(13, schema.pattern),
    ...integer(14, schema.maxItems),
    ...integer(15, schema.minItems),
    ...flag(16, schema.uniqueItems),
    ...integer(17, schema.maxProperties),
    ...integer(18, schema.minProperties),
    ...texts(19, schema.required),
    ...(schema.enum ?? []).map(value => any(20, value)),
    ...(additionalProperties === undefined ? [] : [message(21, valuesFields(additionalProperties))]),
    ...(schema.type === undefined ? [] : [message(22, text(1, schema.type))]),
    ...(items === undefined
      ? []
      : [
          message(
            23,
            [items].flat().map(item => message(1, schemaFields(item))),
          ),
        ]),
    ...(properties.length === 0
      ? []
      : [
          message(
            25,
            properties.map(([name, value]) => named(1, name, schemaFields(value))),
          ),
        ]),
    ...(schema.example === undefined ? [] : [any(30, schema.example)]),
    ...extensions(31, schema),
  ]
}

function valuesFields(values: Schema | boolean): Fields {
  return typeof values === 'boolean' ? flag(2, values) : [message(1, schemaFields(values))]
}

function parameterFields(parameter: Record<string, unknown>): Fields {
  const { name, description, required, type, schema } = parameter
  const place = parameter.in
  if (place === 'body') {
    const body = [
      ...text(1, description),
      ...text(2, name),
      ...text(3, place),
      ...flag(4, required),
      message(5, schemaFields(schema as Schema)),
    ]
    return [message(1, [message(1, body)])]
  }
  // The same facts under other numbers, depending on where the parameter stands.
  const common = [...flag(1, required), ...text(2, place), ...text(3, description), ...text(4, name)]
  const fields =
    place === 'query'
      ? message(3, [...common, ...text(6, type), ...flag(20, parameter.uniqueItems)])
      : message(4, [...common, ...text(5, type), ...flag(19, parameter.uniqueItems)])
  return [message(1, [message(2, [fields])])]
}

function operationFields(operation: Record<string, unknown>): Fields {
  const responses = Object.entries(objectOf(operation.responses)).map(([code, answer]) => {
    const { description, schema } = objectOf(answer)
    const content = schema === undefined ? [] : [message(2, [message(1, schemaFields(schema as Schema))])]
    return named(1, code, [message(1, [...text(1, description), ...content])])
  })
  return [
    ...texts(1, operation.tags),
    ...text(3, operation.description),
    ...text(5, operation.operationId),
    ...texts(6, operation.produces),
    ...texts(7, operation.consumes),
    ...parametersFields(8, operation.parameters),
    message(9, responses),
    ...texts(10, operation.schemes),
    ...extensions(13, operation),
  ]
}

function parametersFields(field: number, parameters: unknown): Fields {
  if (!Array.isArray(parameters)) return []
  return parameters.map(parameter => message(field, parameterFields(objectOf(parameter))))
}

const methods = [
  ['get', 2],
  ['put', 3],
  ['post', 4],
  ['delete', 5],
  ['patch', 8],
] as const

function pathFields(item: Record<string, unknown>): Fields {
  const operations = methods.flatMap(([method, field]) =>
    item[method] === undefined ? [] : [message(field, operationFields(objectOf(item[method])))],
  )
  return [...operations, ...parametersFields(9, item.parameters)]
}

function securityFields(definition: Record<string, unknown>): Fields {
  const { type, name, description } = definition
  return [message(2, [...text(1, type), ...text(2, name), ...text(3, definition.in), ...text(4, description)])]
}

export interface Swagger {
  readonly swagger: string
  readonly info: { readonly title: string; readonly version: string }
  readonly paths: Readonly<Record<string, object>>
  readonly definitions: Readonly<Record<string, Schema>>
  readonly securityDefinitions: Readonly<Record<string, object>>
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
}

export function toProtobuf(document: Swagger): Buffer {
  const paths = Object.entries(document.paths).map(([path, item]) => named(2, path, pathFields(objectOf(item))))
  const definitions = Object.entries(document.definitions).map(([name, schema]) => named(1, name, schemaFields(schema)))
  const security = document.security.map(requirement =>
    message(
      12,
      Object.entries(requirement).map(([name, scopes]) => named(1, name, texts(1, scopes))),
    ),
  )
  const schemes = Object.entries(document.securityDefinitions).map(([name, definition]) =>
    named(1, name, securityFields(objectOf(definition))),
  )
  return Buffer.concat([
    ...text(1, document.swagger),
    message(2, [...text(1, document.info.title), ...text(2, document.info.version)]),
    message(8, paths),
    message(9, definitions),
    ...security,
    message(13, schemes),
  ])
}

function objectOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {}
}
