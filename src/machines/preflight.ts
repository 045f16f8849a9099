// Whether there are addresses enough for Machines that are to come, said before a user orders them. Everything is rehearsed on a ledger in
// memory, in the order in which the controllers work:
//
//   claims that wait already          oldest first, of every namespace; then those that existing Machines have yet to make
//   new Machines of sets that grow    the sets take turns, one Machine each; every claim of a Machine takes what it can get
//   Machines that are replaced        one after the other. A ControlPlaneMachineSet makes the new one before the old one goes. A
//                                     MachineSet makes it when the old one is deleted, and the old address is released when its
//                                     virtual machine is gone. What is released rests first, if its pool says so
//
// A replacement that finds nothing free waits for the next rest to end, where something of the pool rests: it is told that it waits. One
// that finds nothing that could come free by itself stalls.

import type { IPAddressClaim, PoolReference } from '../api/ip-address-claim.ts'
import { poolNamedBy } from '../api/ip-address-claim.ts'
import { controllingMachine, hasInstance, type Machine } from '../api/machine.ts'
import { type Identity, identityKey } from '../api/object.ts'
import type { Pool } from '../api/pool.ts'
import { type ListedWorld, worldOf } from '../controllers/capi/listed.ts'
import { claimOf } from '../controllers/capi/parsed.ts'
import { wantedBy, wishFaults } from '../controllers/machine/claims/wanted.ts'
import { restSecondsOfPool } from '../controllers/office/hold/quarantine.ts'
import { readable } from '../controllers/office/kept.ts'
import { findPool } from '../controllers/office/views.ts'
import { isMalformed } from '../ip/malformed.ts'
import { capacityOf } from '../ipam/capacity.ts'
import { poolText } from '../ipam/refusal.ts'
import { keyOf } from '../kube/object.ts'
import { rehearsedClaimsMax } from '../limits.ts'
import type { Fleet } from './fleet.ts'
import { type Order, ordersOf, setText, type Wanted } from './orders.ts'
import { awaitRest, claimToCome, type Denied, notServedReason, release, restingOf, take } from './rehearsal.ts'
import { referenceText, rollOutSentence, scaleSentence } from './sentences.ts'

/** `waits`: it goes on by itself when addresses have rested. `unknown`: Mooring cannot say. */
export type Forecast = 'enough' | 'waits' | 'stalls' | 'unknown'

/** What one order needs of one pool. */
export interface PoolNeed {
  readonly pool: string
  /** At most, while what is released rests. */
  readonly needs: number
  /** Where nothing that is released had to rest. */
  readonly needsAtLeast: number
  /** Before any order, and after the claims that wait already; undefined where the pool cannot say. */
  readonly free: number | undefined
  readonly gets: number
  /** How long a released address rests; 0 if not at all. */
  readonly restSeconds: number
  /** Which of the new Machines, from 1, is the first that has to wait, or for which there is nothing. */
  readonly waitsAt: number | undefined
  readonly stallsAt: number | undefined
  /** Of the refusal at that place; empty if there is none. */
  readonly reason: string
  readonly message: string
  /** When what rests of the pool comes free, as many as are missing at most; RFC 3339. */
  readonly restsEnd: readonly string[]
  /** Other sets that take addresses of it too. */
  readonly rivals: readonly string[]
}

export interface OrderResult {
  readonly what: Order['what']
  readonly set: string
  readonly from: number
  readonly to: number
  readonly verdict: Forecast
  readonly pools: readonly PoolNeed[]
  readonly sentences: readonly string[]
}

/** A Machine that is there already, and waits. */
export interface WaitingClaim {
  readonly machine: string
  readonly claim: string
  readonly reason: string
  readonly message: string
}

export interface Preflight {
  readonly isEnough: boolean
  readonly orders: readonly OrderResult[]
  readonly waiting: readonly WaitingClaim[]
  /** Objects that cannot be read, and so were not judged. */
  readonly unreadable: Fleet['unreadable']
}

export function preflight(
  fleet: Fleet,
  wanted: Wanted,
  nowMs: number,
): Preflight | { readonly unknown: readonly string[] } {
  const orders = ordersOf(fleet, wanted)
  if ('unknown' in orders) return orders
  const world = worldOf(fleet.listed)
  const waiting = serveWaiting(fleet, world)
  const tallies = orders.map(order => tallyOf(order, fleet, world))
  grow(
    tallies.filter(({ order }) => order.what === 'scale'),
    fleet,
    world,
  )
  for (const tally of tallies) if (tally.order.what === 'rollOut') replace(tally, fleet, nowMs, world)
  const results = tallies.map(tally => resultOf(tally, tallies, world))
  const isEnough = results.every(({ verdict }) => verdict === 'enough') && waiting.length === 0
  return { isEnough: isEnough && fleet.unreadable.length === 0, orders: results, waiting, unreadable: fleet.unreadable }
}

