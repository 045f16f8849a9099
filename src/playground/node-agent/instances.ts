// instance.life - what virt-handler writes into a VirtualMachineInstance: that it runs, with which addresses; how a live
// migration went; that its process ended.
//
// An instance has no status subresource, and the role of KubeVirt's handler knows no patch: the object is written whole, under
// the version it was read in.

import { migrationJobLabel, networkStatusAnnotation } from '../../api/names.ts'
import { parseMAC } from '../../ip/mac.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { timestamp } from '../../kube/timestamp.ts'
import { done, type PassResult } from '../../runtime/reconciler.ts'
import { podInterfaceName } from '../interface-names.ts'
import { instances } from '../kinds.ts'
import { failMigrationAnnotation, nodeNameLabel } from '../names.ts'
import {
  type Instance,
  type InstanceStatus,
  type InterfaceStatus,
  inPhase,
  interfacesOf,
  isCompleted,
  isFinal,
  isReady,
  isSame,
  type Migration,
  type MigrationState,
  networksOf,
  type Pod,
  phaseOf,
  withCondition,
} from '../shapes.ts'
import { primaryInterface, readNetworkStatus } from './attach.ts'
import { endProcess } from './pods.ts'
import { type AgentWorld, isLiving } from './world.ts'

export async function liveInstance(key: string, world: AgentWorld): Promise<PassResult> {
  const instance = world.caches.instances.get(key)
  if (instance === undefined || isFinal(instance)) return done()
  const own = world.caches.pods.byIndex('instance', instance.metadata.uid ?? '')
  const seen: Seen = {
    pod: podOn(instance.status?.nodeName, own),
    migration: migrationOf(instance, world),
    now: timestamp(world.clock),
    nodes: world.nodes,
    saysReady: world.saysReady,
  }
  const next = decide(instance, seen)
  if (next !== undefined) {
    world.caches.instances.learn(await world.handler.update(instances, next))
    return done()
  }
  for (const pod of own) {
    const phase = endOf(pod, instance, world)
    if (phase !== undefined) await endProcess(pod, phase, world)
  }
  return done()
}

export interface Seen {
  /** The pod that runs it. */
  readonly pod: Pod | undefined
  /** The one that its state of migration speaks of. */
  readonly migration: Migration | undefined
  readonly now: string
  /** Of the agent. */
  readonly nodes: readonly string[]
  /** Whether it says that an instance is ready, too. */
  readonly saysReady: boolean
}

/** The instance as it is to be written; undefined where nothing is to be said. */
export function decide(instance: Instance, { pod, migration, now, nodes, saysReady }: Seen): Instance | undefined {
  const { status } = instance
  if (pod === undefined || !nodes.includes(status?.nodeName ?? '')) return undefined
  const phase = phaseOf(instance)
  if (phase === 'Scheduled' && pod.status?.phase === 'Running') {
    return withStatus(instance, begun(instance, pod, now, saysReady))
  }
  if (phase !== 'Running') return undefined
  if (isCompleted(pod)) return withStatus(instance, inPhase(status, pod.status?.phase ?? '', now))
  const migrated = migratedBy(instance, migration, now, nodes)
  if (migrated !== undefined) return migrated
  const interfaces = toInterfaces(instance, pod)
  return isSame(interfaces, status?.interfaces ?? []) ? undefined : withStatus(instance, { ...status, interfaces })
}

const withStatus = (instance: Instance, status: InstanceStatus | undefined): Instance => ({
  ...instance,
  ...(status && { status }),
})

// virt-controller patches conditions under a test that they are what it read, in the words of Go: an empty time is null.
const liveMigratable = { type: 'LiveMigratable', status: 'True', lastProbeTime: null }

function begun(instance: Instance, pod: Pod, now: string, saysReady: boolean): InstanceStatus {
  const movable = withCondition(instance.status?.conditions, liveMigratable, now)
  const conditions =
    saysReady && isReady(pod) ? withCondition(movable, { type: 'Ready', status: 'True' }, now) : movable
  return {
    ...inPhase<InstanceStatus>(instance.status, 'Running', now),
    selinuxContext: 'none',
    migrationMethod: 'LiveMigration',
    conditions,
    interfaces: toInterfaces(instance, pod),
  }
}

/** In these phases KubeVirt has handed the target over to the node. */
const handedOver = ['PreparingTarget', 'TargetReady', 'Running']

