// Claims that got no address, and whom to wake when something changes.
//
//   it sleeps for     and is woken when
//   any address       one is free: as many are woken as are free, oldest first
//   one address       that one may be free
//   room in a quota   its namespace gave an address of the pool back: of each Cluster the oldest
//   a change          the pool's spec or the namespace changes, as all the others are too
//
// Nobody sleeps while there is something for them. A claim that is woken counts as awake until its pass has decided; one that
// then takes nothing, because it is gone, paused, wants something else or failed, passes the wake on.

import type { Identity } from '../../api/object.ts'
import { overlapsCIDR } from '../../ip/cidr.ts'
import type { Block } from '../../ipam/space-index.ts'
import type { PassResult } from '../../runtime/reconciler.ts'
import type { Freed } from './ledger.ts'

export type Need =
  | { readonly kind: 'any' }
  /** Without a block it is not known which, and any release may help. */
  | { readonly kind: 'one'; readonly block: Block | undefined }
  | { readonly kind: 'quota' }
  | { readonly kind: 'change' }

export interface Sleeper {
  /** Key of the claim. */
  readonly key: string
  /** Key of the pool it waits for. */
  readonly pool: string
  readonly identity: Identity
  readonly namespace: string
  readonly clusterName: string
  readonly createdAt: string
  readonly need: Need
  /** Why it sleeps, in the words of the metrics. */
  readonly reason: string
}

export interface WaitingOptions {
  readonly wake: (claim: string) => void
  /** How many claims that ask for nothing in particular the pool could serve now. */
  readonly freeOf: (pool: string) => number
  readonly poolsOf: (space: string) => Iterable<string>
}

interface Awake {
  readonly sleeper: Sleeper
  /** False while a pass that began before the wake still runs. */
  hasBegun: boolean
}

interface Sleepers {
  readonly any: Line
  readonly one: Set<Sleeper>
  /** By namespace and Cluster: each has its own room. */
  readonly quota: Map<string, Line>
  readonly change: Set<Sleeper>
}

export class Waiting {
  readonly #options: WaitingOptions
  readonly #pools = new Map<string, Sleepers>()
  readonly #asleep = new Map<string, Sleeper>()
  readonly #awake = new Map<string, Awake>()
  /** Those awake of each pool that were woken for any address. */
  readonly #awakeForAny = new Map<string, number>()

  constructor(options: WaitingOptions) {
    this.#options = options
  }

  /** Everybody who waits, asleep or about to look again. */
  *all(): Generator<Sleeper, void, undefined> {
    yield* this.#asleep.values()
    for (const { sleeper } of this.#awake.values()) yield sleeper
  }

  /** A pass has decided that there is nothing for the claim. */
  sleep(sleeper: Sleeper): void {
    this.#forget(sleeper.key)
    const woken = this.#stopBeingAwake(sleeper.key)
    this.#asleep.set(sleeper.key, sleeper)
    this.#place(sleeper)
    // Who wants the same as before, or any address, has seen that there is none; what another was woken for is still there.
    const { kind } = sleeper.need
    if (woken === undefined || kind === 'any' || kind === woken.need.kind) return
    if (woken.need.kind === 'any') this.#wakeForAny(woken.pool)
    else this.#wakeForQuota(woken.pool, woken.namespace)
  }

  /** The claim does not wait any more: it takes an address, or is gone, or is left alone. */
  leave(key: string): void {
    const left = this.#forget(key) ?? this.#stopBeingAwake(key)
    if (left === undefined) return
    this.#wakeForAny(left.pool)
    this.#wakeForQuota(left.pool, left.namespace)
  }

  /** Runs a pass of the claim. One that ends without a decision passes its wake on, and comes back by itself. */
  async during(key: string, pass: () => Promise<PassResult>): Promise<PassResult> {
    const awake = this.#awake.get(key)
    if (awake !== undefined) awake.hasBegun = true
    let isToLookAgain = false
    try {
      const result = await pass()
      isToLookAgain = result.kind === 'requeue'
      return result
    } finally {
      if (!isToLookAgain && this.#awake.get(key)?.hasBegun === true) this.leave(key)
    }
  }

  freed({ space, block, pool, namespace }: Freed): void {
    for (const other of this.#options.poolsOf(space)) {
      this.#wakeForAny(other)
      for (const sleeper of [...(this.#pools.get(other)?.one ?? [])]) {
        const wanted = sleeper.need.kind === 'one' ? sleeper.need.block : undefined
        if (wanted === undefined || isTouched(wanted, block)) this.#wake(sleeper)
      }
    }
    this.#wakeForQuota(pool, namespace)
  }

  poolChanged(pool: string): void {
    const { any, one, quota, change } = this.#pools.get(pool) ?? emptySleepers()
    const lines = [...quota.values()].flatMap(line => line.sleepers)
    this.#wakeAll([...any.sleepers, ...one, ...lines, ...change])
  }

  namespaceChanged(namespace: string): void {
    this.#wakeAll([...this.#asleep.values()].filter(sleeper => sleeper.namespace === namespace))
  }

  #wakeAll(sleepers: Sleeper[]): void {
    for (const sleeper of sleepers.sort(byAge)) this.#wake(sleeper)
  }

  #wakeForAny(pool: string): void {
    const line = this.#pools.get(pool)?.any
    if (line === undefined || line.size === 0) return
    const room = this.#options.freeOf(pool) - (this.#awakeForAny.get(pool) ?? 0)
    for (const sleeper of line.sleepers.slice(0, Math.max(0, room))) this.#wake(sleeper)
  }

  #wakeForQuota(pool: string, namespace: string): void {
    const quota = this.#pools.get(pool)?.quota
    if (quota === undefined) return
    for (const line of [...quota.values()]) {
      const oldest = line.sleepers[0]
      if (oldest !== undefined && oldest.namespace === namespace) this.#wake(oldest)
    }
  }

  #wake(sleeper: Sleeper): void {
    this.#forget(sleeper.key)
    this.#awake.set(sleeper.key, { sleeper, hasBegun: false })
    if (sleeper.need.kind === 'any') this.#countAwake(sleeper.pool, 1)
    this.#options.wake(sleeper.key)
  }

