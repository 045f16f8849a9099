// What is found before anything is made. The numbers are those of docs/reference/import-checks.md.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aMapping, aNetwork, another, aSource, check, idsOf, namespace, told } from '../../test/imports/builders.ts'
import type { IPText } from '../ip/address.ts'
import type { MACText } from '../ip/mac.ts'
import { checkImport } from './check.ts'
import { isError } from './finding.ts'
import { readMapping } from './mapping.ts'
import { noTarget } from './target.ts'

const mac = (text: string) => text as MACText
const address = (text: string) => text as IPText
const web = aSource('web')
const blue = 'cluster_udn_blue'

test('a machine that fits has nothing to be said about', () => {
  expect(check([web, aSource('db', [another()])])).toEqual([])
})

test('all faults are told at once, errors first, in an order that does not depend on that of the machines', () => {
  const machines = [
    aSource('b', [{ ips: ['10.0.1.5/23'], origin: 'dhcp' }], { powerState: 'off' }),
    aSource('a', [{ mac: '01:00:5e:00:00:01' }, { mac: '00:50:56:00:00:09', ips: [] }]),
  ]
  const findings = check(machines)
  expect(findings.map(({ severity, machine, nic, id }) => `${severity} ${machine}/${nic} ${id}`)).toEqual([
    'error a/ MultiplePodNetworks',
    'error a/4000 MacMulticast',
    'error a/4001 IpMissing',
    'error b/4000 IpOutsideSubnet',
    'warn b/ VmPoweredOff',
    'info b/4000 IpDhcpOrigin',
  ])
  expect(check(machines.toReversed())).toEqual(findings)
})

