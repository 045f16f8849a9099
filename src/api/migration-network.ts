// MigrationNetwork: the network of live migrations in a cluster without Harvester. It says what Harvester's setting says, and
// names the bridge, or the parent interface, that its nodes have. There is one in a cluster, for KubeVirt has one such network.

import type { Malformed } from '../ip/malformed.ts'
import { type Condition, conditionsOf } from './condition.ts'
import { mooringGroup } from './names.ts'
import { type Metadata, metadataOf, type VersionedKind } from './object.ts'
import { childOf, integerOf, malformedBy, oneOf, shapeOf, textMapOf, textOf, textsOf } from './shape.ts'

export const migrationNetworkKind: VersionedKind = {
  group: mooringGroup,
  version: 'v1alpha1',
  kind: 'MigrationNetwork',
  plural: 'migrationnetworks',
  isNamespaced: false,
}

export const ipamTypes = ['whereabouts', 'mooring'] as const
/** Which plugin gives out the addresses of the network on a node. */
export type IPAMType = (typeof ipamTypes)[number]

/** The addresses, as texts that are not judged yet; empty where nothing is said. */
export interface AddressTexts {
  readonly range: string
  readonly exclude: readonly string[]
  readonly rangeV6: string
  readonly rangeV6Start: string
  readonly rangeV6End: string
}

export interface MigrationNetwork extends AddressTexts {
  readonly metadata: Metadata
  /** One of the two is there, the other is empty. */
  readonly bridge: string
  readonly parent: string
  readonly vlan: number
  /** 0 where nothing is said. */
  readonly mtu: number
  readonly ipam: IPAMType
  /** The nodes that run virt-handler; all where it is empty. */
  readonly nodeSelector: Readonly<Record<string, string>>
  readonly kubevirt: { readonly namespace: string; readonly name: string }
  readonly conditions: readonly Condition[]
}

const plainKubeVirt = 'kubevirt'

export function parseMigrationNetwork(object: unknown): MigrationNetwork | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const spec = childOf(root, 'spec')
  const kubevirt = childOf(spec, 'kubevirt')
  const text = (key: string) => textOf(spec, key) ?? ''
  const network: MigrationNetwork = {
    metadata: metadataOf(childOf(root, 'metadata')),
    bridge: text('bridge'),
    parent: text('parent'),
    vlan: integerOf(spec, 'vlan', 0, 65_535) ?? 0,
    mtu: integerOf(spec, 'mtu', 0, 65_535) ?? 0,
    ipam: oneOf(spec, 'ipam', ipamTypes, 'mooring'),
    range: text('range'),
    exclude: textsOf(spec, 'exclude'),
    rangeV6: text('rangeV6'),
    rangeV6Start: text('rangeV6Start'),
    rangeV6End: text('rangeV6End'),
    nodeSelector: textMapOf(spec, 'nodeSelector'),
    kubevirt: {
      namespace: textOf(kubevirt, 'namespace') || plainKubeVirt,
      name: textOf(kubevirt, 'name') || plainKubeVirt,
    },
    conditions: conditionsOf(childOf(root, 'status'), 'conditions'),
  }
  return faults.length > 0 ? malformedBy(faults) : network
}
