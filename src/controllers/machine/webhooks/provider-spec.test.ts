import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { describeFault } from '../../../admission/fault.ts'
import { type JudgedFor, judgeProviderSpec } from './provider-spec.ts'
import { judge } from './webhooks.ts'

const kind = 'VSphereMachineProviderSpec'
const at = 'providerSpec.network.devices'

const judged = (devices: unknown, judgedFor: JudgedFor = 'machine', more: object = {}) => {
  const { faults, warnings } = judgeProviderSpec({ kind, network: { devices }, ...more }, 'providerSpec', judgedFor)
  return { faults: faults.map(describeFault), warnings }
}

const device = { networkName: 'lab', nameservers: ['10.0.0.2'] }
const pool = { group: 'machine.openshift.io', resource: 'IPPool', name: 'example-pool' }

describe('the network of a provider spec', () => {
  test.each<[string, unknown, string[]]>([
    ['no devices', [], [`${at}: Required value: at least 1 network device must be provided`]],
    ['none said', undefined, [`${at}: Required value: at least 1 network device must be provided`]],
    ['no list', 'lab', [`${at}: Invalid value: "lab": must be a list`]],
    ['11 devices', Array.from({ length: 11 }, () => device), [`${at}: Too many: 11: must have at most 10 items`]],
    ['no networkName', [{}], [`${at}[0].networkName: Required value: networkName must be provided`]],
    ['a device that is a text', ['lab'], [`${at}[0]: Invalid value: "lab": must be an object`]],
    [
      'gateway4',
      [{ ...device, gateway4: '10.0.0.1' }],
      [`${at}[0].gateway4: Invalid value: "10.0.0.1": there is no such field: write gateway`],
    ],
    [
      'addressesFromPool',
      [{ ...device, addressesFromPool: [] }],
      [`${at}[0].addressesFromPool: Invalid value: []: there is no such field: write addressesFromPools`],
    ],
    [
      'ipaddrs',
      [{ ...device, ipaddrs: [] }],
      [`${at}[0].ipaddrs: Invalid value: []: there is no such field: write ipAddrs`],
    ],
    [
      'kind of a pool',
      [{ ...device, addressesFromPools: [{ ...pool, kind: 'IPPool' }] }],
      [`${at}[0].addressesFromPools[0].kind: Invalid value: "IPPool": there is no such field: write resource`],
    ],
    ['a number', [{ ...device, gateway: 7 }], [`${at}[0].gateway: Invalid value: 7: must be a text`]],
    [
      'a text for a list',
      [{ ...device, ipAddrs: '10.0.0.5/24' }],
      [`${at}[0].ipAddrs: Invalid value: "10.0.0.5/24": must be a list of texts`],
    ],
    [
      'no prefix',
      [{ ...device, ipAddrs: ['bad'] }],
      [
        `${at}[0].ipAddrs[0]: Invalid value: "bad": invalid CIDR address: bad: write the address with the length of its subnet, such as 192.168.1.100/24`,
      ],
    ],
    [
      'a network',
      [{ ...device, ipAddrs: ['10.0.0.0/24'] }],
      [
        `${at}[0].ipAddrs[0]: Invalid value: "10.0.0.0/24": is the first address of its subnet, which no machine can have`,
      ],
    ],
    [
      'a broadcast',
      [{ ...device, ipAddrs: ['10.0.0.255/24'] }],
      [`${at}[0].ipAddrs[0]: Invalid value: "10.0.0.255/24": is the broadcast address of its subnet`],
    ],
    [
      'a loopback',
      [{ ...device, ipAddrs: ['127.0.0.1/8'] }],
      [`${at}[0].ipAddrs[0]: Invalid value: "127.0.0.1/8": is no address that a machine can have on a network`],
    ],
    [
      'a gateway that is none',
      [{ ...device, gateway: '86.7.5.309' }],
      [`${at}[0].gateway: Invalid value: "86.7.5.309": "86.7.5.309" is not a valid IP`],
    ],
    [
      'its own gateway',
      [{ ...device, ipAddrs: ['10.0.0.5/24'], gateway: '10.0.0.5' }],
      [`${at}[0].gateway: Invalid value: "10.0.0.5": is an address of the machine itself`],
    ],
    [
      'a gateway of the other family',
      [{ ...device, ipAddrs: ['10.0.0.5/24'], gateway: 'fd00::1' }],
      [`${at}[0].gateway: Invalid value: "fd00::1": is IPv6, and no address of the device is`],
    ],
    [
      'a gateway elsewhere',
      [{ ...device, ipAddrs: ['10.0.0.5/24'], gateway: '10.0.1.1' }],
      [
        `${at}[0].gateway: Invalid value: "10.0.1.1": is in no subnet of the addresses of the device: no packet would reach it`,
      ],
    ],
    [
      'a name for a name server',
      [{ ...device, nameservers: ['dns.example.com'] }],
      [`${at}[0].nameservers[0]: Invalid value: "dns.example.com": "dns.example.com" is not a valid IP`],
    ],
    [
      'an address twice',
      [
        { ...device, ipAddrs: ['10.0.0.5/24'], gateway: '10.0.0.1' },
        { ...device, ipAddrs: ['10.0.0.5/24'], gateway: '10.0.0.1' },
      ],
      [`${at}[1].ipAddrs[0]: Invalid value: "10.0.0.5/24": is the address of ${at}[0].ipAddrs[0] too`],
    ],
    [
      'a pool without a name',
      [{ ...device, addressesFromPools: [{ ...pool, name: '' }] }],
      [`${at}[0].addressesFromPools[0].name: Invalid value: "": must be the name of the pool`],
    ],
    [
      'a pool without a group',
      [{ ...device, addressesFromPools: [{ resource: 'IPPool', name: 'x' }] }],
      [
        `${at}[0].addressesFromPools[0].group: Invalid value: "": must be the API group of the pool, such as installer.openshift.io`,
      ],
    ],
    [
      'too many pools',
      [{ ...device, addressesFromPools: Array.from({ length: 65 }, () => pool) }],
      [`${at}: Invalid value: 65: a Machine may take 64 addresses from pools at most`],
    ],
  ])('with %s is refused with the path and what to write', (_, devices, faults) => {
    expect(judged(devices).faults).toEqual(faults)
  })

  test.each<[string, unknown, string[]]>([
    ['DHCP', [{ networkName: 'lab' }], []],
    ['addresses of both families', [{ ...device, ipAddrs: ['10.0.0.5/24', 'fd00::5/64'], gateway: '10.0.0.1' }], []],
    ['a pool, and a gateway of any subnet', [{ ...device, addressesFromPools: [pool], gateway: '10.0.0.1' }], []],
    ['a subnet of two', [{ ...device, ipAddrs: ['10.0.0.4/31'], gateway: '10.0.0.5' }], []],
    ['an unknown field', [{ ...device, mtu: 9000 }], ['Unknown field (mtu) will be ignored']],
    [
      'no name server',
      [{ networkName: 'lab', addressesFromPools: [pool] }],
      [`${at}[0].nameservers: without DHCP no name server is known: list one, or see that the pool does`],
    ],
    [
      'no gateway',
      [{ ...device, ipAddrs: ['10.0.0.5/24'] }],
      [`${at}[0].gateway: without one the machine reaches its own subnet alone`],
    ],
    [
      'four name servers',
      [{ networkName: 'lab', nameservers: ['10.0.0.2', '10.0.0.3', '10.0.0.4', '10.0.0.6'] }],
      [`${at}[0].nameservers: resolvers look at the first 3 alone`],
    ],
  ])('with %s is allowed, and its author is told what is odd', (_, devices, warnings) => {
    expect(judged(devices)).toEqual({ faults: [], warnings })
  })

  test('is judged as a whole: every fault is named at once, in the order of the devices', () => {
    const { faults } = judged([
      { ipAddrs: ['bad', '10.0.0.0/8'], gateway: 'x', nameservers: ['y'] },
      { addressesFromPools: [{ name: 'A' }] },
    ])
    expect(faults.map(text => text.split(': ')[0])).toEqual([
      `${at}[0].networkName`,
      `${at}[0].ipAddrs[0]`,
      `${at}[0].ipAddrs[1]`,
      `${at}[0].gateway`,
      `${at}[0].nameservers[0]`,
      `${at}[1].networkName`,
      `${at}[1].addressesFromPools[0].group`,
      `${at}[1].addressesFromPools[0].resource`,
      `${at}[1].addressesFromPools[0].name`,
    ])
  })

  test('beside a field of the wrong type elsewhere is refused with the path of that field', () => {
    const text =
      'providerSpec: Forbidden: providerSpec.numCPUs is "four" where a whole number of 0 to 2147483647 belongs'
    expect(judged([device], 'machine', { numCPUs: 'four' }).faults).toEqual([text])
  })

  test('of the control plane needs no network, for its failure domain brings it; of every set, addresses of one machine are odd', () => {
    expect(judged([{ addressesFromPools: [pool], nameservers: ['8.8.8.8'] }], 'control plane').faults).toEqual([])
    expect(judged([], 'control plane').faults).toEqual([])
    const fixed = [{ ...device, ipAddrs: ['10.0.0.5/24'], gateway: '10.0.0.1' }]
    expect(judged(fixed, 'set').warnings).toEqual([
      `${at}[0].ipAddrs: every Machine of the set gets these same addresses: use addressesFromPools`,
    ])
    expect(judged(fixed, 'control plane').warnings).toEqual([
      `${at}[0].ipAddrs: they are dropped: use addressesFromPools`,
    ])
  })

  test('beside tags that are none, too many, or there twice is refused with the path of each', () => {
    const tag = (n: number) => `urn:vmomi:InventoryServiceTag:5736bf56-49f5-4667-b38c-b97e09dc95${n}:GLOBAL`
    const tags = (...tagIDs: string[]) => judged([device], 'machine', { tagIDs }).faults
    expect(tags(tag(10), tag(11))).toEqual([])
    expect(tags(tag(10), 'production', tag(10))).toEqual([
      'providerSpec.tagIDs[1]: Invalid value: "production": must be the id of a tag, not its name, such as ' +
        'urn:vmomi:InventoryServiceTag:5736bf56-49f5-4667-b38c-b97e09dc9578:GLOBAL',
      `providerSpec.tagIDs[2]: Invalid value: "${tag(10)}": is providerSpec.tagIDs[0] too`,
    ])
    const many = Array.from({ length: 11 }, (_, i) => tag(10 + i))
    expect(tags(...many)).toEqual(['providerSpec.tagIDs: Too many: 11: must have at most 10 items'])
  })

  test('beside unknown fields is allowed, and each of them is named', () => {
    expect(judged([device], 'machine', { numCpus: 4 }).warnings).toEqual(['Unknown field (numCpus) will be ignored'])
  })
})

