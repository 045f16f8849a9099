import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anAttachment, mooring, ovn } from '../../test/harness/attachments.ts'
import { orThrow } from '../../test/harness/or-throw.ts'
import { isMalformed } from '../ip/malformed.ts'
import { configCharsMax } from '../limits.ts'
import { isOVN, parseAttachment } from './attachment.ts'

const read = (config: object | string, annotations: Readonly<Record<string, string>> = {}) =>
  orThrow(parseAttachment(anAttachment('red/vms', config, { annotations })))

const whyOf = (config: object | string, annotations?: Readonly<Record<string, string>>): string => {
  const { reading } = read(config, annotations)
  return 'why' in reading ? `${reading.family}: ${reading.why}` : reading.family
}

describe('a NetworkAttachmentDefinition is of one family', () => {
  test.each([
    ['layer2 of OVN-Kubernetes', ovn(), 'ovn'],
    ['localnet of OVN-Kubernetes', ovn({ topology: 'localnet' }), 'ovn'],
    ['without subnets: only what is asked for is given', ovn({ subnets: '' }), 'ovn'],
    ['its own name in netAttachDefName', ovn({ netAttachDefName: 'red/vms' }), 'ovn'],
    ['an empty ipam beside subnets', ovn({ ipam: {} }), 'ovn'],
    ['in a list of plugins', { name: 'blue', plugins: [{ type: 'tuning' }, ovn({ name: undefined })] }, 'ovn'],
    ['of a bridge', mooring(), 'mooring'],
    ['in a list of plugins of a bridge', { name: 'blue', plugins: [mooring(), { type: 'tuning' }] }, 'mooring'],
    ['that names a pool', mooring({ pool: { kind: 'ClusterAddressPool', name: 'vms' } }), 'mooring'],
    [
      'of both families',
      mooring({ ranges: ['10.0.0.0/24', 'fd00::/64'], gateways: ['10.0.0.1', 'fd00::1'] }),
      'mooring',
    ],
  ])('%s', (_, config, family) => {
    expect(whyOf(config)).toBe(family)
  })

  test.each([
    ['', /^foreign: spec\.config is empty/],
    [{ type: 'bridge', ipam: { type: 'host-local' } }, /^foreign: .* takes no addresses from Mooring/],
    [{ type: 'bridge' }, /^foreign/],
    [{ plugins: [] }, /^foreign/],
    [{ plugins: [null, 7, 'x'] }, /^foreign/],
    [ovn({ topology: 'layer3', subnets: '10.0.0.0/16/24' }), /^foreign: layer3/],
    [ovn({ topology: undefined }), /^foreign: .* default network/],
    ['{', /^malformed: spec\.config is no JSON: unexpected end/],
    ['\u0000', /^malformed: spec\.config is no JSON: invalid character '\\u0000'/],
    ['[]', /^malformed: spec\.config is no JSON object/],
    ['{"type":"a","type":"b"}', /^malformed: spec\.config says "type" twice/],
    ['['.repeat(5_000), /^malformed: spec\.config is no JSON: exceeded max depth/],
    [' '.repeat(configCharsMax + 1) + JSON.stringify(ovn()), /^malformed: spec\.config has \d+ characters: at most/],
    [{ plugins: {} }, /^malformed: spec\.config\.plugins is not a list/],
    [{ plugins: [mooring(), ovn()] }, /^malformed: spec\.config\.plugins\[1\] is the second plugin with addresses/],
  ])('%j', (config, why) => {
    expect(whyOf(config)).toMatch(why)
  })

  test('whatever its text is', () => {
    const field = fc.constantFrom(
      'type',
      'ipam',
      'subnets',
      'plugins',
      '__proto__',
      'constructor',
      'topology',
      'ranges',
    )
    const value = fc.oneof(fc.constantFrom('ovn-k8s-cni-overlay', 'mooring', 'layer2', '10.0.0.0/24'), fc.jsonValue())
    const object = fc.dictionary(field, value).map(one => JSON.stringify(one))
    fc.assert(
      fc.property(fc.oneof(fc.string(), object), text => {
        const attachment = parseAttachment(anAttachment('red/vms', text))
        expect(isMalformed(attachment) || attachment.reading.family).toMatch(/^(ovn|mooring|foreign|malformed)$/)
      }),
    )
  })
})

