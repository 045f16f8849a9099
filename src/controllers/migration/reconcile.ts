// migration.network - live migrations go over the network that is asked for, and what worked before goes only after it works.
//
// Reads:   what asks for a network, KubeVirt, its pods of virt-handler, nodes, migrations; decides in plan.ts.
// Writes:  one thing per pass: a NetworkAttachmentDefinition, the KubeVirt object, or what the order says and remembers.
// Safe:    before something is taken away, or said to be done, the decision is made once more on what the API server has now. Every
//          state between two writes is one that plan.ts knows the way from.

import type { ConditionFact } from '../../api/condition.ts'
import { isApiError } from '../../kube/api-error.ts'
import { isDeleting } from '../../kube/finalizers.ts'
import { refOf } from '../../kube/object.ts'
import { refresh } from '../../kube/refresh.ts'
import { configuredCondition, settingName } from '../../migration/names.ts'
import { defaultHash } from '../../migration/wanted.ts'
import { done, type PassResult, requeue, requeueAfter } from '../../runtime/reconciler.ts'
import { describeError } from '../../telemetry/log.ts'
import { migrationNetworks } from './kinds.ts'
import { askAgain, observe, unlabelledOf } from './observe.ts'
import { counting, isUntouched, type Order, readOrders } from './orders.ts'
import { decide, type Memory, type Plan, type Seen, type Step, sufficiencyOf, sufficientCondition } from './plan.ts'
import {
  type Facts,
  hold,
  isSaid,
  letGo,
  makeAttachment,
  removeAttachment,
  restoreAttachment,
  switchKubeVirt,
  tell,
} from './steps.ts'
import type { MigrationWorld } from './world.ts'

export async function reconcileNetwork(world: MigrationWorld): Promise<PassResult> {
  const orders = readOrders(world.caches)
  const order = counting(orders)
  for (const other of orders) if (other !== order) await standBack(other, order, world)
  if (order === undefined) return done()
  if (needsHold(order)) {
    await hold(world, order)
    return requeue()
  }
  const seen = await observeAll(order, world)
  const plan = await planFor(order, seen, world)
  if (plan === 'outdated') return requeue()
  if (plan.step !== undefined) {
    await carryOut(plan.step, order, plan.memory, world)
    return requeue()
  }
  if (plan.says !== undefined && (await tell(world, order, factsOf(plan.says, seen), plan.memory))) return requeue()
  if (order.isHeld && isDeleting(order.object)) {
    const isUndone = plan.says === undefined || plan.says.status === 'True'
    if (isUndone || (seen.kubeVirt === undefined && (await hasNothingToUndo(order, world)))) {
      await letGo(world, order)
      return done()
    }
  }
  return plan.waitMs === undefined ? done() : requeueAfter(plan.waitMs)
}

/** The KubeVirt that it names is not there, and nothing that was made for it. */
async function hasNothingToUndo(order: Order, world: MigrationWorld): Promise<boolean> {
  const { kubeVirt, made } = await askAgain(order, world)
  return kubeVirt === undefined && made.length === 0
}

const factsOf = (fact: ConditionFact, seen: Pick<Seen, 'asks' | 'needed'>): Facts => ({
  [fact.type]: fact,
  [sufficientCondition]: sufficiencyOf(seen),
})

const needsHold = ({ kind, asks, isHeld }: Order): boolean =>
  kind === migrationNetworks && asks.kind === 'network' && !isHeld

async function observeAll(order: Order, world: MigrationWorld): Promise<Seen> {
  const seen = observe(order, world)
  return { ...seen, made: [...seen.made, ...(await unlabelledOf(seen, world))] }
}

/** What takes away, tells KubeVirt to restart, says that it is done or gives it up is decided on what the API server has now. */
async function planFor(order: Order, seen: Seen, world: MigrationWorld): Promise<Plan | 'outdated'> {
  const plan = decide(seen)
  if (!isFinal(plan, seen.memory, order)) return plan
  const { kind, object } = order
  const cache = kind === migrationNetworks ? world.caches.migrationNetworks : world.caches.settings
  const live = await refresh(world.client, kind, cache, refOf(object))
  if (live?.metadata.resourceVersion !== object.metadata.resourceVersion) return 'outdated'
  const again = await askAgain(order, world)
  return decide({ ...again, made: [...again.made, ...(await unlabelledOf(again, world))] })
}

function isFinal({ step, says, memory }: Plan, before: Memory, { object }: Order): boolean {
  if (step?.kind === 'remove' || step?.kind === 'switch') return true
  if (!isSameDone(memory, before) || memory.failed !== before.failed) return true
  return says?.status === 'True' && !isSaid(object, says)
}

/** It was done before, and is still so. */
const isSameDone = ({ done: one }: Memory, { done: other }: Memory): boolean =>
  one === other ||
  (one !== undefined && one.hash === other?.hash && one.attachment === other.attachment && one.text === other.text)

const failures: Readonly<Record<Step['kind'], { readonly reason: string; readonly prefix: string }>> = {
  make: { reason: 'CreateNadError', prefix: 'create nad error ' },
  restore: { reason: 'CreateNadError', prefix: 'create nad error ' },
  switch: { reason: 'UpdateKubeVirtError', prefix: 'update kubevirt error ' },
  remove: { reason: 'RemoveOldNadError', prefix: 'remove old nad error ' },
}

/** What is refused is said, and tried again. That an object has changed meanwhile is no failure. */
async function carryOut(step: Step, order: Order, memory: Memory, world: MigrationWorld): Promise<void> {
  try {
    await write(step, world)
  } catch (error) {
    if (isApiError(error, 'Conflict', 'NotFound')) throw error
    const { reason, prefix } = failures[step.kind]
    const message = `${prefix}${messageOf(error)}`
    const fact: ConditionFact = { type: configuredCondition, status: 'False', reason, message }
    await tell(world, order, { [fact.type]: fact }, memory)
    throw error
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(describeError(error)))

function write(step: Step, world: MigrationWorld): Promise<void> {
  switch (step.kind) {
    case 'make':
      return makeAttachment(world, step)
    case 'restore':
      return restoreAttachment(world, step)
    case 'switch':
      return switchKubeVirt(world, step)
    case 'remove':
      return removeAttachment(world, step)
  }
}

/** Another order counts. What this one made is the other's to replace. */
async function standBack(order: Order, other: Order | undefined, world: MigrationWorld): Promise<void> {
  const { asks, memory, object, isHeld } = order
  if (other === undefined || (asks.kind === 'management' && isUntouched(memory) && !isHeld)) return
  const which = `${other.kind.kind} ${settingName} counts`
  const forgotten: Memory = {
    done: { hash: defaultHash, attachment: '', text: '' },
    rollout: undefined,
    failed: undefined,
  }
  const fact: ConditionFact =
    asks.kind === 'management'
      ? { type: configuredCondition, status: 'True', reason: 'Completed', message: which }
      : { type: configuredCondition, status: 'False', reason: 'AnotherCounts', message: `${which}: reset it first` }
  await tell(world, order, { [fact.type]: fact, [sufficientCondition]: undefined }, forgotten)
  if (isHeld && isDeleting(object)) await letGo(world, order)
}
