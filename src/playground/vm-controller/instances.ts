// instance.life - an instance has a launcher pod until it has ended; its phase follows the pod. When it is deleted, its pods go
// first.
//
//   phase          its pod                       next
//   none           none                          made: Scheduling
//   Scheduling     runs                          Scheduled, on the node of the pod; the node says Running
//   Scheduling     ended, or is gone             Failed
//   Scheduled      ended, or is gone             Failed
//   Running        is gone                       Failed; when the instance is deleted, Succeeded

import { networksAnnotation } from '../../api/names.ts'
import { hasFinalizer, isDeleting, withFinalizer } from '../../kube/finalizers.ts'
import { keyOf, refOf } from '../../kube/object.ts'
import { timestamp } from '../../kube/timestamp.ts'
import { done, type PassResult } from '../../runtime/reconciler.ts'
import { instances, machines, pods } from '../kinds.ts'
import { createdByLabel, instanceFinalizer, machineFinalizer, nodeNameLabel, oldInstanceFinalizer } from '../names.ts'
import {
  controllerOf,
  type Instance,
  type InstanceStatus,
  inPhase,
  isCompleted,
  isFinal,
  isReady,
  isSame,
  type Pod,
  phaseOf,
  withCondition,
} from '../shapes.ts'
import { launcherName } from './launcher.ts'
import { liveNetworks, remainingDevices } from './live-update.ts'
import { withDefaults } from './machines.ts'
import { makeLauncher } from './make-launcher.ts'
import { migrationKeysOf } from './migrations.ts'
import { type ControllerWorld, decidedOn } from './world.ts'

export async function liveInstance(key: string, world: ControllerWorld): Promise<PassResult> {
  const instance = world.caches.instances.get(key)
  if (instance === undefined) return done()
  const own = world.caches.pods.byIndex('instance', instance.metadata.uid ?? '')
  if (isDeleting(instance)) await end(instance, own, world)
  else if (isFinal(instance)) return done()
  else if (!hasFinalizer(instance, instanceFinalizer)) await admit(instance, world)
  else await live(instance, own, world)
  return done()
}

/** What KubeVirt's webhook does for an instance that a user made. */
async function admit(instance: Instance, { client, caches }: ControllerWorld): Promise<void> {
  const patch = {
    metadata: { finalizers: withFinalizer(instance, instanceFinalizer) },
    spec: withDefaults(instance.spec ?? {}),
  }
  caches.instances.learn(await client.mergePatch(instances, refOf(instance), patch, decidedOn(instance)))
}

async function live(instance: Instance, known: readonly Pod[], world: ControllerWorld): Promise<void> {
  const { client, clock, caches } = world
  let own = known
  if (own.length === 0) {
    // The cache of pods may be behind that of instances.
    const isNew = ['', 'Pending'].includes(phaseOf(instance))
    own = isNew ? [await makeLauncher(instance, world)] : await ownPods(instance, world)
    for (const pod of own) caches.pods.learn(pod)
  }
  const now = timestamp(clock)
  const status = toStatus(instance, own, now)
  const node = status.nodeName
  const labels = node === undefined ? {} : { [nodeNameLabel]: node }
  const devices = remainingDevices(
    instance,
    own.filter(pod => !isCompleted(pod)),
  )
  const isShown = isSame(status, instance.status ?? {}) && instance.metadata.labels?.[nodeNameLabel] === node
  if (!isShown || devices !== undefined) {
    const patch = {
      metadata: { labels },
      status: { ...status, activePods: activePatch(instance, status) },
      ...(devices && { spec: devices }),
    }
    caches.instances.learn(await client.mergePatch(instances, refOf(instance), patch, decidedOn(instance)))
  }
  for (const pod of own) {
    const text = isCompleted(pod) || isDeleting(pod) ? undefined : liveNetworks(instance, pod)
    if (text === undefined) continue
    const metadata = { annotations: { [networksAnnotation]: text } }
    caches.pods.learn(await client.mergePatch(pods, refOf(pod), { metadata }, decidedOn(pod)))
  }
}

/** A merge patch takes away what it calls null. */
function activePatch(instance: Instance, { activePods = {} }: InstanceStatus): Readonly<Record<string, string | null>> {
  const before = Object.keys(instance.status?.activePods ?? {})
  return { ...Object.fromEntries(before.map(uid => [uid, null])), ...activePods }
}

/** What the cache does not know may be there. A list reads every pod of the namespace, so it is the last resort. */
async function hasPods(instance: Instance, world: ControllerWorld): Promise<boolean> {
  if (migrationKeysOf(keyOf(instance), world).length > 0) return (await ownPods(instance, world)).length > 0
  const { namespace = '' } = instance.metadata
  const found = await world.client.get(pods, { namespace, name: launcherName(instance) })
  return found !== undefined && controllerOf(found)?.uid === instance.metadata.uid
}

