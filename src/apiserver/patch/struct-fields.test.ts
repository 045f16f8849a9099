import { describe, expect, it } from 'vitest'
import { builtinDefinitions, builtinSchema } from '../builtin/types.ts'
import { clone, type JSONValue } from '../object.ts'
import { asStruct, toZeroObject, withMetadataStruct } from './struct-fields.ts'

const configMap = builtinSchema('io.k8s.api.core.v1.ConfigMap')
const deployment = builtinSchema('io.k8s.api.apps.v1.Deployment')
const podSpec = builtinSchema('io.k8s.api.core.v1.PodSpec')

describe('an object in which nothing was set', () => {
  it('has its structs, and lists that are always printed', () => {
    expect(toZeroObject(deployment, builtinDefinitions)).toEqual({
      metadata: {},
      spec: { selector: null, strategy: {}, template: { metadata: {}, spec: { containers: null } } },
      status: {},
    })
    expect(toZeroObject(configMap, builtinDefinitions)).toEqual({ metadata: {} })
  })
})

describe('a built-in object as a struct', () => {
  it.each<[string, JSONValue, JSONValue]>([
    ['empty maps and lists', { metadata: { labels: {}, finalizers: [] }, data: {} }, { metadata: {} }],
    ['nulls', { metadata: { annotations: null, creationTimestamp: null }, data: null }, { metadata: {} }],
    ['empty words', { metadata: { name: 'a', namespace: '' } }, { metadata: { name: 'a' } }],
    ['zeros', { metadata: { generation: 0 } }, { metadata: {} }],
  ])('loses %s', (_, object, expected) => {
    const before = clone(object)
    expect(asStruct(object, configMap, builtinDefinitions)).toEqual(expected)
    expect(object).toEqual(before)
  })

  it('keeps what was given where giving it means something', () => {
    const object = { metadata: { deletionGracePeriodSeconds: 0 }, immutable: false, data: { empty: '' } }
    expect(asStruct(object, configMap, builtinDefinitions)).toEqual(object)
  })

  it('keeps an empty struct that may be absent, and gains those that may not, inside lists too', () => {
    const spec = {
      containers: [{ name: 'a', securityContext: {}, command: [] }],
      volumes: [{ name: 'v', emptyDir: {} }],
    }
    expect(asStruct(spec, podSpec, builtinDefinitions)).toEqual({
      containers: [{ name: 'a', securityContext: {}, resources: {} }],
      volumes: [{ name: 'v', emptyDir: {} }],
    })
  })

  it('stays the same the second time', () => {
    const once = asStruct(
      { spec: { template: { spec: { containers: [{ name: 'a' }] } } } },
      deployment,
      builtinDefinitions,
    )
    expect(asStruct(once, deployment, builtinDefinitions)).toEqual(once)
  })
})

describe('a custom object', () => {
  it('loses what says nothing in its metadata, and nowhere else', () => {
    const object = { metadata: { name: 'a', labels: {}, finalizers: [] }, spec: { labels: {}, list: [], none: null } }
    expect(withMetadataStruct(object)).toEqual({ metadata: { name: 'a' }, spec: object.spec })
  })
})
