import { expect, test } from 'vitest'
import { readHyperV } from './hyperv.ts'

const vmId = '6D5B0A52-1111-2222-3333-444455556666'
const adapterId = '0A1B2C3D-AAAA-BBBB-CCCC-DDDDEEEEFFFF'
const adapter = {
  VMName: 'web',
  VMId: vmId,
  Id: `Microsoft:${vmId}\\${adapterId}`,
  Name: 'Network Adapter',
  MacAddress: '00155D010101',
  SwitchName: 'External',
  Connected: true,
  IPAddresses: ['10.0.0.5', 'fe80::1'],
  VlanSetting: { AccessVlanId: 100 },
}
const configuration = {
  InstanceID: `Microsoft:GuestNetwork\\${vmId.toLowerCase()}\\${adapterId.toLowerCase()}`,
  DHCPEnabled: false,
  IPAddresses: ['10.0.0.5', 'fe80::1', '2001:db8::5'],
  Subnets: ['255.255.255.0', '64', '/64'],
  DefaultGateways: ['10.0.0.1', 'fe80::9'],
  DNSServers: ['10.0.0.53'],
}

const read = (...values: readonly unknown[]) =>
  readHyperV(values.map((value, i) => ({ name: `${i}.json`, text: JSON.stringify(value) })))

test.each([
  ['alone', adapter],
  ['in a list', [adapter]],
])('B40 a MAC without separators is read; an adapter may stand %s', (_, value) => {
  const { machines, faults } = read(value)
  expect(faults).toEqual([])
  expect(machines).toMatchObject([
    {
      id: vmId,
      name: 'web',
      addressesFrom: 'guest-agent',
      nics: [
        { mac: '00:15:5d:01:01:01', network: 'External', vlan: 100, ips: [{ address: '10.0.0.5' }], gateways: [] },
      ],
    },
  ])
})

test('B40 a MAC of zeros is none yet', () => {
  const { machines } = read({ ...adapter, MacAddress: '000000000000' })
  expect(machines[0]?.nics[0]?.mac).toBeUndefined()
  expect(machines[0]?.notes.map(({ reason }) => reason)).toEqual(['MACMissing'])
})

test('what the guest tells of its configuration is joined by the ids of machine and adapter', () => {
  const { machines, faults } = read([adapter], [configuration])
  expect(faults).toEqual([])
  expect(machines[0]?.nics[0]).toMatchObject({
    ips: [
      { address: '10.0.0.5', prefix: 24, origin: 'manual' },
      { address: '2001:db8::5', prefix: 64, origin: 'manual' },
    ],
    gateways: [
      { address: '10.0.0.1', origin: 'fixed' },
      { address: 'fe80::9', origin: 'router-advertised' },
    ],
    dns: ['10.0.0.53'],
  })
})

test('a mask that is none is told, not guessed', () => {
  const { faults } = read([adapter], [{ ...configuration, IPAddresses: ['10.0.0.5'], Subnets: ['255.0.255.0'] }])
  expect(faults).toEqual([{ where: '1.json, [0].Subnets[0]', problem: expect.stringContaining('is not a mask') }])
})

test('csv of PowerShell is read, with its line about the class', () => {
  const text =
    '#TYPE Selected.VMNetworkAdapter\r\n"VMName","MacAddress","SwitchName","Connected","IPAddresses"\r\n"web","00155D010101","External","False","10.0.0.5,10.0.0.6"\r\n'
  const { machines, faults } = readHyperV([{ name: 'a.csv', text }])
  expect(faults).toEqual([])
  expect(machines[0]).toMatchObject({
    id: 'web',
    nics: [
      { mac: '00:15:5d:01:01:01', startConnected: false, ips: [{ address: '10.0.0.5' }, { address: '10.0.0.6' }] },
    ],
  })
})

test('csv in which the addresses were lost is refused with what to type', () => {
  const text = 'VMName,MacAddress,IPAddresses\nweb,00155D010101,System.String[]\n'
  expect(readHyperV([{ name: 'a.csv', text }]).faults).toEqual([
    { where: 'a.csv, line 2.IPAddresses', problem: expect.stringContaining("-join ','") },
  ])
})

test('adapters of the host itself are no machine; an adapter without a machine is a fault', () => {
  expect(read({ ...adapter, VMName: null, IsManagementOs: true })).toEqual({ machines: [], leftOut: [], faults: [] })
  expect(read({ MacAddress: '00155D010101' }).faults[0]?.where).toBe('0.json, [0].VMName')
})