describe('a network of OVN-Kubernetes is refused that', () => {
  const primary = (config: object = {}) => ovn({ role: 'primary', ...config })

  test.each([
    ['has no name', ovn({ name: undefined }), /config\.name is missing/],
    ['has a name that is none', ovn({ name: '__proto__' }), /config\.name "__proto__" is no name for a network: begin/],
    ['has the name of a pool', ovn({ name: 'ClusterAddressPool.mooring.dev/lab' }), /is no name for a network/],
    ['has a name of any length', ovn({ name: 'a'.repeat(254) }), /is no name for a network: .* at most 253/],
    [
      'is another attachment by its own words',
      ovn({ netAttachDefName: 'red/x' }),
      /netAttachDefName is "red\/x", and this is red\/vms/,
    ],
    [
      'has an unknown topology',
      ovn({ topology: 'Layer2' }),
      /topology "Layer2" is not known: write layer2 or localnet/,
    ],
    ['has a role in capitals', ovn({ role: 'Primary' }), /role is "Primary": write "primary" or "secondary"/],
    [
      'is a primary localnet',
      primary({ topology: 'localnet' }),
      /role is "primary", which a localnet network cannot be/,
    ],
    ['has ipam beside subnets', ovn({ ipam: { type: 'whereabouts' } }), /ipam cannot go with OVN-Kubernetes/],
    ['has ipam of Mooring beside subnets', ovn({ ipam: { type: 'mooring' } }), /ipam cannot go with OVN-Kubernetes/],
    ['has no subnet CIDR', ovn({ subnets: '10.0.0.0/33' }), /subnets: "10\.0\.0\.0\/33" is not a CIDR/],
    ['has a list as subnets', ovn({ subnets: ['10.0.0.0/24'] }), /subnets is a list where a text belongs/],
    ['has an item without text', ovn({ subnets: '10.0.0.0/24,,fd00::/64' }), /subnets: "" is not a CIDR/],
    ['has two subnets of a family', ovn({ subnets: '10.0.0.0/24,10.1.0.0/24' }), /subnets has several of IPv4/],
    ['is primary and has no subnet', primary({ subnets: '' }), /subnets is missing: a primary network needs one/],
    ['is primary and too small', primary({ subnets: '10.0.0.0/31' }), /10\.0\.0\.0\/31 has no room for a gateway/],
    [
      'excludes what it does not have',
      ovn({ excludeSubnets: '10.0.1.0/28' }),
      /excludeSubnets: 10\.0\.1\.0\/28 is in none of the subnets/,
    ],
    [
      'reserves what it does not have',
      ovn({ reservedSubnets: 'fd00::/120' }),
      /reservedSubnets: fd00::\/120 is in none/,
    ],
    [
      'reserves on a localnet',
      ovn({ topology: 'localnet', reservedSubnets: '10.0.0.0/28' }),
      /reservedSubnets is only for layer2/,
    ],
    [
      'has infrastructure and is secondary',
      ovn({ infrastructureSubnets: '10.0.0.0/30' }),
      /infrastructureSubnets is only for primary/,
    ],
    ['has a gateway and is secondary', ovn({ defaultGatewayIPs: '10.0.0.1' }), /defaultGatewayIPs is only for primary/],
    [
      'joins on a localnet',
      ovn({ topology: 'localnet', joinSubnet: '100.65.0.0/16' }),
      /joinSubnet is only for layer2/,
    ],
    [
      'joins where its hosts are',
      primary({ joinSubnet: '10.0.0.0/16' }),
      /joinSubnet: 10\.0\.0\.0\/16 and 10\.0\.0\.0\/24 of subnets overlap/,
    ],
    [
      'has infrastructure in what it reserves',
      primary({ infrastructureSubnets: '10.0.0.0/30', reservedSubnets: '10.0.0.0/29' }),
      /infrastructureSubnets: 10\.0\.0\.0\/30 and 10\.0\.0\.0\/29 of reservedSubnets overlap/,
    ],
    ['has a gateway elsewhere', primary({ defaultGatewayIPs: '10.0.1.1' }), /10\.0\.1\.1 is in none of the subnets/],
    [
      'has a gateway that is no host',
      primary({ defaultGatewayIPs: '10.0.0.255' }),
      /10\.0\.0\.255 is no address for a host/,
    ],
    ['has two gateways', primary({ defaultGatewayIPs: '10.0.0.1,10.0.0.2' }), /defaultGatewayIPs has several of IPv4/],
    [
      'has a flag that is none',
      ovn({ allowPersistentIPs: 'yes' }),
      /allowPersistentIPs is "yes" where true or false belongs/,
    ],
    [
      'excludes without end',
      ovn({ excludeSubnets: '10.0.0.0/32,'.repeat(1_001) }),
      /excludeSubnets has 1002 items: at most 1000/,
    ],
  ])('%s', (_, config, why) => {
    expect(whyOf(config)).toMatch(/^malformed: /)
    expect(whyOf(config)).toMatch(why)
  })

  test('says what is wrong in a list of plugins with its place there', () => {
    expect(whyOf({ name: 'blue', plugins: [{}, ovn({ role: 'X' })] })).toMatch(
      /spec\.config\.plugins\[1\]\.role is "X"/,
    )
  })

  test('is found under its name all the same, if it has one', () => {
    expect(read(ovn({ role: 'X' })).reading).toMatchObject({ name: 'blue' })
    expect(read(ovn({ name: 'no/name' })).reading).toMatchObject({ name: undefined })
  })
})

