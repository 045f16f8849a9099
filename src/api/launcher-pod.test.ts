import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { parseLauncherPod } from './launcher-pod.ts'

const podWith = (metadata: object, more: object = {}) =>
  orThrow(parseLauncherPod({ kind: 'Pod', metadata: { name: 'p', namespace: 'lab', ...metadata }, ...more }))

describe('a launcher pod', () => {
  test('names its instance by its annotation, and is controlled by it', () => {
    const owner = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance', name: 'vm1', uid: 'vmi-1' }
    const annotations = { 'kubevirt.io/domain': 'vm1' }
    const labels = { 'vm.kubevirt.io/name': 'another-host' }
    expect(podWith({ annotations, labels, ownerReferences: [{ ...owner, controller: true }] })).toMatchObject({
      domain: 'vm1',
      instance: 'vmi-1',
    })
    expect(podWith({ annotations, ownerReferences: [owner] }).instance).toBeUndefined()
  })

  test('says its networks and the claim of its primary network as they stand there', () => {
    const annotations = { 'k8s.v1.cni.cncf.io/networks': 'blue', 'k8s.ovn.org/primary-udn-ipamclaim': 'vm1.podnet' }
    expect(podWith({ annotations })).toMatchObject({ networks: 'blue', primaryClaim: 'vm1.podnet' })
    expect(podWith({})).toMatchObject({ domain: '', networks: undefined, primaryClaim: undefined })
  })

  test.each([
    ['Pending', false],
    ['Running', false],
    ['Unknown', false],
    ['Succeeded', true],
    ['Failed', true],
  ])('in phase %s has completed: %s', (phase, isCompleted) => {
    expect(podWith({}, { status: { phase } }).isCompleted).toBe(isCompleted)
  })

  test('of a live migration is a target, and ready when KubeVirt says so', () => {
    const labels = { 'kubevirt.io/migrationJobUID': 'm-1' }
    const annotations = { 'kubevirt.io/migration-target-ready-timestamp': '2026-01-01T00:00:00Z' }
    expect(podWith({ labels })).toMatchObject({ isMigrationTarget: true, isTargetReady: false })
    expect(podWith({ labels, annotations })).toMatchObject({ isMigrationTarget: true, isTargetReady: true })
  })
})
