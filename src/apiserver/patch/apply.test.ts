import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { builtinDefinitions, builtinSchema } from '../builtin/types.ts'
import { clone, type JSONValue, type KubeObject, type ManagedFieldsEntry } from '../object.ts'
import type { Schema } from '../schema/schema.ts'
import { StatusError } from '../status.ts'
import {
  keepTimesIfUnchanged,
  managerFromUserAgent,
  type OwnershipOptions,
  serverSideApply,
  trackUpdate,
} from './apply.ts'

const start = Date.parse('2030-01-01T00:00:00Z')

/** One object and its writers, each write a second after the last. */
function story(kind: Omit<OwnershipOptions, 'manager' | 'now'>) {
  let live: KubeObject | undefined
  let seconds = 0
  const options = (manager: string, more: Partial<OwnershipOptions>) => ({
    ...kind,
    manager,
    now: new Date(start + seconds++ * 1000),
    ...more,
  })
  const store = (object: KubeObject) => {
    object.metadata.uid ??= 'uid'
    live = object
    return object
  }
  return {
    get live(): KubeObject {
      if (live === undefined) throw new Error('nothing is stored')
      return live
    },
    apply(manager: string, config: object, force = false, more: Partial<OwnershipOptions> = {}): KubeObject {
      const applied = { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name: 'x' }, ...config }
      return store(
        serverSideApply({ ...options(manager, more), live, applied: applied as unknown as JSONValue, force }).object,
      )
    },
    update(manager: string, change: object, more: Partial<OwnershipOptions> = {}): KubeObject {
      const base = live ?? { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name: 'x' } }
      const updated = { ...clone(base), ...clone(change) } as KubeObject
      updated.metadata = { ...base.metadata, ...updated.metadata }
      const entries = trackUpdate({ ...options(manager, more), live, updated })
      delete updated.metadata.managedFields
      if (entries.length > 0) updated.metadata.managedFields = entries
      return store(updated)
    },
  }
}

const configMap = () =>
  story({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    schema: builtinSchema('io.k8s.api.core.v1.ConfigMap'),
    definitions: builtinDefinitions,
    isCustom: false,
  })

const deployment = () =>
  story({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    schema: builtinSchema('io.k8s.api.apps.v1.Deployment'),
    definitions: builtinDefinitions,
    isCustom: false,
    resetFields: [['status']],
  })

/** `one: a b` for each manager: what it owns of `data`. */
function owners({ metadata }: KubeObject): string[] {
  return (metadata.managedFields ?? []).map(({ manager, fieldsV1 }) => {
    const data = (fieldsV1?.['f:data'] ?? {}) as Record<string, unknown>
    const keys = Object.keys(data).map(key => key.replace('f:', ''))
    return [`${manager}:`, ...keys.filter(key => key !== '.')].join(' ')
  })
}

function refusal(attempt: () => unknown): StatusError['status'] {
  try {
    attempt()
  } catch (error) {
    if (error instanceof StatusError) return error.status
    throw error
  }
  throw new Error('it was allowed')
}

