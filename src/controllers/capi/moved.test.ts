import { expect, test } from 'vitest'
import { VirtualClock } from '../../../test/harness/virtual-clock.ts'
import { deleteForMoveAnnotation } from '../../api/names.ts'
import type { Metadata } from '../../api/object.ts'
import { leavingMs, Moved } from './moved.ts'
import { createCaches } from './world.ts'

const version = 'ipam.cluster.x-k8s.io/v1beta2'
const poolRef = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'vms' }
const marked = { annotations: { [deleteForMoveAnnotation]: '' } }

let revision = 0
const metadata = (name: string, uid: string, more: object) => ({
  name,
  namespace: 'lab',
  uid,
  resourceVersion: String(++revision),
  ...more,
})

const aClaim = (more: object = {}) => ({
  apiVersion: version,
  kind: 'IPAddressClaim',
  metadata: metadata('web', 'claim-uid', more),
  spec: { poolRef },
})

const aReport = (uid: string, claimUid: string, more: object = {}) => ({
  apiVersion: version,
  kind: 'IPAddress',
  metadata: metadata('web', uid, {
    ownerReferences: [{ apiVersion: version, kind: 'IPAddressClaim', name: 'web', uid: claimUid }],
    ...more,
  }),
  spec: { claimRef: { name: 'web' }, poolRef, address: '10.0.0.1', prefix: 24 },
})

function aMove() {
  const clock = new VirtualClock()
  const caches = createCaches()
  const moved = new Moved(caches, clock)
  caches.claims.learn(aClaim())
  const leave = (uid: string, claimUid: string) => {
    caches.reports.learn(aReport(uid, claimUid, marked))
    caches.reports.ended('lab/web', uid)
  }
  /** How long the claim with this uid is believed to leave. */
  const leavesForMs = (uid: string) => moved.leavesForMs({ metadata: { uid } as Metadata })
  return { clock, caches, leavesForMs, leave }
}

test('a claim whose IPAddress left with clusterctl leaves too, for some minutes', async () => {
  const { clock, leavesForMs, leave } = aMove()
  expect(leavesForMs('claim-uid')).toBe(0)
  leave('one', 'claim-uid')
  expect(leavesForMs('claim-uid')).toBe(leavingMs)
  await clock.advance(leavingMs)
  expect(leavesForMs('claim-uid')).toBe(0)
})

test('is forgotten when it is gone, when its IPAddress is back, and when its mark is off', () => {
  const { caches, leavesForMs, leave } = aMove()
  leave('one', 'claim-uid')
  caches.reports.learn(aReport('two', 'claim-uid'))
  expect(leavesForMs('claim-uid')).toBe(0)
  caches.claims.learn(aClaim(marked))
  expect(leavesForMs('claim-uid')).toBe(leavingMs)
  caches.claims.learn(aClaim())
  expect(leavesForMs('claim-uid')).toBe(0)
  leave('two', 'claim-uid')
  expect(leavesForMs('claim-uid')).toBe(leavingMs)
  caches.claims.ended('lab/web', 'claim-uid')
  expect(leavesForMs('claim-uid')).toBe(0)
})

test('owners that are no claims in view are not remembered', () => {
  const { leavesForMs, leave } = aMove()
  leave('one', 'forged-uid')
  expect(leavesForMs('forged-uid')).toBe(0)
})
