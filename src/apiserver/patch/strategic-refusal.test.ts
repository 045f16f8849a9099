import { describe, expect, test } from 'vitest'
import { toConverterText, toUsedUpPatch } from './strategic-refusal.ts'

describe('a patch that was used up', () => {
  test.each([
    [{ data: { a: 1, c: null } }, 'map[data:map[a:1 c:<nil>]]'],
    [{ spec: { '$setElementOrder/containers': [{ name: 'a' }], containers: [{ name: 'a' }] } }, 'map[spec:map[]]'],
    [{ spec: { containers: [{ name: 'a' }], $retainKeys: ['x'] } }, 'map[spec:map[containers:[map[name:a]]]]'],
  ])('%j is shown as %s', (patch, shown) => {
    expect(toUsedUpPatch(patch)).toBe(shown)
  })
})

describe('what does not fit', () => {
  test.each([
    ['number into Go struct field ConfigMap.data of type string', 'cannot convert int64 to string'],
    ['string into Go struct field DeploymentSpec.spec.replicas of type int32', 'unrecognized type: int32'],
    ['number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32', 'cannot convert float64 to int32'],
    ['string into Go struct field ConfigMap.data of type map[string]string', 'cannot restore map from string'],
    ['bool into Go struct field PodSpec.spec.containers of type []v1.Container', 'cannot restore slice from bool'],
    ['array into Go struct field Pod.spec of type v1.PodSpec', 'cannot restore struct from: slice'],
  ])('%s', (decoder, converter) => {
    expect(toConverterText(`json: cannot unmarshal ${decoder}`)).toBe(converter)
  })
  test('other words stay as they are', () => {
    expect(toConverterText('illegal base64 data at input byte 0')).toBe('illegal base64 data at input byte 0')
  })
})
