import * as fc from 'fast-check'
import fastJSONPatch from 'fast-json-patch'
import { describe, expect, it } from 'vitest'
import { parseJSON } from '../../json.ts'
import { clone, type JSONValue } from '../object.ts'
import { StatusError } from '../status.ts'
import { applyJSONPatch } from './json-patch.ts'

function refusal(document: JSONValue, patch: JSONValue): { code: number; cause: string } {
  try {
    applyJSONPatch(document, patch)
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    return { code: error.status.code, cause: error.cause instanceof Error ? error.cause.message : error.message }
  }
  throw new Error('the patch was applied')
}

describe('the examples of RFC 6902', () => {
  const cases: [title: string, document: JSONValue, patch: JSONValue, expected: JSONValue][] = [
    ['adds a member', { foo: 'bar' }, [{ op: 'add', path: '/baz', value: 'qux' }], { baz: 'qux', foo: 'bar' }],
    [
      'adds an element',
      { foo: ['bar', 'baz'] },
      [{ op: 'add', path: '/foo/1', value: 'qux' }],
      { foo: ['bar', 'qux', 'baz'] },
    ],
    ['removes a member', { baz: 'qux', foo: 'bar' }, [{ op: 'remove', path: '/baz' }], { foo: 'bar' }],
    ['removes an element', { foo: ['a', 'b', 'c'] }, [{ op: 'remove', path: '/foo/1' }], { foo: ['a', 'c'] }],
    ['replaces a value', { a: 1, b: 2 }, [{ op: 'replace', path: '/a', value: 3 }], { a: 3, b: 2 }],
    [
      'moves a value',
      { foo: { bar: 'baz', waldo: 'fred' }, qux: { corge: 'grault' } },
      [{ op: 'move', from: '/foo/waldo', path: '/qux/thud' }],
      { foo: { bar: 'baz' }, qux: { corge: 'grault', thud: 'fred' } },
    ],
    [
      'moves an element',
      { foo: ['all', 'grass', 'cows', 'eat'] },
      [{ op: 'move', from: '/foo/1', path: '/foo/3' }],
      { foo: ['all', 'cows', 'eat', 'grass'] },
    ],
    [
      'tests a value',
      { baz: 'qux', foo: ['a', 2, 'c'] },
      [
        { op: 'test', path: '/baz', value: 'qux' },
        { op: 'test', path: '/foo/1', value: 2 },
      ],
      { baz: 'qux', foo: ['a', 2, 'c'] },
    ],
    [
      'adds a nested member',
      { foo: 'bar' },
      [{ op: 'add', path: '/child', value: { grandchild: {} } }],
      { foo: 'bar', child: { grandchild: {} } },
    ],
    ['ignores what it does not know', { a: 1 }, [{ op: 'add', path: '/b', value: 2, xyz: 1 }], { a: 1, b: 2 }],
    ['unescapes a path', { '/': 9, '~1': 10 }, [{ op: 'test', path: '/~01', value: 10 }], { '/': 9, '~1': 10 }],
    [
      'adds an array',
      { foo: ['bar'] },
      [{ op: 'add', path: '/foo/-', value: ['abc', 'def'] }],
      { foo: ['bar', ['abc', 'def']] },
    ],
    ['tests the whole', { a: 1 }, [{ op: 'test', path: '', value: { a: 1 } }], { a: 1 }],
    ['replaces the whole', { a: 1 }, [{ op: 'replace', path: '', value: { b: 1 } }], { b: 1 }],
    ['does nothing', { a: 1 }, [], { a: 1 }],
    ['copies a value', { a: { b: 1 } }, [{ op: 'copy', from: '/a', path: '/c' }], { a: { b: 1 }, c: { b: 1 } }],
  ]
  it.each(cases)('%s', (_, document, patch, expected) => {
    const before = clone({ document, patch })
    expect(applyJSONPatch(document, patch)).toEqual(expected)
    expect({ document, patch }, 'arguments stay as they were').toEqual(before)
  })
})

describe('what a real server allows beyond the RFC', () => {
  it.each<[string, JSONValue, JSONValue, JSONValue]>([
    ['replaces an absent key', {}, [{ op: 'replace', path: '/a', value: 1 }], { a: 1 }],
    ['counts from the end', { a: [1, 2, 3] }, [{ op: 'remove', path: '/a/-1' }], { a: [1, 2] }],
    ['ignores what stands before the first slash', {}, [{ op: 'add', path: 'x/a', value: 1 }], { a: 1 }],
    ['takes an absent value for null', {}, [{ op: 'add', path: '/a' }], { a: null }],
    ['finds an absent key equal to null', {}, [{ op: 'test', path: '/a', value: null }], {}],
  ])('%s', (_, document, patch, expected) => expect(applyJSONPatch(document, patch)).toEqual(expected))
})

