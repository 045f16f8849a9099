// The node agent: a stand-in for scheduler, kubelet, multus and virt-handler on nodes that do not exist. It takes launcher pods of
// virtual machines and no others, and works beside its own vm-controller as well as beside KubeVirt's control plane.

import type { Client } from '../../kube/client.ts'
import { keyOf } from '../../kube/object.ts'
import { Manager } from '../../runtime/manager.ts'
import { defineReconciler, type Pass, type RunningReconciler } from '../../runtime/reconciler.ts'
import { concurrency, type PlaygroundParts } from '../follow.ts'
import { isCompleted } from '../shapes.ts'
import { liveInstance } from './instances.ts'
import { keepNode } from './nodes.ts'
import { createPodIPs } from './pod-ips.ts'
import { livePod } from './pods.ts'
import { type AgentWorld, followAll, machineKeyOf } from './world.ts'

export interface NodeAgentOptions extends PlaygroundParts {
  /**
   * Writes VirtualMachineInstances, by update alone: KubeVirt's webhooks drop what others than its own service accounts write,
   * so it is to act as system:serviceaccount:kubevirt:kubevirt-handler there. Everything else is done with `client`.
   */
  readonly handler?: Client
  /** An instance that begins to run is said to be ready in the same write. Beside KubeVirt, that is for virt-controller to say. */
  readonly saysReady?: boolean
  /** Names of the nodes it keeps; three by default. */
  readonly nodes?: readonly string[]
}

export interface StandIn {
  /** How much it has to do. */
  backlog(): number
  stop(): Promise<void>
}

const threeNodes = ['playground-1', 'playground-2', 'playground-3']

/** Resolves when it works, or is known to wait for a kind that is not installed. */
export async function startNodeAgent(options: NodeAgentOptions): Promise<StandIn> {
  const { client, handler = client, clock, random, saysReady = false, nodes = threeNodes } = options
  const log = options.log.with({ playground: 'node agent (stand-in)' })
  const manager = new Manager({ clock, random, log })
  const domain = manager.domain('node-agent')
  const caches = followAll({ ...options, log }, domain)
  const own = { podIPs: createPodIPs(caches.pods), bound: new Set<string>() }
  const world = { client, handler, clock, caches, nodes, saysReady, ...own }
  const add = (name: string, reconcile: (key: string, world: AgentWorld) => ReturnType<typeof livePod>) =>
    domain.addReconciler(
      defineReconciler({
        name: `playground.${name}`,
        concurrency,
        reconcile: (key, pass) => reconcile(key, inPass(world, pass)),
      }),
    )
  const lives = { nodes: add('node', keepNode), pods: add('pod', livePod), instances: add('instance', liveInstance) }
  wake(world, lives)
  await manager.start()
  log.info('playground (stand-in) node agent plays nodes: nothing runs on them', { nodes })
  return { backlog: () => manager.backlog, stop: () => manager.stop('shutdown') }
}

const inPass = (world: AgentWorld, pass: Pass): AgentWorld => ({
  ...world,
  client: world.client.withPass(pass),
  handler: world.handler.withPass(pass),
})

interface Lives {
  readonly nodes: RunningReconciler
  readonly pods: RunningReconciler
  readonly instances: RunningReconciler
}

function wake({ caches, nodes, bound }: AgentWorld, lives: Lives): void {
  const markUnbound = () => {
    for (const pod of caches.pods.byIndex('node', '')) lives.pods.mark(keyOf(pod))
  }
  for (const name of nodes) lives.nodes.mark(name)
  caches.nodes.subscribe(({ key }) => {
    if (nodes.includes(key)) lives.nodes.mark(key)
    markUnbound()
  })
  caches.pods.subscribe(({ key, old, new: next }) => {
    if (next === undefined || next.spec?.nodeName !== undefined) bound.delete((next ?? old).metadata.uid ?? '')
    if (next !== undefined) lives.pods.mark(key)
    const machine = machineKeyOf(next ?? old)
    if (machine !== undefined) lives.instances.mark(machine)
    // A node may have become free for the next pod of the same machine.
    if (next === undefined || isCompleted(next)) markUnbound()
  })
  caches.attachments.subscribe(({ key }) => {
    for (const pod of caches.pods.byIndex('attachment', key)) lives.pods.mark(keyOf(pod))
  })
  caches.claims.subscribe(({ key }) => {
    for (const pod of caches.pods.byIndex('claim', key)) lives.pods.mark(keyOf(pod))
  })
  caches.instances.subscribe(({ key, new: next }) => {
    if (next !== undefined) lives.instances.mark(key)
  })
  caches.migrations.subscribe(({ old, new: next }) => {
    const { metadata, spec } = next ?? old
    lives.instances.mark(`${metadata.namespace}/${spec?.vmiName}`)
  })
}
