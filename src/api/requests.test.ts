// What a virtual machine asks for, in all the ways in which it can be written.

import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { isMalformed } from '../ip/malformed.ts'
import { parseIPAMClaim } from './ipam-claim.ts'
import { requestsOf, strayRequests, toRequestedText } from './requests.ts'

interface Asked {
  readonly addresses?: string | object
  readonly defaultNetwork?: string | object
  /** By interface: `net1` is on the pod network, every other on one of its name. */
  readonly macs?: Readonly<Record<string, string>>
}

const textOf = (value: string | object | undefined) => (typeof value === 'object' ? JSON.stringify(value) : value)

function aMachine({ addresses, defaultNetwork, macs = { net1: '' } }: Asked) {
  const interfaces = Object.entries(macs).map(([name, mac]) => ({
    ...{ name, mac, isDefault: false, attachment: name === 'net1' ? undefined : `lab/${name}` },
  }))
  return { texts: { addresses: textOf(addresses), defaultNetwork: textOf(defaultNetwork) }, interfaces }
}

function askedBy(asked: Asked): Record<string, string> {
  const { texts, interfaces } = aMachine(asked)
  const found = [...requestsOf(texts, interfaces)].map(([name, request]) => [
    name,
    isMalformed(request)
      ? `! ${request.malformed}`
      : [request.mac ?? '-', ...request.ips.map(toRequestedText)].join(' '),
  ])
  return Object.fromEntries(found)
}

const element = (more: object) => [{ name: 'default', namespace: 'ovn-kubernetes', ...more }]

describe('A virtual machine asks', () => {
  test.each<[string, Asked, Record<string, string>]>([
    ['for nothing', {}, {}],
    ['for addresses by the name of its interface', { addresses: { net1: ['10.0.0.5'] } }, { net1: '- 10.0.0.5' }],
    ['for nothing with an empty list', { addresses: { net1: [] } }, {}],
    ['for both families, IPv4 first', { addresses: { net1: ['fd00::5', '10.0.0.5'] } }, { net1: '- 10.0.0.5 fd00::5' }],
    ['for its MAC', { macs: { net1: '02:00:00:00:00:05' } }, { net1: '02:00:00:00:00:05' }],
    [
      'for each interface by itself',
      { addresses: { blue: ['10.1.0.5'] }, macs: { net1: '02-00-00-00-00-05', blue: '' } },
      { net1: '02:00:00:00:00:05', blue: '- 10.1.0.5' },
    ],
    [
      'by the default network, of the pod network alone',
      {
        defaultNetwork: element({ mac: '02:03:04:05:06:07', ips: ['10.0.0.5/24'] }),
        macs: { net1: '', blue: '' },
      },
      { net1: '02:03:04:05:06:07 10.0.0.5/24' },
    ],
    [
      'in both ways for the same',
      {
        addresses: { net1: ['10.0.0.5'] },
        defaultNetwork: element({ mac: '02:03:04:05:06:07', ips: ['10.0.0.5/24'] }),
        macs: { net1: '0203.0405.0607' },
      },
      { net1: '02:03:04:05:06:07 10.0.0.5/24' },
    ],
    ['in any spelling', { addresses: { net1: ['FD00:0:0::0005'] } }, { net1: '- fd00::5' }],
    ['for IPv4 in the form of IPv6 (23)', { addresses: { net1: ['::ffff:10.0.0.5'] } }, { net1: '- 10.0.0.5' }],
    ['so with a length', { addresses: { net1: ['::ffff:10.0.0.5/120'] } }, { net1: '- 10.0.0.5/24' }],
    ['for an address with its length', { addresses: { net1: ['10.0.0.5/24'] } }, { net1: '- 10.0.0.5/24' }],
  ])('%s', (_, asked, requests) => {
    expect(askedBy(asked)).toEqual(requests)
  })

  test.each<[string, Asked, RegExp]>([
    ['two addresses of one family (17)', { addresses: { net1: ['10.0.0.5', '10.0.0.6'] } }, /two addresses of IPv4/],
    [
      'the same address twice',
      { addresses: { net1: ['10.0.0.5', '::ffff:10.0.0.5'] } },
      /10.0.0.5 and 10.0.0.5 are two addresses of IPv4/,
    ],
    ['no address (20)', { addresses: { net1: ['256.0.0.1'] } }, /addresses of interface "net1": "256.0.0.1"/],
    ['an address of three octets (23)', { addresses: { net1: ['10.0.5'] } }, /"10.0.5"/],
    ['an empty address', { addresses: { net1: [''] } }, /""/],
    ['an address with a zone', { addresses: { net1: ['fe80::1%eth0'] } }, /zone/],
    ['an address that is a number', { addresses: { net1: [5] } }, /"net1" is not a list of texts/],
    ['what is no JSON', { addresses: '{net1' }, /is no JSON object: write it such as/],
    ['a list of addresses', { addresses: ['10.0.0.5'] }, /is no JSON object/],
    ['the MAC of a group', { macs: { net1: '01:00:5e:00:00:05' } }, /a group of cards/],
    ['the MAC of no card', { macs: { net1: '00-00-00-00-00-00' } }, /the address of no card/],
    ['what is no MAC', { macs: { net1: '02:00:00:00:00' } }, /macAddress of interface "net1": .*is not a MAC/],
    ['no default network', { defaultNetwork: [] }, /it has 0 elements: write a list of one/],
    ['two default networks', { defaultNetwork: [...element({}), ...element({})] }, /it has 2 elements/],
    ['a default network that is no JSON', { defaultNetwork: '[{' }, /is not a JSON list/],
    [
      'two addresses in two ways',
      { addresses: { net1: ['10.0.0.5'] }, defaultNetwork: element({ ips: ['10.0.0.6/24'] }) },
      /differ: write one of them/,
    ],
    [
      'two MACs in two ways',
      { macs: { net1: '02:00:00:00:00:05' }, defaultNetwork: element({ mac: '02:00:00:00:00:06' }) },
      /is 02:00:00:00:00:05, and mac of .* is 02:00:00:00:00:06/,
    ],
    [
      'several wrong things, and hears of all of them',
      { addresses: { net1: ['x'] }, macs: { net1: 'y' } },
      /"x".*; macAddress of interface "net1": "y"/,
    ],
  ])('for %s, and is told what is wrong', (_, asked, words) => {
    expect(askedBy(asked).net1).toMatch(words)
  })

  test('wrongly for one interface, and the others have what they ask for', () => {
    const asked = askedBy({ addresses: { net1: ['x'], blue: ['10.1.0.5'] }, macs: { net1: '', blue: '' } })
    expect(asked.blue).toBe('- 10.1.0.5')
  })

  test('by names that every object has, which are no interfaces', () => {
    expect(askedBy({ addresses: '{"__proto__": ["10.0.0.5"], "constructor": ["10.0.0.6"]}' })).toEqual({})
  })

  test('for an interface that it does not have, and hears that it is lost', () => {
    const { texts, interfaces } = aMachine({ addresses: { net2: ['10.0.0.5'] }, defaultNetwork: element({}) })
    expect(strayRequests(texts, interfaces)).toEqual([
      'network.kubevirt.io/addresses names "net2", and there is no such interface',
    ])
    const [, ...onNone] = strayRequests(texts, [])
    expect(onNone).toEqual(['v1.multus-cni.io/default-network is about the pod network, and no interface is on it'])
  })

  test('for ten thousand interfaces, and as many names that it does not have, in a moment', { timeout: 60_000 }, () => {
    const macs = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`net${i}`, '02:00:00:00:00:05']))
    const addresses = Object.fromEntries(Object.keys(macs).map(name => [`other-${name}`, ['10.0.0.5']]))
    const { texts, interfaces } = aMachine({ macs, addresses })
    const began = performance.now()
    expect(requestsOf(texts, interfaces).size).toBe(10_000)
    expect(strayRequests(texts, interfaces)).toHaveLength(11)
    expect(performance.now() - began).toBeLessThan(30_000)
  })

  test('with JSON as deep as a request can be, and is refused', () => {
    const deep = '['.repeat(120_000) + ']'.repeat(120_000)
    expect(askedBy({ addresses: `{"net1": ${deep}}` }).net1).toMatch(/not a list of texts/)
    expect(askedBy({ defaultNetwork: deep }).net1).toMatch(/an element that is no object/)
  })
})

