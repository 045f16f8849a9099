// The configuration of a network of OVN-Kubernetes, layer2 or localnet, as its NetworkAttachmentDefinition has it. What
// OVN-Kubernetes refuses is refused here too; what it ignores, and could be taken for something else, is refused as well.

import { childOf, flagOf, integerOf, pathTo, type Shape, textOf } from '../api/shape.ts'
import { type Family, type IP, isSameIP, parseIP, toIPText } from '../ip/address.ts'
import {
  type CIDR,
  containsCIDR,
  containsIP,
  firstIP,
  lastIP,
  overlapsCIDR,
  parseCIDR,
  toCIDRText,
  toNetwork,
} from '../ip/cidr.ts'
import { isMalformed, quoteText } from '../ip/malformed.ts'
import { itemsOf } from './config.ts'
import { hasRoomForInfrastructure } from './infrastructure.ts'
import type { Topology } from './network.ts'

export const ovnPluginType = 'ovn-k8s-cni-overlay'

export interface OVNConfig {
  readonly topology: Topology
  readonly isPrimary: boolean
  /** At most one per family. None: it gives out only what is asked for. */
  readonly subnets: readonly CIDR[]
  readonly excluded: readonly CIDR[]
  /** Given only to claims that ask for one of them. */
  readonly reserved: readonly CIDR[]
  /** For gateway and management, never for claims. */
  readonly infrastructure: readonly CIDR[]
  readonly gateways: readonly IP[]
  readonly allowsPersistentIPs: boolean
  /** What all attachments of one network must say, by field, however they spell it. */
  readonly essentials: ReadonlyMap<string, string>
}

/** `key` is that of the NetworkAttachmentDefinition. */
export function readOVNConfig(shape: Shape, topology: Topology, key: string): OVNConfig {
  const { faults } = shape
  const at = (field: string) => pathTo(shape, field)
  const isPrimary = isPrimaryIn(shape)
  if (isPrimary && topology === 'localnet') {
    faults.push(`${at('role')} is "primary", which a localnet network cannot be: leave it out, or write "secondary"`)
  }
  const named = textOf(shape, 'netAttachDefName') ?? ''
  if (named !== '' && named !== key) {
    faults.push(
      `${at('netAttachDefName')} is ${quoteText(named)}, and this is ${key}: write its own namespace and name`,
    )
  }
  if ((textOf(childOf(shape, 'ipam'), 'type') ?? '') !== '') {
    faults.push(`${at('ipam')} cannot go with OVN-Kubernetes: list the addresses in subnets, and remove it`)
  }
  const subnets = subnetsOf(shape)
  if (isPrimary && topology === 'layer2' && subnets.length === 0 && faults.length === 0) {
    faults.push(`${at('subnets')} is missing: a primary network needs one`)
  }
  if (isPrimary) {
    for (const small of subnets.filter(subnet => !hasRoomForInfrastructure(subnet))) {
      faults.push(`${at('subnets')}: ${toCIDRText(small)} has no room for a gateway and a host: write a larger subnet`)
    }
  }
  const onlyIn = (field: string, isAllowed: boolean, where: string) => {
    if (isAllowed || itemsOf(shape, field).length === 0) return
    faults.push(`${at(field)} is only for ${where}: remove it`)
  }
  onlyIn('reservedSubnets', topology === 'layer2', 'layer2 networks')
  onlyIn('infrastructureSubnets', topology === 'layer2' && isPrimary, 'primary layer2 networks')
  onlyIn('defaultGatewayIPs', topology === 'layer2' && isPrimary, 'primary layer2 networks')
  onlyIn('joinSubnet', topology === 'layer2', 'layer2 networks')
  const excluded = inside(shape, 'excludeSubnets', subnets)
  const reserved = inside(shape, 'reservedSubnets', subnets)
  const infrastructure = inside(shape, 'infrastructureSubnets', subnets)
  refuseOverlap(shape, 'infrastructureSubnets', infrastructure, 'reservedSubnets', reserved)
  const join = cidrsOf(shape, 'joinSubnet')
  if (isPrimary) refuseOverlap(shape, 'joinSubnet', join, 'subnets', subnets)
  const gateways = gatewaysOf(shape, subnets)
  const allowsPersistentIPs = flagOf(shape, 'allowPersistentIPs')
  const essentials = new Map<string, string>([
    ['topology', topology],
    ['role', isPrimary ? 'primary' : 'secondary'],
    ['subnets', listText(subnets)],
    ['excludeSubnets', listText(excluded)],
    ['reservedSubnets', listText(reserved)],
    ['infrastructureSubnets', listText(infrastructure)],
    ['defaultGatewayIPs', gateways.map(toIPText).toSorted().join()],
    ['joinSubnet', listText(join)],
    ['transitSubnet', listText(cidrsOf(shape, 'transitSubnet'))],
    ['allowPersistentIPs', `${allowsPersistentIPs}`],
    ['mtu', `${integerOf(shape, 'mtu', 0, 65_536) ?? 0}`],
    ['vlanID', `${integerOf(shape, 'vlanID', 0, 4_094) ?? 0}`],
    ['physicalNetworkName', textOf(shape, 'physicalNetworkName') ?? ''],
  ])
  return { topology, isPrimary, subnets, excluded, reserved, infrastructure, gateways, allowsPersistentIPs, essentials }
}

