// A network: what NetworkAttachmentDefinitions of one name come to, once their texts have been judged. The word means nothing
// else.
//
// All attachments of OVN-Kubernetes that have one name are one network: its name is a space of the cluster. The first of them
// decides what the network is and which namespaces it is offered to; another is of the network if its namespace is one of these
// and it says the same. First is an attachment that is not being deleted; of those, one that has the name by right; of those, the
// oldest. Two have a name by right, so that no namespace can take it by being earlier:
//
//   an attachment that OVN-Kubernetes made of the ClusterUserDefinedNetwork of that name
//   the attachment whose own namespace and name the network's name is made of, as OVN-Kubernetes makes it for a UserDefinedNetwork

import { type ClusterUDN, isRenderedFrom } from '../api/cluster-user-defined-network.ts'
import { cniGroup, namespaceNameLabel } from '../api/names.ts'
import { hasDeletionTimestamp, type Identity } from '../api/object.ts'
import { makePool, type Pool } from '../api/pool.ts'
import type { LabelSelector } from '../api/selector.ts'
import { spaceOfPool } from '../api/space.ts'
import { bitsOf, type IP, toIPText } from '../ip/address.ts'
import type { CIDR } from '../ip/cidr.ts'
import { rangeOfCIDR } from '../ip/range.ts'
import { toRangeSet } from '../ip/range-set.ts'
import type { Attachment, MooringReading, OVNReading } from './attachment.ts'
import { infrastructureOf } from './infrastructure.ts'
import type { NetworkHolder } from './mooring-config.ts'
import { type Reserved, reservationsIn } from './reserved.ts'

export type Topology = 'layer2' | 'localnet'

export interface Network {
  /** What `spec.network` of an IPAMClaim says. */
  readonly name: string
  /** The source of its addresses: itself, or the pool that it names. */
  readonly source: Identity
  /** Its own addresses, one pool per family. Empty where it names a pool, and where only addresses that are asked for are given. */
  readonly pools: readonly Pool[]
  readonly allowsPersistentIPs: boolean
  readonly holder: NetworkHolder
  /** Of OVN-Kubernetes; undefined for a network of another CNI whose addresses come from Mooring. */
  readonly ovn: OVNDetails | undefined
  /** What its IPPool keeps; undefined where it has none. */
  readonly reserved?: Reserved | undefined
}

export interface OVNDetails {
  readonly topology: Topology
  readonly isPrimary: boolean
  /** Of a primary network, one per family. */
  readonly gateways: readonly IP[]
  /** The addresses of the management ports of a primary network, one per family. */
  readonly managements: readonly IP[]
  /** OVN-Kubernetes was seen to serve it: it allocates the addresses. */
  readonly isServedByOVN: boolean
}

/** The identity of a network of OVN-Kubernetes. No object has this kind: a network is what several objects say. */
export const networkNamed = (name: string): Identity => ({ apiGroup: cniGroup, kind: networkKind, namespace: '', name })

export const networkKind = 'Network'
export const attachmentKind = 'NetworkAttachmentDefinition'

const apiVersion = `${cniGroup}/v1`

export type OVNAttachment = Attachment<OVNReading>

/** Whether the first comes before the second among the attachments of one network. */
export function comesBefore(one: OVNAttachment, other: OVNAttachment, udn: ClusterUDN | undefined): boolean {
  const rank = (attachment: OVNAttachment): string => {
    const { metadata, reading } = attachment
    const isMade = udn !== undefined && isRenderedFrom(udn, metadata)
    const isByRight = isMade || reading.name === `${metadata.namespace}_${metadata.name}`
    return `${Number(hasDeletionTimestamp(metadata))}${Number(!isByRight)}${metadata.creationTimestamp}`
  }
  const [mine, its] = [rank(one), rank(other)]
  return mine === its ? one.key < other.key : mine < its
}

/** The fields in which an attachment contradicts the first one of its network. */
export function differencesOf(one: OVNAttachment, first: OVNAttachment): string[] {
  const { essentials } = first.reading.config
  return [...one.reading.config.essentials].flatMap(([field, text]) => (essentials.get(field) === text ? [] : [field]))
}

