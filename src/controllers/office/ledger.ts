// The ledger as this process knows it: every hold in the cache, and every address that a choice or a report shows without a hold
// (made by another provider, by hand, or moved here). It only suggests: whether an address is free is decided by the API
// server, which refuses a second hold of the same name. No address is suggested that an object in the caches shows.
//
// It also publishes what comes and goes, to its subscribers: only so are pools counted anew and waiting claims woken.

import type { Hold, HoldSpec } from '../../api/hold.ts'
import { type Identity, identityKey } from '../../api/object.ts'
import { type IP, isSameIP } from '../../ip/address.ts'
import { LedgerIndex, type Unread } from '../../ipam/ledger-index.ts'
import type { Block, SpaceIndex } from '../../ipam/space-index.ts'

/** The object that shows an address. */
export interface ShownBy {
  readonly kind: string
  /** Of the object: `namespace/name`, or `name`. */
  readonly key: string
  /** Which of several things of one claim the address is for. */
  readonly part?: string
}

/** What an object shows to have of a pool. Each object has one showing of each sort at a time, for each of its parts. */
export interface Showing {
  readonly by: ShownBy
  /**
   * A report keeps its pool from going, a choice does not. With an intent a hold is on its way to the server: no other pass
   * of this process is sent after the address, and no quota is overdrawn.
   */
  readonly as: 'report' | 'choice' | 'intent'
  readonly pool: Identity
  readonly space: string
  /** Undefined where the text, or the pool, cannot be read. Then nothing is counted. */
  readonly ip: IP | undefined
  readonly bits: number
  readonly namespace: string
  readonly clusterName?: string
}

/** Each part of an object has a showing of its own. */
const keyOfShower = ({ key, part }: ShownBy): string => (part === undefined ? key : `${key} ${part}`)

/** Of the same object, whichever part. */
export const isSameShower = (one: ShownBy, other: ShownBy): boolean => one.kind === other.kind && one.key === other.key

/** An address that may be free now, or no longer disputed, and the pool and namespace that had it. */
export interface Freed {
  readonly space: string
  readonly block: Block
  /** Key of the pool it was given from. */
  readonly pool: string
  readonly namespace: string
}

/** More, less or something else of a pool is in use than before. */
export interface LedgerChange {
  /** In which other pools may have more or less to give. */
  readonly space: string
  /** Key of the pool. */
  readonly pool: string
  readonly freed?: Freed
}

/** There are as many as addresses that are taken, so none carries more than it needs: two show one, as a rule. */
interface Place {
  hold: Hold | undefined
  /** In the order in which they came. */
  shownBy: readonly Showing[]
}

const none: readonly never[] = []

/**
 * Places by space and address. Not by the names of their holds: after a start each is asked for several times, and to make a name
 * takes longer than all else.
 */
class Places {
  readonly #spaces = new Map<string, Map<number | string, Place>>()

  find(space: string, ip: IP): Place | undefined {
    return this.#spaces.get(space)?.get(keyOfIP(ip))
  }

  make(space: string, ip: IP): Place {
    const known = this.find(space, ip)
    if (known !== undefined) return known
    const place: Place = { hold: undefined, shownBy: none }
    const places = this.#spaces.get(space) ?? new Map<number | string, Place>()
    this.#spaces.set(space, places.set(keyOfIP(ip), place))
    return place
  }

  delete(space: string, ip: IP): void {
    const places = this.#spaces.get(space)
    places?.delete(keyOfIP(ip))
    if (places?.size === 0) this.#spaces.delete(space)
  }

  holdNamed(name: string): Hold | undefined {
    for (const places of this.#spaces.values()) {
      for (const { hold } of places.values()) if (hold?.metadata.name === name) return hold
    }
    return undefined
  }
}

const keyOfIP = ({ family, w0, w1, w2, w3 }: IP): number | string => (family === 4 ? w3 : `${w0},${w1},${w2},${w3}`)

