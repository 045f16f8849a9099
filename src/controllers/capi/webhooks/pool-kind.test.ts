import { describe, expect, test } from 'vitest'
import { warnOfPoolKind } from './pool-kind.ts'

const [ours, theirs] = ['mooring.dev', 'ipam.cluster.x-k8s.io']
const warningsOf = (apiGroup: unknown, kind: unknown) =>
  warnOfPoolKind({ spec: { poolRef: { apiGroup, kind, name: 'lab' } } }).warnings

describe('a claim that is created', () => {
  test.each([
    [
      ours,
      'ClusterAdressPool',
      'spec.poolRef: there is no kind "ClusterAdressPool" of pool in "mooring.dev": did you mean',
    ],
    [ours, 'ClusterAdressPool', 'did you mean ClusterAddressPool of mooring.dev?'],
    [ours, 'addresspool', 'did you mean AddressPool of mooring.dev?'],
    [ours, 'Lake', 'mooring.dev has AddressPool and ClusterAddressPool'],
    [ours, 'InClusterIPPool', 'InClusterIPPool is a kind of ipam.cluster.x-k8s.io, not of "mooring.dev"'],
    [theirs, 'ClusterAddressPool', 'ClusterAddressPool is a kind of mooring.dev, not of "ipam.cluster.x-k8s.io"'],
    [theirs, 'InClusterIpPools', 'did you mean InClusterIPPool of ipam.cluster.x-k8s.io?'],
    ['mooring.dev/v1alpha1', 'AddressPool', 'AddressPool is a kind of mooring.dev, not of "mooring.dev/v1alpha1"'],
    ['mooring.io', 'AddressPool', 'AddressPool is a kind of mooring.dev'],
    ['cluster.x-k8s.io', 'GlobalInClusterIPPool', 'GlobalInClusterIPPool is a kind of ipam.cluster.x-k8s.io'],
  ])('on a %s %s is warned', (group, kind, text) => {
    expect(warningsOf(group, kind)).toEqual([expect.stringContaining(text)])
  })

  test.each([
    [ours, 'AddressPool'],
    [theirs, 'GlobalInClusterPrefixPool'],
    [theirs, 'InfobloxIPPool'],
    ['ipam.metal3.io', 'IPPool'],
    ['metallb.io', 'AddressPool'],
    [undefined, 'AddressPool'],
    [7, {}],
  ])('on a %s %s is not', (group, kind) => {
    expect(warningsOf(group, kind)).toEqual([])
  })
})