describe('A MAC', () => {
  test.each(['00:50:56:AA:BB:CC', '00-50-56-aa-bb-cc', '0050.56aa.bbcc'])(
    'B42: of two machines of the import, once written %s, is told of both with both cards',
    spelling => {
      const findings = check([
        aSource('web', [{ mac: '00:50:56:aa:bb:cc' }]),
        aSource('db', [another({ mac: spelling })]),
      ])
      expect(told(findings, 'MacDuplicateInBatch')).toEqual([
        'error db/4000: the MAC 00:50:56:aa:bb:cc is also that of card 4000 of web',
        'error web/4000: the MAC 00:50:56:aa:bb:cc is also that of card 4000 of db',
      ])
    },
  )

  test('B42: that two cards on one network have stays an error if the source will be off, on two networks it does not', () => {
    const twice = [web, aSource('db', [another({ mac: '00:50:56:00:00:05' })])]
    expect(check(twice, {}, { sourceWillBeOff: true }).filter(isError)).not.toEqual([])
    const [, db] = [web, aSource('db', [another({ mac: '00:50:56:00:00:05', network: 'storage' })])]
    const map = ['VM Network=cudn:blue', 'storage=shop/storage']
    const attachments = new Map([['shop/storage', { networkName: 'storage', isPrimary: false, subnets: [] }]])
    const findings = check([web, db], { attachments }, { map, sourceWillBeOff: true })
    expect(told(findings, 'MacDuplicateInBatch')).toHaveLength(2)
    expect(findings.filter(isError)).toEqual([])
  })

  test('B43: of a VirtualMachine in another namespace is an error that names it, and a warning if the source will be off', () => {
    const cards = [{ mac: mac('00:50:56:00:00:05'), owner: 'VirtualMachine lab/old', vm: 'lab/old' }]
    const message = 'web/4000: the MAC 00:50:56:00:00:05 is that of VirtualMachine lab/old'
    expect(told(check([web], { cards }), 'MacConflictTarget')).toEqual([`error ${message}`])
    expect(told(check([web], { cards }, { sourceWillBeOff: true }), 'MacConflictTarget')).toEqual([`warn ${message}`])
  })

  test('B43: that an IPPool keeps for another machine is that of the pool', () => {
    const pool = { name: 'blue', networkName: blue, entries: { '00:50:56:00:00:05': ['10.0.0.5/24'] } }
    const bindings = { '00:50:56:00:00:05': { namespace, virtualMachine: 'db' } }
    const findings = check([web], { pools: [{ ...pool, bindings }] })
    const owner = 'IPPool blue, which keeps it for 00:50:56:00:00:05 for shop/db'
    expect(told(findings, 'MacConflictTarget')).toEqual([
      `error web/4000: the MAC 00:50:56:00:00:05 is that of ${owner}`,
    ])
    expect(told(findings, 'IpConflictTarget')).toEqual([`error web/4000: 10.0.0.5 is that of ${owner}`])
    const own = { '00:50:56:00:00:05': { namespace, virtualMachine: 'web' } }
    expect(check([web], { pools: [{ ...pool, bindings: own }] })).toEqual([])
  })

  test('B44: of a machine that was imported before is no conflict with itself, nor are its name and address', () => {
    const cards = [{ mac: mac('00:50:56:00:00:05'), owner: 'VirtualMachine shop/web', vm: 'shop/web' }]
    const addresses = [
      { ip: address('10.0.0.5'), networkName: blue, owner: 'IPAMClaim shop/web.net-0', vm: 'shop/web' },
    ]
    const machines = [{ namespace, name: 'web', source: 'vc-1/vm-web' }]
    expect(idsOf(check([web], { machines, cards, addresses }))).toEqual(['AlreadyImported'])
    const ofOther = [{ namespace, name: 'web', source: 'vc-2/vm-web' }]
    expect(idsOf(check([web], { machines: ofOther, cards, addresses }))).toEqual([
      'NameConflict',
      'IpConflictTarget',
      'MacConflictTarget',
    ])
  })

  test('B59: that is a multicast address is refused', () => {
    const findings = check([aSource('web', [{ mac: '01:00:5e:00:00:01' }])])
    expect(idsOf(findings)).toEqual(['MacMulticast'])
    expect(findings[0]?.severity).toBe('error')
  })

  test.each([
    ['gateway', '0a:58:0a:00:00:01', '10.0.0.1'],
    ['management address', '0a:58:0a:00:00:02', '10.0.0.2'],
  ])('B60: that is made of the %s is refused', (what, text, of) => {
    const findings = check([aSource('web', [{ mac: text }])])
    expect(told(findings, 'MacReservedPrefix')).toEqual([
      `error web/4000: the MAC ${text} is that of the ${what} ${of}`,
    ])
  })

  test('B60: that the network makes of an address of another is refused, and of its own address or of none is told', () => {
    const of = (text: string) =>
      told(check([aSource('web', [{ mac: text }])]), 'MacReservedPrefix').map(one => one.split(' ')[0])
    expect(of('0a:58:0a:00:00:07')).toEqual(['error'])
    expect(of('0a:58:0a:00:00:05')).toEqual(['warn'])
    expect(of('0a:58:c0:00:00:07')).toEqual(['warn'])
  })

  test('that is all zeros, or no MAC, is refused', () => {
    expect(idsOf(check([aSource('web', [{ mac: '00:00:00:00:00:00' }])]))).toEqual(['MacZero'])
    expect(idsOf(check([aSource('web', [{ mac: '00:50:56' }])]))).toEqual(['MacMalformed'])
  })

  test('that the source does not have is an error on the primary network, unless a new one may be had', () => {
    const machines = [aSource('web', [{ mac: null }]), aSource('db', [another({ mac: null })])]
    const of = (texts = {}) => check(machines, {}, texts).map(({ severity, id }) => `${severity} ${id}`)
    expect(of()).toEqual(['error MacMissing', 'error MacMissing'])
    expect(of({ newMacs: true })).toEqual(['warn MacMissing', 'warn MacMissing'])
  })
})

