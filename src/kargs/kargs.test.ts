import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { vectors } from '../../test/kargs/vectors.ts'
import { fromValue, parseIP, toIPText } from '../ip/address.ts'
import { isMalformed } from '../ip/malformed.ts'
import { bootGuest } from './boot.ts'
import type { NetworkDevice, PoolAddress } from './device.ts'
import { fromNetmask, toNetmask } from './netmask.ts'
import { hasFaults, printKargs } from './print.ts'
import { readKargs } from './read.ts'

const deviceOf = (device: Partial<NetworkDevice>): NetworkDevice => ({ field: 'devices[0]', ...device })

const pooled = (
  address: string,
  prefix: number | undefined,
  gateway?: string,
  field = 'IPAddress ns/a',
): PoolAddress => ({
  field,
  address,
  prefix,
  gateway,
})

function printed(...devices: readonly Partial<NetworkDevice>[]): string {
  const result = printKargs(devices.map((device, i) => ({ field: `devices[${i}]`, ...device })))
  if (hasFaults(result)) throw new Error(result.faults.join('; '))
  return result.kargs
}

function faultsOf(...devices: readonly Partial<NetworkDevice>[]): readonly string[] {
  const result = printKargs(devices.map((device, i) => ({ field: `devices[${i}]`, ...device })))
  return hasFaults(result) ? result.faults : []
}

describe('kernel arguments of a machine with one device', () => {
  test.each(vectors)('$name', ({ devices, kargs }) => {
    expect(printKargs(devices)).toEqual({ kargs })
  })

  it('are nothing where everything comes by DHCP', () => {
    expect(printed({}, {})).toBe('')
  })

  test.each([
    [0, '0.0.0.0'],
    [8, '255.0.0.0'],
    [17, '255.255.128.0'],
    [20, '255.255.240.0'],
    [23, '255.255.254.0'],
    [25, '255.255.255.128'],
    [30, '255.255.255.252'],
    [31, '255.255.255.254'],
    [32, '255.255.255.255'],
  ])('/%i has the mask %s', (bits, mask) => {
    expect(toNetmask(bits)).toBe(mask)
    const ip = parseIP(mask)
    expect(isMalformed(ip) ? undefined : fromNetmask(ip)).toBe(bits)
  })
})

describe('the gateway of an address', () => {
  it('is that of the device where its IPAddress has none', () => {
    expect(printed({ poolAddresses: [pooled('10.0.0.5', 24)], gateway: '10.0.0.1' })).toBe(
      'ip=10.0.0.5::10.0.0.1:255.255.255.0:::none',
    )
  })

  it('is that of an IPAddress before that of the device, also of an address that is written out', () => {
    const device = {
      ipAddrs: ['10.0.0.4/24'],
      poolAddresses: [pooled('10.0.0.5', 24, '10.0.0.254')],
      gateway: '10.0.0.1',
    }
    expect(printed(device)).toBe(
      'ip=10.0.0.4::10.0.0.254:255.255.255.0:::none ip=10.0.0.5::10.0.0.254:255.255.255.0:::none',
    )
  })

  it('is kept for each family of a dual-stack device', () => {
    const poolAddresses = [pooled('10.0.0.5', 24, '10.0.0.1'), pooled('2001:db8::5', 64, '2001:db8::1')]
    expect(printed({ poolAddresses })).toBe(
      'ip=10.0.0.5::10.0.0.1:255.255.255.0:::none ip=[2001:db8::5]::[2001:db8::1]:64:::none',
    )
  })

  it('is that of a neighbour of its family where it has none', () => {
    const poolAddresses = [pooled('10.0.0.5', 24, '10.0.0.1'), pooled('10.0.0.6', 24)]
    expect(printed({ poolAddresses })).toBe(
      'ip=10.0.0.5::10.0.0.1:255.255.255.0:::none ip=10.0.0.6::10.0.0.1:255.255.255.0:::none',
    )
  })
})

