// The webhook of IPAddressClaims, by the rules of Cluster API: it names the group of its pool and never changes what it asks
// for. Beyond those, a warning about annotations that cannot be read, because a claim with such a wish waits. Its choice has a
// webhook of its own, wherever Mooring is: choice.ts.

import { changeFaults } from '../../../admission/immutable.ts'
import {
  annotationChanges,
  hasAnnotation,
  isCreated,
  type MatchCondition,
  specChanges,
} from '../../../admission/match-conditions.ts'
import { allowed, type Ruling } from '../../../admission/ruling.ts'
import { type Fields, fieldOf, specOf } from '../../../admission/spec.ts'
import { metal3RequestedAddressAnnotation, requestedAddressAnnotation } from '../../../api/names.ts'
import { globalPrefixPoolKind, prefixPoolKind } from '../../../api/prefix-pool.ts'
import { isRecord } from '../../../api/shape.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { parseWish } from '../../../ipam/wish.ts'
import { groupFaults } from './ip-address.ts'
import { namesNoGroup } from './match-conditions.ts'

const wishes = [requestedAddressAnnotation, metal3RequestedAddressAnnotation]

const whenCreated = [namesNoGroup, ...wishes.map(key => hasAnnotation('object', key))].join(' || ')
const whenUpdated = [specChanges, ...wishes.map(annotationChanges)].join(' || ')

export const whenClaimMatters: readonly MatchCondition[] = [
  { name: 'claim-is-wrong-or-wishes', expression: `${isCreated} ? ${whenCreated} : ${whenUpdated}` },
]

/** `old` is undefined on create, `next` on delete. */
export function admitIPAddressClaim(old: unknown, next: unknown): Ruling {
  if (next === undefined) return allowed()
  const faults = old === undefined ? groupFaults(specOf(next)) : changeFaults('IPAddressClaim', old, next)
  return faults.length > 0 ? { kind: 'forbidden', faults, warnings: [] } : allowed(wishWarnings(next))
}

function wishWarnings(object: unknown): string[] {
  const { kind } = recordIn(specOf(object), 'poolRef')
  const isOfPrefixes = kind === prefixPoolKind.kind || kind === globalPrefixPoolKind.kind
  const annotations = recordIn(isRecord(object) ? recordIn(object, 'metadata') : {}, 'annotations')
  return wishes.flatMap(key => {
    const text = fieldOf(annotations, key)
    const wish = typeof text === 'string' && text !== '' ? parseWish(text, isOfPrefixes) : undefined
    return isMalformed(wish) ? [`metadata.annotations[${key}]: ${wish.malformed}`] : []
  })
}

function recordIn(fields: Fields, key: string): Fields {
  const value = fieldOf(fields, key)
  return isRecord(value) ? value : {}
}
