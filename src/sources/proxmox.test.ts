import { expect, test } from 'vitest'
import { readProxmox } from './proxmox.ts'

const read = (...lines: readonly string[]) =>
  readProxmox({ name: '100.conf', text: ['name: web', 'ostype: l26', ...lines].join('\n') })

test('a card is read with its bridge, VLAN and what cloud-init gives it', () => {
  const { machines, faults } = read(
    '#a%20description',
    'net1: e1000=BC:24:11:00:00:02,bridge=vmbr1',
    'net0: virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=1,tag=100',
    'ipconfig0: ip=10.0.0.5/24,gw=10.0.0.1,ip6=2001:db8::5/64,gw6=2001:db8::1',
    'ipconfig1: ip=dhcp,ip6=auto',
    'nameserver: 10.0.0.53 10.0.0.54',
    'searchdomain: example',
  )
  expect(faults).toEqual([])
  expect(machines).toMatchObject([
    {
      id: '100',
      name: 'web',
      guestId: 'l26',
      addressesFrom: 'configuration',
      nics: [
        {
          key: 'net0',
          mac: 'bc:24:11:00:00:01',
          model: 'virtio',
          network: 'vmbr0',
          vlan: 100,
          startConnected: true,
          ips: [
            { address: '10.0.0.5', prefix: 24, origin: 'manual' },
            { address: '2001:db8::5', prefix: 64, origin: 'manual' },
          ],
          gateways: [
            { address: '10.0.0.1', origin: 'fixed' },
            { address: '2001:db8::1', origin: 'fixed' },
          ],
          dns: ['10.0.0.53', '10.0.0.54'],
          searchDomains: ['example'],
        },
        { key: 'net1', mac: 'bc:24:11:00:00:02', network: 'vmbr1', ips: [], gateways: [] },
      ],
    },
  ])
})

test('B41 a card whose link is down is not connected at the start', () => {
  const { machines } = read('net0: virtio=BC:24:11:00:00:01,bridge=vmbr0,link_down=1')
  expect(machines[0]?.nics[0]?.startConnected).toBe(false)
})

test('what belongs to a snapshot is not read', () => {
  const { machines } = read(
    'net0: virtio=BC:24:11:00:00:01',
    '',
    '[before]',
    'net0: virtio=BC:24:11:00:00:99',
    'net1: virtio=BC:24:11:00:00:98',
  )
  expect(machines[0]?.nics.map(({ mac }) => mac)).toEqual(['bc:24:11:00:00:01'])
})

test('a template is left out', () => {
  expect(read('template: 1')).toEqual({ machines: [], leftOut: [{ name: 'web', reason: 'Template' }], faults: [] })
})

test.each([
  ['no setting', '100.conf, line 3', 'it is no setting: write "key: value"'],
  ['net0: virtio=BC:24:11,bridge=vmbr0', '100.conf, line 3, net0', 'is not a MAC address'],
  ['net0: virtio=BC:24:11:00:00:01\nipconfig0: ip=10.0.0.5', '100.conf, line 4, ipconfig, ip', 'is not a CIDR'],
])('%j is refused with its place', (line, where, problem) => {
  const { faults } = read(line)
  expect(faults).toHaveLength(1)
  expect(faults[0]?.where).toBe(where)
  expect(faults[0]?.problem).toContain(problem)
})

test('a file of another kind is refused', () => {
  expect(readProxmox({ name: 'x.txt', text: '' }).faults[0]?.problem).toContain('it has no name')
})
