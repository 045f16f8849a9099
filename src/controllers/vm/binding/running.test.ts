// What a machine runs with, before its claim has any address.

import { expect, test } from 'vitest'
import { aClaim, aPod, type PodParts } from '../../../../test/vm/builders.ts'
import { toIPText } from '../../../ip/address.ts'
import { noHolder } from './holder.ts'
import { runningIPs } from './running.ts'

const podInterface = 'pod6c270ef2f25'
const element = { name: 'net1', namespace: 'lab', interface: podInterface, 'ipam-claim-reference': 'vm1.net1' }
const entry = (...ips: string[]) => ({ ip_addresses: ips })
const told = (entries: object) => JSON.stringify(entries)
const attached = (name: string, own: string) => JSON.stringify([{ name, interface: own, ips: ['10.9.0.6'] }])
const runsOn = (parts: PodParts) => aPod({ node: 'node-1', networks: [element], ...parts })
const textsOf = (claim: Parameters<typeof runningIPs>[0], pods: Parameters<typeof runningIPs>[1], runner?: string) =>
  runningIPs(claim, pods, { ...noHolder, pod: runner }, attachment => attachment === 'lab/net1').map(toIPText)

const podNetworks = told({ 'lab/net1': entry('10.9.0.5/24', 'fd00:9::5/64') })
const both = ['10.9.0.5', 'fd00:9::5']

test.each<[string, PodParts, string[]]>([
  ['what OVN-Kubernetes was told, by the claim that the element names', { podNetworks }, both],
  [
    'what OVN-Kubernetes was told, by the interface, of a pod from before there were claims',
    { podNetworks, networks: [{ ...element, 'ipam-claim-reference': '' }] },
    both,
  ],
  [
    'nothing of an element that names another claim',
    { podNetworks, networks: [{ ...element, 'ipam-claim-reference': 'x' }] },
    [],
  ],
  ['nothing of another interface', { podNetworks, networks: [{ name: 'net1', interface: 'pod2' }] }, []],
  [
    'the second interface on one network by its own entry',
    {
      networks: [{ name: 'net1', interface: 'pod2' }, element],
      podNetworks: told({ 'lab/net1': entry('10.9.0.5/24'), 'lab/net1/1': entry('10.9.0.7/24') }),
    },
    ['10.9.0.7'],
  ],
  [
    'nothing of another network',
    { networks: [{ ...element, name: 'net2' }], podNetworks: told({ 'lab/net2': entry('10.9.0.5/24') }) },
    [],
  ],
  ['nothing of a pod that has ended', { podNetworks, phase: 'Succeeded' }, []],
  ['nothing of a pod without a node', { podNetworks, node: '' }, []],
  ['what Multus says, of other CNIs', { networkStatus: attached('lab/net1', podInterface) }, ['10.9.0.6']],
  ['nothing that Multus says of another interface', { networkStatus: attached('lab/net1', 'pod2') }, []],
  ['nothing that cannot be read', { podNetworks: '[', networkStatus: '{' }, []],
])('a claim is shown %s', (_, parts, ips) => {
  expect(textsOf(aClaim(), [runsOn(parts)])).toEqual(ips)
})

test('in the place of the pod network there is no element, and the entry is the one that no element has', () => {
  const claim = aClaim({ interface: 'eth0' })
  expect(textsOf(claim, [aPod({ node: 'node-1', podNetworks })])).toEqual(both)
  expect(
    textsOf(claim, [aPod({ node: 'node-1', podNetworks, networks: [{ name: 'net1', interface: 'pod2' }] })]),
  ).toEqual([])
})

test('during a live migration the pod that runs the machine comes first', () => {
  const source = runsOn({ name: 'source', podNetworks: told({ 'lab/net1': entry('10.9.0.5/24') }) })
  const target = runsOn({ name: 'target', podNetworks: told({ 'lab/net1': entry('10.9.0.8/24') }) })
  expect(textsOf(aClaim(), [source, target], 'target')).toEqual(['10.9.0.8', '10.9.0.5'])
})
