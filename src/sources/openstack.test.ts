import { expect, test } from 'vitest'
import { readOpenStack } from './openstack.ts'

const file = (name: string, value: unknown) => ({ name, text: JSON.stringify(value) })

const server = { id: 'srv-1', name: 'web', status: 'ACTIVE', addresses: {} }
const subnets = [
  {
    id: 'sub-4',
    cidr: '10.0.0.0/24',
    gateway_ip: '10.0.0.1',
    dns_nameservers: ['10.0.0.53'],
    enable_dhcp: true,
    host_routes: [{ destination: '192.168.0.0/16', nexthop: '10.0.0.2' }],
  },
  { id: 'sub-6', cidr: '2001:db8::/64', gateway_ip: null, dns_nameservers: [], enable_dhcp: false, host_routes: [] },
]
const port = {
  id: 'port-1',
  network_id: 'net-1',
  device_id: 'srv-1',
  mac_address: 'FA:16:3E:00:00:01',
  admin_state_up: true,
  fixed_ips: [
    { subnet_id: 'sub-4', ip_address: '10.0.0.5' },
    { subnet_id: 'sub-4', ip_address: '10.0.0.6' },
    { subnet_id: 'sub-6', ip_address: '2001:db8::5' },
  ],
}
const networks = [{ id: 'net-1', name: 'prod' }]

test('B39 a port with several fixed addresses is one card; prefix and gateway come from its subnets', () => {
  const { machines, faults } = readOpenStack([
    file('servers.json', { servers: [server] }),
    file('ports.json', { ports: [port, { ...port, id: 'router', device_id: 'rtr-1' }] }),
    file('subnets.json', { subnets }),
    file('networks.json', { networks }),
  ])
  expect(faults).toEqual([])
  expect(machines).toEqual([
    {
      source: { kind: 'openstack', from: 'servers.json' },
      id: 'srv-1',
      name: 'web',
      powerState: 'on',
      addressesFrom: 'platform',
      notes: [],
      nics: [
        {
          key: 'port-1',
          mac: 'fa:16:3e:00:00:01',
          network: 'prod',
          networkId: 'net-1',
          startConnected: true,
          ips: [
            { address: '10.0.0.5', prefix: 24, origin: 'dhcp' },
            { address: '10.0.0.6', prefix: 24, origin: 'dhcp' },
            { address: '2001:db8::5', prefix: 64, origin: 'manual' },
          ],
          gateways: [{ address: '10.0.0.1', origin: 'fixed' }],
          routes: [{ destination: '192.168.0.0/16', gateway: '10.0.0.2' }],
          dns: ['10.0.0.53'],
          searchDomains: [],
        },
      ],
    },
  ])
})

const entry = (addr: string, type: string, mac = 'fa:16:3e:00:00:01') => ({
  addr,
  version: 4,
  'OS-EXT-IPS-MAC:mac_addr': mac,
  'OS-EXT-IPS:type': type,
})

test('B39 without ports, entries of one MAC are one card, and floating ones add nothing', () => {
  const prod = [entry('10.0.0.5', 'fixed'), entry('10.0.0.6', 'fixed'), entry('198.51.100.7', 'floating')]
  const { machines } = readOpenStack([
    file('s.json', {
      server: { ...server, addresses: { prod, dmz: [entry('10.9.0.5', 'fixed', 'fa:16:3e:00:00:02')] } },
    }),
  ])
  expect(machines[0]?.nics).toMatchObject([
    {
      mac: 'fa:16:3e:00:00:01',
      network: 'prod',
      ips: [{ address: '10.0.0.5' }, { address: '10.0.0.6' }],
      gateways: [],
    },
    { mac: 'fa:16:3e:00:00:02', network: 'dmz', ips: [{ address: '10.9.0.5' }] },
  ])
})

test('addresses that a machine may use beside its own are noted', () => {
  const pairs = [{ ip_address: '10.0.0.100' }, { ip_address: '10.8.0.0/24' }]
  const { machines } = readOpenStack([
    file('all.json', { servers: [server], ports: [{ ...port, allowed_address_pairs: pairs }] }),
  ])
  expect(machines[0]?.notes).toEqual([
    {
      reason: 'AllowedAddressPairs',
      nic: 'port-1',
      message: 'the machine may also send from 10.0.0.100, 10.8.0.0/24 (allowed_address_pairs)',
    },
  ])
})

test.each([
  [{ ports: [port] }, 'a.json', 'there is no server: give what GET /servers/detail'],
  [{ servers: [{ name: 'x' }] }, 'a.json, servers[0]', 'it has no id'],
  [
    { servers: [server], ports: [{ ...port, mac_address: 'x' }] },
    'a.json, ports[0].mac_address',
    'is not a MAC address',
  ],
  [
    { servers: [server], ports: [{ ...port, fixed_ips: [{ ip_address: '10.0.0' }] }] },
    'a.json, ports[0].fixed_ips[0].ip_address',
    'is not an IP address',
  ],
])('%j is refused with its place', (value, where, problem) => {
  const { faults } = readOpenStack([file('a.json', value)])
  expect(faults).toHaveLength(1)
  expect(faults[0]?.where).toBe(where)
  expect(faults[0]?.problem).toContain(problem)
})
