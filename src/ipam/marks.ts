// Which of many parts are marked, and which is the next that is not. A search steps over 1,024 marked parts at a time, over
// 1,024 times that where whole nodes are marked, and so on upwards: it looks at a few words however many marks there are.
// Where nothing is marked, nothing is kept.

const nodeBits = 10
const nodeSize = 1 << nodeBits
const nodeMask = nodeSize - 1

interface Node {
  readonly bits: Uint32Array
  /** All below are marked: where a search may begin. Not all at or above need be unmarked. */
  open: number
  marked: number
}

export class Marks {
  readonly #nodes: (Node | undefined)[] = []
  /** Which nodes are marked through and through. */
  #above: Marks | undefined

  /** A part that is marked already stays so. */
  add(part: number): void {
    const key = part >>> nodeBits
    const at = part & nodeMask
    const node = this.#nodes[key] ?? this.#newNode(key)
    if (hasBit(node.bits, at)) return
    setBit(node.bits, at)
    if (node.open === at) node.open++
    node.marked++
    if (node.marked < nodeSize) return
    this.#above ??= new Marks()
    this.#above.add(key)
  }

  /** A part that is not marked stays so. */
  delete(part: number): void {
    const key = part >>> nodeBits
    const at = part & nodeMask
    const node = this.#nodes[key]
    if (node === undefined || !hasBit(node.bits, at)) return
    if (node.marked === nodeSize) this.#above?.delete(key)
    clearBit(node.bits, at)
    node.open = Math.min(node.open, at)
    node.marked--
    if (node.marked === 0) this.#nodes[key] = undefined
  }

  /** The first part from this one on that is not marked. */
  nextOpen(part: number): number {
    let from = part
    for (;;) {
      const key = from >>> nodeBits
      const node = this.#nodes[key]
      if (node === undefined) return from
      const open = firstClear(node.bits, Math.max(from & nodeMask, node.open))
      if (open !== -1) return key * nodeSize + open
      from = (this.#above?.nextOpen(key + 1) ?? key + 1) * nodeSize
    }
  }

  #newNode(key: number): Node {
    const node = { bits: new Uint32Array(nodeSize / 32), open: 0, marked: 0 }
    // Grown one by one: an array with a wide gap in it is searched like a table.
    while (this.#nodes.length <= key) this.#nodes.push(undefined)
    this.#nodes[key] = node
    return node
  }
}

// --- bits of words ---

const hasBit = (bits: Uint32Array, index: number): boolean => (((bits[index >>> 5] ?? 0) >>> (index & 31)) & 1) === 1

export function setBit(bits: Uint32Array, index: number): void {
  bits[index >>> 5] = (bits[index >>> 5] ?? 0) | (1 << (index & 31))
}

export function clearBit(bits: Uint32Array, index: number): void {
  bits[index >>> 5] = (bits[index >>> 5] ?? 0) & ~(1 << (index & 31))
}

/** The index of the first 0 at or after `from`, or -1. */
export function firstClear(bits: Uint32Array, from: number): number {
  let word = from >>> 5
  if (word >= bits.length) return -1
  let clear = ~(bits[word] ?? 0) & (-1 << (from & 31))
  while (clear === 0) {
    word++
    if (word === bits.length) return -1
    clear = ~(bits[word] ?? 0)
  }
  return (word << 5) + 31 - Math.clz32(clear & -clear)
}
