// The one line of everything that waits for an address, over all desks and kinds of claim.
//
//   it needs          and is woken when
//   any address       one is free of each pool it needs one of: as many are woken as are free, oldest first
//   one address       that one is free: the oldest, and all others if that takes something else or nothing
//   one MAC           the same
//   room in a quota   its namespace gave an address of the pool back: of each tenant the oldest
//   a change          the pool's spec or the namespace changes, as all the others are too
//
// A claim is in the line exactly while its last pass said that it waits: `during` runs every pass, and is the one place where
// claims enter and leave. A claim that is woken counts as awake until its pass has decided; one that then takes nothing,
// because it is gone, paused, wants something else or failed, passes the wake on. A pass may have looked just before an address was
// freed: where it ends asleep, what was freed or changed since it began wakes once more. No claim sleeps while there is something
// for it. Of several needs all must be met: a claim for which another pool has nothing is passed over, and holds up none
// behind it. Pools of one space may offer the same addresses: then their claims are one line, and the oldest of all is served.
// An address is offered to the oldest of those that wait for any and of those that wait for just that one.
//
// A desk that cannot work takes its claims out of the line until it goes on: those of other desks do not wait for them. Nor do others
// wait for a claim whose key rests, because its passes write the same again and again: it is looked at when its rest is over, and
// what is freed until then is for those behind it.

import type { Identity } from '../../api/object.ts'
import { bitsOf } from '../../ip/address.ts'
import type { MACText } from '../../ip/mac.ts'
import type { RefusalReason } from '../../ipam/refusal.ts'
import type { Block } from '../../ipam/space-index.ts'
import { type KubeObject, keyOf } from '../../kube/object.ts'
import { done, type PassResult } from '../../runtime/reconciler.ts'
import type { Decider } from './journal.ts'
import type { Freed } from './ledger.ts'
import { Wanted, type Wish } from './wanted.ts'

export type Need = NeedKind & {
  /** Key of the pool. */
  readonly pool: string
}

export type NeedKind =
  | { readonly kind: 'any' }
  /** One address of the pool, or one MAC of its space. */
  | Wish
  | { readonly kind: 'quota' }
  | { readonly kind: 'change' }

/** What a claim waits for, as its pass found out. */
export interface Waits {
  readonly needs: readonly Need[]
  /** The pool that metrics count it under. */
  readonly pool: Identity
  readonly namespace: string
  /** Beside the namespace, what a quota counts by: the Cluster of the claim. */
  readonly tenant: string
  readonly createdAt: string
  /** Why, in the words of the metrics. */
  readonly reason: RefusalReason
}

/** What a pass of a claim answers: when to run the next, and what the claim waits for, if it does. */
export interface ClaimPass {
  readonly next: PassResult
  readonly waits?: Waits
}

/** Nothing to do until something changes, and the claim does not wait for an address. */
export const settled = (next: PassResult = done()): ClaimPass => ({ next })

export interface Sleeper extends Waits {
  /** Of the claim, over all kinds. */
  readonly key: string
  readonly desk: string
  readonly claimKind: string
  readonly wake: () => void
}

export interface WaitingOptions {
  /** How many claims that ask for nothing in particular the pool could serve now. */
  readonly freeOf: (pool: string) => number
  readonly poolsOf: (space: string) => Iterable<string>
  /** Whether the two pools offer some of the same addresses: what one of them gives, the other cannot. */
  readonly isShared: (pool: string, other: string) => boolean
  /** Whether any claim could have it now, as far as other claims are concerned. */
  readonly isFree: (space: string, what: Block | MACText) => boolean
}

/** The claims of one desk in the line. */
export interface DeskLine {
  /** Whether the claim waits, or was woken and is not looked at yet. */
  has(claim: string): boolean
  /** Runs a pass of the claim, and keeps its place in the line equal to what the pass says. */
  during(claim: string, pass: () => Promise<ClaimPass>): Promise<PassResult>
  /** The claim's next pass begins by itself, and a while from now, whatever wakes it. */
  rests(claim: string): void
  /** No pass of the desk begins until it goes on. */
  pause(): void
  goOn(): void
}

