// From Metal3's IP address manager: each of its pools becomes an AddressPool of the same name that keeps every address
// Metal3 has given out. An address is kept for a claim of the name that has it (`preAllocations`); where that cannot be
// said, it is kept from everybody (`excludedAddresses`). Both stand in the object that offers the pool, so there is no
// moment in which an address is offered and not yet kept.
//
// A claim that names Metal3's pool cannot be made to name another: what it says never changes. It has to be made anew; the
// object to make is part of the translation, and carries its address as its choice.

import { createHash } from 'node:crypto'
import { addressPoolKind } from '../api/address-pool.ts'
import { type Hold, holdName } from '../api/hold.ts'
import type { IPAddressClaim } from '../api/ip-address-claim.ts'
import { choiceAnnotation, clusterNameLabel, ipamGroup } from '../api/names.ts'
import { apiVersionOf, type Metadata } from '../api/object.ts'
import type { Pool } from '../api/pool.ts'
import { spaceOfPool } from '../api/space.ts'
import { toPool } from '../api/to-pool.ts'
import { type Family, type IP, parseIP, toIPText, toValue } from '../ip/address.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import { type Range, rangeOfIP, toRangeText } from '../ip/range.ts'
import { hasIP, toRangeSet } from '../ip/range-set.ts'
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
  /** Claims as they have to be made anew, once the old ones are gone. */
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
  for (const pool of objects.pools) {
    if (isMalformed(pool)) {
      verdicts.push(refusedPool(pool.name, pool.malformed))
      continue
    }
    const key = `${pool.metadata.namespace}/${pool.metadata.name}`
    known.add(key)
    const own = addresses.filter(({ metadata, poolName }) => `${metadata.namespace}/${poolName}` === key)
    const drafts = draftsOf(pool)
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

/** A pool in the making: entries that agree in everything a holder is told. */
interface Draft {
  readonly name: string
  readonly family: Family
  readonly prefix: number
  readonly gateway: string
  readonly nameservers: readonly string[]
  readonly ranges: Range[]
}

function draftsOf(pool: Metal3Pool): Draft[] | Malformed {
  const drafts = new Map<string, Draft>()
  for (const [i, entry] of pool.entries.entries()) {
    const range = rangeOfEntry(entry)
    if (isMalformed(range)) return { malformed: `spec.pools[${i}]: ${range.malformed}` }
    const told = toldTo(pool, entry, range.family)
    const key = JSON.stringify(told)
    const name = drafts.size === 0 ? pool.metadata.name : `${pool.metadata.name}-${drafts.size + 1}`
    const draft = drafts.get(key) ?? { name, ...told, ranges: [] }
    draft.ranges.push(range)
    drafts.set(key, draft)
  }
  return drafts.size === 0 ? { malformed: 'spec.pools is empty' } : [...drafts.values()]
}

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
  const sets = drafts.map(draft => ({
    draft,
    set: toRangeSet(draft.family, draft.ranges),
    kept: { preAllocations: new Map<string, string>(), excluded: [] } as Kept,
  }))
  const offeredBy = (ip: IP) => sets.find(({ set }) => hasIP(set, ip))
  const counts = countUses(own)
  const { namespace } = pool.metadata
  const claimOf = new Map(objects.claims.map(claim => [`${claim.metadata.namespace}/${claim.metadata.name}`, claim]))
  const ipClaims = new Set(objects.ipClaims.map(({ namespace: at, name }) => `${at}/${name}`))
  const verdicts: Verdict[] = []
  const claims: KubeObject[] = []
  const space = drafts.length > 1 ? sharedSpace(pool.metadata) : undefined
  const heldBy = holdersOf(objects.holds)

  // What can be made anew goes first: there is room for so many promises.
  const inOrder = [...own].sort((a, b) => Number(b.kind === 'capi') - Number(a.kind === 'capi'))
  for (const one of inOrder) {
    const ip = parseIP(one.address)
    if (isMalformed(ip)) {
      verdicts.push(verdictOn(one, 'refused', 'NotAnAddress', `its address cannot be read: ${ip.malformed}`))
      continue
    }
    const place = offeredBy(ip)
    const text = toIPText(ip)
    const key = `${namespace}/${one.claimName}`
    const claim = claimOf.get(key)
    const refuse = (reason: string, message: string) => {
      place?.kept.excluded.push(ip)
      verdicts.push(verdictOn(one, 'refused', reason, message))
    }
    const rivals = counts.get(text) ?? []
    if (rivals.length > 1) {
      refuse('Duplicate', `${rivals.filter(other => other !== nameOf(one)).join(', ')} shows it too: nobody gets it`)
      continue
    }
    if (claim === undefined && !(one.kind === 'metal3' && ipClaims.has(key))) {
      refuse('ClaimMissing', one.claimName === '' ? 'it names no claim' : `its claim ${key} is gone: nobody gets it`)
      continue
    }
    const holder = place && heldBy.get(holdName(space ?? spaceOf(place.draft, namespace), ip))
    if (holder !== undefined && holder !== key) {
      refuse('AddressInUse', `claim ${holder} holds it in Mooring already`)
      continue
    }
    if (holder === key) {
      verdicts.push(verdictOn(one, 'adopted', 'Held', 'the claim was made anew, and holds it'))
      place?.kept.preAllocations.set(one.claimName, text)
      continue
    }
    const promised = place?.kept.preAllocations.get(one.claimName)
    if (promised !== undefined) {
      refuse(
        'SeveralAddresses',
        `a claim of the name ${one.claimName} has ${promised} as well: only one can be kept for it`,
      )
      continue
    }
    if (place !== undefined && place.kept.preAllocations.size < preAllocationsMax) {
      place.kept.preAllocations.set(one.claimName, text)
    } else place?.kept.excluded.push(ip)
    const told = place === undefined ? 'its pool does not list it; ' : ''
    if (one.kind === 'metal3') {
      const why = `${told}Mooring does not serve IPClaims: it is kept for an IPAddressClaim ${key}`
      verdicts.push(verdictOn(one, place === undefined ? 'left alone' : 'kept', 'Kept', why))
      continue
    }
    if (claim === undefined) continue
    if (claim.isDeleting) {
      verdicts.push(verdictOn(one, 'leaves', 'Deleting', 'its claim is being deleted: let Metal3 finish first'))
      continue
    }
    if (claim.poolRef.apiGroup === addressPoolKind.group) {
      verdicts.push(verdictOn(one, 'kept', 'MadeAnew', 'the claim was made anew, and is to be served'))
      continue
    }
    claims.push(toNewClaim(claim, place?.draft.name ?? pool.metadata.name, text))
    verdicts.push(verdictOn(one, 'recreate', 'PoolNeverChanges', `${told}make claim ${key} anew: see the guide`))
  }

  for (const [claimName, text] of Object.entries(pool.preAllocations)) {
    const problem = promise(claimName, text, offeredBy, counts)
    if (problem !== undefined) {
      verdicts.push({
        outcome: 'refused',
        address: text,
        pool: `IPPool ${namespace}/${pool.metadata.name}`,
        claim: `${namespace}/${claimName}`,
        shownBy: '',
        reason: 'Promise',
        message: problem,
      })
    }
  }

  const pools: AddressPoolObject[] = []
  for (const { draft, kept } of sets) {
    const object = checked(pool, draft, drafts.length > 1, kept)
    if (isMalformed(object)) return object
    pools.push(object)
  }
  return { pools, claims, verdicts }
}

