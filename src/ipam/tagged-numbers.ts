// Which numbers are taken, each with a small tag, and what the next free one is. This is the heart of the ledger's speed:
// a search looks at a handful of words whether a thousand or a billion numbers are taken, and what is not taken costs
// nothing, so a range is as cheap as its ends.
//
// Numbers of up to 32 bits live in chunks of 1,024, made when the first of them is taken. A chunk that is full is marked,
// and a search steps over it, and over a thousand of them, without looking inside. Wider numbers (IPv6) are a sparse map
// from their upper bits to such a structure for their lower 32; one that is alone among its 2^32 neighbours is kept as
// it is.

import { Chunk, chunkBits, chunkMask, chunkSize } from './chunk.ts'
import { Marks } from './marks.ts'

/** Numbers are `number` up to 32 bits and `bigint` beyond. */
export interface TaggedNumbers<N extends number | bigint> {
  /** How many are taken. */
  readonly size: number
  /** 0 where the number is free. */
  tagOf(n: N): number
  /** 0 frees the number. Answers the tag it had. */
  setTag(n: N, tag: number): number
  /** The lowest free number from `from` to `last`, both included. */
  nextFree(from: N, last: N): N | undefined
  /** How many from `first` to `last` are taken, and how many of those have an odd tag. */
  countTaken(first: N, last: N): Count
  /** Calls back for every number from `first` to `last` that is taken, in no order. */
  eachTaken(first: N, last: N, visit: (tag: number, n: N) => void): void
}

export interface Count {
  readonly taken: number
  readonly odd: number
}

/** Is shown a part, the first and last number in it that are meant, and where the part starts. */
type VisitPart<Part, N> = (part: Part, low: number, high: number, start: N) => void

const numberMax = 2 ** 32 - 1

export class NarrowNumbers implements TaggedNumbers<number> {
  readonly #chunks = new Map<number, Chunk>()
  readonly #full = new Marks()
  // Neighbouring numbers are asked for one after the other, so the last chunk is mostly the next one too.
  #lastKey = -1
  #lastChunk: Chunk | undefined
  // A pool is searched from its start again and again: from there up to here all are taken.
  #searchedFrom = -1
  #takenUpTo = -1
  #size = 0

  get size(): number {
    return this.#size
  }

  /** How many chunks there are: what memory grows with. */
  get chunks(): number {
    return this.#chunks.size
  }

  tagOf(n: number): number {
    return this.#chunkAt(n >>> chunkBits)?.tagOf(n & chunkMask) ?? 0
  }

  setTag(n: number, tag: number): number {
    const key = n >>> chunkBits
    const known = this.#chunkAt(key)
    if (known === undefined && tag === 0) return 0
    const chunk = known ?? this.#addChunk(key)
    const takenBefore = chunk.taken
    const before = chunk.setTag(n & chunkMask, tag)
    if (chunk.taken === takenBefore) return before
    this.#size += chunk.taken - takenBefore
    if (tag === 0 && n < this.#takenUpTo && n >= this.#searchedFrom) this.#takenUpTo = n
    if (chunk.taken === chunkSize) this.#full.add(key)
    else if (takenBefore === chunkSize) this.#full.delete(key)
    else if (chunk.taken === 0) this.#dropChunk(key)
    return before
  }

  nextFree(from: number, last: number): number | undefined {
    let at = from === this.#searchedFrom ? this.#takenUpTo : from
    while (at <= last) {
      const key = at >>> chunkBits
      const chunk = this.#chunkAt(key)
      const offset = chunk === undefined ? at & chunkMask : chunk.nextFree(at & chunkMask)
      if (offset !== -1) {
        const free = key * chunkSize + offset
        this.#searchedFrom = from
        this.#takenUpTo = free
        return free <= last ? free : undefined
      }
      at = this.#full.nextOpen(key + 1) * chunkSize
    }
    return undefined
  }

  countTaken(first: number, last: number): Count {
    let taken = 0
    let odd = 0
    this.#eachChunk(first, last, (chunk, low, high) => {
      if (low === 0 && high === chunkMask) {
        taken += chunk.taken
        odd += chunk.odd
        return
      }
      chunk.each(low, high, tag => {
        taken++
        odd += tag & 1
      })
    })
    return { taken, odd }
  }

  eachTaken(first: number, last: number, visit: (tag: number, n: number) => void): void {
    this.#eachChunk(first, last, (chunk, low, high, start) =>
      chunk.each(low, high, (tag, offset) => visit(tag, start + offset)),
    )
  }

  /** Walks the chunks there are or the chunks there could be, whichever are fewer. */
  #eachChunk(first: number, last: number, visit: VisitPart<Chunk, number>): void {
    const firstKey = first >>> chunkBits
    const lastKey = last >>> chunkBits
    const visitAt = (key: number, chunk: Chunk): void =>
      visit(
        chunk,
        key === firstKey ? first & chunkMask : 0,
        key === lastKey ? last & chunkMask : chunkMask,
        key * chunkSize,
      )
    if (lastKey - firstKey < this.#chunks.size) {
      for (let key = firstKey; key <= lastKey; key++) {
        const chunk = this.#chunks.get(key)
        if (chunk !== undefined) visitAt(key, chunk)
      }
      return
    }
    for (const [key, chunk] of this.#chunks) if (key >= firstKey && key <= lastKey) visitAt(key, chunk)
  }

  #chunkAt(key: number): Chunk | undefined {
    if (key === this.#lastKey) return this.#lastChunk
    const chunk = this.#chunks.get(key)
    this.#lastKey = key
    this.#lastChunk = chunk
    return chunk
  }

  #addChunk(key: number): Chunk {
    const chunk = new Chunk()
    this.#chunks.set(key, chunk)
    this.#lastKey = key
    this.#lastChunk = chunk
    return chunk
  }

  #dropChunk(key: number): void {
    this.#chunks.delete(key)
    this.#lastKey = -1
    this.#lastChunk = undefined
  }
}

