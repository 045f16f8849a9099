// virt-handler.life - every node has a pod of virt-handler that says on which network it is. What a DaemonSet, a kubelet, multus and the
// plugin for addresses would do for it, seen from the API server, one write per pass:
//
//   a node without a pod               one is made, as the KubeVirt object says now
//   a pod of a node that is gone       deleted
//   a pod being deleted                deleted again, without grace
//   a pod that does not run yet        waits for its network and its address, then runs and is ready
//   a pod of the former network        deleted, one at a time; those that are not ready first

import { networkStatusAnnotation, networksAnnotation } from '../../api/names.ts'
import { isDeleting } from '../../kube/finalizers.ts'
import { keyOfRef, refOf } from '../../kube/object.ts'
import { timestamp } from '../../kube/timestamp.ts'
import { migrationInterface } from '../../migration/names.ts'
import { done, type PassResult, requeue, requeueAfter } from '../../runtime/reconciler.ts'
import { pods } from '../kinds.ts'
import { failHandlerAnnotation, schedulableLabel } from '../names.ts'
import { isReady, isSame, type Node, type Pod, withCondition } from '../shapes.ts'
import { addressesFor } from './addresses.ts'
import { deploymentOf } from './kubevirt.ts'
import { networkOf, type OperatorWorld } from './world.ts'

/** As virt-operator marks the pods of one deployment. */
const deploymentAnnotation = 'kubevirt.io/install-strategy-identifier'

/** So that an eye can follow. */
const startMs = 1_000

export interface Handlers {
  readonly areReady: boolean
  readonly next: PassResult
}

export async function keepHandlers(world: OperatorWorld): Promise<Handlers> {
  const { caches, kubeVirt: ref } = world
  const kubeVirt = caches.kubeVirts.get(keyOfRef(ref))
  if (kubeVirt === undefined) return { areReady: false, next: done() }
  const network = networkOf(kubeVirt)
  const nodes = [...caches.nodes.values()].filter(runsHandler).toSorted(byName)
  const own = [...caches.handlers.values()].filter(pod => pod.metadata.namespace === ref.namespace).toSorted(byNode)
  const isCurrent = (pod: Pod) => pod.metadata.annotations?.[deploymentAnnotation] === deploymentOf(network)
  const onNode = (name: string) => own.filter(pod => pod.spec?.nodeName === name)
  const areReady = nodes.every(({ metadata: { name = '' } }) =>
    onNode(name).some(pod => isCurrent(pod) && isReady(pod)),
  )

  const going = own.find(pod => isDeleting(pod) && pod.metadata.deletionGracePeriodSeconds !== 0)
  if (going !== undefined) return { areReady, next: await end(going, world) }
  const names = new Set(nodes.map(({ metadata }) => metadata.name))
  const stray = own.find(pod => !isDeleting(pod) && !names.has(pod.spec?.nodeName))
  if (stray !== undefined) return { areReady, next: await end(stray, world) }
  const bare = nodes.find(({ metadata: { name = '' } }) => onNode(name).length === 0)
  if (bare !== undefined) return { areReady, next: await make(bare, network, world) }
  const starting = await start(own, nodes, world)
  if (starting === 'wrote') return { areReady, next: requeue() }
  const outdated = own.filter(pod => !isCurrent(pod) && !isDeleting(pod))
  const broken = outdated.find(pod => !isReady(pod))
  const mayGoOn = own.every(pod => isReady(pod) && !isDeleting(pod))
  const leaving = broken ?? (mayGoOn ? outdated[0] : undefined)
  if (leaving !== undefined) return { areReady, next: await end(leaving, world) }
  return { areReady, next: starting === 'nothing' ? done() : requeueAfter(starting.afterMs) }
}

/** virt-handler itself puts the label on its node, and leaves it there. */
const runsHandler = ({ metadata }: Node): boolean =>
  metadata.labels?.[schedulableLabel] !== undefined && !isDeleting({ metadata })

const byName = (one: Node, other: Node): number => ((one.metadata.name ?? '') < (other.metadata.name ?? '') ? -1 : 1)

/** A DaemonSet takes them in any order; here in the order of the nodes, so that it can be followed. */
const byNode = (one: Pod, other: Pod): number => ((one.spec?.nodeName ?? '') < (other.spec?.nodeName ?? '') ? -1 : 1)

