import { describe, expect, it, test } from 'vitest'
import {
  aDevice,
  aFailureDomain,
  aHost,
  type ConfigParts,
  installConfig,
  threeAndThree,
} from '../../test/harness/install-config.ts'
import { orThrow } from '../../test/harness/or-throw.ts'
import { parseCIDR } from '../ip/cidr.ts'
import { checkInstallConfig } from './check.ts'
import type { HeldAddress } from './check-addresses.ts'
import { readInstallConfig } from './config.ts'
import type { Fault } from './fault.ts'

function faultsIn(text: string, held: readonly HeldAddress[] = []): Fault[] {
  const faults: Fault[] = []
  const config = readInstallConfig(text, faults)
  return [...faults, ...(config === undefined ? [] : checkInstallConfig(config, held, faults))]
}

/** `path: message`, as it is printed. */
const said = (text: string, severity = 'error'): string[] =>
  faultsIn(text)
    .filter(fault => fault.severity === severity)
    .map(({ path, message }) => `${path}: ${message}`)

const of = (parts: ConfigParts): string[] => said(installConfig(parts))
const warnedOf = (parts: ConfigParts): string[] => said(installConfig(parts), 'warning')
const hosts = 'platform.vsphere.hosts'
const device = (index: number) => `${hosts}[${index}].networkDevice`

/** The whole list, with another first compute host. */
const withCompute = (networkDevice: unknown): ConfigParts => ({
  hosts: threeAndThree().map((host, i) => (i === 4 ? { ...host, networkDevice } : host)),
})

describe('what cannot be read', () => {
  it.each([
    ['a\tb: 1\n\tc: 2', /a tab is no indentation in YAML: write spaces/],
    ['a: b: c', /put the value in quotes/],
    ['a: 1\n---\nb: 2', /a second document begins after the line "---"/],
    ['', /the file is empty: write an install-config/],
    ['- a', /the file is a list: write an install-config/],
    ['text', /the file is a single value: write/],
  ])('as YAML, or as a map, is told with what to write: %j', (text, message) => {
    expect(said(text)).toEqual([expect.stringMatching(message)])
  })

  it('is told once, and is not said to be missing too', () => {
    expect(said(installConfig({ vsphere: { hosts: { role: 'bootstrap' } } }))).toEqual([
      `${hosts}: Invalid value: "{...}": must be a list`,
    ])
    expect(of({ controlPlane: { replicas: '3' } })).toEqual([
      'controlPlane.replicas: Invalid value: "3": must be a whole number that is not negative: take the quotes off',
    ])
    const numbers = withCompute({ ...aDevice('x'), ipAddrs: [244] })
    expect(of(numbers)).toEqual([`${device(4)}.ipAddrs[0]: Invalid value: "244": must be a text: put it in quotes`])
    expect(warnedOf(numbers)).toEqual([])
  })

  it('because its key is elsewhere is told where it belongs, and of a key like none other no other is guessed', () => {
    const misplaced = threeAndThree().map((host, i) =>
      i === 4 ? { ...host, gateway: '192.168.101.1', hostname: 'x' } : host,
    )
    const keys = 'the keys here are role, failureDomain, networkDevice'
    expect(of({ hosts: misplaced })).toEqual([
      `${hosts}[4].gateway: unknown key: write it below networkDevice; ${keys}`,
      `${hosts}[4].hostname: unknown key: leave it out; ${keys}`,
    ])
  })
})

