// What an import would meet in a cluster, as plain values: the checks go by this alone. It is filled by `read-target.ts`, and is
// empty where there is no cluster yet.

import type { LabelSelector } from '../api/selector.ts'
import type { IP, IPText } from '../ip/address.ts'
import type { CIDR } from '../ip/cidr.ts'
import type { MACText } from '../ip/mac.ts'
import { type Infrastructure, infrastructureOf } from '../networks/infrastructure.ts'

export interface ImportTarget {
  /** Labels by name. */
  readonly namespaces: ReadonlyMap<string, Readonly<Record<string, string>>>
  readonly networks: readonly TargetNetwork[]
  /** By namespace/name: what NetworkAttachmentDefinitions beside the primary network say. */
  readonly attachments: ReadonlyMap<string, TargetAttachment>
  readonly machines: readonly TargetMachine[]
  /** MACs in use, with what uses them. */
  readonly cards: readonly TargetCard[]
  /** Addresses in use, with what holds them. */
  readonly addresses: readonly TargetAddress[]
  readonly pools: readonly TargetPool[]
  readonly parts: TargetParts
  /** Of the cluster: what a guest is told by DHCP. Undefined where it is not known. */
  readonly dns: readonly IPText[] | undefined
  /** Kinds that the user may not list, as `pods` or `holds.mooring.dev`. */
  readonly unread: readonly string[]
}

/** Undefined: not known, and not checked. */
export interface TargetParts {
  /** KubeVirt knows the network binding l2bridge. */
  readonly hasL2Bridge: boolean | undefined
  /** OVN-Kubernetes takes requests for addresses. */
  readonly hasPreconfiguredAddresses: boolean | undefined
  /** ipam-extensions, or Mooring in its place, tells pods which addresses to ask for. */
  readonly hasIPAMExtensions: boolean
  /** The namespace of the NetworkAttachmentDefinition `default`, where there are no ipam-extensions. */
  readonly defaultNetworkNamespace: string
}

/** A ClusterUserDefinedNetwork. */
export interface TargetNetwork {
  readonly name: string
  readonly topology: 'Layer2' | 'Layer3' | 'Localnet'
  readonly isPrimary: boolean
  readonly isPersistent: boolean
  readonly subnets: readonly CIDR[]
  readonly gateways: readonly IP[]
  readonly infrastructure: readonly CIDR[]
  readonly namespaceSelector: LabelSelector
  /** Mooring gives out its addresses: it serves a request for one family, and chooses the other. */
  readonly isOfMooring: boolean
  /** Made by this plan; not there yet. */
  readonly isProposed: boolean
}

export interface TargetAttachment {
  /** Of a network that takes the place of the pod network. */
  readonly isPrimary: boolean
  /** Of its network, as an IPAMClaim says it. */
  readonly networkName: string
  /** Empty where it gives out no addresses by request. */
  readonly subnets: readonly CIDR[]
}

export interface TargetMachine {
  readonly namespace: string
  readonly name: string
  /** What it was imported from, by its annotation; undefined where it was not. */
  readonly source: string | undefined
}

export interface TargetCard {
  readonly mac: MACText
  /** `VirtualMachine shop/web`. */
  readonly owner: string
  /** namespace/name of the VirtualMachine it is of, where it is of one. */
  readonly vm: string | undefined
}

export interface TargetAddress {
  readonly ip: IPText
  /** The name of the network, as an IPAMClaim says it. */
  readonly networkName: string
  readonly owner: string
  readonly vm: string | undefined
}

/** An IPPool, with its entries as they are written. */
export interface TargetPool {
  readonly name: string
  readonly networkName: string
  readonly entries: Readonly<Record<string, readonly string[]>>
  readonly bindings: Readonly<Record<string, { readonly namespace: string; readonly virtualMachine?: string }>>
}

export const noTarget: ImportTarget = {
  namespaces: new Map(),
  networks: [],
  attachments: new Map(),
  machines: [],
  cards: [],
  addresses: [],
  pools: [],
  parts: {
    hasL2Bridge: undefined,
    hasPreconfiguredAddresses: undefined,
    hasIPAMExtensions: true,
    defaultNetworkNamespace: 'ovn-kubernetes',
  },
  dns: undefined,
  unread: [],
}

/** The VirtualMachine that was made of this machine earlier. */
export const importedAs = ({ machines }: ImportTarget, namespace: string, name: string, source: string): boolean =>
  machines.some(one => one.namespace === namespace && one.name === name && one.source === source)

/** The addresses that the network keeps for itself, for each of its subnets. */
export function infrastructureIn({ subnets, gateways, infrastructure }: TargetNetwork): readonly Infrastructure[] {
  return subnets.map(subnet => {
    const configured = gateways.find(({ family }) => family === subnet.ip.family)
    return infrastructureOf(subnet, configured, infrastructure)
  })
}
