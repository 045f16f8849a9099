import { describe, expect, it } from 'vitest'
import { parseJSON } from '../../json.ts'
import { builtinDefinitions, builtinSchema } from '../builtin/types.ts'
import { clone, type JSONValue } from '../object.ts'
import { StatusError } from '../status.ts'
import { applyStrategicMergePatch } from './strategic-merge.ts'

const deployment = builtinSchema('io.k8s.api.apps.v1.Deployment')
const container = (name: string, more: object = {}) => ({ name, image: `${name}:1`, ...more })

/** A patch of the pod spec within a Deployment, and what the pod spec becomes. */
function patchPodSpec(spec: object, patch: object): unknown {
  const wrap = (podSpec: object) => ({ spec: { template: { spec: podSpec } } }) as unknown as JSONValue
  const [object, change] = [wrap(spec), wrap(patch)]
  const before = clone({ object, change })
  const result = applyStrategicMergePatch(object, change, deployment, builtinDefinitions)
  expect({ object, change }, 'arguments stay as they were').toEqual(before)
  return (result as { spec: { template: { spec: unknown } } }).spec.template.spec
}

function names(spec: object, patch: object): string[] {
  const { containers } = patchPodSpec(spec, patch) as { containers: { name: string }[] }
  return containers.map(({ name }) => name)
}

function patchMetadata(metadata: JSONValue, patch: JSONValue): unknown {
  const result = applyStrategicMergePatch({ metadata }, { metadata: patch }, deployment, builtinDefinitions)
  return (result as { metadata: unknown }).metadata
}

function refusal(patch: JSONValue): { code: number; reason: string | undefined; message: string | undefined } {
  const object = {
    metadata: { labels: { a: '1' }, finalizers: ['a/b'] },
    spec: { strategy: { type: 'Recreate' }, template: { spec: { containers: [container('a')] } } },
  }
  try {
    applyStrategicMergePatch(object as unknown as JSONValue, patch, deployment, builtinDefinitions)
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    const { code, reason, message } = error.status
    return { code, reason, message }
  }
  throw new Error('the patch was applied')
}

describe('lists that are really maps', () => {
  const spec = { containers: [container('a'), container('b', { env: [{ name: 'X', value: '1' }] }), container('c')] }

  it('merge items by their key', () => {
    expect(patchPodSpec(spec, { containers: [{ name: 'b', image: 'b:2', env: [{ name: 'Y', value: '2' }] }] })).toEqual(
      {
        containers: [
          container('a'),
          {
            name: 'b',
            image: 'b:2',
            env: [
              { name: 'Y', value: '2' },
              { name: 'X', value: '1' },
            ],
          },
          container('c'),
        ],
      },
    )
  })

  it('put a new item before those the patch does not name', () => {
    expect(names(spec, { containers: [container('d')] })).toEqual(['d', 'a', 'b', 'c'])
  })

  it('lose an item that is to be deleted', () => {
    expect(names(spec, { containers: [{ name: 'b', $patch: 'delete' }] })).toEqual(['a', 'c'])
  })

  it('are replaced on demand', () => {
    expect(names(spec, { containers: [{ $patch: 'replace' }, container('z')] })).toEqual(['z'])
  })

  it('come in the order that is asked for, and others keep their place', () => {
    const order = (...wanted: string[]) => ({ '$setElementOrder/containers': wanted.map(name => ({ name })) })
    expect(names(spec, order('c', 'a'))).toEqual(['b', 'c', 'a'])
    expect(names(spec, order('c', 'b', 'a'))).toEqual(['c', 'b', 'a'])
    expect(names(spec, { ...order('d', 'c'), containers: [container('d')] })).toEqual(['d', 'a', 'b', 'c'])
  })

  it('lose nulls and directives in items that are new', () => {
    const added = { name: 'd', image: 'd', command: null, env: [{ name: 'A', value: null }] }
    expect(patchPodSpec({ containers: [] }, { containers: [added] })).toEqual({
      containers: [{ name: 'd', image: 'd', env: [{ name: 'A' }] }],
    })
    expect(patchPodSpec({}, { containers: [{ name: 'x', $patch: 'delete' }] })).toEqual({ containers: [] })
  })
})

describe('lists that are not', () => {
  it('are replaced', () => {
    const tolerations = [{ key: 'a' }]
    expect(patchPodSpec({ tolerations }, { tolerations: [{ key: 'b' }] })).toEqual({ tolerations: [{ key: 'b' }] })
  })
})

