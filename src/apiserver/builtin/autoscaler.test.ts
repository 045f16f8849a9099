import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../object.ts'
import { toNewAutoscaler, toOldAutoscaler } from './autoscaler.ts'

const cpu = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 60 } } }
const memory = { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } } }

function autoscaler(apiVersion: string, spec: Record<string, unknown>): KubeObject {
  return {
    kind: 'HorizontalPodAutoscaler',
    apiVersion,
    metadata: { name: 'web', annotations: { mine: 'kept' } },
    spec: { maxReplicas: 5, scaleTargetRef: { kind: 'Deployment', name: 'web' }, ...spec },
    status: { desiredReplicas: 0, currentMetrics: null },
  }
}

describe('an autoscaler of the newer version', () => {
  test('shows its target of processor time as a number in the older one', () => {
    const old = toOldAutoscaler(autoscaler('autoscaling/v2', { metrics: [cpu] }))
    expect(old.apiVersion).toBe('autoscaling/v1')
    expect(old.spec).toEqual({
      maxReplicas: 5,
      scaleTargetRef: { kind: 'Deployment', name: 'web' },
      targetCPUUtilizationPercentage: 60,
    })
    expect(old.status).toEqual({ currentReplicas: 0, desiredReplicas: 0 })
    expect(old.metadata.annotations).toEqual({ mine: 'kept' })
  })

  test.each([
    ['one metric', { metrics: [cpu] }],
    ['other metrics', { metrics: [memory, cpu] }],
    ['no processor time', { metrics: [memory] }],
    ['a behaviour', { metrics: [cpu], behavior: { scaleDown: { stabilizationWindowSeconds: 5 } } }],
  ])('comes back unchanged from the older one: %s', (_, spec) => {
    const object = autoscaler('autoscaling/v2', spec)
    expect(toNewAutoscaler(toOldAutoscaler(object))).toEqual(object)
  })
})

test('an autoscaler of the older version that names no target gets the default one', () => {
  expect(toNewAutoscaler(autoscaler('autoscaling/v1', {})).spec).toMatchObject({
    metrics: [{ resource: { name: 'cpu', target: { averageUtilization: 80 } } }],
  })
})

test('an annotation that is not JSON says nothing', () => {
  const object = autoscaler('autoscaling/v1', { targetCPUUtilizationPercentage: 60 })
  object.metadata.annotations = { 'autoscaling.alpha.kubernetes.io/metrics': '{' }
  expect(toNewAutoscaler(object).spec).toMatchObject({ metrics: [cpu] })
})
