// What is to be done next about the virtual machine of a Machine, as a table.

import { describe, expect, test } from 'vitest'
import type { Machine } from '../../../api/machine.ts'
import { kargsKey } from '../../../kargs/print.ts'
import { toRef } from '../../../vsphere/value.ts'
import type { VirtualMachine } from '../../../vsphere/virtual-machine.ts'
import { decideMaking, decideUnmaking, reportedFact, reportOf, type SeenToMake } from './plan.ts'

const mac = '00:50:56:00:00:01'
const kargs = 'ip=192.0.2.5:::255.255.255.0:::none'
const device = { field: 'devices[0]', ipAddrs: ['192.0.2.5/24'] }
const told = new Map([
  ['guestinfo.hostname', 'm'],
  [kargsKey, kargs],
])

const aVM = (more: Partial<VirtualMachine> = {}): VirtualMachine => ({
  ref: toRef('VirtualMachine', 'vm-1'),
  name: 'm',
  instanceUuid: 'u',
  uuid: 'b',
  powerState: 'poweredOff',
  isConnected: true,
  extraConfig: told,
  cards: [{ key: '4000', type: 'VirtualVmxnet3', mac }],
  disks: [],
  guestIPs: [],
  ...more,
})

const aMachine = (status: Partial<Machine['providerStatus']> = {}, phase = 'Provisioning') => ({
  metadata: { name: 'm', uid: 'u' } as Machine['metadata'],
  phase,
  providerStatus: { instanceId: '', instanceState: '', taskRef: '', cloneOrderedAt: '', conditions: [], ...status },
})

const seen = (more: Partial<SeenToMake> = {}): SeenToMake => ({
  machine: aMachine(),
  vm: undefined,
  task: { kind: 'none' },
  mayCome: false,
  nameTakenBy: undefined,
  devices: [device],
  missingTags: [],
  settings: { 'guestinfo.hostname': 'm' },
  ...more,
})

const ordered = aMachine({ cloneOrderedAt: '2030-01-01T00:00:00Z' })
const failed = { kind: 'failed', why: 'no room' } as const

describe('decideMaking', () => {
  test.each<[string, Partial<SeenToMake>, string]>([
    ['nothing is there and the name is free', {}, 'order'],
    ['something else has the name', { nameTakenBy: 'a Folder' }, 'refuse NameTaken'],
    ['the clone runs', { machine: ordered, task: { kind: 'runs' } }, 'wait'],
    ['the clone failed', { machine: ordered, task: failed }, 'forget TaskFailed'],
    ['the answer was lost', { machine: ordered, mayCome: true }, 'wait OrderUnanswered'],
    ['the order never arrived', { machine: ordered }, 'forget'],
    [
      'the task ended, and what it made is gone',
      { machine: aMachine({ taskRef: 't' }), task: { kind: 'ended' } },
      'forget',
    ],
    ['it was seen before and is gone', { machine: aMachine({ instanceId: 'u' }) }, 'refuse InstanceMissing'],
    ['it is off and told', { vm: aVM() }, 'power on'],
    ['it is not told its address', { vm: aVM({ extraConfig: new Map() }) }, 'tell'],
    ['it was told another address', { vm: aVM({ extraConfig: new Map([...told, [kargsKey, 'ip=dhcp']]) }) }, 'tell'],
    ['a task runs', { vm: aVM(), task: { kind: 'runs' } }, 'wait'],
    ['a task failed', { vm: aVM(), task: failed }, 'forget TaskFailed'],
    ['its host is away', { vm: aVM({ isConnected: false }) }, 'wait HostUnreachable'],
    ['it has a device too few', { vm: aVM({ cards: [] }) }, 'refuse InvalidNetworkCount'],
    ['it runs', { vm: aVM({ powerState: 'poweredOn' }) }, 'report'],
    ['it has not all of its tags', { vm: aVM({ extraConfig: new Map() }), missingTags: ['t'] }, 'tag'],
    ['it runs before it has its tags', { vm: aVM({ powerState: 'poweredOn' }), missingTags: ['t'] }, 'tag'],
    ['it is being made', { vm: aVM(), task: { kind: 'runs' }, missingTags: ['t'] }, 'wait'],
    ['a user powered it off', { vm: aVM(), machine: aMachine({}, 'Provisioned') }, 'report'],
    [
      'several devices have addresses and no MACs yet',
      {
        devices: [device, { ...device, field: 'devices[1]' }],
        vm: aVM({ cards: [4000, 4001].map(key => ({ key: `${key}`, type: 'VirtualVmxnet3', mac: '' })) }),
      },
      'wait WaitingForMAC',
    ],
  ])('where %s', (_, more, expected) => {
    const step = decideMaking(seen(more))
    const why = 'why' in step ? step.why?.reason : undefined
    expect([step.do, why].filter(Boolean).join(' ')).toBe(expected)
  })

  test('tells only what is missing', () => {
    const step = decideMaking(seen({ vm: aVM({ extraConfig: new Map([['guestinfo.hostname', 'm']]) }) }))
    expect(step).toEqual({ do: 'tell', settings: { [kargsKey]: kargs } })
  })
})

describe('decideUnmaking', () => {
  test.each<[string, Partial<SeenToMake>, string]>([
    ['nothing is there', {}, 'release'],
    ['a clone may still come', { machine: ordered, mayCome: true }, 'wait'],
    ['the clone runs', { machine: ordered, task: { kind: 'runs' } }, 'wait'],
    ['the clone failed', { machine: ordered, task: failed }, 'release'],
    ['it runs', { vm: aVM({ powerState: 'poweredOn' }) }, 'power off'],
    ['it is suspended', { vm: aVM({ powerState: 'suspended' }) }, 'power off'],
    ['it is off', { vm: aVM() }, 'destroy'],
    ['a task of it runs', { vm: aVM(), task: { kind: 'runs' } }, 'wait'],
    ['it could not be destroyed', { vm: aVM(), task: failed }, 'forget'],
  ])('where %s', (_, more, expected) => {
    expect(decideUnmaking(seen(more)).do).toBe(expected)
  })
})

describe('reportOf', () => {
  const guest = (...guestIPs: string[]) => reportOf(aVM({ guestIPs }), [device])

  test('misses what the guest does not have, in whichever notation it writes it', () => {
    expect(guest('192.0.2.5', 'fe80::1').missing).toEqual([])
    expect(guest('10.0.0.1').missing).toEqual(['192.0.2.5'])
    expect(guest().missing).toEqual([])
    const six = reportOf(aVM({ guestIPs: ['2001:0DB8::0005'] }), [{ field: 'd', ipAddrs: ['2001:db8::5/64'] }])
    expect(six.missing).toEqual([])
  })

  test('is bounded, however many addresses a guest reports', () => {
    const many = Array.from({ length: 5_000 }, (_, i) => `10.0.${i >> 8}.${i & 255}`)
    expect(guest(...many).addresses).toHaveLength(101)
  })

  test('complains only after a while', () => {
    expect(reportedFact(guest('10.0.0.1'), false)).toBeUndefined()
    expect(reportedFact(guest('10.0.0.1'), true)).toMatchObject({ status: 'False', reason: 'AddressMismatch' })
    expect(reportedFact(guest('192.0.2.5'), false)).toMatchObject({ status: 'True' })
  })
})
