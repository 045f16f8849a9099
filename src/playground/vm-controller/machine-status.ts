// From a virtual machine and its instance to its status. Pure.

import { isDeleting } from '../../kube/finalizers.ts'
import {
  type Instance,
  isFinal,
  type Machine,
  type MachineStatus,
  phaseOf,
  type StartFailure,
  withCondition,
} from '../shapes.ts'
import { openRequests, runStrategyOf } from './strategy.ts'

const copied = ['Ready', 'LiveMigratable', 'Paused']

export function toStatus(machine: Machine, instance: Instance | undefined, now: string): MachineStatus {
  const before = machine.status ?? {}
  const ready = instance?.status?.conditions?.find(({ type }) => type === 'Ready')
  const others = (before.conditions ?? []).filter(({ type }) => !copied.includes(type) || type === 'Ready')
  const absent = { type: 'Ready', status: 'False', reason: 'VMINotExists', message: 'VMI does not exist' }
  const starting = {
    type: 'Ready',
    status: 'False',
    reason: 'GuestNotRunning',
    message: 'Guest VM is not reported as running',
  }
  const { type, status, reason, message } = instance === undefined ? absent : (ready ?? starting)
  const conditions = withCondition(
    others,
    { type, status, ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) },
    now,
  )
  const more = (instance?.status?.conditions ?? []).filter(one => copied.includes(one.type) && one.type !== 'Ready')
  const requests = openRequests(machine, instance)
  return {
    ...before,
    created: instance !== undefined,
    ready: ready?.status === 'True',
    printableStatus: printableStatus(machine, instance, now),
    runStrategy: runStrategyOf(machine),
    conditions: [...conditions, ...more],
    stateChangeRequests: requests.length > 0 ? requests : null,
    startFailure: startFailureOf(machine, instance, now) ?? null,
  }
}

function printableStatus(machine: Machine, instance: Instance | undefined, now: string): string {
  if (isDeleting(machine)) return 'Terminating'
  if (instance === undefined) {
    const retryAfter = machine.status?.startFailure?.retryAfterTimestamp
    const isHeldBack = retryAfter !== undefined && retryAfter > now && runStrategyOf(machine) !== 'Halted'
    return isHeldBack ? 'CrashLoopBackOff' : runStrategyOf(machine) === 'Always' ? 'Starting' : 'Stopped'
  }
  if (isFinal(instance)) return 'Stopped'
  if (isDeleting(instance)) return 'Stopping'
  if (phaseOf(instance) !== 'Running') return 'Starting'
  const state = instance.status?.migrationState
  return state !== undefined && state.completed !== true ? 'Migrating' : 'Running'
}

const retryMsMax = 300_000

/** An instance that failed before it ran is tried again later, and later still the next time. One that ran is tried at once. */
function startFailureOf(machine: Machine, instance: Instance | undefined, now: string): StartFailure | undefined {
  const before = machine.status?.startFailure ?? undefined
  if (instance === undefined) return before
  const hasRun = (instance.status?.phaseTransitionTimestamps ?? []).some(({ phase }) => phase === 'Running')
  if (hasRun) return undefined
  const { uid = '' } = instance.metadata
  if (phaseOf(instance) !== 'Failed' || before?.lastFailedVMIUID === uid) return before
  const count = (before?.consecutiveFailCount ?? 0) + 1
  const afterMs = Math.min(retryMsMax, 10_000 * count ** 2)
  const retryAfterTimestamp = `${new Date(Date.parse(now) + afterMs).toISOString().slice(0, 19)}Z`
  return { consecutiveFailCount: count, lastFailedVMIUID: uid, retryAfterTimestamp }
}
