// When the status of each pool was last written, so that a burst of claims takes a few writes, and its end is always written. A
// change of the spec does not wait: its author looks at the status.

import type { KubeObject } from '../../../kube/object.ts'
import type { Clock } from '../../../runtime/clock.ts'

/** At most four writes a second for one pool. */
export const statusPeriodMs = 250

interface Written {
  readonly uid: string
  readonly generation: number
  readonly atMs: number
  readonly keepsConditions: boolean
}

export class Pace {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #written = new Map<string, Written>()

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** How long until the pool may be written again; 0 if now. */
  waitMs(key: string, object: KubeObject): number {
    const written = this.#writtenOf(key, object)
    return written === undefined ? 0 : Math.max(0, written.atMs + statusPeriodMs - this.#clock.monotonicMs())
  }

  /** False where the server dropped the conditions of the last write: its definition does not have them. */
  keepsConditions(key: string, object: KubeObject): boolean {
    return this.#writtenOf(key, object)?.keepsConditions ?? true
  }

  noteWritten(key: string, object: KubeObject, isPruned: boolean): void {
    const { uid = '', generation = 0 } = object.metadata
    const keepsConditions = !isPruned && this.keepsConditions(key, object)
    this.#written.set(key, { uid, generation, atMs: this.#clock.monotonicMs(), keepsConditions })
  }

  forget(key: string): void {
    this.#written.delete(key)
  }

  #writtenOf(key: string, { metadata }: KubeObject): Written | undefined {
    const written = this.#written.get(key)
    const isOfThis = written?.uid === metadata.uid && written?.generation === (metadata.generation ?? 0)
    return isOfThis ? written : undefined
  }
}
