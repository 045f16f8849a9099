import { expect, test } from 'vitest'
import type { JSONObject, JSONValue } from '../json.ts'
import { readGovc } from './govc.ts'

const read = (value: unknown) => readGovc({ name: 'vms.json', text: JSON.stringify(value) })

const device = (more: JSONObject = {}): JSONObject => ({
  key: 4000,
  deviceInfo: { label: 'Network adapter 1', summary: 'DVSwitch: 50 0e' },
  backing: { port: { portgroupKey: 'dvportgroup-12' } },
  connectable: { startConnected: true },
  addressType: 'assigned',
  macAddress: '00:50:56:AA:BB:01',
  ...more,
})

const vm = (config: JSONObject = {}): JSONObject => ({
  self: { type: 'VirtualMachine', value: 'vm-1' },
  name: 'web',
  config: { guestId: 'rhel8_64Guest', hardware: { device: [{ key: 2000, capacityInKB: 1 }, device()] }, ...config },
  guest: {
    hostName: 'web.example',
    toolsRunningStatus: 'guestToolsRunning',
    net: [
      {
        network: 'prod',
        macAddress: '00:50:56:aa:bb:01',
        deviceConfigId: 4000,
        ipAddress: ['10.0.0.5'],
        dnsConfig: { ipAddress: ['10.0.0.53'], searchDomain: ['example'] },
        ipConfig: { ipAddress: [{ ipAddress: '10.0.0.5', prefixLength: 24, origin: 'manual', state: 'preferred' }] },
      },
    ],
    ipStack: [
      {
        ipRouteConfig: {
          ipRoute: [{ network: '0.0.0.0', prefixLength: 0, gateway: { ipAddress: '10.0.0.1', device: '0' } }],
        },
      },
    ],
  },
  runtime: { powerState: 'poweredOn' },
})

/** As releases before 0.31 wrote it. */
function inPascalCase(value: JSONValue): JSONValue {
  if (Array.isArray(value)) return value.map(inPascalCase)
  if (typeof value !== 'object' || value === null) return value
  const pascal = (key: string): string => key.charAt(0).toUpperCase() + key.slice(1)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [pascal(key), inPascalCase(item ?? null)]))
}

test('B35 both spellings of its fields say the same', () => {
  const document = { virtualMachines: [vm()] }
  const { machines, faults } = read(document)
  expect(faults).toEqual([])
  expect(machines).toMatchObject([
    {
      id: 'vm-1',
      name: 'web',
      hostName: 'web.example',
      guestId: 'rhel8_64Guest',
      powerState: 'on',
      isAgentRunning: true,
      nics: [
        {
          key: '4000',
          mac: '00:50:56:aa:bb:01',
          network: 'prod',
          networkId: 'dvportgroup-12',
          ips: [{ address: '10.0.0.5', prefix: 24, origin: 'manual' }],
          gateways: [{ address: '10.0.0.1', origin: 'fixed' }],
          dns: ['10.0.0.53'],
          searchDomains: ['example'],
        },
      ],
    },
  ])
  expect(read(inPascalCase(document)).machines).toEqual(machines)
})

test('B36 a card is what has a MAC, since types are not told', () => {
  const disk = { key: 2000, backing: { fileName: '[ds] web.vmdk' } }
  const { machines } = read({
    virtualMachines: [vm({ hardware: { device: [disk, device({ key: 4001 }), { key: 200 }] } })],
  })
  expect(machines[0]?.nics.map(({ key }) => key)).toEqual(['4001'])
})

test('B24 templates, and machines whose hardware is not told, are left out', () => {
  const { machines, leftOut } = read({ virtualMachines: [vm({ template: true }), { name: 'lost', config: null }] })
  expect(machines).toEqual([])
  expect(leftOut).toEqual([
    { name: 'web', reason: 'Template' },
    { name: 'lost', reason: 'NoHardware' },
  ])
})

test('no machine found is no fault', () => {
  expect(read({ virtualMachines: null })).toEqual({ machines: [], leftOut: [], faults: [] })
})

test.each([
  ['{"virtualMachines": [}', 'vms.json, line 1, column 22', 'it is not JSON'],
  ['{\n  "virtualMachines": [\n    {"name": "a",}\n', 'vms.json, line 3, column 18', 'it is not JSON'],
  ['{"virtualMachines": [{}]}', 'vms.json, virtualMachines[0]', 'it has no name'],
  ['{"devices": []}', 'vms.json', 'it has no virtualMachines: write it with "govc vm.info -json NAME..."'],
  ['[]', 'vms.json', 'it has no virtualMachines'],
])('%j is refused with its place', (text, where, problem) => {
  const { faults } = readGovc({ name: 'vms.json', text })
  expect(faults).toHaveLength(1)
  expect(faults[0]?.where).toBe(where)
  expect(faults[0]?.problem).toContain(problem)
})