describe('An address', () => {
  test('B45: of two machines on one network is told of both', () => {
    const findings = check([web, aSource('db', [another({ ips: ['10.0.0.5/24'] })])])
    expect(told(findings, 'IpDuplicateInBatch')).toEqual([
      'error db/4000: 10.0.0.5 is also the address of card 4000 of web, on the same network',
      'error web/4000: 10.0.0.5 is also the address of card 4000 of db, on the same network',
    ])
  })

  test('B46: in the status of a claim of a stopped machine is in use', () => {
    const owner = 'IPAMClaim shop/old.net1'
    const addresses = [{ ip: address('10.0.0.5'), networkName: blue, owner, vm: 'shop/old' }]
    expect(told(check([web], { addresses }), 'IpConflictTarget')).toEqual([
      `error web/4000: 10.0.0.5 is that of ${owner}`,
    ])
    expect(
      check([web], { addresses: [{ ip: address('10.0.0.5'), networkName: 'other', owner, vm: undefined }] }),
    ).toEqual([])
  })

  test('B48: the second of a family is told as left out, and the administrator may choose it', () => {
    const machines = [aSource('web', [{ ips: ['10.0.0.5/24', '10.0.0.7/24'] }])]
    const left = (texts = {}) => told(check(machines, {}, texts), 'IpSecondaryDropped')
    const message = 'is not kept: a card has one address of each family'
    expect(left()).toEqual([`warn web/4000: 10.0.0.7 ${message}`])
    expect(left({ address: ['00-50-56-00-00-05=10.0.0.7'] })).toEqual([`warn web/4000: 10.0.0.5 ${message}`])
  })

  test('B31: that is in the subnet is kept before one that is not', () => {
    const machines = [aSource('web', [{ ips: ['172.17.0.1/16', '10.0.0.5/24'] }])]
    expect(told(check(machines), 'IpSecondaryDropped')).toEqual([
      'warn web/4000: 172.17.0.1 is not kept: a card has one address of each family',
    ])
  })

  test('that was chosen and is not in the source is told', () => {
    expect(idsOf(check([web], {}, { address: ['00:50:56:00:00:05=10.0.0.9'] }))).toContain('IpChoiceUnknown')
  })

  test.each<[string, string, string, object]>([
    ['outside of the subnets', 'IpOutsideSubnet', '10.0.1.5/23', {}],
    ['the first of the subnet', 'IpIsNetworkOrBroadcast', '10.0.0.0/24', {}],
    ['the last of the subnet', 'IpIsNetworkOrBroadcast', '10.0.0.255/24', {}],
    ['the gateway', 'IpIsGateway', '10.0.0.1/24', {}],
    ['the management address', 'IpIsManagement', '10.0.0.2/24', {}],
    ['in the infrastructure subnets', 'IpInInfrastructure', '10.0.0.5/24', { infrastructure: ['10.0.0.0/29'] }],
  ])('that is %s is refused', (_, id, text, draft) => {
    const findings = check([aSource('web', [{ ips: [text] }])], { networks: [aNetwork(draft)] })
    expect(findings.map(one => [one.id, one.severity])).toEqual([[id, 'error']])
  })

  test('that is .2 is free where the infrastructure subnets lie elsewhere', () => {
    const networks = [aNetwork({ infrastructure: ['10.0.0.1/32', '10.0.0.250/32'] })]
    expect(check([aSource('web', [{ ips: ['10.0.0.2/24'] }])], { networks })).toEqual([])
  })

  test('that is missing is an error, and so is a family that the network has and the card has not', () => {
    expect(idsOf(check([aSource('web', [{ ips: [] }])]))).toEqual(['IpMissing'])
    const both = { subnets: ['10.0.0.0/24', 'fd00::/64'], gateways: ['10.0.0.1', 'fd00::1'] }
    const severity = (isOfMooring: boolean) =>
      told(check([web], { networks: [aNetwork({ ...both, isOfMooring })] }), 'IpFamilyCount').map(
        one => one.split(' ')[0],
      )
    expect(severity(false)).toEqual(['error'])
    expect(severity(true)).toEqual(['warn'])
  })

  test('of a family that the network does not have is told as left out', () => {
    expect(told(check([aSource('web', [{ ips: ['10.0.0.5/24', 'fd00::5/64'] }])]), 'IpSecondaryDropped')).toEqual([
      'warn web/4000: fd00::5 is not kept: the network has no subnet of IPv6',
    ])
  })

  test('that came by DHCP is told, and so are DNS servers that the cluster does not tell', () => {
    const machines = [aSource('web', [{ origin: 'dhcp', dns: ['10.0.0.53', '10.96.0.10'] }])]
    const findings = check(machines, { dns: [address('10.96.0.10')] })
    expect(findings.map(({ id, severity, message }) => [id, severity, message])).toEqual([
      ['DnsLost', 'warn', 'DHCP tells the guest the DNS of the cluster in place of 10.0.0.53'],
      ['IpDhcpOrigin', 'info', '10.0.0.5 came by DHCP, and is asked for from now on'],
    ])
    expect(check([aSource('web', [{ dns: ['10.0.0.53'] }])])).toEqual([])
  })

  test('with another length than the subnet is told', () => {
    expect(told(check([aSource('web', [{ ips: ['10.0.0.5/25'] }])]), 'PrefixMismatch')).toEqual([
      'warn web/4000: the guest has 10.0.0.5/25, and the subnet is 10.0.0.0/24',
    ])
  })
})

