// Schemas as clients see them: without this server's own hints, with descriptions, and with the three fields that every
// object has. Version 3 of OpenAPI can express nearly all of our schemas. What version 2 cannot express is left out in
// the way that old clients expect, because they validate objects against it.

import type { ServedKind } from '../kinds/kind.ts'
import { getOwn, setOwn } from '../object.ts'
import type { Definitions, Schema } from '../schema/schema.ts'
import type { Descriptions } from './descriptions.ts'

const refPrefix = '#/components/schemas/'
const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1.'
const conventions = 'https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md'

// Hints for this server; on built-in types also those that Kubernetes publishes for custom kinds only.
const builtinOnly = new Set([
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
])

// A built-in type stands in many documents, and looks the same in all of them.
const publishedBuiltins = new WeakMap<Descriptions, WeakMap<Schema, Schema>>()

/** A named built-in schema with its descriptions. */
export function publishBuiltin(name: string, schema: Schema, descriptions: Descriptions): Schema {
  const known = publishedBuiltins.get(descriptions) ?? new WeakMap<Schema, Schema>()
  publishedBuiltins.set(descriptions, known)
  const made = known.get(schema)
  if (made !== undefined) return made
  const published = describeBuiltin(name, schema, descriptions)
  known.set(schema, published)
  return published
}

function describeBuiltin(name: string, schema: Schema, descriptions: Descriptions): Schema {
  const described = descriptions.of(name)
  const published = withoutHints(schema)
  if (published.properties !== undefined) {
    const properties: Record<string, Schema> = {}
    for (const [field, value] of Object.entries(published.properties)) {
      setOwn(properties, field, describe(value, described?.fields.get(field)))
    }
    published.properties = properties
  }
  return describe(published, described?.text)
}

function withoutHints(schema: Schema): Schema {
  return mapSchema(schema, inner => {
    const kept: Schema = {}
    for (const [key, value] of Object.entries(inner)) {
      const isHint = key.startsWith('x-') && (!key.startsWith('x-kubernetes-') || builtinOnly.has(key))
      if (!isHint) setOwn(kept, key, value)
    }
    return kept
  })
}

/** A reference may not have siblings, so a described reference is wrapped. */
function describe(schema: Schema, description: string | undefined): Schema {
  if (description === undefined || description === '') return schema
  if (schema.$ref === undefined) return { description, ...schema }
  const { $ref, ...beside } = schema
  return { description, ...beside, allOf: [{ $ref }] }
}

/** The schema of a custom kind as version 3 shows it. */
export function publishCustom(kind: ServedKind, descriptions: Descriptions): Schema {
  const schema = mapSchema(kind.schema, unfoldIntOrString)
  const published = mapSchema(
    { ...schema, properties: { ...schema.properties, ...objectFields(descriptions) } },
    addEmbeddedFields,
  )
  return withIdentity(published, kind, kind.kind)
}

/** The schema of a custom kind as version 2 shows it; a kind that takes any field must declare none. */
export function publishCustomV2(kind: ServedKind, descriptions: Descriptions): Schema {
  if (kind.schema['x-kubernetes-preserve-unknown-fields'] === true) {
    return withIdentity({ type: 'object' }, kind, kind.kind)
  }
  const schema = mapSchema(kind.schema, withoutV3Constructs)
  const published = mapSchema(
    { ...schema, properties: { ...schema.properties, ...objectFields(descriptions) } },
    embedded => (embedded['x-kubernetes-preserve-unknown-fields'] === true ? embedded : addEmbeddedFields(embedded)),
  )
  return withIdentity(published, kind, kind.kind)
}

export function publishCustomList(kind: ServedKind, descriptions: Descriptions): Schema {
  const { apiVersion, kind: kindField } = objectFields(descriptions)
  const list: Schema = {
    description: `${kind.listKind} is a list of ${kind.kind}`,
    type: 'object',
    required: ['items'],
    properties: {
      ...(apiVersion && { apiVersion }),
      items: {
        description: `List of ${kind.plural}. More info: ${conventions}`,
        type: 'array',
        items: { $ref: refPrefix + kind.schemaName },
      },
      ...(kindField && { kind: kindField }),
      metadata: {
        description: `Standard list metadata. More info: ${conventions}#types-kinds`,
        allOf: [{ $ref: `${refPrefix}${meta}ListMeta` }],
      },
    },
  }
  return withIdentity(list, kind, kind.listKind)
}

function withIdentity(schema: Schema, { group, version, behaviour }: ServedKind, kind: string): Schema {
  const fields = Object.keys(behaviour.fields ?? {})
  const identified: Schema = { ...schema, 'x-kubernetes-group-version-kind': [{ group, kind, version }] }
  if (fields.length > 0) {
    setOwn(
      identified,
      'x-kubernetes-selectable-fields',
      fields.map(fieldPath => ({ fieldPath })),
    )
  }
  return identified
}

/** What every object has; any built-in kind explains these fields in the same words. */
function objectFields(descriptions: Descriptions): Record<string, Schema> {
  const known = descriptions.of('io.k8s.api.core.v1.Pod')?.fields
  return {
    apiVersion: describe(
      { type: 'string' },
      known?.get('apiVersion') ?? `APIVersion defines the group and version. More info: ${conventions}#resources`,
    ),
    kind: describe(
      { type: 'string' },
      known?.get('kind') ?? `Kind names the type of this object. More info: ${conventions}#types-kinds`,
    ),
    metadata: metadataField,
  }
}

const metadataField: Schema = {
  description: `Standard object's metadata. More info: ${conventions}#metadata`,
  allOf: [{ $ref: `${refPrefix}${meta}ObjectMeta` }],
}

