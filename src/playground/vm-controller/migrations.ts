// migration.life - a live migration makes a second pod on another node, hands it over to the node when it runs, and follows what
// the node says of it in the instance.
//
//   none             known, with its finalizer                            Pending
//   Pending          the target pod is made                               Scheduling
//   Scheduling       the target pod runs                                  Scheduled
//   Scheduled        the state of migration is in the instance            PreparingTarget
//   PreparingTarget  the node says where the target is                    TargetReady
//   TargetReady      the node says when it began                          Running
//   Running          the target is ready: its pod says when; then         Succeeded
//   any              the node says so, the instance or the target ended   Failed

import { migrationJobLabel, targetReadyAnnotation } from '../../api/names.ts'
import { hasFinalizer, isDeleting, removeFinalizer, withFinalizer } from '../../kube/finalizers.ts'
import { keyOf, refOf } from '../../kube/object.ts'
import { timestamp } from '../../kube/timestamp.ts'
import { done, type PassResult } from '../../runtime/reconciler.ts'
import { instances, migrations, pods } from '../kinds.ts'
import { instanceNameLabel, migrationFinalizer, targetNodeLabel } from '../names.ts'
import {
  type Instance,
  inPhase,
  isCompleted,
  isFinal,
  isReady,
  type Migration,
  type MigrationState,
  type Pod,
  phaseOf,
} from '../shapes.ts'
import { labelValue } from './launcher.ts'
import { makeLauncher } from './make-launcher.ts'
import { type ControllerWorld, decidedOn, instanceKeyOf } from './world.ts'

interface Seen {
  readonly instance: Instance | undefined
  readonly target: Pod | undefined
  /** Another migration of the same instance came first. */
  readonly isLate: boolean
}

type Step =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'make target' }
  | { readonly kind: 'hand over'; readonly instance: Instance; readonly target: Pod }
  | { readonly kind: 'mark ready'; readonly target: Pod; readonly when: string }
  | { readonly kind: 'enter'; readonly phase: string }

export async function liveMigration(key: string, world: ControllerWorld): Promise<PassResult> {
  const { client, caches } = world
  const migration = caches.migrations.get(key)
  if (migration === undefined) return done()
  if (!hasFinalizer(migration, migrationFinalizer) && !isDeleting(migration) && !isFinal(migration)) {
    const labels = { [instanceNameLabel]: labelValue(migration.spec?.vmiName ?? '') }
    const patch = { metadata: { labels, finalizers: withFinalizer(migration, migrationFinalizer) } }
    caches.migrations.learn(await client.mergePatch(migrations, refOf(migration), patch, decidedOn(migration)))
    return done()
  }
  const seen = observe(migration, world)
  if (isFinal(migration)) {
    await tidy(migration, seen, world)
    return done()
  }
  await carryOut(decide(migration, seen), migration, seen, world)
  return done()
}

function observe(migration: Migration, { caches }: ControllerWorld): Seen {
  const instance = caches.instances.get(instanceKeyOf(migration))
  const own = caches.pods.byIndex('instance', instance?.metadata.uid ?? '')
  const target = own.find(({ metadata }) => metadata.labels?.[migrationJobLabel] === migration.metadata.uid)
  const open = caches.migrations.byIndex('instance', instanceKeyOf(migration)).filter(one => !isFinal(one))
  const order = ({ metadata }: Migration) => `${metadata.creationTimestamp} ${metadata.name}`
  return { instance, target, isLate: open.some(one => order(one) < order(migration)) }
}

/** Pure. */
function decide(migration: Migration, { instance, target, isLate }: Seen): Step {
  const phase = phaseOf(migration)
  const fail: Step = { kind: 'enter', phase: 'Failed' }
  const state = instance?.status?.migrationState
  const ours = state?.migrationUid === migration.metadata.uid ? state : undefined
  if (instance === undefined || isFinal(instance) || isDeleting(instance) || isLate) return fail
  if (ours?.failed === true) return fail
  if (ours?.completed === true && phase === 'Running') return finish(target, ours)
  if (isDeleting(migration)) return fail
  if (!['', 'Pending'].includes(phase) && (target === undefined || isCompleted(target) || isDeleting(target)))
    return fail
  switch (phase) {
    case '':
      return { kind: 'enter', phase: 'Pending' }
    case 'Pending':
      if (phaseOf(instance) !== 'Running') return { kind: 'nothing' }
      return target === undefined ? { kind: 'make target' } : { kind: 'enter', phase: 'Scheduling' }
    case 'Scheduling':
      return target !== undefined && isReady(target) ? { kind: 'enter', phase: 'Scheduled' } : { kind: 'nothing' }
    case 'Scheduled':
      if (ours !== undefined) return { kind: 'enter', phase: 'PreparingTarget' }
      return target === undefined ? fail : { kind: 'hand over', instance, target }
    case 'PreparingTarget':
      return ours?.targetNodeAddress === undefined ? { kind: 'nothing' } : { kind: 'enter', phase: 'TargetReady' }
    case 'TargetReady':
      return ours?.startTimestamp === undefined ? { kind: 'nothing' } : { kind: 'enter', phase: 'Running' }
    default:
      return { kind: 'nothing' }
  }
}