describe('the number of hosts', () => {
  const bootstrap = `${hosts}: Invalid value: "bootstrap": a single host with the bootstrap role must be defined`

  it('of a whole file is right', () => {
    expect(faultsIn(installConfig())).toEqual([])
  })

  it('has one bootstrap host, neither none nor two', () => {
    expect(of({ hosts: threeAndThree().slice(1) })).toEqual([bootstrap])
    expect(of({ hosts: [aHost('bootstrap', 239), ...threeAndThree()] })).toEqual([bootstrap])
  })

  it('of an empty list is wrong, and where there is no list all machines use DHCP', () => {
    expect(of({ hosts: [] })[0]).toBe(bootstrap)
    expect(of({ hosts: undefined })).toEqual([])
  })

  test.each([
    [
      4,
      `${hosts}: Invalid value: "control-plane": not enough hosts found (3) to support all the configured control plane replicas (4)`,
    ],
    [
      2,
      `${hosts}: Invalid value: "control-plane": too many hosts found (3) for the configured control plane replicas (2)`,
    ],
  ])('has to be that of the control plane: %i replicas are not three hosts', (replicas, message) => {
    expect(of({ controlPlane: { replicas } })).toEqual([message])
  })

  it('has to be that of the compute machines', () => {
    expect(of({ compute: [{ name: 'worker', replicas: 2 }] })).toEqual([
      `${hosts}: Invalid value: "compute": too many hosts found (3) for the configured compute replicas (2)`,
    ])
  })

  it('is told of both at once, the control plane first', () => {
    expect(of({ controlPlane: { replicas: 5 }, compute: [{ name: 'worker', replicas: 4 }] })).toEqual([
      expect.stringContaining('"control-plane": not enough hosts found (3)'),
      expect.stringContaining('"compute": not enough hosts found (3)'),
    ])
  })

  it('may be none of compute machines', () => {
    expect(of({ compute: [{ name: 'worker', replicas: 0 }], hosts: threeAndThree().slice(0, 4) })).toEqual([])
  })

  it('of compute machines is the sum of their pools', () => {
    expect(
      of({
        compute: [
          { name: 'worker', replicas: 1 },
          { name: 'edge', replicas: 2 },
        ],
      }),
    ).toEqual([])
  })

  it('is compared with three replicas where the file does not say', () => {
    const text = installConfig()
      .replace(/compute:\n(?: .*\n)+/, '')
      .replace('  replicas: 3\n', '  name: master\n')
    expect(said(text)).toEqual([])
  })
})

