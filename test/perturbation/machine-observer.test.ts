// The observer of virtual machines finds what may never be: each by itself, in a story that is right otherwise.

import { expect, test } from 'vitest'
import { MachineObserver } from './machine-observer.ts'
import type { Stored } from './observer.ts'

const aClaim = (name: string, ...ips: string[]): Stored => ({
  apiVersion: 'k8s.cni.cncf.io/v1alpha1',
  kind: 'IPAMClaim',
  metadata: { name, uid: `uid-${name}`, finalizers: ['kubevirt.io/persistent-ipam'] },
  spec: { network: 'blue' },
  status: { ips },
})

const aHold = (claim: string, address: string, vm: string, state = 'held'): Stored => ({
  apiVersion: 'mooring.dev/v1alpha1',
  kind: 'Hold',
  metadata: { name: `${address} ${claim}`, uid: `uid-${address}-${claim}` },
  spec: { address, space: 'blue', claimRef: { name: claim, uid: `uid-${claim}` }, owner: { name: vm } },
  status: { state },
})

const aMACHold = (claim: string, mac: string, vm: string, space = 'blue'): Stored => ({
  apiVersion: 'mooring.dev/v1alpha1',
  kind: 'MACHold',
  metadata: { name: `${space} ${mac} ${claim}`, uid: `uid-${mac}-${claim}` },
  spec: { mac, space, claimRef: { name: claim, uid: `uid-${claim}`, part: 'mac' }, owner: { name: vm } },
  status: { state: 'held' },
})

const blue: Stored = {
  apiVersion: 'k8s.cni.cncf.io/v1',
  kind: 'NetworkAttachmentDefinition',
  metadata: { name: 'default/blue', uid: 'uid-blue' },
  spec: { config: '{"name":"blue"}' },
}

const asking = ({ metadata, status, ...claim }: Stored, annotations: Record<string, string>): Stored => ({
  ...claim,
  metadata: { ...metadata, annotations },
  status: { ...status, conditions: [{ type: 'IPsAllocated', status: 'True' }] },
})

const keeping = (mac: string, ip: string, virtualMachine?: string): Stored => ({
  apiVersion: 'ippool.k8s.cni.cncf.io/v1alpha',
  kind: 'IPPool',
  metadata: { name: 'blue', uid: 'uid-pool' },
  spec: {
    'network-name': 'blue',
    entries: { [mac]: [ip] },
    ...(virtualMachine !== undefined && { bindings: { [mac]: { namespace: 'default', virtualMachine } } }),
  },
})

const aPod = (vm: string, ip: string, phase = 'Running', mac?: string): Stored => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: `pod-${vm}`,
    uid: `uid-pod-${vm}`,
    annotations: {
      'kubevirt.io/domain': vm,
      'k8s.ovn.org/pod-networks': JSON.stringify({ 'default/blue': { ip_addresses: [ip], mac_address: mac } }),
    },
  },
  status: { phase },
})

/** Each of them is written two minutes after the one before it. */
function seen(...objects: readonly Stored[]): string[] {
  const said: string[] = []
  const [holds, macHolds] = [new Map<string, Stored>(), new Map<string, Stored>()]
  let nowMs = 0
  const observer = new MachineObserver(
    sentence => said.push(sentence),
    holds,
    macHolds,
    () => nowMs,
  )
  for (const object of objects) {
    nowMs += 120_000
    const kept = observer.keptOf(object.kind) ?? (object.kind === 'Hold' ? holds : macHolds)
    kept.set(object.metadata.name, object)
    observer.seeWritten(object, undefined)
  }
  observer.see(1, () => {})
  return said
}

const one = aClaim('one', '10.9.0.1/24')
const held = aHold('one', '10.9.0.1', 'vm1')
const mac = '02:00:5e:10:00:01'
const withMAC = asking(one, { 'mooring.dev/requested-mac': mac })
const two = aClaim('two', '10.9.0.2/24')
const heldByTwo = aHold('two', '10.9.0.2', 'vm2')