async function end(pod: Pod, { client, caches }: OperatorWorld): Promise<PassResult> {
  const { uid } = pod.metadata
  await client.delete(pods, refOf(pod), { graceSeconds: 0, ...(uid !== undefined && { uid }) })
  if (uid !== undefined) caches.handlers.ended(keyOfRef(refOf(pod)), uid)
  return requeue()
}

async function make(
  { metadata: { name: node = '' } }: Node,
  network: string,
  world: OperatorWorld,
): Promise<PassResult> {
  const { client, caches, kubeVirt } = world
  const networks = network === '' ? {} : { [networksAnnotation]: `${network}@${migrationInterface}` }
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: 'virt-handler-',
      namespace: kubeVirt.namespace,
      labels: { 'kubevirt.io': 'virt-handler', 'playground.mooring.dev/stand-in': 'true' },
      annotations: { [deploymentAnnotation]: deploymentOf(network), ...networks },
    },
    spec: { nodeName: node, containers: [{ name: 'virt-handler', image: 'virt-handler:playground' }] },
  }
  caches.handlers.learn(await client.create(pods, pod))
  return requeue()
}

/** The first pod that can go on does. */
async function start(
  own: readonly Pod[],
  nodes: readonly Node[],
  world: OperatorWorld,
): Promise<'wrote' | 'nothing' | { readonly afterMs: number }> {
  const { clock } = world
  let soonestMs: number | undefined
  for (const pod of own) {
    if (isReady(pod) || isDeleting(pod)) continue
    const leftMs = (Date.parse(pod.metadata.creationTimestamp ?? '') || 0) + startMs - clock.now()
    if (leftMs > 0) {
      soonestMs = Math.min(soonestMs ?? leftMs, leftMs)
      continue
    }
    const node = nodes.find(({ metadata }) => metadata.name === pod.spec?.nodeName)
    if (await goOn(pod, node, world)) return 'wrote'
  }
  return soonestMs === undefined ? 'nothing' : { afterMs: soonestMs }
}

async function goOn(pod: Pod, node: Node | undefined, world: OperatorWorld): Promise<boolean> {
  const now = timestamp(world.clock)
  const broken = node?.metadata.annotations?.[failHandlerAnnotation]
  const hasNetwork = pod.metadata.annotations?.[networksAnnotation] !== undefined
  if (broken !== undefined && hasNetwork) return wait(pod, 'CrashLoopBackOff', broken || 'it was told to fail', world)
  const given = addressesFor(pod, world)
  if ('waits' in given) return wait(pod, 'ContainerCreating', given.waits, world)
  const conditions = ['Initialized', 'ContainersReady', 'Ready'].reduce(
    (all, type) => withCondition(all, { type, status: 'True' }, now),
    pod.status?.conditions ?? [],
  )
  const running = { containerStatuses: [statusOf({ running: { startedAt: now } }, true)] }
  return patch(
    pod,
    { phase: 'Running', conditions, ...running },
    { [networkStatusAnnotation]: given.networkStatus },
    world,
  )
}

function wait(pod: Pod, reason: string, message: string, world: OperatorWorld): Promise<boolean> {
  const why = { type: 'Ready', status: 'False', reason: 'ContainersNotReady', message }
  const conditions = withCondition(pod.status?.conditions, why, timestamp(world.clock))
  const containerStatuses = [statusOf({ waiting: { reason, message } }, false)]
  return patch(pod, { phase: 'Pending', conditions, containerStatuses }, {}, world)
}

const statusOf = (state: object, ready: boolean) => ({
  name: 'virt-handler',
  image: 'virt-handler:playground',
  imageID: '',
  ready,
  restartCount: 0,
  state,
  // The API server writes it so, and what is there already is not written again.
  lastState: {},
})

/** Nothing is written where everything is so already. */
async function patch(
  pod: Pod,
  status: NonNullable<Pod['status']>,
  annotations: Readonly<Record<string, string>>,
  { client, caches }: OperatorWorld,
): Promise<boolean> {
  const isThere = Object.entries(status).every(([field, value]) => isSame(pod.status?.[field], value))
  if (isThere) return false
  const { resourceVersion = '', uid } = pod.metadata
  const options = { subresource: 'status', resourceVersion, ...(uid !== undefined && { uid }) } as const
  caches.handlers.learn(await client.mergePatch(pods, refOf(pod), { metadata: { annotations }, status }, options))
  return true
}
