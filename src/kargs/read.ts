// What a guest makes of its kernel arguments: the connections that NetworkManager's generator in the initial RAM disk writes for
// `ip=` and `nameserver=`, and what it drops without a word. Held against that program by `npm run test:kargs`.
//
//   no name of a device      all such items are one connection, on one device that no setting chose
//   method none              a family without an address is off
//   a gateway                is of the connection, by its own family; the last one counts. Of a family without an address, it
//                            makes the connection invalid, and the device gets nothing
//   nameserver=              goes to each connection in which its family is on
//   a mask that is missing   is that of the old classes (A, B, C), or 64

import { type IP, type IPText, parseIP, toIPText } from '../ip/address.ts'
import { toCIDR, toCIDRText } from '../ip/cidr.ts'
import { parseMAC } from '../ip/mac.ts'
import { isMalformed, quoteText } from '../ip/malformed.ts'
import { fromNetmask } from './netmask.ts'

export type FamilyMethod = 'manual' | 'auto' | 'disabled'

export interface FamilyConfig {
  readonly method: FamilyMethod
  /** With prefix length. */
  readonly addresses: readonly string[]
  readonly gateway: IPText | undefined
  readonly nameservers: readonly IPText[]
}

export interface Connection {
  /** MAC with colons, or name of the interface; undefined for the one device that no setting chose. */
  readonly nic: string | undefined
  readonly ipv4: FamilyConfig
  readonly ipv6: FamilyConfig
}

/** An argument, or a part of it, of which the guest makes nothing. */
export interface Dropped {
  readonly item: string
  readonly why: string
}

export interface KargsReading {
  readonly connections: readonly Connection[]
  readonly dropped: readonly Dropped[]
}

interface Building {
  readonly nic: string | undefined
  readonly 4: FamilyBuilding
  readonly 6: FamilyBuilding
}

interface FamilyBuilding {
  method: FamilyMethod
  readonly addresses: string[]
  gateway: { readonly ip: IPText; readonly item: string } | undefined
}

export function readKargs(kargs: string): KargsReading {
  const dropped: Dropped[] = []
  const built = new Map<string | undefined, Building>()
  const items = kargs.split(/\s+/).filter(item => item !== '')
  for (const item of items) {
    const problem = item.startsWith('ip=') ? readItem(item, item.slice('ip='.length), built, dropped) : undefined
    if (problem !== undefined) dropped.push({ item, why: problem })
  }
  const servers = items.flatMap(item => readNameserver(item, dropped))
  const connections = [...built.values()].flatMap(one => finished(one, servers, dropped))
  for (const { item, ip } of servers) {
    if (connections.some(one => familyOf(one, ip).method !== 'disabled')) continue
    dropped.push({ item, why: `no device has IPv${ip.family}` })
  }
  return { connections, dropped }
}

const familyOf = ({ ipv4, ipv6 }: Connection, { family }: IP): FamilyConfig => (family === 4 ? ipv4 : ipv6)

// --- ip= ---

const methodsOfIPv6 = ['dhcp6', 'auto6']
const methodsOfBoth = ['dhcp', 'on', 'any', 'auto', ...methodsOfIPv6]

function readItem(
  item: string,
  text: string,
  built: Map<string | undefined, Building>,
  dropped: Dropped[],
): string | undefined {
  const fields = fieldsOf(text)
  const [first = '', second = ''] = fields
  if (fields.length === 1) return automatic(undefined, first, built)
  const client = readIP(first)
  if (client === undefined) return automatic(first, second, built)
  const [, , gateway = '', mask = '', , nic = '', method = ''] = fields
  if (method !== 'none' && method !== 'off') return `its method is ${quoteText(method)}, and not none`
  const bits = bitsOf(client, mask)
  const building = buildingOf(nic === '' ? undefined : nic, built)
  const family = building[client.family]
  family.method = 'manual'
  const address = toCIDRText(toCIDR(client, bits))
  if (!family.addresses.includes(address)) family.addresses.push(address)
  const other = building[client.family === 4 ? 6 : 4]
  if (other.addresses.length === 0) other.method = 'disabled'
  if (gateway === '') return undefined
  const ip = readIP(gateway)
  if (ip === undefined) return 'its gateway is no address; the rest of it counts'
  const before = building[ip.family].gateway
  const isOther = before !== undefined && before.ip !== toIPText(ip)
  if (isOther) dropped.push({ item: before.item, why: `its gateway gives way to ${toIPText(ip)} of a later item` })
  building[ip.family].gateway = { ip: toIPText(ip), item }
  return undefined
}

