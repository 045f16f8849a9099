// When a claim that is being deleted may go, as a table.

import { describe, expect, test } from 'vitest'
import { aClaim, aPod, aVM, aVMI, StubNetworks } from '../../../../test/vm/builders.ts'
import { type EndSeen, mayEnd, podsToMark } from './end.ts'

const networks = new StubNetworks({ 'lab/net1': 'net1', 'lab/blue': 'blue' })
const claim = aClaim({ isDeleting: true })
const ofVMI = aClaim({ owner: 'vmi-1', ownerKind: 'VirtualMachineInstance', isDeleting: true })
const left = aClaim({ owner: '', isDeleting: true })
const vmi = aVMI({ of: 'vm-1' })
const using = aPod({ networks: [{ name: 'net1', 'ipam-claim-reference': 'vm1.net1' }] })
const done = aPod({ networks: [{ name: 'net1', 'ipam-claim-reference': 'vm1.net1' }], phase: 'Failed' })

const cases: readonly (readonly [string, boolean, Partial<EndSeen>])[] = [
  ['33: the virtual machine goes and its instance is gone', true, { vm: aVM({ isDeleting: true }) }],
  ['30: the virtual machine is stopped', false, { vm: aVM() }],
  ['the virtual machine runs', false, { vm: aVM(), vmi }],
  ['34: the virtual machine goes and its instance is there', false, { vm: aVM({ isDeleting: true }), vmi }],
  ['also when that goes too', false, { vm: aVM({ isDeleting: true }), vmi: aVMI({ of: 'vm-1', isDeleting: true }) }],
  ['29: both are gone', true, {}],
  ['the virtual machine is gone and its instance stays', false, { vmi }],
  ['a lone instance stays', false, { claim: ofVMI, vmi: aVMI() }],
  ['31: a lone instance goes, without pods', true, { claim: ofVMI, vmi: aVMI({ isDeleting: true }) }],
  [
    '32: a lone instance goes, with pods by its status',
    false,
    { claim: ofVMI, vmi: aVMI({ isDeleting: true, activePods: { 'pod-1': 'node-1' } }) },
  ],
  ['both are gone and a pod can still run', false, { pods: [using] }],
  ['whatever networks it says it has', false, { pods: [aPod()] }],
  ['both are gone and the pods have completed', true, { pods: [done] }],
  ['the virtual machine goes, and a pod can still run', false, { vm: aVM({ isDeleting: true }), pods: [using] }],
  ['37: a virtual machine of that name has another uid', true, { vm: aVM({ uid: 'vm-2' }) }],
  [
    'and runs: its pod waits for a claim of its own',
    true,
    { vm: aVM({ uid: 'vm-2' }), vmi: aVMI({ uid: 'vmi-2', of: 'vm-2' }), pods: [aPod({ instance: 'vmi-2' })] },
  ],
  [
    'and a pod of the earlier one can still run',
    false,
    {
      vm: aVM({ uid: 'vm-2' }),
      vmi: aVMI({ uid: 'vmi-2', of: 'vm-2' }),
      pods: [aPod({ instance: 'vmi-2' }), aPod({ instance: 'vmi-1' })],
    },
  ],
  ['H7: it was left behind and its instance runs on', false, { claim: left, vmi: aVMI() }],
  ['H7: it was left behind and nothing is there', true, { claim: left }],
  ['it was left behind and a pod can still run', false, { claim: left, pods: [aPod()] }],
  ['H4: the interface was removed', true, { vm: aVM({ interfaces: [] }), vmi: aVMI({ of: 'vm-1', interfaces: [] }) }],
  [
    'H4: the interface was removed, and the pod runs without it',
    true,
    { vm: aVM({ interfaces: [] }), vmi: aVMI({ of: 'vm-1', interfaces: [] }), pods: [aPod({ networks: [] })] },
  ],
  [
    'the interface was removed, and the pod still has it',
    false,
    { vm: aVM({ interfaces: [] }), vmi: aVMI({ of: 'vm-1', interfaces: [] }), pods: [using] },
  ],
  [
    'the interface was removed, and the pod still has it without naming its claim',
    false,
    {
      vm: aVM({ interfaces: [] }),
      pods: [aPod({ networks: [{ name: 'net1', interface: 'pod6c270ef2f25' }] })],
    },
  ],
  ['the interface was removed from the template alone', false, { vm: aVM({ interfaces: [] }), vmi }],
  ['H5: the interface is on another network', true, { vm: aVM({ interfaces: ['net1:blue'] }) }],
  ['H5: and a pod is on the old one', false, { vm: aVM({ interfaces: ['net1:blue'] }), pods: [using] }],
  [
    'its NetworkAttachmentDefinition is gone',
    false,
    { vm: aVM({ interfaces: ['net1:gone'] }), claim: aClaim({ attachment: 'lab/gone', network: 'gone' }) },
  ],
  [
    'it is that of the pod network, and a pod can still run',
    false,
    { vm: aVM({ interfaces: [] }), claim: aClaim({ interface: 'eth0' }), pods: [aPod()] },
  ],
  ['it was made by hand, for no virtual machine', true, { claim: aClaim({ owner: '', label: '', attachment: '' }) }],
]

describe('A claim that is being deleted', () => {
  test.each(cases)('%s: it may go: %s', (_, expected, seen) => {
    expect(mayEnd({ claim, vm: undefined, vmi: undefined, pods: [], networks, ...seen })).toBe(expected)
  })
})

describe('Before a claim ends, a pod is marked so that no late write tells it of the claim:', () => {
  const named = { networks: [{ name: 'net1', 'ipam-claim-reference': 'vm1.net1' }] }
  const orphan = aVMI()
  const served = aClaim({ isDeleting: true, ips: ['10.0.0.5/24'] })
  const told = '{"lab/net1":{"ip_addresses":["10.0.0.5/24"]}}'

  test.each<[string, number, Partial<EndSeen>]>([
    ['one that names it, of an instance that was left behind', 1, { vmi: orphan, pods: [aPod(named)] }],
    ['not twice', 0, { vmi: orphan, pods: [aPod({ ...named, endedClaims: `other,${claim.metadata.uid}` })] }],
    ['not one that names another claim', 0, { vmi: orphan, pods: [aPod({ networks: [] })] }],
    ['not one that has completed', 0, { vmi: orphan, pods: [done] }],
    [
      'not one that was told, for which the claim stays',
      0,
      { claim: served, vmi: orphan, pods: [aPod({ ...named, podNetworks: told })] },
    ],
    ['not one of its own machine, for which it stays too', 0, { vmi, pods: [using] }],
  ])('%s', (_, count, seen) => {
    const all = { claim, vm: undefined, vmi: undefined, pods: [], networks, ...seen }
    expect(podsToMark(all)).toHaveLength(count)
    if (count > 0) expect(mayEnd(all)).toBe(true)
  })
})