// --- claims that come first ---

function serveWaiting(fleet: Fleet, world: ListedWorld): WaitingClaim[] {
  const waiting: WaitingClaim[] = []
  const machineOf = machinesByClaim(fleet)
  const serve = (claim: IPAddressClaim) => {
    const outcome = take(claim, world)
    const { namespace, name } = claim.metadata
    const machine = controllingMachine(claim.metadata)?.name ?? machineOf.get(name)
    if (outcome.kind !== 'denied' || namespace !== fleet.namespace || machine === undefined) return
    waiting.push({ machine, claim: name, reason: outcome.reason, message: outcome.message })
  }
  const known = [...world.caches.claims.values()]
    .flatMap(object => readable(object, claimOf) ?? [])
    .filter(({ addressName, isDeleting }) => addressName === '' && !isDeleting)
  for (const claim of known.toSorted(oldestFirst)) serve(claim)
  for (const machine of fleet.machines) for (const claim of unmadeClaims(machine, world)) serve(claim)
  return waiting
}

function oldestFirst({ metadata: one }: IPAddressClaim, { metadata: other }: IPAddressClaim): number {
  const [a, b] = [one, other].map(
    ({ creationTimestamp, namespace, name }) => `${creationTimestamp} ${namespace}/${name}`,
  )
  return (a ?? '') < (b ?? '') ? -1 : 1
}

const wantedOf = ({ metadata, providerSpec }: Machine) =>
  providerSpec === undefined || isMalformed(providerSpec) || wishFaults(providerSpec).length > 0
    ? []
    : wantedBy(metadata.name, providerSpec)

function machinesByClaim({ machines }: Fleet): ReadonlyMap<string, string> {
  return new Map(machines.flatMap(machine => wantedOf(machine).map(({ name }) => [name, machine.metadata.name])))
}

/** Of a Machine that was made a moment ago. One whose virtual machine is there gets none that it has not had. */
function unmadeClaims(machine: Machine, { caches }: ListedWorld): IPAddressClaim[] {
  if (machine.isDeleting || hasInstance(machine)) return []
  const { namespace } = machine.metadata
  return wantedOf(machine)
    .filter(({ name }) => caches.claims.get(`${namespace}/${name}`) === undefined)
    .map(({ name, poolRef }) => claimToCome(namespace, name, poolRef))
}

// --- what is counted of one order ---

interface PoolTally {
  readonly reference: PoolReference
  readonly identity: Identity | undefined
  /** Entries of the template that name it. */
  readonly perMachine: number
  readonly free: number | undefined
  /** When what rests of it comes free. */
  readonly restsEnd: readonly string[]
  gets: number
  /** Taken and not come back, if what is released rests, and if not; and the most that it came to. */
  out: number
  outAtLeast: number
  peak: number
  peakAtLeast: number
  waitsAt: number | undefined
  stallsAt: number | undefined
  denied: Denied | undefined
}

interface Tally {
  readonly order: Order
  readonly pools: readonly PoolTally[]
  /** New Machines that were rehearsed. */
  done: number
}

function newMachines({ what, present, to, idle, fault }: Order): number {
  if (idle !== undefined || fault !== undefined) return 0
  return what === 'scale' ? Math.max(0, to - present.length) : present.length
}

function tallyOf(order: Order, fleet: Fleet, world: ListedWorld): Tally {
  const byKey = new Map<string, PoolReference[]>()
  for (const reference of order.pools) {
    const key = `${reference.apiGroup} ${reference.kind} ${reference.name}`
    byKey.set(key, [...(byKey.get(key) ?? []), reference])
  }
  const pools = [...byKey.values()].flatMap(([reference, ...more]) => {
    if (reference === undefined) return []
    const identity = identityOf(reference, fleet)
    const pool = findPool(world.caches, identity)
    const counts = { gets: 0, out: 0, outAtLeast: 0, peak: 0, peakAtLeast: 0 }
    const perMachine = 1 + more.length
    return [
      {
        reference,
        identity,
        perMachine,
        free: pool && freeOf(pool, world),
        restsEnd: pool === undefined || pool.space === '' ? [] : restingOf(pool, world).map(({ until = '' }) => until),
        ...counts,
        waitsAt: undefined,
        stallsAt: undefined,
        denied: undefined,
      },
    ]
  })
  return { order, pools, done: 0 }
}

