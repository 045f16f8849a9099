// What the installer lets through and a node does not survive: an address that two hosts have, a gateway that cannot be reached, an
// address that belongs to the cluster itself, a nameserver that is dropped at boot. What is no address at all was told before.

import {
  bitsOf,
  type IP,
  type IPText,
  isLinkLocal,
  isLoopback,
  isMapped,
  isMulticast,
  isSameIP,
  isUnspecified,
  parseIP,
  toIPText,
} from '../ip/address.ts'
import { type CIDR, containsIP, firstIP, lastIP, parseCIDR, toCIDRText, toNetwork } from '../ip/cidr.ts'
import { isMalformed } from '../ip/malformed.ts'
import { hasFaults, printKargs } from '../kargs/print.ts'
import { readKargs } from '../kargs/read.ts'
import type { Host, HostDevice, InstallConfig } from './config.ts'
import { duplicate, invalid, type Marked, notACIDR, notAnIP, type Report } from './fault.ts'

/** An address that a ledger holds, or a whole prefix. */
export interface HeldAddress {
  readonly cidr: CIDR
  /** `IPAddressClaim default/web-0 in space lab`. */
  readonly holder: string
}

interface Address extends Marked<string> {
  readonly cidr: CIDR
}

/** The installer takes it where networking.machineNetwork is left out. */
const defaultMachineNetwork = '10.0.0.0/16'

export function checkAddresses(
  config: InstallConfig,
  hosts: readonly Host[],
  held: readonly HeldAddress[],
  report: Report,
): void {
  const vips = readableIPs(config.vips, (vip, value) => report('VIPMalformed', vip, notAnIP(value)))
  const networks = config.machineNetworks?.flatMap(network => {
    const cidr = parseCIDR(network.value)
    if (!isMalformed(cidr)) return [cidr]
    report('MachineNetworkMalformed', network, notACIDR(network.value))
    return []
  })
  const among: Neighbourhood = {
    networks,
    vips: new Map(vips.map(({ ip, path }) => [toIPText(ip), path])),
    held: new Map(held.filter(isSingle).map(({ cidr, holder }) => [toIPText(cidr.ip), holder])),
    heldPrefixes: held.filter(one => !isSingle(one)),
    seen: new Map(),
    gateways: gatewaysOf(hosts),
  }
  for (const { networkDevice } of hosts) {
    if (networkDevice !== undefined) checkDevice(networkDevice, among, report)
  }
}

const isSingle = ({ cidr: { ip, bits } }: HeldAddress): boolean => bits === bitsOf(ip.family)

/** What an address is compared with. */
interface Neighbourhood {
  readonly networks: readonly CIDR[] | undefined
  readonly vips: ReadonlyMap<IPText, string>
  readonly held: ReadonlyMap<IPText, string>
  readonly heldPrefixes: readonly HeldAddress[]
  /** Addresses of the hosts before, and where each stands. */
  readonly seen: Map<IPText, string>
  /** Of every host, and where each stands first. */
  readonly gateways: ReadonlyMap<IPText, string>
}

function gatewaysOf(hosts: readonly Host[]): ReadonlyMap<IPText, string> {
  const gateways = new Map<IPText, string>()
  for (const { networkDevice } of hosts) {
    for (const { ip, path } of readableIPs(networkDevice?.gateway === undefined ? [] : [networkDevice.gateway])) {
      if (!gateways.has(toIPText(ip))) gateways.set(toIPText(ip), path)
    }
  }
  return gateways
}

function readableIPs(
  texts: readonly Marked<string>[],
  otherwise: (text: Marked<string>, value: string) => void = () => {},
): readonly (Marked<string> & { readonly ip: IP })[] {
  return texts.flatMap(text => {
    const ip = parseIP(text.value)
    if (!isMalformed(ip)) return [{ ...text, ip }]
    otherwise(text, text.value)
    return []
  })
}