describe('what is no address', () => {
  it('is refused with its field, and nothing is printed', () => {
    const device = {
      ipAddrs: ['10.0.0.5'],
      poolAddresses: [
        pooled('10.0.0.6', 33),
        pooled('10.0.0.7', undefined),
        pooled('x', 24),
        pooled('10.0.0.8', 24, 'gw'),
      ],
      gateway: 'foo',
      nameservers: ['192.0.2.1', 'foo', ''],
    }
    expect(faultsOf(device).map(text => text.split(': ').slice(0, 2).join(': '))).toEqual([
      'devices[0].ipAddrs[0]: "10.0.0.5" is not a CIDR',
      'IPAddress ns/a: spec.prefix',
      'IPAddress ns/a: spec.prefix',
      'IPAddress ns/a: spec.address',
      'IPAddress ns/a: spec.gateway',
      'devices[0].gateway: "foo" is not an IP address',
      'devices[0].nameservers[1]: "foo" is not an IP address',
      'devices[0].nameservers[2]: "" is not an IP address',
    ])
  })

  test.each([
    '10.0.0.1 rd.break',
    '10.0.0.1:x',
    '[10.0.0.1]',
    'fe80::1%eth0',
    '0.0.0.0',
    '::',
    '224.0.0.1',
    '::ffff:10.0.0.1',
  ])('gets into no argument: %s', text => {
    expect(faultsOf({ ipAddrs: ['10.0.0.5/24'], gateway: text })).toHaveLength(1)
    expect(faultsOf({ ipAddrs: ['10.0.0.5/24'], nameservers: [text] })).toHaveLength(1)
  })

  test.each(['ens 192', 'ens192:dhcp', 'sixteen-letters-', '', '00:50:56:aa:bb'])('names no device: %j', nic => {
    expect(faultsOf({ nic, ipAddrs: ['10.0.0.5/24'] })).toEqual([expect.stringContaining('devices[0].nic: ')])
  })
})

describe('a machine with several devices', () => {
  const one = { nic: '00:50:56:AA:bb:01', ipAddrs: ['10.0.0.5/24'], gateway: '10.0.0.1', nameservers: ['10.0.0.2'] }
  const two = { nic: 'ens224', ipAddrs: ['10.1.0.5/24'], nameservers: ['10.1.0.2'] }

  it('has the device in each item', () => {
    expect(printed(one, two)).toBe(
      'ip=10.0.0.5::10.0.0.1:255.255.255.0::00-50-56-aa-bb-01:none nameserver=10.0.0.2 ' +
        'ip=10.1.0.5:::255.255.255.0::ens224:none nameserver=10.1.0.2',
    )
  })

  it('is refused where one of two devices with addresses has no name, or both have one', () => {
    expect(faultsOf(one, { ...two, nic: undefined })).toEqual([
      'devices[1]: several devices have addresses, so each needs its MAC or the name of its interface',
    ])
    expect(faultsOf(one, { ...two, nic: '00-50-56-aa-bb-01' })).toEqual([
      'devices[1].nic: 00-50-56-aa-bb-01 is that of devices[0] too',
    ])
  })

  it('needs no name where only one of them has addresses', () => {
    expect(printed({ ...one, nic: undefined }, {})).toBe(
      'ip=10.0.0.5::10.0.0.1:255.255.255.0:::none nameserver=10.0.0.2',
    )
  })
})

describe('a guest', () => {
  const connectionOf = (kargs: string) => readKargs(kargs).connections[0]

  it('with IPv4 alone has IPv6 off, and the other way round', () => {
    expect(connectionOf('ip=10.0.0.5::10.0.0.1:255.255.254.0:::none')).toMatchObject({
      ipv4: { method: 'manual', addresses: ['10.0.0.5/23'], gateway: '10.0.0.1' },
      ipv6: { method: 'disabled' },
    })
    expect(connectionOf('ip=[2001:db8::5]:::64:::none')).toMatchObject({
      ipv4: { method: 'disabled' },
      ipv6: { method: 'manual', addresses: ['2001:db8::5/64'], gateway: undefined },
    })
  })

  it('does not use a nameserver of a family that it has no address of', () => {
    const { connections, dropped } = readKargs('ip=10.0.0.5:::255.255.255.0:::none nameserver=[2001:db8::53]')
    expect(connections[0]?.ipv6.nameservers).toEqual([])
    expect(dropped).toEqual([{ item: 'nameserver=[2001:db8::53]', why: 'no device has IPv6' }])
  })

  it('puts all items without the name of a device on one device', () => {
    const { connections } = readKargs('ip=10.0.0.5:::255.255.255.0:::none ip=10.1.0.5:::255.255.255.0:::none')
    expect(connections).toHaveLength(1)
    expect(connections[0]).toMatchObject({ nic: undefined, ipv4: { addresses: ['10.0.0.5/24', '10.1.0.5/24'] } })
  })

  it('gets nothing at all from a gateway whose family has no address', () => {
    const { connections, dropped } = readKargs('ip=10.0.0.5::[2001:db8::1]:255.255.255.0:::none')
    expect(connections).toEqual([])
    expect(dropped[0]?.why).toContain('the device gets nothing')
  })

  it('takes the last gateway of a family', () => {
    const { connections, dropped } = readKargs('ip=10.0.0.5::10.0.0.1:24:::none ip=10.0.0.6::10.0.0.2:24:::none')
    expect(connections[0]?.ipv4.gateway).toBe('10.0.0.2')
    expect(dropped).toHaveLength(1)
  })

  it('has a family that DHCP would serve off again once the other one has an address', () => {
    expect(connectionOf('ip=dhcp ip=10.0.0.5:::24:::none')).toMatchObject({
      ipv4: { method: 'manual' },
      ipv6: { method: 'disabled' },
    })
    expect(connectionOf('ip=10.0.0.5:::24:::none ip=auto6')).toMatchObject({
      ipv4: { method: 'manual' },
      ipv6: { method: 'auto' },
    })
  })

  it('takes the mask of the old classes where there is none', () => {
    expect(connectionOf('ip=172.16.0.5::::::none')?.ipv4.addresses).toEqual(['172.16.0.5/16'])
    expect(connectionOf('ip=[2001:db8::5]::::::none')?.ipv6.addresses).toEqual(['2001:db8::5/64'])
  })

  it('makes of whatever is printed what was asked for', () => {
    const family = fc.constantFrom(4 as const, 6 as const)
    const ip4 = fc.integer({ min: 0x0a000001, max: 0x0affffff }).map(value => toIPText(fromValue(4, BigInt(value))))
    const ip6 = fc
      .bigInt({ min: 1n << 125n, max: (1n << 125n) + (1n << 90n) })
      .map(value => toIPText(fromValue(6, value)))
    const address = family.chain(one =>
      fc.record({
        ip: one === 4 ? ip4 : ip6,
        bits: fc.integer({ min: 0, max: one === 4 ? 32 : 128 }),
        gateway: fc.option(one === 4 ? ip4 : ip6, { nil: undefined }),
      }),
    )
    const device = fc.record({
      addresses: fc.array(address, { minLength: 1, maxLength: 3 }),
      servers: fc.array(fc.oneof(ip4, ip6), { maxLength: 3 }),
    })
    fc.assert(
      fc.property(fc.array(device, { minLength: 1, maxLength: 3 }), devices => {
        const kargs = printed(
          ...devices.map(({ addresses, servers }, i) => ({
            nic: `ens${i}`,
            poolAddresses: addresses.map(({ ip, bits, gateway }) => pooled(ip, bits, gateway)),
            nameservers: servers,
          })),
        )
        const { connections } = readKargs(kargs)
        const wanted = devices.map(({ addresses }) =>
          [...new Set(addresses.map(({ ip, bits }) => `${ip}/${bits}`))].toSorted(),
        )
        expect(connections.map(({ ipv4, ipv6 }) => [...ipv4.addresses, ...ipv6.addresses].toSorted())).toEqual(wanted)
        expect(connections.map(({ nic }) => nic)).toEqual(
          devices.length > 1 ? devices.map((_, i) => `ens${i}`) : [undefined],
        )
      }),
      { numRuns: 100 },
    )
  })
})