const identityOf = (poolRef: PoolReference, { namespace }: Fleet): Identity | undefined =>
  poolNamedBy({ poolRef, metadata: claimToCome(namespace, 'of a Machine', poolRef).metadata })

/** Undefined while the space of the pool is not decided: then nothing is given out. */
function freeOf(pool: Pool, { ledger }: Pick<ListedWorld, 'ledger'>): number | undefined {
  if (pool.space === '') return undefined
  const { free } = capacityOf(pool, ledger.indexOf(pool.space))
  return Number(free < BigInt(Number.MAX_SAFE_INTEGER) ? free : Number.MAX_SAFE_INTEGER)
}

// --- sets that grow ---

/** Any user who may write a MachineSet may ask for billions: the sets take turns, so that the others are judged all the same. */
function grow(tallies: readonly Tally[], fleet: Fleet, world: ListedWorld): void {
  let left = rehearsedClaimsMax
  for (let n = 1; left > 0; n++) {
    const growing = tallies.filter(({ order, pools }) => pools.length > 0 && newMachines(order) >= n)
    if (growing.length === 0) return
    for (const tally of growing) {
      left -= tally.order.pools.length
      for (const pool of tally.pools) takeAll(pool, tally, n, fleet, world)
      tally.done++
    }
  }
}

function takeAll(pool: PoolTally, { order }: Tally, n: number, { namespace }: Fleet, world: ListedWorld): void {
  for (let i = 0; i < pool.perMachine; i++) {
    const outcome = take(claimToCome(namespace, nameToCome(order, n, pool, i), pool.reference), world)
    if (outcome.kind === 'denied') {
      pool.stallsAt ??= n
      pool.denied ??= outcome
    } else pool.gets++
  }
}

/** With blanks: no reservation is for a name that Kubernetes makes up later. */
const nameToCome = ({ what, set }: Order, n: number, { reference }: PoolTally, i: number): string =>
  `${what} ${set.type} ${set.metadata.name} ${n} ${reference.apiGroup} ${reference.kind} ${reference.name} ${i}`

// --- Machines that are replaced ---

function replace(tally: Tally, fleet: Fleet, nowMs: number, world: ListedWorld): void {
  const { order, pools } = tally
  const claims = claimsByMachine(fleet, world)
  const isBefore = order.set.type === 'ControlPlaneMachineSet'
  const old = pools.length > 0 ? order.present : []
  const givenBy = (machine: Machine) => claims.get(machine.metadata.name) ?? []
  for (const machine of old) count(pools, givenBy(machine), world)
  for (const [i, machine] of old.entries()) {
    const n = i + 1
    const given = givenBy(machine)
    let isReleased = false
    const letGo = () => {
      for (const claim of isReleased ? [] : given) release(claim, nowMs, world)
      isReleased = true
    }
    for (const pool of pools) if (!replaceOne(pool, tally, n, fleet, world, isBefore ? undefined : letGo)) return
    letGo()
    tally.done++
  }
}

/** False where it stalls: then nothing after it is replaced. */
function replaceOne(
  pool: PoolTally,
  { order }: Tally,
  n: number,
  { namespace }: Fleet,
  world: ListedWorld,
  letGo: (() => void) | undefined,
): boolean {
  for (let i = 0; i < pool.perMachine; i++) {
    const claim = claimToCome(namespace, nameToCome(order, n, pool, i), pool.reference)
    let outcome = take(claim, world)
    if (outcome.kind === 'denied' && letGo !== undefined) {
      letGo()
      outcome = take(claim, world)
    }
    const found = findPool(world.caches, pool.identity)
    while (outcome.kind === 'denied' && found !== undefined && isHelpedByRest(outcome) && awaitRest(found, world)) {
      pool.waitsAt ??= n
      outcome = take(claim, world)
    }
    if (outcome.kind === 'denied') {
      pool.stallsAt = n
      pool.denied = outcome
      return false
    }
    pool.gets++
  }
  return true
}

const isHelpedByRest = ({ reason }: Denied): boolean => reason === 'PoolExhausted' || reason === 'RestQuotaReached'

/** How many are out at once, by what the old Machine gives back. */
function count(pools: readonly PoolTally[], given: readonly IPAddressClaim[], world: ListedWorld): void {
  for (const pool of pools) {
    const back = given.filter(claim => isOf(claim, pool)).length
    pool.out += pool.perMachine
    pool.outAtLeast += pool.perMachine
    pool.peak = Math.max(pool.peak, pool.out)
    pool.peakAtLeast = Math.max(pool.peakAtLeast, pool.outAtLeast)
    if (restSecondsIn(pool, world) === 0) pool.out -= back
    pool.outAtLeast -= back
  }
}