  #stopBeingAwake(key: string): Sleeper | undefined {
    const sleeper = this.#awake.get(key)?.sleeper
    if (sleeper === undefined) return undefined
    this.#awake.delete(key)
    if (sleeper.need.kind === 'any') this.#countAwake(sleeper.pool, -1)
    return sleeper
  }

  #countAwake(pool: string, change: 1 | -1): void {
    const count = (this.#awakeForAny.get(pool) ?? 0) + change
    if (count === 0) this.#awakeForAny.delete(pool)
    else this.#awakeForAny.set(pool, count)
  }

  #place(sleeper: Sleeper): void {
    const sleepers = this.#pools.get(sleeper.pool) ?? emptySleepers()
    this.#pools.set(sleeper.pool, sleepers)
    switch (sleeper.need.kind) {
      case 'any':
        return sleepers.any.add(sleeper)
      case 'one':
        sleepers.one.add(sleeper)
        return
      case 'quota': {
        const tenant = tenantOf(sleeper)
        const line = sleepers.quota.get(tenant) ?? new Line()
        sleepers.quota.set(tenant, line)
        return line.add(sleeper)
      }
      case 'change':
        sleepers.change.add(sleeper)
    }
  }

  /** Answers who slept under that key. */
  #forget(key: string): Sleeper | undefined {
    const sleeper = this.#asleep.get(key)
    const sleepers = sleeper && this.#pools.get(sleeper.pool)
    if (sleeper === undefined || sleepers === undefined) return undefined
    this.#asleep.delete(key)
    const { any, one, quota, change } = sleepers
    const line = quota.get(tenantOf(sleeper))
    any.delete(sleeper)
    one.delete(sleeper)
    line?.delete(sleeper)
    change.delete(sleeper)
    if (line?.size === 0) quota.delete(tenantOf(sleeper))
    if (any.size + one.size + quota.size + change.size === 0) this.#pools.delete(sleeper.pool)
    return sleeper
  }
}

const emptySleepers = (): Sleepers => ({ any: new Line(), one: new Set(), quota: new Map(), change: new Set() })

const tenantOf = ({ namespace, clusterName }: Sleeper): string => `${namespace} ${clusterName}`

const isTouched = (wanted: Block, freed: Block): boolean =>
  wanted.ip.family === freed.ip.family && overlapsCIDR(wanted, freed)

/** Oldest first. A claim that comes is, as a rule, the youngest, and one that goes the oldest. */
class Line {
  readonly sleepers: Sleeper[] = []

  get size(): number {
    return this.sleepers.length
  }

  add(sleeper: Sleeper): void {
    this.sleepers.splice(this.#placeOf(sleeper), 0, sleeper)
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
export function byAge(a: Pick<Sleeper, 'key' | 'createdAt'>, b: Pick<Sleeper, 'key' | 'createdAt'>): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? -1 : 1
  if (a.key === b.key) return 0
  return a.key < b.key ? -1 : 1
}
