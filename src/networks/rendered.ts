// What a (Cluster)UserDefinedNetwork comes to in one namespace: the config of a NetworkAttachmentDefinition, with the keys that
// OVN-Kubernetes writes and no others, and the addresses that the network keeps for itself. What would be read as malformed
// there is refused here, with the same sentences.

import { malformedBy, shapeOf } from '../api/shape.ts'
import { isNetworkName } from '../api/space.ts'
import type { UserDefinedNetwork } from '../api/user-defined-network.ts'
import { fromValue, type IP, toIPText } from '../ip/address.ts'
import { type CIDR, containsIP, overlapsCIDR, parseCIDR, toCIDR, toCIDRText } from '../ip/cidr.ts'
import { isMalformed, type Malformed, quoteText } from '../ip/malformed.ts'
import { rangeOfCIDR } from '../ip/range.ts'
import { type Infrastructure, infrastructureOf } from './infrastructure.ts'
import { type OVNConfig, ovnPluginType, readOVNConfig } from './ovn-config.ts'

export interface RenderedNetwork {
  /** By the namespace it is for: the text of `spec.config`. */
  readonly configIn: (namespace: string) => string
  /** Of a primary network, one per family. */
  readonly gateways: readonly IP[]
  readonly management: readonly IP[]
  /** What all of its NetworkAttachmentDefinitions have to say, by field. */
  readonly essentials: OVNConfig['essentials']
}

const cniVersion = '1.1.0'
const joinSubnets = ['100.65.0.0/16', 'fd99::/64']
const transitSubnets = ['100.88.0.0/16', 'fd97::/64']
/** Of a localnet network: what its packets have room for without an overlay around them. */
const localnetMTU = 1_500

/** Undefined for a topology that Mooring does not serve. */
export function renderNetwork(udn: UserDefinedNetwork): RenderedNetwork | Malformed | undefined {
  if (udn.topology === 'Layer3') return undefined
  const faults: string[] = []
  const topology = udn.topology === 'Localnet' ? 'localnet' : 'layer2'
  const common = commonOf(udn)
  if (!isNetworkName(udn.networkName))
    faults.push(`the name of the network, ${quoteText(udn.networkName)}, is too long`)
  const config = readOVNConfig(shapeOf(common, '', faults), topology, '')
  if (faults.length > 0) return malformedBy(faults)
  const infrastructure = config.isPrimary ? infrastructureIn(config) : []
  refuseReserved(config, infrastructure, faults)
  if (faults.length > 0) return malformedBy(faults)
  const { name } = udn.metadata
  return {
    configIn: namespace => toText({ ...common, netAttachDefName: `${namespace}/${name}` }),
    gateways: infrastructure.map(({ gateway }) => gateway),
    management: infrastructure.map(({ management }) => management),
    essentials: config.essentials,
  }
}

function infrastructureIn({ subnets, gateways, infrastructure }: OVNConfig): Infrastructure[] {
  return subnets.map(subnet => {
    const configured = gateways.find(({ family }) => family === subnet.ip.family)
    return infrastructureOf(subnet, configured, infrastructure)
  })
}

/** OVN-Kubernetes accepts this, and then cannot start the network: it would take the address twice. */
function refuseReserved({ reserved }: OVNConfig, infrastructure: readonly Infrastructure[], faults: string[]): void {
  for (const { gateway, management } of infrastructure) {
    for (const [ip, what] of [
      [gateway, 'gateway'],
      [management, 'management address'],
    ] as const) {
      const block = reserved.find(one => containsIP(one, ip))
      if (block === undefined) continue
      const why = `reservedSubnets: ${toCIDRText(block)} has ${toIPText(ip)} in it, the ${what} of the network`
      faults.push(`${why}: reserve less, or list infrastructureSubnets elsewhere`)
    }
  }
}

/** Keys in the order of their names: OVN-Kubernetes writes them so too, and texts of both are the same. */
const toText = (config: object): string =>
  JSON.stringify(Object.fromEntries(Object.entries(config).toSorted(([a], [b]) => (a < b ? -1 : 1))))

function commonOf(udn: UserDefinedNetwork): Readonly<Record<string, unknown>> {
  const isLocalnet = udn.topology === 'Localnet'
  const mtu = udn.mtu ?? (isLocalnet ? localnetMTU : 0)
  const join = udn.joinSubnets.length > 0 ? udn.joinSubnets : joinSubnets
  const ifAny = (key: string, texts: readonly string[]) => (texts.length > 0 ? { [key]: texts.join() } : {})
  return {
    cniVersion,
    type: ovnPluginType,
    name: udn.networkName,
    topology: udn.topology.toLowerCase(),
    role: udn.isPrimary ? 'primary' : 'secondary',
    ...(mtu > 0 && { mtu }),
    ...(udn.isPrimary && { joinSubnet: join.join(), transitSubnet: transitFor([...udn.subnets, ...join]).join() }),
    ...ifAny('subnets', udn.subnets),
    ...(udn.isPersistent && { allowPersistentIPs: true }),
    ...(isLocalnet && udn.physicalNetworkName !== undefined && { physicalNetworkName: udn.physicalNetworkName }),
    ...ifAny('excludeSubnets', udn.excludeSubnets),
    ...(udn.vlan !== undefined && udn.vlan > 0 && { vlanID: udn.vlan }),
    ...ifAny('reservedSubnets', udn.reservedSubnets),
    ...ifAny('infrastructureSubnets', udn.infrastructureSubnets),
    ...ifAny('defaultGatewayIPs', udn.defaultGatewayIPs),
  }
}

const transitTries = 10

/** The usual ones; where one overlaps what the network has, the next of its size that does not. */
function transitFor(taken: readonly string[]): string[] {
  const blocks = taken.flatMap(text => readable(text))
  return transitSubnets.flatMap(text => {
    const [first] = readable(text)
    if (first === undefined) return []
    let block = first
    for (let n = 0; n < transitTries && blocks.some(one => overlapsCIDR(one, block)); n++) block = after(block)
    return [toCIDRText(block)]
  })
}

function after({ ip, bits }: CIDR): CIDR {
  const next = rangeOfCIDR({ ip, bits }).last + 1n
  return toCIDR(fromValue(ip.family, next), bits)
}

function readable(text: string): CIDR[] {
  const cidr = parseCIDR(text)
  return isMalformed(cidr) ? [] : [cidr]
}
