import { describe, expect, it } from 'vitest'
import type { ServedKind } from '../kinds/kind.ts'
import type { Schema } from '../schema/schema.ts'
import { createOpenAPI } from './openapi.ts'
import { publicGroupName } from './operations.ts'

const allVerbs = ['create', 'get', 'list', 'watch', 'update', 'patch', 'delete', 'deletecollection'] as const
const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1.'
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })

const definitions: Record<string, Schema> = {
  'io.k8s.api.core.v1.Thing': {
    type: 'object',
    properties: {
      metadata: { allOf: [ref(`${meta}ObjectMeta`)], default: {}, 'x-proto': 1 },
      size: ref('io.k8s.apimachinery.pkg.api.resource.Quantity'),
    },
    'x-kubernetes-group-version-kind': [{ group: '', version: 'v1', kind: 'Thing' }],
  },
  'io.k8s.api.core.v1.ThingList': {
    type: 'object',
    properties: { items: { type: 'array', items: ref('io.k8s.api.core.v1.Thing') } },
  },
  'io.k8s.api.core.v1.Unused': { type: 'object' },
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { oneOf: [{ type: 'string' }, { type: 'number' }] },
  [`${meta}ObjectMeta`]: { type: 'object', properties: { name: { type: 'string', 'x-proto': 1 } } },
  [`${meta}ListMeta`]: { type: 'object' },
  [`${meta}Status`]: { type: 'object' },
  [`${meta}Patch`]: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  [`${meta}DeleteOptions`]: { type: 'object' },
  [`${meta}APIResourceList`]: { type: 'object' },
  'io.k8s.api.autoscaling.v1.Scale': {
    type: 'object',
    'x-kubernetes-group-version-kind': [{ group: 'autoscaling', version: 'v1', kind: 'Scale' }],
  },
}

const kindOf = (over: Partial<ServedKind>): ServedKind => ({
  group: '',
  version: 'v1',
  kind: 'Thing',
  listKind: 'ThingList',
  plural: 'things',
  singular: 'thing',
  shortNames: [],
  categories: [],
  namespaced: true,
  verbs: allVerbs,
  subresources: [{ name: 'status', verbs: ['get', 'patch', 'update'] }],
  schema: {},
  definitions: {},
  schemaName: 'io.k8s.api.core.v1.Thing',
  isCustom: false,
  behaviour: {},
  ...over,
})

const custom = (schema: Schema, over: Partial<ServedKind> = {}): ServedKind =>
  kindOf({
    group: 'stable.example.com',
    kind: 'Foo',
    listKind: 'FooList',
    plural: 'foos',
    singular: 'foo',
    schema,
    schemaName: 'com.example.stable.v1.Foo',
    isCustom: true,
    ...over,
  })

const options = { definitions, descriptions: { of: () => undefined } }
const open = (...kinds: ServedKind[]) => createOpenAPI(kinds, options)
const parse = (document: { body: Buffer } | undefined) => JSON.parse(document?.body.toString() ?? 'null')
const v3 = (kind: ServedKind) =>
  parse(open(kind).groupVersion('apis/stable.example.com/v1')).components.schemas[kind.schemaName]
const v2 = (kind: ServedKind) => parse(open(kind).swagger()).definitions[kind.schemaName]

describe('the index of version 3', () => {
  it('names every group version with a hash that only content changes', () => {
    const one = custom({ type: 'object' })
    const paths = parse(open(kindOf({}), one).index()).paths
    expect(Object.keys(paths)).toEqual(['api/v1', 'apis/stable.example.com/v1'])
    expect(paths['api/v1'].serverRelativeURL).toMatch(/^\/openapi\/v3\/api\/v1\?hash=[0-9A-F]{128}$/)
    expect(parse(open(custom({ type: 'object' }), kindOf({})).index()).paths).toEqual(paths)
    const other = parse(open(custom({ type: 'object', description: 'other' }), kindOf({})).index()).paths
    expect(other['api/v1']).toEqual(paths['api/v1'])
    expect(other['apis/stable.example.com/v1']).not.toEqual(paths['apis/stable.example.com/v1'])
  })

  it('knows nothing of what is not served', () => {
    expect(open(kindOf({})).groupVersion('apis/absent.dev/v1')).toBeUndefined()
    expect(open(kindOf({})).groupVersion('')).toBeUndefined()
  })

  it('serves the same bytes again while the kinds stay the same', () => {
    const thing = kindOf({})
    const before = open(thing, custom({})).groupVersion('api/v1')
    expect(open(thing, custom({ description: 'changed' })).groupVersion('api/v1')).toBe(before)
    expect(open(kindOf({})).groupVersion('api/v1')).not.toBe(before)
    const more = kindOf({ plural: 'things2' })
    expect(open(thing, more).groupVersion('api/v1')).not.toBe(before)
  })
})

