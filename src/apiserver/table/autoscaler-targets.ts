// What a HorizontalPodAutoscaler aims at, and where it is now: `cpu: 30%/80%`, two of them at most.

import type { KubeObject } from '../object.ts'
import { field, has, list, text } from './field.ts'

export function autoscalerTargets(autoscaler: KubeObject): string {
  const { wanted, current } = metricsOf(autoscaler)
  if (wanted.length === 0) return '<none>'
  const shown = wanted.slice(0, 2).map((metric, i) => describe(metric, current[i]))
  const more = wanted.length > 2 ? ` + ${wanted.length - 2} more...` : ''
  return `${shown.join(', ')}${more}`
}

/** Version v1 knows one metric only, and spells it otherwise. */
function metricsOf(autoscaler: KubeObject): { wanted: unknown[]; current: unknown[] } {
  const utilization = field(autoscaler, 'spec', 'targetCPUUtilizationPercentage')
  if (!has(utilization)) {
    return { wanted: list(autoscaler, 'spec', 'metrics'), current: list(autoscaler, 'status', 'currentMetrics') }
  }
  const now = field(autoscaler, 'status', 'currentCPUUtilizationPercentage')
  const wanted = { type: 'Resource', resource: { name: 'cpu', target: { averageUtilization: utilization } } }
  const current = has(now) ? [{ resource: { current: { averageUtilization: now } } }] : []
  return { wanted: [wanted], current }
}

const sources: Readonly<Record<string, string>> = {
  External: 'external',
  Pods: 'pods',
  Object: 'object',
  Resource: 'resource',
  ContainerResource: 'containerResource',
}

function describe(metric: unknown, status: unknown): string {
  const type = text(metric, 'type')
  const source = Object.hasOwn(sources, type) ? sources[type] : undefined
  if (source === undefined) return '<unknown type>'
  const target = field(metric, source, 'target')
  const current = field(status, source, 'current')
  const isResource = type === 'Resource' || type === 'ContainerResource'
  const prefix = isResource ? `${text(metric, source, 'name')}: ` : ''
  if (has(target, 'averageValue') || type === 'Pods') {
    const suffix = isResource || type === 'Pods' ? '' : ' (avg)'
    return `${prefix}${text(current, 'averageValue') || '<unknown>'}/${text(target, 'averageValue')}${suffix}`
  }
  if (!isResource) return `${text(current, 'value') || '<unknown>'}/${text(target, 'value')}`
  const percent = (value: string, absent: string) => (value === '' ? absent : `${value}%`)
  const now = percent(text(current, 'averageUtilization'), '<unknown>')
  return `${prefix}${now}/${percent(text(target, 'averageUtilization'), '<auto>')}`
}