describe('a host', () => {
  it('with a role that is none is refused, and missing in its count', () => {
    expect(
      of({ hosts: threeAndThree().map((host, i) => (i === 3 ? { ...host, role: 'crazy-uncle' } : host)) }),
    ).toEqual([
      expect.stringContaining('"control-plane": not enough hosts found (2)'),
      `${hosts}[3].role: Unsupported value: "crazy-uncle": supported values: "bootstrap", "compute", "control-plane"`,
    ])
  })

  test.each(['', 'Control-Plane', undefined])('has no role in other letters, and none that is empty: %j', role => {
    const messages = of({ hosts: threeAndThree().map((host, i) => (i === 3 ? { ...host, role } : host)) })
    expect(messages.at(-1)).toContain(`${hosts}[3].role: Unsupported value: "${role ?? ''}"`)
  })

  it('names a failure domain that exists, and each host that does not is told by its index', () => {
    const lost = { failureDomain: 'north-pole' }
    expect(of({ hosts: threeAndThree().map((host, i) => (i > 4 ? { ...host, ...lost } : host)) })).toEqual([
      `${hosts}[5].failureDomain: Invalid value: "north-pole": failure domain not found: there are a, b, c`,
      `${hosts}[6].failureDomain: Invalid value: "north-pole": failure domain not found: there are a, b, c`,
    ])
  })

  it('needs a network device', () => {
    expect(of(withCompute(undefined))).toEqual([
      `${hosts}[4].networkDevice: Required value: must specify networkDevice configuration`,
    ])
  })

  it('needs an address', () => {
    expect(of(withCompute({ gateway: '192.168.101.1', nameservers: ['192.168.101.2'] }))).toEqual([
      `${device(4)}.ipAddrs: Required value: must specify a IP`,
    ])
    expect(of(withCompute(aDevice('')))).toEqual([
      `${device(4)}.ipAddrs[0]: Required value: must specify a IP address with CIDR`,
    ])
  })

  test.each([
    '10.0.0.5/33',
    '10.0.0.05/24',
    '2001:db8::5/129',
    'fe80::1%eth0/64',
    '192.168.1.2/024',
    ' 192.168.1.2/24',
    '192.168.1/24',
    '1.2.3.4/24/25',
    '192.168.1.2',
  ])('has no address that is no CIDR: %j', text => {
    expect(of(withCompute({ ...aDevice(text), gateway: '' }))).toEqual([
      expect.stringContaining(
        `${device(4)}.ipAddrs[0]: Invalid value: "${text}": invalid CIDR address: ${text}: write the address with the length of its subnet`,
      ),
    ])
  })

  it('may have IPv6', () => {
    const networking = { machineNetwork: [{ cidr: '192.168.101.0/24' }, { cidr: '2001:db8::/64' }] }
    const ipv6 = { ipAddrs: ['2001:db8::5/64'], gateway: '2001:DB8:0:0:0:0:0:1', nameservers: ['2001:db8::53'] }
    expect(of({ ...withCompute(ipv6), networking })).toEqual([])
  })

  test.each(['86.7.5.309', '192.168.101.1/24', '[2001:db8::1]', 'fe80::1%eth0', '1.2.3'])(
    'has no gateway that is no address: %s',
    text => {
      expect(of(withCompute({ ...aDevice('192.168.101.5/24'), gateway: text }))).toEqual([
        `${device(4)}.gateway: Invalid value: "${text}": "${text}" is not a valid IP`,
      ])
    },
  )

  it('has at most three nameservers', () => {
    const nameservers = [2, 3, 4, 5].map(last => `192.168.101.${last}`)
    expect(of(withCompute({ ...aDevice('192.168.101.50/24'), nameservers }))).toEqual([
      `${device(4)}.nameservers: Too many: 4: must have at most 3 items`,
    ])
  })

  it('has nameservers that are addresses', () => {
    expect(of(withCompute({ ...aDevice('192.168.101.5/24'), nameservers: ['dns.example.com', ''] }))).toEqual([
      `${device(4)}.nameservers[0]: Invalid value: "dns.example.com": "dns.example.com" is not a valid IP`,
      `${device(4)}.nameservers[1]: Invalid value: "": "" is not a valid IP`,
    ])
  })

  it('is told all its faults at once: addresses, nameservers, gateway', () => {
    const broken = { gateway: 'g', nameservers: ['n'], ipAddrs: ['a'] }
    expect(of(withCompute(broken)).map(text => text.slice(device(4).length + 1).split(':')[0])).toEqual([
      'ipAddrs[0]',
      'nameservers[0]',
      'gateway',
    ])
  })

  it('has no key that the installer does not read, and is told the one that is most like it', () => {
    const mistyped = { ipAddrs: ['192.168.101.5/24'], gateway4: '192.168.101.1', nameserver: ['192.168.101.2'] }
    expect(of(withCompute(mistyped))).toEqual([
      expect.stringMatching(/gateway4: unknown key: write gateway,/),
      expect.stringMatching(/nameserver: unknown key: write nameservers,/),
    ])
  })

  it('is read where a key has other letters, with a warning', () => {
    const text = installConfig().replace('ipAddrs:', 'ipaddrs:')
    expect(said(text)).toEqual([])
    expect(said(text, 'warning')).toEqual([`${device(0)}.ipAddrs: the key is spelled "ipaddrs": write "ipAddrs"`])
  })
})

