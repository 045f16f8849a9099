// Devices and the kernel arguments that the machine controller of OpenShift writes for them. Ours are the same to the byte; the lane
// `npm run test:kargs` shows each to NetworkManager's own reader.

import type { NetworkDevice, PoolAddress } from '../../src/kargs/device.ts'

interface Vector {
  readonly name: string
  readonly devices: readonly NetworkDevice[]
  readonly kargs: string
}

const field = 'devices[0]'

const pooled = (address: string, prefix: number, gateway?: string): PoolAddress => ({
  field: `IPAddress default/${address}`,
  address,
  prefix,
  gateway,
})

const one = (name: string, device: Omit<NetworkDevice, 'field'>, kargs: string): Vector => ({
  name,
  devices: [{ field, ...device }],
  kargs,
})

export const vectors: readonly Vector[] = [
  one(
    'an IPv4 address has a dotted mask',
    { ipAddrs: ['192.168.1.2/24'], gateway: '192.168.1.1', nameservers: ['192.168.1.100'] },
    'ip=192.168.1.2::192.168.1.1:255.255.255.0:::none nameserver=192.168.1.100',
  ),
  one(
    'an IPv6 address is in brackets and has a prefix length',
    { ipAddrs: ['2001::2/64'], gateway: '2001::1', nameservers: ['2001::100'] },
    'ip=[2001::2]::[2001::1]:64:::none nameserver=[2001::100]',
  ),
  one(
    'an IPv4 gateway does not get into the item of the IPv6 address',
    { ipAddrs: ['192.168.1.2/24', '2001::2/64'], gateway: '192.168.1.1', nameservers: ['192.168.1.100'] },
    'ip=192.168.1.2::192.168.1.1:255.255.255.0:::none ip=[2001::2]:::64:::none nameserver=192.168.1.100',
  ),
  one(
    'an address of a pool brings its gateway',
    { poolAddresses: [pooled('192.168.1.11', 24, '192.168.1.1')], nameservers: ['192.168.1.100'] },
    'ip=192.168.1.11::192.168.1.1:255.255.255.0:::none nameserver=192.168.1.100',
  ),
  one(
    'an address that is written out comes before one of a pool, with the same gateway',
    { ipAddrs: ['192.168.1.2/24'], poolAddresses: [pooled('192.168.1.11', 24, '192.168.1.1')] },
    'ip=192.168.1.2::192.168.1.1:255.255.255.0:::none ip=192.168.1.11::192.168.1.1:255.255.255.0:::none',
  ),
  one('gateway and nameservers may be left out', { ipAddrs: ['10.0.0.5/23'] }, 'ip=10.0.0.5:::255.255.254.0:::none'),
  one(
    'an address is written in its one short form, a gateway as it was written',
    { ipAddrs: ['2001:DB8:0000:0000:244:17FF:FEB6:D37D/64'], gateway: '2001:DB8::1' },
    'ip=[2001:db8::244:17ff:feb6:d37d]::[2001:DB8::1]:64:::none',
  ),
  one(
    'an IPv6 gateway does not get into the item of an IPv4 address',
    { ipAddrs: ['10.0.0.5/24'], gateway: '2001:db8::1' },
    'ip=10.0.0.5:::255.255.255.0:::none',
  ),
  one(
    'two addresses are two items',
    { ipAddrs: ['10.0.0.5/24', '10.0.0.6/24'], gateway: '10.0.0.1' },
    'ip=10.0.0.5::10.0.0.1:255.255.255.0:::none ip=10.0.0.6::10.0.0.1:255.255.255.0:::none',
  ),
  one('nameservers may be all there is', { nameservers: ['10.0.0.2'] }, 'nameserver=10.0.0.2'),
  one(
    'three nameservers stand in their order behind all addresses',
    { ipAddrs: ['10.0.0.5/24', '10.0.0.6/24'], nameservers: ['10.0.0.4', '10.0.0.3', '2001:db8::53'] },
    'ip=10.0.0.5:::255.255.255.0:::none ip=10.0.0.6:::255.255.255.0:::none ' +
      'nameserver=10.0.0.4 nameserver=10.0.0.3 nameserver=[2001:db8::53]',
  ),
  one('a single address has a full mask', { ipAddrs: ['10.0.0.5/32'] }, 'ip=10.0.0.5:::255.255.255.255:::none'),
  one(
    'IPv4 that is written as IPv6 is IPv6',
    { ipAddrs: ['::ffff:192.0.2.5/96'] },
    'ip=[::ffff:192.0.2.5]:::96:::none',
  ),
]
