// Texts about networks that any tenant may write: configs of NetworkAttachmentDefinitions, and both annotations of pods.

import { isDeepStrictEqual } from 'node:util'
import { parseNetworkSelections, toNetworksText } from '../../src/api/network-selection.ts'
import { Ledger } from '../../src/controllers/office/ledger.ts'
import {
  entriesOf,
  ipsOf,
  isSameSet,
  macOfIP,
  shownNetworksOf,
  toEntry,
} from '../../src/controllers/vm/pods/annotation.ts'
import { parseCIDR } from '../../src/ip/cidr.ts'
import { isMalformed } from '../../src/ip/malformed.ts'
import { rangeOfCIDR } from '../../src/ip/range.ts'
import { isSubset, toRangeSet } from '../../src/ip/range-set.ts'
import { capacityOf } from '../../src/ipam/capacity.ts'
import { isOfMooring, isOVN, parseAttachment } from '../../src/networks/attachment.ts'
import { readConfig } from '../../src/networks/config.ts'
import { mooringNetworkOf, type Network, ovnNetworkOf } from '../../src/networks/network.ts'
import { anAttachment, mooring, ovn } from '../harness/attachments.ts'
import { type FuzzTarget, must, mustBeReadable } from './target.ts'

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

function mustBeWhole({ pools }: Network): void {
  must(new Set(pools.map(({ family }) => family)).size === pools.length, 'a network has one pool of a family')
  for (const pool of pools) {
    const { free, held, total } = capacityOf(pool, new Ledger().indexOf(pool.space))
    must(free >= 0n && free <= total && held === 0n, 'no more is free than is offered')
    const { gateway } = pool
    if (gateway === undefined) continue
    const subnet = parseCIDR(`${pool.gatewayText}/${pool.prefix}`)
    if (isMalformed(subnet)) throw new Error('broken: a gateway is an address')
    const whole = toRangeSet(pool.family, [rangeOfCIDR(subnet)])
    must(isSubset(pool.addresses, whole), 'what is offered is in the subnet of the gateway')
  }
}

const lists = { name: 'list', plugins: [{ type: 'tuning' }, mooring({ ranges: ['fd00::/64'] })] }
const ranges = [
  { subnet: '10.0.0.0/24', rangeStart: '10.0.0.10', rangeEnd: '10.0.0.99', gateway: '10.0.0.1' },
  'fd00::/64',
]

export const networkConfigs: FuzzTarget = {
  name: 'configs of networks',
  corpus: [
    ovn({ name: 'tenant', subnets: '10.0.0.0/16,fd00::/64', excludeSubnets: '10.0.0.0/29', allowPersistentIPs: true }),
    ovn({ role: 'primary', subnets: '10.0.0.0/24', netAttachDefName: 'lab/a', defaultGatewayIPs: '10.0.0.1' }),
    ovn({ topology: 'localnet', subnets: '', vlanID: 4095, physicalNetworkName: '\u202e' }),
    ovn({ topology: 'layer3', subnets: '10.0.0.0/16/24' }),
    ovn({ subnets: '10.0.0.0/30', reservedSubnets: '10.0.0.0/30', infrastructureSubnets: '10.0.0.0/31' }),
    ovn({ subnets: `${'10.0.0.0/24,'.repeat(2_000)}::/0`, excludeSubnets: '0.0.0.0/0' }),
    mooring({ pool: { kind: 'ClusterAddressPool', name: 'vms' } }, { subnets: '10.0.0.0/24' }),
    mooring({ ranges, excludeRanges: ['10.0.0.20-10.0.0.29'], gateways: ['10.0.0.1', 'fd00::1'] }),
    lists,
    { type: 'bridge', plugins: Array(3_000).fill({}) },
  ].map(config => JSON.stringify(config)),
  dictionary: [
    '"subnets":',
    '"ipam":{"type":"mooring"}',
    ',fd00::/127',
    '"plugins":[',
    '__proto__',
    '\u202e',
    'null',
    '-1',
  ],
  run(input) {
    const text = input.toString('utf8')
    const attachment = parseAttachment(
      anAttachment('lab/a', text, { annotations: { 'mooring.dev/allowed-namespaces': text } }),
    )
    if (isMalformed(attachment)) throw new Error(`broken: an object of the API is read: ${attachment.malformed}`)
    const alone = parseAttachment(anAttachment('lab/a', text))
    if (isMalformed(alone)) throw new Error(`broken: an object of the API is read: ${alone.malformed}`)
    for (const { reading } of [attachment, alone]) if ('why' in reading) mustBeReadable(reading.why)
    must(
      isMalformed(readConfig(text)) || isObject(tryParse(text)),
      'what is read is a JSON object to other readers too',
    )
    must(isDeepStrictEqual(parseAttachment(anAttachment('lab/a', text)), alone), 'the same text is the same network')
    if (isOVN(alone)) mustBeWhole(ovnNetworkOf(alone, {}))
    if (isOfMooring(alone)) mustBeWhole(mooringNetworkOf(alone))
  },
}

