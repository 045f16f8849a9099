// What IPAddresses and the choices of IPAddressClaims show to have. The ledger is kept equal to it whichever desks are on: an
// address that an IPAddress shows is in use, whether or not this process serves its claim.
//
// A choice counts if the claim has a hold of it, or could be given it now: by its namespace, its quota and what the pool offers.
// Any user who may write a claim can write a choice, and would else keep addresses from others that are not for that user.

import type { IPAddress } from '../../api/ip-address.ts'
import { claimReference, type IPAddressClaim, poolOfClaim } from '../../api/ip-address-claim.ts'
import type { Identity } from '../../api/object.ts'
import { type Pool, poolKey } from '../../api/pool.ts'
import { bitsOf, type IP, parseIP, toIPText } from '../../ip/address.ts'
import { firstIP } from '../../ip/cidr.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { keysOfKept, type Wish, whyNotForClaim } from '../../ipam/choose.ts'
import type { Refusal } from '../../ipam/refusal.ts'
import { type KubeObject, keyOf } from '../../kube/object.ts'
import type { Gateways } from '../office/gateways.ts'
import { readable } from '../office/kept.ts'
import type { Ledger, Showing, ShownBy } from '../office/ledger.ts'
import type { Sources } from '../office/sources.ts'
import { findPool } from '../office/views.ts'
import { poolOfReport } from './ownership.ts'
import { claimOf, reportOf } from './parsed.ts'
import { type Caches, keyOfClaim } from './world.ts'

export const reportNamed = (key: string): ShownBy => ({ kind: 'IPAddress', key })
export const claimNamed = (key: string): ShownBy => ({ kind: 'IPAddressClaim', key })

/** The objects of a claim: itself, and its report. */
export const ownOf = (key: string): readonly ShownBy[] => [reportNamed(key), claimNamed(key)]

interface Seen extends Pick<Caches, 'claims' | 'reports' | 'pools' | 'holds' | 'namespaces'> {
  readonly sources: Pick<Sources, 'subscribe' | 'whySpaceRefused' | 'all'>
}

