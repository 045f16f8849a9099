import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { isMalformed } from '../ip/malformed.ts'
import { parseAddressPool } from './address-pool.ts'
import { parseCluster } from './cluster.ts'
import { parseHold } from './hold.ts'
import { parseInClusterPool } from './in-cluster-pool.ts'
import { parseIPAddress, subnetOf, toIPAddressObject, toSubnetText, withOwners } from './ip-address.ts'
import { claimReference, parseIPAddressClaim, poolOfClaim, toClaimStatus } from './ip-address-claim.ts'
import { parseIPAMClaim } from './ipam-claim.ts'
import { parseLauncherPod } from './launcher-pod.ts'
import { parseMACHold } from './mac-hold.ts'
import { parseMachine } from './machine.ts'
import { parseControlPlaneMachineSet, parseMachineSet } from './machine-set.ts'
import { parsePrefixPool } from './prefix-pool.ts'
import { toPool } from './to-pool.ts'
import { parseUserDefinedNetwork } from './user-defined-network.ts'
import { parseVirtualMachine, parseVirtualMachineInstance } from './virtual-machine.ts'

const parsers = {
  parseAddressPool,
  parseCluster,
  parseHold,
  parseInClusterPool,
  parseIPAddress,
  parseIPAddressClaim,
  parseIPAMClaim,
  parseLauncherPod,
  parseMACHold,
  parseMachine,
  parseMachineSet,
  parseControlPlaneMachineSet,
  parsePrefixPool,
  parseUserDefinedNetwork,
  parseVirtualMachine,
  parseVirtualMachineInstance,
  toPool,
}

/** Objects that have the right fields, and anything at all in them. */
const anything = fc.anything({ withBigInt: true, withNullPrototype: true, maxDepth: 2 })
const nearlyObjects = fc.record(
  {
    apiVersion: fc.constantFrom(
      'mooring.dev/v1alpha1',
      'ipam.cluster.x-k8s.io/v1alpha2',
      'ipam.cluster.x-k8s.io/v1beta1',
    ),
    kind: fc.constantFrom('AddressPool', 'ClusterAddressPool', 'InClusterIPPool', 'InClusterPrefixPool', 'Hold'),
    metadata: fc.oneof(
      anything,
      fc.record({
        name: fc.oneof(fc.string(), anything),
        annotations: anything,
        finalizers: anything,
        ownerReferences: anything,
      }),
    ),
    spec: fc.oneof(
      anything,
      fc.record(
        {
          addresses: fc.oneof(anything, fc.array(fc.oneof(fc.string(), fc.constant('10.0.0.1')))),
          prefixes: fc.oneof(anything, fc.array(fc.oneof(fc.string(), fc.constant('fd00::/48')))),
          allocationPrefixLength: fc.oneof(anything, fc.integer()),
          prefix: fc.oneof(anything, fc.integer()),
          gateway: anything,
          space: fc.oneof(fc.string(), anything),
          preAllocations: fc.oneof(anything, fc.dictionary(fc.string(), fc.string())),
          allowedNamespaces: anything,
          quota: anything,
          claimRef: anything,
          poolRef: anything,
          address: fc.oneof(fc.string(), anything),
        },
        { requiredKeys: [] },
      ),
    ),
    status: anything,
  },
  { requiredKeys: [] },
)

describe('every parser', () => {
  test.each(Object.entries(parsers))('%s answers whatever it is given, and never throws', (_, parse) => {
    fc.assert(
      fc.property(fc.oneof(nearlyObjects, anything), object => {
        const parsed: unknown = parse(object)
        expect(typeof parsed).toBe('object')
        if (isMalformed(parsed)) expect(parsed.malformed).not.toBe('')
      }),
      { numRuns: 200 },
    )
  })

  test('names every fault at once, each with its place', () => {
    const spec = { addresses: '10.0.0.1', prefix: 200, gateway: 7, strategy: 'best' }
    expect(parseAddressPool({ metadata: {}, spec })).toEqual({
      malformed: [
        'metadata.name is missing',
        'spec.addresses is not a list of texts',
        'spec.prefix is 200 where a whole number of 0 to 128 belongs',
        'spec.gateway is 7 where a text belongs',
        'spec.strategy is "best", which is none of lowestFree, random, leastRecentlyUsed',
      ].join('; '),
    })
  })

  test('reads only what the object itself has', () => {
    const claim = JSON.parse('{"metadata":{"name":"__proto__","annotations":{"__proto__":"x"}},"spec":{}}')
    expect(parseIPAddressClaim(claim)).toHaveProperty('malformed')
  })
})

const aClaim = (more: Record<string, unknown> = {}, metadata: Record<string, unknown> = {}) =>
  orThrow(
    parseIPAddressClaim({
      apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
      metadata: { name: 'web', namespace: 'prod', uid: 'u-1', ...metadata },
      spec: { poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'vms' } },
      ...more,
    }),
  )

