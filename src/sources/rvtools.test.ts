import { describe, expect, test } from 'vitest'
import type { SourceFile } from './machine.ts'
import { readRVTools } from './rvtools.ts'

const vNetwork = (text: string): SourceFile => ({ name: 'vNetwork.csv', text, writtenAt: '2030-01-01T00:00:00Z' })
const read = (...lines: readonly string[]) => readRVTools([vNetwork(lines.join('\r\n'))])

const header =
  'VM,Powerstate,Template,SRM Placeholder,NIC label,Adapter,Network,Starts Connected,Mac Address,IPv4 Address,IPv6 Address,VM ID,VI SDK UUID'
const row = (
  more: Partial<Record<'vm' | 'template' | 'srm' | 'start' | 'mac' | 'ip4' | 'ip6' | 'label' | 'id', string>> = {},
) =>
  [
    more.vm ?? 'web',
    'poweredOn',
    more.template ?? 'False',
    more.srm ?? 'False',
    more.label ?? 'Network adapter 1',
    'Vmxnet3',
    'prod',
    more.start ?? 'True',
    more.mac ?? '00:50:56:aa:bb:01',
    more.ip4 ?? '10.0.0.5',
    more.ip6 ?? '',
    more.id ?? 'vm-1',
    'uuid-1',
  ].join(',')

test('a row is a card; rows of one id are one machine', () => {
  const { machines, faults } = read(
    header,
    row(),
    row({ label: 'Network adapter 2', mac: '00:50:56:aa:bb:02', ip4: '', start: 'False' }),
  )
  expect(faults).toEqual([])
  expect(machines).toMatchObject([
    {
      source: { kind: 'rvtools', from: 'vNetwork.csv', instance: 'uuid-1', asOf: '2030-01-01T00:00:00Z' },
      id: 'vm-1',
      name: 'web',
      powerState: 'on',
      addressesFrom: 'guest-agent',
      nics: [
        {
          key: 'Network adapter 1',
          mac: '00:50:56:aa:bb:01',
          network: 'prod',
          model: 'vmxnet3',
          ips: [{ address: '10.0.0.5' }],
        },
        { key: 'Network adapter 2', startConnected: false, ips: [] },
      ],
    },
  ])
})

describe('the table', () => {
  test('B27 semicolons, a byte order mark and custom columns between the others: columns are found by name', () => {
    const { machines, faults } = read(
      '\ufeffowner;VM;"Backup status";Mac Address;Network;IPv4 Address',
      'me;web;"ok; yesterday";00:50:56:AA:BB:01;"prod ""a""";10.0.0.5',
    )
    expect(faults).toEqual([])
    expect(machines[0]).toMatchObject({ name: 'web', nics: [{ mac: '00:50:56:aa:bb:01', network: 'prod "a"' }] })
  })

  test('B27 a cell may have lines of its own, and later lines keep their numbers', () => {
    const { machines, faults } = read('VM,Annotation,Mac Address', 'a,"one\r\ntwo",00:50:56:aa:bb:01', 'b,,xx')
    expect(machines.map(({ name }) => name)).toEqual(['a', 'b'])
    expect(faults.map(({ where }) => where)).toEqual(['vNetwork.csv, line 4, column "Mac Address"'])
  })

  test('B29 headers of a database mean the same', () => {
    const { machines, faults } = read(
      'vNetworkVMName,vNetworkPowerstate,vNetworkTemplate,vNetworkNic,vNetworkAdapter,vNetworkName,vNetworkMacAddress,vNetworkIP4Address',
      'web,poweredOff,False,Network adapter 1,E1000,prod,00:50:56:aa:bb:01,10.0.0.5',
    )
    expect(faults).toEqual([])
    expect(machines[0]).toMatchObject({
      name: 'web',
      powerState: 'off',
      nics: [{ label: 'Network adapter 1', network: 'prod', model: 'e1000', ips: [{ address: '10.0.0.5' }] }],
    })
  })

  test('B29 so do those of other programs', () => {
    const { machines } = read(
      'VM Name,NIC,Adapter Type,Network,MAC Address,IP Address,Start Connected',
      'web,n1,e1000,prod,005056aabb01,10.0.0.5,no',
    )
    expect(machines[0]?.nics).toMatchObject([
      { key: 'n1', mac: '00:50:56:aa:bb:01', startConnected: false, ips: [{ address: '10.0.0.5' }] },
    ])
  })

  test('the tab vInfo beside it gives host names', () => {
    const vInfo = {
      name: 'vInfo.csv',
      text: 'VM,DNS Name,Primary IP Address,VM ID,VI SDK UUID\nweb,web.example,10.0.0.5,vm-1,uuid-1\n',
    }
    const { machines, faults } = readRVTools([vInfo, vNetwork(`${header}\n${row()}`)])
    expect(faults).toEqual([])
    expect(machines[0]?.hostName).toBe('web.example')
  })
})

