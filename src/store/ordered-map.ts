// A map that can be read in key order (by UTF-16 code unit), page by page, while it changes.
//
// Sorted chunks instead of a tree: finding a key is two binary searches, an insert moves at most one chunk's worth of
// pointers, and a prefix is one run of neighbours. Positions ("rank") cost one addition per chunk, which for a million
// keys is a few microseconds. Removing leaves small chunks behind; they are dropped once they are empty.

const chunkLengthMax = 512

interface Chunk<V> {
  readonly keys: string[]
  readonly values: V[]
}

export class OrderedMap<V> {
  readonly #chunks: Chunk<V>[] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  get(key: string): V | undefined {
    const chunk = this.#chunks[this.#chunkOf(key)]
    if (chunk === undefined) return undefined
    const at = lowerBound(chunk.keys, key)
    return chunk.keys[at] === key ? chunk.values[at] : undefined
  }

  set(key: string, value: V): void {
    const chunkAt = this.#chunkOf(key)
    const chunk = this.#chunks[chunkAt]
    if (chunk === undefined) {
      this.#chunks.push({ keys: [key], values: [value] })
      this.#size += 1
      return
    }
    const at = lowerBound(chunk.keys, key)
    if (chunk.keys[at] === key) {
      chunk.values[at] = value
      return
    }
    chunk.keys.splice(at, 0, key)
    chunk.values.splice(at, 0, value)
    this.#size += 1
    if (chunk.keys.length > chunkLengthMax) this.#split(chunkAt, chunk)
  }

  delete(key: string): boolean {
    const chunkAt = this.#chunkOf(key)
    const chunk = this.#chunks[chunkAt]
    if (chunk === undefined) return false
    const at = lowerBound(chunk.keys, key)
    if (chunk.keys[at] !== key) return false
    chunk.keys.splice(at, 1)
    chunk.values.splice(at, 1)
    this.#size -= 1
    if (chunk.keys.length === 0) this.#chunks.splice(chunkAt, 1)
    return true
  }

  /** How many keys start with `prefix`. */
  count(prefix: string): number {
    return this.rankAfterPrefix(prefix) - this.rank(prefix)
  }

  /** How many keys come before `key`. */
  rank(key: string): number {
    return this.#rankOf(candidate => candidate < key)
  }

  /** How many keys come before or start with `prefix`. */
  rankAfterPrefix(prefix: string): number {
    return this.#rankOf(candidate => candidate < prefix || candidate.startsWith(prefix))
  }

  /** The values under `prefix` whose key comes after `after`, in key order. The map must not change meanwhile. */
  *under(prefix: string, after?: string): Generator<V, void, undefined> {
    const start = after !== undefined && after > prefix ? after : prefix
    for (let chunkAt = this.#chunkOf(start); chunkAt < this.#chunks.length; chunkAt += 1) {
      const chunk = this.#chunks[chunkAt]
      if (chunk === undefined) return
      let at = lowerBound(chunk.keys, start)
      if (after !== undefined && chunk.keys[at] === after) at += 1
      for (; at < chunk.keys.length; at += 1) {
        const key = chunk.keys[at]
        if (key === undefined || !key.startsWith(prefix)) return
        yield chunk.values[at] as V
      }
    }
  }

  #rankOf(isBefore: (key: string) => boolean): number {
    const full = partitionPoint(this.#chunks, chunk => isBefore(chunk.keys.at(-1) ?? ''))
    let rank = 0
    for (let at = 0; at < full; at += 1) rank += this.#chunks[at]?.keys.length ?? 0
    const edge = this.#chunks[full]
    return edge === undefined ? rank : rank + partitionPoint(edge.keys, isBefore)
  }

  /** The chunk that holds `key`, or would: the first whose last key is not before it, else the last one. */
  #chunkOf(key: string): number {
    const at = partitionPoint(this.#chunks, chunk => (chunk.keys.at(-1) ?? '') < key)
    return at === this.#chunks.length && at > 0 ? at - 1 : at
  }

  #split(chunkAt: number, chunk: Chunk<V>): void {
    // Keys that arrive in order leave full chunks behind instead of half-empty ones.
    const isAppending = chunkAt === this.#chunks.length - 1
    const keep = isAppending ? chunkLengthMax - 1 : chunkLengthMax >> 1
    this.#chunks.splice(chunkAt + 1, 0, { keys: chunk.keys.splice(keep), values: chunk.values.splice(keep) })
  }
}

function lowerBound(keys: readonly string[], key: string): number {
  return partitionPoint(keys, candidate => candidate < key)
}

/** The index of the first item for which `isBefore` no longer holds; it must hold for a prefix of the items only. */
function partitionPoint<T>(items: readonly T[], isBefore: (item: T) => boolean): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(items[middle] as T)) low = middle + 1
    else high = middle
  }
  return low
}
