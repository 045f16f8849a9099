import { expect, test } from 'vitest'
import { orThrow } from '../../../test/harness/or-throw.ts'
import { parseUserDefinedNetwork } from '../../api/user-defined-network.ts'
import { keepUDN, udnOf } from './world.ts'

test('of a UserDefinedNetwork the cache keeps what is read, with the labels and annotations that are copied', () => {
  const udn = {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'UserDefinedNetwork',
    metadata: { name: 'net', namespace: 'red', uid: 'u', labels: { a: 'b' }, annotations: { c: 'd' } },
    spec: { topology: 'Layer2', layer2: { role: 'Primary', subnets: ['10.0.0.0/24'] } },
  }
  const kept = keepUDN(udn)
  expect(keepUDN(kept)).toBe(kept)
  expect(udnOf(kept)).toBe(kept)
  expect(kept).toEqual(orThrow(parseUserDefinedNetwork(udn)))
  expect(kept).toMatchObject({ metadata: { labels: { a: 'b' }, annotations: { c: 'd' } }, subnets: ['10.0.0.0/24'] })
  expect(kept).not.toHaveProperty('spec')
})
