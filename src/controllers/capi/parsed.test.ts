import { expect, test } from 'vitest'
import { parseIPAddressClaim } from '../../api/ip-address-claim.ts'
import { deleteForMoveAnnotation, watchFilterLabel } from '../../api/names.ts'
import { claimOf, keepClaim } from './parsed.ts'

const claim = (name: string, spec: unknown = { poolRef: { apiGroup: 'ipam', kind: 'Pool', name: 'blue' } }) => ({
  apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
  kind: 'IPAddressClaim',
  metadata: {
    name,
    namespace: 'default',
    uid: `uid of ${name}`,
    resourceVersion: '7',
    labels: { [watchFilterLabel]: 'east', app: 'web' },
    annotations: { 'mooring.dev/address': '10.0.0.1', [deleteForMoveAnnotation]: '', note: 'x'.repeat(1_000) },
    finalizers: ['theirs', 'ours'],
    ownerReferences: [{ apiVersion: 'v1', kind: 'Machine', name: 'm', uid: 'm', controller: true }],
  },
  spec,
  status: { conditions: [{ type: 'Ready', status: 'True', reason: 'AddressAllocated', message: 'here' }] },
})

test('a claim in the cache is what its readers read of it, and nothing else', () => {
  const kept = keepClaim(claim('a'))
  const read = parseIPAddressClaim(claim('a'))
  expect(claimOf(kept)).toBe(kept)
  expect(keepClaim(kept)).toBe(kept)
  expect(kept).toMatchObject({
    apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
    kind: 'IPAddressClaim',
    ...read,
    metadata: {
      ...('metadata' in read && read.metadata),
      labels: { [watchFilterLabel]: 'east' },
      annotations: { [deleteForMoveAnnotation]: '' },
    },
  })
  expect(JSON.stringify(kept)).not.toMatch(/xxx|web/)
})

test('claims of one pool share what is the same in each', () => {
  const [one, other] = [claimOf(keepClaim(claim('a'))), claimOf(keepClaim(claim('b')))]
  if (!('poolRef' in one) || !('poolRef' in other)) throw new Error('both can be read')
  expect(one.poolRef).toBe(other.poolRef)
  expect(one.metadata.finalizers).toBe(other.metadata.finalizers)
})

test('a claim that cannot be read stays as it came', () => {
  expect(keepClaim(claim('a', 'nonsense'))).toEqual(claim('a', 'nonsense'))
})
