import { describe, expect, it } from 'vitest'
import type { ServedKind } from '../kinds/kind.ts'
import type { KubeObject } from '../object.ts'
import { parseFieldSelector } from './fields.ts'

const kindOf = (over: Partial<ServedKind>): ServedKind => ({
  group: '',
  version: 'v1',
  kind: 'Pod',
  listKind: 'PodList',
  plural: 'pods',
  singular: 'pod',
  shortNames: [],
  categories: [],
  namespaced: true,
  verbs: ['get', 'list'],
  subresources: [],
  schema: {},
  definitions: {},
  schemaName: 'io.k8s.api.core.v1.Pod',
  isCustom: false,
  behaviour: {},
  ...over,
})

const phaseOf = (object: KubeObject) => (object.status as { phase?: string } | undefined)?.phase ?? ''
const pods = kindOf({ behaviour: { fields: { 'status.phase': phaseOf, 'spec.nodeName': () => 'n1' } } })
const running: KubeObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'a', namespace: 'b' },
  status: { phase: 'Running' },
}

describe('field selectors', () => {
  it.each([
    ['', true],
    ['metadata.name=a', true],
    ['metadata.name==a', true],
    ['metadata.name=b', false],
    ['metadata.name!=b', true],
    ['metadata.namespace=b,status.phase=Running', true],
    ['metadata.namespace=b,status.phase!=Running', false],
    ['spec.host=n1', true],
    [',,', true],
  ])('%j on a running pod: %s', (text, expected) => {
    expect(parseFieldSelector(text, pods).matches(running)).toBe(expected)
  })

  it('tell which one name can match', () => {
    expect(parseFieldSelector('status.phase=x,metadata.name=a', pods).exactName).toBe('a')
    expect(parseFieldSelector('metadata.name!=a', pods).exactName).toBeUndefined()
    expect(parseFieldSelector('metadata.namespace=b', pods).exactNamespace).toBe('b')
  })

  it('read escaped values back', () => {
    const { requirements } = parseFieldSelector('metadata.name=a\\,b\\=c\\\\d', pods)
    expect(requirements).toEqual([{ field: 'metadata.name', operator: '=', value: 'a,b=c\\d' }])
  })

  it.each([
    ['spec.foo=x', pods, 'field label not supported: spec.foo'],
    ['toString=x', pods, 'field label not supported: toString'],
    ['spec.foo=x', kindOf({}), '"spec.foo" is not a known field selector: only "metadata.name", "metadata.namespace"'],
    ['spec.foo=x', kindOf({ isCustom: true }), 'field label not supported: spec.foo'],
    [
      'metadata.namespace=x',
      kindOf({ isCustom: true, namespaced: false }),
      'field label not supported: metadata.namespace',
    ],
    [
      'spec.foo=x',
      kindOf({ group: 'batch', kind: 'Job', behaviour: { fields: { 'status.successful': () => '0' } } }),
      'field label "spec.foo" not supported for Job',
    ],
    ['nonsense', pods, "invalid selector: 'nonsense'; can't understand 'nonsense'"],
    ['metadata.name=a=b', pods, 'invalid field selector: unescaped character in value: 61'],
    ['metadata.name=a\\b', pods, 'invalid field selector: invalid escape sequence: \\b'],
    ['metadata.name=a\\', pods, 'invalid field selector: invalid escape sequence: \\'],
  ])('refuse %j', (text, kind, message) => {
    expect(() => parseFieldSelector(text, kind)).toThrow(expect.objectContaining({ message }))
  })
})
