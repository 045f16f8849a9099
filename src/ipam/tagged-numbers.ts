// Which numbers are taken, each with a small tag, and what the next free one is. This is the heart of the ledger's speed:
// a search looks at a handful of words whether a thousand or a billion numbers are taken, and what nobody took costs
// nothing, so a range is as cheap as its ends.
//
// Numbers of up to 32 bits live in chunks of 1,024, made when the first of them is taken. Above the chunks stand two
// levels of the same shape that say which chunks, and which groups of 1,024 chunks, are full: a search that meets a full
// chunk steps over it, and over a full group, without looking inside. Wider numbers (IPv6) are a sparse map from their
// upper bits to such a structure for their lower 32.
//
// A chunk with few numbers keeps their tags in a short list; one with many has a word for each. A number that is alone
// among its 2^32 neighbours is kept as it is. So numbers scattered at random over a vast range cost some hundred bytes
// each, and numbers side by side about four.

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

const chunkBits = 10
const chunkSize = 1 << chunkBits
const chunkMask = chunkSize - 1
const wordsPerChunk = chunkSize / 32
/** Up to here a list of tags is shorter than a word for every number, by far. */
const fewMax = 32
const tagSpan = 2 ** 32
const numberMax = 2 ** 32 - 1

interface Chunk {
  readonly bits: Uint32Array
  /** All below are taken: where a search may begin. Not all at or above need be free. */
  open: number
  taken: number
  odd: number
  /** Offset * 2^32 + tag, in no order; undefined once there are too many. */
  few: number[] | undefined
  tags: Uint32Array | undefined
}

/** Which parts of a whole are full, kept for 1,024 parts at a time; where none is, nothing is kept. */
class FullParts {
  #nodes: Map<number, { readonly bits: Uint32Array; open: number; full: number }> | undefined

  /** Whether with this part all 1,024 of its node are full. */
  add(part: number): boolean {
    this.#nodes ??= new Map()
    let node = this.#nodes.get(part >>> chunkBits)
    if (node === undefined) {
      node = { bits: new Uint32Array(wordsPerChunk), open: 0, full: 0 }
      this.#nodes.set(part >>> chunkBits, node)
    }
    setBit(node.bits, part & chunkMask)
    if (node.open === (part & chunkMask)) node.open++
    node.full++
    return node.full === chunkSize
  }

  /** Whether all 1,024 of its node were full. */
  delete(part: number): boolean {
    const node = this.#nodes?.get(part >>> chunkBits)
    if (node === undefined) return false
    const wasFull = node.full === chunkSize
    clearBit(node.bits, part & chunkMask)
    node.open = Math.min(node.open, part & chunkMask)
    node.full--
    if (node.full === 0) this.#nodes?.delete(part >>> chunkBits)
    return wasFull
  }

  /** The first part from `part` on that is not full, else the first part of the next node, whatever that is. */
  nextOpen(part: number): number {
    const node = this.#nodes?.get(part >>> chunkBits)
    if (node === undefined) return part
    const open = firstClear(node.bits, Math.max(part & chunkMask, node.open))
    return open === -1 ? ((part >>> chunkBits) + 1) * chunkSize : (part >>> chunkBits) * chunkSize + open
  }
}

export class NarrowNumbers implements TaggedNumbers<number> {
  readonly #chunks = new Map<number, Chunk>()
  /** Which chunks are full, by groups of 1,024; and which groups are. */
  readonly #fullChunks = new FullParts()
  readonly #fullGroups = new FullParts()
  // Neighbouring numbers are asked for one after the other, so the last chunk is mostly the next one too.
  #lastKey = -1
  #lastChunk: Chunk | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  /** How many chunks there are: what memory grows with. */
  get chunks(): number {
    return this.#chunks.size
  }

  tagOf(n: number): number {
    const chunk = this.#chunkAt(n >>> chunkBits)
    if (chunk === undefined || !hasBit(chunk.bits, n & chunkMask)) return 0
    return tagIn(chunk, n & chunkMask)
  }

  setTag(n: number, tag: number): number {
    const key = n >>> chunkBits
    const offset = n & chunkMask
    const chunk = this.#chunkAt(key)
    if (chunk === undefined) {
      if (tag !== 0) this.#take(key, this.#addChunk(key), offset, tag)
      return 0
    }
    const before = hasBit(chunk.bits, offset) ? tagIn(chunk, offset) : 0
    if (before === tag) return before
    if (before !== 0) this.#free(key, chunk, offset, before)
    if (tag !== 0) this.#take(key, chunk, offset, tag)
    else if (chunk.taken === 0) this.#dropChunk(key)
    return before
  }

