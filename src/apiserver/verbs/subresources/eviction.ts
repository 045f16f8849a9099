// Eviction: a delete that asks the pod's disruption budgets first. A budget that is used up answers 429: try later.

import { readObject } from '../../body.ts'
import type { Answer, Call, World } from '../../call.ts'
import { isObject, type KubeObject } from '../../object.ts'
import { getObject, listObjects } from '../../objects.ts'
import { readDeleteOptions, readWriteOptions } from '../../options.ts'
import { fromLabelSelectorObject, type LabelSelectorObject } from '../../selectors/labels.ts'
import { badRequest, internalError, notFound, type Status, StatusError } from '../../status.ts'
import { removeObject } from '../delete.ts'
import { bodyKind } from './body-kind.ts'

export async function evictPod(call: Call, world: World): Promise<Answer> {
  const options = readWriteOptions(call.request.query, 'CreateOptions')
  const source = { bytes: call.body, contentType: call.headers.contentType }
  const eviction = readObject(bodyKind(call), source, options.fieldValidation, call.warn)
  const { namespace, name } = call.request
  if (eviction.metadata.name !== name) throw badRequest('name in URL does not match name in Eviction object')
  const pod = getObject(world.store, call.resource, namespace, name)
  if (pod === undefined) throw notFound(call.resource, name)
  if (!isFinished(pod)) refuseSpentBudgets(world, pod)
  const remove: Call = { ...call, request: { ...call.request, verb: 'delete', subresource: '' } }
  const deleteOptions = isObject(eviction.deleteOptions) ? eviction.deleteOptions : {}
  await removeObject(
    remove,
    world,
    readDeleteOptions(call.request.query, { ...deleteOptions, ...(options.dryRun && { dryRun: ['All'] }) }),
  )
  const status: Status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }
  return { type: 'status', status }
}

function isFinished(pod: KubeObject): boolean {
  const status = isObject(pod.status) ? pod.status : {}
  return status.phase === 'Succeeded' || status.phase === 'Failed' || !!pod.metadata.deletionTimestamp
}

function refuseSpentBudgets(world: World, pod: KubeObject): void {
  const budgets = world.registry.find('policy', 'poddisruptionbudgets')
  if (budgets === undefined) return
  const matching = [...listObjects(world.store, budgets, pod.metadata.namespace ?? '')].filter(budget =>
    covers(budget, pod),
  )
  if (matching.length > 1) {
    throw internalError(
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    )
  }
  const [budget] = matching
  if (budget === undefined) return
  const { needed, healthy } = countHealthy(world, budget)
  if (healthy > needed) return
  throw new StatusError(429, 'TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", {
    causes: [
      {
        reason: 'DisruptionBudget',
        message: `The disruption budget ${budget.metadata.name} needs ${needed} healthy pods and has ${healthy} currently`,
      },
    ],
  })
}

/** Counted from the pods themselves at this moment: no controller keeps the budget's status here. */
function countHealthy(world: World, budget: KubeObject): { needed: number; healthy: number } {
  const pods = world.registry.find('', 'pods')
  const namespace = budget.metadata.namespace ?? ''
  const covered = pods ? [...listObjects(world.store, pods, namespace)].filter(pod => covers(budget, pod)) : []
  const { minAvailable, maxUnavailable } = isObject(budget.spec) ? budget.spec : {}
  const total = covered.length
  const needed = minAvailable === undefined ? total - shareOf(maxUnavailable ?? 0, total) : shareOf(minAvailable, total)
  return { needed: Math.max(needed, 0), healthy: covered.filter(isReady).length }
}

/** A number, or a percentage of all, rounded up. */
function shareOf(amount: unknown, total: number): number {
  if (typeof amount === 'string' && amount.endsWith('%')) return Math.ceil((Number(amount.slice(0, -1)) / 100) * total)
  return Number(amount)
}

function isReady(pod: KubeObject): boolean {
  const conditions = isObject(pod.status) && Array.isArray(pod.status.conditions) ? pod.status.conditions : []
  const ready = conditions.some(
    condition => isObject(condition) && condition.type === 'Ready' && condition.status === 'True',
  )
  return ready && !pod.metadata.deletionTimestamp
}

function covers(budget: KubeObject, pod: KubeObject): boolean {
  const spec = isObject(budget.spec) ? budget.spec : {}
  const selector = spec.selector
  if (!isObject(selector)) return false
  return fromLabelSelectorObject(selector as LabelSelectorObject).matches(pod.metadata.labels)
}
