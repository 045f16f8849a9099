import { describe, expect, it } from 'vitest'
import { builtinDefinitions } from '../builtin/types.ts'
import { type Definitions, refTo, type Schema } from '../schema/schema.ts'
import { atomOf, chooseKind, toObjectType } from './atom.ts'

function atomAt(property: Schema, definitions: Definitions = {}) {
  const { root } = toObjectType({ type: 'object', properties: { property } }, definitions)
  const ref = atomOf(root, definitions).map?.fields.get('property')
  if (ref === undefined) throw new Error('the property is not there')
  return atomOf(ref, definitions)
}

describe('what a schema makes of a place', () => {
  const items: Schema = { type: 'string' }

  it.each<[string, Schema, object]>([
    ['a number', { type: 'integer' }, { scalar: 'numeric' }],
    ['a word', { type: 'string' }, { scalar: 'string' }],
    ['bytes', { type: 'string', format: 'byte' }, { scalar: 'string' }],
    ['a time', { type: 'string', format: 'date-time' }, { scalar: 'untyped' }],
    ['a list', { type: 'array', items }, { list: { isAtomic: true, keys: [] } }],
    ['a set', { type: 'array', items, 'x-kubernetes-list-type': 'set' }, { list: { isAtomic: false, keys: [] } }],
    [
      'a keyed list',
      { type: 'array', items, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a', 'b'] },
      { list: { isAtomic: false, keys: ['a', 'b'] } },
    ],
    [
      'a list that only says how it is patched',
      { type: 'array', items, 'x-kubernetes-patch-strategy': 'merge', 'x-kubernetes-patch-merge-key': 'name' },
      { list: { isAtomic: false, keys: ['name'] } },
    ],
    ['an atomic map', { type: 'object', 'x-kubernetes-map-type': 'atomic' }, { map: { isAtomic: true } }],
    ['anything', {}, { scalar: 'untyped', list: { isAtomic: true }, map: { isAtomic: false } }],
    ['a map of words', { type: 'object', additionalProperties: items }, { map: { element: { kind: 'schema' } } }],
    ['a map without schema', { type: 'object' }, { map: { element: { kind: 'deduced' } } }],
    [
      'a map that keeps unknown fields',
      { type: 'object', properties: { a: items }, 'x-kubernetes-preserve-unknown-fields': true },
      { map: { element: { kind: 'deduced' } } },
    ],
    ['a map of known fields only', { type: 'object', properties: { a: items } }, { map: { element: undefined } }],
  ])('%s', (_, schema, expected) => expect(atomAt(schema)).toMatchObject(expected))

  it('lets a reference say that this use of a type is atomic', () => {
    const definitions = { T: { type: 'object', properties: { a: items } } }
    expect(atomAt(refTo('T'), definitions).map?.isAtomic).toBe(false)
    expect(atomAt({ ...refTo('T'), 'x-kubernetes-map-type': 'atomic' }, definitions).map?.isAtomic).toBe(true)
    expect(atomAt({ allOf: [refTo('T')], 'x-kubernetes-map-type': 'atomic' }, definitions).map?.isAtomic).toBe(true)
  })

  it('knows the two types that are not what their schema says', () => {
    const quantity = 'io.k8s.apimachinery.pkg.api.resource.Quantity'
    expect(atomAt(refTo(quantity), builtinDefinitions)).toEqual({ scalar: 'untyped' })
    const raw = 'io.k8s.apimachinery.pkg.runtime.RawExtension'
    expect(atomAt(refTo(raw), { [raw]: { type: 'object' } }).map?.isAtomic).toBe(true)
  })

  it('knows the metadata of a kind that does not describe it', () => {
    const type = toObjectType({ type: 'object', properties: { metadata: { type: 'object' } } }, {})
    const fields = atomOf(type.root, {}).map?.fields
    expect([...(fields?.keys() ?? [])].sort()).toEqual(['apiVersion', 'kind', 'metadata'])
    const metadata = fields?.get('metadata')
    expect(metadata && atomOf(metadata, {}).map?.fields.has('ownerReferences')).toBe(true)
  })

  it('chooses by the value where there is a choice', () => {
    const any = atomAt({})
    expect([1, [1], { a: 1 }, null].map(value => chooseKind(any, value))).toEqual(['scalar', 'list', 'map', 'map'])
    expect(chooseKind(atomAt({ type: 'string' }), { a: 1 })).toBe('scalar')
  })
})
