// Cards and what VMware Tools saw inside the guest, joined.

import { describe, expect, test } from 'vitest'
import { Faults } from './faults.ts'
import {
  noNetworks,
  toMachine,
  type VimCard,
  type VimGuestNIC,
  type VimMachine,
  type VimNetworks,
  type VimRoute,
} from './vim.ts'

const source = { kind: 'vsphere', from: 'vcenter.example' } as const

const card = (more: Partial<VimCard> = {}): VimCard => ({
  key: '4000',
  mac: '00:50:56:AA:BB:01',
  backing: { deviceName: 'VM Network' },
  ...more,
})

const guestNIC = (more: Partial<VimGuestNIC> = {}): VimGuestNIC => ({
  mac: '00:50:56:aa:bb:01',
  deviceConfigId: '4000',
  flat: [],
  dns: [],
  searchDomains: [],
  ...more,
})

const ip = (address: string, prefix = '24', origin = 'manual') => ({ address, prefix, origin })
const viaDefault = (gateway: string, device: string): VimRoute => ({
  network: gateway.includes(':') ? '::' : '0.0.0.0',
  prefix: '0',
  gateway,
  device,
})

function read(more: Partial<VimMachine>, networks: VimNetworks = noNetworks, routes: readonly VimRoute[] = []) {
  const faults = new Faults('vcenter.example')
  const stacks = [{ dns: [], searchDomains: [], routes }]
  const vm = { id: 'vm-1', name: 'web', powerState: 'poweredOn', cards: [card()], guestNICs: [], stacks, ...more }
  const machine = toMachine(vm, networks, source, faults)
  return { machine, nic: machine.nics[0], reasons: machine.notes.map(({ reason }) => reason), faults: faults.list }
}

describe('what a card is connected to', () => {
  const networks: VimNetworks = {
    byId: new Map([['network-7', 'VM Network']]),
    byPortgroupKey: new Map([['dvportgroup-12', { name: 'prod-vlan-10', vlan: 10 }]]),
    byOpaqueId: new Map([['9a8b', 'nsx-segment']]),
  }

  test('B10 of a distributed port group, the name is that of the group with the key', () => {
    const { nic } = read({ cards: [card({ backing: { portgroupKey: 'dvportgroup-12' } })] }, networks)
    expect(nic).toMatchObject({ network: 'prod-vlan-10', networkId: 'dvportgroup-12', vlan: 10 })
  })

  test('B11 of an opaque one, the name is that of the object with the id', () => {
    const { nic } = read({ cards: [card({ backing: { opaqueNetworkId: '9a8b' } })] }, networks)
    expect(nic).toMatchObject({ network: 'nsx-segment', networkId: '9a8b' })
  })

  test('of a standard one, the name is that of the object, or else what the device says', () => {
    const { nic } = read({ cards: [card({ backing: { network: 'network-7', deviceName: 'old name' } })] }, networks)
    expect(nic).toMatchObject({ network: 'VM Network', networkId: 'network-7' })
    expect(read({}, networks).nic?.network).toBe('VM Network')
  })

  test('a group that is not in the inventory is named as VMware Tools name it, or is noted', () => {
    const cards = [card({ backing: { portgroupKey: 'dvportgroup-99' } })]
    expect(read({ cards, guestNICs: [guestNIC({ network: 'prod' })] }, networks).nic?.network).toBe('prod')
    const { nic, reasons } = read({ cards }, networks)
    expect(nic?.network).toBeUndefined()
    expect(reasons).toEqual(['NetworkUnresolved'])
  })
})

