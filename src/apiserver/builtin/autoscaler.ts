// Autoscalers, in two versions of one stored form: the newer version has a list of metrics where the older one has a
// single number. What the older version cannot express is kept in annotations, so that its clients lose nothing.

import { clone, isObject, type KubeObject } from '../object.ts'
import { type Fields, items, part, text } from './fields.ts'

const metricsNote = 'autoscaling.alpha.kubernetes.io/metrics'
const currentMetricsNote = 'autoscaling.alpha.kubernetes.io/current-metrics'
const conditionsNote = 'autoscaling.alpha.kubernetes.io/conditions'
const behaviorNote = 'autoscaling.alpha.kubernetes.io/behavior'
const notes = [metricsNote, currentMetricsNote, conditionsNote, behaviorNote]

const defaultCPU = 80

export function toOldAutoscaler(object: KubeObject): KubeObject {
  const old = withoutNotes(object, 'autoscaling/v1')
  const spec = part(old, 'spec')
  const status = part(old, 'status')
  const metrics = items(spec?.metrics)
  const cpu = metrics.find(isCPU)
  const rest = metrics.filter(metric => !isCPU(metric))
  if (spec !== undefined) {
    if (cpu !== undefined) spec.targetCPUUtilizationPercentage = part(cpu, 'resource', 'target')?.averageUtilization
    note(old, metricsNote, rest.length > 0 ? rest : undefined)
    note(old, behaviorNote, spec.behavior)
    delete spec.metrics
    delete spec.behavior
  }
  if (status !== undefined) {
    const current = items(status.currentMetrics)
    const used = current.find(metric => part(metric, 'resource')?.name === 'cpu')
    const utilization = part(used, 'resource', 'current')?.averageUtilization
    if (utilization !== undefined) status.currentCPUUtilizationPercentage = utilization
    note(old, currentMetricsNote, current.length > 0 ? current : undefined)
    note(old, conditionsNote, items(status.conditions).length > 0 ? status.conditions : undefined)
    delete status.currentMetrics
    delete status.conditions
    status.currentReplicas ??= 0
    status.desiredReplicas ??= 0
  }
  return old
}

export function toNewAutoscaler(object: KubeObject): KubeObject {
  const newer = withoutNotes(object, 'autoscaling/v2')
  const written = object.metadata.annotations ?? {}
  const spec = part(newer, 'spec')
  const status = part(newer, 'status')
  if (spec !== undefined) {
    const asked = spec.targetCPUUtilizationPercentage
    const others = items(readNote(written[metricsNote]))
    const own = typeof asked === 'number' ? [cpuMetric(asked)] : []
    spec.metrics = others.length + own.length === 0 ? [cpuMetric(defaultCPU)] : [...others, ...own]
    delete spec.targetCPUUtilizationPercentage
    const behavior = readNote(written[behaviorNote])
    if (isObject(behavior)) spec.behavior = behavior
  }
  if (status !== undefined) {
    delete status.currentCPUUtilizationPercentage
    if (status.currentReplicas === 0) delete status.currentReplicas
    const current = items(readNote(written[currentMetricsNote]))
    status.currentMetrics = current.length > 0 ? current : null
    const conditions = items(readNote(written[conditionsNote]))
    if (conditions.length > 0) status.conditions = conditions
  }
  return newer
}

function isCPU(metric: Fields): boolean {
  const resource = part(metric, 'resource')
  const utilization = part(resource, 'target')?.averageUtilization
  return metric.type === 'Resource' && text(resource?.name) === 'cpu' && typeof utilization === 'number'
}

function cpuMetric(averageUtilization: number): Fields {
  return { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } } }
}

function withoutNotes(object: KubeObject, apiVersion: string): KubeObject {
  const copy: KubeObject = { ...clone(object), apiVersion }
  const { annotations } = copy.metadata
  if (annotations === undefined) return copy
  for (const name of notes) delete annotations[name]
  if (Object.keys(annotations).length === 0) delete copy.metadata.annotations
  return copy
}

function note(object: KubeObject, name: string, value: unknown): void {
  if (value === undefined || value === null) return
  object.metadata.annotations = { ...object.metadata.annotations, [name]: JSON.stringify(value) }
}

function readNote(written: string | undefined): unknown {
  if (written === undefined) return undefined
  try {
    return JSON.parse(written)
  } catch {
    // Any client can write an annotation; one that cannot be parsed is ignored.
    return undefined
  }
}
