// Which addresses are in use as a gateway, and are given to no claim for that reason:
//
//   the gateway of a pool or network of the cluster     in its whole space: another pool that joins the space, and does not
//                                                       know the gateway, gives it to no claim either
//   what a pool of a namespace calls its gateway        in that pool alone (pool-set.ts): else a tenant could keep any address
//                                                       from the others in a space
//   what a pool called its gateway, as long as one of   in its whole space; of a pool of a namespace, if the pool lists it: it
//   its holders is told so: an IPAddress never changes  could as well give it to a claim
//
// Which prefix length and gateway the holders of a pool are told is counted here too: the webhook of the pool says so to a user
// that changes them.

import type { Subnet } from '../../api/ip-address.ts'
import { toSubnetText } from '../../api/ip-address.ts'
import { type Identity, identityKey } from '../../api/object.ts'
import { type Pool, poolKey } from '../../api/pool.ts'
import { bitsOf, type IP, isSameIP, parseIP } from '../../ip/address.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { hasIP } from '../../ip/range-set.ts'
import type { Ledger, Showing, ShownBy } from './ledger.ts'
import type { Sources } from './sources.ts'

/** What holders of a pool are told beside their address, and how many of them. */
export interface ToldSubnet extends Subnet {
  readonly count: number
}

export class Gateways {
  readonly #sources: Pick<Sources, 'poolsOf'>
  readonly #ledger: Pick<Ledger, 'show' | 'hide'>
  /** By key of the pool's object, then by text. */
  readonly #told = new Map<string, Map<string, ToldSubnet>>()
  /** Former gateways that the ledger shows, by key of the pool's object. */
  readonly #shown = new Map<string, ReadonlyMap<string, ShownBy>>()

  constructor(sources: Pick<Sources, 'subscribe' | 'poolsOf'>, ledger: Pick<Ledger, 'show' | 'hide'>) {
    this.#sources = sources
    this.#ledger = ledger
    sources.subscribe(({ old, new: pool, isChanged }) => {
      if (pool !== undefined && isShown(pool)) ledger.show(toShowing(pool, pool.gateway, gatewayOf(pool)))
      else if (old !== undefined) ledger.hide(gatewayOf(old), 'choice')
      const identity = (pool ?? old)?.identity
      if (isChanged && identity !== undefined) this.#showFormer(identity)
    })
  }

  /** One holder more is told so, or one less. */
  tell(pool: Identity, { prefix, gateway }: Subnet, change: 1 | -1): void {
    const key = identityKey(pool)
    const told = this.#told.get(key) ?? new Map<string, ToldSubnet>()
    const text = toSubnetText({ prefix, gateway })
    const count = (told.get(text)?.count ?? 0) + change
    if (count > 0) told.set(text, { prefix, gateway, count })
    else told.delete(text)
    if (told.size > 0) this.#told.set(key, told)
    else this.#told.delete(key)
    const hasComeOrGone = count === 0 || (count === 1 && change === 1)
    if (hasComeOrGone) this.#showFormer(pool)
  }

  toldOf(pool: Identity): readonly ToldSubnet[] {
    return [...(this.#told.get(identityKey(pool))?.values() ?? [])]
  }

  #showFormer(identity: Identity): void {
    const key = identityKey(identity)
    const before = this.#shown.get(key) ?? new Map<string, ShownBy>()
    const now = new Map<string, ShownBy>()
    for (const pool of this.#sources.poolsOf(identity)) {
      for (const { gateway } of this.toldOf(identity)) {
        const ip = parseIP(gateway)
        if (isMalformed(ip) || !isFormer(pool, ip)) continue
        const by = { kind: 'gateway', key: `${poolKey(pool)} ${gateway}` }
        now.set(by.key, by)
        this.#ledger.show(toShowing(pool, ip, by))
      }
    }
    for (const [text, by] of before) if (!now.has(text)) this.#ledger.hide(by, 'choice')
    if (now.size > 0) this.#shown.set(key, now)
    else this.#shown.delete(key)
  }
}

const gatewayOf = (pool: Pool): ShownBy => ({ kind: 'gateway', key: poolKey(pool) })

/** Where whole prefixes are given out, the gateway lies inside of one and blocks nothing. */
const givesAddresses = (pool: Pool): boolean => pool.bits === bitsOf(pool.family)

function isShown(pool: Pool): pool is Pool & { readonly gateway: IP } {
  return pool.gateway !== undefined && pool.identity.namespace === '' && givesAddresses(pool)
}

function isFormer(pool: Pool, ip: IP): boolean {
  if (ip.family !== pool.family || !givesAddresses(pool) || pool.space === '') return false
  if (pool.gateway !== undefined && isSameIP(pool.gateway, ip)) return false
  return pool.identity.namespace === '' || hasIP(pool.addresses, ip)
}

/** It is given by no pool, and counts for none. */
const noPool = { apiGroup: '', kind: 'gateway', namespace: '', name: '' }

function toShowing(pool: Pool, ip: IP, by: ShownBy): Showing {
  return { by, as: 'choice', pool: noPool, space: pool.space, ip, bits: bitsOf(ip.family), namespace: '' }
}
