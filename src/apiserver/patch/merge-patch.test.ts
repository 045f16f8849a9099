import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseJSON } from '../../json.ts'
import { clone, type JSONValue } from '../object.ts'
import { applyMergePatch, mergePatch } from './merge-patch.ts'

describe('the examples of RFC 7386', () => {
  it.each<[document: string, patch: string, expected: string]>([
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', '{}'],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', 'null', 'null'],
    ['{"a":"foo"}', '"bar"', '"bar"'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
    ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ])('%s with %s is %s', (document, patch, expected) => {
    expect(mergePatch(parseJSON(document).value, parseJSON(patch).value)).toEqual(JSON.parse(expected))
  })
})

describe('what a real server does', () => {
  it('drops nulls from a value where there was none, inside lists too', () => {
    expect(mergePatch({}, { a: [{ b: null, c: 1 }, null] })).toEqual({ a: [{ c: 1 }, null] })
  })

  it.each<[JSONValue, string]>([
    [null, 'Invalid JSON Patch'],
    [[1], 'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}'],
    ['x', 'error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}'],
  ])('refuses %j, which is no object', (patch, message) => {
    expect(() => applyMergePatch({}, patch)).toThrow(message)
  })
})

describe('any patch', () => {
  const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JSONValue>

  it('changes nothing the second time, unless it has nulls inside lists', () => {
    fc.assert(
      fc.property(json, json.map(withoutNullsInLists), (document, patch) => {
        const once = mergePatch(document, patch)
        expect(mergePatch(once, patch)).toEqual(once)
      }),
    )
  })

  it('leaves its arguments alone and shares nothing with them', () => {
    fc.assert(
      fc.property(json, json, (document, patch) => {
        const before = clone({ document, patch })
        const result = mergePatch(document, patch)
        poison(result)
        expect({ document, patch }).toEqual(before)
      }),
    )
  })

  it('never reaches the prototype of all objects', () => {
    const hostile = parseJSON('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}').value
    const result = mergePatch(mergePatch({}, hostile), hostile) as Record<string, unknown>
    expect(Object.keys(result)).toEqual(['__proto__', 'constructor'])
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })
})

function poison(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const child of Object.values(value)) poison(child)
  Object.defineProperty(value, 'poison', { value: true, enumerable: true })
}

function withoutNullsInLists(value: JSONValue): JSONValue {
  if (Array.isArray(value)) return value.map(item => mergePatch(null, item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutNullsInLists(item ?? null)]))
}
