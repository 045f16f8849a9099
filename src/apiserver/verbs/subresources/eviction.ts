// Eviction: a delete that asks the pod's disruption budgets first. A budget that is used up answers 429: try later.

import { readObject } from '../../body.ts'
import type { Answer, Call, World } from '../../call.ts'
import { isObject, type KubeObject } from '../../object.ts'
import { getObject, listObjects } from '../../objects.ts'
import { readDeleteOptions, readWriteOptions } from '../../options.ts'
import { fromLabelSelectorObject, type LabelSelectorObject } from '../../selectors/labels.ts'
import { internalError, notFound, type Status, StatusError } from '../../status.ts'
import { removeObject } from '../delete.ts'
import { bodyKind } from './body-kind.ts'

export async function evictPod(call: Call, world: World): Promise<Answer> {
  const options = readWriteOptions(call.request.query, 'CreateOptions')
  const source = { bytes: call.body, contentType: call.headers.contentType }
  const eviction = readObject(bodyKind(call), source, options.fieldValidation, call.warn)
  const { namespace, name } = call.request
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
  const status = isObject(budget.status) ? budget.status : {}
  const allowed = Number(status.disruptionsAllowed ?? 0)
  if (allowed > 0) return
  const name = budget.metadata.name
  throw new StatusError(429, 'TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", {
    causes: [
      {
        reason: 'DisruptionBudget',
        message: `The disruption budget ${name} needs ${Number(status.desiredHealthy ?? 0)} healthy pods and has ${Number(status.currentHealthy ?? 0)} currently`,
      },
    ],
  })
}

function covers(budget: KubeObject, pod: KubeObject): boolean {
  const spec = isObject(budget.spec) ? budget.spec : {}
  const selector = spec.selector
  if (!isObject(selector)) return false
  return fromLabelSelectorObject(selector as LabelSelectorObject).matches(pod.metadata.labels)
}
