// The in-memory view of one space: which blocks are held, which are in quarantine and for whom, how many each namespace
// and Cluster holds of each pool, and what was released when. It only suggests: the name of a Hold is what makes an
// address unique, so a view that is late costs a second try and never a second holder. That is also why it may be told of
// a hold before the hold is written, to keep two workers from trying for the same one.
//
// Feeding it is idempotent: `put` says what is so now, whatever was so before, and `remove` that nothing is. It can
// therefore be fed from a list, from events, and from one's own writes in any mixture, and is rebuilt in one pass.

import type { Hold } from '../api/hold.ts'
import { type Identity, identityKey } from '../api/object.ts'
import type { Family, IP } from '../ip/address.ts'
import { hasValue, type RangeSet } from '../ip/range-set.ts'
import { blockOf, blockOfNarrow, narrowBitsMax, narrowNumber, wideNumber } from './blocks.ts'
import type { Ends, PoolSet } from './pool-set.ts'
import { ReleaseOrder } from './release-order.ts'
import { NarrowNumbers, type TaggedNumbers, WideNumbers } from './tagged-numbers.ts'
import { Tallies } from './tallies.ts'

/** What of a hold matters here. */
export type IndexedHold = Pick<Hold, 'ip' | 'bits' | 'pool' | 'claim' | 'owner' | 'state' | 'since'>

/** A block: an address, or the first address of a prefix. */
export interface Block {
  readonly ip: IP
  readonly bits: number
}

export type BlockState = 'free' | 'held' | 'quarantined'

interface QuarantinedBlock extends Block {
  readonly keys: readonly string[]
  readonly since: number
}

export interface Occupancy {
  readonly held: number
  readonly quarantined: number
}

export class SpaceIndex {
  /** One per family and length of prefix; nearly every space has one in all. */
  readonly #planes = new Map<number, Plane>()
  readonly #tallies = new Tallies()
  readonly #quarantined = new Map<string, QuarantinedBlock>()
  /** Former holder to what it left in quarantine, by `blockKey`. */
  readonly #leftBy = new Map<string, Set<string>>()

