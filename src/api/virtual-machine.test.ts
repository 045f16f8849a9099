import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { isMalformed } from '../ip/malformed.ts'
import { parseVirtualMachine, parseVirtualMachineInstance } from './virtual-machine.ts'

const spec = {
  domain: {
    devices: {
      interfaces: [
        { name: 'second', macAddress: '02-00-00-00-00-01', bridge: {} },
        { name: 'podnet', masquerade: {} },
        { name: 'gone', state: 'absent' },
      ],
    },
  },
  networks: [
    { name: 'podnet', pod: {} },
    { name: 'second', multus: { networkName: 'blue' } },
    { name: 'gone', multus: { networkName: 'other/red' } },
    { name: 'main', multus: { networkName: 'green', default: true } },
    { name: 'strange' },
  ],
}
const metadata = { name: 'vm1', namespace: 'lab', uid: 'u-1' }

const interfaces = [
  { name: 'podnet', attachment: undefined, isDefault: false, mac: '', isAbsent: false },
  { name: 'second', attachment: 'lab/blue', isDefault: false, mac: '02-00-00-00-00-01', isAbsent: false },
  { name: 'gone', attachment: 'other/red', isDefault: false, mac: '', isAbsent: true },
  { name: 'main', attachment: 'lab/green', isDefault: true, mac: '', isAbsent: false },
]

describe('a virtual machine', () => {
  test('has the interfaces of its template, in the order of its networks', () => {
    const vm = orThrow(parseVirtualMachine({ kind: 'VirtualMachine', metadata, spec: { template: { spec } } }))
    expect(vm.interfaces).toEqual(interfaces)
    expect(vm.shown).toBeUndefined()
  })

  test('without a template has none', () => {
    expect(orThrow(parseVirtualMachine({ metadata, spec: {} })).interfaces).toEqual([])
  })

  test('shows what its annotation says', () => {
    const annotations = { 'mooring.dev/network-interfaces': '[]' }
    expect(orThrow(parseVirtualMachine({ metadata: { ...metadata, annotations } })).shown).toBe('[]')
  })

  test('whose network names no NetworkAttachmentDefinition cannot be read', () => {
    const wrong = { networks: [{ name: 'a', multus: {} }] }
    const vm = parseVirtualMachine({ metadata, spec: { template: { spec: wrong } } })
    expect(isMalformed(vm) && vm.malformed).toMatch(
      /spec\.template\.spec\.networks\[0\]\.multus\.networkName is missing/,
    )
  })
})

test('an instance has the interfaces of its spec, its phase, its node and the pods of its status', () => {
  const status = { phase: 'Running', nodeName: 'node-1', activePods: { 'pod-1': 'node-1', 'pod-2': 'node-2' } }
  expect(orThrow(parseVirtualMachineInstance({ metadata, spec, status }))).toMatchObject({
    interfaces,
    phase: 'Running',
    nodeName: 'node-1',
    activePods: ['pod-1', 'pod-2'],
    isDeleting: false,
  })
})
