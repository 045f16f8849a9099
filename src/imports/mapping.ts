// What the administrator decides about an import: to what each card of a machine is connected, which of its addresses it keeps,
// and what it is called. All of it is written on the command line as KEY=VALUE; nothing that is not said is guessed.

import { type IP, type IPText, parseIP, toIPText } from '../ip/address.ts'
import { type CIDR, containsIP, parseCIDR, toCIDRText } from '../ip/cidr.ts'
import { type MACText, parseMAC } from '../ip/mac.ts'
import { isMalformed, type Malformed, malformed, quoteText } from '../ip/malformed.ts'
import { isSubdomain } from '../ip/object-name.ts'

/**
 * `primary`: the ClusterUserDefinedNetwork that takes the place of the pod network. `attachment`: a NetworkAttachmentDefinition
 * beside it. `ignored`: the card is left out.
 */
export type CardTarget =
  | { readonly to: 'primary'; readonly network: string }
  | { readonly to: 'attachment'; readonly namespace: string; readonly name: string }
  | { readonly to: 'ignored' }

/** What a source does not know about one of its networks, and people do. */
export interface KnownSubnet {
  readonly subnet: CIDR
  readonly gateway: IP | undefined
}

export interface Mapping {
  /** In which the machines are made. */
  readonly namespace: string
  /** By the name or the id that the source has for what a card is connected to, or by the MAC of one card, which comes first. */
  readonly cards: ReadonlyMap<string, CardTarget>
  /** By MAC: the addresses that the card is to keep, of those it has. */
  readonly addresses: ReadonlyMap<MACText, readonly IPText[]>
  /** By the same keys as `cards`, without MACs. */
  readonly subnets: ReadonlyMap<string, readonly KnownSubnet[]>
  /** By name or id of the source: the name of the VirtualMachine. */
  readonly names: ReadonlyMap<string, string>
  /** Names or ids of machines that are left out. */
  readonly skipped: ReadonlySet<string>
  /** The machines are off in the source before they run here: a MAC that is there twice is then no conflict. */
  readonly isSourceOff: boolean
  /** A card that has no MAC may get a new one. */
  readonly mayGetNewMACs: boolean
}

/** What the command line says, still as texts. */
export interface MappingTexts {
  readonly namespace: string
  readonly map: readonly string[]
  readonly address?: readonly string[]
  readonly subnet?: readonly string[]
  readonly name?: readonly string[]
  readonly skip?: readonly string[]
  readonly sourceWillBeOff?: boolean
  readonly newMacs?: boolean
}

/** All that is wrong with it, at once. */
export interface MappingFaults {
  readonly faults: readonly string[]
}

export const targetForms = 'cudn:NAME, NAMESPACE/NAME of a NetworkAttachmentDefinition, or ignored'

export function readMapping(texts: MappingTexts): Mapping | MappingFaults {
  const faults: string[] = []
  const pairs = <T>(
    flag: string,
    list: readonly string[] = [],
    read: (value: string) => T | Malformed,
  ): [string, T][] =>
    list.flatMap((text): [string, T][] => {
      // A port group may have "=" in its name; no value has.
      const at = text.lastIndexOf('=')
      if (at <= 0) {
        faults.push(`${flag} ${quoteText(text)} has no "=": write KEY=VALUE`)
        return []
      }
      const value = read(text.slice(at + 1))
      if (!isMalformed(value)) return [[text.slice(0, at), value]]
      faults.push(`${flag} ${quoteText(text)}: ${value.malformed}`)
      return []
    })
  const cards = new Map<string, CardTarget>()
  for (const [key, target] of pairs('--map', texts.map, readTarget)) {
    const canonical = keyOfCard(key)
    if (cards.has(canonical)) faults.push(`--map has ${quoteText(key)} twice: a card is connected to one thing`)
    cards.set(canonical, target)
  }
  const addresses = new Map<MACText, readonly IPText[]>()
  for (const [key, ips] of pairs('--address', texts.address, readAddresses)) {
    const mac = parseMAC(key)
    if (isMalformed(mac)) faults.push(`--address: ${mac.malformed}`)
    else addresses.set(mac, ips)
  }
  const subnets = new Map<string, readonly KnownSubnet[]>()
  for (const [key, known] of pairs('--subnet', texts.subnet, readSubnet)) {
    subnets.set(key, [...(subnets.get(key) ?? []), known])
  }
  const names = new Map(pairs('--name', texts.name, readName))
  if (faults.length > 0) return { faults }
  const { namespace, sourceWillBeOff = false, newMacs = false } = texts
  return {
    namespace,
    cards,
    addresses,
    subnets,
    names,
    skipped: new Set(texts.skip),
    isSourceOff: sourceWillBeOff,
    mayGetNewMACs: newMacs,
  }
}

function keyOfCard(key: string): string {
  const mac = parseMAC(key)
  return isMalformed(mac) ? key : mac
}

function readTarget(text: string): CardTarget | Malformed {
  if (text === 'ignored') return { to: 'ignored' }
  const network = text.startsWith('cudn:') ? text.slice('cudn:'.length) : undefined
  if (network !== undefined && isSubdomain(network)) return { to: 'primary', network }
  const [namespace = '', name = '', ...rest] = text.split('/')
  if (network === undefined && rest.length === 0 && isSubdomain(namespace) && isSubdomain(name)) {
    return { to: 'attachment', namespace, name }
  }
  return malformed(text, `is no target: write ${targetForms}`)
}

function readAddresses(text: string): readonly IPText[] | Malformed {
  const ips: IPText[] = []
  for (const item of text.split(',')) {
    const ip = parseIP(item)
    if (isMalformed(ip)) return ip
    ips.push(toIPText(ip))
  }
  return ips
}

/** `10.0.0.0/24,10.0.0.254`. */
function readSubnet(text: string): KnownSubnet | Malformed {
  const [cidr = '', gateway, ...rest] = text.split(',')
  if (rest.length > 0)
    return malformed(text, 'has more than a subnet and its gateway: write one --subnet for each family')
  const subnet = parseCIDR(cidr, { hostBits: 'refuse' })
  if (isMalformed(subnet)) return subnet
  if (gateway === undefined) return { subnet, gateway: undefined }
  const ip = parseIP(gateway)
  if (isMalformed(ip)) return ip
  if (containsIP(subnet, ip)) return { subnet, gateway: ip }
  return malformed(gateway, `is outside of ${toCIDRText(subnet)}: a gateway has to be in its subnet`)
}

const readName = (text: string): string | Malformed =>
  isVMName(text) ? text : malformed(text, 'is no name of a VirtualMachine: write lower-case letters, digits and "-"')

/** Also the value of a label, and the first part of the host name. */
export const isVMName = (text: string): boolean => /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text)
