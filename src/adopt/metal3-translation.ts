// From Metal3's IP address manager: each of its pools becomes an AddressPool of the same name that keeps every address
// Metal3 has given out. An address is kept for a claim of the name that has it (`preAllocations`); where that cannot be
// said, it is kept from all claims (`excludedAddresses`). Both stand in the object that offers the pool, so there is no
// moment in which an address is offered and not yet kept.
//
// A claim that names Metal3's pool cannot be made to name another: what it says never changes. It has to be made anew; the
// object to make is part of the translation, and carries its address as its choice. Where the new pool would not give that
// address even to the claim it is for, an IPAddress goes with it: it proves that the claim had it.

import { createHash } from 'node:crypto'
import { addressPoolKind } from '../api/address-pool.ts'
import { type Hold, holdName } from '../api/hold.ts'
import type { IPAddressClaim } from '../api/ip-address-claim.ts'
import { choiceAnnotation, clusterNameLabel, ipamGroup } from '../api/names.ts'
import { apiVersionOf, type Metadata } from '../api/object.ts'
import type { Pool } from '../api/pool.ts'
import { spaceOfNamespace, spaceOfPool } from '../api/space.ts'
import { toPool } from '../api/to-pool.ts'
import { type Family, type IP, isSameIP, parseIP, toIPText, toValue } from '../ip/address.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import { type Range, rangeOfIP, toRangeText } from '../ip/range.ts'
import { hasIP, type RangeSet, toRangeSet } from '../ip/range-set.ts'
import { whyNotOffered } from '../ipam/pool-set.ts'
import type { KubeObject } from '../kube/object.ts'
import type { Metal3Address, Metal3Entry, Metal3Pool } from './metal3.ts'
import { rangeOfEntry } from './metal3-ranges.ts'
import type { Outcome, Verdict } from './verdict.ts'

export interface Metal3Objects {
  readonly pools: readonly (Metal3Pool | (Malformed & { readonly name: string }))[]
  readonly addresses: readonly (Metal3Address | (Malformed & { readonly name: string }))[]
  /** Metal3's own claims; the name is all that counts. */
  readonly ipClaims: readonly Metadata[]
  /** Every claim of Cluster API, whatever pool it names. */
  readonly claims: readonly IPAddressClaim[]
  readonly holds: readonly Hold[]
}

export interface Translation {
  readonly pools: readonly AddressPoolObject[]
  /** Claims as they have to be made anew, once the old ones are gone; some with an IPAddress in front. */
  readonly claims: readonly KubeObject[]
  readonly verdicts: readonly Verdict[]
}

export interface AddressPoolObject extends KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly spec: {
    readonly addresses: readonly string[]
    readonly prefix: number
    readonly gateway?: string
    readonly nameservers?: readonly string[]
    readonly strategy?: string
    readonly space?: string
    readonly allocateReservedIPAddresses?: boolean
    readonly preAllocations?: Readonly<Record<string, string>>
    readonly excludedAddresses?: readonly string[]
  }
}

/** As many as the definition of a pool allows. */
const preAllocationsMax = 1000

export function translateMetal3(objects: Metal3Objects): Translation {
  const verdicts: Verdict[] = []
  const pools: AddressPoolObject[] = []
  const claims: KubeObject[] = []
  const addresses = objects.addresses.filter(one => readableOr(one, verdicts))
  const known = new Set<string>()
  const taken = new Set(objects.pools.map(namedKey))
  for (const pool of objects.pools) {
    if (isMalformed(pool)) {
      verdicts.push(refusedPool(pool.name, pool.malformed))
      continue
    }
    const key = `${pool.metadata.namespace}/${pool.metadata.name}`
    known.add(key)
    const own = addresses.filter(({ metadata, poolName }) => `${metadata.namespace}/${poolName}` === key)
    const drafts = draftsOf(pool, taken)
    if (isMalformed(drafts)) {
      verdicts.push(refusedPool(key, drafts.malformed))
      for (const one of own) verdicts.push(verdictOn(one, 'refused', 'PoolUnreadable', 'its pool is not translated'))
      continue
    }
    const settled = settlePool(pool, drafts, own, objects)
    if (isMalformed(settled)) {
      verdicts.push(refusedPool(key, settled.malformed))
      continue
    }
    pools.push(...settled.pools)
    claims.push(...settled.claims)
    verdicts.push(...settled.verdicts)
  }
  for (const one of addresses) {
    if (known.has(`${one.metadata.namespace}/${one.poolName}`)) continue
    const why = `there is no IPPool ${one.metadata.namespace}/${one.poolName}`
    verdicts.push(verdictOn(one, 'refused', 'PoolMissing', why))
  }
  return { pools, claims, verdicts }
}