/** An address or a MAC that may be free now, and the claims that wait for just that. */
interface Offer {
  readonly isFree: () => boolean
  /** Oldest first. */
  readonly waiters: () => readonly Sleeper[]
}

interface Awake {
  readonly sleeper: Sleeper
  /** It has the first look at it: those behind are woken if it is still free afterwards. */
  readonly offer: Offer | undefined
  /** False while a pass that began before the wake still runs. */
  hasBegun: boolean
}

/** What wakes sleepers. */
interface Happening {
  readonly what: 'freed' | 'MAC freed' | 'changed'
  readonly concerns: (sleeper: Sleeper) => boolean
  readonly happen: () => void
}

/** Those that wait for a pool. For any address of it: see `#any`. */
interface Sleepers {
  readonly one: Wanted<Sleeper>
  /** By namespace, and in it by tenant: each has its own room. */
  readonly quota: Map<string, Map<string, Line>>
  readonly change: Set<Sleeper>
}

export class Waiting {
  readonly #options: WaitingOptions
  readonly #pools = new Map<string, Sleepers>()
  /** Those that wait for any address of a pool: apart from the others, which may wait for very many pools that do not exist. */
  readonly #any = new Map<string, Line>()
  readonly #asleep = new Map<string, Sleeper>()
  readonly #awake = new Map<string, Awake>()
  readonly #paused = new Set<string>()
  /** Claims of desks that do not work, and of those that went on and have not looked at them since. */
  readonly #away = new Map<string, Sleeper>()
  /** Claims whose last pass failed: it may be a while until their next. */
  readonly #failing = new Set<string>()
  /** Claims that are not looked at for a while, whatever wakes them. */
  readonly #resting = new Set<string>()
  /** Claims that were woken for any address since one was freed, and found none. */
  readonly #inVain = new Set<string>()
  /** Those awake of each pool that were woken for any address, or are offered one of it. */
  readonly #awakeForAny = new Map<string, number>()
  /** Of each pass that runs: what has happened since it began. */
  readonly #sinceBegun = new Set<Happening[]>()
  readonly #wasInVain = ({ key }: Sleeper): boolean => this.#inVain.has(key)
  readonly #rests = ({ key }: Sleeper): boolean => this.#resting.has(key)

  constructor(options: WaitingOptions) {
    this.#options = options
  }

