// Which addresses are in use as a gateway, or are kept for such use, and are given to no claim for that reason:
//
//   the gateway of a pool of the cluster; gateway,      in its whole space: another pool that joins the space, and does not
//   management address and infrastructure of a network  know them, gives none of them to a claim either
//   that a ClusterUserDefinedNetwork defines
//   what a pool of a namespace calls its gateway, or a  in that pool or network alone (pool-set.ts): else a tenant could keep
//   network that a tenant defines keeps for itself      any address from the others in a space
//   what a pool called its gateway, as long as one of   in its whole space; of a pool of a namespace, if the pool lists it and
//   its holders is told so: an IPAddress never changes  is not refused the space: it could as well give it to a claim
//
// Which prefix length and gateway the holders of a pool are told is counted here too: the webhook of the pool says so to a user
// that changes them.

import type { Subnet } from '../../api/ip-address.ts'
import { toSubnetText } from '../../api/ip-address.ts'
import { type Identity, identityKey } from '../../api/object.ts'
import { type Pool, poolKey } from '../../api/pool.ts'
import { bitsOf, type IP, isSameIP, parseIP } from '../../ip/address.ts'
import { toCIDRText } from '../../ip/cidr.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { hasIP } from '../../ip/range-set.ts'
import type { Block } from '../../ipam/space-index.ts'
import { networkKind } from '../../networks/network.ts'
import type { Ledger, Showing, ShownBy } from './ledger.ts'
import type { Sources } from './sources.ts'

/** What holders of a pool are told beside their address, and how many of them. */
export interface ToldSubnet extends Subnet {
  readonly count: number
}

export class Gateways {
  readonly #sources: Pick<Sources, 'poolsOf' | 'whySpaceRefused'>
  readonly #ledger: Pick<Ledger, 'show' | 'hide'>
  /** By key of the pool's object, then by text. */
  readonly #told = new Map<string, Map<string, ToldSubnet>>()
  /** What the ledger shows, by key of the pool's object. */
  readonly #shown = new Map<string, ReadonlyMap<string, ShownBy>>()

  constructor(
    sources: Pick<Sources, 'subscribe' | 'poolsOf' | 'whySpaceRefused'>,
    ledger: Pick<Ledger, 'show' | 'hide'>,
  ) {
    this.#sources = sources
    this.#ledger = ledger
    sources.subscribe(({ old, new: pool, isChanged }) => {
      const identity = (pool ?? old)?.identity
      if (isChanged && identity !== undefined) this.#show(identity)
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
    if (hasComeOrGone) this.#show(pool)
  }

  toldOf(pool: Identity): readonly ToldSubnet[] {
    return [...(this.#told.get(identityKey(pool))?.values() ?? [])]
  }

  #show(identity: Identity): void {
    const key = identityKey(identity)
    const before = this.#shown.get(key) ?? new Map<string, ShownBy>()
    const now = new Map<string, ShownBy>()
    for (const pool of this.#sources.poolsOf(identity)) {
      // Its space is not decided yet.
      if (pool.space === '') continue
      for (const block of [...keptBy(pool), ...this.#formerOf(pool)]) {
        const by = { kind: 'gateway', key: `${poolKey(pool)} ${toCIDRText(block)}` }
        now.set(by.key, by)
        this.#ledger.show(toShowing(pool, block, by))
      }
    }
    for (const [text, by] of before) if (!now.has(text)) this.#ledger.hide(by, 'choice')
    if (now.size > 0) this.#shown.set(key, now)
    else this.#shown.delete(key)
  }

  #formerOf(pool: Pool): Block[] {
    const told = this.toldOf(pool.identity)
    // The space that its status says may be one that it was never given.
    if (told.length === 0 || this.#sources.whySpaceRefused(pool) !== undefined) return []
    return told.flatMap(({ gateway }) => {
      const ip = parseIP(gateway)
      return isMalformed(ip) || !isFormer(pool, ip) ? [] : [{ ip, bits: bitsOf(ip.family) }]
    })
  }
}

/** Where whole prefixes are given out, the gateway lies inside of one and blocks nothing. */
const givesAddresses = (pool: Pool): boolean => pool.bits === bitsOf(pool.family)

function keptBy(pool: Pool): readonly Block[] {
  const { identity, gateway, bits } = pool
  if (identity.kind === networkKind) return pool.infrastructure
  return gateway !== undefined && identity.namespace === '' && givesAddresses(pool) ? [{ ip: gateway, bits }] : []
}

function isFormer(pool: Pool, ip: IP): boolean {
  if (ip.family !== pool.family || !givesAddresses(pool)) return false
  if (pool.gateway !== undefined && isSameIP(pool.gateway, ip)) return false
  return pool.identity.namespace === '' || hasIP(pool.addresses, ip)
}

/** It is given by no pool, and counts for none. */
const noPool = { apiGroup: '', kind: 'gateway', namespace: '', name: '' }

const toShowing = ({ space }: Pool, { ip, bits }: Block, by: ShownBy): Showing => ({
  by,
  as: 'choice',
  pool: noPool,
  space,
  ip,
  bits,
  namespace: '',
})
