// Which pod runs a virtual machine now. During a live migration there are two: the source until the target is ready, then the
// target; after a migration that failed, the source again. Pure.

import type { LauncherPod } from '../../../api/launcher-pod.ts'
import type { VirtualMachineInstance } from '../../../api/virtual-machine.ts'

export interface Holder {
  /** Name of the pod that runs the machine; undefined while none does. */
  readonly pod: string | undefined
  /** During a live migration. */
  readonly migration: { readonly source: string; readonly target: string } | undefined
}

export const noHolder: Holder = { pod: undefined, migration: undefined }

type Pod = Pick<LauncherPod, 'metadata' | 'nodeName' | 'isCompleted' | 'isTargetReady'>

/**
 * `pods`: all launcher pods of one instance, in any order. A target stays labelled as one when it has become the source of the
 * next migration, so pods are told apart by age, not by that label.
 */
export function holderOf(pods: readonly Pod[], vmi: Pick<VirtualMachineInstance, 'nodeName'> | undefined): Holder {
  const living = pods.filter(({ isCompleted }) => !isCompleted).sort(byAge)
  const runner = runnerOf(living, vmi?.nodeName ?? '')
  const newest = living.at(-1)
  if (runner === undefined || newest === undefined) return noHolder
  if (living.length === 1) return { pod: runner.metadata.name, migration: undefined }
  const source = runner === newest ? runnerOf(living.slice(0, -1), '') : runner
  const names = { source: source?.metadata.name ?? '', target: newest.metadata.name }
  return { pod: runner.metadata.name, migration: names }
}

/** The oldest, or the newest of those that the machine has moved to. */
function runnerOf(living: readonly Pod[], nodeName: string): Pod | undefined {
  const [first, ...later] = living
  const isOnlyOneThere = living.filter(pod => pod.nodeName === nodeName).length === 1
  const hasMoved = (pod: Pod) => pod.isTargetReady || (nodeName !== '' && isOnlyOneThere && pod.nodeName === nodeName)
  return later.findLast(hasMoved) ?? first
}

function byAge({ metadata: one }: Pod, { metadata: other }: Pod): number {
  if (one.creationTimestamp !== other.creationTimestamp) return one.creationTimestamp < other.creationTimestamp ? -1 : 1
  return one.name < other.name ? -1 : 1
}