  /** Every claim that waits, asleep or about to be looked at. */
  *all(): Generator<Sleeper, void, undefined> {
    yield* this.#asleep.values()
    yield* this.#away.values()
    for (const { sleeper } of this.#awake.values()) yield sleeper
  }

  /** A desk's place in the line: `wake` gets the claim that is to be reconciled. */
  ofDesk({ desk, claimKind }: Decider, wake: (claim: string) => void): DeskLine {
    return {
      has: claim => {
        const key = `${desk} ${claim}`
        return this.#asleep.has(key) || this.#awake.has(key) || this.#away.has(key)
      },
      pause: () => {
        this.#paused.add(desk)
        this.#putAway([...this.all()].filter(sleeper => sleeper.desk === desk))
      },
      goOn: () => {
        this.#paused.delete(desk)
        const own = [...this.#away.values()].filter(sleeper => sleeper.desk === desk)
        for (const sleeper of own.sort(byAge)) sleeper.wake()
      },
      rests: claim => {
        const key = `${desk} ${claim}`
        this.#resting.add(key)
        if (this.#awake.has(key)) this.#leave(key)
      },
      during: async (claim, pass) => {
        const key = `${desk} ${claim}`
        this.#resting.delete(key)
        const awake = this.#awake.get(key)
        if (awake !== undefined) awake.hasBegun = true
        const since: Happening[] = []
        this.#sinceBegun.add(since)
        let result: ClaimPass | undefined
        try {
          result = await pass()
          return result.next
        } finally {
          this.#sinceBegun.delete(since)
          const isUndecided = result?.waits === undefined && result?.next.kind === 'requeue'
          if (!isUndecided) this.#away.delete(key)
          if (result === undefined) this.#failing.add(key)
          else this.#failing.delete(key)
          this.#follow(key, result, waits => ({ ...waits, key, desk, claimKind, wake: () => wake(claim) }))
          this.#repeat(since, key)
          const sleeper = this.#asleep.get(key) ?? this.#awake.get(key)?.sleeper
          if (sleeper !== undefined && this.#paused.has(desk)) this.#putAway([sleeper])
        }
      },
    }
  }

  /** A pass that failed keeps its place, if it slept; if it was woken, it passes the wake on and comes back by itself. */
  #follow(key: string, pass: ClaimPass | undefined, toSleeper: (waits: Waits) => Sleeper): void {
    if (pass?.waits !== undefined) return this.#sleep(toSleeper(pass.waits))
    if (pass?.next.kind === 'requeue') return
    const hasFailed = pass === undefined
    if (!hasFailed || this.#awake.get(key)?.hasBegun === true) this.#leave(key)
  }

  freed({ space, block, pool, namespace }: Freed): void {
    const pools = [...this.#options.poolsOf(space)]
    this.#happens('freed', ofPools(pools), () => {
      this.#inVain.clear()
      const isSingle = block.bits === bitsOf(block.ip.family)
      this.#offer(pools, {
        // Of a prefix, several claims may want a part each: they are all woken.
        isFree: () => isSingle && this.#options.isFree(space, block),
        waiters: () => this.#waitersOf(pools, one => one.helpedBy(block)),
      })
      this.#wakeForQuota(pool, namespace)
    })
  }

  macFreed(space: string, mac: MACText): void {
    const pools = [...this.#options.poolsOf(space)]
    this.#happens('MAC freed', ofPools(pools), () => {
      this.#offer([], {
        isFree: () => this.#options.isFree(space, mac),
        waiters: () => this.#waitersOf(pools, one => one.helpedByMAC(mac)),
      })
    })
  }

  #waitersOf(pools: readonly string[], helped: (one: Wanted<Sleeper>) => readonly Sleeper[]): readonly Sleeper[] {
    const waiters = pools.flatMap(pool => {
      const one = this.#pools.get(pool)?.one
      return one === undefined ? [] : helped(one)
    })
    return [...new Set(waiters)].sort(byAge)
  }

  /** What is not free may still be had by one of the claims that wait for it, as its former holder: only a pass finds out. */
  #offer(pools: readonly string[], offer: Offer): void {
    const waiters = offer.waiters()
    const picked = [...this.#pickForAny(pools)]
    const isSound = (sleeper: Sleeper) => !this.#failing.has(sleeper.key) && !this.#rests(sleeper)
    const [first, oldest] = [picked.find(isSound), waiters.find(isSound)]
    if (oldest === undefined || !offer.isFree()) {
      this.#wakeAll([...picked, ...waiters])
    } else if (first !== undefined && byAge(first, oldest) < 0) {
      for (const sleeper of picked) this.#wake(sleeper, sleeper === first ? offer : undefined)
    } else {
      this.#wake(oldest, offer)
      this.#wakeForAny(pools)
    }
  }

  /** The claim that had the first look at it has decided. */
  #offerToOthers(key: string, offer: Offer | undefined): void {
    if (offer?.isFree() === true) this.#wakeAll(offer.waiters().filter(sleeper => sleeper.key !== key))
  }

  poolChanged(pool: string): void {
    this.#happens('changed', ofPools([pool]), () => {
      const { one, quota, change } = this.#pools.get(pool) ?? emptySleepers()
      const lines = [...quota.values()].flatMap(tenants => [...tenants.values()].flatMap(line => line.sleepers))
      this.#wakeAll([...(this.#any.get(pool)?.sleepers ?? []), ...one.all(), ...lines, ...change])
    })
  }

  namespaceChanged(namespace: string): void {
    const isThere = (sleeper: Sleeper): boolean => sleeper.namespace === namespace
    this.#happens('changed', isThere, () => this.#wakeAll([...this.#asleep.values()].filter(isThere)))
  }

  #happens(what: Happening['what'], concerns: Happening['concerns'], happen: () => void): void {
    happen()
    for (const since of this.#sinceBegun) since.push({ what, concerns, happen })
  }

  /** The claim went to sleep on what it saw before. One that takes any address needs to hear only once that some were freed. */
  #repeat(since: readonly Happening[], key: string): void {
    let isTold = false
    for (const { what, concerns, happen } of since) {
      const sleeper = this.#asleep.get(key)
      if (sleeper === undefined) return
      if (!concerns(sleeper) || (what === 'freed' && isTold)) continue
      happen()
      isTold ||= what === 'freed' && sleeper.needs.every(({ kind }) => kind === 'any')
    }
  }

  #sleep(sleeper: Sleeper): void {
    this.#forget(sleeper.key)
    const { sleeper: woken, offer } = this.#stopBeingAwake(sleeper.key) ?? {}
    this.#asleep.set(sleeper.key, sleeper)
    for (const need of sleeper.needs) this.#place(sleeper, need)
    // What it was woken for and does not need any more is still there, for the next one.
    for (const { pool, kind } of woken?.needs ?? []) {
      // Of what it found nothing of, a claim of another pool may find something; those that looked in vain are left asleep.
      if (kind === 'any') {
        this.#inVain.add(sleeper.key)
        const others = this.#sharing(pool).filter(other => other !== pool)
        this.#wakeForAny(others, this.#wasInVain)
      }
      const isStillNeeded = sleeper.needs.some(
        need => need.pool === pool && (need.kind === 'any' || need.kind === kind),
      )
      if (isStillNeeded) continue
      if (kind === 'any') this.#wakeForAny(this.#sharing(pool))
      else this.#wakeForQuota(pool, sleeper.namespace)
    }
    for (const { kind, pool } of woken?.needs ?? []) {
      if (kind === 'one' && offer !== undefined) this.#wakeForAny(this.#sharing(pool), this.#wasInVain)
    }
    this.#offerToOthers(sleeper.key, offer)
  }

  /** The claim does not wait any more: it has an address, or is gone, or is left alone. */
  #leave(key: string): void {
    const awake = this.#stopBeingAwake(key)
    const left = this.#forget(key) ?? awake?.sleeper
    if (left !== undefined) this.#passOn(left, awake?.offer)
  }

  #passOn({ key, needs, namespace }: Sleeper, offer: Offer | undefined): void {
    for (const { pool } of needs) {
      this.#wakeForAny(this.#sharing(pool))
      this.#wakeForQuota(pool, namespace)
    }
    this.#offerToOthers(key, offer)
  }

  #putAway(sleepers: readonly Sleeper[]): void {
    const woken: Awake[] = []
    for (const sleeper of sleepers) {
      this.#forget(sleeper.key)
      const awake = this.#stopBeingAwake(sleeper.key)
      if (awake !== undefined) woken.push(awake)
      this.#away.set(sleeper.key, sleeper)
    }
    for (const { sleeper, offer } of woken) this.#passOn(sleeper, offer)
  }

  #wakeAll(sleepers: Iterable<Sleeper>): void {
    for (const sleeper of [...new Set(sleepers)].sort(byAge)) this.#wake(sleeper)
  }

  #wakeForAny(pools: Iterable<string>, isPassedOver?: (sleeper: Sleeper) => boolean): void {
    for (const sleeper of this.#pickForAny(pools, isPassedOver)) this.#wake(sleeper)
  }

  /** Of all lines together, the oldest for which there is something. */
  #pickForAny(pools: Iterable<string>, isPassedOver = (_: Sleeper) => false): ReadonlySet<Sleeper> {
    const lines = [...pools].flatMap(pool => {
      const { sleepers } = this.#any.get(pool) ?? {}
      return sleepers === undefined ? [] : [{ pool, sleepers, next: 0 }]
    })
    const picked = new Set<Sleeper>()
    const taken = new Map<string, number>()
    const rooms = new Map<string, number>()
    const hasRoom = (pool: string) => {
      const room = rooms.get(pool) ?? this.#roomIn(pool)
      rooms.set(pool, room)
      return room > this.#countShared(pool, taken)
    }
    for (;;) {
      const line = oldestOf(lines.filter(({ pool }) => hasRoom(pool)))
      const sleeper = line?.sleepers[line.next++]
      if (sleeper === undefined) break
      const needed = sleeper.needs.filter(({ kind }) => kind === 'any').map(({ pool }) => pool)
      if (picked.has(sleeper) || this.#rests(sleeper) || isPassedOver(sleeper) || !needed.every(hasRoom)) continue
      picked.add(sleeper)
      for (const pool of needed) taken.set(pool, (taken.get(pool) ?? 0) + 1)
    }
    return picked
  }

  /** The pools with a line, of which the claims of this one take too. */
  #sharing(pool: string): string[] {
    return [...this.#any.keys()].filter(other => other === pool || this.#options.isShared(pool, other))
  }

  /** How many of those are counted that take from the pool, or may. */
  #countShared(pool: string, counts: ReadonlyMap<string, number>): number {
    let sum = 0
    for (const [other, count] of counts) if (other === pool || this.#options.isShared(pool, other)) sum += count
    return sum
  }

  #roomIn(pool: string): number {
    return this.#options.freeOf(pool) - this.#countShared(pool, this.#awakeForAny)
  }

  #wakeForQuota(pool: string, namespace: string): void {
    const tenants = this.#pools.get(pool)?.quota.get(namespace)
    for (const { sleepers } of [...(tenants?.values() ?? [])]) {
      const oldest = sleepers.find(sleeper => !this.#rests(sleeper))
      if (oldest !== undefined) this.#wake(oldest)
    }
  }

  #wake(sleeper: Sleeper, offer?: Offer): void {
    if (this.#rests(sleeper)) return
    this.#forget(sleeper.key)
    const awake = { sleeper, offer, hasBegun: false }
    this.#awake.set(sleeper.key, awake)
    this.#countAwake(awake, 1)
    sleeper.wake()
  }

  #stopBeingAwake(key: string): Awake | undefined {
    const awake = this.#awake.get(key)
    if (awake === undefined) return undefined
    this.#awake.delete(key)
    this.#countAwake(awake, -1)
    return awake
  }

  #countAwake({ sleeper: { needs }, offer }: Awake, change: 1 | -1): void {
    for (const { kind, pool } of needs) {
      // What is offered to one that waits for just that is not there for any other.
      if (kind !== 'any' && (kind !== 'one' || offer === undefined)) continue
      const count = (this.#awakeForAny.get(pool) ?? 0) + change
      if (count === 0) this.#awakeForAny.delete(pool)
      else this.#awakeForAny.set(pool, count)
    }
  }

  #place(sleeper: Sleeper, need: Need): void {
    if (need.kind === 'any') return lineIn(this.#any, need.pool).add(sleeper)
    const sleepers = this.#pools.get(need.pool) ?? emptySleepers()
    this.#pools.set(need.pool, sleepers)
    switch (need.kind) {
      case 'one':
      case 'mac':
        return sleepers.one.add(sleeper, need)
      case 'quota': {
        const tenants = sleepers.quota.get(sleeper.namespace) ?? new Map<string, Line>()
        sleepers.quota.set(sleeper.namespace, tenants)
        return lineIn(tenants, sleeper.tenant).add(sleeper)
      }
      case 'change':
        sleepers.change.add(sleeper)
    }
  }

  /** Answers what slept under that key. */
  #forget(key: string): Sleeper | undefined {
    const sleeper = this.#asleep.get(key)
    if (sleeper === undefined) return undefined
    this.#asleep.delete(key)
    for (const need of sleeper.needs) this.#takeOut(sleeper, need)
    return sleeper
  }

  #takeOut(sleeper: Sleeper, need: Need): void {
    if (need.kind === 'any') return takeOutOf(this.#any, need.pool, sleeper)
    const sleepers = this.#pools.get(need.pool)
    if (sleepers === undefined) return
    const { one, quota, change } = sleepers
    switch (need.kind) {
      case 'one':
      case 'mac':
        one.delete(sleeper, need)
        break
      case 'quota': {
        const tenants = quota.get(sleeper.namespace) ?? new Map<string, Line>()
        takeOutOf(tenants, sleeper.tenant, sleeper)
        if (tenants.size === 0) quota.delete(sleeper.namespace)
        break
      }
      case 'change':
        change.delete(sleeper)
    }
    if (one.isEmpty && quota.size + change.size === 0) this.#pools.delete(need.pool)
  }
}

