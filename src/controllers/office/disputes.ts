// Whether an address that a claim takes for its own is also shown by another object. Any user may write an annotation or an
// IPAddress: against a claim that is bound, and has a hold or a report to prove it, only another bound claim counts. Else a
// user could take away what another was given.

import type { IP } from '../../ip/address.ts'
import { isSameShower, type Ledger, type Showing, type ShownBy } from './ledger.ts'

/** The claim that takes the address for its own. */
export interface Party {
  /** The objects of the claim: itself, and its report. */
  readonly own: readonly ShownBy[]
  /** It is bound, and has a hold or a report to prove it. */
  readonly isProven: boolean
  /** The objects of the claim that the address rests from: what they show on their way out is no use of it. */
  readonly former?: readonly ShownBy[]
}

export function isDisputed(
  ledger: Pick<Ledger, 'shownAt' | 'isBound'>,
  space: string,
  ip: IP,
  { own, isProven, former = [] }: Party,
): boolean {
  if (isProven) return isBoundToAnother(ledger, space, ip, own)
  return othersAt(ledger, space, ip, own).some(
    ({ as, by }) => !former.some(one => isSameShower(one, by)) || (as === 'report' && ledger.isBound(by)),
  )
}

/** Whether a reader, following some other claim to its report, finds this address. */
export function isBoundToAnother(
  ledger: Pick<Ledger, 'shownAt' | 'isBound'>,
  space: string,
  ip: IP,
  own: readonly ShownBy[],
): boolean {
  return othersAt(ledger, space, ip, own).some(({ as, by }) => as === 'report' && ledger.isBound(by))
}

export function othersAt(ledger: Pick<Ledger, 'shownAt'>, space: string, ip: IP, own: readonly ShownBy[]): Showing[] {
  return ledger.shownAt(space, ip).filter(({ by }) => !own.some(mine => isSameShower(mine, by)))
}
