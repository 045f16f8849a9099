// 1,024 neighbouring numbers, each free or taken with a tag. Few are kept as a short list, so that numbers scattered over a
// vast range cost some hundred bytes each; many as a word for each, so that numbers side by side cost about four bytes.

import { clearBit, firstClear, setBit } from './marks.ts'

export const chunkBits = 10
export const chunkSize = 1 << chunkBits
export const chunkMask = chunkSize - 1

/** Up to here a list is shorter than a word for every number, by far, and as quick to look through. */
const fewMax = 32
const tagSpan = 2 ** 32
const none = new Uint32Array(0)

export class Chunk {
  #taken = 0
  #odd = 0
  /** Offset * 2^32 + tag, ascending; undefined once there are too many. */
  #few: number[] | undefined = []
  #tags: Uint32Array = none
  /** Which are taken, as bits. */
  #bits: Uint32Array = none
  /** All below are taken: where a search may begin. Not all at or above need be free. */
  #open = 0

  get taken(): number {
    return this.#taken
  }

  /** How many have an odd tag. */
  get odd(): number {
    return this.#odd
  }

  tagOf(offset: number): number {
    if (this.#few === undefined) return this.#tags[offset] ?? 0
    const entry = this.#few[placeIn(this.#few, offset)]
    return entry !== undefined && offsetOf(entry) === offset ? entry % tagSpan : 0
  }

  /** 0 frees the number. Answers the tag it had. */
  setTag(offset: number, tag: number): number {
    const before = this.tagOf(offset)
    if (before === tag) return before
    this.#odd += (tag & 1) - (before & 1)
    this.#taken += (tag === 0 ? 0 : 1) - (before === 0 ? 0 : 1)
    if (this.#few !== undefined && this.#taken > fewMax) this.#spread(this.#few)
    if (this.#few === undefined) this.#write(offset, tag)
    else replaceIn(this.#few, offset, before, tag)
    return before
  }

  /** The first free one from `from` on, or -1. */
  nextFree(from: number): number {
    if (this.#few === undefined) return firstClear(this.#bits, Math.max(from, this.#open))
    let free = from
    for (const entry of this.#few) if (offsetOf(entry) === free) free++
    return free < chunkSize ? free : -1
  }

  /** Calls back for every number from `low` to `high` that is taken. */
  each(low: number, high: number, visit: (tag: number, offset: number) => void): void {
    for (const entry of this.#few ?? []) {
      const offset = offsetOf(entry)
      if (offset >= low && offset <= high) visit(entry % tagSpan, offset)
    }
    if (this.#few !== undefined) return
    for (let offset = low; offset <= high; offset++) {
      const tag = this.#tags[offset] ?? 0
      if (tag !== 0) visit(tag, offset)
    }
  }

  #spread(few: readonly number[]): void {
    this.#few = undefined
    this.#tags = new Uint32Array(chunkSize)
    this.#bits = new Uint32Array(chunkSize / 32)
    for (const entry of few) this.#write(offsetOf(entry), entry % tagSpan)
  }

  #write(offset: number, tag: number): void {
    this.#tags[offset] = tag
    if (tag === 0) {
      clearBit(this.#bits, offset)
      if (offset < this.#open) this.#open = offset
    } else {
      setBit(this.#bits, offset)
      if (offset === this.#open) this.#open++
    }
  }
}

const offsetOf = (entry: number): number => Math.floor(entry / tagSpan)

/** Where the offset stands or would stand. Looked for from the end: most are taken in ascending order. */
function placeIn(few: readonly number[], offset: number): number {
  let place = few.length
  while (place > 0 && (few[place - 1] ?? 0) >= offset * tagSpan) place--
  return place
}

function replaceIn(few: number[], offset: number, before: number, tag: number): void {
  const place = placeIn(few, offset)
  if (place === few.length) few.push(offset * tagSpan + tag)
  else if (tag === 0) few.splice(place, 1)
  else few.splice(place, before === 0 ? 0 : 1, offset * tagSpan + tag)
}
