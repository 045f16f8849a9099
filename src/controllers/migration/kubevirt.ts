// What the KubeVirt object says: over which network migrations go, and whether all of KubeVirt runs as it is written there. Pure.
//
// While virt-operator rolls out a change it goes on saying Available, with another reason; and until it has noticed the change it says
// nothing at all. So three things together mean "ready": the condition, its reason, and the generation that it was said of.

import { isRecord } from '../../api/shape.ts'
import type { KubeObject } from '../../kube/object.ts'

export interface KubeVirt {
  readonly namespace: string
  readonly name: string
  /** Name of a NetworkAttachmentDefinition of its namespace; empty for the management network. */
  readonly network: string
  /** Undefined where all components run as the object says. */
  readonly whyNotReady: string | undefined
  readonly object: KubeObject
}

const readyReason = 'AllComponentsReady'

export function readKubeVirt(object: KubeObject): KubeVirt {
  const { metadata, spec, status } = object as KubeObject & { readonly spec?: unknown; readonly status?: unknown }
  const network = inside(spec, 'configuration', 'migrations', 'network')
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    network: typeof network === 'string' ? network : '',
    whyNotReady: whyNotReady(metadata, status),
    object,
  }
}

function whyNotReady({ generation }: KubeObject['metadata'], status: unknown): string | undefined {
  const conditions = inside(status, 'conditions')
  const available = (Array.isArray(conditions) ? conditions : []).find(one => isRecord(one) && one.type === 'Available')
  if (!isRecord(available)) return 'it does not say whether it is available'
  if (available.status !== 'True' || available.reason !== readyReason) {
    return `it is ${available.status === 'True' ? 'available' : 'not available'}, with reason ${textOf(available.reason)}`
  }
  const observed = inside(status, 'observedGeneration')
  if (observed === generation) return undefined
  return `its operator has not taken in the last change yet (generation ${generation}, observed ${textOf(observed)})`
}

const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, 64) : 'none'

/** There is one in a cluster; of several, the oldest is the one that works. */
export function theKubeVirt(objects: Iterable<KubeObject>): KubeVirt | undefined {
  const order = ({ metadata }: KubeObject) => `${metadata.creationTimestamp} ${metadata.namespace}/${metadata.name}`
  const [first] = [...objects].toSorted((one, other) => (order(one) < order(other) ? -1 : 1))
  return first && readKubeVirt(first)
}

function inside(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((at, field) => (isRecord(at) && Object.hasOwn(at, field) ? at[field] : undefined), value)
}