describe('a document of built-in kinds', () => {
  const document = parse(open(kindOf({})).groupVersion('api/v1'))

  it('publishes the schemas that its paths lead to, without our hints', () => {
    expect(Object.keys(document.components.schemas)).not.toContain('io.k8s.api.core.v1.Unused')
    expect(document.components.schemas['io.k8s.api.core.v1.Thing'].properties.metadata).toEqual({
      allOf: [ref(`${meta}ObjectMeta`)],
      default: {},
    })
    expect(document.components.schemas[`${meta}Patch`]).toEqual({ type: 'object' })
    expect(JSON.stringify(document)).not.toContain('x-proto')
  })

  it('tells what a patch understands', () => {
    const { patch, parameters } = document.paths['/api/v1/namespaces/{namespace}/things/{name}']
    expect(patch.operationId).toBe('patchCoreV1NamespacedThing')
    expect(patch['x-kubernetes-group-version-kind']).toEqual({ group: '', version: 'v1', kind: 'Thing' })
    expect(patch.parameters.map((parameter: { name: string }) => parameter.name)).toEqual([
      'dryRun',
      'fieldManager',
      'fieldValidation',
      'force',
    ])
    expect(parameters.map((parameter: { name: string }) => parameter.name)).toEqual(['name', 'namespace', 'pretty'])
    expect(Object.keys(patch.requestBody.content)).toContain('application/strategic-merge-patch+json')
  })

  it('lists every path once', () => {
    expect(Object.keys(document.paths)).toEqual([
      '/api/v1/',
      '/api/v1/namespaces/{namespace}/things',
      '/api/v1/namespaces/{namespace}/things/{name}',
      '/api/v1/namespaces/{namespace}/things/{name}/status',
      '/api/v1/things',
    ])
  })

  it('wraps a described reference, because a reference has no siblings', () => {
    const descriptions = {
      of: (name: string) =>
        name.endsWith('Thing') ? { text: 'A thing.', fields: new Map([['size', 'How big.']]) } : undefined,
    }
    const api = createOpenAPI([kindOf({})], { definitions, descriptions })
    const thing = parse(api.groupVersion('api/v1')).components.schemas['io.k8s.api.core.v1.Thing']
    expect(thing.description).toBe('A thing.')
    const quantity = 'io.k8s.apimachinery.pkg.api.resource.Quantity'
    expect(thing.properties.size).toEqual({ description: 'How big.', allOf: [ref(quantity)] })
    const { size } = parse(api.swagger()).definitions['io.k8s.api.core.v1.Thing'].properties
    expect(size).toEqual({ description: 'How big.', $ref: `#/definitions/${quantity}` })
  })
})

