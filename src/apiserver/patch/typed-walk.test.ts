import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { clone, type JSONValue } from '../object.ts'
import type { Schema } from '../schema/schema.ts'
import { toObjectType } from './atom.ts'
import { describePath, encodeFields, type FieldSet, isEmpty, paths, toSet, union } from './field-set.ts'
import { assertTyped, compare, fitToSchema, merge, removeItems, toFieldSet, withNamedFields } from './typed-walk.ts'

const text: Schema = { type: 'string' }
const keyed: Schema = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
  items: {
    type: 'object',
    properties: { name: text, value: text, tags: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' } },
  },
}
const spec: Record<string, Schema> = {
  word: text,
  count: { type: 'integer' },
  items: keyed,
  tags: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
  plain: { type: 'array', items: text },
  whole: { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { a: text, b: text } },
  labels: { type: 'object', additionalProperties: text },
  free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
}
const schema: Schema = { type: 'object', properties: { spec: { type: 'object', properties: spec } } }
const type = toObjectType(schema, {})
const wrap = (value: object) => ({ spec: value }) as unknown as JSONValue

const listed = (set: FieldSet) => [...paths(set)].map(describePath)
const named = (...names: string[]) => names.map(name => ({ name }))
const mergedNames = (live: string[], config: string[]) => {
  const { spec } = merge(type, wrap({ items: named(...live) }), wrap({ items: named(...config) })) as unknown as {
    spec: { items: { name: string }[] }
  }
  return spec.items.map(({ name }) => name).join('')
}

describe('the fields an object sets', () => {
  it.each<[string, object, string[]]>([
    ['scalars', { word: 'x', count: 1 }, ['.spec.count', '.spec.word']],
    [
      'keyed items, each with what is in it',
      { items: [{ name: 'a', value: 'x' }] },
      ['.spec.items[name="a"]', '.spec.items[name="a"].name', '.spec.items[name="a"].value'],
    ],
    ['members of a set', { tags: ['b', 'a'] }, ['.spec.tags[="a"]', '.spec.tags[="b"]']],
    ['atomic values as one', { plain: ['a'], whole: { a: '1' } }, ['.spec.plain', '.spec.whole']],
    ['keys of a map', { labels: { a: '1' } }, ['.spec.labels.a']],
    ['an empty map', { labels: {} }, ['.spec.labels']],
    ['null', { word: null, labels: null }, ['.spec.labels', '.spec.word']],
    ['nothing for an empty list', { tags: [], items: [] }, []],
    [
      'unknown fields with all above them',
      { free: { a: { b: 1 }, c: [1] } },
      ['.spec.free.a', '.spec.free.c', '.spec.free.a.b'],
    ],
    ['duplicates as one', { tags: ['a', 'a'] }, ['.spec.tags[="a"]']],
  ])('are %s', (_, value, expected) => expect(listed(toFieldSet(type, wrap(value)))).toEqual(expected))
})

describe('a merge', () => {
  it.each<[live: string, config: string, merged: string]>([
    ['abc', 'cb', 'acb'],
    ['abc', 'd', 'abcd'],
    ['abc', 'dc', 'abdc'],
    ['', 'ba', 'ba'],
    ['ab', '', 'ab'],
    ['abcd', 'dcba', 'dcba'],
    ['axb', 'ba', 'xba'],
  ])('of items %s with %s comes in the order %s', (live, config, merged) => {
    expect(mergedNames(live.split(''), config.split(''))).toBe(merged)
  })

  it('replaces what is atomic and merges the rest', () => {
    const live = {
      plain: ['a'],
      whole: { a: '1' },
      labels: { a: '1' },
      items: [{ name: 'x', value: '1', tags: ['p'] }],
    }
    const config = { plain: ['b'], whole: { b: '2' }, labels: { b: '2' }, items: [{ name: 'x', tags: ['q'] }] }
    expect(merge(type, wrap(live), wrap(config))).toEqual(
      wrap({
        plain: ['b'],
        whole: { b: '2' },
        labels: { a: '1', b: '2' },
        items: [{ name: 'x', value: '1', tags: ['p', 'q'] }],
      }),
    )
  })
})

describe('a comparison', () => {
  it.each<[string, object, object, { added?: string[]; modified?: string[]; removed?: string[] }]>([
    ['a changed value', { word: 'a' }, { word: 'b' }, { modified: ['.spec.word'] }],
    ['an added map with its keys', {}, { labels: { a: '1' } }, { added: ['.spec.labels', '.spec.labels.a'] }],
    [
      'a removed item',
      { items: named('a', 'b') },
      { items: named('b') },
      { removed: ['.spec.items[name="a"]', '.spec.items[name="a"].name'] },
    ],
    [
      'nothing when only the order changed',
      { items: named('a', 'b'), tags: ['x', 'y'] },
      { items: named('b', 'a'), tags: ['y', 'x'] },
      {},
    ],
    ['an atomic list as one', { plain: ['a', 'b'] }, { plain: ['b', 'a'] }, { modified: ['.spec.plain'] }],
    [
      'a value that became a map',
      { free: { a: 1 } },
      { free: { a: { b: 1 } } },
      { added: ['.spec.free.a.b'], modified: ['.spec.free.a'] },
    ],
    [
      'a duplicate that came',
      { tags: ['a'] },
      { tags: ['a', 'a'] },
      { added: ['.spec.tags[="a"]'], removed: ['.spec.tags[="a"]'] },
    ],
  ])('tells %s', (_, before, after, { added = [], modified = [], removed = [] }) => {
    const found = compare(type, wrap(before), wrap(after))
    expect({ added: listed(found.added), modified: listed(found.modified), removed: listed(found.removed) }).toEqual({
      added,
      modified,
      removed,
    })
  })
})