function readableOr(one: Metal3Objects['addresses'][number], verdicts: Verdict[]): one is Metal3Address {
  if (!isMalformed(one)) return true
  const about = { address: '', pool: '', claim: '', shownBy: `IPAddress ${one.name}` }
  verdicts.push({ ...about, outcome: 'refused', reason: 'Unreadable', message: `it cannot be read: ${one.malformed}` })
  return false
}

const refusedPool = (name: string, why: string): Verdict => ({
  outcome: 'refused',
  address: '',
  pool: `IPPool ${name}`,
  claim: '',
  shownBy: '',
  reason: 'PoolUnreadable',
  message: `it cannot be translated: ${why}`,
})

function verdictOn(one: Metal3Address, outcome: Outcome, reason: string, message: string): Verdict {
  const { namespace, name } = one.metadata
  return {
    outcome,
    address: one.address,
    pool: `IPPool ${namespace}/${one.poolName}`,
    claim: one.claimName === '' ? '' : `${namespace}/${one.claimName}`,
    shownBy: `IPAddress${one.kind === 'metal3' ? '.ipam.metal3.io' : ''} ${namespace}/${name}`,
    reason,
    message,
  }
}

// --- pools ---

/** A pool in the making: entries that agree in all that an IPAddress shows. */
interface Draft {
  readonly name: string
  readonly family: Family
  readonly prefix: number
  readonly gateway: string
  readonly nameservers: readonly string[]
  readonly ranges: Range[]
}

function draftsOf(pool: Metal3Pool, taken: ReadonlySet<string>): Draft[] | Malformed {
  const drafts = new Map<string, Draft>()
  for (const [i, entry] of pool.entries.entries()) {
    const range = rangeOfEntry(entry)
    if (isMalformed(range)) return { malformed: `spec.pools[${i}]: ${range.malformed}` }
    const told = toldTo(pool, entry, range.family)
    const key = JSON.stringify(told)
    const name = drafts.size === 0 ? pool.metadata.name : freeName(pool.metadata, drafts.size + 1, taken)
    const draft = drafts.get(key) ?? { name, ...told, ranges: [] }
    draft.ranges.push(range)
    drafts.set(key, draft)
  }
  return drafts.size === 0 ? { malformed: 'spec.pools is empty' } : [...drafts.values()]
}

/** `rack-2`, unless another pool of Metal3 has that name and will want it for itself. */
function freeName({ namespace, name }: Metadata, number: number, taken: ReadonlySet<string>): string {
  const suffix = taken.has(`${namespace}/${name}-${number}`) ? `part-${number}` : String(number)
  return `${name}-${suffix}`
}

const namedKey = (pool: Metal3Objects['pools'][number]): string =>
  isMalformed(pool) ? pool.name : `${pool.metadata.namespace}/${pool.metadata.name}`

function toldTo(pool: Metal3Pool, entry: Metal3Entry, family: Family) {
  const gateway = [entry.gateway, pool.gateway].find(text => text !== '' && isOf(text, family)) ?? ''
  const nameservers = entry.dnsServers.length > 0 ? entry.dnsServers : pool.dnsServers
  return { family, prefix: entry.prefix ?? pool.prefix ?? 0, gateway, nameservers }
}

function isOf(text: string, family: Family): boolean {
  const ip = parseIP(text)
  return !isMalformed(ip) && ip.family === family
}

/** Pools that were one go on being one: an address is given once among all of them. */
function sharedSpace({ namespace, name }: Metadata): string {
  return `metal3-${createHash('sha256').update(`${namespace}/${name}`).digest('hex').slice(0, 16)}`
}

