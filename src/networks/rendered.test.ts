import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { parseUserDefinedNetwork } from '../api/user-defined-network.ts'
import { toIPText } from '../ip/address.ts'
import { isMalformed } from '../ip/malformed.ts'
import { parseAttachment } from './attachment.ts'
import { ovnNetworkOf } from './network.ts'
import { renderNetwork } from './rendered.ts'

const cudn = (network: object) =>
  orThrow(parseUserDefinedNetwork({ metadata: { name: 'net' }, spec: { namespaceSelector: {}, network } }))

const layer2 = (config: object = {}) =>
  cudn({ topology: 'Layer2', layer2: { role: 'Primary', subnets: ['10.0.0.0/24'], ...config } })

const render = (config: object = {}) => {
  const rendered = renderNetwork(layer2(config))
  if (rendered === undefined) throw new Error('it is not served')
  return orThrow(rendered)
}

const whyNot = (config: object): string => {
  const rendered = renderNetwork(layer2(config))
  return rendered !== undefined && isMalformed(rendered) ? rendered.malformed : 'it is rendered'
}

describe('the name of the network', () => {
  test('of a UserDefinedNetwork has its namespace in it, and of one of the cluster a prefix', () => {
    const spec = { topology: 'Layer2', layer2: { role: 'Secondary', subnets: ['10.0.0.0/24'] } }
    const metadata = { name: 'net', namespace: 'blue' }
    expect(orThrow(parseUserDefinedNetwork({ metadata, spec })).networkName).toBe('blue_net')
    expect(layer2().networkName).toBe('cluster_udn_net')
  })

  test('is refused if it is longer than a name of a network may be', () => {
    const metadata = { name: 'n'.repeat(253), namespace: 'blue' }
    const spec = { topology: 'Layer2', layer2: { role: 'Secondary', subnets: ['10.0.0.0/24'] } }
    const rendered = renderNetwork(orThrow(parseUserDefinedNetwork({ metadata, spec })))
    expect(rendered).toMatchObject({ malformed: expect.stringContaining('is too long') })
  })
})

describe('the config', () => {
  test('is a text with its keys in order, and has what was said and no more', () => {
    const config = { subnets: ['192.168.100.0/24', '2001:dbb::/64'], mtu: 1500, ipam: { lifecycle: 'Persistent' } }
    const { configIn } = render(config)
    expect(configIn('mynamespace')).toBe(
      '{"allowPersistentIPs":true,"cniVersion":"1.1.0","joinSubnet":"100.65.0.0/16,fd99::/64","mtu":1500,' +
        '"name":"cluster_udn_net","netAttachDefName":"mynamespace/net","role":"primary",' +
        '"subnets":"192.168.100.0/24,2001:dbb::/64","topology":"layer2",' +
        '"transitSubnet":"100.88.0.0/16,fd97::/64","type":"ovn-k8s-cni-overlay"}',
    )
  })

  test('has lists as texts', () => {
    const lists = {
      reservedSubnets: ['10.0.0.200/29', '10.0.0.208/29'],
      infrastructureSubnets: ['10.0.0.0/30'],
      defaultGatewayIPs: ['10.0.0.2'],
      joinSubnets: ['100.70.0.0/16'],
    }
    expect(JSON.parse(render(lists).configIn('a'))).toMatchObject({
      reservedSubnets: '10.0.0.200/29,10.0.0.208/29',
      infrastructureSubnets: '10.0.0.0/30',
      defaultGatewayIPs: '10.0.0.2',
      joinSubnet: '100.70.0.0/16',
    })
  })

  test.each([
    [['10.0.0.0/24'], '100.88.0.0/16,fd97::/64'],
    [['100.88.3.0/24'], '100.89.0.0/16,fd97::/64'],
    [['100.88.0.0/15'], '100.90.0.0/16,fd97::/64'],
    [['10.0.0.0/24', 'fd97::/120'], '100.88.0.0/16,fd97:0:0:1::/64'],
  ])('moves the transit subnets out of the way of %s: %s', (subnets, transit) => {
    expect(JSON.parse(render({ subnets }).configIn('a')).transitSubnet).toBe(transit)
  })

  test('is read back as the network that was meant', () => {
    const { configIn, gateways, management } = render({ defaultGatewayIPs: ['10.0.0.5'] })
    const object = { metadata: { name: 'net', namespace: 'a' }, spec: { config: configIn('a') } }
    const attachment = orThrow(parseAttachment(object))
    if (attachment.reading.family !== 'ovn') throw new Error(attachment.reading.family)
    const network = ovnNetworkOf({ ...attachment, reading: attachment.reading }, {})
    expect(network.ovn?.gateways).toEqual(gateways)
    expect([...gateways, ...management].map(toIPText)).toEqual(['10.0.0.5', '10.0.0.2'])
  })
})