describe('what the schema cannot hold', () => {
  const faultOf = (value: object) => {
    try {
      assertTyped(type, wrap(value))
    } catch (error) {
      return (error as Error).message
    }
    return undefined
  }

  it.each<[string, object, string | undefined]>([
    ['nothing', { word: 'a', free: { x: [1, { y: null }] } }, undefined],
    ['an unknown field', { nope: 1 }, '.spec.nope: field not declared in schema'],
    ['a word for a number', { count: 'x' }, '.spec.count: expected numeric (int or float), got string'],
    ['a number for a word', { word: 5 }, '.spec.word: expected string, got &value.valueUnstructured{Value:5}'],
    ['a word for a map', { labels: 'x' }, '.spec.labels: expected map, got &{x}'],
    ['a map for a list', { tags: { a: 1 } }, '.spec.tags: expected list, got &{map[a:1]}'],
    ['an item twice', { items: named('a', 'a') }, '.spec.items: duplicate entries for key [name="a"]'],
    [
      'an item without key',
      { items: [{ value: 'x' }] },
      `.spec.items: element 0: associative list with keys has an element that omits all key fields ["name"] (and doesn't have default values for any key fields)`,
    ],
    [
      'a null in a set',
      { tags: [null] },
      ".spec.tags: element 0: associative list without keys has an element that's an explicit null",
    ],
    [
      'two faults',
      { count: 'x', word: 1 },
      'errors:\n  .spec.count: expected numeric (int or float), got string\n  .spec.word: expected string, got &value.valueUnstructured{Value:1}',
    ],
  ])('%s', (_, value, expected) => expect(faultOf(value)).toBe(expected))
})

describe('a list that became atomic', () => {
  it('is owned as a whole by the managers that owned parts of it', () => {
    const set = toSet([
      ['f:spec', 'f:plain', 'v:"a"'],
      ['f:spec', 'f:whole', 'f:a'],
      ['f:spec', 'f:labels', 'f:a'],
    ])
    expect(listed(fitToSchema(type, set))).toEqual(['.spec.plain', '.spec.whole', '.spec.labels.a'])
  })
})

describe('any two objects', () => {
  const word = fc.constantFrom('a', 'b', 'c')
  const tags = fc.uniqueArray(word)
  const items = fc.uniqueArray(fc.record({ name: word, value: word, tags }, { requiredKeys: ['name'] }), {
    selector: ({ name }) => name,
  })
  const objects = fc
    .record(
      {
        word,
        count: fc.nat(3),
        items,
        tags,
        plain: fc.array(word),
        whole: fc.dictionary(fc.constantFrom('a', 'b'), word),
        labels: fc.dictionary(word, word),
        free: fc.dictionary(word, fc.oneof(word, fc.dictionary(word, word), fc.array(word))),
      },
      { requiredKeys: [] },
    )
    .map(value => wrap(clone(value)))

  it('merge to one that holds the fields of both and says what the second says', () => {
    fc.assert(
      fc.property(objects, objects, (live, config) => {
        const before = clone({ live, config })
        const merged = merge(type, live, config)
        expect(merge(type, merged, config), 'merging again changes nothing').toEqual(merged)
        const { added, modified } = compare(type, merged, merge(type, merged, config))
        expect(isEmpty(union(added, modified))).toBe(true)
        expect(isEmpty(compare(type, live, merged).removed) || hasKindChange(live, config)).toBe(true)
        expect({ live, config }).toEqual(before)
      }),
    )
  })

  it('compare as equal exactly when nothing was added, modified or removed', () => {
    fc.assert(
      fc.property(objects, objects, (a, b) => {
        const there = compare(type, a, b)
        const back = compare(type, b, a)
        expect(encodeFields(there.added)).toEqual(encodeFields(back.removed))
        expect(encodeFields(there.modified)).toEqual(encodeFields(back.modified))
        const self = compare(type, a, clone(a))
        expect(isEmpty(union(union(self.added, self.modified), self.removed))).toBe(true)
      }),
    )
  })

  it('are empty without all their fields', () => {
    fc.assert(
      fc.property(objects, object => {
        const all = withNamedFields(type, toFieldSet(type, object))
        const left = toFieldSet(type, removeItems(type, object, all))
        expect(listed(left)).toEqual([])
      }),
    )
  })

  /** Unknown fields may turn from a map into a word, which takes what was in the map. */
  function hasKindChange(live: JSONValue, config: JSONValue): boolean {
    const free = (value: JSONValue) => (value as { spec: { free?: Record<string, unknown> } }).spec.free ?? {}
    const kind = (value: unknown) => (Array.isArray(value) ? 'list' : typeof value)
    const [a, b] = [free(live), free(config)]
    return Object.keys(a).some(key => Object.hasOwn(b, key) && kind(a[key]) !== kind(b[key]))
  }
})
