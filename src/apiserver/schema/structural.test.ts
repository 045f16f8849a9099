import { describe, expect, it } from 'vitest'
import { describeFault } from '../faults.ts'
import { clone, type KubeObject } from '../object.ts'
import type { Schema } from './schema.ts'
import { compileSchema } from './structural.ts'

function anObject(fields: Record<string, unknown>): KubeObject {
  return { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'a' }, ...fields }
}

function withSpec(spec: Schema): Schema {
  return {
    type: 'object',
    properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { type: 'object' }, spec },
  }
}

const object = (properties: Record<string, Schema>, more: Schema = {}): Schema => ({
  type: 'object',
  properties,
  ...more,
})

function faultsOf(spec: Schema, value: unknown, old?: unknown): string[] {
  const compiled = compileSchema(withSpec(spec), {})
  const before = old === undefined ? undefined : anObject({ spec: old })
  return compiled.validate(anObject({ spec: value }), before).map(describeFault)
}

describe('validation', () => {
  const cases: [name: string, spec: Schema, value: unknown, faults: string[]][] = [
    [
      'a wrong type is named with the type that came',
      object({ replicas: { type: 'integer' } }),
      { replicas: 'three' },
      ['spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"'],
    ],
    [
      'a null is a type of its own',
      object({ a: { type: 'string' } }),
      { a: null },
      ['spec.a: Invalid value: "null": spec.a in body must be of type string: "null"'],
    ],
    ['a nullable field takes null', object({ a: { type: 'string', nullable: true } }), { a: null }, []],
    ['a missing field is required', object({}, { required: ['a'] }), {}, ['spec.a: Required value']],
    [
      'an enum lists what would do',
      object({ a: { type: 'string', enum: ['a', 'b'] } }),
      { a: 'c' },
      ['spec.a: Unsupported value: "c": supported values: "a", "b"'],
    ],
    [
      'too many items are counted',
      object({ l: { type: 'array', maxItems: 2, items: { type: 'integer' } } }),
      { l: [1, 2, 3] },
      ['spec.l: Too many: 3: must have at most 2 items'],
    ],
    [
      'too few items are counted',
      object({ l: { type: 'array', minItems: 1, items: { type: 'integer' } } }),
      { l: [] },
      ['spec.l: Invalid value: 0: spec.l in body should have at least 1 items'],
    ],
    [
      'a pattern is quoted',
      object({ a: { type: 'string', pattern: '^a$' } }),
      { a: 'b' },
      ['spec.a: Invalid value: "b": spec.a in body should match \'^a$\''],
    ],
    ['lengths count code points', object({ a: { type: 'string', maxLength: 2 } }), { a: '😀😀' }, []],
    [
      'a long text says how long it may be',
      object({ a: { type: 'string', maxLength: 2 } }),
      { a: 'abc' },
      ['spec.a: Too long: may not be more than 2 bytes'],
    ],
    [
      'a number above its maximum',
      object({ a: { type: 'integer', maximum: 5 } }),
      { a: 6 },
      ['spec.a: Invalid value: 6: spec.a in body should be less than or equal to 5'],
    ],
    [
      'an integer too big for a double is compared exactly',
      object({ a: { type: 'integer', exclusiveMinimum: true, minimum: 9007199254740992 } }),
      { a: 9007199254740993n },
      [],
    ],
    [
      'an integer beyond 64 bits is a float',
      object({ a: { type: 'integer' } }),
      { a: 99999999999999999999n },
      ['spec.a: Invalid value: "number": spec.a in body must be of type integer: "number"'],
    ],
    ['an integer is a number', object({ a: { type: 'number' } }), { a: 3 }, []],
    [
      'a format is checked on strings',
      object({ a: { type: 'string', format: 'date-time' } }),
      { a: 'now' },
      ['spec.a: Invalid value: "now": spec.a in body must be of type date-time: "now"'],
    ],
    ['an unknown format is ignored', object({ a: { type: 'string', format: 'poem' } }), { a: 'x' }, []],
    [
      'int-or-string takes neither list nor boolean',
      object({ a: { 'x-kubernetes-int-or-string': true } }),
      { a: true },
      ['spec.a: Invalid value: "boolean": spec.a in body must be of type integer,string: "boolean"'],
    ],
    [
      'oneOf tells the closest alternative',
      object({ a: { type: 'string' }, b: { type: 'string' } }, { oneOf: [{ required: ['a'] }, { required: ['b'] }] }),
      {},
      [
        '<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found none valid',
        'spec.a: Required value',
      ],
    ],
    [
      'oneOf with two winners',
      object({ a: { type: 'string' }, b: { type: 'string' } }, { oneOf: [{ required: ['a'] }, { required: ['b'] }] }),
      { a: '', b: '' },
      ['<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
    ],
    [
      'not',
      object({ a: { type: 'string' } }, { not: { required: ['a'] } }),
      { a: '' },
      ['<nil>: Invalid value: "": "spec" must not validate the schema (not)'],
    ],
    [
      'sets hold no twins',
      object({ l: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } } }),
      { l: ['a', 'b', 'a', 'a'] },
      ['spec.l[2]: Duplicate value: "a"'],
    ],
    [
      'maps hold no twins',
      object({
        l: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: object({ name: { type: 'string' } }),
        },
      }),
      { l: [{ name: 'a' }, { name: 'a' }] },
      ['spec.l[1]: Duplicate value: {"name":"a"}'],
    ],
    [
      'all faults at once',
      object({ a: { type: 'string' }, b: { type: 'integer', minimum: 1 } }, { required: ['c'] }),
      { a: 1, b: 0 },
      [
        'spec.a: Invalid value: "integer": spec.a in body must be of type string: "integer"',
        'spec.b: Invalid value: 0: spec.b in body should be greater than or equal to 1',
        'spec.c: Required value',
      ],
    ],
    [
      'fields of a map are under a dot',
      object({ m: { type: 'object', additionalProperties: { type: 'integer' } } }),
      { m: { k: 'x' } },
      ['spec.m.k: Invalid value: "string": spec.m.k in body must be of type integer: "string"'],
    ],
  ]

  it.each(cases)('%s', (_, spec, value, faults) => {
    expect(faultsOf(spec, value)).toEqual(faults)
  })

  it('does not judge again what did not change', () => {
    const spec = object({ a: { type: 'string', maxLength: 1 }, b: { type: 'string' } })
    expect(faultsOf(spec, { a: 'long', b: 'new' }, { a: 'long', b: 'old' })).toEqual([])
    expect(faultsOf(spec, { a: 'longer' }, { a: 'long' })).toHaveLength(1)
  })

  it('answers a catastrophic pattern by a linear engine', () => {
    const spec = object({ a: { type: 'string', pattern: '^(a+)+$' } })
    expect(faultsOf(spec, { a: `${'a'.repeat(5_000)}!` })).toHaveLength(1)
  })
})

