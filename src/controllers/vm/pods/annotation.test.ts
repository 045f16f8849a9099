// The annotation of OVN-Kubernetes: keys, MACs and entries.

import { describe, expect, test } from 'vitest'
import { orThrow } from '../../../../test/harness/or-throw.ts'
import { parseLauncherPod } from '../../../api/launcher-pod.ts'
import { parseIP, toIPText } from '../../../ip/address.ts'
import { parseMAC } from '../../../ip/mac.ts'
import { entriesOf, ipMadeInto, linkLocalOf, macOfIP, selectionsOf, shownNetworksOf, toEntry } from './annotation.ts'

const ip = (text: string) => orThrow(parseIP(text))
const mac = orThrow(parseMAC('02:00:5e:10:00:01'))

function aPod(annotations: Readonly<Record<string, string>>) {
  return orThrow(parseLauncherPod({ metadata: { name: 'p', namespace: 'ns', annotations } }))
}

test.each([
  ['192.168.0.3', '0a:58:c0:a8:00:03'],
  ['2001:db8::1', '0a:58:5a:fd:19:e8'],
  ['fd10::2', '0a:58:da:be:69:67'],
  ['255.255.255.255', '0a:58:ff:ff:ff:ff'],
])('the MAC of %s is %s', (address, text) => {
  expect(macOfIP(ip(address))).toBe(text)
})

test.each([
  ['0a:58:c0:a8:00:01', 'fe80::858:c0ff:fea8:1'],
  ['0a:58:0a:00:00:01', 'fe80::858:aff:fe00:1'],
])('V5: the link-local address of %s is %s', (text, address) => {
  expect(toIPText(linkLocalOf(orThrow(parseMAC(text))))).toBe(address)
})

test.each([
  ['0a:58:c0:a8:00:03', '192.168.0.3'],
  ['02:58:c0:a8:00:03', undefined],
])('%s is made from %s', (text, address) => {
  const made = ipMadeInto(orThrow(parseMAC(text)))
  expect(made && toIPText(made)).toBe(address)
})

test('interfaces on one NetworkAttachmentDefinition are counted in their keys', () => {
  const pod = aPod({ 'k8s.v1.cni.cncf.io/networks': 'nad,other/nad,nad@net2,nad' })
  expect(selectionsOf(pod).map(({ key }) => key)).toEqual(['ns/nad', 'other/nad', 'ns/nad/1', 'ns/nad/2'])
})

test.each<[string, object, object]>([
  [
    'of one address has its single form too',
    { ips: [{ ip: ip('10.0.0.5'), prefix: 24 }], ovn: { isPrimary: false, gateways: [ip('10.0.0.1')] } },
    { ip_addresses: ['10.0.0.5/24'], ip_address: '10.0.0.5/24', role: 'secondary' },
  ],
  [
    'of a primary network has the gateways of its families',
    {
      ips: [{ ip: ip('10.0.0.5'), prefix: 24 }],
      ovn: { isPrimary: true, gateways: [ip('10.0.0.1'), ip('fd00::1')] },
    },
    {
      ...{ ip_addresses: ['10.0.0.5/24'], ip_address: '10.0.0.5/24' },
      ...{ gateway_ips: ['10.0.0.1'], gateway_ip: '10.0.0.1', role: 'primary' },
    },
  ],
  [
    '76: of both families has lists alone, and the link-local address of the gateway',
    {
      ips: [
        { ip: ip('10.0.0.5'), prefix: 24 },
        { ip: ip('fd00::5'), prefix: 64 },
      ],
      ovn: { isPrimary: true, gateways: [ip('10.0.0.1'), ip('fd00::1')] },
    },
    {
      ip_addresses: ['10.0.0.5/24', 'fd00::5/64'],
      gateway_ips: ['10.0.0.1', 'fd00::1'],
      ipv6_lla_gateway_ip: 'fe80::858:aff:fe00:1',
      role: 'primary',
    },
  ],
  [
    '76: of IPv6 alone has that of its own gateway',
    { ips: [{ ip: ip('fd00::5'), prefix: 64 }], ovn: { isPrimary: true, gateways: [ip('2001:db8::1')] } },
    {
      ...{ ip_addresses: ['fd00::5/64'], ip_address: 'fd00::5/64' },
      ...{ gateway_ips: ['2001:db8::1'], gateway_ip: '2001:db8::1', ipv6_lla_gateway_ip: 'fe80::858:5aff:fefd:19e8' },
      role: 'primary',
    },
  ],
])('an entry %s', (_, parts, entry) => {
  expect(toEntry({ ...(parts as Parameters<typeof toEntry>[0]), mac })).toEqual({ ...entry, mac_address: mac })
})

describe('What a pod shows', () => {
  const shown = (value: unknown) =>
    shownNetworksOf(
      aPod({ 'k8s.ovn.org/pod-networks': typeof value === 'string' ? value : JSON.stringify(value) }),
    ).map(({ attachment, ips }) => `${attachment}: ${ips.map(toIPText).join(' ')}`)

  test.each<[string, unknown, string[]]>([
    [
      'is read by attachment',
      { 'ns/nad': { ip_addresses: ['10.0.0.5/24', 'fd00::5/64'] } },
      ['ns/nad: 10.0.0.5 fd00::5'],
    ],
    ['is read of each interface', { 'ns/nad/1': { ip_address: '10.0.0.5/24' } }, ['ns/nad: 10.0.0.5']],
    ['of the pod network is no concern', { default: { ip_addresses: ['10.0.0.5/24'] } }, []],
    ['under a key that is none does not count', { 'a/b/c': {}, '/b': {}, 'a/b/1/2': {} }, []],
    ['and cannot be read does not count', { 'ns/nad': { ip_addresses: ['x', 7], ip_address: {} } }, ['ns/nad: ']],
    ['and is no JSON does not count', 'nonsense', []],
    ['and is a list does not count', [], []],
  ])('%s', (_, value, networks) => {
    expect(shown(value)).toEqual(networks)
  })

  test('and is no object is told apart from nothing', () => {
    expect(entriesOf(aPod({}))).toEqual({})
    expect(entriesOf(aPod({ 'k8s.ovn.org/pod-networks': '3' }))).toHaveProperty('malformed')
  })
})