describe('gateway and management', () => {
  test.each([
    ['10.0.0.0/24', [], [], '10.0.0.1', '10.0.0.2'],
    ['10.0.0.0/24', ['10.0.0.5'], [], '10.0.0.5', '10.0.0.2'],
    ['10.0.0.0/24', ['10.0.0.2'], [], '10.0.0.2', '10.0.0.1'],
    ['10.0.0.0/24', [], ['10.0.0.4/30'], '10.0.0.4', '10.0.0.5'],
    ['10.0.0.0/24', [], ['10.0.0.0/30'], '10.0.0.1', '10.0.0.2'],
    ['10.0.0.0/24', ['10.0.0.2'], ['10.0.0.0/30'], '10.0.0.2', '10.0.0.1'],
    ['2001:db8::/64', [], ['2001:db8::/126'], '2001:db8::1', '2001:db8::2'],
  ])('of %s with %j and %j are %s and %s', (subnet, defaultGatewayIPs, infrastructureSubnets, first, second) => {
    const { gateways, management } = render({ subnets: [subnet], defaultGatewayIPs, infrastructureSubnets })
    expect([...gateways, ...management].map(toIPText)).toEqual([first, second])
  })

  test('are none of a secondary network', () => {
    expect(render({ role: 'Secondary' })).toMatchObject({ gateways: [], management: [] })
  })
})

describe('what the definition lets through and no network can have', () => {
  test.each([
    [
      { defaultGatewayIPs: ['10.0.0.0'] },
      /^defaultGatewayIPs: 10\.0\.0\.0 is no address for a host in 10\.0\.0\.0\/24$/,
    ],
    [{ defaultGatewayIPs: ['10.0.0.255'] }, /is no address for a host/],
    [{ reservedSubnets: ['10.0.0.2/32'] }, /^reservedSubnets: 10\.0\.0\.2\/32 has 10\.0\.0\.2 in it, the management/],
    [
      { defaultGatewayIPs: ['10.0.0.201'], reservedSubnets: ['10.0.0.200/29'] },
      /^reservedSubnets: 10\.0\.0\.200\/29 has 10\.0\.0\.201 in it, the gateway of the network: reserve less/,
    ],
    [{ subnets: ['10.0.0.0/31'] }, /^subnets: 10\.0\.0\.0\/31 has no room for a gateway and a host/],
    [{ joinSubnets: ['10.0.0.0/16'] }, /^joinSubnet: 10\.0\.0\.0\/16 and 10\.0\.0\.0\/24 of subnets overlap/],
  ])('%j', (config, why) => {
    expect(whyNot(config)).toMatch(why)
  })

  test('of a localnet network: excludes outside of its subnets', () => {
    const localnet = {
      role: 'Secondary',
      physicalNetworkName: 'x',
      subnets: ['10.0.0.0/24'],
      excludeSubnets: ['10.1.0.0/28'],
    }
    expect(renderNetwork(cudn({ topology: 'Localnet', localnet }))).toMatchObject({
      malformed: expect.stringContaining('excludeSubnets: 10.1.0.0/28 is in none of the subnets'),
    })
  })
})

test('layer3 is not rendered', () => {
  const layer3 = { role: 'Primary', subnets: [{ cidr: '10.0.0.0/16' }] }
  expect(renderNetwork(cudn({ topology: 'Layer3', layer3 }))).toBeUndefined()
})
