import { describe, expect, it } from 'vitest'
import type { ServedKind } from '../kinds/kind.ts'
import { isUnchanged, negotiateAggregated } from './aggregated.ts'
import { createDiscovery } from './discovery.ts'
import { compareVersions } from './version-order.ts'

const allVerbs = ['create', 'get', 'list', 'watch', 'update', 'patch', 'delete', 'deletecollection'] as const

const kindOf = (over: Partial<ServedKind>): ServedKind => ({
  group: '',
  version: 'v1',
  kind: 'Pod',
  listKind: 'PodList',
  plural: 'pods',
  singular: 'pod',
  shortNames: ['po'],
  categories: ['all'],
  namespaced: true,
  verbs: allVerbs,
  subresources: [
    { name: 'status', verbs: ['get', 'patch', 'update'] },
    { name: 'eviction', verbs: ['create'], kind: 'Eviction', group: 'policy', version: 'v1' },
  ],
  schema: {},
  definitions: {},
  schemaName: 'io.k8s.api.core.v1.Pod',
  isCustom: false,
  behaviour: {},
  ...over,
})

const configMaps = kindOf({
  kind: 'ConfigMap',
  listKind: 'ConfigMapList',
  plural: 'configmaps',
  singular: 'configmap',
  shortNames: ['cm'],
  categories: [],
  subresources: [],
})
const holds = (version: string): ServedKind =>
  kindOf({
    group: 'mooring.dev',
    version,
    kind: 'Hold',
    listKind: 'HoldList',
    plural: 'holds',
    singular: 'hold',
    shortNames: [],
    categories: [],
    namespaced: false,
    isCustom: true,
    subresources: [
      { name: 'status', verbs: ['get', 'patch', 'update'] },
      { name: 'scale', verbs: ['get', 'patch', 'update'], kind: 'Scale', group: 'autoscaling', version: 'v1' },
    ],
  })
const deployments = kindOf({ group: 'apps', kind: 'Deployment', plural: 'deployments', singular: 'deployment' })

const discovery = createDiscovery([holds('v1alpha1'), kindOf({}), holds('v1'), configMaps, deployments])

describe('discovery', () => {
  it('orders versions from the newest stable one down', () => {
    const versions = ['foo10', 'v11alpha2', 'v1', 'v3beta1', 'v10', 'v12alpha1', 'foo1', 'v2', 'v11beta2', 'v10beta3']
    expect(versions.sort(compareVersions)).toEqual([
      'v10',
      'v2',
      'v1',
      'v11beta2',
      'v10beta3',
      'v3beta1',
      'v12alpha1',
      'v11alpha2',
      'foo1',
      'foo10',
    ])
  })

  it('lists groups without the core one, custom groups last, and prefers the best version', () => {
    expect(discovery.groups()).toEqual({
      kind: 'APIGroupList',
      apiVersion: 'v1',
      groups: [
        {
          name: 'apps',
          versions: [{ groupVersion: 'apps/v1', version: 'v1' }],
          preferredVersion: { groupVersion: 'apps/v1', version: 'v1' },
        },
        {
          name: 'mooring.dev',
          versions: [
            { groupVersion: 'mooring.dev/v1', version: 'v1' },
            { groupVersion: 'mooring.dev/v1alpha1', version: 'v1alpha1' },
          ],
          preferredVersion: { groupVersion: 'mooring.dev/v1', version: 'v1' },
        },
      ],
    })
  })

  it('answers for groups and versions it serves and for no others', () => {
    expect(discovery.group('mooring.dev')).toMatchObject({ kind: 'APIGroup', apiVersion: 'v1', name: 'mooring.dev' })
    expect(discovery.group('')).toBeUndefined()
    expect(discovery.group('absent.dev')).toBeUndefined()
    expect(discovery.resources('mooring.dev', 'v2')).toBeUndefined()
    expect(discovery.versions('10.0.0.1:7443')).toEqual({
      kind: 'APIVersions',
      versions: ['v1'],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '10.0.0.1:7443' }],
    })
  })

  it('lists resources with their subresources', () => {
    const sorted = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
    expect(discovery.resources('', 'v1')).toEqual({
      kind: 'APIResourceList',
      groupVersion: 'v1',
      resources: [
        {
          name: 'configmaps',
          singularName: 'configmap',
          namespaced: true,
          kind: 'ConfigMap',
          verbs: sorted,
          shortNames: ['cm'],
          storageVersionHash: 'qFsyl6wFWjQ=',
        },
        {
          name: 'pods',
          singularName: 'pod',
          namespaced: true,
          kind: 'Pod',
          verbs: sorted,
          shortNames: ['po'],
          categories: ['all'],
          storageVersionHash: 'xPOwRZ+Yhw8=',
        },
        {
          name: 'pods/eviction',
          singularName: '',
          namespaced: true,
          group: 'policy',
          version: 'v1',
          kind: 'Eviction',
          verbs: ['create'],
        },
        { name: 'pods/status', singularName: '', namespaced: true, kind: 'Pod', verbs: ['get', 'patch', 'update'] },
      ],
    })
  })

  it('says the same in one aggregated document', () => {
    const { body, contentType } = discovery.aggregated('apis', 'v2')
    expect(contentType).toBe('application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList')
    const document = JSON.parse(body.toString())
    expect(document).toMatchObject({
      kind: 'APIGroupDiscoveryList',
      apiVersion: 'apidiscovery.k8s.io/v2',
      metadata: {},
    })
    expect(document.items[1]).toEqual({
      metadata: { name: 'mooring.dev' },
      versions: ['v1', 'v1alpha1'].map(version => ({
        version,
        freshness: 'Current',
        resources: [
          {
            resource: 'holds',
            responseKind: { group: 'mooring.dev', version, kind: 'Hold' },
            scope: 'Cluster',
            singularResource: 'hold',
            verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
            subresources: [
              {
                subresource: 'status',
                responseKind: { group: 'mooring.dev', version, kind: 'Hold' },
                verbs: ['get', 'patch', 'update'],
              },
              {
                subresource: 'scale',
                responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
                verbs: ['get', 'patch', 'update'],
              },
            ],
          },
        ],
      })),
    })
    const core = JSON.parse(discovery.aggregated('api', 'v2beta1').body.toString())
    expect(core.apiVersion).toBe('apidiscovery.k8s.io/v2beta1')
    expect(core.items).toHaveLength(1)
    expect(core.items[0].metadata).toEqual({})
  })

  it('tags equal content equally, whatever the order of the kinds', () => {
    const again = createDiscovery([deployments, holds('v1'), holds('v1alpha1'), configMaps, kindOf({})])
    const { etag } = discovery.aggregated('apis', 'v2')
    expect(again.aggregated('apis', 'v2').etag).toBe(etag)
    expect(createDiscovery([deployments]).aggregated('apis', 'v2').etag).not.toBe(etag)
    expect(isUnchanged(etag, etag)).toBe(true)
    expect(isUnchanged(`"other", ${etag}`, etag)).toBe(true)
    expect(isUnchanged('"other"', etag)).toBe(false)
    expect(isUnchanged(undefined, etag)).toBe(false)
  })

  const v2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
  const v2beta1 = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList'
  it.each([
    [`${v2},${v2beta1},application/json`, 'v2'],
    [`${v2beta1},${v2}`, 'v2beta1'],
    [`application/json, ${v2}`, 'v2'],
    ['application/json', undefined],
    ['application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList', undefined],
    ['*/*', undefined],
    [undefined, undefined],
  ])('for %j serves the aggregated version %s', (accept, expected) => {
    expect(negotiateAggregated(accept)).toBe(expected)
  })
})