export const networkSelections: FuzzTarget = {
  name: 'network selection elements',
  corpus: [
    'net1',
    'lab/net1@eth1, net2 ,other/net3',
    '[{"name":"net1","namespace":"lab","interface":"pod6c270ef2f25","mac":"02:00:00:00:00:01","ips":["10.0.0.5/24"]}]',
    '[{"name":"a","ipam-claim-reference":"vm.a","cni-args":{"logicNetworkName":"a"},"__proto__":{"name":"b"}}]',
    '[{"name":"a","ips":null,"mac":null},{"name":"\\u202e"}]',
    '{"name":"a"}',
    '"a"',
  ],
  dictionary: ['"name":', '"ips":[', '"ipam-claim-reference":', '@', '/', ',', '__proto__', 'null', '{}', '\u202e'],
  run(input) {
    const text = input.toString('utf8')
    const selections = parseNetworkSelections(text, 'lab')
    if (isMalformed(selections)) {
      mustBeReadable(selections.malformed)
      return
    }
    const again = parseNetworkSelections(toNetworksText(selections), 'lab')
    if (isMalformed(again)) throw new Error(`broken: what was read is read again: ${again.malformed}`)
    const without = (all: typeof selections) => all.map(({ element: _, ...fields }) => fields)
    must(isDeepStrictEqual(without(again), without(selections)), 'what is written says what was read')
    const elements = tryParse(text)
    if (!Array.isArray(elements)) return
    must(isDeepStrictEqual(JSON.parse(toNetworksText(selections)), elements), 'no field of an element is lost')
  },
}

export const podNetworks: FuzzTarget = {
  name: 'pod-networks annotations',
  corpus: [
    '{"default":{"ip_addresses":["10.244.0.5/24"],"mac_address":"0a:58:0a:f4:00:05"}}',
    '{"lab/a":{"ip_addresses":["10.0.0.5/24","fd00::5/64"],"mac_address":"0a:58:0a:00:00:05","gateway_ips":["10.0.0.1"],"role":"primary"}}',
    '{"lab/a":{"ip_address":"10.0.0.5/24"},"lab/a/1":{"ip_addresses":["10.0.0.6/24"]},"lab/a/x":{},"__proto__":{}}',
    '{"lab/a":[],"/":7,"lab/a/1/2":{"ip_addresses":"10.0.0.1"}}',
    '[]',
  ],
  dictionary: ['"ip_addresses":[', '"ip_address":', '"lab/a/2":', '::ffff:10.0.0.1', '/33', '__proto__', 'null', '{}'],
  run(input) {
    const pod = { metadata: { namespace: 'lab' } as never, networks: undefined, podNetworks: input.toString('utf8') }
    const entries = entriesOf(pod)
    const shown = shownNetworksOf(pod)
    if (isMalformed(entries)) {
      mustBeReadable(entries.malformed)
      return must(shown.length === 0, 'what cannot be read shows nothing')
    }
    for (const { attachment, key, ips } of shown) {
      must(Object.hasOwn(entries, key) && key.startsWith(attachment), 'each stands there, under its key')
      const [first] = ips
      if (first === undefined) continue
      const parts = { ips: ips.map(ip => ({ ip, prefix: ip.family === 4 ? 24 : 64 })), mac: macOfIP(first) }
      const entry = toEntry({ ...parts, ovn: { isPrimary: true, gateways: ips } })
      must(isSameSet(ipsOf(JSON.parse(JSON.stringify(entry))), ips), 'an entry says the addresses that it was made of')
    }
  },
}