describe('a claim', () => {
  test('finds its pool beside it, or in the cluster, or is not ours', () => {
    const on = (apiGroup: string, kind: string) =>
      poolOfClaim(aClaim({ spec: { poolRef: { apiGroup, kind, name: 'a' } } }))
    expect(on('ipam.cluster.x-k8s.io', 'InClusterIPPool')?.namespace).toBe('prod')
    expect(on('mooring.dev', 'ClusterAddressPool')?.namespace).toBe('')
    expect(on('ipam.cluster.x-k8s.io', 'UnknownIPPool')).toBeUndefined()
    expect(on('ipam.metal3.io', 'InClusterIPPool')).toBeUndefined()
  })

  test('is for the Cluster its spec names, else its label; an empty label names none', () => {
    const poolRef = { kind: 'InClusterIPPool', name: 'a' }
    const labels = { 'cluster.x-k8s.io/cluster-name': 'old' }
    expect(aClaim({ spec: { poolRef, clusterName: 'new' } }, { labels }).clusterName).toBe('new')
    expect(aClaim({}, { labels }).clusterName).toBe('old')
    expect(aClaim({}, { labels: { 'cluster.x-k8s.io/cluster-name': '' } }).clusterName).toBe('')
    expect(claimReference(aClaim(), undefined)).not.toHaveProperty('clusterName')
  })

  test.each([
    [{ 'mooring.dev/requested-address': '10.0.0.9' }, '10.0.0.9'],
    [{ ipAddress: '10.0.0.8' }, '10.0.0.8'],
    [{ ipAddress: '10.0.0.8', 'mooring.dev/requested-address': '10.0.0.9' }, '10.0.0.9'],
    [{ 'mooring.dev/requested-address': '' }, undefined],
  ])('asks by %o for %s', (annotations, requested) => {
    expect(aClaim({}, { annotations }).requested).toBe(requested)
  })

  test('writes its status in the fields of the version it came in', () => {
    const condition = {
      type: 'Ready',
      status: 'False',
      reason: 'PoolExhausted',
      message: 'm',
      lastTransitionTime: 't',
    } as const
    const status = { addressName: 'web', conditions: [condition] }
    const oldCondition = { ...condition, severity: 'Warning' }
    expect(toClaimStatus(status, 'v1beta2')).toEqual({
      addressRef: { name: 'web' },
      conditions: [condition],
      deprecated: { v1beta1: { conditions: [oldCondition] } },
    })
    expect(toClaimStatus(status, 'v1beta1')).toEqual({
      addressRef: { name: 'web' },
      conditions: [oldCondition],
      v1beta2: { conditions: [condition] },
    })
    const old = { apiVersion: 'ipam.cluster.x-k8s.io/v1beta1', status: toClaimStatus(status, 'v1beta1') }
    expect(aClaim(old)).toMatchObject({ version: 'v1beta1', addressName: 'web', conditions: [condition] })
  })
})

describe('a Cluster', () => {
  test.each([
    [{ spec: { paused: true } }, true],
    [{ spec: { paused: false } }, false],
    [{}, false],
    [{ annotations: { 'cluster.x-k8s.io/paused': 'false' } }, true],
  ])('%o: paused is %s', ({ spec, annotations }: { spec?: unknown; annotations?: unknown }, isPaused) => {
    expect(parseCluster({ metadata: { name: 'c', annotations }, spec })).toMatchObject({ isPaused })
  })
})

describe('a report', () => {
  const pool = orThrow(
    toPool({
      apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2',
      kind: 'InClusterIPPool',
      metadata: { name: 'vms', namespace: 'prod', uid: 'p-1' },
      spec: { addresses: ['10.0.0.0/24'], prefix: 24 },
    }),
  )
  const ofClaim = {
    apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
    kind: 'IPAddressClaim',
    name: 'web',
    uid: 'u-1',
    controller: true,
    blockOwnerDeletion: true,
  }
  const ofPool = {
    apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2',
    kind: 'InClusterIPPool',
    name: 'vms',
    uid: 'p-1',
    controller: false,
    blockOwnerDeletion: true,
  }
  const stranger = { apiVersion: 'v1', kind: 'ConfigMap', name: 'vms', uid: 's-1' }

  test('is owned by its claim, then by its pool, and leaves an empty gateway out', () => {
    const report = toIPAddressObject(aClaim(), pool, { address: '10.0.0.2', prefix: 24, gateway: '' })
    expect(report.metadata).toMatchObject({ name: 'web', namespace: 'prod', ownerReferences: [ofClaim, ofPool] })
    expect(report.spec).toEqual({
      claimRef: { name: 'web' },
      poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'vms' },
      address: '10.0.0.2',
      prefix: 24,
    })
    expect(parseIPAddress(report)).toMatchObject({ claimName: 'web', metadata: { ownerReferences: [ofClaim, ofPool] } })
  })

  test('says the same a second time, whatever became of its pool', () => {
    const said = (subnet: string) => subnetOf(aClaim({}, { annotations: { 'mooring.dev/subnet': subnet } }), pool)
    expect(said('16 via 10.0.0.1')).toMatchObject({ prefix: 16, gateway: '10.0.0.1' })
    expect(said('16')).toEqual({ prefix: 16, gateway: '' })
    for (const nonsense of ['x', '33', '24 via', '24 via nowhere', '24 via 10.0.0.1 via 10.0.0.2', '-1']) {
      expect(said(nonsense), nonsense).toEqual({ prefix: 24, gateway: '' })
    }
    expect(toSubnetText({ prefix: 24, gateway: '10.0.0.1' })).toBe('24 via 10.0.0.1')
    expect(toSubnetText({ prefix: 24, gateway: '' })).toBe('24')
  })

  test('keeps other owners in front and refreshes its own where they stand', () => {
    expect(withOwners([stranger], aClaim(), pool)).toEqual([stranger, ofClaim, ofPool])
    const outdated = { ...ofPool, apiVersion: 'ipam.cluster.x-k8s.io/v1alpha1', uid: 'p-0' }
    expect(withOwners([outdated, stranger], aClaim(), pool)).toEqual([ofPool, stranger, ofClaim])
    const once = withOwners([], aClaim(), pool)
    expect(withOwners(once, aClaim(), pool)).toEqual(once)
  })

  test('has one controller at most', () => {
    const controller = { ...stranger, controller: true }
    const owners = withOwners([controller], aClaim(), pool)
    expect(owners).toEqual([controller, { ...ofClaim, controller: false }, ofPool])
  })
})