function finish(target: Pod | undefined, { targetNodeDomainReadyTimestamp: when }: MigrationState): Step {
  const isMarked = target?.metadata.annotations?.[targetReadyAnnotation] !== undefined
  if (target !== undefined && when !== undefined && !isMarked) return { kind: 'mark ready', target, when }
  return { kind: 'enter', phase: 'Succeeded' }
}

async function carryOut(step: Step, migration: Migration, seen: Seen, world: ControllerWorld): Promise<void> {
  const { client, clock, caches } = world
  switch (step.kind) {
    case 'nothing':
      return
    case 'make target':
      if (seen.instance !== undefined) caches.pods.learn(await makeLauncher(seen.instance, world, migration))
      return
    case 'hand over': {
      const { instance, target } = step
      const patch = handOver(instance, target, migration, sourceOf(instance, target, world))
      caches.instances.learn(await client.mergePatch(instances, refOf(instance), patch, decidedOn(instance)))
      return
    }
    case 'mark ready': {
      const metadata = { annotations: { [targetReadyAnnotation]: step.when } }
      caches.pods.learn(await client.mergePatch(pods, refOf(step.target), { metadata }, decidedOn(step.target)))
      return
    }
    case 'enter': {
      const state = seen.instance?.status?.migrationState
      const isOurs = state?.migrationUid === migration.metadata.uid
      const phased = inPhase(migration.status, step.phase, timestamp(clock))
      const status = { ...phased, ...(isOurs && { migrationState: state }) }
      const options = { subresource: 'status', ...decidedOn(migration) } as const
      caches.migrations.learn(await client.mergePatch(migrations, refOf(migration), { status }, options))
    }
  }
}

function sourceOf({ metadata, status }: Instance, target: Pod, { caches }: ControllerWorld): Pod | undefined {
  const own = caches.pods.byIndex('instance', metadata.uid ?? '')
  return own.find(pod => pod !== target && !isCompleted(pod) && pod.spec?.nodeName === status?.nodeName)
}

function handOver(instance: Instance, target: Pod, migration: Migration, source: Pod | undefined): object {
  const next: MigrationState = {
    migrationUid: migration.metadata.uid ?? '',
    sourceNode: instance.status?.nodeName ?? '',
    sourcePod: source?.metadata.name ?? '',
    targetNode: target.spec?.nodeName ?? '',
    targetPod: target.metadata.name ?? '',
  }
  // What the migration before has left is taken away.
  const before = Object.keys(instance.status?.migrationState ?? {}).map(field => [field, null])
  const migrationState = { ...Object.fromEntries(before), ...next }
  return { metadata: { labels: { [targetNodeLabel]: next.targetNode } }, status: { migrationState } }
}

/** A target that was not handed over is deleted; of one that was, the node reads in the instance that it is not needed. */
async function tidy(migration: Migration, { instance, target }: Seen, world: ControllerWorld): Promise<void> {
  const { client, clock, caches } = world
  const state = instance?.status?.migrationState
  const isHandedOver = state?.migrationUid === migration.metadata.uid
  const isFailed = phaseOf(migration) === 'Failed'
  if (isFailed && instance !== undefined && isHandedOver && state?.completed !== true) {
    const over = { completed: true, failed: true, endTimestamp: timestamp(clock), failureReason: 'aborted' }
    const patch = { status: { migrationState: over } }
    caches.instances.learn(await client.mergePatch(instances, refOf(instance), patch, decidedOn(instance)))
  }
  if (isFailed && target !== undefined && !isHandedOver && !isDeleting(target)) {
    const { uid } = target.metadata
    await client.delete(pods, refOf(target), uid === undefined ? {} : { uid })
  }
  await removeFinalizer(client, migrations, migration, migrationFinalizer)
}

export const migrationKeysOf = (keyOfInstance: string, { caches }: ControllerWorld): string[] =>
  caches.migrations.byIndex('instance', keyOfInstance).map(keyOf)