async function ownPods({ metadata }: Instance, { client }: ControllerWorld): Promise<readonly Pod[]> {
  const { namespace = '', uid = '' } = metadata
  return (await client.list(pods, { namespace, labelSelector: `${createdByLabel}=${uid}` })).items
}

/** Pure. */
function toStatus(instance: Instance, own: readonly Pod[], now: string): InstanceStatus {
  const { status } = instance
  const launcher = launcherOf(instance, own)
  const phased = inPhase<InstanceStatus>(status, nextPhase(instance, launcher), now)
  const nodeName = status?.nodeName ?? (phased.phase === 'Scheduled' ? launcher?.spec?.nodeName : undefined)
  const isRunning = phased.phase === 'Running' && launcher !== undefined && isReady(launcher)
  const ready = isRunning
    ? { type: 'Ready', status: 'True' }
    : { type: 'Ready', status: 'False', reason: 'GuestNotRunning', message: 'Guest VM is not reported as running' }
  return {
    ...phased,
    ...(nodeName !== undefined && { nodeName }),
    activePods: Object.fromEntries(own.map(pod => activeOf(pod, phased))),
    conditions: withCondition(status?.conditions, ready, now),
  }
}

/** On which node the pod is. Of a pod that was bound and does not run yet, it is not worth a write of its own. */
function activeOf({ metadata, spec }: Pod, { phase, activePods = {} }: InstanceStatus): [uid: string, node: string] {
  const { uid = '' } = metadata
  const node = spec?.nodeName ?? ''
  return [uid, phase === 'Scheduling' ? (activePods[uid] ?? node) : node]
}

/** The pod that runs it, or is to: not the target of a migration that is not over. */
function launcherOf({ status }: Instance, own: readonly Pod[]): Pod | undefined {
  const node = status?.nodeName
  const there = node === undefined ? own : own.filter(({ spec }) => spec?.nodeName === node)
  return there.find(pod => !isCompleted(pod)) ?? there[0]
}

function nextPhase(instance: Instance, launcher: Pod | undefined): string {
  const phase = phaseOf(instance)
  const isOver = launcher === undefined || isCompleted(launcher)
  switch (phase) {
    case '':
    case 'Pending':
      return launcher === undefined ? 'Pending' : 'Scheduling'
    case 'Scheduling':
      if (isOver) return 'Failed'
      return isReady(launcher) ? 'Scheduled' : phase
    case 'Scheduled':
      return isOver ? 'Failed' : phase
    default:
      // Of a process that ended the node knows how.
      return launcher === undefined ? 'Failed' : phase
  }
}

async function end(instance: Instance, own: readonly Pod[], world: ControllerWorld): Promise<void> {
  const { client, clock, caches } = world
  for (const pod of own) {
    if (!isDeleting(pod)) await client.delete(pods, refOf(pod), decidedOnUid(pod))
  }
  if (own.length > 0 || (await hasPods(instance, world))) return
  if (!isFinal(instance)) {
    const status = inPhase<InstanceStatus>(instance.status, 'Succeeded', timestamp(clock))
    caches.instances.learn(await client.mergePatch(instances, refOf(instance), { status }, decidedOn(instance)))
    return
  }
  const ours = [instanceFinalizer, oldInstanceFinalizer]
  const isLeft = hasFinalizer(instance, machineFinalizer) && !(await hasMachine(instance, world))
  const gone = isLeft ? [...ours, machineFinalizer] : ours
  const before = instance.metadata.finalizers ?? []
  const finalizers = before.filter(name => !gone.includes(name))
  if (finalizers.length === before.length) return
  const patch = { metadata: { finalizers: finalizers.length === 0 ? null : finalizers } }
  const left = await client.mergePatch(instances, refOf(instance), patch, decidedOn(instance))
  if (finalizers.length > 0) caches.instances.learn(left)
}

const decidedOnUid = ({ metadata: { uid } }: Pod) => (uid === undefined ? {} : { uid })

/** Whether the machine that owns it is still there to let it go. */
async function hasMachine(instance: Instance, { client, caches }: ControllerWorld): Promise<boolean> {
  const owner = controllerOf(instance)
  if (owner?.kind !== 'VirtualMachine') return false
  const known = caches.machines.get(keyOf({ metadata: { ...instance.metadata, name: owner.name } }))
  if (known?.metadata.uid === owner.uid) return true
  const { namespace = '' } = instance.metadata
  return (await client.get(machines, { namespace, name: owner.name }))?.metadata.uid === owner.uid
}