/** A pool that is not there, or on its way out, gives the new Machines nothing, and what rests there helps none. */
const restSecondsIn = ({ identity }: PoolTally, { sources }: ListedWorld): number =>
  (identity && restSecondsOfPool(identity, sources)) ?? 0

function isOf(claim: IPAddressClaim, { identity }: PoolTally): boolean {
  const own = poolNamedBy(claim)
  return own !== undefined && identity !== undefined && identityKey(own) === identityKey(identity)
}

/** The claims of each Machine, by its name: those that it controls, and those of its names that have no controller. */
function claimsByMachine(fleet: Fleet, { caches }: ListedWorld): ReadonlyMap<string, readonly IPAddressClaim[]> {
  const byName = machinesByClaim(fleet)
  const found = new Map<string, IPAddressClaim[]>()
  for (const object of caches.claims.values()) {
    const claim = readable(object, claimOf)
    if (claim === undefined || !keyOf(object).startsWith(`${fleet.namespace}/`)) continue
    const machine = controllingMachine(claim.metadata)?.name ?? byName.get(claim.metadata.name)
    if (machine !== undefined) found.set(machine, [...(found.get(machine) ?? []), claim])
  }
  return found
}

// --- the result ---

function resultOf(tally: Tally, all: readonly Tally[], world: ListedWorld): OrderResult {
  const { order } = tally
  const { what, set, present, to, idle, fault } = order
  const pools = tally.pools.map(pool => needOf(pool, tally, all, world))
  const about = { what, set: setText(set), from: present.length, to, pools }
  const total = newMachines(order)
  const isCut = tally.done < total && pools.length > 0 && pools.every(({ stallsAt }) => stallsAt === undefined)
  const words = { ...about, isControlPlane: set.type === 'ControlPlaneMachineSet', total }
  const sentenceOf = what === 'scale' ? scaleSentence : rollOutSentence
  const why = idle ?? fault
  const sentences = () => {
    if (why !== undefined) return [`${about.set}: ${why}`]
    if (total === 0) return [`${about.set} has ${present.length} Machines, and needs no more`]
    if (pools.length === 0) return [`${about.set} takes no address of a pool`]
    const cut = `${about.set}: only the first ${tally.done} of ${total} new Machines were looked at`
    return [...pools.map(pool => sentenceOf(words, pool)), ...(isCut ? [cut] : [])]
  }
  return { ...about, verdict: verdictOf(order, pools, isCut), sentences: sentences() }
}

function verdictOf({ fault, what, present, to }: Order, pools: readonly PoolNeed[], isCut: boolean): Forecast {
  const isNeeded = what === 'rollOut' || to > present.length
  if (fault !== undefined) return isNeeded ? 'stalls' : 'enough'
  const stalled = pools.filter(({ stallsAt }) => stallsAt !== undefined)
  if (stalled.some(({ reason }) => reason !== notServedReason)) return 'stalls'
  if (isCut || stalled.length > 0) return 'unknown'
  return pools.some(({ waitsAt }) => waitsAt !== undefined) ? 'waits' : 'enough'
}

function needOf(pool: PoolTally, { order }: Tally, all: readonly Tally[], world: ListedWorld): PoolNeed {
  const total = newMachines(order)
  const isScale = order.what === 'scale'
  const needs = isScale ? total * pool.perMachine : pool.peak
  // A MachineSet lets the old Machine go without waiting for the new one.
  const leastOfRollOut = order.set.type === 'MachineSet' ? 0 : pool.peakAtLeast
  const missing = Math.max(0, needs - pool.gets)
  const isRival = (other: Tally) =>
    other.order.set !== order.set && newMachines(other.order) > 0 && other.pools.some(one => isSame(one, pool))
  return {
    pool: pool.identity === undefined ? referenceText(pool.reference) : poolText(pool.identity),
    needs,
    needsAtLeast: isScale ? needs : leastOfRollOut,
    free: pool.free,
    gets: pool.gets,
    restSeconds: restSecondsIn(pool, world),
    waitsAt: pool.waitsAt,
    stallsAt: pool.stallsAt,
    reason: pool.denied?.reason ?? '',
    message: pool.denied?.message ?? '',
    restsEnd: pool.restsEnd.slice(0, missing),
    rivals: [...new Set(all.filter(isRival).map(({ order: { set } }) => setText(set)))],
  }
}

const isSame = (one: PoolTally, other: PoolTally): boolean =>
  one.identity !== undefined &&
  other.identity !== undefined &&
  identityKey(one.identity) === identityKey(other.identity)
