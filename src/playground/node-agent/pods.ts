// pod.life - what a scheduler, a kubelet and multus do for launcher pods, seen from the API server: a pod gets a node, waits for
// the addresses of its networks, runs, and goes when it is deleted. No process is started.
//
//   no node                    a Binding, or the condition PodScheduled says why not
//   a node, not running yet    Running when no network waits; else the containers say what they wait for
//   running                    the annotation of multus follows the annotation of the networks (hot-plug, hot-unplug)
//   being deleted              deleted again, without grace

import { createHash } from 'node:crypto'
import { networkStatusAnnotation } from '../../api/names.ts'
import { isDeleting } from '../../kube/finalizers.ts'
import { refOf } from '../../kube/object.ts'
import { timestamp } from '../../kube/timestamp.ts'
import { done, type PassResult, requeueAfter } from '../../runtime/reconciler.ts'
import { bindings, pods } from '../kinds.ts'
import { isCompleted, isSame, type Pod, withCondition } from '../shapes.ts'
import { type Attached, attach, toNetworkStatus } from './attach.ts'
import { chooseNode } from './schedule.ts'
import type { AgentWorld } from './world.ts'

export async function livePod(key: string, world: AgentWorld): Promise<PassResult> {
  const pod = world.caches.pods.get(key)
  if (pod === undefined) return done()
  const node = pod.spec?.nodeName ?? ''
  if (node !== '' && !world.nodes.includes(node)) return done()
  if (isDeleting(pod)) await end(pod, world)
  else if (isCompleted(pod)) return done()
  else if (node === '') await schedule(pod, world)
  else return run(pod, world)
  return done()
}

async function end(pod: Pod, { client }: AgentWorld): Promise<void> {
  // One that a finalizer holds has been told already.
  if (pod.metadata.deletionGracePeriodSeconds === 0) return
  await client.delete(pods, refOf(pod), { graceSeconds: 0, ...uidOf(pod) })
}

async function schedule(pod: Pod, world: AgentWorld): Promise<void> {
  const { name = '', namespace = '', uid = '' } = pod.metadata
  if (world.bound.has(uid)) return
  const chosen = chooseNode(pod, world)
  if ('waits' in chosen) {
    const why = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: chosen.waits }
    return patchStatus(pod, { conditions: withCondition(pod.status?.conditions, why, timestamp(world.clock)) }, world)
  }
  const target = { apiVersion: 'v1', kind: 'Node', name: chosen.node }
  await world.client.create(bindings, { apiVersion: 'v1', kind: 'Binding', metadata: { name, namespace, uid }, target })
  world.bound.add(uid)
}

/** What a pod waits for comes in a moment, as a rule, and is not worth a write that others would be in the way of. */
const patienceMs = 2_000

async function run(pod: Pod, world: AgentWorld): Promise<PassResult> {
  const { attached, waits } = attach(pod, world.caches)
  if (pod.status?.phase === 'Running') await showNetworks(pod, attached, world)
  else if (waits.length === 0) await begin(pod, attached, world)
  else {
    const ageMs = world.clock.now() - (Date.parse(pod.metadata.creationTimestamp ?? '') || 0)
    if (ageMs < patienceMs) return requeueAfter(patienceMs - ageMs)
    const waiting = { reason: 'ContainerCreating', message: waits.join('; ') }
    await patchStatus(pod, { containerStatuses: statusesOf(pod, { waiting }, false) }, world)
  }
  return done()
}

async function begin(pod: Pod, attached: readonly Attached[], world: AgentWorld): Promise<void> {
  const now = timestamp(world.clock)
  const podIP = world.podIPs.of(pod)
  const types = ['PodReadyToStartContainers', 'Initialized', 'ContainersReady', 'Ready']
  const status = {
    phase: 'Running',
    startTime: now,
    podIP,
    podIPs: [{ ip: podIP }],
    conditions: types.reduce(
      (conditions, type) => withCondition(conditions, { type, status: 'True' }, now),
      pod.status?.conditions ?? [],
    ),
    containerStatuses: statusesOf(pod, { running: { startedAt: now } }, true),
  }
  await patchStatus(pod, status, world, { [networkStatusAnnotation]: toNetworkStatus(podIP, attached) })
}

async function showNetworks(pod: Pod, attached: readonly Attached[], world: AgentWorld): Promise<void> {
  const text = toNetworkStatus(world.podIPs.of(pod), attached)
  if (pod.metadata.annotations?.[networkStatusAnnotation] === text) return
  await patchStatus(pod, {}, world, { [networkStatusAnnotation]: text })
}

/** Its process ended: by itself, or because the virtual machine runs elsewhere now. */
export async function endProcess(pod: Pod, phase: 'Succeeded' | 'Failed', world: AgentWorld): Promise<void> {
  const now = timestamp(world.clock)
  const [exitCode, reason] = phase === 'Succeeded' ? [0, 'Completed'] : [1, 'Error']
  const terminated = { exitCode, reason, startedAt: now, finishedAt: now }
  const conditions = ['ContainersReady', 'Ready'].reduce(
    (all, type) => withCondition(all, { type, status: 'False', reason: 'PodCompleted' }, now),
    pod.status?.conditions ?? [],
  )
  await patchStatus(pod, { phase, conditions, containerStatuses: statusesOf(pod, { terminated }, false) }, world)
}

/** KubeVirt reads the digest of the launcher from the image. */
function statusesOf({ spec }: Pod, state: object, isReady: boolean): readonly { readonly [field: string]: unknown }[] {
  return (spec?.containers ?? []).map(({ name, image = '' }) => {
    const digest = createHash('sha256').update(image).digest('hex')
    const imageID = `${image.split('@')[0]}@sha256:${digest}`
    const containerID = `playground://${createHash('sha256').update(`${name} ${image}`).digest('hex')}`
    return { name, image, imageID, containerID, ready: isReady, started: isReady, restartCount: 0, state }
  })
}

/** Nothing is written where everything is so already. Annotations go through the status: no webhook on pods is asked. */
async function patchStatus(
  pod: Pod,
  status: NonNullable<Pod['status']>,
  { client, caches }: AgentWorld,
  annotations: Readonly<Record<string, string>> = {},
): Promise<void> {
  const isThere = Object.entries(status).every(([field, value]) => isSame(pod.status?.[field], value))
  const isShown = Object.entries(annotations).every(([name, text]) => pod.metadata.annotations?.[name] === text)
  if (isThere && isShown) return
  const patch = { metadata: { annotations }, status }
  const { resourceVersion = '' } = pod.metadata
  caches.pods.learn(
    await client.mergePatch(pods, refOf(pod), patch, { subresource: 'status', resourceVersion, ...uidOf(pod) }),
  )
}

const uidOf = ({ metadata: { uid } }: Pod) => (uid === undefined ? {} : { uid })