describe('refusals', () => {
  it.each<[string, JSONValue, JSONValue, string]>([
    ['a failed test', { a: 1 }, [{ op: 'test', path: '/a', value: 2 }], 'testing value /a failed: test failed'],
    ['a missing parent', {}, [{ op: 'add', path: '/a/b', value: 1 }], 'doc is missing path: "/a/b": missing value'],
    ['an absent key', {}, [{ op: 'remove', path: '/a' }], 'Unable to remove nonexistent key: a: missing value'],
    ['an unknown operation', {}, [{ op: 'frob', path: '/a' }], 'Unexpected kind: frob'],
    ['no operation', {}, [{ path: '/a' }], 'Unexpected kind: unknown'],
    ['no path', {}, [{ op: 'add', value: 1 }], 'operation missing path field: missing value'],
    ['an index too far', { a: [1] }, [{ op: 'add', path: '/a/2', value: 1 }], 'Unable to access invalid index: 2'],
    ['a word for an index', { a: [1] }, [{ op: 'remove', path: '/a/x' }], 'Unable to access invalid index: x'],
    ['moving into itself', { a: {} }, [{ op: 'move', from: '/a', path: '/a/b' }], 'doc is missing path: "/a/b"'],
    ['a scalar for all', {}, [{ op: 'replace', path: '', value: 1 }], 'must be object or array'],
    ['adding at the root', {}, [{ op: 'add', path: '', value: {} }], 'doc is missing path: ""'],
  ])('refuses %s without saying why', (_, document, patch, cause) => {
    const refused = refusal(document, patch)
    expect(refused.code).toBe(422)
    expect(refused.cause).toContain(cause)
    expect(() => applyJSONPatch(document, patch)).toThrow(
      'the server rejected our request due to an error in our request',
    )
  })

  it('refuses more operations than a server carries out', () => {
    const patch = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/a', value: 1 }))
    expect(refusal({ a: 1 }, patch)).toEqual({
      code: 413,
      cause: 'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
    })
  })

  it('refuses copies that double without end', () => {
    const patch = Array.from({ length: 60 }, (_, i) => ({ op: 'copy', from: '/a', path: `/a/k${i}` }))
    expect(refusal({ a: { text: 'x'.repeat(100) } }, patch).cause).toContain('Unable to complete the copy')
  })

  it('refuses an object nested deeper than any that could be sent', () => {
    const nest = [
      { op: 'add', path: '/b', value: {} },
      { op: 'move', from: '/a', path: '/b/a' },
      { op: 'move', from: '/b', path: '/a' },
    ]
    expect(refusal({ a: {} }, Array.from({ length: 3_000 }, () => nest).flat()).cause).toBe('exceeded max depth')
  })
})

describe('any document', () => {
  const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JSONValue>
  // Through text and back: JSON has no negative zero worth telling apart.
  const documents = fc
    .dictionary(fc.string(), json, { maxKeys: 5 })
    .map(value => JSON.parse(JSON.stringify(value)) as JSONValue)

  it('becomes any other one by their difference, as another implementation has it', () => {
    fc.assert(
      fc.property(documents, documents, (a, b) => {
        const [from, to] = [clone(a), clone(b)] as [object, object]
        const patch = fastJSONPatch.compare(from, to) as unknown as JSONValue
        expect(applyJSONPatch(a, patch)).toEqual(b)
      }),
    )
  })

  it('never reaches the prototype of all objects', () => {
    const hostile = parseJSON(
      '[{"op":"add","path":"/__proto__","value":{"polluted":1}},{"op":"add","path":"/__proto__/polluted","value":2}]',
    ).value
    const result = applyJSONPatch({}, hostile) as Record<string, unknown>
    expect(Object.keys(result)).toEqual(['__proto__'])
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    expect(refusal({}, [{ op: 'add', path: '/constructor/prototype/x', value: 1 }]).code).toBe(422)
    expect(refusal({}, [{ op: 'add', path: '/toString/x', value: 1 }]).code).toBe(422)
  })
})