const spaceOf = ({ name }: Draft, namespace: string): string =>
  spaceOfPool({ apiGroup: addressPoolKind.group, kind: addressPoolKind.kind, namespace, name })

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

/** What the pool promises to a name, unless somebody else has it. */
function promise(
  claimName: string,
  text: string,
  offeredBy: (ip: IP) => { kept: Kept } | undefined,
  uses: ReadonlyMap<string, readonly string[]>,
): string | undefined {
  const ip = parseIP(text)
  if (isMalformed(ip)) return `spec.preAllocations promises ${JSON.stringify(text)}, which is no address`
  const place = offeredBy(ip)
  if (place === undefined) return 'spec.preAllocations promises it, and no entry of the pool lists it'
  const { preAllocations } = place.kept
  const canonical = toIPText(ip)
  if (preAllocations.get(claimName) === canonical) return undefined
  if (preAllocations.has(claimName)) {
    return `spec.preAllocations promises it to ${claimName}, which has ${preAllocations.get(claimName)}`
  }
  if (uses.has(canonical)) return `spec.preAllocations promises it to ${claimName}, and another claim has it`
  if (preAllocations.size >= preAllocationsMax) {
    place.kept.excluded.push(ip)
    return `there are more than ${preAllocationsMax} addresses to be kept for somebody: nobody gets it`
  }
  preAllocations.set(claimName, canonical)
  return undefined
}

const nameOf = ({ kind, metadata }: Metal3Address): string => `${kind} ${metadata.namespace}/${metadata.name}`

function countUses(own: readonly Metal3Address[]): Map<string, string[]> {
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
      poolRef: { apiGroup: addressPoolKind.group, kind: addressPoolKind.kind, name: poolName },
    },
  }
  return object
}

/** In the order of the addresses, for people who look something up. */
export function byAddress(one: Verdict, other: Verdict): number {
  if (one.pool !== other.pool) return one.pool < other.pool ? -1 : 1
  const [a, b] = [parseIP(one.address), parseIP(other.address)]
  if (isMalformed(a) || isMalformed(b)) return one.address < other.address ? -1 : 1
  return Number(toValue(a) > toValue(b)) - Number(toValue(a) < toValue(b))
}