describe('a boot', () => {
  const told = { kargs: 'ip=10.0.0.5::10.0.0.1:24:::none', commandLine: 'quiet', connectionFiles: [] }
  const addressesOf = ({ connections }: ReturnType<typeof bootGuest>) =>
    connections.flatMap(({ ipv4 }) => [...ipv4.addresses, ...(ipv4.method === 'auto' ? ['DHCP'] : [])])

  it('which is the first takes what the virtual machine was told, and the next ones have it whatever it is told then', () => {
    const first = bootGuest(told)
    expect(addressesOf(first)).toEqual(['10.0.0.5/24'])
    const second = bootGuest({ ...told, kargs: 'ip=10.0.0.9:::24:::none' }, first.disk)
    expect(addressesOf(second)).toEqual(['10.0.0.5/24'])
    expect(addressesOf(bootGuest({ ...told, commandLine: 'ip=dhcp' }, second.disk))).toEqual(['10.0.0.5/24'])
    expect([first.why, second.why]).toEqual([undefined, undefined])
  })

  it('with ip= on its own command line has that, at later boots too, and says why', () => {
    const first = bootGuest({ ...told, commandLine: 'quiet ip=dhcp rw' })
    expect(addressesOf(first)).toEqual(['DHCP'])
    expect(first.why).toBe('its own command line has ip=dhcp, so it does not look at what it is told')
    expect(addressesOf(bootGuest(told, first.disk))).toEqual(['DHCP'])
    expect(bootGuest({ ...told, kargs: '', commandLine: 'ip=dhcp' }).why).toBeUndefined()
  })

  it('after Ignition wrote connections has those, though the first one had what it was told', () => {
    const first = bootGuest({ ...told, connectionFiles: ['/etc/x.nmconnection'] })
    expect(addressesOf(first)).toEqual(['10.0.0.5/24'])
    expect(first.why).toBeUndefined()
    const second = bootGuest(told, first.disk)
    expect(addressesOf(second)).toEqual([])
    expect(second.why).toMatch(/^Ignition writes \/etc\/x.nmconnection, so after its first boot/)
  })
})

it('a device that is called by its MAC is one with colons to NetworkManager', () => {
  const kargs = printed(deviceOf({ nic: '00-50-56-AA-BB-01', ipAddrs: ['10.0.0.5/24'] }), deviceOf({}))
  expect(readKargs(kargs).connections[0]?.nic).toBe('00:50:56:aa:bb:01')
})
