// Those that wait for one address, or for one MAC, by what they wait for: a release finds those that it helps without a look at all
// the others, of which one namespace may have thousands.

import { toIPText } from '../../ip/address.ts'
import { containsCIDR, firstIP } from '../../ip/cidr.ts'
import type { MACText } from '../../ip/mac.ts'
import type { Block } from '../../ipam/space-index.ts'

/** Without a block it is not known which. */
export type Wish =
  | { readonly kind: 'one'; readonly block: Block | undefined }
  | { readonly kind: 'mac'; readonly mac: MACText }

/** What blocks of one family and length are waited for, by the text of the first address. */
interface Plane<T> {
  readonly family: Block['ip']['family']
  readonly bits: number
  readonly wanted: Map<string, { readonly block: Block; readonly by: Set<T> }>
}

export class Wanted<T> {
  readonly #unknown = new Set<T>()
  /** Nearly every pool has one. */
  readonly #planes = new Map<string, Plane<T>>()
  readonly #macs = new Map<MACText, Set<T>>()

  get isEmpty(): boolean {
    return this.#unknown.size + this.#planes.size + this.#macs.size === 0
  }

  add(one: T, wish: Wish): void {
    if (wish.kind === 'mac') {
      const by = this.#macs.get(wish.mac) ?? new Set()
      this.#macs.set(wish.mac, by.add(one))
    } else if (wish.block === undefined) {
      this.#unknown.add(one)
    } else {
      const { wanted } = this.#planeOf(wish.block)
      const place = placeOf(wish.block)
      const by = wanted.get(place)?.by ?? new Set()
      wanted.set(place, { block: wish.block, by: by.add(one) })
    }
  }

  delete(one: T, wish: Wish): void {
    if (wish.kind === 'mac') {
      const by = this.#macs.get(wish.mac)
      by?.delete(one)
      if (by?.size === 0) this.#macs.delete(wish.mac)
    } else if (wish.block === undefined) {
      this.#unknown.delete(one)
    } else {
      const name = planeName(wish.block)
      const wanted = this.#planes.get(name)?.wanted
      const by = wanted?.get(placeOf(wish.block))?.by
      by?.delete(one)
      if (by?.size === 0) wanted?.delete(placeOf(wish.block))
      if (wanted?.size === 0) this.#planes.delete(name)
    }
  }

  /** Those that a free block may help: they want it, what it is part of, or a part of it. */
  helpedBy(freed: Block): T[] {
    const sets = [this.#unknown]
    for (const { family, bits, wanted } of this.#planes.values()) {
      if (family !== freed.ip.family) continue
      if (bits <= freed.bits) sets.push(wanted.get(placeOf({ ip: freed.ip, bits }))?.by ?? new Set())
      // A prefix is freed, and parts of it are waited for.
      else for (const { block, by } of wanted.values()) if (containsCIDR(freed, block)) sets.push(by)
    }
    return sets.flatMap(set => [...set])
  }

  helpedByMAC(mac: MACText): T[] {
    return [...(this.#macs.get(mac) ?? [])]
  }

  *all(): Generator<T, void, undefined> {
    yield* this.#unknown
    for (const { wanted } of this.#planes.values()) for (const { by } of wanted.values()) yield* by
    for (const by of this.#macs.values()) yield* by
  }

  #planeOf(block: Block): Plane<T> {
    const name = planeName(block)
    const plane = this.#planes.get(name) ?? { family: block.ip.family, bits: block.bits, wanted: new Map() }
    this.#planes.set(name, plane)
    return plane
  }
}

const planeName = ({ ip, bits }: Block): string => `${ip.family}/${bits}`
const placeOf = (block: Block): string => toIPText(firstIP(block))
