import { describe, expect, test } from 'vitest'
import { answerConversionReview } from '../../../admission/conversion.ts'
import { poolConversions } from './conversion.ts'

function fail(error: unknown): never {
  throw error
}

describe('a ConversionReview of pools', () => {
  const convert = (request: object | string) => {
    const body = typeof request === 'string' ? request : JSON.stringify({ kind: 'ConversionReview', request })
    return answerConversionReview(body, { conversions: poolConversions, onError: fail })
  }
  const old = {
    apiVersion: 'ipam.cluster.x-k8s.io/v1alpha1',
    kind: 'InClusterIPPool',
    metadata: { name: 'vms', uid: 'p-1' },
    spec: { subnet: '1.1.1.0/28', start: '1.1.1.1', end: '1.1.1.10' },
  }
  const v1alpha2 = 'ipam.cluster.x-k8s.io/v1alpha2'

  test('brings an old pool up, in its place among the others', async () => {
    const next = { ...old, apiVersion: v1alpha2, spec: { addresses: ['10.0.0.10'], prefix: 24 } }
    const { response } = JSON.parse(await convert({ uid: 'c-1', desiredAPIVersion: v1alpha2, objects: [next, old] }))
    expect(response).toMatchObject({ uid: 'c-1', result: { status: 'Success' } })
    expect(response.convertedObjects[0]).toEqual(next)
    expect(response.convertedObjects[1]).toMatchObject({
      apiVersion: v1alpha2,
      metadata: { name: 'vms', uid: 'p-1' },
      spec: { addresses: ['1.1.1.1-1.1.1.10'], prefix: 28 },
    })
  })

  test.each<[string, object, object]>([
    ['addresses alone', { addresses: ['1.1.1.7'], prefix: 24 }, { addresses: ['1.1.1.7'], prefix: 24 }],
    [
      'a subnet with bounds',
      { subnet: '1.1.1.0/28', start: '1.1.1.1', end: '1.1.1.10' },
      { addresses: ['1.1.1.1-1.1.1.10'], prefix: 28 },
    ],
    ['a subnet alone', { subnet: '1.1.1.0/24' }, { addresses: ['1.1.1.1-1.1.1.254'], prefix: 24 }],
    [
      'a gateway',
      { addresses: ['1.1.1.7'], prefix: 24, gateway: '1.1.1.1' },
      { addresses: ['1.1.1.7'], prefix: 24, gateway: '1.1.1.1' },
    ],
  ])('says %s in the words of the newer version', async (_, spec, converted) => {
    const { response } = JSON.parse(await convert({ desiredAPIVersion: v1alpha2, objects: [{ ...old, spec }] }))
    expect(response.convertedObjects[0].spec).toEqual(converted)
  })

  test('there and back gives the same object', async () => {
    const up = JSON.parse(await convert({ desiredAPIVersion: v1alpha2, objects: [old] })).response.convertedObjects
    const down = JSON.parse(await convert({ desiredAPIVersion: old.apiVersion, objects: up })).response.convertedObjects
    expect(down).toEqual([old])
  })

  test('keeps counts exact that a JavaScript number cannot hold', async () => {
    const body =
      `{"kind":"ConversionReview","request":{"uid":"c-1","desiredAPIVersion":"${v1alpha2}","objects":[` +
      `{"apiVersion":"ipam.cluster.x-k8s.io/v1alpha1","kind":"GlobalInClusterIPPool","metadata":{"name":"vms"},` +
      `"spec":{"addresses":["fd00::/64"]},"status":{"ipAddresses":{"total":9223372036854775807}}}]}}`
    expect(await convert(body)).toContain('"total":9223372036854775807')
  })

  test.each<[string, object]>([
    ['an unknown version', { desiredAPIVersion: 'ipam.cluster.x-k8s.io/v9', objects: [old] }],
    ['an unknown kind', { desiredAPIVersion: v1alpha2, objects: [{ ...old, kind: 'Secret' }] }],
    ['a subnet that is none', { desiredAPIVersion: v1alpha2, objects: [{ ...old, spec: { subnet: 'x' } }] }],
    ['something that is no object', { desiredAPIVersion: v1alpha2, objects: [7] }],
    ['nothing', {}],
  ])('fails as a whole for %s', async (_, request) => {
    const { response } = JSON.parse(await convert({ uid: 'c-1', ...request }))
    expect(response).toMatchObject({ uid: 'c-1', convertedObjects: [], result: { status: 'Failure' } })
    expect(response.result.message).not.toBe('')
  })
})
