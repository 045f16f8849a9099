import { expect, test } from 'vitest'
import type { KubeObject } from '../object.ts'
import { toCoreEvent, toEventsV1 } from './event.ts'

const stored: KubeObject = {
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: 'e', namespace: 'default' },
  involvedObject: { kind: 'Pod', name: 'p' },
  reason: 'Started',
  message: 'it runs',
  source: { component: 'kubelet' },
  firstTimestamp: '2026-01-01T00:00:00Z',
  lastTimestamp: '2026-01-01T00:00:01Z',
  count: 2,
  type: 'Normal',
  eventTime: null,
  reportingComponent: 'kubelet',
  reportingInstance: 'node-1',
}

test('the newer group shows a stored event under its own names', () => {
  expect(toEventsV1(stored)).toEqual({
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: stored.metadata,
    regarding: { kind: 'Pod', name: 'p' },
    reason: 'Started',
    note: 'it runs',
    deprecatedSource: { component: 'kubelet' },
    deprecatedFirstTimestamp: '2026-01-01T00:00:00Z',
    deprecatedLastTimestamp: '2026-01-01T00:00:01Z',
    deprecatedCount: 2,
    type: 'Normal',
    eventTime: null,
    reportingController: 'kubelet',
    reportingInstance: 'node-1',
  })
})

test('an event goes to the newer group and back unchanged', () => {
  expect(toCoreEvent(toEventsV1(stored))).toEqual(stored)
})
