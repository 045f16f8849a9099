// The ledger as this process knows it: every hold in view, and every address that a choice or an IPAddress shows without
// a hold (made by another provider, by hand, or moved here). It only suggests: whether an address is free is decided by the
// API server, which refuses a second hold of the same name. Nothing is suggested that anybody in view seems to have.

import { type Hold, type HoldSpec, holdName } from '../api/hold.ts'
import { identityKey } from '../api/object.ts'
import type { Pool } from '../api/pool.ts'
import type { IP } from '../ip/address.ts'
import { LedgerIndex } from '../ipam/ledger-index.ts'
import type { Block, SpaceIndex } from '../ipam/space-index.ts'

/** An address somebody shows: an IPAddress, or a claim with a stored choice; or is about to take. */
export interface Showing {
  /** Who shows it; one showing at a time each. */
  readonly by: string
  readonly pool: Pool
  readonly ip: IP
  readonly namespace: string
  readonly clusterName?: string
  /** A hold is on its way to the server: nobody else of this process is sent after it, and no quota is overdrawn. */
  readonly isIntent?: boolean
}

/** An address that may be free now, and from whom it came. */
export interface Freed {
  readonly space: string
  readonly block: Block
  /** Key of the pool it was given from. */
  readonly pool: string
  readonly namespace: string
}

interface Place {
  hold: Hold | undefined
  readonly shownBy: Map<string, Showing>
}

export class Ledger {
  readonly #index = new LedgerIndex()
  readonly #places = new Map<string, Place>()
  readonly #showings = new Map<string, string>()
  readonly #onFreed: (freed: Freed) => void

  /** `onFreed` is told whenever an address may have become free. */
  constructor(onFreed: (freed: Freed) => void) {
    this.#onFreed = onFreed
  }

  indexOf(space: string): SpaceIndex {
    return this.#index.spaceOf(space)
  }

  holdAt(space: string, ip: IP): Hold | undefined {
    return this.#places.get(holdName(space, ip))?.hold
  }

  /** Who shows the address; whoever is only about to take it does not count. */
  shownBy(space: string, ip: IP): string[] {
    const showings = this.#places.get(holdName(space, ip))?.shownBy.values() ?? []
    return [...showings].flatMap(({ by, isIntent }) => (isIntent === true ? [] : [by]))
  }

  putHold(hold: Hold): void {
    const place = this.#placeOf(hold.metadata.name)
    const wasHeld = place.hold?.state === 'held'
    place.hold = hold
    this.#index.put(hold)
    if (wasHeld && hold.state === 'quarantined') this.#onFreed(toFreed(hold))
  }

  removeHold(hold: Hold): void {
    const place = this.#places.get(hold.metadata.name)
    if (place === undefined) return
    place.hold = undefined
    this.#settle(hold.metadata.name, place, toFreed(hold))
  }

  show(showing: Showing): void {
    const name = holdName(showing.pool.space, showing.ip)
    const before = this.#showings.get(showing.by)
    if (before !== undefined && before !== name) this.hide(showing.by)
    this.#showings.set(showing.by, name)
    const place = this.#placeOf(name)
    place.shownBy.set(showing.by, showing)
    if (place.hold === undefined) this.#index.put(toShadow(showing))
  }

  hide(by: string): void {
    const name = this.#showings.get(by)
    const place = name === undefined ? undefined : this.#places.get(name)
    this.#showings.delete(by)
    const showing = place?.shownBy.get(by)
    if (name === undefined || place === undefined || showing === undefined) return
    place.shownBy.delete(by)
    if (place.hold === undefined) {
      this.#settle(name, place, toFreed(toShadow(showing)))
    }
  }

  #placeOf(name: string): Place {
    const place = this.#places.get(name) ?? { hold: undefined, shownBy: new Map<string, Showing>() }
    this.#places.set(name, place)
    return place
  }

  /** The hold is gone: whoever else shows the address keeps it taken, and may have waited for just that. */
  #settle(name: string, place: Place, freed: Freed): void {
    const [showing] = place.shownBy.values()
    if (showing === undefined) {
      this.#places.delete(name)
      this.#index.remove({ space: freed.space, ...freed.block })
    } else {
      this.#index.put(toShadow(showing))
    }
    this.#onFreed(freed)
  }
}

function toFreed({ space, ip, bits, pool, claim }: HoldSpec): Freed {
  return { space, block: { ip, bits }, pool: identityKey(pool), namespace: claim.namespace }
}

function toShadow({ pool, ip, namespace, clusterName }: Showing) {
  const claim = { apiGroup: '', kind: '', namespace, name: '', uid: '', ...(clusterName && { clusterName }) }
  return {
    space: pool.space,
    ip,
    bits: pool.bits,
    pool: pool.identity,
    claim,
    owner: undefined,
    state: 'held',
    since: '',
  } as const
}