function checkDevice(device: HostDevice, among: Neighbourhood, report: Report): void {
  const addresses = device.ipAddrs.flatMap((text): Address[] => {
    const cidr = parseCIDR(text.value)
    return isMalformed(cidr) ? [] : [{ ...text, cidr }]
  })
  const [gateway] = readableIPs(device.gateway === undefined ? [] : [device.gateway])
  const servers = readableIPs(device.nameservers)
  for (const address of addresses) {
    checkAlone(address, report)
    checkAmong(address, among, report)
    const own = servers.find(({ ip }) => isSameIP(ip, address.cidr.ip))
    if (own !== undefined)
      report('AddressIsNameserver', own, invalid(own.value, 'it is the address of the host itself: name another'))
  }
  checkFamilies(device, addresses, report)
  checkGateway(device, addresses, gateway, report)
  // Without an address that can be read, that is what is wrong.
  if (addresses.length > 0) checkNameservers(device, report)
}

// --- an address ---

function checkAlone(address: Address, report: Report): void {
  const { cidr, value } = address
  const problem = whyUnusable(cidr)
  if (problem !== undefined) report('AddressUnusable', address, invalid(value, problem))
  if (cidr.bits === 0)
    report(
      'PrefixUnusable',
      address,
      invalid(value, 'with a prefix length of 0 every address is a neighbour: write that of the subnet'),
    )
  if (cidr.bits === bitsOf(cidr.ip.family)) {
    report('PrefixSingle', address, invalid(value, 'it is alone in its subnet, so no gateway is in it'))
  }
}

function whyUnusable(cidr: CIDR): string | undefined {
  const { ip, bits } = cidr
  if (isUnspecified(ip)) return 'it is the unspecified address'
  if (isMapped(ip)) return 'it is IPv4 written as IPv6: write the IPv4 address'
  if (isLoopback(ip)) return 'it is a loopback address'
  if (isMulticast(ip)) return 'it is a multicast address'
  if (isLinkLocal(ip)) return 'it is a link-local address'
  // Subnets of one or two addresses have neither.
  if (bitsOf(ip.family) - bits < 2) return undefined
  if (isSameIP(ip, firstIP(cidr))) return `it is the network address of ${toCIDRText(toNetwork(cidr))}`
  if (ip.family === 4 && isSameIP(ip, lastIP(cidr)))
    return `it is the broadcast address of ${toCIDRText(toNetwork(cidr))}`
  return undefined
}

function checkAmong(address: Address, among: Neighbourhood, report: Report): void {
  const { networks, vips, held, heldPrefixes, seen, gateways } = among
  const { cidr, value, path } = address
  const text = toIPText(cidr.ip)
  const before = seen.get(text)
  if (before !== undefined)
    report('AddressTwice', address, `${duplicate(value)}: ${before} has it too: give one of them another`)
  else seen.set(text, path)
  const gateway = gateways.get(text)
  if (gateway !== undefined)
    report('AddressIsGateway', address, invalid(value, `it is the gateway of ${gateway}: give the host another`))
  const vip = vips.get(text)
  if (vip !== undefined)
    report(
      'AddressIsVIP',
      address,
      invalid(value, `it is ${vip} too, which moves between nodes: give the host another`),
    )
  const holder = held.get(text) ?? heldPrefixes.find(one => containsIP(one.cidr, cidr.ip))?.holder
  if (holder !== undefined)
    report('AddressHeld', address, invalid(value, `it is held by ${holder}: give the host another`))
  checkMachineNetwork(address, networks, report)
}

function checkMachineNetwork(address: Address, networks: readonly CIDR[] | undefined, report: Report): void {
  const { cidr, value } = address
  if (networks === undefined) {
    const network = parseCIDR(defaultMachineNetwork)
    if (isMalformed(network) || containsIP(network, cidr.ip)) return
    const detail = `networking.machineNetwork is left out, and ${defaultMachineNetwork} does not have it: name the network of the machines`
    report('AddressOutsideDefaultNetwork', address, invalid(value, detail))
  } else if (networks.length > 0 && !networks.some(network => containsIP(network, cidr.ip))) {
    const all = networks.map(toCIDRText).join(', ')
    report(
      'AddressOutsideMachineNetwork',
      address,
      invalid(
        value,
        `it is in none of networking.machineNetwork (${all}): correct the address, or add its network there`,
      ),
    )
  }
}

