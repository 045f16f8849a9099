// The one schema dialect of this server: OpenAPI v3 as Kubernetes uses it. Custom kinds bring theirs in a
// CustomResourceDefinition; built-in kinds have theirs in `builtin/types.json`. Pruning, defaulting, validation,
// strategic merge, server-side apply, protobuf and the published OpenAPI all read this and nothing else.

export interface Schema {
  $ref?: string
  type?: string
  format?: string
  title?: string
  description?: string
  default?: unknown
  nullable?: boolean
  enum?: unknown[]
  properties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
  patternProperties?: Record<string, Schema>
  items?: Schema | Schema[]
  required?: string[]
  allOf?: Schema[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  not?: Schema
  minimum?: number
  maximum?: number
  exclusiveMinimum?: boolean
  exclusiveMaximum?: boolean
  multipleOf?: number
  minLength?: number
  maxLength?: number
  pattern?: string
  minItems?: number
  maxItems?: number
  uniqueItems?: boolean
  minProperties?: number
  maxProperties?: number
  example?: unknown
  externalDocs?: { description?: string; url?: string }
  'x-kubernetes-preserve-unknown-fields'?: boolean
  'x-kubernetes-embedded-resource'?: boolean
  'x-kubernetes-int-or-string'?: boolean
  'x-kubernetes-list-type'?: string
  'x-kubernetes-list-map-keys'?: string[]
  'x-kubernetes-map-type'?: string
  'x-kubernetes-validations'?: ValidationRule[]
  'x-kubernetes-patch-strategy'?: string
  'x-kubernetes-patch-merge-key'?: string
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[]
  /** The protobuf field number; built-in kinds only, never published. */
  'x-proto'?: number
  /** Protobuf messages whose fields JSON shows as fields of this object: field number to schema name. */
  'x-proto-inline'?: Record<string, string>
  /** A list that travels in protobuf as a message around it. */
  'x-proto-boxed'?: boolean
  /**
   * When Kubernetes prints the field: `always`, even as its zero value; `null`, even when there is nothing; `set`,
   * whenever it was given; `nonzero`, unless all of it is zero. Absent: an object when it was given, anything else
   * unless zero.
   */
  'x-presence'?: 'always' | 'null' | 'set' | 'nonzero'
}

export interface ValidationRule {
  rule: string
  message?: string
  messageExpression?: string
  reason?: string
  fieldPath?: string
  optionalOldSelf?: boolean
}

/** Named schemas that `$ref: '#/components/schemas/NAME'` points to. */
export type Definitions = Readonly<Record<string, Schema>>

const refPrefix = '#/components/schemas/'

/** Follows a reference; what it says beside the reference (a default, a description) wins. */
export function resolve(schema: Schema, definitions: Definitions): Schema {
  if (schema.$ref === undefined) {
    // Published form: a reference with a sibling is written as allOf with one member.
    const only = schema.allOf?.length === 1 ? schema.allOf[0] : undefined
    if (only?.$ref === undefined) return schema
    const { allOf: _, ...beside } = schema
    return { ...resolve(only, definitions), ...beside }
  }
  const target = definitions[schema.$ref.slice(refPrefix.length)]
  if (target === undefined) throw new Error(`schema reference ${schema.$ref} leads nowhere`)
  return resolve(target, definitions)
}

export function refTo(name: string): Schema {
  return { $ref: refPrefix + name }
}
