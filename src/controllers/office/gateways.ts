// The gateway of a pool or network of the cluster is in use in its space: another pool that joins the space, and does not know the
// gateway, gives it to no claim. What a pool of a namespace calls its gateway counts for that pool alone: else a tenant could
// keep any address from the others in a space.

import { type Pool, poolKey } from '../../api/pool.ts'
import { bitsOf } from '../../ip/address.ts'
import type { Ledger, Showing, ShownBy } from './ledger.ts'
import type { Sources } from './sources.ts'

export function followGateways(sources: Pick<Sources, 'subscribe'>, ledger: Pick<Ledger, 'show' | 'hide'>): void {
  sources.subscribe(({ old, new: pool }) => {
    if (pool !== undefined && isShown(pool)) return ledger.show(toShowing(pool, pool.gateway))
    if (old !== undefined) ledger.hide(gatewayOf(old), 'choice')
  })
}

const gatewayOf = (pool: Pool): ShownBy => ({ kind: 'gateway', key: poolKey(pool) })

/** Where whole prefixes are given out, the gateway lies inside of one and blocks nothing. */
function isShown(pool: Pool): pool is Pool & { readonly gateway: NonNullable<Pool['gateway']> } {
  return pool.gateway !== undefined && pool.identity.namespace === '' && pool.bits === bitsOf(pool.family)
}

/** It is given by no pool, and counts for none. */
const noPool = { apiGroup: '', kind: 'gateway', namespace: '', name: '' }

function toShowing(pool: Pool, ip: NonNullable<Pool['gateway']>): Showing {
  return {
    by: gatewayOf(pool),
    as: 'choice',
    pool: noPool,
    space: pool.space,
    ip,
    bits: bitsOf(ip.family),
    namespace: '',
  }
}