const ofPools =
  (pools: readonly string[]) =>
  ({ needs }: Sleeper): boolean =>
    needs.some(({ pool }) => pools.includes(pool))

const emptySleepers = (): Sleepers => ({ one: new Wanted(), quota: new Map(), change: new Set() })

function lineIn(lines: Map<string, Line>, name: string): Line {
  const line = lines.get(name) ?? new Line()
  lines.set(name, line)
  return line
}

function takeOutOf(lines: Map<string, Line>, name: string, sleeper: Sleeper): void {
  const line = lines.get(name)
  line?.delete(sleeper)
  if (line?.size === 0) lines.delete(name)
}

interface LineRead {
  readonly sleepers: readonly Sleeper[]
  /** How many of them have been looked at. */
  next: number
}

/** The line whose next sleeper is the oldest of all. */
function oldestOf<L extends LineRead>(lines: readonly L[]): L | undefined {
  const heads = lines.flatMap(line => {
    const sleeper = line.sleepers[line.next]
    return sleeper === undefined ? [] : [{ line, sleeper }]
  })
  return heads.sort((one, other) => byAge(one.sleeper, other.sleeper))[0]?.line
}

/** Oldest first. A claim that comes is, as a rule, the youngest, and one that goes the oldest. */
class Line {
  readonly sleepers: Sleeper[] = []

