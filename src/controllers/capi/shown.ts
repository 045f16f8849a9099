// What IPAddresses and the choices of IPAddressClaims show to have. The ledger is kept equal to it whichever desks are on: an
// address that an IPAddress shows is in use, whether or not this process serves its claim.

import type { IPAddress } from '../../api/ip-address.ts'
import { type IPAddressClaim, poolOfClaim } from '../../api/ip-address-claim.ts'
import type { Identity } from '../../api/object.ts'
import { bitsOf, parseIP } from '../../ip/address.ts'
import { firstIP } from '../../ip/cidr.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { type KubeObject, keyOf } from '../../kube/object.ts'
import type { Gateways } from '../office/gateways.ts'
import { readable } from '../office/kept.ts'
import type { Ledger, Showing, ShownBy } from '../office/ledger.ts'
import type { Sources } from '../office/sources.ts'
import { findPool } from '../office/views.ts'
import { poolOfReport } from './ownership.ts'
import { claimOf, reportOf } from './parsed.ts'
import type { Caches } from './world.ts'

export const reportNamed = (key: string): ShownBy => ({ kind: 'IPAddress', key })
export const claimNamed = (key: string): ShownBy => ({ kind: 'IPAddressClaim', key })

/** The objects of a claim: itself, and its report. */
export const ownOf = (key: string): readonly ShownBy[] => [reportNamed(key), claimNamed(key)]

interface Seen extends Pick<Caches, 'claims' | 'reports' | 'pools'> {
  readonly sources: Pick<Sources, 'subscribe' | 'whySpaceRefused'>
}

export function followShown(seen: Seen, ledger: Ledger): void {
  const { claims, reports, sources } = seen
  ledger.judgeBound('IPAddress', key => isBound(seen, key))
  reports.subscribe(({ key, new: object }) => showReport(seen, ledger, key, object))
  claims.subscribe(({ key, new: object }) => showChoice(seen, ledger, key, object))
  // Addresses that came before their pool show from now on, and so do those of a pool that was let into a space.
  sources.subscribe(({ key, new: pool, isChanged }) => {
    if (pool === undefined || !isChanged) return
    for (const object of reports.byIndex('pool', key)) showReport(seen, ledger, keyOf(object), object)
    for (const object of claims.byIndex('pool', key)) showChoice(seen, ledger, keyOf(object), object)
  })
}

/** What holders of a pool are told beside their address. */
export function followSubnets({ reports }: Pick<Caches, 'reports'>, gateways: Pick<Gateways, 'tell'>): void {
  const tell = (object: KubeObject | undefined, change: 1 | -1) => {
    const report = readable(object, reportOf)
    const pool = report && poolOfReport(report)
    if (report?.prefix === undefined || pool === undefined) return
    gateways.tell(pool, { prefix: report.prefix, gateway: report.gateway }, change)
  }
  reports.subscribe(({ old, new: next }) => {
    tell(next, 1)
    tell(old, -1)
  })
}

/** The claim says that it is bound, is not being deleted, and the IPAddress of its name names it. */
export function isBound({ claims, reports }: Pick<Caches, 'claims' | 'reports'>, key: string): boolean {
  const claim = readable(claims.get(key), claimOf)
  const report = readable(reports.get(key), reportOf)
  if (claim === undefined || report === undefined || claim.isDeleting || claim.addressName === '') return false
  return report.metadata.ownerReferences.some(({ uid }) => uid === claim.metadata.uid)
}

function showReport(seen: Seen, ledger: Ledger, key: string, object: KubeObject | undefined): void {
  const report = readable<IPAddress>(object, reportOf)
  const pool = report && poolOfReport(report)
  if (report === undefined || pool === undefined) return ledger.hide(reportNamed(key), 'report')
  const place = placeOf(report.address, pool, seen)
  ledger.show(showing(reportNamed(key), 'report', report.metadata.namespace, place))
}

function showChoice(seen: Seen, ledger: Ledger, key: string, object: KubeObject | undefined): void {
  const claim = readable<IPAddressClaim>(object, claimOf)
  const pool = claim && poolOfClaim(claim)
  if (claim?.choice === undefined || pool === undefined) return ledger.hide(claimNamed(key), 'choice')
  const place = placeOf(claim.choice, pool, seen)
  ledger.show(showing(claimNamed(key), 'choice', claim.metadata.namespace, place))
}

type PlaceShown = Pick<Showing, 'pool' | 'space' | 'ip' | 'bits'>

/** Written out: there are two of every address that is taken. */
function showing(by: ShownBy, as: Showing['as'], namespace: string, { pool, space, ip, bits }: PlaceShown): Showing {
  return { by, as, pool, space, ip, bits, namespace }
}

/** Where in the ledger the address lies. */
function placeOf(address: string, identity: Identity, seen: Seen): PlaceShown {
  const pool = findPool(seen, identity)
  const ip = parseIP(address)
  // What a tenant shows in a space that is not offered to its namespace keeps no address from those that are in it.
  if (pool !== undefined && seen.sources.whySpaceRefused(pool) !== undefined)
    return { pool: identity, space: '', ip: undefined, bits: 0 }
  if (pool === undefined || isMalformed(ip) || ip.family !== pool.family)
    return { pool: identity, space: '', ip: undefined, bits: 0 }
  const { space, bits } = pool
  return { pool: pool.identity, space, ip: bits === bitsOf(ip.family) ? ip : firstIP({ ip, bits }), bits }
}