  nextFree(from: number, last: number): number | undefined {
    let at = from
    for (;;) {
      if (at > last) return undefined
      const key = at >>> chunkBits
      const open = this.#nextOpenChunk(key)
      if (open !== key) {
        at = open * chunkSize
        if (at > last) return undefined
      }
      const chunk = this.#chunkAt(open)
      if (chunk === undefined) return at
      const offset = firstClear(chunk.bits, Math.max(at & chunkMask, chunk.open))
      if (offset !== -1) {
        const free = open * chunkSize + offset
        return free <= last ? free : undefined
      }
      at = (open + 1) * chunkSize
    }
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
      eachTagIn(chunk, low, high, tag => {
        taken++
        odd += tag & 1
      })
    })
    return { taken, odd }
  }

  eachTaken(first: number, last: number, visit: (tag: number, n: number) => void): void {
    this.#eachChunk(first, last, (chunk, low, high, start) =>
      eachTagIn(chunk, low, high, (tag, offset) => visit(tag, start + offset)),
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
    const chunk = { bits: new Uint32Array(wordsPerChunk), open: 0, taken: 0, odd: 0, few: [], tags: undefined }
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

  #take(key: number, chunk: Chunk, offset: number, tag: number): void {
    setBit(chunk.bits, offset)
    if (chunk.open === offset) chunk.open++
    putTag(chunk, offset, tag)
    chunk.taken++
    chunk.odd += tag & 1
    this.#size++
    if (chunk.taken === chunkSize) this.#markFull(key)
  }

  #free(key: number, chunk: Chunk, offset: number, tag: number): void {
    if (chunk.taken === chunkSize) this.#unmarkFull(key)
    clearBit(chunk.bits, offset)
    if (offset < chunk.open) chunk.open = offset
    dropTag(chunk, offset)
    chunk.taken--
    chunk.odd -= tag & 1
    this.#size--
  }

  #markFull(key: number): void {
    if (this.#fullChunks.add(key)) this.#fullGroups.add(key >>> chunkBits)
  }

  #unmarkFull(key: number): void {
    if (this.#fullChunks.delete(key)) this.#fullGroups.delete(key >>> chunkBits)
  }

  /** The first chunk at or after `key` that is not full; it may lie beyond all numbers. */
  #nextOpenChunk(key: number): number {
    const open = this.#fullChunks.nextOpen(key)
    if ((open & chunkMask) !== 0 || open === key) return open
    // The rest of the group is full: whole groups may follow that are.
    return this.#fullChunks.nextOpen(this.#fullGroups.nextOpen(open / chunkSize) * chunkSize)
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

// --- chunks ---

function tagIn({ tags, few }: Chunk, offset: number): number {
  if (tags !== undefined) return tags[offset] ?? 0
  for (const entry of few ?? []) if (Math.floor(entry / tagSpan) === offset) return entry % tagSpan
  return 0
}

function putTag(chunk: Chunk, offset: number, tag: number): void {
  if (chunk.few !== undefined && chunk.few.length === fewMax) {
    const tags = new Uint32Array(chunkSize)
    for (const entry of chunk.few) tags[Math.floor(entry / tagSpan)] = entry % tagSpan
    chunk.tags = tags
    chunk.few = undefined
  }
  if (chunk.tags !== undefined) chunk.tags[offset] = tag
  else chunk.few?.push(offset * tagSpan + tag)
}

function dropTag({ tags, few }: Chunk, offset: number): void {
  if (tags !== undefined) {
    tags[offset] = 0
    return
  }
  const index = few?.findIndex(entry => Math.floor(entry / tagSpan) === offset) ?? -1
  if (index !== -1) few?.splice(index, 1)
}

function eachTagIn(
  { tags, few }: Chunk,
  low: number,
  high: number,
  visit: (tag: number, offset: number) => void,
): void {
  if (tags === undefined) {
    for (const entry of few ?? []) {
      const offset = Math.floor(entry / tagSpan)
      if (offset >= low && offset <= high) visit(entry % tagSpan, offset)
    }
    return
  }
  for (let offset = low; offset <= high; offset++) {
    const tag = tags[offset] ?? 0
    if (tag !== 0) visit(tag, offset)
  }
}

// --- bits ---

const hasBit = (bits: Uint32Array, index: number): boolean => (((bits[index >>> 5] ?? 0) >>> (index & 31)) & 1) === 1

function setBit(bits: Uint32Array, index: number): void {
  bits[index >>> 5] = (bits[index >>> 5] ?? 0) | (1 << (index & 31))
}

function clearBit(bits: Uint32Array, index: number): void {
  bits[index >>> 5] = (bits[index >>> 5] ?? 0) & ~(1 << (index & 31))
}

/** The index of the first 0 at or after `from`, or -1. */
function firstClear(bits: Uint32Array, from: number): number {
  if (from === chunkSize) return -1
  let word = from >>> 5
  let clear = ~(bits[word] ?? 0) & (-1 << (from & 31))
  while (clear === 0) {
    word++
    if (word === wordsPerChunk) return -1
    clear = ~(bits[word] ?? 0)
  }
  return (word << 5) + 31 - Math.clz32(clear & -clear)
}
