// What the webhooks of claims and IPAddresses ask about the cluster. Answers come from caches and may be late.

import type { PoolReference } from '../../api/ip-address-claim.ts'
import type { Metadata } from '../../api/object.ts'
import { readable } from '../office/kept.ts'
import { claimOf, reportOf } from './parsed.ts'
import type { Caches } from './world.ts'

export interface CapiFacts {
  /**
   * The pool that a claim names, if there is such a claim. It may be late: whether an address is given to a claim is not
   * decided here.
   */
  poolOfClaim(namespace: string, name: string): PoolReference | undefined
  /**
   * What an IPAddress shows, as it stands there, if there is such an IPAddress, and the claim with this uid beside it: a request
   * that was made up does not know it.
   */
  addressOfReport(claim: Pick<Metadata, 'namespace' | 'name' | 'uid'>, name: string): string | undefined
}

/** Undefined until both kinds have been listed once. */
export function capiFacts({ claims, reports }: Pick<Caches, 'claims' | 'reports'>): CapiFacts | undefined {
  if (!claims.hasSynced || !reports.hasSynced) return undefined
  return {
    poolOfClaim(namespace, name) {
      return readable(claims.get(`${namespace}/${name}`), claimOf)?.poolRef
    },
    addressOfReport(claim, name) {
      const { namespace, uid } = claim
      if (uid === '' || claims.get(`${namespace}/${claim.name}`)?.metadata.uid !== uid) return undefined
      return readable(reports.get(`${namespace}/${name}`), reportOf)?.address
    },
  }
}