function toObject(
  pool: Metal3Pool,
  draft: Draft,
  isSplit: boolean,
  kept: Kept,
  givesReserved: boolean,
): AddressPoolObject {
  const { namespace } = pool.metadata
  const excluded = toRangeSet(draft.family, kept.excluded.map(rangeOfIP)).ranges
  const preAllocations = Object.fromEntries(kept.preAllocations)
  return {
    apiVersion: apiVersionOf(addressPoolKind),
    kind: addressPoolKind.kind,
    metadata: {
      name: draft.name,
      namespace,
      ...(pool.clusterName !== '' && { labels: { [clusterNameLabel]: pool.clusterName } }),
    },
    spec: {
      addresses: toRangeSet(draft.family, draft.ranges).ranges.map(toRangeText),
      prefix: draft.prefix,
      ...(draft.gateway !== '' && { gateway: draft.gateway }),
      ...(draft.nameservers.length > 0 && { nameservers: draft.nameservers }),
      ...(pool.strategy === 'random' && { strategy: 'random' }),
      ...(isSplit && { space: sharedSpace(pool.metadata) }),
      ...(givesReserved && { allocateReservedIPAddresses: true }),
      ...(kept.preAllocations.size > 0 && { preAllocations }),
      ...(excluded.length > 0 && { excludedAddresses: excluded.map(toRangeText) }),
    },
  }
}

// --- addresses ---

interface Kept {
  readonly preAllocations: Map<string, string>
  readonly excluded: IP[]
}

/** A pool in the making, and what it is to keep. */
interface Place {
  readonly draft: Draft
  readonly set: RangeSet
  readonly kept: Kept
}

/** What there is to know about one pool while its addresses are judged one by one. */
interface Bench {
  readonly pool: Metal3Pool
  readonly places: readonly Place[]
  /** The objects that show an address, by its canonical text. */
  readonly uses: ReadonlyMap<string, readonly string[]>
  /** All by `namespace/name`. */
  readonly claims: ReadonlyMap<string, IPAddressClaim>
  readonly ipClaims: ReadonlySet<string>
  /** By the name of the hold. */
  readonly holders: ReadonlyMap<string, string>
}

interface Settled {
  readonly pools: AddressPoolObject[]
  readonly claims: KubeObject[]
  readonly verdicts: Verdict[]
}

function settlePool(
  pool: Metal3Pool,
  drafts: readonly Draft[],
  own: readonly Metal3Address[],
  objects: Metal3Objects,
): Settled | Malformed {
  const bench: Bench = {
    pool,
    places: drafts.map(draft => ({
      draft,
      set: toRangeSet(draft.family, draft.ranges),
      kept: { preAllocations: new Map(), excluded: [] },
    })),
    uses: usesOf(own),
    claims: new Map(objects.claims.map(claim => [`${claim.metadata.namespace}/${claim.metadata.name}`, claim])),
    ipClaims: new Set(objects.ipClaims.map(({ namespace, name }) => `${namespace}/${name}`)),
    holders: holdersOf(objects.holds),
  }
  // What can be made anew goes first: there is room for so many promises.
  const inOrder = [...own].sort((a, b) => Number(b.kind === 'capi') - Number(a.kind === 'capi'))
  const judged = inOrder.map(one => judge(one, bench))
  const promises = Object.entries(pool.preAllocations).flatMap(([name, text]) => judgePromise(name, text, bench) ?? [])
  const pools: AddressPoolObject[] = []
  for (const { draft, kept } of bench.places) {
    const object = checked(pool, draft, drafts.length > 1, kept)
    if (isMalformed(object)) return object
    pools.push(object)
  }
  return {
    pools,
    claims: judged.flatMap(({ anew = [] }) => anew),
    verdicts: [...judged.map(({ verdict }) => verdict), ...promises],
  }
}

interface Judged {
  readonly verdict: Verdict
  /** The claim as it has to be made anew, behind what proves its address. */
  readonly anew?: readonly KubeObject[]
}

/** Whatever the verdict, an address that a new pool lists is kept from other claims. */
function judge(one: Metal3Address, bench: Bench): Judged {
  const ip = parseIP(one.address)
  if (isMalformed(ip)) {
    return { verdict: verdictOn(one, 'refused', 'NotAnAddress', `its address cannot be read: ${ip.malformed}`) }
  }
  const place = bench.places.find(({ set }) => hasIP(set, ip))
  const why = whyNotKept(one, ip, place, bench)
  if (why !== undefined) {
    place?.kept.excluded.push(ip)
    return { verdict: verdictOn(one, 'refused', why.reason, why.message) }
  }
  const hasRoom = place !== undefined && place.kept.preAllocations.size < preAllocationsMax
  if (hasRoom) place.kept.preAllocations.set(one.claimName, toIPText(ip))
  else place?.kept.excluded.push(ip)
  const isGiven = hasRoom && !isGateway(ip, place.draft)
  return one.kind === 'capi' ? judgeClaim(one, ip, place, isGiven, bench) : { verdict: judgeIPClaim(one, place) }
}