describe('failure domains', () => {
  const path = 'platform.vsphere.failureDomains'
  const domains = (more: object, topology: object = {}) => ({
    failureDomains: [aFailureDomain('a', more, topology), aFailureDomain('b'), aFailureDomain('c')],
  })

  it('need a network, and have ten at most', () => {
    expect(of(domains({}, { networks: [] }))).toEqual([
      `${path}[0].topology.networks: Required value: must specify a network`,
    ])
    expect(of(domains({}, { networks: Array.from({ length: 11 }, (_, i) => `n${i}`) }))).toEqual([
      `${path}[0].topology.networks: Too many: 11: must have at most 10 items`,
    ])
  })

  it('have names of their own, a server that is listed and a datastore with its path', () => {
    expect(of(domains({ name: 'b', server: 'elsewhere' }, { datastore: 'ds' }))).toEqual([
      `${path}[0].server: Invalid value: "elsewhere": server does not exist in vcenters`,
      expect.stringContaining(
        `${path}[0].topology.datastore: Invalid value: "ds": full path of datastore must be provided`,
      ),
      `${path}[1].name: Duplicate value: "b"`,
    ])
  })

  it('have tags by their ids, and not too many', () => {
    expect(of(domains({}, { tagIDs: ['production'] }))).toEqual([
      `${path}[0].topology.tagIDs[0]: Invalid value: "production": must be the id of a tag, not its name, such as ` +
        'urn:vmomi:InventoryServiceTag:<uuid>:GLOBAL',
    ])
    const tag = (i: number) => `urn:vmomi:InventoryServiceTag:5736bf56-49f5-4667-b38c-b97e09dc95${10 + i}:GLOBAL`
    expect(of(domains({}, { tagIDs: Array.from({ length: 11 }, (_, i) => tag(i)) }))).toEqual([
      `${path}[0].topology.tagIDs: Too many: 11: must have at most 10 items`,
    ])
  })

  it('are named by the zones of pools', () => {
    expect(of({ controlPlane: { platform: { vsphere: { zones: ['a', 'x'] } } } })).toEqual([
      'controlPlane.platform.vsphere.zones[1]: Invalid value: "x": zone [x] specified by machinepool is not defined',
    ])
  })

  it('are made of the one cluster that an older file names', () => {
    const older = { vCenter: 'v', datacenter: 'dc', network: 'n', defaultDatastore: 'ds', cluster: 'k' }
    expect(of({ failureDomains: [], vsphere: { ...older, vcenters: undefined } })).toEqual([])
  })

  it('are needed', () => {
    expect(of({ failureDomains: [], hosts: undefined })[0]).toContain(`${path}: Required value: `)
    expect(of(domains({}, { computeCluster: '' }))[0]).toContain('topology.computeCluster: Required value')
  })

  it('of which a host names one outside of the zones of its pool are a warning', () => {
    const zones = { platform: { vsphere: { zones: ['a'] } } }
    const astray = threeAndThree().map((host, i) => (i === 2 ? { ...host, failureDomain: 'b' } : host))
    expect(warnedOf({ controlPlane: zones, hosts: astray })).toEqual([
      expect.stringContaining(`${hosts}[2].failureDomain: `),
    ])
  })

  it('of which the control plane uses one alone are a warning', () => {
    expect(warnedOf({ controlPlane: { platform: { vsphere: { zones: ['a'] } } } })).toEqual([
      expect.stringContaining('the whole control plane is in a'),
    ])
  })

  it('with several networks are a warning, for it is not certain which device gets the addresses', () => {
    expect(warnedOf(domains({}, { networks: ['vlan-101', 'storage'] }))).toEqual([
      `${path}[0].topology.networks: machines have 2 devices, and at their first boot it is not certain which gets the addresses`,
    ])
    expect(warnedOf({ ...domains({}, { networks: ['vlan-101', 'storage'] }), hosts: undefined })).toEqual([])
  })

  it('are not those of the bootstrap machine, which is beside the first of the control plane', () => {
    const first = (failureDomain: string) => [aHost('bootstrap', 240, { failureDomain }), ...threeAndThree().slice(1)]
    expect(warnedOf({ hosts: first('b') })).toEqual([
      expect.stringContaining(`${hosts}[0].failureDomain: Invalid value: "b": it is ignored`),
    ])
    expect(warnedOf({ hosts: first('a') })).toEqual([])
  })
})