describe('A gateway', () => {
  test('B50: other than that of the network is an error that shows both', () => {
    const findings = check([aSource('web', [{ gateways: ['10.0.0.254'] }])])
    expect(told(findings, 'GatewayMismatch')).toEqual([
      'error web/4000: the gateway of the machine is 10.0.0.254, and that of blue 10.0.0.1',
    ])
  })

  test('B55: outside of the subnet cannot be had on a primary network', () => {
    const findings = check([aSource('web', [{ gateways: ['192.0.2.1'] }])])
    expect(findings.map(({ id, severity }) => [id, severity])).toContainEqual(['GatewayOutsideSubnet', 'error'])
    expect(idsOf(findings)).not.toContain('GatewayMismatch')
  })

  test('B22: that made itself known by router advertisements is not compared', () => {
    const networks = [aNetwork({ subnets: ['fd00::/64'], gateways: ['fd00::1'] })]
    const card = { ips: ['fd00::5/64'], gateways: ['fe80::1'], gatewayOrigin: 'router-advertised' } as const
    expect(check([aSource('web', [card])], { networks })).toEqual([])
  })

  test('that is not known, and routes beside it, are told', () => {
    const routes = [{ destination: '10.9.0.0/16', gateway: address('10.0.0.9') }]
    const findings = check([aSource('web', [{ gateways: [], routes }])])
    expect(findings.map(({ severity, id }) => `${severity} ${id}`)).toEqual([
      'warn ExtraRoutesLost',
      'warn GatewayUnknown',
    ])
    expect(findings[0]?.message).toContain('10.9.0.0/16 via 10.0.0.9')
  })
})

describe('The cluster', () => {
  test('B56: a namespace without the label is no use: the advice is a new one', () => {
    const [finding] = check([web], { namespaces: new Map([[namespace, {}]]) })
    expect(finding).toMatchObject({ id: 'NamespaceLabelMissing', severity: 'error' })
    expect(finding?.fix).toContain('a new namespace')
  })

  test.each<[string, object]>([
    ['CudnNotLayer2', { topology: 'Layer3' }],
    ['CudnNotPersistent', { isPersistent: false }],
    ['CudnNotPrimary', { isPrimary: false }],
    ['CudnNotOffered', { namespaceSelector: { matchLabels: { team: 'red' }, matchExpressions: [] } }],
  ])('a network that cannot take the machine is refused: %s', (id, draft) => {
    const findings = check([web], { networks: [aNetwork(draft)] })
    expect(findings.filter(isError).map(one => one.id)).toEqual([id])
  })

  test('a network that is not there, and a NetworkAttachmentDefinition, is an error', () => {
    expect(idsOf(check([web], { networks: [] }))).toEqual(['CudnMissing'])
    expect(idsOf(check([web], {}, { map: ['VM Network=shop/none'] }))).toEqual(['AttachmentMissing'])
  })

  test('a namespace has one primary network', () => {
    const networks = [aNetwork(), aNetwork({ name: 'red' })]
    expect(told(check([web], { networks }), 'CudnNotOffered')).toEqual([
      'error /: the namespace shop has the primary network red already',
    ])
  })

  test('a namespace has one primary network, also of a UserDefinedNetwork, and that is no network beside it', () => {
    const attachments = new Map([['shop/own', { networkName: 'shop_own', isPrimary: true, subnets: [] }]])
    expect(told(check([web], { attachments }), 'CudnNotOffered')).toEqual([
      'error /: the namespace shop has the primary network shop/own already',
    ])
    expect(idsOf(check([web], { attachments }, { map: ['VM Network=shop/own'] }))).toEqual(['AttachmentIsPrimary'])
    const rendered = new Map([['shop/blue', { networkName: 'cluster_udn_blue', isPrimary: true, subnets: [] }]])
    expect(check([web], { attachments: rendered })).toEqual([])
  })

  test('without l2bridge, without requests for addresses and without ipam-extensions', () => {
    const parts = { ...noTarget.parts, hasL2Bridge: false, hasPreconfiguredAddresses: false, hasIPAMExtensions: false }
    expect(check([web], { parts }).map(({ severity, id }) => `${severity} ${id}`)).toEqual([
      'error L2BridgeBindingMissing',
      'error PreconfiguredAddressesOff',
      'warn PersistenceLost',
    ])
  })

  test('what could not be read is told', () => {
    expect(told(check([web], { unread: ['pods'] }), 'TargetNotRead')).toEqual([
      'warn /: pods cannot be listed: conflicts with them are not found',
    ])
  })
})

