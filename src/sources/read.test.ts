import { expect, test } from 'vitest'
import { decodeFile, readFiles } from './read.ts'

const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le')

test('text is read in UTF-8, and in UTF-16 as PowerShell writes it', () => {
  expect(decodeFile('a', Buffer.from('\ufeffä'))).toEqual({ text: 'ä' })
  expect(decodeFile('a', utf16('ä'))).toEqual({ text: 'ä' })
  expect(decodeFile('a', utf16('ä').swap16())).toEqual({ text: 'ä' })
})

test.each([
  ['a workbook', Buffer.from('PK\u0003\u0004'), 'export it as csv'],
  [
    'an appliance in one file',
    Buffer.concat([Buffer.alloc(257), Buffer.from('ustar')]),
    'take the .ovf file out of it',
  ],
  ['bytes of no encoding', Buffer.from([0x61, 0xff]), 'save it again as UTF-8'],
])('%s is refused with what to do', (_, bytes, problem) => {
  expect(decodeFile('a.ova', bytes)).toEqual({ fault: { where: 'a.ova', problem: expect.stringContaining(problem) } })
})

const vmx = (name: string, file = `${name}.vmx`) => ({ name: file, text: `displayName = "${name}"` })

test('files of one kind are read together', () => {
  expect(readFiles('vmx', [vmx('a'), vmx('b')])).toMatchObject({ machines: [{ name: 'a' }, { name: 'b' }], faults: [] })
})

test('a machine that is given twice is told, with both files', () => {
  expect(readFiles('vmx', [vmx('a'), vmx('a', 'copy.vmx')]).faults).toEqual([
    { where: 'copy.vmx', problem: expect.stringContaining('the machine "a" ("a") is there twice, first in "a.vmx"') },
  ])
})

test('machines of one name on two hosts are two, and told if the export has no ids', () => {
  const text = 'VM,Host,Mac Address\nweb,esx1,00:50:56:aa:bb:01\nweb,esx2,00:50:56:aa:bb:02\n'
  const { machines, faults } = readFiles('rvtools', [{ name: 'a.csv', text }])
  expect(machines).toHaveLength(2)
  expect(faults).toMatchObject([{ where: 'a.csv' }])
  const ids = 'VM,Host,Mac Address,VM UUID\nweb,esx1,00:50:56:aa:bb:01,1\nweb,esx2,00:50:56:aa:bb:02,2\n'
  expect(readFiles('rvtools', [{ name: 'a.csv', text: ids }])).toMatchObject({
    machines: [{ id: '1' }, { id: '2' }],
    faults: [],
  })
})
