// What server-side apply sees in a schema: each place is a scalar, a list or a map, or one of several when the schema
// leaves it open. Lists and maps are either atomic (owned and replaced as a whole) or granular (owned item by item).
//
// Two shapes have no schema at all. Where unknown fields are kept the shape is deduced from the value: maps are
// granular, lists atomic. Below a list without items everything is one atomic value.

import type { JSONValue } from '../object.ts'
import type { Definitions, Schema } from '../schema/schema.ts'

export type ScalarType = 'numeric' | 'string' | 'boolean' | 'untyped'

export interface ListType {
  readonly isAtomic: boolean
  /** Key fields of a keyed list; a granular list without keys is a set. */
  readonly keys: readonly string[]
  readonly element: TypeRef
}

export interface MapType {
  readonly isAtomic: boolean
  readonly fields: ReadonlyMap<string, TypeRef>
  /** The type of fields that are not declared; undefined when there may be none. */
  readonly element: TypeRef | undefined
}

export interface Atom {
  readonly scalar?: ScalarType
  readonly list?: ListType
  readonly map?: MapType
}

export type AtomKind = keyof Atom

export type TypeRef =
  | { readonly kind: 'deduced' }
  | { readonly kind: 'untyped' }
  | { readonly kind: 'schema'; readonly schema: Schema; readonly keepsUnknown: boolean; readonly isRoot: boolean }

/** One version of one kind: what a type reference is read against. */
export interface ObjectType {
  readonly root: TypeRef
  readonly definitions: Definitions
}

// What was read from a schema is kept as long as the schema lives: it is asked for at every visit of every value.
const types = new WeakMap<Schema, ObjectType>()

export function toObjectType(schema: Schema, definitions: Definitions): ObjectType {
  const known = types.get(schema)
  if (known?.definitions === definitions) return known
  const type: ObjectType = { root: { kind: 'schema', schema, keepsUnknown: false, isRoot: true }, definitions }
  types.set(schema, type)
  return type
}

const deduced: TypeRef = { kind: 'deduced' }
const untyped: TypeRef = { kind: 'untyped' }
const noFields: ReadonlyMap<string, TypeRef> = new Map()

const deducedAtom: Atom = {
  scalar: 'untyped',
  list: { isAtomic: true, keys: [], element: untyped },
  map: { isAtomic: false, fields: noFields, element: deduced },
}
const untypedAtom: Atom = {
  scalar: 'untyped',
  list: { isAtomic: true, keys: [], element: untyped },
  map: { isAtomic: true, fields: noFields, element: untyped },
}

const refPrefix = '#/components/schemas/'
const quantity = 'io.k8s.apimachinery.pkg.api.resource.Quantity'
const rawExtension = 'io.k8s.apimachinery.pkg.runtime.RawExtension'

const atoms = new WeakMap<Definitions, WeakMap<TypeRef, Atom>>()

export function atomOf(ref: TypeRef, definitions: Definitions): Atom {
  if (ref.kind === 'deduced') return deducedAtom
  if (ref.kind === 'untyped') return untypedAtom
  let known = atoms.get(definitions)
  if (known === undefined) {
    known = new WeakMap()
    atoms.set(definitions, known)
  }
  const cached = known.get(ref)
  if (cached !== undefined) return cached
  const atom = readAtom(ref, definitions)
  known.set(ref, atom)
  return atom
}

/** Which kind a value has among those the atom allows; the first of map, scalar, list for null or a wrong value. */
export function chooseKind(atom: Atom, value: JSONValue | undefined): AtomKind {
  const kind = kindOf(value)
  if (kind !== undefined && atom[kind] !== undefined) return kind
  if (atom.map !== undefined) return 'map'
  return atom.scalar !== undefined ? 'scalar' : 'list'
}

function kindOf(value: JSONValue | undefined): AtomKind | undefined {
  if (value === null || value === undefined) return undefined
  if (Array.isArray(value)) return 'list'
  return typeof value === 'object' ? 'map' : 'scalar'
}

function readAtom(ref: TypeRef & { kind: 'schema' }, definitions: Definitions): Atom {
  const name = refName(ref.schema)
  if (name === undefined) return toAtom(ref.schema, ref.keepsUnknown, ref.isRoot)
  if (name === quantity) return { scalar: 'untyped' }
  if (name === rawExtension) return untypedAtom
  const target = Object.hasOwn(definitions, name) ? definitions[name] : undefined
  if (target === undefined) throw new Error(`schema reference ${name} leads nowhere`)
  const atom = toAtom(target, false, ref.isRoot)
  // A reference may say that this use of a type is atomic, whatever the type itself says.
  const mapType = ref.schema['x-kubernetes-map-type']
  if (mapType === undefined || atom.map === undefined) return atom
  return { ...atom, map: { ...atom.map, isAtomic: mapType === 'atomic' } }
}

