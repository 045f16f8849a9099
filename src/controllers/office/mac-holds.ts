// The holds of MACs, as the cache shows them. A hold that cannot be read is left out.

import { type MACHold, macHoldName } from '../../api/mac-hold.ts'
import type { MACText } from '../../ip/mac.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { type Permission, permission } from '../component.ts'
import { macHolds } from './kinds.ts'
import { macHoldOf } from './parsed.ts'
import type { Views } from './views.ts'

export function macHoldsOfClaim({ macHolds }: Pick<Views, 'macHolds'>, uid: string): MACHold[] {
  return macHolds.byIndex('claim', uid).flatMap(object => {
    const hold = macHoldOf(object)
    return isMalformed(hold) ? [] : [hold]
  })
}

/** The hold of a MAC in a space, whichever claim has it. */
export function macHoldAt({ macHolds }: Pick<Views, 'macHolds'>, space: string, mac: MACText): MACHold | undefined {
  const object = macHolds.get(macHoldName(space, mac))
  const hold = object && macHoldOf(object)
  return isMalformed(hold) ? undefined : hold
}

/** For a desk whose claims hold MACs: what the office does with them in its name. */
export const macHoldPermission: Permission = permission(
  macHolds,
  ['get', 'create', 'patch', 'delete'],
  'no MAC can be held',
)