describe('compute pools', () => {
  const named = (...names: string[]) => of({ compute: names.map((name, i) => ({ name, replicas: i === 0 ? 3 : 0 })) })

  it('have names of their own, after which machines can be called', () => {
    expect(named('worker', 'worker')).toEqual(['compute[1].name: Duplicate value: "worker"'])
    expect(named('worker', 'master')).toEqual(['compute[1].name: Duplicate value: "master"'])
    expect(named('worker', '../x')).toEqual([expect.stringContaining('compute[1].name: Invalid value: "../x": ')])
  })

  it('are few', () => {
    expect(named(...Array.from({ length: 11 }, (_, i) => `p${i}`))).toEqual([
      'compute: Too many: 11: must have at most 10 items',
    ])
  })
})

describe('an address', () => {
  const compute = (text: string, more: object = {}) => withCompute({ ...aDevice(text), ...more })
  const wide = { networking: { machineNetwork: [{ cidr: '0.0.0.0/0' }, { cidr: '::/0' }] } }

  it('is that of one host, however it is spelled', () => {
    expect(of(compute('192.168.101.241/24'))).toEqual([
      `${device(4)}.ipAddrs[0]: Duplicate value: "192.168.101.241/24": ${device(1)}.ipAddrs[0] has it too: give one of them another`,
    ])
    const twice = { ipAddrs: ['2001:db8::5/64', '2001:DB8:0::5/64'], nameservers: ['2001:db8::53'], gateway: 'fe80::1' }
    expect(of({ ...withCompute(twice), ...wide })).toEqual([
      expect.stringContaining('Duplicate value: "2001:DB8:0::5/64"'),
    ])
  })

  test.each([
    ['192.168.101.0/24', 'it is the network address of 192.168.101.0/24'],
    ['192.168.101.255/24', 'it is the broadcast address of 192.168.101.0/24'],
    ['0.0.0.0/24', 'it is the unspecified address'],
    ['127.0.0.5/8', 'it is a loopback address'],
    ['224.0.0.5/24', 'it is a multicast address'],
    ['169.254.0.5/16', 'it is a link-local address'],
    ['::ffff:192.0.2.5/96', 'it is IPv4 written as IPv6: write the IPv4 address'],
    ['2001:db8::/64', 'it is the network address of 2001:db8::/64'],
  ])('can be used by a host: %s cannot', (text, why) => {
    const parts = compute(text, { gateway: '' })
    expect(of({ ...parts, ...wide })).toEqual([`${device(4)}.ipAddrs[0]: Invalid value: "${text}": ${why}`])
  })

  test.each(['192.168.101.50/31', '192.168.101.51/31'])('of a subnet of two can be used: %s', text => {
    expect(of({ ...compute(text, { gateway: '' }) })).toEqual([])
  })

  it('has neighbours, but not every address of the world', () => {
    expect(of({ ...compute('10.0.0.5/0', { gateway: '10.0.0.1' }), ...wide })).toEqual([
      expect.stringContaining('with a prefix length of 0'),
    ])
    expect(warnedOf(compute('192.168.101.5/32', { gateway: '' }))[0]).toContain('it is alone in its subnet')
  })

  it('is not a gateway of any host, and not the nameserver of its own', () => {
    expect(of(compute('192.168.101.1/24'))).toEqual([
      expect.stringContaining(`it is the gateway of ${device(0)}.gateway: give the host another`),
    ])
    expect(of(compute('192.168.101.2/24'))).toEqual([
      `${device(4)}.nameservers[0]: Invalid value: "192.168.101.2": it is the address of the host itself: name another`,
    ])
  })

  it('is none of those that move between nodes', () => {
    expect(of({ vsphere: { apiVIPs: ['192.168.101.245'], ingressVIPs: ['192.168.101.9'] } })).toEqual([
      `${device(5)}.ipAddrs[0]: Invalid value: "192.168.101.245/24": it is platform.vsphere.apiVIPs[0] too, which moves between nodes: give the host another`,
    ])
    expect(of({ vsphere: { apiVIP: 'x' } })).toEqual([
      'platform.vsphere.apiVIP: Invalid value: "x": "x" is not a valid IP',
    ])
  })

  it('is in the network of the machines', () => {
    expect(of(compute('192.168.102.5/24', { gateway: '192.168.102.1' }))).toEqual([
      `${device(4)}.ipAddrs[0]: Invalid value: "192.168.102.5/24": it is in none of networking.machineNetwork (192.168.101.0/24): correct the address, or add its network there`,
    ])
    expect(of({ networking: { machineNetwork: [{ cidr: 'x' }] } })).toEqual([
      'networking.machineNetwork[0].cidr: Invalid value: "x": invalid CIDR address: x',
    ])
  })

  it('outside of the network that the installer takes by itself is a warning', () => {
    expect(of({ networking: {} })).toEqual([])
    expect(warnedOf({ networking: {} })).toHaveLength(7)
  })

  it('that the ledger holds is refused, with who holds it', () => {
    const held = (text: string) => [
      { cidr: orThrow(parseCIDR(text)), holder: 'IPAddressClaim default/web-0 in space lab' },
    ]
    expect(faultsIn(installConfig(), held('192.168.101.247/32'))).toEqual([])
    expect(faultsIn(installConfig(), held('192.168.101.244/31'))).toHaveLength(2)
    expect(faultsIn(installConfig(), held('192.168.101.244/32')).map(({ check, message }) => [check, message])).toEqual(
      [
        [
          'AddressHeld',
          'Invalid value: "192.168.101.244/24": it is held by IPAddressClaim default/web-0 in space lab: give the host another',
        ],
      ],
    )
  })

  it('beside another of its family is a warning', () => {
    const two = { ...aDevice('192.168.101.50/24', '192.168.101.51/24') }
    expect(warnedOf(withCompute(two))).toEqual([expect.stringContaining('2 addresses of IPv4 on one device')])
  })
})

