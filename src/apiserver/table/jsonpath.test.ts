import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JSONPathError, parseJSONPath } from './jsonpath.ts'

const object = {
  metadata: { name: 'a', labels: { 'x.io/y': 'z', toString: 'odd' } },
  spec: { replicas: 3, ports: [{ port: 1 }, { port: 2 }, { port: 3 }] },
  status: {
    conditions: [
      { type: 'Synced', status: 'False', n: 1 },
      { type: 'Ready', status: 'True', n: 5 },
      { type: 'a]b', status: 'odd' },
    ],
  },
}

describe('JSON paths of printer columns', () => {
  it.each([
    ['.metadata.name', ['a']],
    ['{.metadata.name}', ['a']],
    ['$.metadata.name', ['a']],
    ['.spec.replicas', [3]],
    ['.spec.nothing.here', []],
    ['.metadata.constructor', []],
    ['.metadata.labels.toString', ['odd']],
    [".metadata.labels['x.io/y']", ['z']],
    ['.metadata.labels.x\\.io/y', ['z']],
    ['.spec.ports[0].port', [1]],
    ['.spec.ports[-1].port', [3]],
    ['.spec.ports[9].port', []],
    ['.spec.ports[*].port', [1, 2, 3]],
    ['.spec.ports[1:].port', [2, 3]],
    ['.spec.ports[0:2].port', [1, 2]],
    ['.spec.ports[::2].port', [1, 3]],
    ['.status.conditions[?(@.type=="Ready")].status', ['True']],
    [".status.conditions[?(@.type=='Ready')].status", ['True']],
    ['.status.conditions[?(@.type != "Ready")].type', ['Synced', 'a]b']],
    ['.status.conditions[?(@.type=="a]b")].status', ['odd']],
    ['.status.conditions[?(@.n>1)].type', ['Ready']],
    ['.status.conditions[?(@.n<=1)].type', ['Synced']],
    ['.status.conditions[?(@.n)].type', ['Synced', 'Ready']],
    ['..port', [1, 2, 3]],
    ['.spec.*', [3, object.spec.ports]],
  ])('%s', (path, expected) => {
    expect(parseJSONPath(path)(object)).toEqual(expected)
  })

  it.each(['.a[', '.a[b]', 'a', '.a[?(@.x=="]', '.a..'])('refuses or ignores %s without failing otherwise', path => {
    try {
      expect(parseJSONPath(path)({})).toEqual([])
    } catch (error) {
      expect(error).toBeInstanceOf(JSONPathError)
    }
  })

  it('never fails while it is used', () => {
    const unit = fc.constantFrom('.', '[', ']', '?', '(', ')', '@', '*', ':', '1', 'a', '"', '\\', '=', '$')
    fc.assert(
      fc.property(fc.string({ unit }), fc.jsonValue(), (path, value) => {
        let found: ReturnType<typeof parseJSONPath>
        try {
          found = parseJSONPath(path)
        } catch (error) {
          expect(error).toBeInstanceOf(JSONPathError)
          return
        }
        expect(Array.isArray(found(value))).toBe(true)
      }),
    )
  })
})