describe('lists of words', () => {
  const finalizers = ['a/b', 'a/c']

  it('grow by what is new', () => {
    expect(patchMetadata({ finalizers }, { finalizers: ['a/d', 'a/c'] })).toEqual({ finalizers: ['a/d', 'a/b', 'a/c'] })
  })

  it('lose what is to be deleted', () => {
    const patch = { '$deleteFromPrimitiveList/finalizers': ['a/b', 'a/x'] }
    expect(patchMetadata({ finalizers }, patch)).toEqual({ finalizers: ['a/c'] })
    expect(patchMetadata({}, patch)).toEqual({})
  })

  it('come in the order that is asked for', () => {
    const patch = { '$setElementOrder/finalizers': ['a/e', 'a/c', 'a/b'], finalizers: ['a/e'] }
    expect(patchMetadata({ finalizers }, patch)).toEqual({ finalizers: ['a/e', 'a/c', 'a/b'] })
  })
})

describe('maps', () => {
  it.each<[string, JSONValue, JSONValue, JSONValue]>([
    ['merge', { labels: { a: '1', b: '2' } }, { labels: { a: null, c: '3' } }, { labels: { b: '2', c: '3' } }],
    [
      'are replaced on demand',
      { labels: { a: '1' } },
      { labels: { $patch: 'replace', z: '9' } },
      { labels: { z: '9' } },
    ],
    ['are emptied on demand', { labels: { a: '1' } }, { labels: { $patch: 'delete' } }, { labels: {} }],
    ['go when they are null', { labels: { a: '1' }, name: 'x' }, { labels: null }, { name: 'x' }],
    ['come without nulls', {}, { labels: { a: null, b: '1' } }, { labels: { b: '1' } }],
  ])('%s', (_, metadata, patch, expected) => expect(patchMetadata(metadata, patch)).toEqual(expected))

  it('keep only the keys that are to be retained', () => {
    const object = { spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } } }
    const patch = { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } }
    expect(applyStrategicMergePatch(object, patch, deployment, builtinDefinitions)).toEqual({
      spec: { strategy: { type: 'Recreate' } },
    })
    const volumes = [{ name: 'v', emptyDir: {} }]
    const change = { volumes: [{ name: 'v', $retainKeys: ['name', 'configMap'], configMap: { name: 'c' } }] }
    expect(patchPodSpec({ volumes }, change)).toEqual({ volumes: [{ name: 'v', configMap: { name: 'c' } }] })
  })
})

describe('refusals, in the words of Kubernetes', () => {
  const containers = (...items: JSONValue[]) => ({ spec: { template: { spec: { containers: items } } } }) as JSONValue

  it.each<[string, JSONValue, number, string]>([
    [
      'an item without its key',
      containers({ image: 'x' }),
      500,
      'map: map[image:x] does not contain declared merge key: name',
    ],
    [
      'an unknown directive',
      containers({ name: 'a', $patch: 'frob' }),
      500,
      'unknown patch type: frob in map: map[$patch:frob name:a]',
    ],
    [
      'a directive that has no meaning in a list',
      containers({ name: 'a', $patch: 'merge' }),
      500,
      'merging lists cannot yet be specified in the patch',
    ],
    [
      'a map among words',
      containers({ name: 'a' }, 'x'),
      500,
      'list element types are not identical: [[map[image:a:1 name:a]] [map[name:a] x]]',
    ],
    [
      'an order that leaves out what is patched',
      {
        spec: {
          template: {
            spec: { '$setElementOrder/containers': [{ name: 'q' }], containers: [{ name: 'a', image: 'x' }] },
          },
        },
      },
      500,
      "The order in patch list:\n[map[image:x name:a]]\n doesn't match $setElementOrder list:\n[map[name:q]]\n",
    ],
    [
      'an order of nothing',
      { spec: { '$setElementOrder/foo': ['x'] } },
      500,
      'unable to find api field in struct DeploymentSpec for the json field "foo"',
    ],
    [
      'keys outside those to be retained',
      { spec: { strategy: { $retainKeys: ['x'], type: 'Recreate' } } },
      400,
      'invalid patch format of retainKeys',
    ],
    [
      'a deletion that names no list',
      { metadata: { $deleteFromPrimitiveList: ['x'] } },
      400,
      'invalid patch format of primitive list',
    ],
    ['a list', [1], 400, 'json: cannot unmarshal array into Go value of type map[string]interface {}'],
  ])('%s', (_, patch, code, message) => {
    expect(refusal(patch)).toEqual({ code, reason: code === 400 ? 'BadRequest' : undefined, message })
  })

  it('never reaches the prototype of all objects', () => {
    const hostile = parseJSON('{"metadata":{"labels":{"__proto__":"x"}},"__proto__":{"polluted":1}}').value
    const object = { metadata: { labels: { a: 'b' } } }
    const result = applyStrategicMergePatch(object, hostile, deployment, builtinDefinitions)
    expect(Object.keys(result as object)).toEqual(['metadata', '__proto__'])
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })
})