describe('an applier', () => {
  it('owns what it applies, from the first time on', () => {
    const world = configMap()
    expect(world.apply('one', { data: { a: '1' } })).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'x',
        uid: 'uid',
        managedFields: [
          {
            manager: 'one',
            operation: 'Apply',
            apiVersion: 'v1',
            time: '2030-01-01T00:00:00Z',
            fieldsType: 'FieldsV1',
            fieldsV1: { 'f:data': { 'f:a': {} } },
          },
        ],
      },
      data: { a: '1' },
    })
  })

  it('changes nothing by saying the same again', () => {
    const world = configMap()
    const first = clone(world.apply('one', { data: { a: '1' } }))
    expect(world.apply('one', { data: { a: '1' } })).toEqual(first)
  })

  it('loses a field it no longer applies, and the field goes', () => {
    const world = configMap()
    world.apply('one', { data: { a: '1', b: '2' } })
    expect(world.apply('one', { data: { a: '1' } }).data).toEqual({ a: '1' })
    expect(owners(world.live)).toEqual(['one: a'])
  })

  it('loses a field it no longer applies, and the field stays with its other owners', () => {
    const world = configMap()
    world.apply('one', { data: { a: '1', b: '2' } })
    world.apply('two', { data: { b: '2' } })
    expect(world.apply('one', { data: { a: '1' } }).data).toEqual({ a: '1', b: '2' })
    expect(owners(world.live).sort()).toEqual(['one: a', 'two: b'])
  })

  it('shares what it applies with equal value', () => {
    const world = configMap()
    world.apply('one', { data: { a: '1' } })
    world.apply('two', { data: { a: '1' } })
    expect(owners(world.live).sort()).toEqual(['one: a', 'two: a'])
  })

  it('may not change what another one applied', () => {
    const world = configMap()
    world.apply('one', { data: { a: '1' } })
    const before = clone(world.live)
    expect(refusal(() => world.apply('two', { data: { a: '2' } }))).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Apply failed with 1 conflict: conflict with "one": .data.a',
      reason: 'Conflict',
      details: { causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.a' }] },
      code: 409,
    })
    expect(world.live).toEqual(before)
  })

  it('gets all conflicts at once, by manager', () => {
    const world = deployment()
    world.update('kubectl-client-side-apply', { spec: { replicas: 1, paused: true } })
    world.apply('one', { spec: { minReadySeconds: 5 } })
    const attempt = () => world.apply('two', { spec: { replicas: 2, paused: false, minReadySeconds: 6 } })
    expect(refusal(attempt).message).toBe(
      [
        'Apply failed with 3 conflicts: conflicts with "kubectl-client-side-apply" using apps/v1:',
        '- .spec.paused',
        '- .spec.replicas',
        'conflicts with "one":',
        '- .spec.minReadySeconds',
      ].join('\n'),
    )
  })

  it('takes over by force, and the other one owns it no more', () => {
    const world = configMap()
    world.apply('one', { data: { a: '1', b: '1' } })
    expect(world.apply('two', { data: { a: '2' } }, true).data).toEqual({ a: '2', b: '1' })
    expect(owners(world.live)).toEqual(['one: b', 'two: a'])
  })

  it('does not own, nor take away, what it may not write', () => {
    const world = deployment()
    world.update('controller', { status: { replicas: 1 } }, { subresource: 'status', resetFields: [['spec']] })
    const object = world.apply('one', { spec: { replicas: 3 }, status: { replicas: 9 } })
    expect(
      object.metadata.managedFields?.map(({ manager, fieldsV1 }) => [manager, Object.keys(fieldsV1 ?? {})]),
    ).toEqual([
      ['one', ['f:spec']],
      ['controller', ['f:status']],
    ])
  })

  it('takes an object without managers', () => {
    const world = configMap()
    world.update('creator', { data: { a: '1' } })
    delete world.live.metadata.managedFields
    expect(refusal(() => world.apply('one', { data: { a: '2' } })).message).toBe(
      'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.a',
    )
    world.apply('one', { data: { b: '1' } })
    expect(owners(world.live)).toEqual(['one: b', 'before-first-apply: a'])
  })

  it.each<[string, object, string, number]>([
    ['of another kind', { kind: 'Secret' }, 'invalid object type: /v1, Kind=Secret', 400],
    ['without a version', { apiVersion: undefined }, 'invalid object type: /, Kind=ConfigMap', 400],
    ['that sets managedFields', { metadata: { managedFields: [] } }, 'metadata.managedFields must be nil', 400],
    [
      'with an unknown field',
      { metadata: { name: 'x', namespace: 'n' }, nope: 1 },
      'failed to create typed patch object (n/x; /v1, Kind=ConfigMap): .nope: field not declared in schema',
      500,
    ],
  ])('may not apply an object %s', (_, config, message, code) => {
    expect(refusal(() => configMap().apply('one', config))).toMatchObject({ message, code })
  })
})