function refName(schema: Schema): string | undefined {
  const only = schema.allOf?.length === 1 ? schema.allOf[0] : undefined
  return (schema.$ref ?? only?.$ref)?.slice(refPrefix.length)
}

function toAtom(schema: Schema, keepsUnknown: boolean, isRoot: boolean): Atom {
  const keeps = keepsUnknown || schema['x-kubernetes-preserve-unknown-fields'] === true
  switch (schema.type) {
    case undefined:
    case '':
      return isRoot
        ? { map: toMapType(schema, keeps, isRoot) }
        : { scalar: 'untyped', list: toListType(schema, keeps), map: toMapType(schema, keeps, isRoot) }
    case 'object':
      return { map: toMapType(schema, keeps, isRoot) }
    case 'array':
      return { list: toListType(schema, keeps) }
    case 'integer':
    case 'number':
      return { scalar: 'numeric' }
    case 'boolean':
      return { scalar: 'boolean' }
    case 'string':
      return { scalar: schema.format === undefined || ['', 'byte'].includes(schema.format) ? 'string' : 'untyped' }
    default:
      return { scalar: 'untyped' }
  }
}

function toListType(schema: Schema, keepsUnknown: boolean): ListType {
  const items = Array.isArray(schema.items) ? schema.items[0] : schema.items
  const element = items === undefined ? untyped : toRef(items, keepsUnknown)
  const listType = schema['x-kubernetes-list-type']
  if (listType === 'map') return { isAtomic: false, keys: schema['x-kubernetes-list-map-keys'] ?? [], element }
  if (listType === 'set') return { isAtomic: false, keys: [], element }
  const strategy = schema['x-kubernetes-patch-strategy']
  if (listType !== undefined || (strategy !== 'merge' && strategy !== 'merge,retainKeys')) {
    return { isAtomic: true, keys: [], element }
  }
  const mergeKey = schema['x-kubernetes-patch-merge-key']
  return { isAtomic: false, keys: mergeKey === undefined ? [] : [mergeKey], element }
}

function toMapType(schema: Schema, keepsUnknown: boolean, isRoot: boolean): MapType {
  const fields = new Map<string, TypeRef>()
  const properties = schema.properties ?? {}
  for (const name of Object.keys(properties)) {
    const property = properties[name]
    if (property !== undefined) fields.set(name, toRef(property, keepsUnknown))
  }
  if (isRoot || schema['x-kubernetes-embedded-resource'] === true) addObjectFields(fields, properties)
  return {
    isAtomic: schema['x-kubernetes-map-type'] === 'atomic',
    fields,
    element: toElement(schema, keepsUnknown, fields.size === 0),
  }
}

function toElement(schema: Schema, keepsUnknown: boolean, isFreeForm: boolean): TypeRef | undefined {
  const additional = schema.additionalProperties
  if (additional === undefined) return keepsUnknown || isFreeForm ? deduced : undefined
  if (typeof additional === 'object') return toRef(additional, keepsUnknown)
  return additional ? deduced : undefined
}

function toRef(schema: Schema, keepsUnknown: boolean): TypeRef {
  return { kind: 'schema', schema, keepsUnknown, isRoot: false }
}

/** Custom kinds may leave their metadata to the server, which knows what it looks like. */
function addObjectFields(fields: Map<string, TypeRef>, properties: Record<string, Schema>): void {
  for (const name of ['apiVersion', 'kind']) if (!fields.has(name)) fields.set(name, toRef({ type: 'string' }, false))
  const { metadata } = properties
  const isDeclared =
    metadata !== undefined && (refName(metadata) !== undefined || 'ownerReferences' in (metadata.properties ?? {}))
  if (!isDeclared) fields.set('metadata', objectMeta)
}

const text: Schema = { type: 'string' }
const integer: Schema = { type: 'integer' }
const texts: Schema = { type: 'object', additionalProperties: text }

const objectMeta: TypeRef = toRef(
  {
    type: 'object',
    properties: {
      annotations: texts,
      creationTimestamp: { type: 'string', format: 'date-time' },
      deletionGracePeriodSeconds: integer,
      deletionTimestamp: { type: 'string', format: 'date-time' },
      finalizers: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
      generateName: text,
      generation: integer,
      labels: texts,
      managedFields: { type: 'array', items: { type: 'object' }, 'x-kubernetes-list-type': 'atomic' },
      name: text,
      namespace: text,
      ownerReferences: {
        type: 'array',
        items: {
          type: 'object',
          'x-kubernetes-map-type': 'atomic',
          properties: {
            apiVersion: text,
            blockOwnerDeletion: { type: 'boolean' },
            controller: { type: 'boolean' },
            kind: text,
            name: text,
            uid: text,
          },
        },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['uid'],
      },
      resourceVersion: text,
      selfLink: text,
      uid: text,
    },
  },
  false,
)