const lowBits = 32n
const lowMask = (1n << lowBits) - 1n

/** The only number taken in its region: random numbers of a vast range hardly ever have a neighbour. */
interface Lone {
  readonly low: number
  readonly tag: number
}

export class WideNumbers implements TaggedNumbers<bigint> {
  readonly #regions = new Map<bigint, NarrowNumbers | Lone>()
  #size = 0

  get size(): number {
    return this.#size
  }

  get chunks(): number {
    let chunks = 0
    for (const region of this.#regions.values()) chunks += region instanceof NarrowNumbers ? region.chunks : 1
    return chunks
  }

  tagOf(n: bigint): number {
    const region = this.#regions.get(n >> lowBits)
    if (region === undefined) return 0
    const low = Number(n & lowMask)
    if (region instanceof NarrowNumbers) return region.tagOf(low)
    return region.low === low ? region.tag : 0
  }

  setTag(n: bigint, tag: number): number {
    const high = n >> lowBits
    const low = Number(n & lowMask)
    const region = this.#regions.get(high)
    if (region instanceof NarrowNumbers) {
      const sizeBefore = region.size
      const before = region.setTag(low, tag)
      this.#size += region.size - sizeBefore
      if (region.size === 0) this.#regions.delete(high)
      return before
    }
    if (region === undefined || region.low === low) return this.#setLone(high, region, { low, tag })
    if (tag === 0) return 0
    const crowd = new NarrowNumbers()
    crowd.setTag(region.low, region.tag)
    crowd.setTag(low, tag)
    this.#regions.set(high, crowd)
    this.#size++
    return 0
  }

  #setLone(high: bigint, before: Lone | undefined, lone: Lone): number {
    if (before !== undefined) this.#size--
    if (lone.tag === 0) {
      this.#regions.delete(high)
    } else {
      this.#regions.set(high, lone)
      this.#size++
    }
    return before?.tag ?? 0
  }

  nextFree(from: bigint, last: bigint): bigint | undefined {
    let at = from
    while (at <= last) {
      const high = at >> lowBits
      const region = this.#regions.get(high)
      if (region === undefined) return at
      const low = nextFreeLow(region, Number(at & lowMask))
      if (low === undefined) {
        at = (high + 1n) << lowBits
        continue
      }
      const free = (high << lowBits) + BigInt(low)
      return free <= last ? free : undefined
    }
    return undefined
  }

  countTaken(first: bigint, last: bigint): Count {
    let taken = 0
    let odd = 0
    this.#eachRegion(first, last, (region, low, high) => {
      const count = countIn(region, low, high)
      taken += count.taken
      odd += count.odd
    })
    return { taken, odd }
  }

  eachTaken(first: bigint, last: bigint, visit: (tag: number, n: bigint) => void): void {
    this.#eachRegion(first, last, (region, low, high, start) => {
      if (region instanceof NarrowNumbers) region.eachTaken(low, high, (tag, n) => visit(tag, start + BigInt(n)))
      else if (isWithin(region, low, high)) visit(region.tag, start + BigInt(region.low))
    })
  }

  #eachRegion(first: bigint, last: bigint, visit: VisitPart<NarrowNumbers | Lone, bigint>): void {
    const firstHigh = first >> lowBits
    const lastHigh = last >> lowBits
    const visitAt = (high: bigint, region: NarrowNumbers | Lone): void =>
      visit(
        region,
        high === firstHigh ? Number(first & lowMask) : 0,
        high === lastHigh ? Number(last & lowMask) : numberMax,
        high << lowBits,
      )
    if (lastHigh - firstHigh < BigInt(this.#regions.size)) {
      for (let high = firstHigh; high <= lastHigh; high++) {
        const region = this.#regions.get(high)
        if (region !== undefined) visitAt(high, region)
      }
      return
    }
    for (const [high, region] of this.#regions) if (high >= firstHigh && high <= lastHigh) visitAt(high, region)
  }
}

function nextFreeLow(region: NarrowNumbers | Lone, from: number): number | undefined {
  if (region instanceof NarrowNumbers) return region.nextFree(from, numberMax)
  if (region.low !== from) return from
  return from === numberMax ? undefined : from + 1
}

function countIn(region: NarrowNumbers | Lone, low: number, high: number): Count {
  if (region instanceof NarrowNumbers) return region.countTaken(low, high)
  return isWithin(region, low, high) ? { taken: 1, odd: region.tag & 1 } : { taken: 0, odd: 0 }
}

const isWithin = (lone: Lone, low: number, high: number): boolean => low <= lone.low && lone.low <= high
