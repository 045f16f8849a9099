// A virtual machine as vSphere describes it, whether over SOAP or in the JSON of govc: its cards, and beside them what VMware
// Tools saw inside the guest. Here the two are joined.
//
// A card and an interface of the guest belong together by the key of the card; by the MAC only where the guest does not say the
// key. Interfaces without a card (bridges of containers, the loopback) are no concern of ours. Routes name interfaces by their
// index in the guest's list.

import { type IPText, parseIP } from '../ip/address.ts'
import { containsIP, toCIDR } from '../ip/cidr.ts'
import { type MACText, parseMAC } from '../ip/mac.ts'
import { isMalformed, quoteText } from '../ip/malformed.ts'
import { readGateway, readPrefix, toRoute } from './address.ts'
import type { Faults } from './faults.ts'
import { groupBy } from './group.ts'
import {
  type AddressOrigin,
  readIP,
  type SourceAddress,
  type SourceGateway,
  type SourceMachine,
  type SourceNIC,
  type SourceNote,
  type SourceOrigin,
  type SourceRoute,
} from './machine.ts'
import { withOwnKeys } from './nic.ts'

export interface VimMachine {
  readonly id: string
  readonly name: string
  readonly powerState: string
  readonly guestId?: string | undefined
  readonly hostName?: string | undefined
  /** `guestToolsRunning` and the like. */
  readonly toolsRunningStatus?: string | undefined
  readonly cards: readonly VimCard[]
  readonly guestNICs: readonly VimGuestNIC[]
  readonly stacks: readonly VimStack[]
}

export interface VimCard {
  readonly key: string
  readonly label?: string | undefined
  /** `VirtualVmxnet3`; govc does not say it. */
  readonly type?: string | undefined
  readonly mac?: string | undefined
  readonly startConnected?: boolean | undefined
  readonly backing: VimBacking
}

export interface VimBacking {
  /** Of a standard one: the name, and the id of the object. */
  readonly deviceName?: string | undefined
  readonly network?: string | undefined
  readonly portgroupKey?: string | undefined
  readonly opaqueNetworkId?: string | undefined
}

export interface VimGuestNIC {
  readonly mac?: string | undefined
  readonly deviceConfigId?: string | undefined
  readonly network?: string | undefined
  /** Without prefix or origin; used only where there is nothing better. */
  readonly flat: readonly string[]
  readonly addresses?: readonly VimAddress[] | undefined
  readonly dns: readonly string[]
  readonly searchDomains: readonly string[]
}

export interface VimAddress {
  readonly address: string
  readonly prefix?: string | undefined
  readonly origin?: string | undefined
}

export interface VimStack {
  readonly dns: readonly string[]
  readonly searchDomains: readonly string[]
  readonly routes: readonly VimRoute[]
}

export interface VimRoute {
  readonly network: string
  readonly prefix: string
  readonly gateway?: string | undefined
  /** The index of an interface in the guest's list. */
  readonly device?: string | undefined
}

/** What the port groups of an inventory are called, by their ids and keys. */
export interface VimNetworks {
  readonly byId: ReadonlyMap<string, string>
  readonly byPortgroupKey: ReadonlyMap<string, { readonly name: string; readonly vlan?: number }>
  readonly byOpaqueId: ReadonlyMap<string, string>
}

export const noNetworks: VimNetworks = { byId: new Map(), byPortgroupKey: new Map(), byOpaqueId: new Map() }

export function toMachine(
  told: VimMachine,
  networks: VimNetworks,
  source: SourceOrigin,
  faults: Faults,
): SourceMachine {
  const vm = { ...told, cards: withOwnKeys(told.cards) }
  const notes: SourceNote[] = []
  const nics = vm.cards.map(card => toNIC(card, vm, networks, notes, faults))
  const { toolsRunningStatus } = vm
  return {
    source,
    id: vm.id,
    name: vm.name,
    powerState: powerStates[vm.powerState] ?? 'unknown',
    ...(vm.guestId && { guestId: vm.guestId }),
    ...(vm.hostName && { hostName: vm.hostName }),
    nics,
    addressesFrom: nics.some(({ ips }) => ips.length > 0) ? 'guest-agent' : 'none',
    ...(toolsRunningStatus && { isAgentRunning: toolsRunningStatus === 'guestToolsRunning' }),
    notes,
  }
}

