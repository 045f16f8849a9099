// What the webhooks of claims and IPAddresses ask about the cluster. Answers come from caches and may be late.

import type { PoolReference } from '../../api/ip-address-claim.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { claimOf, reportOf } from './parsed.ts'
import type { Caches } from './world.ts'

export interface CapiFacts {
  /**
   * The pool that a claim names, if there is such a claim. It may be late: whether an address is given to a claim is not
   * decided here.
   */
  poolOfClaim(namespace: string, name: string): PoolReference | undefined
  /** What an IPAddress shows, as it stands there, if there is such an IPAddress. */
  addressOfReport(namespace: string, name: string): string | undefined
}

/** Undefined until both kinds have been listed once. */
export function capiFacts({ claims, reports }: Pick<Caches, 'claims' | 'reports'>): CapiFacts | undefined {
  if (!claims.hasSynced || !reports.hasSynced) return undefined
  return {
    poolOfClaim(namespace, name) {
      const object = claims.get(`${namespace}/${name}`)
      const claim = object && claimOf(object)
      return claim === undefined || isMalformed(claim) ? undefined : claim.poolRef
    },
    addressOfReport(namespace, name) {
      const object = reports.get(`${namespace}/${name}`)
      const report = object && reportOf(object)
      return report === undefined || isMalformed(report) ? undefined : report.address
    },
  }
}