function checkFamilies({ path, place }: HostDevice, addresses: readonly Address[], report: Report): void {
  for (const family of [4, 6] as const) {
    const number = addresses.filter(({ cidr }) => cidr.ip.family === family).length
    if (number <= 1) continue
    const detail = `${number} addresses of IPv${family} on one device: a node reports one of each family, and which is not said`
    report('AddressesOfOneFamily', { path: `${path}.ipAddrs`, place }, detail)
  }
}

// --- the gateway ---

function checkGateway(
  { path, place, gateway: written }: HostDevice,
  addresses: readonly Address[],
  gateway: (Marked<string> & { readonly ip: IP }) | undefined,
  report: Report,
): void {
  const families = new Set(addresses.map(({ cidr }) => cidr.ip.family))
  if (gateway !== undefined) {
    const { ip, value } = gateway
    if (isUnspecified(ip) || isMulticast(ip) || isLoopback(ip) || isMapped(ip)) {
      report('GatewayUnusable', gateway, invalid(value, 'it is the address of no host: name that of the router'))
      return
    }
    const ofFamily = addresses.filter(({ cidr }) => cidr.ip.family === ip.family)
    if (addresses.length > 0 && ofFamily.length === 0) {
      report(
        'GatewayFamily',
        gateway,
        invalid(
          value,
          `no address of the host is IPv${ip.family}: it would be dropped; add one, or name a gateway of the other family`,
        ),
      )
    }
    // A router of IPv6 is often known by its link-local address alone.
    const isReachable = (ip.family === 6 && isLinkLocal(ip)) || ofFamily.some(({ cidr }) => containsIP(cidr, ip))
    if (ofFamily.length > 0 && !isReachable) {
      const subnets = ofFamily.map(({ cidr }) => toCIDRText(toNetwork(cidr))).join(', ')
      report(
        'GatewayOutsideSubnet',
        gateway,
        invalid(
          value,
          `it is outside of ${subnets}, so no packet would reach it: correct it, or the prefix of the address`,
        ),
      )
    }
  } else if (written !== undefined) return
  for (const family of families) {
    if (gateway?.ip.family === family) continue
    const detail =
      gateway === undefined
        ? `IPv${family} has no default route: name the gateway`
        : `IPv${family} has no default route, for a host has one gateway: name the other one in the file of the IPAddress`
    report('GatewayMissing', { path: `${path}.gateway`, place }, detail)
  }
}

// --- nameservers ---

/** What a guest does with the kernel arguments is asked of what reads them as a guest does. */
function checkNameservers(device: HostDevice, report: Report): void {
  const { path, place, nameservers } = device
  if (nameservers.length === 0) {
    report(
      'NameserversMissing',
      { path: `${path}.nameservers`, place },
      'no nameserver is named, and without DHCP none is learnt',
    )
    return
  }
  const printed = printKargs([deviceOfHost(device)])
  if (hasFaults(printed)) return
  const dropped = new Map(readKargs(printed.kargs).dropped.map(({ item, why }) => [item, why]))
  for (const server of nameservers) {
    const why = dropped.get(`nameserver=${server.value}`) ?? dropped.get(`nameserver=[${server.value}]`)
    if (why === undefined) continue
    report('NameserverDropped', server, invalid(server.value, `it is dropped at boot: ${why}`))
  }
}

/** As the bootstrap machine gets it, which has no IPAddress. */
export const deviceOfHost = ({ path, ipAddrs, gateway, nameservers }: HostDevice) => ({
  field: path,
  ipAddrs: ipAddrs.map(({ value }) => value),
  gateway: gateway?.value,
  nameservers: nameservers.map(({ value }) => value),
})