/** The whole migration at once: the controller takes its phases one by one from what is written. */
function migratedBy(
  instance: Instance,
  migration: Migration | undefined,
  now: string,
  nodes: readonly string[],
): Instance | undefined {
  const state = instance.status?.migrationState
  const target = state?.targetNode ?? ''
  if (state === undefined || state.completed === true || !nodes.includes(target)) return undefined
  if (migration === undefined || !handedOver.includes(phaseOf(migration))) return undefined
  const over: MigrationState = { ...state, startTimestamp: now, endTimestamp: now, completed: true }
  const why = migration.metadata.annotations?.[failMigrationAnnotation]
  if (why !== undefined) {
    const failureReason = why || `the annotation ${failMigrationAnnotation} lets it fail`
    return withStatus(instance, { ...instance.status, migrationState: { ...over, failed: true, failureReason } })
  }
  const done = {
    ...over,
    targetNodeAddress: '127.0.0.1',
    targetNodeDomainDetected: true,
    targetNodeDomainReadyTimestamp: now,
  }
  // A drain is over with it; without that, the next one would count as the same.
  const { evacuationNodeName: _, ...status } = instance.status ?? {}
  return {
    ...instance,
    metadata: { ...instance.metadata, labels: { ...instance.metadata.labels, [nodeNameLabel]: target } },
    status: { ...status, nodeName: target, migrationState: done },
  }
}

/** One that lives comes first, then the youngest: a machine may come back to a node. */
function podOn(node: string | undefined, pods: readonly Pod[]): Pod | undefined {
  const there = pods.filter(({ spec }) => node !== undefined && spec?.nodeName === node)
  const rank = (pod: Pod) => `${isLiving(pod) ? 1 : 0} ${pod.metadata.creationTimestamp ?? ''}`
  return there.toSorted((one, other) => (rank(one) < rank(other) ? 1 : -1))[0]
}

function migrationOf(instance: Instance, { caches }: AgentWorld): Migration | undefined {
  const uid = instance.status?.migrationState?.migrationUid
  return uid === undefined ? undefined : caches.migrations.byIndex('uid', uid)[0]
}

/** Of a pod whose machine is not there any more, or did not come. */
function endOf(pod: Pod, { status }: Instance, { nodes, caches }: AgentWorld): 'Succeeded' | 'Failed' | undefined {
  const state = status?.migrationState
  const node = pod.spec?.nodeName ?? ''
  if (state?.completed !== true || !isLiving(pod) || !nodes.includes(node)) return undefined
  const { name, labels } = pod.metadata
  if (state.failed === true) return name === state.targetPod ? 'Failed' : undefined
  if (node === status?.nodeName || name === state.targetPod) return undefined
  if (state.sourcePod !== undefined) return name === state.sourcePod ? 'Succeeded' : undefined
  // Where the source is not named, the target of the next migration must not be taken for it.
  const job = labels?.[migrationJobLabel]
  const isOver = job === undefined || caches.migrations.byIndex('uid', job).some(isFinal)
  return node === state.sourceNode && isOver ? 'Succeeded' : undefined
}

/** An interface is shown while its pod has it, also one that is on its way out. */
function toInterfaces(instance: Instance, pod: Pod): readonly InterfaceStatus[] {
  const attached = readNetworkStatus(pod.metadata.annotations?.[networkStatusAnnotation])
  const networks = new Map(networksOf(instance.spec).map(network => [network.name, network]))
  const before = new Map((instance.status?.interfaces ?? []).map(one => [one.name, one]))
  return interfacesOf(instance.spec).flatMap(({ name, macAddress }): InterfaceStatus[] => {
    const network = networks.get(name)
    if (network === undefined) return []
    const isOfPod = network.multus === undefined || network.multus.default === true
    const ofPod = attached.has(primaryInterface) ? primaryInterface : 'eth0'
    const device = isOfPod ? ofPod : podInterfaceName(name)
    const found = attached.get(device)
    if (found === undefined) return []
    const mac = macAddress === undefined ? found.mac : asGuestsShow(macAddress)
    const [ipAddress] = found.ips
    return [
      {
        ...before.get(name),
        name,
        podInterfaceName: device,
        infoSource: isOfPod ? 'domain' : 'domain, multus-status',
        queueCount: 1,
        ...(mac !== '' && { mac }),
        ...(ipAddress !== undefined && { ipAddress, ipAddresses: found.ips }),
      },
    ]
  })
}

/** A user may write it in any notation. */
function asGuestsShow(mac: string): string {
  const canonical = parseMAC(mac)
  return isMalformed(canonical) ? mac : canonical
}