describe('ipam of type mooring is refused that', () => {
  const subnet = '10.0.0.0/24'

  test.each([
    ['stands beside subnets', mooring({ ranges: [subnet] }, { subnets: subnet }), /subnets beside ipam/],
    ['says nothing', mooring({}), /ipam has neither pool nor ranges/],
    [
      'says both',
      mooring({ ranges: [subnet], pool: { kind: 'AddressPool', name: 'a' } }),
      /names a pool and lists ranges/,
    ],
    ['names no pool', mooring({ pool: {} }), /ipam\.pool\.kind is missing; .*ipam\.pool\.name is missing/],
    [
      'names a kind that is none',
      mooring({ pool: { kind: 'constructor', name: 'a' } }),
      /pool\.kind is "constructor", which is none of AddressPool/,
    ],
    ['names a pool of prefixes', mooring({ pool: { kind: 'InClusterPrefixPool', name: 'a' } }), /which is none of/],
    ['lists nothing', mooring({ ranges: [] }), /ranges is empty/],
    ['lists no CIDR', mooring({ ranges: ['10.0.0.0'] }), /ranges\[0\]: "10\.0\.0\.0" is not a CIDR/],
    ['lists a number', mooring({ ranges: [7] }), /ranges\[0\] is neither a CIDR nor an object with a subnet/],
    ['lists no subnet', mooring({ ranges: [{}] }), /ranges\[0\]\.subnet is missing/],
    [
      'starts elsewhere',
      mooring({ ranges: [{ subnet, rangeStart: '10.0.1.1' }] }),
      /ranges\[0\]\.rangeStart is 10\.0\.1\.1, which is not in 10\.0\.0\.0\/24/,
    ],
    [
      'ends before it starts',
      mooring({ ranges: [{ subnet, rangeStart: '10.0.0.9', rangeEnd: '10.0.0.8' }] }),
      /rangeEnd is below rangeStart/,
    ],
    [
      'has two subnets of a family',
      mooring({ ranges: [subnet, '10.1.0.0/24'] }),
      /two subnets of IPv4, 10\.0\.0\.0\/24 and 10\.1\.0\.0\/24/,
    ],
    [
      'has two gateways',
      mooring({ ranges: [{ subnet, gateway: '10.0.0.1' }], gateway: '10.0.0.2' }),
      /IPv4 has several, 10\.0\.0\.2 and 10\.0\.0\.1/,
    ],
    [
      'has a gateway elsewhere',
      mooring({ ranges: [subnet], gateway: '10.1.0.1' }),
      /10\.1\.0\.1 is not in 10\.0\.0\.0\/24/,
    ],
    [
      'has a gateway of a family that it lacks',
      mooring({ ranges: [subnet], gateway: 'fd00::1' }),
      /fd00::1 is of a family that ranges does not have/,
    ],
    ['excludes no address', mooring({ ranges: [subnet], excludeRanges: ['x'] }), /excludeRanges\[0\]: "x"/],
    [
      'is persistent perhaps',
      mooring({ ranges: [subnet] }, { allowPersistentIPs: 'no' }),
      /allowPersistentIPs is neither true nor false/,
    ],
    [
      'is held by something else',
      mooring({ ranges: [subnet], holder: 'pod' }),
      /ipam\.holder is "pod", which is none of claim, node/,
    ],
    ['is held by a number', mooring({ ranges: [subnet], holder: 7 }), /ipam\.holder/],
    [
      'gives addresses of a pool to nodes, which others may name too',
      mooring({ pool: { kind: 'ClusterAddressPool', name: 'lab' }, holder: 'node' }),
      /ipam\.holder is node, and ipam names a pool: list ranges/,
    ],
    [
      'lists without end',
      mooring({ ranges: Array.from({ length: 1_001 }, () => subnet) }),
      /ranges has 1001 items: at most 1000/,
    ],
  ])('%s', (_, config, why) => {
    expect(whyOf(config)).toMatch(/^malformed: /)
    expect(whyOf(config)).toMatch(why)
  })

  test('is persistent unless it says no, and has the name of its object unless it says another', () => {
    expect(read(mooring()).reading).toMatchObject({ name: 'vms', allowsPersistentIPs: true })
    expect(read(mooring({ ranges: [subnet] }, { allowPersistentIPs: false, name: 'lab' })).reading).toMatchObject({
      name: 'lab',
      allowsPersistentIPs: false,
    })
  })

  test('names a pool of its own namespace, or of the cluster', () => {
    const poolOf = (kind: string) => read(mooring({ pool: { kind, name: 'a' } })).reading
    const pool = (apiGroup: string, kind: string, namespace: string) => ({
      config: { from: { pool: { apiGroup, kind, namespace, name: 'a' } } },
    })
    expect(poolOf('AddressPool')).toMatchObject(pool('mooring.dev', 'AddressPool', 'red'))
    expect(poolOf('ClusterAddressPool')).toMatchObject(pool('mooring.dev', 'ClusterAddressPool', ''))
    expect(poolOf('InClusterIPPool')).toMatchObject(pool('ipam.cluster.x-k8s.io', 'InClusterIPPool', 'red'))
  })
})

