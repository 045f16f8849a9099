// The cluster, as the checks of a migration network ask about it, read from caches. What these do not know yet, the controller meets a
// moment later, and says.

import { parseClusterNetwork, parseSetting, parseVlanConfig, parseVlanStatus } from '../../../api/harvester.ts'
import { isRecord } from '../../../api/shape.ts'
import { isMalformed, type Malformed } from '../../../ip/malformed.ts'
import { isDeleting } from '../../../kube/finalizers.ts'
import type { KubeObject } from '../../../kube/object.ts'
import type { CheckedNode, ClusterFacts } from '../../../migration/check.ts'
import type { MigrationFacts } from '../facts.ts'

export function clusterFactsOf({ caches, kubeVirt, spaces }: MigrationFacts): ClusterFacts {
  return {
    nodes: [...caches.nodes.values()].map(toNode),
    consumers: consumersOf(kubeVirt()?.object),
    clusterNetworks: readAll(caches.clusterNetworks.values(), parseClusterNetwork),
    vlanConfigs: readAll(caches.vlanConfigs.values(), parseVlanConfig),
    vlanStatuses: readAll(caches.vlanStatuses.values(), parseVlanStatus),
    settings: readAll(caches.settings.values(), parseSetting),
    spaces: spaces(),
  }
}

/** What cannot be read is not there: what it would say is then missed by name. */
function readAll<T>(objects: Iterable<KubeObject>, parse: (object: unknown) => T | Malformed): T[] {
  return [...objects].flatMap(object => {
    const read = parse(object)
    return isMalformed(read) ? [] : [read]
  })
}

interface NodeStatus {
  readonly conditions?: unknown
  readonly addresses?: unknown
}

function toNode(object: KubeObject): CheckedNode {
  const { metadata, status = {} } = object as KubeObject & { readonly status?: NodeStatus }
  const isReady = recordsIn(status.conditions).some(one => one.type === 'Ready' && one.status === 'True')
  const addresses = recordsIn(status.addresses).flatMap(({ type, address }) =>
    type === 'InternalIP' && typeof address === 'string' ? [address] : [],
  )
  return {
    name: metadata.name ?? '',
    labels: metadata.labels ?? {},
    isReady,
    isDeleting: isDeleting(object),
    addresses,
  }
}

const recordsIn = (list: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(list) ? list.filter(isRecord) : []

/** Migrations between clusters go through pods of their own, which join the network where this gate is on. */
const betweenClustersGate = 'DecentralizedLiveMigration'
const replicasDefault = 2

function consumersOf(kubeVirt: KubeObject | undefined): number {
  const spec = inside(kubeVirt, 'spec')
  const gates = inside(spec, 'configuration', 'developerConfiguration', 'featureGates')
  if (!Array.isArray(gates) || !gates.includes(betweenClustersGate)) return 0
  const replicas = inside(spec, 'infra', 'replicas')
  return typeof replicas === 'number' && replicas >= 0 ? replicas : replicasDefault
}

function inside(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => (isRecord(at) && Object.hasOwn(at, key) ? at[key] : undefined), value)
}

/** The virtual machines whose migration is not over, as namespace/name: one that says nothing yet is not. */
export function migratingOf({ caches }: MigrationFacts): string[] {
  return [...caches.migrations.values()]
    .filter(object => !isDeleting(object) && !isOver(inside(object, 'status', 'phase')))
    .map(object => `${object.metadata.namespace}/${inside(object, 'spec', 'vmiName') ?? object.metadata.name}`)
    .sort()
}

const isOver = (phase: unknown): boolean => phase === 'Succeeded' || phase === 'Failed'