export function followShown(seen: Seen, ledger: Ledger): void {
  const { claims, reports, holds, namespaces, sources } = seen
  const known = [claims, holds, namespaces]
  const isAllKnown = () => known.every(cache => cache.hasSynced)
  ledger.judgeBound('IPAddress', key => isBound(seen, key))
  reports.subscribe(({ key, new: object }) => {
    if (holds.hasSynced) showReport(seen, ledger, key, object)
  })
  claims.subscribe(({ key, new: object }) => {
    if (isAllKnown()) showChoice(seen, ledger, key, object)
  })
  // Addresses that came before their pool show from now on, and so do those of a pool that was let into a space.
  sources.subscribe(({ key, new: pool, isChanged }) => {
    if (pool === undefined || !isChanged) return
    if (!holds.hasSynced) return
    for (const object of reports.byIndex('pool', key)) showReport(seen, ledger, keyOf(object), object)
    if (!isAllKnown()) return
    for (const object of claims.byIndex('pool', key)) showChoice(seen, ledger, keyOf(object), object)
  })
  namespaces.subscribe(({ key }) => {
    if (isAllKnown()) showOfNamespace(key, seen, ledger)
  })
  // Lists come in any order, and no address is given before all of them are there. What has a hold is not counted twice.
  void holds.synced().then(() => {
    for (const [key, object] of reports.entries()) showReport(seen, ledger, key, object)
  })
  void Promise.all(known.map(cache => cache.synced())).then(() => showChoices(seen, ledger))
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

/** A pool that asks for labels may be offered to it now, or no longer. */
function showOfNamespace(namespace: string, seen: Seen, ledger: Ledger): void {
  for (const pool of seen.sources.all()) {
    if (pool.allowedNamespaces === undefined) continue
    for (const object of seen.claims.byIndex('pool', poolKey(pool)))
      if (object.metadata.namespace === namespace) showChoice(seen, ledger, keyOf(object), object)
  }
}

/** Once all is known: what is held counts before what is only shown, and of that what was made first. */
export function showChoices(seen: Seen, ledger: Ledger): void {
  const unproven: KubeObject[] = []
  for (const [key, object] of seen.claims.entries()) {
    const choice = choiceIn(object, seen)
    if (choice === undefined) continue
    if (isHeld(choice, ledger)) showChosen(choice, key, ledger)
    else unproven.push(object)
  }
  const createdAt = ({ metadata }: KubeObject) => metadata.creationTimestamp ?? ''
  unproven.sort((a, b) => (createdAt(a) < createdAt(b) ? -1 : 1))
  for (const object of unproven) showChoice(seen, ledger, keyOf(object), object)
}

/** What permissions and quotas ask about a claim. */
export function applicantOf(
  claim: IPAddressClaim,
  pool: Pool,
  { namespaces }: Pick<Caches, 'namespaces'>,
): Omit<Wish, 'owner' | 'requested' | 'random'> {
  const namespace = namespaces.get(claim.metadata.namespace)
  return {
    claim: claimReference(claim, namespace?.metadata.uid),
    namespaceLabels: namespace && (namespace.metadata.labels ?? {}),
    keptFor: keysOfKept(pool, claim.metadata),
  }
}

/** Why the pool would not give this address to the claim that shows it, be it free or not. */
export function whyNotCounted(
  claim: IPAddressClaim,
  pool: Pool,
  ip: IP,
  ledger: Ledger,
  caches: Pick<Caches, 'namespaces'>,
): Refusal | undefined {
  const { space } = pool
  const isCounted =
    ledger.holdAt(space, ip) === undefined && ledger.isShownBy(claimNamed(keyOfClaim(claim)), 'choice', space, ip)
  return whyNotForClaim(pool, ledger.indexOf(space), {
    ...applicantOf(claim, pool, caches),
    requested: toIPText(ip),
    counted: isCounted ? 1 : 0,
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
  const choice = choiceIn(object, seen)
  if (choice !== undefined && (isHeld(choice, ledger) || isPermitted(choice, seen, ledger))) {
    showChosen(choice, key, ledger)
  } else ledger.hide(claimNamed(key), 'choice')
}

function showChosen({ claim, place }: Chosen, key: string, ledger: Ledger): void {
  const { clusterName, metadata } = claim
  const shown = showing(claimNamed(key), 'choice', metadata.namespace, place)
  ledger.show(clusterName === '' ? shown : { ...shown, clusterName })
}

/** Written out: there are two of every address that is taken. */
function showing(by: ShownBy, as: Showing['as'], namespace: string, { pool, space, ip, bits }: Place): Showing {
  return { by, as, pool, space, ip, bits, namespace }
}

interface Chosen {
  readonly claim: IPAddressClaim
  readonly place: Place
}

function choiceIn(object: KubeObject | undefined, seen: Seen): Chosen | undefined {
  const claim = readable<IPAddressClaim>(object, claimOf)
  const pool = claim && poolOfClaim(claim)
  if (claim?.choice === undefined || pool === undefined) return undefined
  return { claim, place: placeOf(claim.choice, pool, seen) }
}

function isHeld({ claim, place: { space, ip } }: Chosen, ledger: Ledger): boolean {
  return ip !== undefined && ledger.holdAt(space, ip)?.claim.uid === claim.metadata.uid
}

function isPermitted({ claim, place: { pool: identity, ip } }: Chosen, seen: Seen, ledger: Ledger): boolean {
  const pool = findPool(seen, identity)
  return pool !== undefined && ip !== undefined && whyNotCounted(claim, pool, ip, ledger, seen) === undefined
}

type Place = Pick<Showing, 'pool' | 'space' | 'ip' | 'bits'>

/** Where in the ledger the address lies. */
function placeOf(address: string, identity: Identity, seen: Seen): Place {
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
