// What a virtual machine asks for: a MAC and addresses of its own, by interface. Two ways of asking are read, and say the same where
// both are used:
//
//   network.kubevirt.io/addresses       {"net1": ["192.0.2.5", "2001:db8::5"]}, beside macAddress of the interface
//   v1.multus-cni.io/default-network    [{"name": ..., "namespace": ..., "mac": ..., "ips": ["192.0.2.5/24"]}], of the pod network
//
// The same texts stand on IPAMClaims. Any spelling of an address will do, and an IPv4 address in the form of IPv6 is IPv4: what two
// spellings mean is one address. Whether it can be had is for its network to say.

import { bitsOf, type Family, type IP, isMapped, isSameIP, parseIP, toIPText } from '../ip/address.ts'
import { parseCIDR } from '../ip/cidr.ts'
import { type MACText, parseMAC } from '../ip/mac.ts'
import { isMalformed, type Malformed, malformed, quoteText } from '../ip/malformed.ts'
import { addressesAnnotation, defaultNetworkAnnotation } from './names.ts'
import { parseNetworkSelections } from './network-selection.ts'
import { isRecord, jsonOf, malformedBy } from './shape.ts'

export interface RequestedIP {
  readonly ip: IP
  /** Undefined where only the address was written. */
  readonly prefix: number | undefined
}

export interface AddressRequest {
  readonly mac: MACText | undefined
  /** At most one of each family, IPv4 first. */
  readonly ips: readonly RequestedIP[]
}

/** The two annotations as they stand there. */
export interface RequestTexts {
  readonly addresses: string | undefined
  readonly defaultNetwork: string | undefined
}

export const noRequest: AddressRequest = { mac: undefined, ips: [] }

export const isRequest = ({ mac, ips }: AddressRequest): boolean => mac !== undefined || ips.length > 0

/** Of a virtual machine. */
interface Interface {
  readonly name: string
  /** Undefined for the pod network. */
  readonly attachment: string | undefined
  readonly isDefault: boolean
  /** As typed; empty if none. */
  readonly mac: string
}

/** By interface, of those that ask for something. An annotation that cannot be read is the fault of every interface it may be about. */
export function requestsOf(
  texts: RequestTexts,
  interfaces: readonly Interface[],
): ReadonlyMap<string, AddressRequest | Malformed> {
  const byName = addressesOf(texts.addresses)
  const ofPodNetwork = defaultNetworkOf(texts.defaultNetwork)
  const requests = new Map<string, AddressRequest | Malformed>()
  for (const one of interfaces) {
    if (one.isDefault) continue
    const request = requestOf(one, byName, one.attachment === undefined ? ofPodNetwork : nothing)
    if (isMalformed(request) || isRequest(request)) requests.set(one.name, request)
  }
  return requests
}

/** Sentences about what is asked for and reaches no interface: it would be lost without a word. */
export function strayRequests(texts: RequestTexts, interfaces: readonly Interface[]): readonly string[] {
  const byName = addressesOf(texts.addresses)
  const names = isMalformed(byName) ? [] : [...byName.keys()]
  const known = new Set(interfaces.filter(({ isDefault }) => !isDefault).map(({ name }) => name))
  const strays = names.filter(name => !known.has(name))
  const said = strays
    .slice(0, straysNamedMax)
    .map(name => `${addressesAnnotation} names ${quoteText(name)}, and there is no such interface`)
  if (strays.length > straysNamedMax) said.push(`and ${strays.length - straysNamedMax} more`)
  const isOnPodNetwork = interfaces.some(({ attachment }) => attachment === undefined)
  if (texts.defaultNetwork !== undefined && !isOnPodNetwork)
    said.push(`${defaultNetworkAnnotation} is about the pod network, and no interface is on it`)
  return said
}

const straysNamedMax = 10

// --- one interface ---

interface Asked {
  readonly mac: string
  readonly ips: readonly string[]
  /** Which field says so. */
  readonly field: string
}

const nothing: Asked = { mac: '', ips: [], field: '' }

