import { expect, test } from 'vitest'
import { readVMX } from './vmx.ts'

const read = (lines: readonly string[], name = 'web.vmx') =>
  readVMX({
    name,
    text: ['.encoding = "UTF-8"', 'displayName = "web"', 'guestOS = "rhel8-64"', ...lines, ''].join('\r\n'),
  })

const nic = (...lines: readonly string[]) => read(['ethernet0.present = "TRUE"', ...lines]).machines[0]?.nics[0]

test.each([
  ['static', 'address', '00:50:56:00:00:01'],
  ['generated', 'generatedAddress', '00:0c:29:00:00:02'],
  ['vpx', 'generatedAddress', '00:0c:29:00:00:02'],
])('B37 the MAC of type %s is in %s', (type, _, mac) => {
  const card = nic(
    `ethernet0.addressType = "${type}"`,
    'ethernet0.address = "00:50:56:00:00:01"',
    'ethernet0.generatedAddress = "00:0C:29:00:00:02"',
  )
  expect(card?.mac).toBe(mac)
})

test('B37 without a type the MAC was generated', () => {
  expect(nic('ethernet0.generatedAddress = "00:0c:29:00:00:02"')?.mac).toBe('00:0c:29:00:00:02')
})

test('keys are read in any case; a card that was taken out is none; cards come in the order of their numbers', () => {
  const { machines, faults } = read([
    'Ethernet10.Present = "true"',
    'ethernet10.networkName = "b"',
    'ethernet2.present = "TRUE"',
    'ethernet2.networkname = "a"',
    'ethernet2.startConnected = "FALSE"',
    'ethernet2.virtualDev = "Vmxnet3"',
    'ethernet3.present = "FALSE"',
    'ethernet4.pciSlotNumber = "33"',
    '# a comment',
  ])
  expect(faults).toEqual([])
  expect(machines[0]?.nics).toMatchObject([
    { key: 'ethernet2', network: 'a', startConnected: false, model: 'vmxnet3' },
    { key: 'ethernet10', network: 'b', startConnected: true },
  ])
  expect(machines[0]).toMatchObject({ id: 'web', guestId: 'rhel8-64', powerState: 'unknown', addressesFrom: 'none' })
})

test('a distributed port group is known by its id only, and that is noted', () => {
  const { machines } = read(['ethernet0.present = "TRUE"', 'ethernet0.dvs.portgroupId = "dvportgroup-12"'])
  expect(machines[0]?.nics[0]).toMatchObject({ networkId: 'dvportgroup-12' })
  expect(machines[0]?.notes.map(({ reason }) => reason)).toEqual(['MACMissing', 'NetworkUnresolved'])
})

test('what is escaped in a value is read', () => {
  expect(readVMX({ name: 'a.vmx', text: 'displayName = "a |22quoted|22 name"' }).machines[0]?.name).toBe(
    'a "quoted" name',
  )
})

test('the settings of a template are left out', () => {
  expect(read([], 'golden.vmtx').leftOut).toEqual([{ name: 'web', reason: 'Template' }])
})

test.each([
  [['ethernet0.present = TRUE'], 'web.vmx, line 4', 'it is no setting: write key = "value"'],
  [['a = "1"', 'A = "2"'], 'web.vmx, line 5', 'A is there a second time with another value'],
  [
    ['ethernet0.present = "TRUE"', 'ethernet0.generatedAddress = "00:0c"'],
    'web.vmx, ethernet0.generatedAddress',
    'is not a MAC',
  ],
])('%j is refused with its place', (lines, where, problem) => {
  const { faults } = read(lines)
  expect(faults).toHaveLength(1)
  expect(faults[0]?.where).toBe(where)
  expect(faults[0]?.problem).toContain(problem)
})

test('a file of another kind is refused', () => {
  expect(readVMX({ name: 'a.vmx', text: '' }).faults[0]?.problem).toContain('it has no displayName')
  expect(readVMX({ name: 'a.vmx', text: 'KDMV\u0000\u0001'.repeat(50).split('').join('\n') }).machines).toEqual([])
})
