// When each pool was last written, so that a burst of claims is told in a few writes and the end of it always is. A change
// of the spec does not wait: whoever made it looks at the answer.

import type { KubeObject } from '../../../kube/object.ts'
import type { Clock } from '../../../runtime/clock.ts'

/** At most four writes a second for one pool. */
export const statusPeriodMs = 250

interface Said {
  readonly uid: string
  readonly generation: number
  readonly atMs: number
  readonly keepsConditions: boolean
}

export class Pace {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #said = new Map<string, Said>()

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** How long until the pool may be written again; 0 if now. */
  waitMs(key: string, object: KubeObject): number {
    const said = this.#saidOf(key, object)
    return said === undefined ? 0 : Math.max(0, said.atMs + statusPeriodMs - this.#clock.monotonicMs())
  }

  /** False where the server dropped the conditions when it was last told them: its definition does not know them. */
  keepsConditions(key: string, object: KubeObject): boolean {
    return this.#saidOf(key, object)?.keepsConditions ?? true
  }

  noteSaid(key: string, object: KubeObject, isPruned: boolean): void {
    const { uid = '', generation = 0 } = object.metadata
    const keepsConditions = !isPruned && this.keepsConditions(key, object)
    this.#said.set(key, { uid, generation, atMs: this.#clock.monotonicMs(), keepsConditions })
  }

  forget(key: string): void {
    this.#said.delete(key)
  }

  #saidOf(key: string, { metadata }: KubeObject): Said | undefined {
    const said = this.#said.get(key)
    const isOfThis = said?.uid === metadata.uid && said?.generation === (metadata.generation ?? 0)
    return isOfThis ? said : undefined
  }
}
