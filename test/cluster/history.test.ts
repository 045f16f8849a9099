import { expect, test } from 'vitest'
import type { KubeObject } from '../../src/kube/object.ts'
import { judge, type Revision } from './history.ts'

const poolRef = { kind: 'InClusterIPPool', name: 'pool', namespace: 'default' }

function hold(at: number, address: string, uid: string, state = 'held'): Revision {
  const object = { metadata: { name: address }, spec: { address, poolRef, claimRef: { uid } }, status: { state } }
  return { at, kind: 'hold', isDeleted: false, object: object as KubeObject }
}

function report(at: number, name: string, address: string, uid?: string): Revision {
  const owners = uid === undefined ? [] : [{ apiVersion: '', kind: 'IPAddressClaim', name, uid }]
  const metadata = { name, namespace: 'default', ownerReferences: owners }
  const spec = { address, poolRef: { kind: poolRef.kind, name: poolRef.name } }
  return { at, kind: 'report', isDeleted: false, object: { metadata, spec } as KubeObject }
}

function claim(at: number, name: string, uid: string, isReady = true): Revision {
  const status = { addressRef: { name }, conditions: [{ type: 'Ready', status: 'True' }] }
  const object = { metadata: { name, namespace: 'default', uid }, ...(isReady && { status }) }
  return { at, kind: 'claim', isDeleted: false, object: object as KubeObject }
}

const deleted = (revision: Revision): Revision => ({ ...revision, isDeleted: true })

const bound = (at: number, name: string, address: string, uid: string): Revision[] => [
  claim(at, name, uid, false),
  hold(at + 1, address, uid),
  report(at + 2, name, address, uid),
  claim(at + 3, name, uid),
]

const released = (at: number, name: string, address: string, uid: string): Revision[] => [
  deleted(claim(at + 3, name, uid, false)),
  deleted(hold(at + 2, address, uid)),
  deleted(report(at + 1, name, address, uid)),
  { ...claim(at, name, uid), object: { metadata: { name, namespace: 'default', uid, deletionTimestamp: 'now' } } },
]

test('finds nothing wrong with an address that two claims have one after the other', () => {
  const history = [
    ...bound(10, 'a', '10.0.0.1', 'uid-a'),
    ...released(20, 'a', '10.0.0.1', 'uid-a'),
    ...bound(30, 'b', '10.0.0.1', 'uid-b'),
  ]
  expect(judge(history)).toEqual({ faults: [], strays: 0 })
})

test('finds an address that two claims have for a moment', () => {
  const late = report(25, 'b', '10.0.0.1', 'uid-b')
  const history = [
    ...bound(10, 'a', '10.0.0.1', 'uid-a'),
    claim(20, 'b', 'uid-b', false),
    late,
    { ...deleted(late), at: 26 },
  ]
  expect(judge(history).faults.join('\n')).toContain('is shown by default/a and by default/b')
})

test('finds a claim that says it is ready and is not held, moved, or gone to another', () => {
  const first = bound(10, 'a', '10.0.0.1', 'uid-a')
  const faults = (...more: Revision[]): string => judge([...first, ...more]).faults.join('\n')
  expect(faults(deleted(hold(20, '10.0.0.1', 'uid-a')))).toContain('not held for its claim')
  expect(faults(hold(20, '10.0.0.1', 'uid-b'))).toContain('without a rest')
  expect(faults(deleted(report(20, 'a', '10.0.0.1', 'uid-a')))).toContain('has no IPAddress')
  const moved = [hold(20, '10.0.0.2', 'uid-a'), report(21, 'a', '10.0.0.2', 'uid-a'), claim(22, 'a', 'uid-a')]
  expect(faults(...moved)).toContain('had 10.0.0.1 and has 10.0.0.2')
  expect(faults(report(20, 'a', '10.0.0.1', 'uid-z'), claim(21, 'a', 'uid-a'))).toContain('of another claim')
})

test('counts what was written for a claim that was gone', () => {
  const history = [...bound(10, 'a', '10.0.0.1', 'uid-a'), report(20, 'z', '10.0.0.1', 'uid-z')]
  expect(judge(history)).toEqual({ faults: [], strays: 1 })
})
