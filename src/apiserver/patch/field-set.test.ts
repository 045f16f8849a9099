import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JSONObject, JSONValue } from '../object.ts'
import {
  decodeFields,
  describePath,
  difference,
  emptySet,
  encodeFields,
  type FieldSet,
  fieldsAt,
  has,
  intersection,
  isEmpty,
  leaves,
  parseStep,
  paths,
  recursiveDifference,
  toFieldStep,
  toKeyStep,
  toSet,
  toValueStep,
  union,
} from './field-set.ts'

const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean()) as fc.Arbitrary<JSONValue>
const step = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', 'b', 'c', '.', '__proto__').map(toFieldStep) },
  fc.string().map(toFieldStep),
  scalar.map(toValueStep),
  fc.tuple(scalar, scalar).map(([x, y]) =>
    toKeyStep([
      ['name', x],
      ['key', y],
    ]),
  ),
  fc.nat(20).map(index => `i:${index}`),
)
const sets = fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { maxLength: 8 }).map(toSet)

const same = (a: FieldSet, b: FieldSet) => expect(encodeFields(a)).toEqual(encodeFields(b))
function law(check: (a: FieldSet, b: FieldSet, c: FieldSet) => void): void {
  fc.assert(
    fc.property(sets, sets, sets, (a, b, c) => {
      check(a, b, c)
    }),
  )
}

describe('the laws of sets', () => {
  it('union is commutative, associative and idempotent', () => {
    law((a, b, c) => {
      same(union(a, b), union(b, a))
      same(union(a, union(b, c)), union(union(a, b), c))
      same(union(a, a), a)
      same(union(a, emptySet), a)
    })
  })

  it('intersection is commutative, associative and idempotent', () => {
    law((a, b, c) => {
      same(intersection(a, b), intersection(b, a))
      same(intersection(a, intersection(b, c)), intersection(intersection(a, b), c))
      same(intersection(a, a), a)
      expect(isEmpty(intersection(a, emptySet))).toBe(true)
    })
  })

  it('intersection distributes over union', () => {
    law((a, b, c) => same(intersection(a, union(b, c)), union(intersection(a, b), intersection(a, c))))
  })

  it('difference and intersection share nothing and together are the whole', () => {
    law((a, b) => {
      expect(isEmpty(intersection(difference(a, b), b))).toBe(true)
      same(union(difference(a, b), intersection(a, b)), a)
      expect(isEmpty(difference(a, a))).toBe(true)
    })
  })

  it('membership follows from the members of both', () => {
    law((a, b) => {
      for (const path of paths(union(a, b))) {
        expect(has(union(a, b), path)).toBe(has(a, path) || has(b, path))
        expect(has(intersection(a, b), path)).toBe(has(a, path) && has(b, path))
        expect(has(difference(a, b), path)).toBe(has(a, path) && !has(b, path))
        const isBelow = path.some((_, i) => has(b, path.slice(0, i + 1)))
        expect(has(recursiveDifference(a, b), path)).toBe(has(a, path) && !isBelow)
      }
    })
  })

  it('a set is its paths, in one order', () => {
    law(a => {
      same(toSet(paths(a)), a)
      expect([...paths(a)]).toEqual([...paths(decodeFields(encodeFields(a)))])
    })
  })

  it('leaves are members with nothing below', () => {
    law(a => {
      for (const path of paths(leaves(a))) expect([...paths(a)].filter(other => isPrefix(path, other))).toHaveLength(1)
    })
  })

  it('steps have a total order: they are listed the same, in whichever order they came', () => {
    const listed = (...steps: string[]) => [...paths(toSet(steps.map(step => [step])))]
    fc.assert(
      fc.property(step, step, step, (a, b, c) => {
        for (const other of [listed(a, c, b), listed(b, a, c), listed(b, c, a), listed(c, a, b), listed(c, b, a)]) {
          expect(other).toEqual(listed(a, b, c))
        }
      }),
    )
  })
})

function isPrefix(path: readonly string[], other: readonly string[]): boolean {
  return path.every((part, i) => other[i] === part)
}

describe('the wire', () => {
  it('gives back what was written', () => {
    law(a => {
      const read = decodeFields(encodeFields(a))
      expect(isEmpty(difference(a, read))).toBe(true)
      expect(isEmpty(difference(read, a))).toBe(true)
    })
    law(a =>
      expect(decodeFields(JSON.parse(JSON.stringify(encodeFields(a))) as JSONObject)).toEqual(
        decodeFields(encodeFields(a)),
      ),
    )
  })

  it('is what Kubernetes writes', () => {
    const set = toSet([
      ['f:metadata', 'f:labels'],
      ['f:metadata', 'f:labels', 'f:app'],
      [
        'f:spec',
        'f:ports',
        toKeyStep([
          ['protocol', 'TCP'],
          ['port', 80],
        ]),
      ],
      [
        'f:spec',
        'f:ports',
        toKeyStep([
          ['port', 80],
          ['protocol', 'TCP'],
        ]),
        'f:port',
      ],
      ['f:spec', 'f:finalizers', toValueStep('a/b')],
      ['f:spec', 'f:list', 'i:2'],
    ])
    expect(encodeFields(set)).toEqual({
      'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
      'f:spec': {
        'f:finalizers': { 'v:"a/b"': {} },
        'f:list': { 'i:2': {} },
        'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {} } },
      },
    })
  })

  it('reads keys however they are spaced and ordered', () => {
    expect(parseStep('k:{ "b": 1, "a": "<x>" }')).toBe(
      toKeyStep([
        ['a', '<x>'],
        ['b', 1],
      ]),
    )
  })

  it('skips kinds of steps it does not know and refuses what is none', () => {
    expect(isEmpty(decodeFields({ 'q:x': {} }))).toBe(true)
    expect(() => decodeFields({ x: {} })).toThrow('key must be 2 characters long')
    expect(() => decodeFields({ abc: {} })).toThrow('missing colon: abc')
    expect(() => decodeFields({ 'k:[]': {} })).toThrow()
    expect(() => decodeFields({ 'i:x': {} })).toThrow()
  })
})

describe('paths in conflicts', () => {
  it.each<[readonly string[], string]>([
    [['f:spec', 'f:replicas'], '.spec.replicas'],
    [['f:spec', 'f:containers', 'k:{"name":"web"}', 'f:image'], '.spec.containers[name="web"].image'],
    [['f:ports', 'k:{"port":80,"protocol":"TCP"}'], '.ports[port=80,protocol="TCP"]'],
    [['f:finalizers', 'v:"a/b"'], '.finalizers[="a/b"]'],
    [['f:list', 'i:3'], '.list[3]'],
  ])('%j reads %s', (path, expected) => expect(describePath(path)).toBe(expected))

  it('taking away a field leaves what lies below it, unless asked otherwise', () => {
    const set = fieldsAt(['status'], ['status', 'phase'], ['spec'])
    same(difference(set, fieldsAt(['status'])), fieldsAt(['status', 'phase'], ['spec']))
    same(recursiveDifference(set, fieldsAt(['status'])), fieldsAt(['spec']))
  })
})