describe('a gateway', () => {
  const compute = (more: object, ...texts: string[]) => withCompute({ ...aDevice(...texts), ...more })
  const both = { networking: { machineNetwork: [{ cidr: '192.168.101.0/24' }, { cidr: '2001:db8::/64' }] } }

  it('that is left out is a warning, for there is no default route', () => {
    expect(of(compute({ gateway: '' }, '192.168.101.5/24'))).toEqual([])
    expect(warnedOf(compute({ gateway: '' }, '192.168.101.5/24'))).toEqual([
      `${device(4)}.gateway: IPv4 has no default route: name the gateway`,
    ])
  })

  it('has the family of an address of the host', () => {
    expect(of(compute({ gateway: '2001:db8::1' }, '192.168.101.5/24'))).toEqual([
      `${device(4)}.gateway: Invalid value: "2001:db8::1": no address of the host is IPv6: it would be dropped; add one, or name a gateway of the other family`,
    ])
  })

  it('is in the subnet of an address, or is a link-local address of IPv6', () => {
    expect(of(compute({ gateway: '192.168.102.1' }, '192.168.101.5/24'))).toEqual([
      `${device(4)}.gateway: Invalid value: "192.168.102.1": it is outside of 192.168.101.0/24, so no packet would reach it: correct it, or the prefix of the address`,
    ])
    const ipv6 = { gateway: 'fe80::1', nameservers: ['2001:db8::53'] }
    expect(of({ ...compute(ipv6, '2001:db8::5/64'), ...both })).toEqual([])
  })

  it('is one, so that the other family of a host has none: a warning', () => {
    expect(warnedOf({ ...compute({}, '192.168.101.5/24', '2001:db8::5/64'), ...both })).toEqual([
      expect.stringContaining('IPv6 has no default route, for a host has one gateway'),
    ])
  })

  test.each(['0.0.0.0', '224.0.0.1', '127.0.0.1', '::ffff:192.168.101.1'])(
    'is the address of a host: %s is not',
    gateway => {
      expect(of(compute({ gateway }, '192.168.101.5/24'))).toEqual([
        expect.stringContaining('it is the address of no host'),
      ])
    },
  )
})

