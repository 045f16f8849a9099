// Pods and pod templates.

import type { Behaviour } from '../kinds/kind.ts'
import { clone, equal, type KubeObject } from '../object.ts'
import { type Fields, fill, items, part, text } from './fields.ts'
import { checkNewPod, checkPodChange, checkPodSpec, checkPodTemplate } from './pod-checks.ts'
import { defaultPod, defaultPodTemplate } from './pod-defaults.ts'
import { checkResize, keepBeyondResize } from './pod-resize.ts'
import { podWarnings } from './pod-warnings.ts'
import { systemPriorities } from './policies.ts'
import { qualityOfService } from './quality-of-service.ts'

const specText = (field: string) => (pod: KubeObject) => text(part(pod, 'spec')?.[field])
const statusText = (field: string) => (pod: KubeObject) => text(part(pod, 'status')?.[field])

export const pods: Behaviour = {
  applyDefaults: defaultPod,
  prepareForCreate(pod, { now }) {
    const spec = part(pod, 'spec')
    if (spec !== undefined) admitPod(spec)
    const status: Fields = { phase: 'Pending', qosClass: qualityOfService(spec) }
    if (items(spec?.schedulingGates).length > 0) {
      status.conditions = [
        {
          type: 'PodScheduled',
          status: 'False',
          reason: 'SchedulingGated',
          message: 'Scheduling is blocked due to non-empty scheduling gates',
          lastProbeTime: null,
          lastTransitionTime: `${now.toISOString().slice(0, 19)}Z`,
        },
      ]
    }
    pod.status = status
  },
  prepareForUpdate(pod, old) {
    pod.status = clone(old.status)
    const spec = part(pod, 'spec')
    if (spec === undefined) return
    for (const field of ['priority', 'preemptionPolicy']) fill(spec, field, part(old, 'spec')?.[field])
    tolerateFailingNodes(spec)
  },
  validate: pod => checkPodSpec(part(pod, 'spec') ?? {}, 'spec'),
  validateNew: pod => checkNewPod(part(pod, 'spec') ?? {}),
  validateUpdate: (pod, old) =>
    equal(pod.spec, old.spec) ? [] : checkPodChange(part(pod, 'spec') ?? {}, part(old, 'spec') ?? {}),
  resize: { prepare: keepBeyondResize, validate: checkResize },
  warnings: pod => podWarnings(pod),
  fields: {
    'spec.nodeName': specText('nodeName'),
    'spec.restartPolicy': specText('restartPolicy'),
    'spec.schedulerName': specText('schedulerName'),
    'spec.serviceAccountName': specText('serviceAccountName'),
    'spec.hostNetwork': pod => String(part(pod, 'spec')?.hostNetwork === true),
    'status.phase': statusText('phase'),
    'status.podIP': statusText('podIP'),
    'status.nominatedNodeName': statusText('nominatedNodeName'),
  },
  hasGeneration: true,
}

export const podTemplates: Behaviour = {
  applyDefaults: object => defaultPodTemplate(part(object, 'template')),
  validate: object => checkPodTemplate(part(object, 'template'), 'template'),
  warnings: object => podWarnings(part(object, 'template'), 'template'),
  hasGeneration: true,
}

/** A pod stays this long on a node that stopped answering before it is evicted. */
const unreachableSeconds = 300

/** What every cluster adds to a new pod: the default priority, and tolerations of failing nodes. */
function admitPod(spec: Fields): void {
  const className = text(spec.priorityClassName)
  const priority = className === '' ? 0 : systemPriorities.get(className)
  // Any other class is an object, which admission looks up (`admission/pods.ts`).
  if (priority !== undefined) {
    fill(spec, 'priority', priority)
    fill(spec, 'preemptionPolicy', 'PreemptLowerPriority')
  }
  tolerateFailingNodes(spec)
}

function tolerateFailingNodes(spec: Fields): void {
  const tolerations = items(spec.tolerations)
  for (const key of ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']) {
    if (tolerations.some(toleration => coversEviction(toleration, key))) continue
    tolerations.push({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: unreachableSeconds })
  }
  spec.tolerations = tolerations
}

function coversEviction(toleration: Fields, key: string): boolean {
  const isOfKey = text(toleration.key) === key || text(toleration.key) === ''
  return isOfKey && ['', 'NoExecute'].includes(text(toleration.effect))
}