describe('A claim asks', () => {
  const aRequest = (spec: object, annotations: Readonly<Record<string, string>> = {}) => {
    const metadata = { name: 'a.net', namespace: 'lab', annotations }
    const { request } = orThrow(parseIPAMClaim({ metadata, spec: { network: 'blue', interface: '', ...spec } }))
    return isMalformed(request)
      ? request.malformed
      : [request.mac ?? '-', ...request.ips.map(toRequestedText)].join(' ')
  }
  const noted = { 'mooring.dev/requested-ips': '10.0.0.6, fd00::6', 'mooring.dev/requested-mac': '02:00:00:00:00:06' }

  test.each<[string, object, Readonly<Record<string, string>>, string]>([
    ['for nothing', {}, {}, '-'],
    ['by its spec', { mac: '02-00-00-00-00-05', ips: ['10.0.0.5'] }, {}, '02:00:00:00:00:05 10.0.0.5'],
    ['by its annotations', {}, noted, '02:00:00:00:00:06 10.0.0.6 fd00::6'],
    ['by its spec before its annotations', { ips: ['10.0.0.5'] }, noted, '02:00:00:00:00:06 10.0.0.5'],
    ['for nothing with empty texts', { mac: '', ips: [] }, { 'mooring.dev/requested-ips': ' ' }, '-'],
  ])('%s', (_, spec, annotations, request) => {
    expect(aRequest(spec, annotations)).toBe(request)
  })

  test.each<[string, object, RegExp]>([
    ['no address', { ips: ['x'] }, /the addresses that it asks for: "x"/],
    ['no MAC', { mac: 'x' }, /the MAC that it asks for: "x"/],
    ['a number', { ips: 5 }, /spec.ips is not a list of texts/],
  ])('for %s, and can be read all the same', (_, spec, words) => {
    expect(aRequest(spec)).toMatch(words)
  })
})