describe('the annotation with the namespaces that may use a network', () => {
  const allowed = 'mooring.dev/allowed-namespaces'

  test.each([
    ['', []],
    ['a', ['a']],
    [' a, b ', ['a', 'b']],
    ['*', 'all'],
    ['a,*', 'all'],
  ])('"%s"', (text, namespaces) => {
    expect(read(ovn(), { [allowed]: text }).offeredTo).toEqual(namespaces)
  })

  test.each(['A', 'a b', 'a,,b', 'a.b', 'a/b', 'a,'.repeat(1_001)])('"%s" is refused', text => {
    expect(whyOf(ovn(), { [allowed]: text })).toMatch(
      /^malformed: the annotation mooring\.dev\/allowed-namespaces has /,
    )
  })

  test('does not matter where the network is of another plugin', () => {
    expect(whyOf({ type: 'bridge' }, { [allowed]: 'A' })).toMatch(/^foreign/)
  })
})

describe('two spellings of one configuration', () => {
  test('are the same to other attachments of the network', () => {
    const essence = (config: object) => {
      const attachment = read(ovn(config))
      return isOVN(attachment) ? [...attachment.reading.config.essentials] : []
    }
    const one = essence({ subnets: 'fd00::/64,10.0.0.0/24', excludeSubnets: '10.0.0.8/29, 10.0.0.0/29' })
    const other = essence({
      subnets: '10.0.0.7/24, fd00:0::/64',
      excludeSubnets: '10.0.0.0/29,10.0.0.8/29',
      role: 'secondary',
    })
    expect(one).toEqual(other)
    expect(essence({})).not.toEqual(essence({ mtu: 1400 }))
  })
})