  get size(): number {
    return this.sleepers.length
  }

  add(sleeper: Sleeper): void {
    const place = this.#placeOf(sleeper)
    if (this.sleepers[place] !== sleeper) this.sleepers.splice(place, 0, sleeper)
  }

  delete(sleeper: Sleeper): void {
    const place = this.#placeOf(sleeper)
    if (this.sleepers[place] === sleeper) this.sleepers.splice(place, 1)
  }

  #placeOf(sleeper: Sleeper): number {
    let [low, high] = [0, this.sleepers.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      const other = this.sleepers[middle]
      if (other !== undefined && byAge(other, sleeper) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** By the second they were made in, and of one second by name, so that every process has the same order. */
function byAge(a: Pick<Sleeper, 'key' | 'createdAt'>, b: Pick<Sleeper, 'key' | 'createdAt'>): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? -1 : 1
  if (a.key === b.key) return 0
  return a.key < b.key ? -1 : 1
}

/** Where many claims are to be looked at, those that were made first come first. */
export function markOldestFirst(claims: readonly KubeObject[], reconciler: { mark(key: string): void }): void {
  const ages = claims.map(claim => ({ key: keyOf(claim), createdAt: claim.metadata.creationTimestamp ?? '' }))
  for (const { key } of ages.sort(byAge)) reconciler.mark(key)
}