describe('another writer', () => {
  it('owns what it changed, and takes it from its owners', () => {
    const world = configMap()
    world.update('creator', { data: { a: '1', b: '1' } })
    world.apply('one', { data: { c: '1' } })
    world.update('editor', { data: { a: '2', b: '1', c: '2' } })
    expect(owners(world.live)).toEqual(['creator: b', 'editor: a c'])
  })

  it('takes what it removes from its owners', () => {
    const world = configMap()
    world.apply('one', { data: { a: '1', b: '1' } })
    world.update('editor', { data: { b: '1' } })
    expect(owners(world.live)).toEqual(['one: b'])
  })

  it('leaves no trace when nothing was changed', () => {
    const world = configMap()
    world.update('creator', { data: { a: '1' } })
    const before = clone(world.live.metadata.managedFields)
    world.update('editor', { metadata: { resourceVersion: '7', generation: 2 } })
    expect(world.live.metadata.managedFields).toEqual(before)
  })

  it('is one entry per version and subresource', () => {
    const world = deployment()
    world.update('m', { spec: { replicas: 1 } })
    world.update('m', { status: { replicas: 1 } }, { subresource: 'status', resetFields: [['spec']] })
    expect(world.live.metadata.managedFields?.map(({ manager, subresource }) => [manager, subresource])).toEqual([
      ['m', undefined],
      ['m', 'status'],
    ])
  })

  it('is at most ten, the oldest together in one', () => {
    const world = configMap()
    const data: Record<string, string> = {}
    for (let i = 0; i < 14; i++) {
      data[`k${i}`] = '1'
      world.update(`m${i}`, { data })
    }
    const found = owners(world.live)
    expect(found).toHaveLength(10)
    expect(found[0]).toBe('ancient-changes: k0 k1 k2 k3 k4')
    expect(found.at(-1)).toBe('m13: k13')
  })

  it.each<[string, ManagedFieldsEntry[]]>([
    ['an empty list', []],
    ['one empty entry', [{}]],
  ])('may make the server forget by %s, and it does not start anew by itself', (_, managedFields) => {
    const world = configMap()
    world.update('creator', { data: { a: '1' } })
    world.update('editor', { data: { a: '2' }, metadata: { managedFields } })
    expect(world.live.metadata.managedFields).toBeUndefined()
    world.update('editor', { data: { a: '3' } })
    expect(world.live.metadata.managedFields).toBeUndefined()
  })

  it('does not make the server forget by leaving the list out, or by writing nonsense into it', () => {
    const world = configMap()
    world.update('creator', { data: { a: '1' } })
    const before = clone(world.live.metadata.managedFields)
    for (const entry of [{ operation: 'Frob' }, { operation: 'Update', apiVersion: 'v1', fieldsType: 'X' }]) {
      world.update('editor', { metadata: { managedFields: [entry] } })
      expect(world.live.metadata.managedFields).toEqual(before)
    }
  })

  it('may set managedFields, but not through a subresource', () => {
    const world = configMap()
    world.update('creator', { data: { a: '1' } })
    const entry = { ...world.live.metadata.managedFields?.[0], manager: 'renamed' }
    world.update('editor', { metadata: { managedFields: [entry] } }, { subresource: 'status' })
    expect(owners(world.live)).toEqual(['creator: a'])
    world.update('editor', { metadata: { managedFields: [entry] } })
    expect(owners(world.live)).toEqual(['renamed: a'])
  })

  it('is called unknown without a name', () => {
    const world = configMap()
    world.update('', { data: { a: '1' } })
    expect(owners(world.live)).toEqual(['unknown: a'])
  })
})

describe('objects of more than one version', () => {
  const text: Schema = { type: 'string' }
  const schemaOf = (field: string): Schema => ({
    type: 'object',
    properties: { spec: { type: 'object', properties: { [field]: text, same: text } } },
  })
  const schemas: Record<string, Schema> = { 'e/v1': schemaOf('old'), 'e/v2': schemaOf('young') }
  const rename = (object: KubeObject, from: string, to: string): KubeObject => {
    const spec = { ...(object.spec as Record<string, unknown>) }
    if (from in spec) {
      spec[to] = spec[from]
      delete spec[from]
    }
    return { ...object, spec }
  }
  const toVersion = (object: KubeObject, apiVersion: string) => {
    const schema = schemas[apiVersion]
    if (schema === undefined) return undefined
    const converted = apiVersion === 'e/v2' ? rename(object, 'old', 'young') : rename(object, 'young', 'old')
    return { object: { ...converted, apiVersion }, schema, definitions: {} }
  }
  const at = (apiVersion: string, manager: string) => ({
    apiVersion,
    kind: 'E',
    schema: schemas[apiVersion] ?? {},
    definitions: {},
    isCustom: true,
    now: new Date(start),
    manager,
    toVersion,
  })
  const applyAt = (apiVersion: string, manager: string, live: KubeObject | undefined, spec: object, force = false) => {
    const applied = { apiVersion, kind: 'E', metadata: { name: 'x' }, spec } as unknown as JSONValue
    return serverSideApply({ ...at(apiVersion, manager), live, applied, force }).object
  }

  it('conflict under the name the owner used', () => {
    const first = applyAt('e/v1', 'one', undefined, { old: 'a', same: 's' })
    const live = toVersion(first, 'e/v2')?.object
    expect(refusal(() => applyAt('e/v2', 'two', live, { young: 'b' })).message).toBe(
      'Apply failed with 1 conflict: conflict with "one": .spec.old',
    )
  })

  it('lose what an applier leaves out after it moved to another version', () => {
    const first = applyAt('e/v1', 'one', undefined, { old: 'a', same: 's' })
    const second = applyAt('e/v2', 'one', toVersion(first, 'e/v2')?.object, { same: 's' })
    expect(second.spec).toEqual({ same: 's' })
    expect(second.metadata.managedFields).toHaveLength(1)
    expect(second.metadata.managedFields?.[0]?.apiVersion).toBe('e/v2')
  })

  it('drop the managers of a version that is gone', () => {
    const live = applyAt('e/v1', 'one', undefined, { old: 'a' })
    const entry = { ...live.metadata.managedFields?.[0], apiVersion: 'e/v0' }
    const stale = { ...live, metadata: { ...live.metadata, uid: 'u', managedFields: [entry] } }
    const updated = { ...clone(stale), spec: { old: 'b' } } as KubeObject
    expect(trackUpdate({ ...at('e/v1', 'editor'), live: stale, updated }).map(({ manager }) => manager)).toEqual([
      'editor',
    ])
  })
})

