// What OpenStack's APIs answer: servers of Nova, and ports, subnets and networks of Neutron, each in a file of its own or together.
// A port is a card: its addresses are one card's, however many they are. Without ports, cards are told apart by their MACs, and an
// address that floats is none of the machine's own.

import { quoteUnlessIP } from '../ip/address.ts'
import { parseCIDR, toCIDRText } from '../ip/cidr.ts'
import { isMalformed } from '../ip/malformed.ts'
import type { JSONValue } from '../json.ts'
import { readGateway, toRoute } from './address.ts'
import { type Faults, faultsOf } from './faults.ts'
import { groupBy } from './group.ts'
import { booleanAt, fieldOf, isObject, listAt, readJSON, textAt, textsAt } from './json-fields.ts'
import type {
  SourceAddress,
  SourceFile,
  SourceGateway,
  SourceMachine,
  SourceNIC,
  SourceNote,
  SourceOrigin,
  SourceReading,
} from './machine.ts'
import { bareNIC, missingMACs, originOf, withOwnKeys } from './nic.ts'

interface Item {
  readonly value: JSONValue
  /** `servers[0]`. */
  readonly where: string
  readonly faults: Faults
  readonly source: SourceOrigin
}

interface Cloud {
  readonly portsOf: ReadonlyMap<string, readonly Item[]>
  readonly subnets: ReadonlyMap<string, JSONValue>
  readonly networkNames: ReadonlyMap<string, string>
  readonly hasPorts: boolean
}

export function readOpenStack(files: readonly SourceFile[]): SourceReading {
  const opened = files.map(file => {
    const faults = faultsOf(file)
    return { file, faults, document: readJSON(file, faults) }
  })
  /** One alone is `server`, several are `servers`. */
  const items = (one: string): Item[] =>
    opened.flatMap(({ file, faults, document }) => {
      const source = originOf('openstack', file)
      const found = [...listAt(document, `${one}s`).entries()].map(([i, value]) => ({ value, where: `${one}s[${i}]` }))
      const alone = listAt(document, one).map(value => ({ value, where: one }))
      return [...found, ...alone].map(item => ({ ...item, faults, source }))
    })
  const servers = items('server')
  if (servers.length === 0) {
    const problem =
      'there is no server: give what GET /servers/detail of Nova answers, beside ports, subnets and networks'
    for (const { faults } of opened.slice(0, 1)) if (faults.list.length === 0) faults.add('', problem)
  }
  const cloud = toCloud(items('port'), items('subnet'), items('network'))
  const machines = servers.flatMap(server => toMachine(server, cloud))
  return { machines, leftOut: [], faults: opened.flatMap(({ faults }) => faults.list) }
}

function toCloud(ports: readonly Item[], subnets: readonly Item[], networks: readonly Item[]): Cloud {
  return {
    portsOf: groupBy(ports, ({ value }) => textAt(value, 'device_id') ?? ''),
    subnets: new Map(subnets.map(({ value }) => [textAt(value, 'id') ?? '', value])),
    networkNames: new Map(networks.map(({ value }) => [textAt(value, 'id') ?? '', textAt(value, 'name') ?? ''])),
    hasPorts: ports.length > 0,
  }
}

const powerStates: Readonly<Record<string, SourceMachine['powerState']>> = {
  ACTIVE: 'on',
  SHUTOFF: 'off',
  PAUSED: 'suspended',
  SUSPENDED: 'suspended',
}

function toMachine(server: Item, cloud: Cloud): SourceMachine[] {
  const { value, where, faults, source } = server
  const id = textAt(value, 'id')
  const name = textAt(value, 'name') ?? id
  if (id === undefined || name === undefined) {
    faults.add(where, 'it has no id: give what GET /servers/detail answers')
    return []
  }
  const ports = cloud.portsOf.get(id) ?? []
  const nics = withOwnKeys(cloud.hasPorts ? ports.map(port => nicOfPort(port, cloud)) : nicsOfAddresses(server))
  const notes = [...missingMACs(nics, 'the port has no MAC'), ...ports.flatMap(noteOfPairs)]
  return [
    {
      source,
      id,
      name,
      powerState: powerStates[textAt(value, 'status') ?? ''] ?? 'unknown',
      nics,
      addressesFrom: nics.some(({ ips }) => ips.length > 0) ? 'platform' : 'none',
      notes,
    },
  ]
}

