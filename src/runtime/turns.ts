// Groups that take turns: one item of each group, then the next of each; first in, first out within one. A group may have groups
// of its own, which take turns within its turn: a namespace does not get more turns by spreading its claims over more pools.

import { Fifo } from './fifo.ts'

export class Turns<T> {
  readonly #groups = new Map<string, Turns<T> | Fifo<T>>()
  /** Those that have items, in the order of their turns. */
  readonly #order = new Fifo<string>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** `path` names the group, the outermost first. */
  push(item: T, path: readonly string[], depth = 0): void {
    const name = path[depth] ?? ''
    let group = this.#groups.get(name)
    if (group === undefined) {
      group = depth + 1 < path.length ? new Turns<T>() : new Fifo<T>()
      this.#groups.set(name, group)
      this.#order.push(name)
    }
    if (group instanceof Turns) group.push(item, path, depth + 1)
    else group.push(item)
    this.#size++
  }

  shift(): T | undefined {
    const name = this.#order.shift()
    if (name === undefined) return undefined
    const group = this.#groups.get(name)
    const item = group?.shift()
    if (group !== undefined && group.size > 0) this.#order.push(name)
    else this.#groups.delete(name)
    this.#size--
    return item
  }
}