  /** How many holds there are, in either state. */
  get size(): number {
    let size = 0
    for (const plane of this.#planes.values()) size += plane.numbers.size
    return size
  }

  /** How many pieces of memory the index is made of: grows with what is taken, not with what is offered. */
  get chunks(): number {
    let chunks = 0
    for (const plane of this.#planes.values()) chunks += plane.numbers.chunks
    return chunks
  }

  /** The hold is there, and this is what it says now. */
  put(hold: IndexedHold): void {
    const plane = this.#planeFor(hold.ip.family, hold.bits)
    const isQuarantined = hold.state === 'quarantined'
    const tag = this.#tallies.enter(hold.pool, hold.claim.namespace, hold.claim.clusterName ?? '', isQuarantined)
    const before = plane.setTag(hold.ip, tag)
    if (before !== 0) {
      this.#tallies.leave(before)
      if ((before & 1) === 1) this.#dropQuarantined(hold)
    }
    if (isQuarantined) this.#addQuarantined(hold)
  }

  /** The hold is gone. `releasedAt` counts where it went without a quarantine. */
  remove(block: Block, releasedAt = 0): void {
    const plane = this.#planes.get(planeKey(block.ip.family, block.bits))
    const before = plane?.setTag(block.ip, 0) ?? 0
    if (plane === undefined || before === 0) return
    this.#tallies.leave(before)
    const quarantined = (before & 1) === 1 ? this.#dropQuarantined(block) : undefined
    plane.noteRelease(block.ip, quarantined?.since ?? releasedAt)
    if (plane.isIdle) this.#planes.delete(planeKey(block.ip.family, block.bits))
  }

  /** A block is taken too where a larger one around it is, or any smaller one within it. */
  stateOf(block: Block): BlockState {
    const tag = this.#planes.get(planeKey(block.ip.family, block.bits))?.tagOf(block.ip) ?? 0
    if (tag !== 0) return (tag & 1) === 1 ? 'quarantined' : 'held'
    return this.#isOverlapped(block) ? 'held' : 'free'
  }

  /** What the claim, or whom it serves, left in quarantine. */
  leftBy(claim: Identity, owner: Identity | undefined): readonly Block[] {
    if (this.#quarantined.size === 0) return []
    const keys = affinityKeys(claim, owner)
    const found = new Set<string>()
    for (const key of keys) for (const block of this.#leftBy.get(key) ?? []) found.add(block)
    return [...found].flatMap(block => this.#quarantined.get(block) ?? [])
  }

  // --- choosing: all of these answer the block's first address, or undefined where none is free ---

  lowestFree(set: PoolSet): IP | undefined {
    return this.#nextFree(set, 0, undefined)
  }

  /** The first free block from a random place on, and round again from the start. `random` is in [0, 1). */
  randomFree(set: PoolSet, random: number): IP | undefined {
    if (set.openSize === 0n) return undefined
    const n = (BigInt(Math.floor(random * 2 ** 53)) * set.openSize) >> 53n
    const index = lastAtMost(set.openBefore, n)
    const start = (set.open.ranges[index]?.first ?? 0n) + n - (set.openBefore[index] ?? 0n)
    return this.#nextFree(set, index, start) ?? this.lowestFree(set)
  }

  /** Never used comes first, lowest first; then what was released longest ago. */
  leastRecentlyUsed(set: PoolSet): IP | undefined {
    const plane = this.#planes.get(planeKey(set.family, set.bits))
    if (plane === undefined) return this.lowestFree(set)
    for (const ip of plane.freshest(set)) if (!this.#isOverlapped({ ip, bits: set.bits })) return ip
    return undefined
  }

  // --- counting ---

  /** How many of these blocks are held, and how many are in quarantine. */
  occupancy(blocks: RangeSet, bits: number): Occupancy {
    const plane = this.#planes.get(planeKey(blocks.family, bits))
    return plane?.occupancy(blocks) ?? { held: 0, quarantined: 0 }
  }

  /** How many of these blocks are held from this pool: in a shared space some may be another's. */
  heldFrom(pool: Identity, blocks: RangeSet, bits: number): number {
    const plane = this.#planes.get(planeKey(blocks.family, bits))
    if (plane === undefined) return 0
    const isOfPool = this.#tallies.tagsOf(pool)
    return plane.countWhere(blocks, tag => (tag & 1) === 0 && isOfPool(tag))
  }

  /** All that is held from a pool, wherever it lies. */
  heldOfPool(pool: Identity): number {
    return this.#tallies.ofPool(pool).held
  }

  quarantinedOfPool(pool: Identity): number {
    return this.#tallies.ofPool(pool).quarantined
  }

  heldOfNamespace(pool: Identity, namespace: string): number {
    return this.#tallies.ofNamespace(pool, namespace)
  }

  heldOfCluster(pool: Identity, namespace: string, clusterName: string): number {
    return this.#tallies.ofCluster(pool, namespace, clusterName)
  }

  /** Whether all that is held in the space is held from this pool. */
  isOnlyPool(pool: Identity): boolean {
    return this.#tallies.isOnlyPool(pool)
  }

  #planeFor(family: Family, bits: number): Plane {
    const key = planeKey(family, bits)
    const plane = this.#planes.get(key)
    if (plane !== undefined) return plane
    const made = emptyPlane(family, bits)
    this.#planes.set(key, made)
    return made
  }

  /** From a place in one of the open ranges on, or from its start. Steps over what holds of other lengths cover. */
  #nextFree(set: PoolSet, index: number, from: bigint | undefined): IP | undefined {
    const { family, bits, open } = set
    const plane = this.#planes.get(planeKey(family, bits))
    if (plane !== undefined && this.#planes.size === 1) return plane.nextFree(set, index, from)
    const searched = plane ?? emptyPlane(family, bits)
    let ip = searched.nextFree(set, index, from)
    while (ip !== undefined && this.#isOverlapped({ ip, bits })) {
      const next = wideNumber(ip, bits) + 1n
      const range = open.ranges.findIndex(({ last }) => last >= next)
      if (range === -1) return undefined
      const first = open.ranges[range]?.first ?? next
      ip = searched.nextFree(set, range, next < first ? undefined : next)
    }
    return ip
  }

  #isOverlapped({ ip, bits }: Block): boolean {
    for (const [key, plane] of this.#planes) {
      if (familyOfPlane(key) !== ip.family || bitsOfPlane(key) === bits) continue
      if (plane.touches(ip, bits, bitsOfPlane(key))) return true
    }
    return false
  }

  #addQuarantined(hold: IndexedHold): void {
    const { ip, bits, since } = hold
    const keys = affinityKeys(hold.claim, hold.owner)
    const id = blockKey(hold)
    this.#quarantined.set(id, { ip, bits, keys, since: Date.parse(since) || 0 })
    for (const key of keys) {
      const left = this.#leftBy.get(key)
      if (left === undefined) this.#leftBy.set(key, new Set([id]))
      else left.add(id)
    }
  }

  #dropQuarantined(block: Block): QuarantinedBlock | undefined {
    const id = blockKey(block)
    const quarantined = this.#quarantined.get(id)
    this.#quarantined.delete(id)
    for (const key of quarantined?.keys ?? []) {
      const left = this.#leftBy.get(key)
      left?.delete(id)
      if (left?.size === 0) this.#leftBy.delete(key)
    }
    return quarantined
  }
}

/** By what a former holder is known again: the claim's name, and whom it served. Uids do not outlive a re-install. */
export function affinityKeys(claim: Identity, owner: Identity | undefined): string[] {
  return owner === undefined ? [identityKey(claim)] : [identityKey(claim), identityKey(owner)]
}

const planeKey = (family: Family, bits: number): number => family * 256 + bits
const familyOfPlane = (key: number): Family => (key >= 6 * 256 ? 6 : 4)
const bitsOfPlane = (key: number): number => key % 256
const blockKey = ({ ip, bits }: Block): string => `${planeKey(ip.family, bits)}/${wideNumber(ip, bits)}`

/** The last index whose value is at most `n`; the values ascend from 0. */
function lastAtMost(values: readonly bigint[], n: bigint): number {
  let low = 0
  let high = values.length - 1
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if ((values[middle] ?? 0n) <= n) low = middle
    else high = middle - 1
  }
  return low
}

// --- planes: all blocks of one length ---

interface Plane {
  readonly numbers: { readonly size: number; readonly chunks: number }
  readonly isIdle: boolean
  tagOf(ip: IP): number
  setTag(ip: IP, tag: number): number
  nextFree(set: PoolSet, index: number, from: bigint | undefined): IP | undefined
  noteRelease(ip: IP, time: number): void
  freshest(set: PoolSet): Iterable<IP>
  occupancy(blocks: RangeSet): Occupancy
  countWhere(blocks: RangeSet, isCounted: (tag: number) => boolean): number
  touches(ip: IP, bits: number, planeBits: number): boolean
}

function emptyPlane(family: Family, bits: number): Plane {
  if (bits > narrowBitsMax) {
    return new PlaneOf<bigint>({
      toNumber: ip => wideNumber(ip, bits),
      toIP: n => blockOf(family, bits, n),
      toValue: n => n,
      fromValue: value => value,
      endsOf: set => set.wideEnds,
      highest: 2n ** 128n - 1n,
      noNumbers: () => new WideNumbers(),
    })
  }
  return new PlaneOf<number>({
    toNumber: ip => narrowNumber(ip, bits),
    toIP: n => blockOfNarrow(family, bits, n),
    toValue: n => BigInt(n),
    fromValue: value => Number(value),
    endsOf: set => set.narrowEnds,
    highest: 2 ** 32 - 1,
    noNumbers: () => new NarrowNumbers(),
  })
}

/** How blocks and their numbers correspond. */
interface Numbering<N extends number | bigint> {
  readonly toNumber: (ip: IP) => N
  readonly toIP: (n: N) => IP
  readonly toValue: (n: N) => bigint
  readonly fromValue: (value: bigint) => N
  readonly endsOf: (set: PoolSet) => Ends<N>
  readonly highest: N
  readonly noNumbers: () => Numbers<N>
}

type Numbers<N extends number | bigint> = TaggedNumbers<N> & { readonly chunks: number }

class PlaneOf<N extends number | bigint> implements Plane {
  readonly numbers: Numbers<N>
  readonly #numbering: Numbering<N>
  readonly #released = new ReleaseOrder<N>()
  /** Taken or remembered as released. Made when somebody first asks for what was least recently used. */
  #touched: Numbers<N> | undefined