function requestOf(
  { name, mac: typed }: Interface,
  byName: ReadonlyMap<string, readonly string[]> | Malformed,
  ofPodNetwork: Asked | Malformed,
): AddressRequest | Malformed {
  const faults: string[] = []
  const read = <T>(value: T | Malformed, field: string): T | undefined => {
    if (!isMalformed(value)) return value
    faults.push(`${field}: ${value.malformed}`)
    return undefined
  }
  const addresses = read(byName, addressesAnnotation)?.get(name) ?? []
  const element = read(ofPodNetwork, defaultNetworkAnnotation) ?? nothing
  const fieldOfIPs = `${addressesAnnotation} of interface ${quoteText(name)}`
  const fieldOfMAC = `macAddress of interface ${quoteText(name)}`
  const first = read(parseRequestedIPs(addresses), fieldOfIPs) ?? []
  const second = read(parseRequestedIPs(element.ips), `ips of ${element.field}`) ?? []
  const mac = typed === '' ? undefined : read(parseRequestedMAC(typed), fieldOfMAC)
  const other = element.mac === '' ? undefined : read(parseRequestedMAC(element.mac), `mac of ${element.field}`)
  if (mac !== undefined && other !== undefined && mac !== other)
    faults.push(`${fieldOfMAC} is ${mac}, and mac of ${element.field} is ${other}: write one of them`)
  if (first.length > 0 && second.length > 0 && !isSameRequest(first, second))
    faults.push(`${fieldOfIPs} and ips of ${element.field} differ: write one of them`)
  if (faults.length > 0) return malformedBy(faults)
  return { mac: mac ?? other, ips: second.length > 0 ? second : first }
}

const isSameRequest = (some: readonly RequestedIP[], others: readonly RequestedIP[]): boolean =>
  some.length === others.length && some.every(({ ip }) => others.some(other => isSameIP(ip, other.ip)))

function addressesOf(text: string | undefined): ReadonlyMap<string, readonly string[]> | Malformed {
  if (text === undefined || text.trim() === '') return new Map()
  const value = jsonOf(text)
  if (!isRecord(value)) return { malformed: 'is no JSON object: write it such as {"net1": ["192.0.2.5"]}' }
  const found = new Map<string, readonly string[]>()
  for (const [name, ips] of Object.entries(value)) {
    if (!Array.isArray(ips) || !ips.every(ip => typeof ip === 'string'))
      return { malformed: `${quoteText(name)} is not a list of texts: write it such as {"net1": ["192.0.2.5"]}` }
    found.set(name, ips)
  }
  return found
}

function defaultNetworkOf(text: string | undefined): Asked | Malformed {
  if (text === undefined) return nothing
  const selections = parseNetworkSelections(text, '')
  if (isMalformed(selections)) return selections
  const [one, ...others] = selections
  if (one === undefined || others.length > 0)
    return { malformed: `it has ${selections.length} elements: write a list of one` }
  return { mac: one.mac, ips: one.ips, field: defaultNetworkAnnotation }
}

// --- values ---

/** At most one of each family: a claim has no more. */
export function parseRequestedIPs(texts: readonly string[]): readonly RequestedIP[] | Malformed {
  const byFamily = new Map<Family, RequestedIP>()
  for (const text of texts) {
    const one = parseRequestedIP(text)
    if (isMalformed(one)) return one
    const before = byFamily.get(one.ip.family)
    if (before !== undefined) {
      const both = `${toIPText(before.ip)} and ${toIPText(one.ip)}`
      return { malformed: `${both} are two addresses of IPv${one.ip.family}: an interface has one of each family` }
    }
    byFamily.set(one.ip.family, one)
  }
  return [...byFamily.values()].sort((one, other) => one.ip.family - other.ip.family)
}

function parseRequestedIP(text: string): RequestedIP | Malformed {
  const cidr = text.includes('/') ? parseCIDR(text) : undefined
  if (isMalformed(cidr)) return cidr
  const ip = cidr?.ip ?? parseIP(text)
  if (isMalformed(ip)) return ip
  if (!isMapped(ip)) return { ip, prefix: cidr?.bits }
  const prefix = cidr && cidr.bits - bitsOf(6) + bitsOf(4)
  if (prefix !== undefined && prefix < 0) return malformed(text, 'is an IPv4 address: its prefix length is 96 to 128')
  return { ip: { family: 4, w0: 0, w1: 0, w2: 0, w3: ip.w3 }, prefix }
}

/** Of one card: a group of cards, and all zeros, are no such address. */
export function parseRequestedMAC(text: string): MACText | Malformed {
  const mac = parseMAC(text)
  if (isMalformed(mac)) return mac
  if (mac === '00:00:00:00:00:00') return malformed(text, 'is the address of no card: write that of one')
  const isGroup = (Number.parseInt(mac.slice(0, 2), 16) & 1) === 1
  return isGroup ? malformed(text, 'is the address of a group of cards: write that of one') : mac
}

/** The canonical text, as it stands on a claim. */
export const toRequestedText = ({ ip, prefix }: RequestedIP): string =>
  prefix === undefined ? toIPText(ip) : `${toIPText(ip)}/${prefix}`