/** At colons outside of brackets. */
function fieldsOf(text: string): string[] {
  const fields: string[] = []
  let rest = text
  for (;;) {
    const isBracketed = rest.startsWith('[') && rest.includes(']')
    const end = rest.indexOf(':', isBracketed ? rest.indexOf(']') : 0)
    if (end === -1) return [...fields, rest]
    fields.push(rest.slice(0, end))
    rest = rest.slice(end + 1)
  }
}

function readIP(text: string): IP | undefined {
  const ip = parseIP(/^\[.*\]$/.test(text) ? text.slice(1, -1) : text)
  return isMalformed(ip) ? undefined : ip
}

function bitsOf(client: IP, mask: string): number {
  if (client.family === 4) {
    const dotted = parseIP(mask)
    if (!isMalformed(dotted) && dotted.family === 4) return fromNetmask(dotted)
  }
  const most = client.family === 4 ? 32 : 128
  if (/^\d{1,3}$/.test(mask) && Number(mask) <= most) return Number(mask)
  if (client.family === 6) return 64
  const octet = client.w3 >>> 24
  if (octet < 128) return 8
  return octet < 192 ? 16 : 24
}

/** `ip=dhcp`, `ip=ens192:auto6`: addresses come from the wire. */
function automatic(
  nic: string | undefined,
  method: string,
  built: Map<string | undefined, Building>,
): string | undefined {
  if (!methodsOfBoth.includes(method)) return 'it is neither an address nor a way to get one'
  const { 4: ipv4, 6: ipv6 } = buildingOf(nic, built)
  if (methodsOfIPv6.includes(method)) {
    ipv6.method = 'auto'
    if (ipv4.addresses.length === 0) ipv4.method = 'disabled'
  } else {
    ipv4.method = 'auto'
    if (ipv6.addresses.length === 0) ipv6.method = 'auto'
  }
  return undefined
}

function buildingOf(text: string | undefined, built: Map<string | undefined, Building>): Building {
  const mac = text?.includes('-') ? parseMAC(text) : undefined
  const nic = mac === undefined || isMalformed(mac) ? text : mac
  const there = built.get(nic)
  if (there !== undefined) return there
  const family = (): FamilyBuilding => ({ method: 'disabled', addresses: [], gateway: undefined })
  const made = { nic, 4: family(), 6: family() }
  built.set(nic, made)
  return made
}

// --- nameserver= ---

interface Server {
  readonly item: string
  readonly ip: IP
}

function readNameserver(item: string, dropped: Dropped[]): Server[] {
  if (!item.startsWith('nameserver=')) return []
  const ip = readIP(item.slice('nameserver='.length))
  if (ip !== undefined) return [{ item, ip }]
  dropped.push({ item, why: 'it is no address' })
  return []
}

// --- the whole ---

function finished({ nic, ...families }: Building, servers: readonly Server[], dropped: Dropped[]): Connection[] {
  const stranded = [families[4], families[6]].find(one => one.addresses.length === 0 && one.gateway !== undefined)
  if (stranded?.gateway !== undefined) {
    const { ip, item } = stranded.gateway
    dropped.push({ item, why: `its gateway ${ip} has no address of its family beside it: the device gets nothing` })
    return []
  }
  const toFamily = (family: 4 | 6): FamilyConfig => {
    const { method, addresses, gateway } = families[family]
    const nameservers = servers.filter(({ ip }) => ip.family === family && method !== 'disabled')
    return {
      method,
      addresses,
      gateway: gateway?.ip,
      nameservers: [...new Set(nameservers.map(({ ip }) => toIPText(ip)))],
    }
  }
  return [{ nic, ipv4: toFamily(4), ipv6: toFamily(6) }]
}