const listText = (cidrs: readonly CIDR[]): string => cidrs.map(toCIDRText).toSorted().join()

function isPrimaryIn(shape: Shape): boolean {
  const role = textOf(shape, 'role') ?? ''
  if (role === 'primary') return true
  if (role !== '' && role !== 'secondary') {
    shape.faults.push(
      `${pathTo(shape, 'role')} is ${quoteText(role)}: write "primary" or "secondary", in small letters`,
    )
  }
  return false
}

function subnetsOf(shape: Shape): CIDR[] {
  const subnets = cidrsOf(shape, 'subnets')
  for (const family of [4, 6] as const) {
    if (subnets.filter(({ ip }) => ip.family === family).length < 2) continue
    shape.faults.push(`${pathTo(shape, 'subnets')} has several of IPv${family}: list one, or one of each family`)
  }
  return subnets
}

/** As networks: host bits are dropped, as OVN-Kubernetes does. */
function cidrsOf(shape: Shape, field: string): CIDR[] {
  // Anything but a text is a fault.
  textOf(shape, field)
  return itemsOf(shape, field).flatMap(item => {
    const cidr = parseCIDR(item)
    if (!isMalformed(cidr)) return [toNetwork(cidr)]
    shape.faults.push(`${pathTo(shape, field)}: ${cidr.malformed}`)
    return []
  })
}

function inside(shape: Shape, field: string, subnets: readonly CIDR[]): CIDR[] {
  const cidrs = cidrsOf(shape, field)
  for (const cidr of cidrs) {
    if (subnets.some(subnet => containsCIDR(subnet, cidr))) continue
    shape.faults.push(`${pathTo(shape, field)}: ${toCIDRText(cidr)} is in none of the subnets: list only parts of them`)
  }
  return cidrs
}

function refuseOverlap(
  shape: Shape,
  field: string,
  cidrs: readonly CIDR[],
  otherField: string,
  others: readonly CIDR[],
): void {
  for (const cidr of cidrs) {
    const other = others.find(one => overlapsCIDR(cidr, one))
    if (other === undefined) continue
    const both = `${toCIDRText(cidr)} and ${toCIDRText(other)} of ${otherField} overlap`
    shape.faults.push(`${pathTo(shape, field)}: ${both}: take them apart`)
  }
}

function gatewaysOf(shape: Shape, subnets: readonly CIDR[]): IP[] {
  const field = 'defaultGatewayIPs'
  const fault = (sentence: string) => shape.faults.push(`${pathTo(shape, field)}${sentence}`)
  textOf(shape, field)
  const gateways = itemsOf(shape, field).flatMap(item => {
    const ip = parseIP(item)
    if (!isMalformed(ip)) return [ip]
    fault(`: ${ip.malformed}`)
    return []
  })
  const seen = new Set<Family>()
  for (const ip of gateways) {
    const subnet = subnets.find(one => containsIP(one, ip))
    if (seen.has(ip.family)) fault(` has several of IPv${ip.family}: list one, or one of each family`)
    else if (subnet === undefined) fault(`: ${toIPText(ip)} is in none of the subnets: choose an address of one`)
    else if (isNoHost(subnet, ip)) fault(`: ${toIPText(ip)} is no address for a host in ${toCIDRText(subnet)}`)
    seen.add(ip.family)
  }
  return gateways
}

function isNoHost(subnet: CIDR, ip: IP): boolean {
  return isSameIP(ip, firstIP(subnet)) || (ip.family === 4 && isSameIP(ip, lastIP(subnet)))
}