function nicOfPort({ value, where, faults }: Item, { subnets, networkNames }: Cloud): SourceNIC {
  const mac = faults.mac(textAt(value, 'mac_address'), `${where}.mac_address`)
  const networkId = textAt(value, 'network_id')
  const network = networkNames.get(networkId ?? '')
  const fixed = [...listAt(value, 'fixed_ips').entries()].flatMap(([i, entry]) => {
    const address = faults.ip(textAt(entry, 'ip_address') ?? '', `${where}.fixed_ips[${i}].ip_address`)
    return address === undefined ? [] : [{ address, subnet: subnets.get(textAt(entry, 'subnet_id') ?? '') }]
  })
  const used = [...new Set(fixed.flatMap(({ subnet }) => (subnet === undefined ? [] : [subnet])))]
  return {
    ...bareNIC,
    key: textAt(value, 'id') ?? '',
    ...(mac !== undefined && { mac }),
    ...(network && { network }),
    ...(networkId !== undefined && { networkId }),
    startConnected: booleanAt(value, 'admin_state_up') ?? true,
    ips: fixed.map(({ address, subnet }): SourceAddress => {
      const prefix = prefixOf(subnet)
      const isGiven = booleanAt(subnet, 'enable_dhcp')
      const origin = isGiven === undefined ? undefined : isGiven ? 'dhcp' : 'manual'
      return { address, ...(prefix !== undefined && { prefix }), ...(origin && { origin }) }
    }),
    gateways: used.flatMap(gatewayOf),
    routes: used.flatMap(subnet =>
      listAt(subnet, 'host_routes').flatMap(route =>
        toRoute(textAt(route, 'destination') ?? '', textAt(route, 'nexthop')),
      ),
    ),
    dns: used.flatMap(subnet =>
      textsAt(subnet, 'dns_nameservers').flatMap((text, i) => {
        const address = faults.ip(text, `subnet ${textAt(subnet, 'id')}, dns_nameservers[${i}]`)
        return address === undefined ? [] : [address]
      }),
    ),
  }
}

function prefixOf(subnet: JSONValue | undefined): number | undefined {
  const cidr = parseCIDR(textAt(subnet, 'cidr') ?? '')
  return isMalformed(cidr) ? undefined : cidr.bits
}

function gatewayOf(subnet: JSONValue): SourceGateway[] {
  const gateway = readGateway(textAt(subnet, 'gateway_ip') ?? '')
  return gateway === undefined || isMalformed(gateway) ? [] : [gateway]
}

function noteOfPairs({ value }: Item): SourceNote[] {
  const pairs = listAt(value, 'allowed_address_pairs').flatMap(pair => {
    const text = textAt(pair, 'ip_address') ?? ''
    const cidr = parseCIDR(text)
    return isMalformed(cidr) ? [quoteUnlessIP(text)] : [toCIDRText(cidr)]
  })
  if (pairs.length === 0) return []
  const message = `the machine may also send from ${pairs.slice(0, 10).join(', ')} (allowed_address_pairs)`
  const nic = textAt(value, 'id')
  return [{ reason: 'AllowedAddressPairs', ...(nic !== undefined && { nic }), message }]
}

/** Prefix and gateway are not known here. */
function nicsOfAddresses({ value, where, faults }: Item): SourceNIC[] {
  const addresses = fieldOf(value, 'addresses')
  return Object.entries(isObject(addresses) ? addresses : {}).flatMap(([network, entries]) => {
    const fixed = [...listAt(entries).entries()].flatMap(([i, entry]) => {
      if (textAt(entry, 'OS-EXT-IPS:type') === 'floating') return []
      const place = `${where}.addresses.${network}[${i}]`
      const mac = faults.mac(textAt(entry, 'OS-EXT-IPS-MAC:mac_addr'), `${place}.OS-EXT-IPS-MAC:mac_addr`)
      const address = faults.ip(textAt(entry, 'addr') ?? '', `${place}.addr`)
      return [{ key: `${network}/${mac ?? i}`, mac, ips: address === undefined ? [] : [{ address }] }]
    })
    return [...groupBy(fixed, ({ key }) => key)].map(([key, same]) => {
      const mac = same[0]?.mac
      return { ...bareNIC, key, ...(mac !== undefined && { mac }), network, ips: same.flatMap(({ ips }) => ips) }
    })
  })
}
