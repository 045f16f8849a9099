// Of two claims that show one address, exactly one has it: always the same one.

import { expect, test } from 'vitest'
import { aClaim, aPod } from '../../../../test/vm/builders.ts'
import { isBefore } from './rivals.ts'

const ips = ['10.9.0.5/24']
const podNetworks = JSON.stringify({ 'lab/net1': { ip_addresses: ips } })
const runs = [aPod({ podNetworks, node: 'node-1' })]
const early = { claim: aClaim({ ips, uid: 'b', createdAt: '2026-01-01T00:00:00Z' }), pods: [] }
const late = { claim: aClaim({ ips, uid: 'a', createdAt: '2026-01-02T00:00:00Z' }), pods: [] }
const twin = { ...early, claim: aClaim({ ips, uid: 'c', createdAt: '2026-01-01T00:00:00Z' }) }

test.each([
  ['was made first', early, late],
  ['was made in the same second, and has the lower uid', early, twin],
  ['has a machine that runs with it', { ...late, pods: runs }, early],
  ['was made first, where both machines run with it', { ...early, pods: runs }, { ...late, pods: runs }],
  [
    'was made first, where the pod has ended',
    early,
    { ...late, pods: [aPod({ podNetworks, node: 'n', phase: 'Failed' })] },
  ],
  ['was made first, where the pod is on no node', early, { ...late, pods: [aPod({ podNetworks })] }],
  ['was made first, where the pod has another address', early, { ...late, pods: [aPod({ node: 'n' })] }],
])('the claim has it that %s', (_, first, second) => {
  expect([isBefore(first, second), isBefore(second, first)]).toEqual([true, false])
})