describe('A machine', () => {
  test('with a card that is not mapped is refused, and never put on the pod network', () => {
    const findings = check([aSource('web', [{}, { network: 'storage', mac: '00:50:56:00:00:09' }])])
    expect(told(findings, 'NicNetworkUnmapped')).toEqual([
      'error web/4001: the card is connected to "storage", which is not mapped',
    ])
    expect(findings[0]?.fix).toContain('--map "storage=TARGET"')
  })

  test('B57: with two cards on the primary network is refused, and one of them may be mapped by its MAC', () => {
    const machines = [aSource('web', [{}, another()])]
    expect(idsOf(check(machines))).toEqual(['MultiplePodNetworks'])
    expect(check(machines, {}, { map: ['VM Network=cudn:blue', '00:50:56:00:00:06=ignored'] })).toEqual([])
  })

  test('that is off, or whose agent does not run, is told with what its addresses rest on, and since when', () => {
    const findings = check([aSource('web', [{}], { powerState: 'off', isAgentRunning: false })])
    expect(findings.map(({ severity, id }) => `${severity} ${id}`)).toEqual([
      'warn ToolsNotRunning',
      'warn VmPoweredOff',
    ])
    expect(findings[1]?.message).toBe(
      'the machine is off: its addresses are the last that the agent in the guest told, by vcenter.example of 2026-01-02T03:04:05Z',
    )
  })

  test('with a card of SR-IOV, or with what its source noted, is told', () => {
    const notes = [
      { reason: 'SRIOV', nic: '4000', message: 'the card is of SR-IOV' },
      { reason: 'MACMismatch', nic: '4000', message: 'the guest has another MAC' },
    ] as const
    const findings = check([aSource('web', [{}], { notes })])
    expect(findings.map(({ severity, id, nic }) => `${severity} ${id} ${nic}`)).toEqual([
      'warn SourceNote 4000',
      'warn SriovNic 4000',
    ])
  })

  test('whose name is none for Kubernetes gets another, and is told so', () => {
    const machines = [aSource('Web Server_01')]
    expect(told(check(machines), 'NameInvalid')).toEqual([
      'warn Web Server_01/: "Web Server_01" is no name of a VirtualMachine: it is called web-server-01',
    ])
    expect(check(machines, {}, { name: ['Web Server_01=web'] })).toEqual([])
  })

  test('whose name another has, in the import or in the cluster, is refused', () => {
    const findings = check([aSource('web'), aSource('WEB', [another()])], {
      machines: [{ namespace, name: 'web', source: undefined }],
    })
    expect(told(findings, 'NameConflict')).toHaveLength(4)
  })

  test('that is skipped is not looked at; one that is misspelled is told', () => {
    const machines = [web, aSource('bad', [{ network: 'none' }])]
    expect(check(machines, {}, { skip: ['vm-bad'] })).toEqual([])
    expect(idsOf(check([web], {}, { skip: ['wbe'], name: ['wbe=x'] }))).toEqual(['MachineUnknown', 'MachineUnknown'])
    expect(idsOf(check([]))).toEqual(['MachineUnknown'])
  })
})

test('no two machines of a plan without errors have one MAC, or one address, on one network', () => {
  const octet = fc.integer({ min: 3, max: 9 })
  fc.assert(
    fc.property(fc.array(fc.tuple(octet, octet), { minLength: 1, maxLength: 6 }), drafts => {
      const machines = drafts.map(([m, i], at) =>
        aSource(`m${at}`, [{ mac: `00:50:56:00:00:0${m}`, ips: [`10.0.0.${i}/24`] }]),
      )
      const isGood = !check(machines).some(isError)
      const areOnce = (of: 0 | 1) => new Set(drafts.map(draft => draft[of])).size === drafts.length
      expect(isGood).toBe(areOnce(0) && areOnce(1))
    }),
  )
})

test('without a cluster machines are compared with each other alone', () => {
  const target = { ...noTarget, networks: [aNetwork()] }
  expect(checkImport([web], aMapping(), target)).toEqual([])
})

describe('What is said on the command line', () => {
  test('is read whole: all faults are told at once', () => {
    const read = readMapping({
      namespace,
      map: ['VM Network', 'a=nothing', 'b=cudn:', 'c=ignored', 'c=ignored'],
      address: ['x=10.0.0.1', '00:50:56:00:00:05=10.0.0'],
      subnet: ['VM Network=10.0.0.0/24,192.0.2.1', 'VM Network=10.0.0.7/24'],
      name: ['web=Web'],
    })
    expect('faults' in read && read.faults).toHaveLength(9)
  })

  test('takes a port group with "=" in its name', () => {
    expect(aMapping({ map: ['a=b=ignored'] }).cards.get('a=b')).toEqual({ to: 'ignored' })
  })
})
