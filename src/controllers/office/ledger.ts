// The ledger as this process knows it: every hold in view, and every address that a choice or a report shows without a hold
// (made by another provider, by hand, or moved here). It only suggests: whether an address is free is decided by the API
// server, which refuses a second hold of the same name. Nothing is suggested that anybody in view seems to have.
//
// It is also the one teller of what comes and goes: pools count anew, and whoever waits is woken, by its word alone.

import { type Hold, type HoldSpec, holdName } from '../../api/hold.ts'
import { type Identity, identityKey } from '../../api/object.ts'
import { type IP, isSameIP } from '../../ip/address.ts'
import { LedgerIndex } from '../../ipam/ledger-index.ts'
import type { Block, SpaceIndex } from '../../ipam/space-index.ts'

/** What somebody shows to have of a pool. */
export interface Showing {
  /** Who shows it, by kind and key, for desks share the ledger; one showing at a time each. */
  readonly by: string
  /**
   * A report keeps its pool from going, a choice does not. With an intent a hold is on its way to the server: nobody else of
   * this process is sent after the address, and no quota is overdrawn.
   */
  readonly as: 'report' | 'choice' | 'intent'
  readonly pool: Identity
  readonly space: string
  /** Undefined where nobody can tell which: it cannot be read, or its pool cannot. Then nothing is counted. */
  readonly ip: IP | undefined
  readonly bits: number
  readonly namespace: string
  readonly clusterName?: string
}

/** An address that may be free now, or no longer disputed, and from whom it came. */
export interface Freed {
  readonly space: string
  readonly block: Block
  /** Key of the pool it was given from. */
  readonly pool: string
  readonly namespace: string
}

/** Somebody has more, less or something else of a pool than before. */
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

const nobody: readonly never[] = []

export class Ledger {
  readonly #index = new LedgerIndex()
  readonly #places = new Map<string, Place>()
  readonly #showings = new Map<string, Showing>()
  /** By key of the pool. */
  readonly #reports = new Map<string, number>()
  readonly #subscribers = new Set<(change: LedgerChange) => void>()

  subscribe(onChange: (change: LedgerChange) => void): void {
    this.#subscribers.add(onChange)
  }

  indexOf(space: string): SpaceIndex {
    return this.#index.spaceOf(space)
  }

  holdAt(space: string, ip: IP): Hold | undefined {
    return this.#places.get(holdName(space, ip))?.hold
  }

  /** Who shows the address; whoever is only about to take it does not count. */
  shownBy(space: string, ip: IP): string[] {
    const showings = this.#places.get(holdName(space, ip))?.shownBy ?? nobody
    return showings.flatMap(({ by, as }) => (as === 'intent' ? [] : [by]))
  }

  /** Whether a report names the pool, readable or not. */
  isReported(pool: Identity): boolean {
    return this.#reports.has(identityKey(pool))
  }

  putHold(hold: Hold): void {
    const place = this.#placeOf(hold.metadata.name)
    const before = place.hold
    place.hold = hold
    this.#index.put(hold)
    const isReleased = before?.state === 'held' && hold.state === 'quarantined'
    // Out of quarantine, it may have come to another pool.
    if (before !== undefined && identityKey(before.pool) !== identityKey(hold.pool)) this.#tell(before)
    this.#tell(hold, isReleased ? toFreed(hold) : undefined)
  }

  removeHold(name: string): void {
    const place = this.#places.get(name)
    const hold = place?.hold
    if (place === undefined || hold === undefined) return
    place.hold = undefined
    this.#settle(name, place, hold)
  }

  show(showing: Showing): void {
    const before = this.#showings.get(showing.by)
    if (before !== undefined) {
      if (isSame(before, showing)) return
      this.hide(showing.by)
    }
    if (showing.as === 'report') this.#countReport(showing.pool, 1)
    const place = showing.ip && this.#placeOf(holdName(showing.space, showing.ip))
    const kept = toKept(showing, place?.hold?.ip ?? place?.shownBy[0]?.ip ?? showing.ip)
    this.#showings.set(kept.by, kept)
    if (showing.ip === undefined || place === undefined) return
    place.shownBy = place.shownBy.length === 0 ? [kept] : [...place.shownBy, kept]
    if (place.hold !== undefined) return
    this.#index.put(toShadow(showing, showing.ip))
    // The hold that follows an intent is told.
    if (showing.as !== 'intent') this.#tell(showing)
  }

  hide(by: string): void {
    const showing = this.#showings.get(by)
    if (showing === undefined) return
    this.#showings.delete(by)
    const { as, pool, space, ip } = showing
    if (as === 'report') this.#countReport(pool, -1)
    const name = ip && holdName(space, ip)
    const place = name === undefined ? undefined : this.#places.get(name)
    if (place !== undefined) place.shownBy = without(place.shownBy, by)
    if (ip === undefined || name === undefined || place === undefined) {
      if (as === 'report') this.#tell(showing)
    } else if (place.hold === undefined) {
      this.#settle(name, place, toShadow(showing, ip))
    } else if (as !== 'intent') {
      // Whose hold it is may have waited for just that: what another shows is disputed.
      this.#tell(showing, toFreed(place.hold))
    }
  }

  #placeOf(name: string): Place {
    const known = this.#places.get(name)
    if (known !== undefined) return known
    const place: Place = { hold: undefined, shownBy: nobody }
    this.#places.set(name, place)
    return place
  }

  #countReport(pool: Identity, change: 1 | -1): void {
    const key = identityKey(pool)
    const count = (this.#reports.get(key) ?? 0) + change
    if (count === 0) this.#reports.delete(key)
    else this.#reports.set(key, count)
  }

  /** The hold is gone: whoever else shows the address keeps it taken, and may have waited for just that. */
  #settle(name: string, place: Place, gone: HoldSpec): void {
    const [showing] = place.shownBy
    if (showing === undefined) {
      this.#places.delete(name)
      this.#index.remove(gone)
    } else {
      this.#index.put(toShadow(showing, gone.ip))
    }
    this.#tell(gone, toFreed(gone))
  }

  #tell({ space, pool }: Pick<HoldSpec, 'space' | 'pool'>, freed?: Freed): void {
    const change = { space, pool: identityKey(pool), ...(freed && { freed }) }
    for (const onChange of this.#subscribers) onChange(change)
  }
}

function without(showings: readonly Showing[], by: string): readonly Showing[] {
  const others = showings.filter(showing => showing.by !== by)
  return others.length === 0 ? nobody : others
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
  if (one.namespace !== other.namespace || identityKey(one.pool) !== identityKey(other.pool)) return false
  return one.ip === undefined || other.ip === undefined ? one.ip === other.ip : isSameIP(one.ip, other.ip)
}

function toShadow({ pool, space, bits, namespace, clusterName }: Showing, ip: IP) {
  const claim = { apiGroup: '', kind: '', namespace, name: '', uid: '', ...(clusterName && { clusterName }) }
  return { space, ip, bits, pool, claim, owner: undefined, state: 'held', since: '' } as const
}
