// Numbers about virtual machines: what tenants can name and write does not make them grow without end.

import { expect, test } from 'vitest'
import { VirtualClock } from '../../../test/harness/virtual-clock.ts'
import { networkOf } from '../../../test/vm/networks.ts'
import type { IPAMClaim } from '../../api/ipam-claim.ts'
import type { KubeObject } from '../../kube/object.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { createViews } from '../office/views.ts'
import { measureClaims, measureLaunchers } from './metrics.ts'
import { createCaches, type VMWorld } from './world.ts'

function aClaim(name: string, network: string, status: object = {}, metadata: object = {}): KubeObject {
  const claim = {
    apiVersion: 'k8s.cni.cncf.io/v1alpha1',
    kind: 'IPAMClaim',
    metadata: { name, namespace: 'shop', uid: name, resourceVersion: '1', ...metadata },
    spec: { network, interface: 'pod1' },
    status,
  }
  return claim as KubeObject
}

/** What is told of these claims; `ovn` is a network that OVN-Kubernetes gives out, of which `first` holds an address. */
function toldOf(...claims: readonly KubeObject[]): string[] {
  const caches = createCaches(false, createViews())
  for (const claim of claims) caches.claims.put(claim)
  const networks = {
    ofClaim: ({ network }: IPAMClaim) =>
      network === 'missing'
        ? { kind: 'refusal', reason: 'NetworkNotFound', message: '' }
        : networkOf({ name: network }),
    isObserved: ({ name }: { readonly name: string }) => name === 'ovn',
    poolsFor: (_: object, namespace: string) =>
      namespace === 'shop' ? [] : { kind: 'refused', reason: 'NetworkNotOffered', message: '' },
  }
  const world = { caches, networks, sources: {}, ledger: { holdAt: () => ({ claim: { uid: 'first' } }) } }
  const metrics = createMetrics()
  measureClaims(metrics, world as unknown as VMWorld)
  return metrics
    .text()
    .split('\n')
    .filter(line => line.startsWith('mooring_ipam_claims{'))
}

const told = (name: string, state: string, count: number) =>
  `mooring_ipam_claims{kind="Network",namespace="",name="${name}",state="${state}"} ${count}`

test('claims are counted by network and state', () => {
  const ips = ['10.9.0.1/28']
  const refused = [{ type: 'IPsAllocated', status: 'False', reason: 'IPAddressConflict', message: '' }]
  expect(
    toldOf(
      aClaim('a', 'blue', { ips }),
      aClaim('b', 'blue', { ips, conditions: refused }),
      aClaim('c', 'blue'),
      aClaim('d', 'blue', { ips }, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      aClaim('first', 'ovn', { ips }),
      aClaim('second', 'ovn', { ips }),
      aClaim('g', 'ovn'),
      aClaim('forged', 'ovn', { ips }, { namespace: 'elsewhere' }),
      aClaim('h', 'missing'),
    ),
  ).toEqual([
    ...[told('blue', 'served', 1), told('blue', 'waiting', 2), told('blue', 'deleting', 1)],
    ...[told('ovn', 'served', 1), told('ovn', 'conflict', 1), told('ovn', 'idle', 1), told('ovn', 'waiting', 1)],
    told('unknown', 'waiting', 1),
  ])
})

test('networks past the thousandth are added up', () => {
  const lines = toldOf(...Array.from({ length: 1_100 }, (_, i) => aClaim(`c${i}`, `n${i}`)))
  expect(lines).toHaveLength(1_001)
  expect(lines).toContain('mooring_ipam_claims{kind="other",namespace="other",name="other",state="waiting"} 100')
})

test('a reason that a user wrote into a status is no label', () => {
  const metrics = createMetrics()
  const launchers = measureLaunchers(metrics, new VirtualClock())
  launchers.waits('shop/a', ['SubnetExhausted'])
  launchers.waits('shop/b', ['Reason of a tenant', 'IPAMClaimNotFound'])
  launchers.waits('shop/c', ['IPAMClaimNotFound'])
  launchers.waits('shop/c', [])
  const waiting = (reason: string) => `mooring_launcher_pods_waiting{reason="${reason}"} 1`
  expect(metrics.text().split('\n')).toEqual(
    expect.arrayContaining([waiting('SubnetExhausted'), waiting('other'), waiting('IPAMClaimNotFound')]),
  )
  expect(metrics.text()).not.toContain('tenant')
})

test('a pod is timed once, from when it was made', () => {
  const metrics = createMetrics()
  const launchers = measureLaunchers(metrics, new VirtualClock())
  launchers.seen('a', new Date(new VirtualClock().now() - 20_000).toISOString())
  launchers.served('a')
  launchers.served('a')
  launchers.served('not seen')
  expect(metrics.text()).toContain('mooring_launcher_pod_ready_seconds_sum 20\n')
  expect(metrics.text()).toContain('mooring_launcher_pod_ready_seconds_count 1\n')
})
