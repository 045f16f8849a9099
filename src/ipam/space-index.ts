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
import type { Range } from '../ip/range.ts'
import { hasValue, intersection, type RangeSet, rangeAtOrAfter, sizeOf, toRangeSet } from '../ip/range-set.ts'
import { blockOf, blockOfNarrow, narrowBitsMax, narrowNumber, wideNumber } from './blocks.ts'
import type { Ends, PoolSet } from './pool-set.ts'
import { RangeSearch } from './range-search.ts'
import { ReleaseOrder } from './release-order.ts'
import { NarrowNumbers, type TaggedNumbers, WideNumbers } from './tagged-numbers.ts'
import { type CountedPool, Tallies } from './tallies.ts'

/** What of a hold matters here. Without the uid of a claim it is no hold: an object shows the address. */
export type IndexedHold = Pick<Hold, 'ip' | 'bits' | 'pool' | 'claim' | 'owner' | 'state' | 'since'> & {
  readonly until?: string | undefined
}

/** A block: an address, or the first address of a prefix. */
export interface Block {
  readonly ip: IP
  readonly bits: number
}

export type BlockState = 'free' | 'held' | 'quarantined'

interface QuarantinedBlock extends Block {
  readonly keys: readonly string[]
  /** Which namespace left it, of which pool. */
  readonly left: string
  readonly since: number
  readonly until: string
}

/** A place to search from: one of the pool's open ranges, and a block in it; without one, its first. */
interface Start {
  readonly range: number
  readonly block: bigint | undefined
}

export interface Occupancy {
  readonly held: number
  readonly quarantined: number
}

export class SpaceIndex {
  /** A kind that cannot be read, and may show that something of the space is in use. */
  readonly unread: () => string | undefined
  /** One per family and length of prefix; nearly every space has one in all. */
  #planes: readonly Plane[] = []
  readonly #tallies = new Tallies()
  readonly #quarantined = new Map<string, QuarantinedBlock>()
  /** What objects show without a hold, by `blockKey`. */
  readonly #shown = new Map<string, Block>()
  /** Former holder to what it left in quarantine, by `blockKey`. */
  readonly #leftBy = new Map<string, Set<string>>()
  /** Pool and namespace to what its claims left in quarantine, by `blockKey`. */
  readonly #leftByNamespace = new Map<string, Set<string>>()

  constructor(unread: () => string | undefined = () => undefined) {
    this.unread = unread
  }

