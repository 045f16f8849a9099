// The first free number of many ranges. A pool may list ten thousand of them, all full but the last, and a search must not
// look into each: ranges that were found full are marked, and stepped over. A number that is freed unmarks its range, not
// at once but when that pool is next searched, so a release costs the same however many pools share the space.
//
//   a search      marks what it finds full: each range once, until something in it is freed
//   a release     is noted, in order
//   next search   reads what was noted since its last one, and unmarks; a search that missed too much starts without marks
//
// Ranges are known by the object that holds their ends: a pool that changes has new ends, and the marks of the old ones go
// with them.

import { releasesRememberedMax } from '../limits.ts'
import { Marks } from './marks.ts'
import type { Ends } from './pool-set.ts'
import type { TaggedNumbers } from './tagged-numbers.ts'

interface Known {
  readonly full: Marks
  /** How many releases had been noted when it was last looked at. */
  readUpTo: number
}

export class RangeSearch<N extends number | bigint> {
  readonly #numbers: Pick<TaggedNumbers<N>, 'nextFree'>
  #known = new WeakMap<Ends<N>, Known>()
  #isAsked = false
  /** The latest releases, and how many came before them. */
  #freed: N[] = []
  #freedBefore = 0

  constructor(numbers: Pick<TaggedNumbers<N>, 'nextFree'>) {
    this.#numbers = numbers
  }

  noteFreed(n: N): void {
    if (!this.#isAsked) return
    this.#freed.push(n)
    if (this.#freed.length <= releasesRememberedMax) return
    this.#freedBefore += this.#freed.length
    this.#freed = []
  }

  /** From a place in one of the ranges on, or from its start. */
  nextFree(ends: Ends<N>, index: number, from: N | undefined): N | undefined {
    const { firsts, lasts } = ends
    // Nearly all pools: nothing to step over.
    if (firsts.length === 1) return this.#searchOne(from ?? firsts[0], lasts[0])
    const full = this.#fullOf(ends)
    let start = from
    for (let i = index; ; i++) {
      const open = full.nextOpen(i)
      if (open >= firsts.length) return undefined
      if (open !== i) start = undefined
      const free = this.#searchOne(start ?? firsts[open], lasts[open])
      if (free !== undefined) return free
      if (start === undefined) full.add(open)
      start = undefined
      i = open
    }
  }

  #searchOne(first: N | undefined, last: N | undefined): N | undefined {
    if (first === undefined || last === undefined) return undefined
    return this.#numbers.nextFree(first, last)
  }

  #fullOf(ends: Ends<N>): Marks {
    const known = this.#known.get(ends)
    const readUpTo = this.#freedBefore + this.#freed.length
    if (known === undefined || known.readUpTo < this.#freedBefore) {
      const fresh = { full: new Marks(), readUpTo }
      this.#known.set(ends, fresh)
      this.#isAsked = true
      return fresh.full
    }
    for (let i = known.readUpTo - this.#freedBefore; i < this.#freed.length; i++) {
      const n = this.#freed[i]
      if (n !== undefined) known.full.delete(rangeAtOrAfter(ends, n))
    }
    known.readUpTo = readUpTo
    return known.full
  }
}

/** The range the number lies in, else the one after it: to look into one range too many does no harm. */
function rangeAtOrAfter<N extends number | bigint>({ lasts }: Ends<N>, n: N): number {
  let low = 0
  let high = lasts.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const last = lasts[middle]
    if (last !== undefined && last < n) low = middle + 1
    else high = middle
  }
  return low
}