const powerStates: Readonly<Record<string, SourceMachine['powerState']>> = {
  poweredOn: 'on',
  poweredOff: 'off',
  suspended: 'suspended',
}

interface SeenNIC {
  readonly index: number
  readonly nic: VimGuestNIC
}

function toNIC(card: VimCard, vm: VimMachine, networks: VimNetworks, notes: SourceNote[], faults: Faults): SourceNIC {
  const { key } = card
  const mac = faults.mac(card.mac, `machine ${vm.name}, card ${key}, macAddress`)
  const seen = guestNICsOf(card, mac, vm)
  const guestMACs = seen.flatMap(({ nic }) => (nic.mac === undefined ? [] : [parseMAC(nic.mac)]))
  const other = guestMACs.find(guest => !isMalformed(guest) && mac !== undefined && guest !== mac)
  if (other !== undefined && !isMalformed(other)) {
    notes.push({ reason: 'MACMismatch', nic: key, message: `the guest uses the MAC ${other}, the card has ${mac}` })
  }
  if (mac === undefined) {
    notes.push({
      reason: 'MACMissing',
      nic: key,
      message: 'the card has no MAC yet: it gets one when it is first started',
    })
  }
  if (card.type === 'VirtualSriovEthernetCard') {
    notes.push({ reason: 'SRIOV', nic: key, message: 'the card is a function of a physical one (SR-IOV)' })
  }
  const ips = firstOfEach(seen.flatMap(({ nic }) => addressesOf(nic)))
  const gateways = gatewaysOf(vm, seen)
  noteGateways(key, ips, gateways, notes)
  return {
    key,
    ...(card.label && { label: card.label }),
    ...(mac !== undefined && { mac }),
    ...networkOf(card, seen, networks, notes),
    startConnected: card.startConnected ?? true,
    ...(card.type && { model: card.type.replace(/^Virtual/, '').toLowerCase() }),
    ips,
    gateways,
    routes: routesOf(vm, seen),
    ...namesOf(vm, seen),
  }
}

function guestNICsOf(card: VimCard, mac: MACText | undefined, { cards, guestNICs }: VimMachine): SeenNIC[] {
  const keys = new Set(cards.map(({ key }) => key))
  return guestNICs.flatMap((nic, index) => {
    const { deviceConfigId } = nic
    const isNamed = deviceConfigId !== undefined && keys.has(deviceConfigId)
    const isOfCard = isNamed ? deviceConfigId === card.key : mac !== undefined && parseMAC(nic.mac ?? '') === mac
    return isOfCard ? [{ index, nic }] : []
  })
}

/** An interface may be told twice, as itself and as part of a bridge. */
function firstOfEach(ips: readonly SourceAddress[]): SourceAddress[] {
  return [...groupBy(ips, ({ address }) => address).values()].flatMap(([first]) => first ?? [])
}

const origins: Readonly<Record<string, AddressOrigin>> = {
  manual: 'manual',
  dhcp: 'dhcp',
  linklayer: 'linklayer',
  random: 'random',
  other: 'other',
}

/** What the tools misspell is left out: they repeat what a guest told them, and a guest may tell anything. */
function addressesOf({ addresses, flat }: VimGuestNIC): SourceAddress[] {
  const told = addresses !== undefined && addresses.length > 0 ? addresses : flat.map(address => ({ address }))
  return told.flatMap(({ address: text, prefix: bits, origin: word }: VimAddress) => {
    const address = readIP(text)
    if (address === undefined || isMalformed(address)) return []
    const prefix = readPrefix(bits, address)
    const origin = origins[word ?? '']
    return [{ address, ...(prefix !== undefined && { prefix }), ...(origin && { origin }) }]
  })
}

const defaultNetworks = new Set(['0.0.0.0', '::', '0.0.0.0/0', '::/0'])

const isDefault = ({ network, prefix }: VimRoute): boolean =>
  defaultNetworks.has(network) && (prefix === '0' || prefix === '' || network.includes('/'))