describe('nameservers', () => {
  it('that are left out are a warning, for without DHCP none is learnt', () => {
    const without = withCompute({ ...aDevice('192.168.101.5/24'), nameservers: [] })
    expect(of(without)).toEqual([])
    expect(warnedOf(without)).toContainEqual(
      expect.stringContaining(`${device(4)}.nameservers: no nameserver is named`),
    )
  })

  it('of a family that the host has no address of are a warning: the guest drops them', () => {
    const nameservers = ['192.168.101.2', '2001:db8::53']
    expect(warnedOf(withCompute({ ...aDevice('192.168.101.5/24'), nameservers }))).toContainEqual(
      `${device(4)}.nameservers[1]: Invalid value: "2001:db8::53": it is dropped at boot: no device has IPv6`,
    )
  })

  it('that differ between hosts of a role are a warning, for sets have one template', () => {
    const other = threeAndThree().map((host, i) =>
      i === 3 ? { ...host, networkDevice: { ...aDevice('192.168.101.243/24'), nameservers: ['192.168.101.3'] } } : host,
    )
    expect(warnedOf({ hosts: other })).toEqual([
      expect.stringContaining(
        `hosts of the role control-plane have different nameservers: machines that are made later have those of ${device(3)}`,
      ),
    ])
  })
})

describe('a file', () => {
  it('tells the line and the column of each fault', () => {
    const text = installConfig().replace('role: compute', 'role: conpute')
    const line = text.split('\n').findIndex(one => one.includes('conpute')) + 1
    const column = (text.split('\n')[line - 1]?.indexOf('conpute') ?? 0) + 1
    expect(faultsIn(text).find(({ check }) => check === 'RoleUnknown')).toMatchObject({ line, column })
  })

  test.each([
    ['', 'TypeWrong'],
    ['- a', 'TypeWrong'],
    ['a: [', 'YAMLMalformed'],
    ['apiVersion: v1', 'TypeWrong'],
    ['platform: {vsphere: {hosts: 5}}', 'TypeWrong'],
    ['platform: {vsphere: {hosts: [5]}}', 'TypeWrong'],
    ['platform: {vsphere: {hosts: [{role: 5}]}}', 'TypeWrong'],
    ['platform: {vsphere: {hosts: [{role: compute, role: bootstrap}]}}', 'KeyTwice'],
    ['platform: {vsphere: {hosts: [{role: compute, Role: bootstrap}]}}', 'KeyTwice'],
    [`platform: {vsphere: {hosts: [${'{},'.repeat(2_001)}]}}`, 'TooLong'],
    ['[['.repeat(500), 'TooLong'],
    ['#'.repeat(1024 * 1024 + 1), 'TooLong'],
    ['controlPlane: {replicas: -1}\nplatform: {vsphere: {}}', 'TypeWrong'],
    ['controlPlane: {replicas: 1.5}\nplatform: {vsphere: {}}', 'TypeWrong'],
  ])('that cannot be read is told so: %.60s', (text, check) => {
    expect(faultsIn(text).map(fault => fault.check)).toContain(check)
  })

  it('may use anchors, and is read with what they stand for', () => {
    const merged =
      'platform: {vsphere: {hosts: [&h {role: bootstrap, networkDevice: {ipAddrs: [10.0.0.5/24]}}, {<<: *h, role: x}]}}'
    expect(said(merged)).toContainEqual(expect.stringContaining('hosts[1].networkDevice.ipAddrs[0]: Duplicate value'))
  })

  it('has all its faults told, also where hundreds of hosts have one address', () => {
    const many = Array.from({ length: 500 }, () => ({ role: 'compute', networkDevice: aDevice('192.168.101.5/24') }))
    expect(faultsIn(installConfig({ hosts: many })).filter(({ check }) => check === 'AddressTwice')).toHaveLength(499)
  })
})
