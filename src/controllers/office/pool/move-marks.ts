// clusterctl marks a pool that it moves, and deletes it in the next moment; under the mark no webhook refuses that. A pool that is
// marked and not deleted was left so by a move that was killed, or copied so by the one after it. The mark comes off, or its
// holders would be unguarded for good.

import { deleteForMoveAnnotation, pausedAnnotation } from '../../../api/names.ts'
import { isDeleting } from '../../../kube/finalizers.ts'
import type { KubeObject } from '../../../kube/object.ts'
import type { Clock } from '../../../runtime/clock.ts'

/** Long for the two requests of clusterctl; it marks again when it tries again. */
const markMsMax = 30_000

export class MoveMarks {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  /** By key and uid of the pool: when its mark was first seen. */
  readonly #seen = new Map<string, { readonly uid: string; readonly atMs: number }>()

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** How long until the mark of a pool is to come off; undefined where it has none, or is left alone. */
  msLeft(key: string, object: KubeObject): number | undefined {
    const { annotations = {}, uid = '' } = object.metadata
    if (!Object.hasOwn(annotations, deleteForMoveAnnotation) || isDeleting(object)) {
      this.forget(key)
      return undefined
    }
    if (Object.hasOwn(annotations, pausedAnnotation)) return undefined
    const nowMs = this.#clock.monotonicMs()
    const known = this.#seen.get(key)
    const seen = known?.uid === uid ? known : { uid, atMs: nowMs }
    this.#seen.set(key, seen)
    return Math.max(0, seen.atMs + markMsMax - nowMs)
  }

  forget(key: string): void {
    this.#seen.delete(key)
  }
}
