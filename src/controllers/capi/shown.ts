// What IPAddresses and the choices of IPAddressClaims show to have. The ledger is kept equal to it whichever desks are on: an
// address that an IPAddress shows is in use, whether or not this process serves its claim.

import type { IPAddress } from '../../api/ip-address.ts'
import { type IPAddressClaim, poolOfClaim } from '../../api/ip-address-claim.ts'
import { type Identity, identityKey } from '../../api/object.ts'
import { parseIP } from '../../ip/address.ts'
import { firstIP } from '../../ip/cidr.ts'
import { isMalformed, type Malformed } from '../../ip/malformed.ts'
import { type Change, isSpecChange } from '../../kube/cache.ts'
import { type KubeObject, keyOf } from '../../kube/object.ts'
import type { Ledger, Showing, ShownBy } from '../office/ledger.ts'
import { poolOf } from '../office/parsed.ts'
import { findPool } from '../office/views.ts'
import { claimOf, reportOf } from './parsed.ts'
import { poolOfReport } from './whose.ts'
import type { Caches } from './world.ts'

export const reportNamed = (key: string): ShownBy => ({ kind: 'IPAddress', key })
export const claimNamed = (key: string): ShownBy => ({ kind: 'IPAddressClaim', key })

/** The objects that speak for a claim. */
export const ownOf = (key: string): readonly ShownBy[] => [reportNamed(key), claimNamed(key)]

type Seen = Pick<Caches, 'claims' | 'reports' | 'pools'>

export function followShown(caches: Seen, ledger: Ledger): void {
  caches.reports.subscribe(change => showReport(caches, ledger, change))
  caches.claims.subscribe(change => showChoice(caches, ledger, change))
  for (const cache of caches.pools.values()) {
    // Addresses that came before their pool show from now on.
    cache.subscribe(change => {
      if (!isSpecChange(change)) return
      const pool = change.new && poolOf(change.new)
      if (pool === undefined || isMalformed(pool)) return
      const key = identityKey(pool.identity)
      for (const object of caches.reports.byIndex('pool', key)) showReport(caches, ledger, { new: object })
      for (const object of caches.claims.byIndex('pool', key)) showChoice(caches, ledger, { new: object })
    })
  }
}

/** The claim says that it is bound, is not being deleted, and the IPAddress of its name names it. */
export function isBound({ claims, reports }: Pick<Caches, 'claims' | 'reports'>, key: string): boolean {
  const claim = readable(claims.get(key), claimOf)
  const report = readable(reports.get(key), reportOf)
  if (claim === undefined || report === undefined || claim.isDeleting || claim.addressName === '') return false
  return report.metadata.ownerReferences.some(({ uid }) => uid === claim.metadata.uid)
}

function showReport(caches: Seen, ledger: Ledger, change: Change<KubeObject>): void {
  const key = keyOf(change.new ?? change.old)
  const report = readable<IPAddress>(change.new, reportOf)
  const pool = report && poolOfReport(report)
  if (report === undefined || pool === undefined) return ledger.hide(reportNamed(key), 'report')
  const { namespace } = report.metadata
  const place = placeOf(report.address, pool, caches)
  ledger.show({ by: reportNamed(key), as: 'report', namespace, ...place, isBound: () => isBound(caches, key) })
}

function showChoice(caches: Seen, ledger: Ledger, change: Change<KubeObject>): void {
  const key = keyOf(change.new ?? change.old)
  const claim = readable<IPAddressClaim>(change.new, claimOf)
  const pool = claim && poolOfClaim(claim)
  if (claim?.choice === undefined || pool === undefined) return ledger.hide(claimNamed(key), 'choice')
  const { namespace } = claim.metadata
  ledger.show({ by: claimNamed(key), as: 'choice', namespace, ...placeOf(claim.choice, pool, caches) })
}

/** Where in the ledger the address lies. */
function placeOf(address: string, identity: Identity, caches: Seen): Pick<Showing, 'pool' | 'space' | 'ip' | 'bits'> {
  const pool = findPool(caches, identity)
  const ip = parseIP(address)
  if (pool === undefined || pool.space === '' || isMalformed(ip) || ip.family !== pool.family)
    return { pool: identity, space: '', ip: undefined, bits: 0 }
  const { space, bits } = pool
  return { pool: pool.identity, space, ip: firstIP({ ip, bits }), bits }
}

function readable<T extends object>(
  object: KubeObject | undefined,
  read: (object: object) => T | Malformed,
): T | undefined {
  const value = object && read(object)
  return value === undefined || isMalformed(value) ? undefined : value
}