  constructor(numbering: Numbering<N>) {
    this.numbers = numbering.noNumbers()
    this.#numbering = numbering
  }

  get isIdle(): boolean {
    return this.numbers.size === 0 && this.#released.size === 0
  }

  tagOf(ip: IP): number {
    return this.numbers.tagOf(this.#numbering.toNumber(ip))
  }

  setTag(ip: IP, tag: number): number {
    const n = this.#numbering.toNumber(ip)
    if (tag !== 0) {
      this.#released.forget(n)
      this.#touched?.setTag(n, 1)
    }
    return this.numbers.setTag(n, tag)
  }

  nextFree(set: PoolSet, index: number, from: bigint | undefined): IP | undefined {
    const start = from === undefined ? undefined : this.#numbering.fromValue(from)
    const n = nextFreeIn(this.numbers, this.#numbering.endsOf(set), index, start)
    return n === undefined ? undefined : this.#numbering.toIP(n)
  }

  noteRelease(ip: IP, time: number): void {
    const forgotten = this.#released.note(this.#numbering.toNumber(ip), time)
    if (forgotten !== undefined) this.#touched?.setTag(forgotten, 0)
  }

  *freshest(set: PoolSet): Generator<IP, void, undefined> {
    const touched = this.#touchedNumbers()
    const { toIP, toValue, fromValue, endsOf } = this.#numbering
    const { firsts, lasts } = endsOf(set)
    for (const [i, first] of firsts.entries()) {
      const last = lasts[i] ?? first
      let at = touched.nextFree(first, last)
      while (at !== undefined) {
        yield toIP(at)
        at = at === last ? undefined : touched.nextFree(fromValue(toValue(at) + 1n), last)
      }
    }
    for (const n of this.#released.oldestFirst()) {
      if (this.numbers.tagOf(n) === 0 && hasValue(set.open, toValue(n))) yield toIP(n)
    }
  }

  #touchedNumbers(): Numbers<N> {
    if (this.#touched !== undefined) return this.#touched
    const { noNumbers, fromValue, highest } = this.#numbering
    const touched = noNumbers()
    this.numbers.eachTaken(fromValue(0n), highest, (_, n) => {
      touched.setTag(n, 1)
    })
    for (const n of this.#released.oldestFirst()) touched.setTag(n, 1)
    this.#touched = touched
    return touched
  }

  occupancy(blocks: RangeSet): Occupancy {
    let held = 0
    let quarantined = 0
    for (const { first, last } of blocks.ranges) {
      const { taken, odd } = this.numbers.countTaken(this.#numbering.fromValue(first), this.#numbering.fromValue(last))
      held += taken - odd
      quarantined += odd
    }
    return { held, quarantined }
  }

  countWhere(blocks: RangeSet, isCounted: (tag: number) => boolean): number {
    let count = 0
    for (const { first, last } of blocks.ranges) {
      this.numbers.eachTaken(this.#numbering.fromValue(first), this.#numbering.fromValue(last), tag => {
        if (isCounted(tag)) count++
      })
    }
    return count
  }

  touches(ip: IP, bits: number, planeBits: number): boolean {
    if (planeBits < bits) return this.tagOf(ip) !== 0
    const shift = BigInt(planeBits - bits)
    const first = wideNumber(ip, bits) << shift
    const last = first + (1n << shift) - 1n
    return this.numbers.countTaken(this.#numbering.fromValue(first), this.#numbering.fromValue(last)).taken > 0
  }
}

/** The first free number of these ranges, from a place in one of them on. */
function nextFreeIn<N extends number | bigint>(
  numbers: TaggedNumbers<N>,
  { firsts, lasts }: Ends<N>,
  index: number,
  from: N | undefined,
): N | undefined {
  let start = from
  for (let i = index; i < firsts.length; i++) {
    const first = start ?? firsts[i]
    const last = lasts[i]
    if (first === undefined || last === undefined) return undefined
    const free = numbers.nextFree(first, last)
    if (free !== undefined) return free
    start = undefined
  }
  return undefined
}
