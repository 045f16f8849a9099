// Objects and what a real kube-apiserver made of them; read by the tests, written by `scripts/builtin-types/record.ts`.

import type { KubeObject } from '../../src/apiserver/object.ts'

export interface RealSample {
  readonly name: string
  readonly object: KubeObject
  /** An update instead of a create: paths (`spec/replicas`) and their new values, null removes. */
  readonly change?: Readonly<Record<string, unknown>>
  /** What the update started from. */
  readonly stored?: KubeObject
  readonly answer?: unknown
}

export function setPath(object: object, path: string, value: unknown): void {
  const steps = path.split('/')
  const last = steps.pop() ?? ''
  let at = object as Record<string, unknown>
  for (const step of steps) {
    at[step] ??= {}
    at = at[step] as Record<string, unknown>
  }
  if (value === null) delete at[last]
  else at[last] = value
}

const drawn = ['uid', 'creationTimestamp', 'resourceVersion', 'managedFields', 'deletionTimestamp'] as const

/** An answer without what differs from run to run, and without what only a controller could ever take away again. */
export function toComparable(answer: KubeObject): unknown {
  // After the first line, refusals of Go servers may show a comparison of Go structs.
  if (answer.kind === 'Status') return String(answer.message).split('\n')[0]
  const { uid } = answer.metadata
  const copy = structuredClone(answer)
  for (const field of drawn) delete copy.metadata[field]
  if (copy.kind.startsWith('PersistentVolume')) delete copy.metadata.finalizers
  if (copy.kind === 'Node') delete (copy.spec as Record<string, unknown>).taints
  const text = JSON.stringify(copy)
    .replace(/10\.96\.\d+\.\d+/g, '10.96.0.9')
    .replace(/"(last(?:Phase)?TransitionTime)":"[^"]*"/g, '"$1":"2026-01-01T00:00:00Z"')
  return JSON.parse(uid ? text.replaceAll(uid, 'the-uid') : text)
}