export class Ledger {
  readonly #index: LedgerIndex
  readonly #places = new Places()
  /** By sort, then by kind, then by key of the object. */
  readonly #showings = {
    report: new Map<string, Map<string, Showing>>(),
    choice: new Map<string, Map<string, Showing>>(),
    intent: new Map<string, Map<string, Showing>>(),
  }
  readonly #isBound = new Map<string, (key: string) => boolean>()
  /** Those as reports, by key of the pool. */
  readonly #reports = new Map<string, Set<Showing>>()
  readonly #subscribers = new Set<(change: LedgerChange) => void>()

  constructor(unread?: Unread) {
    this.#index = new LedgerIndex(unread)
  }

  subscribe(onChange: (change: LedgerChange) => void): void {
    this.#subscribers.add(onChange)
  }

  indexOf(space: string): SpaceIndex {
    return this.#index.spaceOf(space)
  }

  holdAt(space: string, ip: IP): Hold | undefined {
    return this.#places.find(space, ip)?.hold
  }

  /** The holds of a space that are in quarantine. */
  *restingIn(space: string): Generator<Hold, void, undefined> {
    for (const { ip } of this.indexOf(space).resting()) {
      const hold = this.holdAt(space, ip)
      if (hold !== undefined) yield hold
    }
  }

  /** Everything that shows the address; a pass that is only about to take it does not count. */
  shownAt(space: string, ip: IP): Showing[] {
    const showings = this.#places.find(space, ip)?.shownBy ?? none
    return showings.filter(({ as }) => as !== 'intent')
  }

  isShownBy(by: ShownBy, as: Showing['as'], space: string, ip: IP): boolean {
    const showings = this.#places.find(space, ip)?.shownBy ?? none
    return showings.some(showing => showing.as === as && isSameShower(showing.by, by))
  }

  /** Sets, for a kind of report, how to find out whether a bound claim stands behind one. */
  judgeBound(kind: string, isBound: (key: string) => boolean): void {
    this.#isBound.set(kind, isBound)
  }

  /** Whether a bound claim stands behind what is shown, by the caches: only that counts against another bound claim. */
  isBound({ kind, key }: ShownBy): boolean {
    return this.#isBound.get(kind)?.(key) === true
  }

  /** Whether a report names the pool, readable or not. */
  isReported(pool: Identity): boolean {
    return this.#reports.has(identityKey(pool))
  }

  /** What reports show of the pool, as far as it can be read; with and without a hold. */
  *reportedOf(pool: Identity): Generator<Block, void, undefined> {
    for (const { ip, bits } of this.#reports.get(identityKey(pool)) ?? []) {
      if (ip !== undefined) yield { ip, bits }
    }
  }

  putHold(hold: Hold): void {
    const place = this.#places.make(hold.space, hold.ip)
    const before = place.hold
    place.hold = hold
    this.#index.put(hold)
    // Or it does not rest any more, which leaves room in a quota.
    const isReleased = before !== undefined && before.state !== hold.state
    const freed = isReleased ? toFreed(before) : undefined
    // Out of quarantine, it may have come to another pool.
    const isMoved = before !== undefined && identityKey(before.pool) !== identityKey(hold.pool)
    if (isMoved) this.#publish(before, freed)
    this.#publish(hold, isMoved ? undefined : freed)
  }

  removeHold({ space, ip }: Pick<Hold, 'space' | 'ip'>): void {
    const place = this.#places.find(space, ip)
    const hold = place?.hold
    if (place === undefined || hold === undefined) return
    place.hold = undefined
    this.#settle(place, hold)
  }

  /** The hold that an object of this name stood for when it could last be read. Looks at every hold. */
  holdNamed(name: string): Hold | undefined {
    return this.#places.holdNamed(name)
  }

  show(showing: Showing): void {
    const showings = this.#showingsOf(showing.by, showing.as)
    const before = showings.get(keyOfShower(showing.by))
    if (before !== undefined) {
      if (isSame(before, showing)) return
      this.hide(showing.by, showing.as)
    }
    const place = showing.ip && this.#places.make(showing.space, showing.ip)
    const kept = toKept(showing, place?.hold?.ip ?? place?.shownBy[0]?.ip ?? showing.ip)
    showings.set(keyOfShower(kept.by), kept)
    if (kept.as === 'report') this.#addReport(kept)
    if (showing.ip === undefined || place === undefined) return
    place.shownBy = place.shownBy.length === 0 ? [kept] : [...place.shownBy, kept]
    if (place.hold?.bits === showing.bits) return
    this.#index.put(toShadow(showing, showing.ip))
    // An intent is not published: the hold that follows it is.
    if (showing.as !== 'intent') this.#publish(showing)
  }

  hide(by: ShownBy, as: Showing['as']): void {
    const showings = this.#showingsOf(by, as)
    const showing = showings.get(keyOfShower(by))
    if (showing === undefined) return
    showings.delete(keyOfShower(by))
    const { space, ip } = showing
    if (as === 'report') this.#removeReport(showing)
    const place = ip && this.#places.find(space, ip)
    if (place !== undefined) place.shownBy = without(place.shownBy, showing)
    if (ip === undefined || place === undefined) {
      if (as === 'report') this.#publish(showing)
    } else if (place.hold?.bits !== showing.bits) {
      this.#settle(place, toShadow(showing, ip))
    } else if (as !== 'intent') {
      // The claim of the hold may have waited for just that: what another object shows is disputed.
      this.#publish(showing, toFreed(place.hold))
    }
  }

  #showingsOf({ kind }: ShownBy, as: Showing['as']): Map<string, Showing> {
    const known = this.#showings[as].get(kind)
    if (known !== undefined) return known
    const made = new Map<string, Showing>()
    this.#showings[as].set(kind, made)
    return made
  }

  #addReport(showing: Showing): void {
    const key = identityKey(showing.pool)
    const reports = this.#reports.get(key) ?? new Set<Showing>()
    this.#reports.set(key, reports.add(showing))
  }

  #removeReport(showing: Showing): void {
    const key = identityKey(showing.pool)
    const reports = this.#reports.get(key)
    reports?.delete(showing)
    if (reports?.size === 0) this.#reports.delete(key)
  }

  /** The hold is gone: another object that shows the address keeps it taken, and its claim may have waited for just that. */
  #settle(place: Place, gone: HoldSpec): void {
    if (place.hold === undefined && place.shownBy.length === 0) this.#places.delete(gone.space, gone.ip)
    // A block that begins with the same address is in the index by itself.
    const showing = place.shownBy.find(({ bits }) => bits === gone.bits)
    if (showing === undefined) this.#index.remove(gone)
    else this.#index.put(toShadow(showing, gone.ip))
    this.#publish(gone, toFreed(gone))
  }

  #publish({ space, pool }: Pick<HoldSpec, 'space' | 'pool'>, freed?: Freed): void {
    const change = { space, pool: identityKey(pool), ...(freed && { freed }) }
    for (const onChange of this.#subscribers) onChange(change)
  }
}