interface Why {
  readonly reason: string
  readonly message: string
}

function whyNotKept(one: Metal3Address, ip: IP, place: Place | undefined, bench: Bench): Why | undefined {
  const key = keyOfClaim(one)
  const rivals = (bench.uses.get(toIPText(ip)) ?? []).filter(other => other !== nameOf(one))
  if (rivals.length > 0) return { reason: 'Duplicate', message: `${rivals.join(', ')} shows it too: no claim gets it` }
  const isClaimed = one.kind === 'metal3' ? bench.ipClaims.has(key) : bench.claims.has(key)
  if (!isClaimed) {
    const message =
      one.claimName === '' ? 'it names no claim: no claim gets it' : `claim ${key} is gone: no claim gets it`
    return { reason: 'ClaimMissing', message }
  }
  const holder = holderAt(ip, place, bench)
  if (holder !== undefined && holder !== key) {
    return { reason: 'AddressInUse', message: `claim ${holder} holds it in Mooring already` }
  }
  const other = place?.kept.preAllocations.get(one.claimName)
  if (other === undefined) return undefined
  const message = `a claim of the name ${one.claimName} has ${other} as well: only one can be kept for it`
  return { reason: 'SeveralAddresses', message }
}

function judgeIPClaim(one: Metal3Address, place: Place | undefined): Verdict {
  const message = `Mooring does not serve IPClaims: it is kept for an IPAddressClaim ${keyOfClaim(one)}`
  if (place !== undefined) return verdictOn(one, 'kept', 'Kept', message)
  return verdictOn(one, 'left alone', 'NotOffered', 'its pool does not list it: no claim gets it')
}

function isGateway(ip: IP, { gateway }: Draft): boolean {
  const own = parseIP(gateway)
  return !isMalformed(own) && isSameIP(own, ip)
}

/** `isGiven`: the new pool gives the address to a claim of this name. */
function judgeClaim(one: Metal3Address, ip: IP, place: Place | undefined, isGiven: boolean, bench: Bench): Judged {
  const key = keyOfClaim(one)
  const claim = bench.claims.get(key)
  if (holderAt(ip, place, bench) === key) {
    return { verdict: verdictOn(one, 'adopted', 'Held', 'the claim was made anew, and holds it') }
  }
  if (claim?.poolRef.apiGroup === addressPoolKind.group) {
    return { verdict: verdictOn(one, 'kept', 'MadeAnew', 'the claim was made anew, and is to be served') }
  }
  if (claim === undefined || claim.isDeleting) {
    return { verdict: verdictOn(one, 'leaves', 'Deleting', 'its claim is being deleted: let Metal3 finish first') }
  }
  const draft = place?.draft ?? bench.places.find(({ draft }) => draft.family === ip.family)?.draft
  const name = draft?.name ?? bench.pool.metadata.name
  const anew = toNewClaim(claim, name, toIPText(ip))
  return {
    verdict: verdictOn(one, 'recreate', 'PoolNeverChanges', `make claim ${key} anew on AddressPool ${name}`),
    anew: isGiven || draft === undefined ? [anew] : [toProof(claim, draft, toIPText(ip)), anew],
  }
}

const keyOfClaim = ({ metadata, claimName }: Metal3Address): string => `${metadata.namespace}/${claimName}`

function holderAt(ip: IP, place: Place | undefined, { pool, places, holders }: Bench): string | undefined {
  if (place === undefined) return undefined
  const { namespace } = pool.metadata
  const { group: apiGroup, kind } = addressPoolKind
  const own = spaceOfPool({ apiGroup, kind, namespace, name: place.draft.name })
  return holders.get(holdName(places.length > 1 ? spaceOfNamespace(namespace, sharedSpace(pool.metadata)) : own, ip))
}

/** Metal3 gives the last address of a subnet too; where it has, the pool goes on doing so. */
function checked(pool: Metal3Pool, draft: Draft, isSplit: boolean, kept: Kept): AddressPoolObject | Malformed {
  const object = toObject(pool, draft, isSplit, kept, false)
  const read = toPool(object)
  if (isMalformed(read)) return read
  const isReserved = (text: string) => whyNotOfferedText(read, text) === 'reserved'
  if (![...kept.preAllocations.values()].some(isReserved)) return object
  return toObject(pool, draft, isSplit, kept, true)
}