/** Undefined for every namespace. */
export function offeredBy({ metadata, offeredTo }: Attachment, udn: ClusterUDN | undefined): LabelSelector | undefined {
  if (udn !== undefined) return udn.namespaceSelector
  return offeredTo === 'all' ? undefined : namespacesNamed([metadata.namespace, ...offeredTo])
}

const namespacesNamed = (values: readonly string[]): LabelSelector => ({
  matchLabels: {},
  matchExpressions: [{ key: namespaceNameLabel, operator: 'In', values }],
})

export interface OVNNetworkParts {
  readonly allowedNamespaces?: LabelSelector | undefined
  readonly reserved?: Reserved | undefined
  /** An administrator defined it: what it keeps for itself is not the word of a tenant. */
  readonly isDefined?: boolean
}

/** The network of which this is the first attachment. */
export function ovnNetworkOf(
  first: OVNAttachment,
  { allowedNamespaces, reserved, isDefined = false }: OVNNetworkParts,
): Network {
  const { name, config } = first.reading
  const source = networkNamed(name)
  const infrastructure = config.subnets.map(subnet => {
    if (!config.isPrimary) return undefined
    const configured = config.gateways.find(({ family }) => family === subnet.ip.family)
    return infrastructureOf(subnet, configured, config.infrastructure)
  })
  const pools = config.subnets.map((subnet, i) => {
    const { family } = subnet.ip
    const { gateway, management } = infrastructure[i] ?? {}
    const within = (cidrs: readonly CIDR[]) => cidrs.filter(({ ip }) => ip.family === family)
    const single = (ip: IP | undefined): CIDR[] => (ip === undefined ? [] : [{ ip, bits: bitsOf(family) }])
    const kept = [...single(management), ...within(config.infrastructure)]
    const excluded = [...within(config.excluded), ...kept].map(rangeOfCIDR)
    const addresses = toRangeSet(family, [rangeOfCIDR(subnet)])
    return makePool({
      identity: source,
      apiVersion,
      metadata: first.metadata,
      space: name,
      isOneOfTwo: config.subnets.length > 1,
      family,
      prefix: subnet.bits,
      addresses,
      excluded: toRangeSet(family, excluded),
      onRequest: toRangeSet(family, within(config.reserved).map(rangeOfCIDR)),
      infrastructure: isDefined ? [...single(gateway), ...kept] : [],
      gateway,
      gatewayText: gateway === undefined ? '' : toIPText(gateway),
      strategy: 'leastRecentlyUsed',
      ...(reserved && { reservations: reservationsIn(reserved, { family, addresses }) }),
      allowedNamespaces,
    })
  })
  const { topology, isPrimary, allowsPersistentIPs } = config
  const gateways = infrastructure.flatMap(one => (one === undefined ? [] : [one.gateway]))
  const managements = infrastructure.flatMap(one => (one === undefined ? [] : [one.management]))
  const ovn = { topology, isPrimary, gateways, managements, isServedByOVN: first.isServedByOVN }
  return { name, source, pools, allowsPersistentIPs, holder: 'claim', ovn, ...(reserved && { reserved }) }
}

/** A network of its own: no other attachment is part of it. */
export function mooringNetworkOf(attachment: Attachment<MooringReading>): Network {
  const { metadata, reading } = attachment
  const { name, config, allowsPersistentIPs } = reading
  const { holder } = config
  // The address of a node is no virtual machine's to keep.
  const common = { name, allowsPersistentIPs: allowsPersistentIPs && holder === 'claim', holder, ovn: undefined }
  if ('pool' in config.from) return { ...common, source: config.from.pool, pools: [] }
  const { namespace } = metadata
  const source: Identity = { apiGroup: cniGroup, kind: attachmentKind, namespace, name: metadata.name }
  const { ranges } = config.from
  const pools = ranges.map(({ family, prefix, addresses, excluded, gateway }) =>
    makePool({
      identity: source,
      apiVersion,
      metadata,
      space: spaceOfPool(source),
      isOneOfTwo: ranges.length > 1,
      family,
      prefix,
      addresses,
      excluded,
      gateway,
      gatewayText: gateway === undefined ? '' : toIPText(gateway),
      strategy: 'leastRecentlyUsed',
      allowedNamespaces: offeredBy(attachment, undefined),
    }),
  )
  return { ...common, source, pools }
}