test.each<[string, Stored[], string[]]>([
  ['nothing where all agrees', [one, held, aPod('vm1', '10.9.0.1/24')], []],
  ['a claim that shows an address without a hold', [one], ['one has 10.9.0.1/24 and no hold of it']],
  [
    'a claim whose address rests',
    [one, aHold('one', '10.9.0.1', 'vm1', 'quarantined')],
    ['one has 10.9.0.1/24 and no hold of it'],
  ],
  [
    'two claims that have one address',
    [one, held, aClaim('two', '10.9.0.1/24'), aHold('two', '10.9.0.1', 'vm2')],
    ['one and two both have blue 10.9.0.1', '10.9.0.1 one and 10.9.0.1 two both hold blue 10.9.0.1'],
  ],
  [
    'a pod with an address of another machine',
    [one, held, aPod('vm2', '10.9.0.1/24')],
    ['vm2 uses default/blue 10.9.0.1, which is held for vm1'],
  ],
  [
    'a pod with an address that its claim has not',
    [one, held, aPod('vm1', '10.9.0.2/24')],
    ['vm1 uses default/blue 10.9.0.2 and nothing holds it'],
  ],
  ['nothing about a pod that has ended', [one, held, aPod('vm2', '10.9.0.1/24', 'Succeeded')], []],
  [
    'nothing where a MAC is held',
    [blue, withMAC, held, aMACHold('one', mac, 'vm1'), aPod('vm1', '10.9.0.1/24', 'Running', mac)],
    [],
  ],
  ['a claim that says to have a MAC without a hold', [withMAC, held], [`one has ${mac} and no hold of it`]],
  [
    'a pod with a MAC that nothing holds',
    [blue, one, held, aPod('vm1', '10.9.0.1/24', 'Running', mac)],
    [`vm1 uses default/blue ${mac} and nothing holds it`],
  ],
  [
    'a pod with a MAC that is held in another network',
    [blue, one, held, aMACHold('one', mac, 'vm1', 'green'), aPod('vm1', '10.9.0.1/24', 'Running', mac)],
    [`vm1 uses default/blue ${mac} and nothing holds it`],
  ],
  [
    'a pod with the MAC of another machine',
    [blue, one, held, two, heldByTwo, aMACHold('two', mac, 'vm2'), aPod('vm1', '10.9.0.1/24', 'Running', mac)],
    [`vm1 uses default/blue ${mac}, which is held for vm2`],
  ],
  [
    'two machines with one MAC',
    [
      ...[blue, one, held, two, heldByTwo, aMACHold('one', mac, 'vm1')],
      ...[aPod('vm1', '10.9.0.1/24', 'Running', mac), aPod('vm2', '10.9.0.2/24', 'Running', mac)],
    ],
    [`vm1 and vm2 both use default/blue ${mac}`, `vm2 uses default/blue ${mac}, which is held for vm1`],
  ],
  [
    'nothing about a MAC that is made of the address',
    [blue, one, held, aPod('vm1', '10.9.0.1/24', 'Running', '0a:58:0a:09:00:01')],
    [],
  ],
  [
    'a MAC that is held twice',
    [aMACHold('one', mac, 'vm1'), aMACHold('two', mac, 'vm2')],
    [`blue ${mac} one and blue ${mac} two both hold blue ${mac}`],
  ],
])('finds %s', (_, objects, sentences) => {
  expect(seen(...objects)).toEqual(sentences.map(sentence => `revision 1: ${sentence}`))
})

test.each<[string, Stored[], string[]]>([
  [
    'another address than is asked for',
    [asking(one, { 'mooring.dev/requested-ips': '10.9.0.7' }), held],
    ['one asks for 10.9.0.7 and was given 10.9.0.1/24'],
  ],
  [
    'an address that is kept for another MAC',
    [keeping(mac, '10.9.0.1/24'), one, held],
    [`one has 10.9.0.1, which is kept for ${mac} of any`],
  ],
  [
    'a MAC that is bound to another machine',
    [keeping(mac, '10.9.0.7/24', 'vm2'), withMAC, held, aMACHold('one', mac, 'vm1')],
    [`one has ${mac}, which is kept for ${mac} of default/vm2`],
  ],
  [
    'nothing where it is kept for its MAC',
    [keeping(mac, '10.9.0.1/24'), withMAC, held, aMACHold('one', mac, 'vm1')],
    [],
  ],
])('finds at the moment %s', (_, objects, sentences) => {
  expect(seen(...objects)).toEqual(sentences)
})