test('whatever stands in a provider spec, it is judged, and never with an exception', () => {
  const anything = fc.anything({ withBigInt: true, withNullPrototype: true, maxDepth: 2 })
  const entries = fc.record({ group: anything, resource: anything, name: anything }, { requiredKeys: [] })
  const devices = fc.record(
    {
      networkName: anything,
      gateway: fc.oneof(fc.string(), anything),
      ipAddrs: fc.oneof(fc.array(fc.string()), anything),
      nameservers: anything,
      addressesFromPools: fc.oneof(fc.array(fc.oneof(entries, anything)), anything),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(fc.oneof(fc.array(fc.oneof(devices, anything), { maxLength: 4 }), anything), list => {
      const { faults } = judged(list)
      expect(Array.isArray(faults)).toBe(true)
    }),
  )
})

describe('the webhooks of Machines and their sets', () => {
  const wrong = { providerSpec: { value: { kind, network: { devices: [] } } } }
  const path = ['template', 'spec']

  test('find the provider spec where each kind has it', () => {
    expect(judge(undefined, { spec: wrong }, [], 'machine').kind).toBe('invalid')
    expect(judge(undefined, { spec: { template: { spec: wrong } } }, path, 'set').kind).toBe('invalid')
  })

  test('judge nothing that does not change, so that what is wrong can be deleted, and nothing of other platforms', () => {
    const metadata = { finalizers: [] }
    expect(judge({ spec: wrong }, { metadata, spec: wrong }, [], 'machine').kind).toBe('allowed')
    expect(
      judge(undefined, { spec: { providerSpec: { value: { kind: 'AWSMachineProviderConfig' } } } }, [], 'machine').kind,
    ).toBe('allowed')
    expect(judge(undefined, { spec: 'nonsense' }, path, 'set').kind).toBe('allowed')
  })
})
