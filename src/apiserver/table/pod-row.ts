// A pod in one line. Its status is the most telling reason any of its containers gives, so that users see
// `CrashLoopBackOff` or `Init:1/2` and not just `Running` or `Pending`.

import type { KubeObject } from '../object.ts'
import type { Cell, RowCondition } from './builtin-columns.ts'
import { since } from './duration.ts'
import { count, field, has, isTrue, list, text } from './field.ts'

export function podCells(pod: KubeObject, now: Date): Cell[] {
  const summary = summarize(pod)
  const restarts =
    summary.restarts > 0 && summary.lastRestart !== ''
      ? `${summary.restarts} (${since(summary.lastRestart, now)} ago)`
      : String(summary.restarts)
  return [
    pod.metadata.name ?? '',
    `${summary.ready}/${summary.total}`,
    summary.reason,
    restarts,
    since(pod.metadata.creationTimestamp, now),
    text(list(pod, 'status', 'podIPs')[0], 'ip') || '<none>',
    text(pod, 'spec', 'nodeName') || '<none>',
    text(pod, 'status', 'nominatedNodeName') || '<none>',
    readinessGates(pod),
  ]
}

export function podConditions(pod: KubeObject): RowCondition[] | undefined {
  const phase = text(pod, 'status', 'phase')
  if (phase === 'Succeeded') return [completed(phase, 'The pod has completed successfully.')]
  if (phase === 'Failed') return [completed(phase, 'The pod failed.')]
  return undefined
}

const completed = (reason: string, message: string): RowCondition => ({
  type: 'Completed',
  status: 'True',
  reason,
  message,
})

interface Summary {
  ready: number
  total: number
  reason: string
  restarts: number
  lastRestart: string
}

function summarize(pod: KubeObject): Summary {
  const status = field(pod, 'status')
  const conditions = list(status, 'conditions')
  const phase = text(status, 'phase')
  const sidecars = new Set(
    list(pod, 'spec', 'initContainers')
      .filter(container => text(container, 'restartPolicy') === 'Always')
      .map(container => text(container, 'name')),
  )
  const isGated = conditions.some(c => text(c, 'type') === 'PodScheduled' && text(c, 'reason') === 'SchedulingGated')
  const init = summarizeInit(pod, sidecars)
  const summary: Summary = {
    ready: init.ready,
    total: list(pod, 'spec', 'containers').length + sidecars.size,
    reason: init.reason ?? (isGated ? 'SchedulingGated' : text(status, 'reason') || phase),
    restarts: init.restarts,
    lastRestart: init.lastRestart,
  }
  if (init.reason === undefined || isConditionTrue(conditions, 'Initialized')) {
    summarizeRunning(list(status, 'containerStatuses'), conditions, summary, init)
  }
  if (!has(pod, 'metadata', 'deletionTimestamp')) return summary
  if (text(status, 'reason') === 'NodeLost') summary.reason = 'Unknown'
  else if (phase !== 'Failed' && phase !== 'Succeeded') summary.reason = 'Terminating'
  return summary
}

interface InitSummary {
  /** Why initialisation is not over; undefined when it is. */
  reason: string | undefined
  ready: number
  restarts: number
  lastRestart: string
  sidecarRestarts: number
  lastSidecarRestart: string
}

function summarizeInit(pod: KubeObject, sidecars: ReadonlySet<string>): InitSummary {
  const summary: InitSummary = {
    reason: undefined,
    ready: 0,
    restarts: 0,
    lastRestart: '',
    sidecarRestarts: 0,
    lastSidecarRestart: '',
  }
  const wanted = list(pod, 'spec', 'initContainers').length
  for (const [i, container] of list(pod, 'status', 'initContainerStatuses').entries()) {
    const isSidecar = sidecars.has(text(container, 'name'))
    const restarts = Number(count(container, 'restartCount'))
    const ended = text(container, 'lastState', 'terminated', 'finishedAt')
    summary.restarts += restarts
    summary.lastRestart = later(summary.lastRestart, ended)
    if (isSidecar) {
      summary.sidecarRestarts += restarts
      summary.lastSidecarRestart = later(summary.lastSidecarRestart, ended)
    }
    const terminated = field(container, 'state', 'terminated')
    const waiting = text(container, 'state', 'waiting', 'reason')
    if (has(terminated) && Number(count(terminated, 'exitCode')) === 0) continue
    if (isSidecar && isTrue(container, 'started')) {
      if (isTrue(container, 'ready')) summary.ready++
      continue
    }
    if (has(terminated)) summary.reason = `Init:${terminationReason(terminated)}`
    else if (waiting !== '' && waiting !== 'PodInitializing') summary.reason = `Init:${waiting}`
    else summary.reason = `Init:${i}/${wanted}`
    return summary
  }
  return summary
}

function summarizeRunning(
  statuses: readonly unknown[],
  conditions: readonly unknown[],
  summary: Summary,
  init: InitSummary,
): void {
  summary.restarts = init.sidecarRestarts
  summary.lastRestart = init.lastSidecarRestart
  let hasRunning = false
  let failure = ''
  // From the last container to the first, so that the first one's reason wins.
  for (const container of [...statuses].reverse()) {
    summary.restarts += Number(count(container, 'restartCount'))
    summary.lastRestart = later(summary.lastRestart, text(container, 'lastState', 'terminated', 'finishedAt'))
    const waiting = text(container, 'state', 'waiting', 'reason')
    const terminated = field(container, 'state', 'terminated')
    if (waiting !== '') summary.reason = waiting
    else if (has(terminated)) {
      summary.reason = terminationReason(terminated)
      if (Number(count(terminated, 'exitCode')) !== 0) failure = summary.reason
    } else if (isTrue(container, 'ready') && has(container, 'state', 'running')) {
      hasRunning = true
      summary.ready++
    }
  }
  if (summary.reason !== 'Completed') return
  if (hasRunning && isConditionTrue(conditions, 'Ready')) summary.reason = 'Running'
  else if (failure !== '') summary.reason = failure
  else if (hasRunning) summary.reason = 'NotReady'
}

function terminationReason(terminated: unknown): string {
  const reason = text(terminated, 'reason')
  if (reason !== '') return reason
  const signal = text(terminated, 'signal')
  return signal !== '' && signal !== '0' ? `Signal:${signal}` : `ExitCode:${count(terminated, 'exitCode')}`
}

function readinessGates(pod: KubeObject): string {
  const gates = list(pod, 'spec', 'readinessGates')
  if (gates.length === 0) return '<none>'
  const conditions = list(pod, 'status', 'conditions')
  const open = gates.filter(gate => isConditionTrue(conditions, text(gate, 'conditionType')))
  return `${open.length}/${gates.length}`
}

function isConditionTrue(conditions: readonly unknown[], type: string): boolean {
  return (
    text(
      conditions.find(condition => text(condition, 'type') === type),
      'status',
    ) === 'True'
  )
}

/** Timestamps of one format and zone sort as text. */
function later(a: string, b: string): string {
  return a > b ? a : b
}