const embeddedFields: Record<string, Schema> = {
  apiVersion: {
    description: `apiVersion names group and version of this object. More info: ${conventions}#resources`,
    type: 'string',
  },
  kind: {
    description: `kind names the type of this object, in CamelCase. More info: ${conventions}#types-kinds`,
    type: 'string',
  },
  metadata: metadataField,
}

function addEmbeddedFields(schema: Schema): Schema {
  if (schema['x-kubernetes-embedded-resource'] !== true) return schema
  const required = schema.required ?? []
  const missing = ['kind', 'apiVersion'].filter(field => !required.includes(field))
  return { ...schema, required: [...required, ...missing], properties: { ...schema.properties, ...embeddedFields } }
}

function unfoldIntOrString(schema: Schema): Schema {
  if (schema['x-kubernetes-int-or-string'] !== true) return schema
  const either: Schema[] = [{ type: 'integer' }, { type: 'string' }]
  const isEither = (candidates: Schema[] | undefined) =>
    candidates?.length === 2 && candidates[0]?.type === 'integer' && candidates[1]?.type === 'string'
  if (isEither(schema.anyOf) || isEither(schema.allOf?.[0]?.anyOf)) return schema
  if (schema.anyOf === undefined) return { ...schema, anyOf: either }
  return { ...schema, allOf: [{ anyOf: either }, ...(schema.allOf ?? [])] }
}

/** Clients of version 2 fail on untyped nulls, on unknown fields beside known ones, and on lists of anything. */
function withoutV3Constructs(schema: Schema): Schema {
  const { allOf: _all, oneOf: _one, anyOf: _any, not: _not, nullable, default: _default, ...rest } = schema
  const kept: Schema = rest
  const takesAnything = kept['x-kubernetes-preserve-unknown-fields'] === true
  const nullableFields = Object.entries(schema.properties ?? {}).flatMap(([field, value]) =>
    value.nullable === true ? [field] : [],
  )
  if (nullable === true || takesAnything) {
    delete kept.items
    delete kept.properties
  }
  if (nullable === true || (kept.type === 'array' && kept.items === undefined)) delete kept.type
  if (takesAnything && kept.type === 'object') delete kept.type
  if (kept.required !== undefined) {
    const values = kept.additionalProperties
    const required = kept.required.filter(field => !nullableFields.includes(field))
    if (required.length === 0 || (typeof values === 'object' && values.nullable === true)) delete kept.required
    else kept.required = required
  }
  return kept
}

const v2Replacements: Readonly<Record<string, Schema>> = {
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': { type: 'string', format: 'int-or-string' },
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { type: 'string' },
}

/** A version 3 schema in the words of version 2: references point elsewhere and may have siblings, no defaults. */
export function toV2(name: string, schema: Schema): Schema {
  const replacement = getOwn(v2Replacements, name) as Schema | undefined
  if (replacement !== undefined) {
    return schema.description === undefined ? replacement : { description: schema.description, ...replacement }
  }
  return mapSchema(schema, inner => {
    const { default: _, allOf, oneOf: _one, anyOf: _any, not: _not, ...rest } = inner
    const only = inner.$ref ?? (allOf?.length === 1 ? allOf[0]?.$ref : undefined)
    if (only === undefined) return rest
    return { ...rest, $ref: only.replace(refPrefix, '#/definitions/') }
  })
}

/** Rebuilds a schema from the outside in: `change` sees a node before its children do. */
function mapSchema(schema: Schema, change: (schema: Schema) => Schema): Schema {
  const changed = { ...change(schema) }
  const all = (schemas: Schema[]) => schemas.map(inner => mapSchema(inner, change))
  if (changed.properties !== undefined) changed.properties = mapValues(changed.properties, change)
  if (changed.patternProperties !== undefined) changed.patternProperties = mapValues(changed.patternProperties, change)
  if (typeof changed.additionalProperties === 'object') {
    changed.additionalProperties = mapSchema(changed.additionalProperties, change)
  }
  if (Array.isArray(changed.items)) changed.items = all(changed.items)
  else if (changed.items !== undefined) changed.items = mapSchema(changed.items, change)
  if (changed.allOf !== undefined) changed.allOf = all(changed.allOf)
  if (changed.anyOf !== undefined) changed.anyOf = all(changed.anyOf)
  if (changed.oneOf !== undefined) changed.oneOf = all(changed.oneOf)
  if (changed.not !== undefined) changed.not = mapSchema(changed.not, change)
  return changed
}

function mapValues(schemas: Record<string, Schema>, change: (schema: Schema) => Schema): Record<string, Schema> {
  const mapped: Record<string, Schema> = {}
  for (const [name, schema] of Object.entries(schemas)) setOwn(mapped, name, mapSchema(schema, change))
  return mapped
}

const foundNames = new WeakMap<Schema, readonly string[]>()

/** The names that a schema refers to, itself excluded. */
function namesIn(schema: Schema): readonly string[] {
  const known = foundNames.get(schema)
  if (known !== undefined) return known
  const names: string[] = []
  mapSchema(schema, inner => {
    if (inner.$ref !== undefined) names.push(inner.$ref.slice(refPrefix.length))
    return inner
  })
  foundNames.set(schema, names)
  return names
}

/** All names that these lead to, over any number of references, sorted. */
export function reachable(names: Iterable<string>, definitions: Definitions): string[] {
  const seen = new Set<string>()
  const waiting = [...names]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const schema = definitions[name]
    if (seen.has(name) || schema === undefined) continue
    seen.add(name)
    waiting.push(...namesIn(schema))
  }
  return [...seen].sort()
}
