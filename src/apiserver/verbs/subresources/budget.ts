// Whether the disruption budget of a pod lets it go. What a disruption controller wrote into the budget's status counts,
// and is counted down with each eviction. Where no such controller keeps the status, the pods are counted instead.

import { mastersGroup } from '../../authn/user.ts'
import type { Call, World } from '../../call.ts'
import { toTimestamp } from '../../metadata.ts'
import { isObject, type KubeObject } from '../../object.ts'
import { listObjects } from '../../objects.ts'
import { ownWriteOptions } from '../../options.ts'
import { fromLabelSelectorObject, type LabelSelectorObject } from '../../selectors/labels.ts'
import { forbidden, StatusError } from '../../status.ts'
import { changeObject } from '../change.ts'

export function budgetsOf({ registry, store }: World, pod: KubeObject): KubeObject[] {
  const budgets = registry.find('policy', 'poddisruptionbudgets')
  if (budgets === undefined) return []
  return [...listObjects(store, budgets, pod.metadata.namespace ?? '')].filter(budget => covers(budget, pod))
}

/** A pod that is not ready may go without being counted: at once, or while enough others are healthy. */
export function isSpare(world: World, budget: KubeObject, pod: KubeObject): boolean {
  if (isReady(pod)) return false
  if (isObject(budget.spec) && budget.spec.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true
  const { healthy, needed } = countOf(world, budget)
  return healthy >= needed && needed > 0
}

/** Takes one disruption from the budget, or throws a `StatusError`. */
export async function takeDisruption(
  call: Call,
  world: World,
  budget: KubeObject,
  pod: KubeObject,
  dryRun: boolean,
): Promise<void> {
  refuseSpent(budget, countOf(world, budget))
  if (dryRun || !isKept(budget)) return
  const resource = world.registry.find('policy', 'poddisruptionbudgets')
  const served = resource?.versions.get('v1')
  if (resource === undefined || served === undefined) return
  const { namespace = '', name = '' } = budget.metadata
  const { request } = call
  const ownCall: Call = {
    ...call,
    resource,
    served,
    user: { username: 'system:apiserver', groups: [mastersGroup, 'system:authenticated'] },
    headers: { userAgent: 'kube-apiserver' },
    warn: () => {},
    request: {
      ...request,
      verb: 'update',
      group: 'policy',
      plural: resource.plural,
      namespace,
      name,
      subresource: 'status',
    },
  }
  await changeObject(ownCall, world, {
    options: ownWriteOptions,
    transform: latest => {
      refuseSpent(latest, countOf(world, latest))
      return countDown(latest, pod.metadata.name ?? '', toTimestamp(world.now()))
    },
  })
}

interface Count {
  readonly allowed: number
  readonly needed: number
  readonly healthy: number
}

function countOf(world: World, budget: KubeObject): Count {
  const status = statusOf(budget)
  if (!isKept(budget)) return countPods(world, budget)
  return {
    allowed: Number(status.disruptionsAllowed ?? 0),
    needed: Number(status.desiredHealthy ?? 0),
    healthy: Number(status.currentHealthy ?? 0),
  }
}

/** A disruption controller has seen the budget as it is now. */
export function isKept(budget: KubeObject): boolean {
  const seen = statusOf(budget).observedGeneration
  return typeof seen === 'number' && seen >= Number(budget.metadata.generation ?? 0)
}

function refuseSpent(budget: KubeObject, { allowed, needed, healthy }: Count): void {
  const { name = '' } = budget.metadata
  if (allowed < 0 && isKept(budget)) {
    throw forbidden({ group: 'policy', plural: 'poddisruptionbudget' }, name, 'pdb disruptions allowed is negative')
  }
  if (allowed <= 0) {
    const why =
      healthy > needed
        ? 'does not allow evicting pods currently'
        : `needs ${needed} healthy pods and has ${healthy} currently`
    throw violatesBudget(`The disruption budget ${name} ${why}`)
  }
}

export function stillProcessed(budget: string): StatusError {
  return violatesBudget(`The disruption budget ${budget} is still being processed by the server.`, 10)
}

function violatesBudget(message: string, retryAfterSeconds = 0): StatusError {
  const why = "Cannot evict pod as it would violate the pod's disruption budget."
  return new StatusError(429, 'TooManyRequests', why, {
    causes: [{ reason: 'DisruptionBudget', message }],
    ...(retryAfterSeconds > 0 && { retryAfterSeconds }),
  })
}

function countDown(budget: KubeObject, pod: string, time: string): KubeObject {
  const status = statusOf(budget)
  const disruptionsAllowed = Number(status.disruptionsAllowed ?? 0) - 1
  const disruptedPods = { ...(isObject(status.disruptedPods) && status.disruptedPods), [pod]: time }
  const conditions = disruptionsAllowed === 0 ? { conditions: insufficientPods(budget, time) } : {}
  return { ...budget, status: { ...status, disruptionsAllowed, disruptedPods, ...conditions } }
}

function insufficientPods(budget: KubeObject, time: string): unknown[] {
  const { conditions } = statusOf(budget)
  const others = (Array.isArray(conditions) ? conditions : []).filter(
    condition => !isObject(condition) || condition.type !== 'DisruptionAllowed',
  )
  const none = {
    type: 'DisruptionAllowed',
    status: 'False',
    observedGeneration: Number(budget.metadata.generation ?? 0),
    lastTransitionTime: time,
    reason: 'InsufficientPods',
    message: '',
  }
  return [...others, none]
}

function countPods(world: World, budget: KubeObject): Count {
  const pods = world.registry.find('', 'pods')
  const namespace = budget.metadata.namespace ?? ''
  const covered = pods ? [...listObjects(world.store, pods, namespace)].filter(pod => covers(budget, pod)) : []
  const { minAvailable, maxUnavailable } = isObject(budget.spec) ? budget.spec : {}
  const total = covered.length
  const share = minAvailable === undefined ? total - shareOf(maxUnavailable ?? 0, total) : shareOf(minAvailable, total)
  const needed = Math.max(share, 0)
  const healthy = covered.filter(pod => isReady(pod) && !pod.metadata.deletionTimestamp).length
  return { allowed: healthy - needed, needed, healthy }
}

/** A number, or a percentage of all, rounded up. */
function shareOf(amount: unknown, total: number): number {
  if (typeof amount === 'string' && amount.endsWith('%')) return Math.ceil((Number(amount.slice(0, -1)) / 100) * total)
  return Number(amount)
}

function isReady(pod: KubeObject): boolean {
  const { conditions } = statusOf(pod)
  return (
    Array.isArray(conditions) &&
    conditions.some(condition => isObject(condition) && condition.type === 'Ready' && condition.status === 'True')
  )
}

function covers(budget: KubeObject, pod: KubeObject): boolean {
  const selector = isObject(budget.spec) ? budget.spec.selector : undefined
  if (!isObject(selector)) return false
  return fromLabelSelectorObject(selector as LabelSelectorObject).matches(pod.metadata.labels)
}

function statusOf({ status }: KubeObject): Record<string, unknown> {
  return isObject(status) ? status : {}
}
