// How a few built-in kinds are deleted in a way of their own. Other objects go at once, or when their finalizers are
// gone.

import { toTimestamp } from '../metadata.ts'
import { isObject, type KubeObject } from '../object.ts'
import type { ServedKind } from './kind.ts'

export interface DeletionRule {
  /** Seconds the object is given to end by itself; `asked` is what the client wants. */
  readonly graceSeconds?: (object: KubeObject, asked: number | undefined) => number
  /** Something other than a finalizer keeps it from going. */
  readonly isHeldBack?: (object: KubeObject) => boolean
  /** What is written into the object when its deletion begins. */
  readonly begin?: (object: KubeObject, now: Date) => void
  /** The answer to a delete shows the object instead of a Status. */
  readonly showsDeleted?: boolean
  /** Never has dependants: no orphaning, no foreground deletion. */
  readonly hasNoDependants?: boolean
}

export const crdFinalizer = 'customresourcecleanup.apiextensions.k8s.io'

const shown: DeletionRule = { showsDeleted: true }

const rules: Record<string, DeletionRule> = {
  '/Pod': { showsDeleted: true, graceSeconds: podGrace },
  '/Namespace': {
    showsDeleted: true,
    isHeldBack: namespace => ((fieldsOf(namespace.spec).finalizers ?? []) as unknown[]).length > 0,
    begin: namespace => {
      namespace.status = { ...fieldsOf(namespace.status), phase: 'Terminating' }
    },
  },
  '/Service': shown,
  '/ServiceAccount': shown,
  '/PersistentVolume': shown,
  '/PersistentVolumeClaim': shown,
  '/ResourceQuota': shown,
  '/PodTemplate': shown,
  'storage.k8s.io/StorageClass': shown,
  '/Event': { hasNoDependants: true },
  'events.k8s.io/Event': { hasNoDependants: true },
  'apiextensions.k8s.io/CustomResourceDefinition': { begin: beginEndOfKind },
}

const none: DeletionRule = {}

export function deletionRule(kind: ServedKind): DeletionRule {
  if (kind.isCustom) return none
  return rules[`${kind.group}/${kind.kind}`] ?? none
}

/** A pod that runs somewhere is given the time it asked for; one that never ran, or has ended, is not. */
function podGrace(pod: KubeObject, asked: number | undefined): number {
  const spec = fieldsOf(pod.spec)
  const phase = fieldsOf(pod.status).phase
  if (!spec.nodeName || phase === 'Failed' || phase === 'Succeeded') return 0
  const seconds = asked ?? Number(spec.terminationGracePeriodSeconds ?? 30)
  return seconds < 0 ? 1 : seconds
}

/** The finalizer keeps the definition until its objects are gone. */
function beginEndOfKind(definition: KubeObject, now: Date): void {
  const finalizers = definition.metadata.finalizers ?? []
  if (!finalizers.includes(crdFinalizer)) definition.metadata.finalizers = [...finalizers, crdFinalizer]
  const status = fieldsOf(definition.status)
  const others = ((status.conditions ?? []) as unknown[]).filter(item => !isObject(item) || item.type !== 'Terminating')
  const terminating = {
    type: 'Terminating',
    status: 'True',
    lastTransitionTime: toTimestamp(now),
    reason: 'InstanceDeletionPending',
    message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  }
  definition.status = { ...status, conditions: [...others, terminating] }
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {}
}
