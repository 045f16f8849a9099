import { expect, test } from 'vitest'
import { readOVF } from './ovf.ts'

const rasd = 'http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData'

const envelope = (inside: string): string => `<?xml version="1.0" encoding="UTF-8"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"
  xmlns:r="${rasd}" xmlns:vmw="http://www.vmware.com/schema/ovf">
  <NetworkSection><Info>n</Info><Network ovf:name="VM Network"><Description>d</Description></Network></NetworkSection>
  ${inside}
</Envelope>`

const system = (items: string): string => `<VirtualSystem ovf:id="web-id"><Info>i</Info><Name>web</Name>
  <OperatingSystemSection ovf:id="80" vmw:osType="rhel8_64Guest"><Info/><Description>RHEL 8</Description></OperatingSystemSection>
  <VirtualHardwareSection><Info/>
    <Item><r:InstanceID>3</r:InstanceID><r:ResourceType>17</r:ResourceType></Item>${items}
  </VirtualHardwareSection></VirtualSystem>`

const card = (more = ''): string => `<Item><r:AutomaticAllocation>true</r:AutomaticAllocation>
  <r:Connection>VM Network</r:Connection><r:ElementName>Ethernet 1</r:ElementName><r:InstanceID>7</r:InstanceID>
  <r:ResourceSubType>VmxNet3</r:ResourceSubType><r:ResourceType>10</r:ResourceType>${more}</Item>`

const read = (inside: string) => readOVF({ name: 'web.ovf', text: envelope(inside) })

test('a card is read with its network, model and MAC, whatever the prefixes', () => {
  const { machines, faults } = read(system(card('<r:Address>00:50:56:AA:BB:01</r:Address>')))
  expect(faults).toEqual([])
  expect(machines).toMatchObject([
    {
      id: 'web-id',
      name: 'web',
      guestId: 'rhel8_64Guest',
      addressesFrom: 'none',
      notes: [],
      nics: [
        {
          key: '7',
          label: 'Ethernet 1',
          network: 'VM Network',
          model: 'vmxnet3',
          mac: '00:50:56:aa:bb:01',
          startConnected: true,
        },
      ],
    },
  ])
})

test.each(['', '<r:Address/>', '<r:Address> </r:Address>'])('B38 a card without an address has no MAC: %j', address => {
  const { machines, faults } = read(system(card(address)))
  const [nic] = machines[0]?.nics ?? []
  expect(nic !== undefined && 'mac' in nic).toBe(false)
  expect(machines[0]?.notes.map(({ reason }) => reason)).toEqual(['MACMissing'])
  expect(faults).toEqual([])
})

test('cards of OVF 2, and machines in collections, are read too', () => {
  const port =
    '<EthernetPortItem><r:InstanceID>9</r:InstanceID><r:AutomaticAllocation>false</r:AutomaticAllocation></EthernetPortItem>'
  const { machines } = read(
    `<VirtualSystemCollection ovf:id="all"><Info/>${system(port)}${system('')}</VirtualSystemCollection>`,
  )
  expect(machines.map(({ nics }) => nics.map(({ key, startConnected }) => [key, startConnected]))).toEqual([
    [['9', false]],
    [],
  ])
})

test.each([
  ['<!DOCTYPE a [<!ENTITY b "c">]><Envelope/>', 'web.ovf, line 1, column', 'a document type is not allowed here'],
  ['<Envelope><VirtualSystem>', 'web.ovf, line 1, column', 'unclosed tag'],
  ['<Envelope/>', 'web.ovf', 'it describes no VirtualSystem'],
  ['<domain/>', 'web.ovf', 'no Envelope of OVF'],
  ['<Envelope><VirtualSystem/></Envelope>', 'web.ovf, line 1', 'neither a Name nor an id'],
])('%j is refused with its place', (text, where, problem) => {
  const { faults } = readOVF({ name: 'web.ovf', text })
  expect(faults).toHaveLength(1)
  expect(faults[0]?.where).toContain(where)
  expect(faults[0]?.problem).toContain(problem)
})

test('a MAC that is none is told with its line', () => {
  const [fault] = read(system(card('<r:Address>auto</r:Address>'))).faults
  expect(fault?.where).toBe('web.ovf, line 8, rasd:Address of Ethernet 1')
})