describe('kubectl taking over from its client-side self', () => {
  const annotation = 'kubectl.kubernetes.io/last-applied-configuration'
  const byHand = (data: object) => {
    const config = { apiVersion: 'v1', data, kind: 'ConfigMap', metadata: { name: 'x' } }
    return { data, metadata: { name: 'x', annotations: { [annotation]: `${JSON.stringify(config)}\n` } } }
  }

  it('has no conflict over what the annotation says, and keeps the annotation true', () => {
    const world = configMap()
    world.update('kubectl-client-side-apply', byHand({ a: '1', b: '1' }))
    const object = world.apply('kubectl', { data: { a: '<2>' } })
    expect(object.data).toEqual({ a: '<2>', b: '1' })
    expect(object.metadata.annotations?.[annotation]).toBe(
      '{"apiVersion":"v1","data":{"a":"\\u003c2\\u003e"},"kind":"ConfigMap","metadata":{"name":"x"}}\n',
    )
  })

  it('has a conflict over what was changed since', () => {
    const world = configMap()
    world.update('kubectl-client-side-apply', byHand({ a: '1', b: '1' }))
    world.update('editor', { data: { a: '1', b: '2' } })
    expect(refusal(() => world.apply('kubectl', { data: { a: '2', b: '3' } })).message).toBe(
      'Apply failed with 1 conflict: conflict with "editor" using v1: .data.b',
    )
  })

  it('is for kubectl alone', () => {
    const world = configMap()
    world.update('kubectl-client-side-apply', byHand({ a: '1' }))
    expect(refusal(() => world.apply('other', { data: { a: '2' } })).message).toBe(
      'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .data.a',
    )
  })
})

describe('times', () => {
  it('are kept when the write turns out to change nothing', () => {
    const world = configMap()
    const live = clone(world.apply('one', { data: { a: '1' } }))
    const again = clone(live)
    for (const entry of again.metadata.managedFields ?? []) entry.time = '2031-01-01T00:00:00Z'
    const changed = { ...clone(again), data: { a: '2' } }
    keepTimesIfUnchanged(again, live)
    expect(again).toEqual(live)
    keepTimesIfUnchanged(changed, live)
    expect(changed.metadata.managedFields?.[0]?.time).toBe('2031-01-01T00:00:00Z')
  })
})

describe('the name of a manager', () => {
  it.each([
    ['kubectl/v1.35 (linux/amd64)', 'kubectl'],
    ['', ''],
    ['/x', ''],
    ['a\u0007b\u200bc d/1', 'abc d'],
    ['é'.repeat(100), 'é'.repeat(64)],
    ['curl', 'curl'],
  ])('comes from %j as %j', (userAgent, expected) => expect(managerFromUserAgent(userAgent)).toBe(expected))
})

describe('any sequence of writes', () => {
  const key = fc.constantFrom('a', 'b', 'c', '__proto__')
  // An empty map is not stored by a built-in kind, so owning one is a claim that never comes true.
  const data = fc.dictionary(key, fc.constantFrom('1', '2'), { minKeys: 1 })
  const manager = fc.constantFrom('one', 'two', 'three')
  const write = fc.record({ verb: fc.constantFrom('apply', 'update'), manager, data })

  it('leaves every manager owning only what is there, and a repeated apply changes nothing', () => {
    fc.assert(
      fc.property(fc.array(write, { minLength: 1, maxLength: 8 }), writes => {
        const world = configMap()
        for (const { verb, manager, data } of writes) {
          if (verb === 'update') {
            world.update(manager, { data })
            continue
          }
          const first = clone(world.apply(manager, { data }, true))
          expect(world.apply(manager, { data })).toEqual(first)
          expect(first.data).toMatchObject(data)
        }
        const keys = Object.keys((world.live.data ?? {}) as object)
        for (const line of owners(world.live)) expect(keys).toEqual(expect.arrayContaining(line.split(' ').slice(1)))
        expect(({} as Record<string, unknown>)['1']).toBeUndefined()
      }),
    )
  })
})