describe('pruning', () => {
  const compiled = compileSchema(
    withSpec(
      object({
        a: { type: 'string' },
        list: { type: 'array', items: object({ x: { type: 'string' } }) },
        open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { shut: object({}) } },
        map: { type: 'object', additionalProperties: object({ x: { type: 'string' } }) },
        inner: { type: 'object', 'x-kubernetes-embedded-resource': true },
        gone: { type: 'string' },
      }),
    ),
    {},
  )

  const full = () =>
    anObject({
      extra: 1,
      metadata: { name: 'a', unknownMeta: true },
      spec: {
        a: 'x',
        b: 1,
        list: [{ x: '', y: 1 }],
        open: { any: { thing: 1 }, shut: { z: 1 } },
        map: { k: { x: '', y: 1 } },
        inner: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', odd: 1 }, spec: {} },
        gone: null,
      },
    })
  const unknown = [
    'metadata.unknownMeta',
    'extra',
    'spec.b',
    'spec.inner.spec',
    'spec.list[0].y',
    'spec.map.k.y',
    'spec.open.shut.z',
    'spec.inner.metadata.odd',
  ]

  it('names what it removes', () => {
    const value = full()
    expect(compiled.prune(value)).toEqual(unknown)
    expect(value).toEqual(
      anObject({
        spec: {
          a: 'x',
          list: [{ x: '' }],
          open: { any: { thing: 1 }, shut: {} },
          map: { k: { x: '' } },
          inner: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } },
        },
      }),
    )
    expect(compiled.prune(value)).toEqual([])
  })

  it('can look without touching', () => {
    const value = full()
    const before = clone(value)
    expect(compiled.unknownFields(value)).toEqual(unknown)
    expect(value).toEqual(before)
  })
})

describe('defaulting', () => {
  it('fills in what is absent, and null where null may not be', () => {
    const compiled = compileSchema(
      withSpec({
        ...object({
          a: { type: 'string', default: 'x' },
          n: { type: 'string', default: 'x', nullable: true },
          o: { ...object({ deep: { type: 'integer', default: 3 } }), default: {} },
          l: { type: 'array', items: object({ i: { type: 'boolean', default: true } }) },
          m: { type: 'object', additionalProperties: object({ j: { type: 'boolean', default: false } }) },
        }),
        default: {},
      }),
      {},
    )
    const value = anObject({ spec: { a: null, n: null, l: [{}], m: { k: {} } } })
    compiled.applyDefaults(value)
    expect(value.spec).toEqual({ a: 'x', n: null, o: { deep: 3 }, l: [{ i: true }], m: { k: { j: false } } })
    const empty = anObject({})
    compiled.applyDefaults(empty)
    expect(empty.spec).toEqual({ a: 'x', n: 'x', o: { deep: 3 } })
  })
})

it.each<[string, Schema, Record<string, unknown>, boolean]>([
  ['all fields known', { properties: { a: { type: 'string' } } }, { a: 'x' }, true],
  ['an unknown field', { properties: { a: { type: 'string' } } }, { b: 'x' }, false],
  ['a default that is missing', { properties: { a: { type: 'string', default: 'x' } } }, {}, false],
  ['a null that is dropped', { properties: { a: { type: 'string' } } }, { a: null }, false],
  ['a null that may be', { properties: { a: { type: 'string', nullable: true } } }, { a: null }, true],
  ['an embedded resource', { 'x-kubernetes-embedded-resource': true }, { metadata: { odd: 1 } }, false],
  ['anything goes', { 'x-kubernetes-preserve-unknown-fields': true }, { b: [{ c: null }] }, true],
])('whether an object is complete is seen without changing it: %s', (_, schema, spec, isComplete) => {
  const compiled = compileSchema({ type: 'object', properties: { spec: { type: 'object', ...schema } } }, {})
  const metadata = { name: 'a', managedFields: [{ manager: 'm', fieldsV1: { 'f:spec': {} } }] }
  expect(compiled.isSurelyComplete({ apiVersion: 'a/v1', kind: 'A', metadata, spec })).toBe(isComplete)
})