describe('which interface of the guest is which card', () => {
  test('B12 a MAC in other letters is the same MAC', () => {
    const { nic, reasons } = read({ guestNICs: [guestNIC({ deviceConfigId: undefined, addresses: [ip('10.0.0.5')] })] })
    expect(nic?.mac).toBe('00:50:56:aa:bb:01')
    expect(nic?.ips).toHaveLength(1)
    expect(reasons).toEqual([])
  })

  test('B13 the key of the card decides, and another MAC in the guest is noted', () => {
    const { nic, reasons } = read({ guestNICs: [guestNIC({ mac: '02:00:00:00:00:01', addresses: [ip('10.0.0.5')] })] })
    expect(nic?.ips).toEqual([{ address: '10.0.0.5', prefix: 24, origin: 'manual' }])
    expect(reasons).toEqual(['MACMismatch'])
  })

  test('B13 an interface that names one card is not given to another with its MAC', () => {
    const cards = [card(), card({ key: '4001', mac: '00:50:56:aa:bb:02' })]
    const guestNICs = [guestNIC({ mac: '00:50:56:aa:bb:02', addresses: [ip('10.0.0.5')] })]
    expect(read({ cards, guestNICs }).machine.nics.map(({ ips }) => ips.length)).toEqual([1, 0])
  })

  test('B14 interfaces without a card are left out and hurt nothing', () => {
    const docker = guestNIC({ mac: '02:42:ac:11:00:01', deviceConfigId: '-1', addresses: [ip('172.17.0.1', '16')] })
    const loopback = guestNIC({ mac: undefined, deviceConfigId: undefined, addresses: [ip('127.0.0.1', '8')] })
    const { nic, reasons, faults } = read({ guestNICs: [docker, loopback, guestNIC({ addresses: [ip('10.0.0.5')] })] })
    expect(nic?.ips.map(({ address }) => address)).toEqual(['10.0.0.5'])
    expect([reasons, faults]).toEqual([[], []])
  })
})

describe('which addresses', () => {
  test('B15 a flat list is used where there is nothing better', () => {
    const { nic } = read({ guestNICs: [guestNIC({ flat: ['10.0.0.5', '2001:DB8::5'] })] })
    expect(nic?.ips).toEqual([{ address: '10.0.0.5' }, { address: '2001:db8::5' }])
  })

  test('B16 a prefix of 0, or one that no address of the family can have, is unknown', () => {
    const addresses = [ip('10.0.0.5', '0'), ip('10.0.0.6', '64'), ip('2001:db8::5', '64')]
    expect(read({ guestNICs: [guestNIC({ addresses })] }).nic?.ips.map(({ prefix }) => prefix)).toEqual([
      undefined,
      undefined,
      64,
    ])
  })

  test('B17 link-local addresses are dropped, with and without a zone', () => {
    const addresses = [ip('169.254.3.4', '16'), ip('fe80::1', '64'), ip('fe80::1%ens192', '64'), ip('10.0.0.5')]
    expect(read({ guestNICs: [guestNIC({ addresses })] }).nic?.ips).toHaveLength(1)
  })

  test('an address that is told twice, of an interface and of its bridge, is there once, as it was first told', () => {
    const guestNICs = [
      guestNIC({ addresses: [ip('10.0.0.5'), ip('10.0.0.6')] }),
      guestNIC({ addresses: [ip('10.0.0.5', '16', 'dhcp'), ip('10.0.0.7')] }),
    ]
    expect(read({ guestNICs }).nic?.ips).toMatchObject([
      { address: '10.0.0.5', prefix: 24, origin: 'manual' },
      { address: '10.0.0.6' },
      { address: '10.0.0.7' },
    ])
  })

  test('what a guest tells and cannot be read is left out: a guest may tell anything', () => {
    const { nic, faults } = read({ guestNICs: [guestNIC({ addresses: [ip('10.0.0.256'), ip('10.0.0.5')] })] })
    expect(nic?.ips).toHaveLength(1)
    expect(faults).toEqual([])
  })
})

