// Which pods may use a claim: the same virtual machine by uid, or none.

import { expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { mayUse, ownerOf } from './claim-use.ts'
import { parseIPAMClaim } from './ipam-claim.ts'
import { parseLauncherPod } from './launcher-pod.ts'
import { parseVirtualMachineInstance } from './virtual-machine.ts'

const owner = (kind: string, uid: string, controller = true) => ({
  ...{ apiVersion: 'kubevirt.io/v1', kind, name: 'a', uid, controller },
})
const aClaim = (...ownerReferences: object[]) =>
  orThrow(
    parseIPAMClaim({
      metadata: { name: 'a.net', namespace: 'ns', uid: 'claim-1', ownerReferences },
      spec: { network: 'blue' },
    }),
  )
const aPod = (instance: string, namespace = 'ns') =>
  orThrow(
    parseLauncherPod({
      metadata: { name: 'p', namespace, ownerReferences: [owner('VirtualMachineInstance', instance)] },
    }),
  )
const anInstance = (uid: string, vm: string) =>
  orThrow(
    parseVirtualMachineInstance({
      metadata: { name: 'a', namespace: 'ns', uid, ownerReferences: [owner('VirtualMachine', vm)] },
    }),
  )

const plain = (uid: string, ...ownerReferences: object[]) =>
  orThrow(parseLauncherPod({ metadata: { name: 'p', namespace: 'ns', uid, ownerReferences } }))
const ofPod = (uid: string) => ({ apiVersion: 'v1', kind: 'Pod', name: 'p', uid })
const ofSet = (uid: string) => ({ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 's', uid, controller: true })

const ofVM = aClaim(owner('VirtualMachine', 'vm-1'))

test.each<[string, Parameters<typeof mayUse>, string]>([
  ['of the machine that owns it may', [ofVM, aPod('vmi-1'), anInstance('vmi-1', 'vm-1')], 'yes'],
  [
    'of a lone instance that owns it may',
    [aClaim(owner('VirtualMachineInstance', 'vmi-1')), aPod('vmi-1'), undefined],
    'yes',
  ],
  ['of another machine may not', [ofVM, aPod('vmi-2'), anInstance('vmi-2', 'vm-2')], 'no'],
  ['of a machine that was made again under its name may not', [ofVM, aPod('vmi-3'), anInstance('vmi-3', 'vm-3')], 'no'],
  [
    'of its machine may not, once it says that the claim ended',
    [ofVM, { ...aPod('vmi-1'), endedClaims: ['claim-0', 'claim-1'] }, anInstance('vmi-1', 'vm-1')],
    'no',
  ],
  [
    'of its machine may, where it says that another claim ended',
    [ofVM, { ...aPod('vmi-1'), endedClaims: ['claim-0'] }, anInstance('vmi-1', 'vm-1')],
    'yes',
  ],
  ['of another namespace may not', [ofVM, aPod('vmi-1', 'elsewhere'), anInstance('vmi-1', 'vm-1')], 'no'],
  ['of no instance may not', [ofVM, { ...aPod('vmi-1'), instance: undefined }, anInstance('vmi-1', 'vm-1')], 'no'],
  ['whose instance is not in view is not decided about', [ofVM, aPod('vmi-1'), undefined], 'not known yet'],
  [
    'whose instance in view is another is not decided about',
    [ofVM, aPod('vmi-1'), anInstance('vmi-2', 'vm-1')],
    'not known yet',
  ],
  ['may use a claim made by hand that no pod has', [aClaim(), aPod('vmi-1'), undefined], 'yes'],
  ['may use a claim made by hand that its own machine has', [aClaim(), aPod('vmi-1'), undefined, 'vmi-1'], 'yes'],
  ['may not use a claim made by hand that another machine has', [aClaim(), aPod('vmi-1'), undefined, 'vmi-2'], 'no'],
  ['of no virtual machine may use a claim made by hand', [aClaim(), plain('p-1'), undefined], 'yes'],
  ['of no virtual machine may not use one that another pod has', [aClaim(), plain('p-1'), undefined, 'p-2'], 'no'],
  ['may use the claim that was made for it', [aClaim(ofPod('p-1')), plain('p-1'), undefined], 'yes'],
  ['may not use the claim that was made for another pod', [aClaim(ofPod('p-2')), plain('p-1'), undefined], 'no'],
  ['of a virtual machine may not use the claim of a pod', [aClaim(ofPod('p-2')), aPod('vmi-1'), undefined], 'no'],
  ['may use a claim of the set that owns it', [aClaim(ofSet('s-1')), plain('p-1', ofSet('s-1')), undefined], 'yes'],
  ['may not use a claim of another set', [aClaim(ofSet('s-2')), plain('p-1', ofSet('s-1')), undefined], 'no'],
])('a pod %s', (_, facts, answer) => {
  expect(mayUse(...facts)).toBe(answer)
})

test('the owner of a claim is the one of KubeVirt that controls it', () => {
  const other = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd', uid: 'd-1', controller: true }
  const claim = aClaim(other, owner('VirtualMachineInstance', 'vmi-1', false), owner('VirtualMachine', 'vm-1'))
  expect(ownerOf(claim)).toEqual({
    ...{ apiGroup: 'kubevirt.io', kind: 'VirtualMachine', namespace: 'ns', name: 'a', uid: 'vm-1' },
  })
  expect(ownerOf(aClaim(other))).toBeUndefined()
})