function routesOn({ stacks, guestNICs }: VimMachine, seen: readonly SeenNIC[]): VimRoute[] {
  const indexes = new Set(seen.map(({ index }) => String(index)))
  // An older agent names no interface; with only one there is nothing to choose.
  const isOnly = guestNICs.length === 1 && seen.length === 1
  return stacks.flatMap(({ routes }) => routes).filter(({ device }) => (device ? indexes.has(device) : isOnly))
}

function gatewaysOf(vm: VimMachine, seen: readonly SeenNIC[]): SourceGateway[] {
  const found = new Map<string, SourceGateway>()
  for (const route of routesOn(vm, seen).filter(isDefault)) {
    const gateway = readGateway(route.gateway ?? '')
    if (gateway !== undefined && !isMalformed(gateway) && !found.has(gateway.address))
      found.set(gateway.address, gateway)
  }
  return [...found.values()]
}

function routesOf(vm: VimMachine, seen: readonly SeenNIC[]): SourceRoute[] {
  return routesOn(vm, seen).flatMap(route => {
    const gateway = readGateway(route.gateway ?? '')
    // What is on the link, the guest knows by itself.
    if (isDefault(route) || gateway === undefined || isMalformed(gateway)) return []
    return toRoute(`${route.network}/${route.prefix}`, gateway.address)
  })
}

function noteGateways(
  key: string,
  ips: readonly SourceAddress[],
  gateways: readonly SourceGateway[],
  notes: SourceNote[],
): void {
  for (const { address, origin } of gateways) {
    const gateway = parseIP(address)
    if (origin !== 'fixed' || isMalformed(gateway)) continue
    const subnets = ips.flatMap(({ address: text, prefix }) => {
      const ip = parseIP(text)
      return prefix === undefined || isMalformed(ip) || ip.family !== gateway.family ? [] : [toCIDR(ip, prefix)]
    })
    if (subnets.length === 0 || subnets.some(subnet => containsIP(subnet, gateway))) continue
    const message = `the gateway ${address} is in no subnet of the card`
    notes.push({ reason: 'GatewayOutsideSubnet', nic: key, message })
  }
}

/** Never by the summary of the device: of a distributed port group that is the id of the switch. */
function networkOf(
  { key, backing }: VimCard,
  seen: readonly SeenNIC[],
  networks: VimNetworks,
  notes: SourceNote[],
): Pick<SourceNIC, 'network' | 'networkId' | 'vlan'> {
  const { deviceName, network, portgroupKey, opaqueNetworkId } = backing
  const networkId = portgroupKey || opaqueNetworkId || network
  const distributed = networks.byPortgroupKey.get(portgroupKey ?? '')
  const known = portgroupKey
    ? distributed?.name
    : opaqueNetworkId
      ? networks.byOpaqueId.get(opaqueNetworkId)
      : (networks.byId.get(network ?? '') ?? deviceName)
  const name = known || seen.map(({ nic }) => nic.network).find(Boolean)
  if (!name) {
    const message = networkId
      ? `what the card is connected to is known by its id only: ${quoteText(networkId)}`
      : 'the card is connected to nothing that is known'
    notes.push({ reason: 'NetworkUnresolved', nic: key, message })
  }
  return {
    ...(name && { network: name }),
    ...(networkId && { networkId }),
    ...(distributed?.vlan !== undefined && { vlan: distributed.vlan }),
  }
}

/** Of the interface itself, or else of the guest as a whole. */
function namesOf({ stacks }: VimMachine, seen: readonly SeenNIC[]): Pick<SourceNIC, 'dns' | 'searchDomains'> {
  const own = seen.map(({ nic }) => nic)
  const told = own.some(({ dns }) => dns.length > 0) ? own : seen.length > 0 ? stacks : []
  const dns = told
    .flatMap(one => one.dns)
    .flatMap(text => {
      const address = readIP(text)
      return address === undefined || isMalformed(address) ? [] : [address]
    })
  return { dns: [...new Set<IPText>(dns)], searchDomains: [...new Set(told.flatMap(one => one.searchDomains))] }
}