describe('custom kinds in version 3', () => {
  it('have the three fields of every object and say what they are', () => {
    const schema = v3(
      custom({ type: 'object', properties: { metadata: { type: 'object' }, spec: { type: 'string' } } }),
    )
    expect(schema.properties.metadata.allOf).toEqual([ref(`${meta}ObjectMeta`)])
    expect(schema.properties.apiVersion.type).toBe('string')
    expect(schema.properties.kind.type).toBe('string')
    expect(schema.properties.spec).toEqual({ type: 'string' })
    expect(schema['x-kubernetes-group-version-kind']).toEqual([
      { group: 'stable.example.com', kind: 'Foo', version: 'v1' },
    ])
  })

  it('keep their extensions and spell out int-or-string', () => {
    const properties: Record<string, Schema> = {
      port: { 'x-kubernetes-int-or-string': true },
      any: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { z: { type: 'string' } } },
    }
    const schema = v3(custom({ type: 'object', properties }))
    expect(schema.properties.port.anyOf).toEqual([{ type: 'integer' }, { type: 'string' }])
    expect(schema.properties.any).toEqual(properties.any)
  })

  it('explain embedded objects', () => {
    const schema = v3(
      custom({ type: 'object', properties: { e: { type: 'object', 'x-kubernetes-embedded-resource': true } } }),
    )
    expect(schema.properties.e.required).toEqual(['kind', 'apiVersion'])
    expect(Object.keys(schema.properties.e.properties)).toEqual(['apiVersion', 'kind', 'metadata'])
  })

  it('name the fields that can be selected', () => {
    const kind = custom({ type: 'object' }, { behaviour: { fields: { 'spec.x': () => '' } } })
    expect(v3(kind)['x-kubernetes-selectable-fields']).toEqual([{ fieldPath: 'spec.x' }])
  })

  it('survive odd field names', () => {
    const properties = JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"string"}}')
    const body = open(custom({ type: 'object', properties }))
      .groupVersion('apis/stable.example.com/v1')
      ?.body.toString()
    expect(body).toContain('"__proto__":{"type":"string"}')
    expect(body).toContain('"constructor":{"type":"string"}')
  })

  it('use the schema of a subresource that has its own kind', () => {
    const scale = { name: 'scale', verbs: ['get'], kind: 'Scale', group: 'autoscaling', version: 'v1' } as const
    const document = parse(open(custom({}, { subresources: [scale] })).groupVersion('apis/stable.example.com/v1'))
    const { get } = document.paths['/apis/stable.example.com/v1/namespaces/{namespace}/foos/{name}/scale']
    expect(get.responses['200'].content['application/json'].schema).toEqual(ref('io.k8s.api.autoscaling.v1.Scale'))
    expect(document.components.schemas['io.k8s.api.autoscaling.v1.Scale']).toBeDefined()
  })
})

describe('custom kinds in version 2', () => {
  it('that take any field name none', () => {
    expect(v2(custom({ type: 'object', description: 'd', 'x-kubernetes-preserve-unknown-fields': true }))).toEqual({
      type: 'object',
      'x-kubernetes-group-version-kind': [{ group: 'stable.example.com', kind: 'Foo', version: 'v1' }],
    })
  })

  it.each<[string, Schema, Schema]>([
    ['drops junctors', { type: 'object', anyOf: [{ required: ['a'] }], not: { required: ['b'] } }, { type: 'object' }],
    ['drops defaults', { type: 'integer', default: 3, minimum: 1 }, { type: 'integer', minimum: 1 }],
    ['unties nullable values', { type: 'array', nullable: true, items: { type: 'string' } }, {}],
    [
      'unties values that take any field',
      { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { z: { type: 'string' } } },
      { 'x-kubernetes-preserve-unknown-fields': true },
    ],
    [
      'does not require what may be null',
      {
        type: 'object',
        required: ['a', 'b'],
        properties: { a: { type: 'string', nullable: true }, b: { type: 'string' } },
      },
      { type: 'object', required: ['b'], properties: { a: {}, b: { type: 'string' } } },
    ],
    [
      'leaves int-or-string to its extension',
      { 'x-kubernetes-int-or-string': true },
      { 'x-kubernetes-int-or-string': true },
    ],
    [
      'leaves embedded objects of any shape alone',
      { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
      { 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
    ],
    [
      'keeps enums and formats',
      { type: 'string', enum: ['a'], format: 'x' },
      { type: 'string', enum: ['a'], format: 'x' },
    ],
  ])('%s', (_, given, expected) => {
    expect(v2(custom({ type: 'object', properties: { spec: given } })).properties.spec).toEqual(expected)
  })

  it('says quantities and references in its own words', () => {
    const { definitions: published, swagger } = parse(open(kindOf({})).swagger())
    expect(swagger).toBe('2.0')
    expect(published['io.k8s.apimachinery.pkg.api.resource.Quantity']).toEqual({ type: 'string' })
    expect(published['io.k8s.api.core.v1.Thing'].properties.metadata).toEqual({
      $ref: `#/definitions/${meta}ObjectMeta`,
    })
  })
})

it.each([
  ['', 'core'],
  ['apps', 'apps'],
  ['rbac.authorization.k8s.io', 'rbacAuthorization'],
  ['stable.example.com', 'stableExampleCom'],
])('group %j is called %s', (group, expected) => {
  expect(publicGroupName(group)).toBe(expected)
})
