// UserDefinedNetwork and ClusterUserDefinedNetwork of OVN-Kubernetes: a network that a namespace, or an administrator, asks for.
// Addresses stay texts here: they go into NetworkAttachmentDefinitions as they were written, and are judged where those are read.

import type { Malformed } from '../ip/malformed.ts'
import { isSubdomain } from '../ip/object-name.ts'
import { networkNameOfClusterUDN } from './cluster-user-defined-network.ts'
import { type Condition, conditionsOf } from './condition.ts'
import { isParsed, type Metadata, metadataOf, type Parsed } from './object.ts'
import { shared } from './repeated.ts'
import { type LabelSelector, selectorOf } from './selector.ts'
import { childOf, integerOf, malformedBy, oneOf, type Shape, shapeOf, textOf, textsOf } from './shape.ts'

const topologies = ['Layer2', 'Layer3', 'Localnet'] as const

export interface UserDefinedNetwork {
  readonly metadata: Metadata
  /** What `spec.network` of an IPAMClaim says, and the config of its NetworkAttachmentDefinitions. */
  readonly networkName: string
  /** Undefined where it is for its own namespace alone. */
  readonly namespaceSelector: LabelSelector | undefined
  readonly topology: (typeof topologies)[number]
  readonly isPrimary: boolean
  readonly mtu: number | undefined
  readonly subnets: readonly string[]
  readonly excludeSubnets: readonly string[]
  readonly reservedSubnets: readonly string[]
  readonly infrastructureSubnets: readonly string[]
  readonly defaultGatewayIPs: readonly string[]
  readonly joinSubnets: readonly string[]
  readonly isPersistent: boolean
  /** Localnet. */
  readonly physicalNetworkName: string | undefined
  readonly vlan: number | undefined
  readonly conditions: readonly Condition[]
  /** What its status says of its name; undefined also where the definition has no room for it. */
  readonly shownName: string | undefined
}

export const networkNameOfUDN = (namespace: string, name: string): string => `${namespace}_${name}`

/** The name of the UserDefinedNetwork of this namespace that a network is of; undefined for one that can be of none. */
export function udnOfNetwork(network: string, namespace: string): string | undefined {
  const prefix = networkNameOfUDN(namespace, '')
  const name = network.startsWith(prefix) ? network.slice(prefix.length) : ''
  return isSubdomain(name) ? name : undefined
}

/** Labels and annotations stay, in caches too: what is made of the network has copies of them. */
export function parseUserDefinedNetwork(object: unknown): Parsed<UserDefinedNetwork> | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const metadata = metadataOf(childOf(root, 'metadata'))
  const spec = childOf(root, 'spec')
  const isOfCluster = metadata.namespace === ''
  const network = isOfCluster ? childOf(spec, 'network') : spec
  const udn: Parsed<UserDefinedNetwork> = {
    [isParsed]: true,
    apiVersion: shared(textOf(root, 'apiVersion') ?? ''),
    kind: shared(textOf(root, 'kind') ?? ''),
    metadata,
    networkName: isOfCluster
      ? networkNameOfClusterUDN(metadata.name)
      : networkNameOfUDN(metadata.namespace, metadata.name),
    namespaceSelector: isOfCluster ? selectorOf(childOf(spec, 'namespaceSelector')) : undefined,
    ...networkOf(network),
    conditions: conditionsOf(childOf(root, 'status'), 'conditions'),
    shownName: textOf(childOf(root, 'status'), 'networkName'),
  }
  return faults.length > 0 ? malformedBy(faults) : udn
}

function networkOf(network: Shape) {
  const topology = oneOf(network, 'topology', topologies, 'Layer2')
  const config = childOf(network, topology.toLowerCase())
  // Subnets of Layer3 are objects, and none of our business.
  const texts = (field: string) => (topology === 'Layer3' ? [] : textsOf(config, field))
  return {
    topology,
    isPrimary: oneOf(config, 'role', ['Primary', 'Secondary'], 'Secondary') === 'Primary',
    mtu: integerOf(config, 'mtu', 0, 65_536),
    subnets: texts('subnets'),
    excludeSubnets: texts('excludeSubnets'),
    reservedSubnets: texts('reservedSubnets'),
    infrastructureSubnets: texts('infrastructureSubnets'),
    defaultGatewayIPs: texts('defaultGatewayIPs'),
    joinSubnets: texts('joinSubnets'),
    isPersistent: textOf(childOf(config, 'ipam'), 'lifecycle') === 'Persistent',
    physicalNetworkName: textOf(config, 'physicalNetworkName'),
    vlan: integerOf(childOf(childOf(config, 'vlan'), 'access'), 'id', 0, 4_094),
  }
}
