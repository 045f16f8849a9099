// Whether an address of a pool is in use: then the pool stays, and must go on offering that address.

import { type Identity, identityKey } from '../../../api/object.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import type { Ledger } from '../ledger.ts'
import { holdOf } from '../parsed.ts'
import type { Views } from '../views.ts'

/** A quarantined hold does not keep its pool: no claim has the address. A report does, also one that cannot be read. */
export function isPoolHeld(identity: Identity, { holds }: Pick<Views, 'holds'>, ledger: Ledger): boolean {
  if (ledger.isReported(identity)) return true
  return holds.byIndex('pool', identityKey(identity)).some(object => {
    const hold = holdOf(object)
    return !isMalformed(hold) && hold.state === 'held'
  })
}
