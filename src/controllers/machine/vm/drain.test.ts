// Which pods of a Node are in the way of its end.

import { describe, expect, test } from 'vitest'
import { isInTheWay, type Node, type Pod } from './drain.ts'

const node = (status = 'True'): Node => ({
  metadata: { name: 'n' },
  status: { conditions: [{ type: 'Ready', status }] },
})
const pod = (metadata: object = {}, phase = 'Running'): Pod => ({
  metadata: { name: 'p', ...metadata },
  status: { phase },
})
const ownedBy = (kind: string, controller = true) => ({
  ownerReferences: [{ apiVersion: 'apps/v1', kind, name: 'o', uid: 'u', controller }],
})
const leaving = { deletionTimestamp: '2030-01-01T00:00:00Z' }

describe('A pod of a Node that is drained', () => {
  test.each([
    ['runs', pod(), node(), true],
    ['waits to start', pod({}, 'Pending'), node(), true],
    ['has ended well', pod({}, 'Succeeded'), node(), false],
    ['has ended badly', pod({}, 'Failed'), node(), false],
    ['is of a DaemonSet', pod(ownedBy('DaemonSet')), node(), false],
    ['is of a ReplicaSet', pod(ownedBy('ReplicaSet')), node(), true],
    ['names a DaemonSet that does not control it', pod(ownedBy('DaemonSet', false)), node(), true],
    ['is a static one', pod({ annotations: { 'kubernetes.io/config.mirror': '' } }), node(), false],
    ['is ending', pod(leaving), node(), true],
    ['is ending on a Node that does not answer', pod(leaving), node('Unknown'), false],
    ['runs on a Node that does not answer', pod(), node('Unknown'), true],
  ])('and %s: in the way %#', (_, one, of, isOne) => {
    expect(isInTheWay(one, of)).toBe(isOne)
  })
})