describe('which gateway', () => {
  const cards = [card(), card({ key: '4001', mac: '00:50:56:aa:bb:02' })]
  const guestNICs = [
    guestNIC({ addresses: [ip('10.0.0.5')] }),
    guestNIC({ deviceConfigId: '4001', mac: '00:50:56:aa:bb:02', addresses: [ip('10.1.0.5')] }),
  ]

  test('B19 each card has the default route of its own interface', () => {
    const routes = [viaDefault('10.0.0.1', '0'), viaDefault('10.1.0.1', '1')]
    const { machine } = read({ cards, guestNICs }, noNetworks, routes)
    expect(machine.nics.map(({ gateways }) => gateways)).toEqual([
      [{ address: '10.0.0.1', origin: 'fixed' }],
      [{ address: '10.1.0.1', origin: 'fixed' }],
    ])
  })

  test('B19 the index counts interfaces of the guest, also those without a card', () => {
    const docker = guestNIC({ mac: '02:42:ac:11:00:01', deviceConfigId: undefined })
    const { machine } = read({ cards, guestNICs: [docker, ...guestNICs] }, noNetworks, [viaDefault('10.0.0.1', '1')])
    expect(machine.nics.map(({ gateways }) => gateways.length)).toEqual([1, 0])
  })

  test('B20 a gateway outside of the subnet is kept and noted', () => {
    const { nic, reasons } = read({ guestNICs }, noNetworks, [viaDefault('192.0.2.1', '0')])
    expect(nic?.gateways).toEqual([{ address: '192.0.2.1', origin: 'fixed' }])
    expect(reasons).toEqual(['GatewayOutsideSubnet'])
  })

  test('B20 where no prefix is known, nothing is said of a subnet', () => {
    const { reasons } = read({ guestNICs: [guestNIC({ flat: ['10.0.0.5'] })] }, noNetworks, [
      viaDefault('192.0.2.1', '0'),
    ])
    expect(reasons).toEqual([])
  })

  test('B22 a router that is known by its link-local address was advertised, and is no fixed gateway', () => {
    const v6 = [guestNIC({ addresses: [ip('2001:db8::5', '64')] })]
    const { nic, reasons } = read({ guestNICs: v6 }, noNetworks, [viaDefault('fe80::1', '0')])
    expect(nic?.gateways).toEqual([{ address: 'fe80::1', origin: 'router-advertised' }])
    expect(reasons).toEqual([])
  })

  test('other routes are told apart from default ones; what is on the link is none', () => {
    const routes: VimRoute[] = [
      { network: '192.168.0.0', prefix: '16', gateway: '10.0.0.2', device: '0' },
      { network: '10.0.0.0', prefix: '24', device: '0' },
      { network: '10.0.0.0', prefix: '24', gateway: '0.0.0.0', device: '0' },
    ]
    const { nic } = read({ guestNICs }, noNetworks, routes)
    expect(nic?.routes).toEqual([{ destination: '192.168.0.0/16', gateway: '10.0.0.2' }])
    expect(nic?.gateways).toEqual([])
  })
})

describe('the rest of a card', () => {
  test('B26 whether it is connected at the start is told; where it is not said, it is', () => {
    expect(read({ cards: [card({ startConnected: false })] }).nic?.startConnected).toBe(false)
    expect(read({}).nic?.startConnected).toBe(true)
  })

  test('a card without a MAC has none, and a machine that never ran is told', () => {
    const { nic, reasons } = read({ cards: [card({ mac: undefined })] })
    expect(nic && 'mac' in nic).toBe(false)
    expect(reasons).toEqual(['MACMissing'])
  })

  test('a MAC that is none is a fault with machine and card', () => {
    expect(read({ cards: [card({ mac: '00:50:56' })] }).faults).toEqual([
      {
        where: 'vcenter.example, machine web, card 4000, macAddress',
        problem: expect.stringContaining('"00:50:56" is not a MAC address'),
      },
    ])
  })

  test('name servers are those of the interface, or else of the whole guest', () => {
    const stacks = [{ dns: ['10.0.0.53'], searchDomains: ['example'], routes: [] }]
    const own = read({ stacks, guestNICs: [guestNIC({ dns: ['10.0.0.54'], searchDomains: ['own'] })] })
    expect([own.nic?.dns, own.nic?.searchDomains]).toEqual([['10.0.0.54'], ['own']])
    const whole = read({ stacks, guestNICs: [guestNIC()] })
    expect([whole.nic?.dns, whole.nic?.searchDomains]).toEqual([['10.0.0.53'], ['example']])
  })

  test('a machine says what its addresses rest on, and whether the tools run', () => {
    const { machine } = read({ powerState: 'poweredOff', toolsRunningStatus: 'guestToolsNotRunning' })
    expect(machine).toMatchObject({ powerState: 'off', addressesFrom: 'none', isAgentRunning: false })
    const on = read({ guestNICs: [guestNIC({ flat: ['10.0.0.5'] })], toolsRunningStatus: 'guestToolsRunning' })
    expect(on.machine).toMatchObject({ powerState: 'on', addressesFrom: 'guest-agent', isAgentRunning: true })
  })

  test('SR-IOV is noted', () => {
    expect(read({ cards: [card({ type: 'VirtualSriovEthernetCard' })] }).reasons).toEqual(['SRIOV'])
  })
})