  /** How many holds there are, in either state. */
  get size(): number {
    let size = 0
    for (const plane of this.#planes) size += plane.numbers.size
    return size
  }

  /** How many pieces of memory the index is made of: grows with what is taken, not with what is offered. */
  get chunks(): number {
    let chunks = 0
    for (const plane of this.#planes) chunks += plane.numbers.chunks
    return chunks
  }

  /** The hold is there, and this is what it says now. */
  put(hold: IndexedHold): void {
    const plane = this.#planeOf(hold.ip.family, hold.bits) ?? this.#addPlane(hold.ip.family, hold.bits)
    const isQuarantined = hold.state === 'quarantined'
    const tag = this.#tallies.enter(hold.pool, hold.ip.family, hold.claim, isQuarantined)
    const before = plane.setTag(hold.ip, tag)
    if (before !== 0) {
      this.#tallies.leave(before)
      if ((before & 1) === 1) this.#dropQuarantined(hold)
    }
    if (isQuarantined) this.#addQuarantined(hold)
    if (hold.claim.uid === '') this.#shown.set(blockKey(hold), { ip: hold.ip, bits: hold.bits })
    else this.#dropShown(hold)
  }

  /** The hold is gone. `releasedAt` counts where it went without a quarantine. */
  remove(block: Block, releasedAt = 0): void {
    const plane = this.#planeOf(block.ip.family, block.bits)
    const before = plane?.setTag(block.ip, 0) ?? 0
    if (plane === undefined || before === 0) return
    this.#tallies.leave(before)
    this.#dropShown(block)
    const quarantined = (before & 1) === 1 ? this.#dropQuarantined(block) : undefined
    plane.noteRelease(block.ip, quarantined?.since ?? releasedAt)
    if (plane.isIdle) this.#planes = this.#planes.filter(kept => kept !== plane)
  }

  /** A block is taken too where a larger one around it is, or any smaller one within it. */
  stateOf(block: Block): BlockState {
    const tag = this.#planeOf(block.ip.family, block.bits)?.tagOf(block.ip) ?? 0
    if (tag !== 0) return (tag & 1) === 1 ? 'quarantined' : 'held'
    return this.#behindCover(block) === undefined ? 'free' : 'held'
  }

  /** All that is in quarantine. */
  resting(): Iterable<Block> {
    return this.#quarantined.values()
  }

  /** What the claim, or whom it serves, left in quarantine. */
  leftBy(claim: FormerHolder, owner: Identity | undefined): readonly Block[] {
    if (this.#quarantined.size === 0) return []
    const keys = applicantKeys(claim, owner)
    const found = new Set<string>()
    for (const key of keys) for (const block of this.#leftBy.get(key) ?? []) found.add(block)
    return [...found].flatMap(block => this.#quarantined.get(block) ?? [])
  }

  // --- choosing: all of these answer the block's first address, or undefined where none is free ---

  lowestFree(set: PoolSet): IP | undefined {
    return this.#nextFree(set, undefined)
  }

  /** The first free block from a random place on, and round again from the start. `random` is in [0, 1). */
  randomFree(set: PoolSet, random: number): IP | undefined {
    if (set.openSize === 0n) return undefined
    const n = (BigInt(Math.floor(random * 2 ** 53)) * set.openSize) >> 53n
    const range = lastAtMost(set.openBefore, n)
    const block = (set.open.ranges[range]?.first ?? 0n) + n - (set.openBefore[range] ?? 0n)
    return this.#nextFree(set, { range, block }) ?? this.lowestFree(set)
  }

  /** Never used comes first, lowest first; then what was released longest ago. */
  leastRecentlyUsed(set: PoolSet): IP | undefined {
    const plane = this.#planeOf(set.family, set.bits)
    if (plane === undefined) return this.lowestFree(set)
    const unused = this.#uncovered(set, plane.nextUnused(set, undefined), from => plane.nextUnused(set, from))
    if (unused !== undefined) return unused
    for (const ip of plane.released(set)) if (this.#behindCover({ ip, bits: set.bits }) === undefined) return ip
    return undefined
  }

  // --- counting ---

  /** How many of these blocks are held, and how many are in quarantine. */
  occupancy(blocks: RangeSet, bits: number): Occupancy {
    const plane = this.#planeOf(blocks.family, bits)
    return plane?.occupancy(blocks) ?? { held: 0, quarantined: 0 }
  }

  /** How many of those that count as held have no hold: an object shows them, and that is all. */
  shownIn(blocks: RangeSet, bits: number): number {
    let count = 0
    for (const block of this.#shown.values()) {
      const isOfPlane = block.bits === bits && block.ip.family === blocks.family
      if (isOfPlane && hasValue(blocks, wideNumber(block.ip, bits))) count++
    }
    return count
  }

  /** How many of those that do not count as held lie inside of something larger that an object shows. */
  coveredIn(blocks: RangeSet, bits: number): bigint {
    const around = [...this.#shown.values()].filter(one => one.bits < bits && one.ip.family === blocks.family)
    if (around.length === 0) return 0n
    const ranges = around.map((one): Range => {
      const shift = BigInt(bits - one.bits)
      const first = wideNumber(one.ip, one.bits) << shift
      return { family: blocks.family, first, last: first + (1n << shift) - 1n }
    })
    const covered = intersection(blocks, toRangeSet(blocks.family, ranges))
    const { held, quarantined } = this.occupancy(covered, bits)
    return sizeOf(covered) - BigInt(held) - BigInt(quarantined)
  }

  /** How many of these blocks are held from this pool: in a shared space some may be another's. */
  heldFrom(pool: CountedPool, blocks: RangeSet, bits: number): number {
    const plane = this.#planeOf(blocks.family, bits)
    if (plane === undefined) return 0
    const isOfPool = this.#tallies.tagsOf(pool)
    return plane.countWhere(blocks, tag => (tag & 1) === 0 && isOfPool(tag))
  }

  /** All that is held from a pool, wherever it lies. */
  heldOfPool(pool: CountedPool): number {
    return this.#tallies.ofPool(pool).held
  }

  heldOfNamespace(pool: CountedPool, namespace: string): number {
    return this.#tallies.ofNamespace(pool, namespace)
  }

  /** How many addresses of a pool rest that claims of the namespace released. */
  restingOfNamespace(pool: CountedPool, namespace: string): number {
    return this.#leftByNamespace.get(leftKey(pool, namespace))?.size ?? 0
  }

  /** When no more than so many of them will rest, if none is added; RFC 3339. */
  restingUntil(pool: CountedPool, namespace: string, most: number): string {
    const left = [...(this.#leftByNamespace.get(leftKey(pool, namespace)) ?? [])]
    const ends = left.map(id => this.#quarantined.get(id)?.until ?? '').toSorted()
    return ends[ends.length - 1 - most] ?? ''
  }

  heldOfCluster(pool: CountedPool, namespace: string, clusterName: string): number {
    return this.#tallies.ofCluster(pool, namespace, clusterName)
  }

  /** Whether all that is held in the space is held from this pool. */
  isOnlyPool(pool: CountedPool): boolean {
    return this.#tallies.isOnlyPool(pool)
  }

  #dropShown(block: Block): void {
    if (this.#shown.size > 0) this.#shown.delete(blockKey(block))
  }

  #planeOf(family: Family, bits: number): Plane | undefined {
    for (const plane of this.#planes) if (plane.bits === bits && plane.family === family) return plane
    return undefined
  }

  #addPlane(family: Family, bits: number): Plane {
    const plane = emptyPlane(family, bits)
    this.#planes = [...this.#planes, plane]
    return plane
  }

  #nextFree(set: PoolSet, start: Start | undefined): IP | undefined {
    const plane = this.#planeOf(set.family, set.bits) ?? emptyPlane(set.family, set.bits)
    const found = plane.nextFree(set, start)
    return this.#uncovered(set, found, from => plane.nextFree(set, from))
  }

  /** What was found, or what a search finds further on where a hold of another length lies there. */
  #uncovered(set: PoolSet, found: IP | undefined, search: (from: Start) => IP | undefined): IP | undefined {
    let ip = found
    while (ip !== undefined) {
      const behind = this.#behindCover({ ip, bits: set.bits })
      if (behind === undefined) return ip
      const range = rangeAtOrAfter(set.open, behind)
      const first = set.open.ranges[range]?.first
      if (first === undefined) return undefined
      ip = search({ range, block: behind < first ? undefined : behind })
    }
    return undefined
  }

  /** The next block behind a hold around this one, or behind this one if there is a hold within it; else undefined. */
  #behindCover({ ip, bits }: Block): bigint | undefined {
    for (const plane of this.#planes) {
      if (plane.family !== ip.family || plane.bits === bits || !plane.touches(ip, bits)) continue
      const shift = BigInt(Math.max(bits - plane.bits, 0))
      return ((wideNumber(ip, bits) >> shift) + 1n) << shift
    }
    return undefined
  }

  #addQuarantined(hold: IndexedHold): void {
    const { ip, bits, since, until = '', claim, owner, pool } = hold
    const keys = affinityKeys(claim, owner)
    const left = leftKey({ identity: pool, family: ip.family }, claim.namespace)
    const id = blockKey(hold)
    this.#quarantined.set(id, { ip, bits, keys, left, since: Date.parse(since) || 0, until })
    for (const key of keys) addTo(this.#leftBy, key, id)
    addTo(this.#leftByNamespace, left, id)
  }

  #dropQuarantined(block: Block): QuarantinedBlock | undefined {
    const id = blockKey(block)
    const quarantined = this.#quarantined.get(id)
    this.#quarantined.delete(id)
    if (quarantined === undefined) return undefined
    for (const key of quarantined.keys) removeFrom(this.#leftBy, key, id)
    removeFrom(this.#leftByNamespace, quarantined.left, id)
    return quarantined
  }
}

function addTo(sets: Map<string, Set<string>>, key: string, id: string): void {
  const set = sets.get(key)
  if (set === undefined) sets.set(key, new Set([id]))
  else set.add(id)
}

function removeFrom(sets: Map<string, Set<string>>, key: string, id: string): void {
  const set = sets.get(key)
  set?.delete(id)
  if (set?.size === 0) sets.delete(key)
}

// No name has a blank in it.
const leftKey = ({ identity, family }: CountedPool, namespace: string): string =>
  `${family} ${identityKey(identity)} ${namespace}`

/** What of a claim says whether it is a former holder. */
type FormerHolder = Identity & { readonly part?: string; readonly namespaceUID?: string }

/**
 * By what a former holder is known again: the claim's name, and the object it served, each for its own part and in the same
 * namespace. The uids of the two themselves do not count: they are made anew, and are to find their address again.
 */
function affinityKeys({ part = '', namespaceUID = '', ...claim }: FormerHolder, owner: Identity | undefined): string[] {
  const keys = owner === undefined ? [identityKey(claim)] : [identityKey(claim), identityKey(owner)]
  return part === '' && namespaceUID === '' ? keys : keys.map(key => `${key} ${part} ${namespaceUID}`)
}

/** Of a hold that does not say which namespace it was, the name counts. */
function applicantKeys({ namespaceUID, ...claim }: FormerHolder, owner: Identity | undefined): string[] {
  const byName = affinityKeys(claim, owner)
  return namespaceUID === undefined ? byName : [...byName, ...affinityKeys({ ...claim, namespaceUID }, owner)]
}

/** Whether the claim, or the object it serves, had what is held here, for the same part. */
export function wasLeftBy(
  hold: Pick<IndexedHold, 'claim' | 'owner'>,
  claim: FormerHolder,
  owner: Identity | undefined,
): boolean {
  const keys = new Set(affinityKeys(hold.claim, hold.owner))
  return applicantKeys(claim, owner).some(key => keys.has(key))
}

const blockKey = ({ ip, bits }: Block): string => `${ip.family}/${bits}/${wideNumber(ip, bits)}`

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
  readonly family: Family
  readonly bits: number
  readonly numbers: { readonly size: number; readonly chunks: number }
  readonly isIdle: boolean
  tagOf(ip: IP): number
  setTag(ip: IP, tag: number): number
  nextFree(set: PoolSet, from: Start | undefined): IP | undefined
  nextUnused(set: PoolSet, from: Start | undefined): IP | undefined
  noteRelease(ip: IP, time: number): void
  released(set: PoolSet): Iterable<IP>
  occupancy(blocks: RangeSet): Occupancy
  countWhere(blocks: RangeSet, isCounted: (tag: number) => boolean): number
  touches(ip: IP, bits: number): boolean
}

function emptyPlane(family: Family, bits: number): Plane {
  if (bits > narrowBitsMax) {
    return new PlaneOf<bigint>(family, bits, {
      toNumber: ip => wideNumber(ip, bits),
      toIP: n => blockOf(family, bits, n),
      toValue: n => n,
      fromValue: value => value,
      endsOf: set => set.wideEnds,
      highest: 2n ** 128n - 1n,
      noNumbers: () => new WideNumbers(),
    })
  }
  return new PlaneOf<number>(family, bits, {
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
  readonly family: Family
  readonly bits: number
  readonly numbers: Numbers<N>
  readonly #numbering: Numbering<N>
  readonly #search: RangeSearch<N>
  readonly #released: ReleaseOrder<N>
  /** Taken or remembered as released. Made when a choice first asks for what was least recently used. */
  #touched: { readonly numbers: Numbers<N>; readonly search: RangeSearch<N> } | undefined

  constructor(family: Family, bits: number, numbering: Numbering<N>) {
    this.family = family
    this.bits = bits
    this.numbers = numbering.noNumbers()
    this.#numbering = numbering
    this.#search = new RangeSearch(this.numbers)
    this.#released = new ReleaseOrder(numbering.noNumbers())
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
      this.#touched?.numbers.setTag(n, 1)
    }
    const before = this.numbers.setTag(n, tag)
    if (tag === 0 && before !== 0) this.#search.noteFreed(n)
    return before
  }

  nextFree(set: PoolSet, from: Start | undefined): IP | undefined {
    return this.#next(this.#search, set, from)
  }

  /** Neither taken nor remembered as released. */
  nextUnused(set: PoolSet, from: Start | undefined): IP | undefined {
    return this.#next(this.#touchedOnes().search, set, from)
  }

  #next(search: RangeSearch<N>, set: PoolSet, from: Start | undefined): IP | undefined {
    const { toIP, fromValue, endsOf } = this.#numbering
    const block = from?.block === undefined ? undefined : fromValue(from.block)
    const n = search.nextFree(endsOf(set), from?.range ?? 0, block)
    return n === undefined ? undefined : toIP(n)
  }

  noteRelease(ip: IP, time: number): void {
    const forgotten = this.#released.note(this.#numbering.toNumber(ip), time)
    if (forgotten === undefined || this.#touched === undefined) return
    this.#touched.numbers.setTag(forgotten, 0)
    this.#touched.search.noteFreed(forgotten)
  }

  /** Free ones that are remembered, released longest ago first. */
  *released(set: PoolSet): Generator<IP, void, undefined> {
    const { toIP, toValue } = this.#numbering
    for (const n of this.#released.oldestFirst()) {
      if (this.numbers.tagOf(n) === 0 && hasValue(set.open, toValue(n))) yield toIP(n)
    }
  }

  #touchedOnes(): { readonly numbers: Numbers<N>; readonly search: RangeSearch<N> } {
    if (this.#touched !== undefined) return this.#touched
    const { noNumbers, fromValue, highest } = this.#numbering
    const numbers = noNumbers()
    this.numbers.eachTaken(fromValue(0n), highest, (_, n) => {
      numbers.setTag(n, 1)
    })
    for (const n of this.#released.oldestFirst()) numbers.setTag(n, 1)
    this.#touched = { numbers, search: new RangeSearch(numbers) }
    return this.#touched
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

  /** Whether a block of this plane is around that one, or within it. */
  touches(ip: IP, bits: number): boolean {
    if (this.bits < bits) return this.tagOf(ip) !== 0
    const shift = BigInt(this.bits - bits)
    const first = wideNumber(ip, bits) << shift
    const last = first + (1n << shift) - 1n
    return this.numbers.countTaken(this.#numbering.fromValue(first), this.#numbering.fromValue(last)).taken > 0
  }
}