describe('what is no machine to import', () => {
  test('B30 templates and placeholders of a recovery site are dropped and counted', () => {
    const { machines, leftOut } = read(
      header,
      row({ vm: 'golden', template: 'TRUE', id: 'vm-2' }),
      row({ vm: 'golden', template: 'TRUE', id: 'vm-2', label: 'Network adapter 2' }),
      row({ vm: 'shadow', srm: '1', id: 'vm-3' }),
      row(),
    )
    expect(machines.map(({ name }) => name)).toEqual(['web'])
    expect(leftOut).toEqual([
      { name: 'golden', reason: 'Template' },
      { name: 'shadow', reason: 'SRMPlaceholder' },
    ])
  })
})

describe('addresses', () => {
  test.each(['"10.0.0.5, 10.1.0.5"', '10.0.0.5;10.1.0.5', '10.0.0.5 10.1.0.5', '"10.0.0.5\n10.1.0.5"'])(
    'B31 all of several in a cell are kept, in their order: %j',
    ip4 => {
      expect(read(header, row({ ip4 })).machines[0]?.nics[0]?.ips).toEqual([
        { address: '10.0.0.5' },
        { address: '10.1.0.5' },
      ])
    },
  )

  test('B32 the letters VM in a cell say nothing', () => {
    const { machines, faults } = read(header, row({ ip4: 'VM', ip6: 'VM' }))
    expect(faults).toEqual([])
    expect(machines[0]).toMatchObject({ addressesFrom: 'none', nics: [{ ips: [] }] })
  })

  test('B33 no prefix and no gateway is made up', () => {
    const nic = read(header, row({ ip6: 'fe80::1 2001:db8::5' })).machines[0]?.nics[0]
    expect(nic?.ips).toEqual([{ address: '10.0.0.5' }, { address: '2001:db8::5' }])
    expect(nic?.gateways).toEqual([])
  })
})

describe('what is wrong', () => {
  test('is told with file, line and column, all of it at once', () => {
    const { faults } = read(
      header,
      row({ mac: '00:50:56' }),
      row({ id: 'vm-2', ip4: '10.0.0.256', start: 'maybe' }),
      'too,short',
    )
    expect(faults.map(({ where }) => where)).toEqual([
      'vNetwork.csv, line 4',
      'vNetwork.csv, line 2, column "Mac Address"',
      'vNetwork.csv, line 3, column "Starts Connected"',
      'vNetwork.csv, line 3, column "IPv4 Address"',
    ])
  })

  test.each([
    [
      'a workbook',
      'PK\u0003\u0004...',
      'it is a workbook of Excel: export it from RVTools again with "Export all to csv"',
    ],
    [
      'the cards of hosts',
      'Host,Network Device,MAC\nesx1,vmnic0,00:50:56:aa:bb:01',
      'it is the tab vNIC, the cards of hosts',
    ],
    ['only vInfo', 'VM,Primary IP Address\nweb,10.0.0.5', 'the cards of machines are in the tab vNetwork'],
    ['another table', 'Port,VLAN\na,1', 'there is no column "VM"'],
    ['nothing', '', 'it is empty'],
    ['an open quotation', 'VM,Mac Address\n"web,00:50:56:aa:bb:01', 'a quotation mark is not closed'],
    ['a quotation that goes on', 'VM,Mac Address\n"web"x,00:50:56:aa:bb:01', 'text follows a closed quotation mark'],
    ['a row without a name', 'VM,Mac Address\n,00:50:56:aa:bb:01', 'every row has the name of a machine'],
  ])('%s is refused with what to give instead', (_, text, problem) => {
    const { machines, faults } = readRVTools([vNetwork(text)])
    expect(machines).toEqual([])
    expect(faults.map(one => one.problem).join()).toContain(problem)
  })
})
