// A cluster, as the checks of a migration network ask about it, read from its objects.

import { parseClusterNetwork, parseSetting, parseVlanConfig, parseVlanStatus } from '../api/harvester.ts'
import { isRecord } from '../api/shape.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import type { CheckedNode, ClusterFacts, SpaceOnWire } from './check.ts'

export interface ClusterObjects {
  readonly nodes: Iterable<unknown>
  readonly clusterNetworks: Iterable<unknown>
  readonly vlanConfigs: Iterable<unknown>
  readonly vlanStatuses: Iterable<unknown>
  readonly settings: Iterable<unknown>
  /** Undefined where there is none. */
  readonly kubeVirt: unknown
  readonly spaces: readonly SpaceOnWire[]
}

export function readCluster(objects: ClusterObjects): ClusterFacts {
  return {
    nodes: [...objects.nodes].map(toNode),
    consumers: consumersOf(objects.kubeVirt),
    clusterNetworks: readAll(objects.clusterNetworks, parseClusterNetwork),
    vlanConfigs: readAll(objects.vlanConfigs, parseVlanConfig),
    vlanStatuses: readAll(objects.vlanStatuses, parseVlanStatus),
    settings: readAll(objects.settings, parseSetting),
    spaces: objects.spaces,
  }
}

/** What cannot be read is not there: what it would say is then missed by name. */
function readAll<T>(objects: Iterable<unknown>, parse: (object: unknown) => T | Malformed): T[] {
  return [...objects].flatMap(object => {
    const read = parse(object)
    return isMalformed(read) ? [] : [read]
  })
}

function toNode(object: unknown): CheckedNode {
  const labels = inside(object, 'metadata', 'labels')
  const conditions = recordsIn(inside(object, 'status', 'conditions'))
  return {
    name: textIn(object, 'metadata', 'name'),
    labels: isRecord(labels) ? (labels as CheckedNode['labels']) : {},
    isReady: conditions.some(one => one.type === 'Ready' && one.status === 'True'),
    isDeleting: isDeleting(object),
    addresses: recordsIn(inside(object, 'status', 'addresses')).flatMap(({ type, address }) =>
      type === 'InternalIP' && typeof address === 'string' ? [address] : [],
    ),
  }
}

/** Migrations between clusters go through pods of their own, which join the network where this gate is on. */
const betweenClustersGate = 'DecentralizedLiveMigration'
const replicasDefault = 2

function consumersOf(kubeVirt: unknown): number {
  const gates = inside(kubeVirt, 'spec', 'configuration', 'developerConfiguration', 'featureGates')
  if (!Array.isArray(gates) || !gates.includes(betweenClustersGate)) return 0
  const replicas = inside(kubeVirt, 'spec', 'infra', 'replicas')
  return typeof replicas === 'number' && replicas >= 0 ? replicas : replicasDefault
}

/** Of VirtualMachineInstanceMigrations: the machines whose migration is not over, as namespace/name. One that says nothing yet is not. */
export function migratingIn(migrations: Iterable<unknown>): string[] {
  return [...migrations]
    .filter(object => !isDeleting(object) && !isOver(inside(object, 'status', 'phase')))
    .map(object => {
      const machine = textIn(object, 'spec', 'vmiName') || textIn(object, 'metadata', 'name')
      return `${textIn(object, 'metadata', 'namespace')}/${machine}`
    })
    .sort()
}

const isOver = (phase: unknown): boolean => phase === 'Succeeded' || phase === 'Failed'

const isDeleting = (object: unknown): boolean => textIn(object, 'metadata', 'deletionTimestamp') !== ''

function textIn(object: unknown, ...path: readonly string[]): string {
  const text = inside(object, ...path)
  return typeof text === 'string' ? text : ''
}

const recordsIn = (list: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(list) ? list.filter(isRecord) : []

function inside(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => (isRecord(at) && Object.hasOwn(at, key) ? at[key] : undefined), value)
}
