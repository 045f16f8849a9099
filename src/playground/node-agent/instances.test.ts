import { describe, expect, test } from 'vitest'
import type { Instance, Migration, Pod } from '../shapes.ts'
import { decide } from './instances.ts'

const now = '2026-01-01T00:00:00Z'
const said = { now, nodes: ['one', 'two'], saysReady: false }
const metadata = { name: 'vm', namespace: 'default', uid: 'vm' }
const anInstance = (status: NonNullable<Instance['status']>): Instance => ({ metadata, spec: {}, status })
const aPod = (nodeName: string): Pod => ({
  metadata: { name: 'pod' },
  spec: { nodeName },
  status: { phase: 'Running' },
})

describe('An instance beside KubeVirt', () => {
  test('that begins to run says so in the words of Go, which virt-controller compares: an empty time is null', () => {
    const scheduled = anInstance({ phase: 'Scheduled', nodeName: 'one' })
    const begun = decide(scheduled, { pod: aPod('one'), migration: undefined, ...said })
    const condition = { type: 'LiveMigratable', status: 'True', lastProbeTime: null, lastTransitionTime: now }
    expect(begun?.status?.conditions).toEqual([condition])
  })

  test('shows the MAC that it asks for as guests do, in whichever notation it was written', () => {
    const spec = {
      domain: { devices: { interfaces: [{ name: 'lan', macAddress: '00-50-56-AA-02-31' }] } },
      networks: [{ name: 'lan', pod: {} }],
    }
    const networkStatus = '[{"name":"playground","interface":"eth0","ips":["10.244.0.1"],"mac":"02:00:00:00:00:01"}]'
    const running = aPod('one')
    const pod = { ...running, metadata: { annotations: { 'k8s.v1.cni.cncf.io/network-status': networkStatus } } }
    const scheduled = { ...anInstance({ phase: 'Scheduled', nodeName: 'one' }), spec }
    const begun = decide(scheduled, { pod, migration: undefined, ...said })
    expect(begun?.status?.interfaces).toMatchObject([{ name: 'lan', mac: '00:50:56:aa:02:31' }])
  })

  test('that has moved is not marked for eviction any more, so that the next drain can mark it', () => {
    const migration: Migration = { metadata: { name: 'move', uid: 'move' }, status: { phase: 'PreparingTarget' } }
    const migrationState = { migrationUid: 'move', sourceNode: 'one', targetNode: 'two', targetPod: 'target' }
    const moving = anInstance({ phase: 'Running', nodeName: 'one', evacuationNodeName: 'one', migrationState })
    const moved = decide(moving, { pod: aPod('one'), migration, ...said })
    expect(moved?.status).toMatchObject({ nodeName: 'two', migrationState: { completed: true } })
    expect(moved?.status).not.toHaveProperty('evacuationNodeName')
  })
})

test('an instance without KubeVirt begins to run and is ready in one write', () => {
  const conditions = [{ type: 'Ready', status: 'True' }]
  const pod: Pod = { ...aPod('one'), status: { phase: 'Running', conditions } }
  const scheduled = anInstance({ phase: 'Scheduled', nodeName: 'one' })
  const begun = decide(scheduled, { pod, migration: undefined, ...said, saysReady: true })
  expect(begun?.status).toMatchObject({ phase: 'Running', conditions: [{ type: 'LiveMigratable' }, { type: 'Ready' }] })
})
