// Machines from a server that answers by hand, in the ways that real ones do and the simulator does not.

import { afterEach, expect, test } from 'vitest'
import { answered, type Script, startScriptedVCenter, usual } from '../../test/harness/scripted-vcenter.ts'
import { VirtualClock } from '../../test/harness/virtual-clock.ts'
import { connectVSphere } from '../vsphere/client.ts'
import { readVSphere } from './vsphere.ts'

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** Of each type, what the server has. */
async function readFrom(objects: Readonly<Record<string, string>>) {
  const script: Script = (asked, past) => {
    if (asked.method !== 'RetrievePropertiesEx') return usual(asked, past)
    const [, type = ''] = /<propSet><type>(\w+)</.exec(asked.body) ?? []
    return answered(asked.method, `<returnval>${objects[type] ?? ''}</returnval>`)
  }
  const server = await startScriptedVCenter(script)
  ends.push(() => server.close())
  const { url, ca } = server
  const client = await connectVSphere({
    url,
    ca,
    userName: 'u',
    password: 'p',
    clock: new VirtualClock(),
    random: () => 0,
  })
  ends.push(() => client.close())
  return readVSphere(client, { asOf: '2030-01-01T00:00:00Z' })
}

const property = (name: string, value: string): string =>
  `<propSet><name>${name}</name><val xmlns:q="http://www.w3.org/2001/XMLSchema-instance" q:type="T">${value}</val></propSet>`

const object = (type: string, id: string, ...properties: readonly string[]): string =>
  `<objects><obj type="${type}">${id}</obj>${properties.join('')}</objects>`

const device = (backing: string): string =>
  property(
    'config.hardware.device',
    '<VirtualDevice xmlns:q="http://www.w3.org/2001/XMLSchema-instance" q:type="VirtualDisk"><key>2000</key></VirtualDevice>' +
      '<VirtualDevice xmlns:q="http://www.w3.org/2001/XMLSchema-instance" q:type="VirtualVmxnet3"><key>4000</key>' +
      `<deviceInfo><label>Network adapter 1</label><summary>DVSwitch: 50 0e</summary></deviceInfo>${backing}` +
      '<connectable><startConnected>false</startConnected></connectable>' +
      '<addressType>assigned</addressType><macAddress>00:50:56:AA:BB:01</macAddress></VirtualDevice>',
  )

test('B10 a port group is named by its key, and its VLAN is told; the summary of the device is never its name', async () => {
  const { machines } = await readFrom({
    VirtualMachine: object(
      'VirtualMachine',
      'vm-1',
      property('name', 'web'),
      device('<backing><port><portgroupKey>dvportgroup-12</portgroupKey></port></backing>'),
    ),
    DistributedVirtualPortgroup: object(
      'DistributedVirtualPortgroup',
      'dvportgroup-12',
      property('name', 'prod'),
      property('key', 'dvportgroup-12'),
      property('config.defaultPortConfig', '<vlan><vlanId>10</vlanId></vlan>'),
    ),
  })
  expect(machines).toMatchObject([
    {
      source: { kind: 'vsphere', asOf: '2030-01-01T00:00:00Z' },
      id: 'vm-1',
      name: 'web',
      nics: [
        { key: '4000', label: 'Network adapter 1', network: 'prod', vlan: 10, model: 'vmxnet3', startConnected: false },
      ],
    },
  ])
})

test('B10 the range of a trunk is no VLAN of a card', async () => {
  const { machines } = await readFrom({
    VirtualMachine: object(
      'VirtualMachine',
      'vm-1',
      property('name', 'web'),
      device('<backing><port><portgroupKey>k</portgroupKey></port></backing>'),
    ),
    DistributedVirtualPortgroup: object(
      'DistributedVirtualPortgroup',
      'dvportgroup-1',
      property('name', 'trunk'),
      property('key', 'k'),
      property('config.defaultPortConfig', '<vlan><vlanId><start>1</start><end>9</end></vlanId></vlan>'),
    ),
  })
  expect(machines[0]?.nics[0]?.network).toBe('trunk')
  expect(machines[0]?.nics[0]?.vlan).toBeUndefined()
})

test('B11 an opaque network of NSX is named by the object with its id', async () => {
  const { machines } = await readFrom({
    VirtualMachine: object(
      'VirtualMachine',
      'vm-1',
      property('name', 'web'),
      device('<backing><opaqueNetworkId>9a8b</opaqueNetworkId></backing>'),
    ),
    OpaqueNetwork: object(
      'OpaqueNetwork',
      'network-o1',
      property('name', 'segment'),
      property('summary', '<opaqueNetworkId>9a8b</opaqueNetworkId>'),
    ),
  })
  expect(machines[0]?.nics[0]?.network).toBe('segment')
})

test('B24 templates, and machines without hardware, are left out by name', async () => {
  const { machines, leftOut, faults } = await readFrom({
    VirtualMachine:
      object('VirtualMachine', 'vm-1', property('name', 'golden'), property('config.template', 'true'), device('')) +
      object('VirtualMachine', 'vm-2', property('name', 'lost')),
  })
  expect([machines, faults]).toEqual([[], []])
  expect(leftOut).toEqual([
    { name: 'golden', reason: 'Template' },
    { name: 'lost', reason: 'NoHardware' },
  ])
})

test('what the user may not read is a fault with its cure, not a machine without cards', async () => {
  const { machines, faults } = await readFrom({
    VirtualMachine: `<objects><obj type="VirtualMachine">vm-1</obj>${property('name', 'web')}<missingSet>
      <path>config.hardware.device</path><fault><fault xmlns:q="http://www.w3.org/2001/XMLSchema-instance" q:type="NoPermission"/>
      </fault></missingSet></objects>`,
  })
  expect(machines).toEqual([])
  expect(faults[0]?.where).toMatch(/^127.0.0.1:\d+, machine web$/)
  expect(faults[0]?.problem).toBe(
    'the user may not read config.hardware.device (NoPermission): give it the role Read-only on the machine',
  )
})
