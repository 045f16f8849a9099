// Kinds of Harvester, as far as the migration network needs them: Settings, and the objects of its network controller, which say
// on which nodes a cluster network is configured. They are read and not trusted: what is missing reads as empty.

import type { Malformed } from '../ip/malformed.ts'
import { type Condition, conditionsOf } from './condition.ts'
import { type Metadata, metadataOf, type VersionedKind } from './object.ts'
import { childOf, jsonOf, malformedBy, ownText, shapeOf, textOf } from './shape.ts'

const networkGroup = 'network.harvesterhci.io'

export const settingKind: VersionedKind = {
  group: 'harvesterhci.io',
  version: 'v1beta1',
  kind: 'Setting',
  plural: 'settings',
  isNamespaced: false,
}

export const clusterNetworkKind: VersionedKind = {
  group: networkGroup,
  version: 'v1beta1',
  kind: 'ClusterNetwork',
  plural: 'clusternetworks',
  isNamespaced: false,
}

export const vlanConfigKind: VersionedKind = { ...clusterNetworkKind, kind: 'VlanConfig', plural: 'vlanconfigs' }

export const vlanStatusKind: VersionedKind = { ...clusterNetworkKind, kind: 'VlanStatus', plural: 'vlanstatuses' }

/** On VlanConfigs and VlanStatuses: the cluster network they are of. */
export const clusterNetworkLabel = `${networkGroup}/clusternetwork`
/** On a VlanStatus: the node it is about. */
const nodeLabel = `${networkGroup}/node`
/** On a VlanConfig, by Harvester: the names of the nodes that it selects, as a JSON list. */
export const matchedNodesAnnotation = `${networkGroup}/matched-nodes`
/** On a node, with the value "true": it votes, and runs no virtual machines. */
export const witnessLabel = 'node-role.harvesterhci.io/witness'

export interface Setting {
  readonly metadata: Metadata
  readonly value: string
  readonly default: string
  readonly conditions: readonly Condition[]
}

export function parseSetting(object: unknown): Setting | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const setting: Setting = {
    metadata: metadataOf(childOf(root, 'metadata')),
    value: textOf(root, 'value') ?? '',
    default: textOf(root, 'default') ?? '',
    conditions: conditionsOf(childOf(root, 'status'), 'conditions'),
  }
  return faults.length > 0 ? malformedBy(faults) : setting
}

/** What is in force: the value, where it says something, else the default. */
export const effectiveValue = (setting: Pick<Setting, 'value' | 'default'>): string => setting.value || setting.default

export interface ClusterNetwork {
  readonly metadata: Metadata
  readonly isReady: boolean
}

export function parseClusterNetwork(object: unknown): ClusterNetwork | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const metadata = metadataOf(childOf(root, 'metadata'))
  const isReady = readyOf(conditionsOf(childOf(root, 'status'), 'conditions')) === 'True'
  return faults.length > 0 ? malformedBy(faults) : { metadata, isReady }
}

export interface VlanConfig {
  readonly metadata: Metadata
  /** Empty where the label is missing. */
  readonly clusterNetwork: string
  readonly matchedNodes: readonly string[]
}

export function parseVlanConfig(object: unknown): VlanConfig | Malformed {
  const faults: string[] = []
  const metadata = metadataOf(childOf(shapeOf(object, '', faults), 'metadata'))
  if (faults.length > 0) return malformedBy(faults)
  const matched = jsonOf(ownText(metadata.annotations, matchedNodesAnnotation) ?? '')
  return {
    metadata,
    clusterNetwork: ownText(metadata.labels, clusterNetworkLabel) ?? '',
    matchedNodes: Array.isArray(matched) ? matched.filter(name => typeof name === 'string') : [],
  }
}

export interface VlanStatus {
  readonly metadata: Metadata
  /** Empty where the label is missing. */
  readonly clusterNetwork: string
  readonly node: string
  /** Unknown where it says nothing. */
  readonly ready: Condition['status']
}

export function parseVlanStatus(object: unknown): VlanStatus | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const metadata = metadataOf(childOf(root, 'metadata'))
  const status = childOf(root, 'status')
  const ready = readyOf(conditionsOf(status, 'conditions'))
  const node = textOf(status, 'node') || ownText(metadata.labels, nodeLabel) || ''
  if (faults.length > 0) return malformedBy(faults)
  return { metadata, clusterNetwork: ownText(metadata.labels, clusterNetworkLabel) ?? '', node, ready }
}

const readyOf = (conditions: readonly Condition[]): Condition['status'] =>
  conditions.find(({ type }) => type === 'ready')?.status ?? 'Unknown'