function whyNotOfferedText(pool: Pool, text: string) {
  const ip = parseIP(text)
  return isMalformed(ip) ? undefined : whyNotOffered(pool, ip)
}

/** What the pool promises to a name is kept for it, unless another claim has it. */
function judgePromise(claimName: string, text: string, bench: Bench): Verdict | undefined {
  const message = whyNotPromised(claimName, text, bench)
  if (message === undefined) return undefined
  const { namespace, name } = bench.pool.metadata
  return {
    outcome: 'refused',
    address: text,
    pool: `IPPool ${namespace}/${name}`,
    claim: `${namespace}/${claimName}`,
    shownBy: '',
    reason: 'Promise',
    message: `spec.preAllocations promises it, ${message}`,
  }
}

function whyNotPromised(claimName: string, text: string, { places, uses }: Bench): string | undefined {
  const ip = parseIP(text)
  if (isMalformed(ip)) return 'and it is no address'
  const place = places.find(({ set }) => hasIP(set, ip))
  if (place === undefined) return 'and no entry of the pool lists it'
  const { preAllocations, excluded } = place.kept
  const had = preAllocations.get(claimName)
  if (had === toIPText(ip)) return undefined
  if (had !== undefined) return `and ${claimName} has ${had}`
  if (uses.has(toIPText(ip))) return 'and another claim has it'
  if (preAllocations.size < preAllocationsMax) {
    preAllocations.set(claimName, toIPText(ip))
    return undefined
  }
  excluded.push(ip)
  return `and a pool can keep ${preAllocationsMax} addresses for claims: no claim gets it`
}

const nameOf = ({ kind, metadata }: Metal3Address): string => `${kind} ${metadata.namespace}/${metadata.name}`

function usesOf(own: readonly Metal3Address[]): Map<string, string[]> {
  const uses = new Map<string, string[]>()
  for (const one of own) {
    const ip = parseIP(one.address)
    if (isMalformed(ip)) continue
    const text = toIPText(ip)
    uses.set(text, [...(uses.get(text) ?? []), nameOf(one)])
  }
  return uses
}

function holdersOf(holds: readonly Hold[]): Map<string, string> {
  return new Map(holds.map(hold => [hold.metadata.name, `${hold.claim.namespace}/${hold.claim.name}`]))
}

/** Written by tools for themselves: copied, they would lie. */
const notCopied = ['kubectl.kubernetes.io/last-applied-configuration']

/** It names no owner: the claim of its name takes it over. */
function toProof({ version, metadata }: IPAddressClaim, { name: pool, prefix, gateway }: Draft, address: string) {
  const { name, namespace } = metadata
  return {
    apiVersion: `${ipamGroup}/${version}`,
    kind: 'IPAddress',
    metadata: { name, namespace },
    spec: {
      claimRef: { name },
      poolRef: newPool(pool),
      address,
      prefix,
      ...(gateway !== '' && { gateway }),
    },
  }
}

const newPool = (name: string) => ({ apiGroup: addressPoolKind.group, kind: addressPoolKind.kind, name })

function toNewClaim(claim: IPAddressClaim, poolName: string, address: string): KubeObject {
  const { name, namespace, labels, annotations, ownerReferences } = claim.metadata
  const kept = Object.fromEntries(Object.entries(annotations).filter(([key]) => !notCopied.includes(key)))
  const object = {
    apiVersion: `${ipamGroup}/${claim.version}`,
    kind: 'IPAddressClaim',
    metadata: {
      name,
      namespace,
      ...(Object.keys(labels).length > 0 && { labels }),
      annotations: { ...kept, [choiceAnnotation]: address },
      ...(ownerReferences.length > 0 && { ownerReferences: [...ownerReferences] }),
    },
    spec: {
      ...(claim.clusterName !== '' && { clusterName: claim.clusterName }),
      poolRef: newPool(poolName),
    },
  }
  return object
}

/** In the order of the addresses, for readers that look something up. */
export function byAddress(one: Verdict, other: Verdict): number {
  if (one.pool !== other.pool) return one.pool < other.pool ? -1 : 1
  const [a, b] = [parseIP(one.address), parseIP(other.address)]
  if (isMalformed(a) || isMalformed(b)) return one.address < other.address ? -1 : 1
  return Number(toValue(a) > toValue(b)) - Number(toValue(a) < toValue(b))
}