function without(showings: readonly Showing[], gone: Showing): readonly Showing[] {
  const others = showings.filter(showing => showing !== gone)
  return others.length === 0 ? none : others
}

/** Written out, and with the address that its place has already, it takes half the room. */
function toKept({ by, as, pool, space, bits, namespace, clusterName }: Showing, ip: IP | undefined): Showing {
  if (clusterName === undefined) return { by, as, pool, space, ip, bits, namespace }
  return { by, as, pool, space, ip, bits, namespace, clusterName }
}

function toFreed({ space, ip, bits, pool, claim }: HoldSpec): Freed {
  return { space, block: { ip, bits }, pool: identityKey(pool), namespace: claim.namespace }
}

function isSame(one: Showing, other: Showing): boolean {
  if (one.as !== other.as || one.space !== other.space || one.bits !== other.bits) return false
  if (one.namespace !== other.namespace || one.clusterName !== other.clusterName) return false
  if (identityKey(one.pool) !== identityKey(other.pool)) return false
  return one.ip === undefined || other.ip === undefined ? one.ip === other.ip : isSameIP(one.ip, other.ip)
}

/** What is on its way counts as held; what is only shown has no uid. */
function toShadow({ by, as, pool, space, bits, namespace, clusterName }: Showing, ip: IP) {
  const uid = as === 'intent' ? by.key : ''
  const claim = { apiGroup: '', kind: '', namespace, name: '', uid, ...(clusterName && { clusterName }) }
  return { space, ip, bits, pool, claim, owner: undefined, state: 'held', since: '' } as const
}
