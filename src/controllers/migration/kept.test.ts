import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { orThrow } from '../../../test/harness/or-throw.ts'
import { networkStatusAnnotation, networksAnnotation } from '../../api/names.ts'
import type { KubeObject } from '../../kube/object.ts'
import { migratingIn, readCluster } from '../../migration/cluster.ts'
import { readSettingValue, wantedOrMalformed } from '../../migration/wanted.ts'
import { wentOf } from '../../migration/went.ts'
import { keepHandler, keepMigration, keepNode, keepSetting } from './kept.ts'
import { readHandler } from './rollout.ts'

const much = 'x'.repeat(10_000)

const head = (name: string, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: {
    name,
    namespace: 'lab',
    uid: `uid of ${name}`,
    resourceVersion: '7',
    annotations: { theirs: much },
    finalizers: [much],
    ...metadata,
  },
})

const isReady = { type: 'Ready', status: 'True', reason: much }

const aNode = (metadata: object = {}, status: object = {}): KubeObject =>
  ({
    ...head('n1', { labels: { zone: 'a', 'kubevirt.io/schedulable': 'true' }, ...metadata }),
    spec: { providerID: much },
    status: {
      conditions: [{ type: 'DiskPressure', status: 'False', message: much }, isReady],
      addresses: [
        { type: 'Hostname', address: much },
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'InternalIP', address: 'fd00::1' },
      ],
      images: [{ names: [much] }],
      ...status,
    },
  }) as KubeObject

const aMigration = (metadata: object = {}, status: object = {}): KubeObject =>
  ({
    ...head('m1', metadata),
    spec: { vmiName: 'web', addedNodeSelector: { note: much } },
    status: {
      phase: 'Succeeded',
      migrationState: {
        targetNode: 'n2',
        targetNodeAddress: '10.1.2.7',
        endTimestamp: '2030-01-01T00:00:00Z',
        sourceState: { pod: much },
      },
      phaseTransitionTimestamps: [much],
      ...status,
    },
  }) as KubeObject

const networkName = 'vm-migration-network-a'
const asks = JSON.stringify([{ name: networkName, namespace: 'lab', interface: 'migration0' }])
const got = JSON.stringify([{ name: `lab/${networkName}`, interface: 'migration0', ips: ['10.1.2.7'] }])

const aHandler = (metadata: object = {}, status: object = {}): KubeObject =>
  ({
    ...head('virt-handler-1', {
      annotations: { theirs: much, [networksAnnotation]: asks, [networkStatusAnnotation]: got },
      labels: { theirs: much },
      ...metadata,
    }),
    spec: { nodeName: 'n1', containers: [{ env: much }] },
    status: {
      phase: 'Running',
      conditions: [{ type: 'Initialized', status: 'True', message: much }, isReady],
      containerStatuses: [
        { image: much },
        { image: much, state: { waiting: { message: 'no such network', reason: much } } },
      ],
      ...status,
    },
  }) as KubeObject

const { ranges } = (() => {
  const wanted = orThrow(
    wantedOrMalformed(readSettingValue('{"clusterNetwork":"mgmt","vlan":100,"range":"10.1.2.0/24"}')),
  )
  if (wanted === 'default') throw new Error('it asks for a network')
  return wanted
})()

const nothing = { nodes: [], clusterNetworks: [], vlanConfigs: [], vlanStatuses: [], settings: [], spaces: [] }
const readings = {
  node: (object: KubeObject) => [
    readCluster({ ...nothing, nodes: [object], kubeVirt: undefined }).nodes,
    { ...object.metadata, annotations: undefined, finalizers: undefined },
  ],
  migration: (object: KubeObject) => [wentOf(object, ranges), migratingIn([object]), object.apiVersion, object.kind],
  handler: (object: KubeObject) => [readHandler(object), object.metadata.namespace],
}

const kinds = [
  ['a node', aNode, keepNode, readings.node],
  ['a migration', aMigration, keepMigration, readings.migration],
  ['a pod of virt-handler', aHandler, keepHandler, readings.handler],
] as const

describe.each(kinds)('of %s a cache', (_, make, keep, read) => {
  const deletionTimestamp = '2030-01-01T00:00:00Z'

  test('keeps what is read of it, and little else', () => {
    expect(JSON.stringify(keep(make()))).not.toContain(much)
    for (const whole of [
      make(),
      make({ deletionTimestamp }),
      make({ annotations: undefined }),
      make({}, { phase: 'Running' }),
    ])
      expect(read(keep(whole))).toEqual(read(whole))
  })

  test('keeps the same of what it kept', () => {
    expect(keep(keep(make()))).toEqual(keep(make()))
  })

  test('keeps one in which nothing can be read', () => {
    fc.assert(
      fc.property(fc.anything({ maxDepth: 3 }), fc.anything({ maxDepth: 3 }), (spec, status) => {
        const { metadata } = head('a')
        const object = { metadata, spec, status } as KubeObject
        expect(keep(object).metadata).toMatchObject({ name: 'a', uid: 'uid of a', resourceVersion: '7' })
      }),
    )
  })
})

test.each(['vm-migration-network', 'storage-network', 'rwx-network'])('Setting %s stays whole', name => {
  const setting = {
    ...head(name),
    value: 'some',
    status: { conditions: [{ type: 'configured', lastUpdateTime: 'now' }] },
  }
  expect(keepSetting(setting)).toBe(setting)
})

test('of another Setting of Harvester nothing stays but its name: it may hold credentials', () => {
  const kept = keepSetting({ ...head('backup-target'), value: 'a secret' } as KubeObject)
  expect(kept).toEqual({
    apiVersion: 'v1',
    kind: 'Thing',
    metadata: { name: 'backup-target', namespace: 'lab', uid: 'uid of backup-target', resourceVersion: '7' },
  })
})
