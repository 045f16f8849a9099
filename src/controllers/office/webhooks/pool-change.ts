// What all kinds of pool have in common when they are created, changed and deleted: the spec is judged first and by
// itself; then whether claims that hold an address can go on, and whether other pools list the same addresses.

import { describeFault, type Fault, invalid } from '../../../admission/fault.ts'
import { allowed, type Ruling, refused } from '../../../admission/ruling.ts'
import { fieldOf, isSameSpec, specOf, textsAt } from '../../../admission/spec.ts'
import { deleteForMoveAnnotation, ipamGroup, skipDeleteCheckAnnotation } from '../../../api/names.ts'
import { type Identity, identityKey } from '../../../api/object.ts'
import type { Pool } from '../../../api/pool.ts'
import { globalPrefixPoolKind, prefixPoolKind } from '../../../api/prefix-pool.ts'
import { isRecord } from '../../../api/shape.ts'
import { ownPoolKindOf, toPool } from '../../../api/to-pool.ts'
import { bitsOf, compareIP, type IP, toIPText, toValue } from '../../../ip/address.ts'
import { firstIP, lastIP } from '../../../ip/cidr.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { toRangeText } from '../../../ip/range.ts'
import { isEmpty, isSubset, overlapsSet, type RangeSet, toRangeSet } from '../../../ip/range-set.ts'
import {
  deniesOverlap,
  isVisible,
  type Overlap,
  overlapsOf,
  rangesText,
  vagueRisk,
  vagueText,
} from '../../../ipam/overlap.ts'
import { poolSetOf } from '../../../ipam/pool-set.ts'
import { isOffered } from '../../../ipam/prefixes.ts'
import { poolText, type Refusal } from '../../../ipam/refusal.ts'
import type { Block } from '../../../ipam/space-index.ts'
import type { ToldSubnet } from '../gateways.ts'
import type { PoolFacts } from '../pool-facts.ts'
import { readEntries } from './entries.ts'

/** What the kinds differ in. */
export interface PoolRules {
  /** Faults of the spec alone, in field order. */
  readonly faults: (object: unknown) => Fault[]
  /** Odd, but legal: warned about, not refused. */
  readonly warnings: (object: unknown, pool: Pool, facts: PoolFacts) => string[]
  /** Why a change is refused before it is asked what becomes of the holders. */
  readonly refusal?: (old: unknown, next: unknown, isHeld: () => boolean) => string | undefined
  /** The refusal of a change by which holders would stand outside of the pool. */
  readonly lost: (blocks: readonly Block[]) => string
}

/** What a webhook is asked about a pool. */
interface PoolRequest {
  /** Undefined on create. */
  readonly old: unknown
  /** Undefined on delete. */
  readonly next: unknown
  /** The client showed that it is an API server. */
  readonly isCallerProven: boolean
}

export function admitPool(rules: PoolRules, request: PoolRequest, facts: PoolFacts): Ruling {
  const { old, next } = request
  const isTold = isToldFacts(request, facts)
  if (next === undefined) return isTold ? admitDelete(old, facts) : allowed()
  if (old !== undefined && isSameSpec(old, next)) return allowed()
  const faults = rules.faults(next)
  if (faults.length > 0) return { kind: 'invalid', faults, warnings: [] }
  const pool = toPool(next)
  // The ledger could not use it, whatever the checks above think: then claims would wait without end.
  if (isMalformed(pool)) return { kind: 'invalid', faults: [invalid('spec', null, pool.malformed)], warnings: [] }
  const space = spaceRefusalOf(old, pool, facts)
  if (space?.reason === 'SpaceNotOffered') {
    return { kind: 'invalid', faults: [invalid('spec.space', pool.spaceAsked ?? null, space.message)], warnings: [] }
  }
  const { denied, warnings: overlapWarnings } = judgeOverlaps({ old, next, pool, isTold }, facts)
  if (denied.length > 0) return { kind: 'invalid', faults: denied, warnings: [] }
  const told = isTold ? toldWarnings(old, pool, facts) : []
  // It is about another pool: whether that is there, and in which space. It may come in the next moment.
  const undecided = space === undefined || !isTold ? [] : [`spec.space: ${space.message}`]
  const warnings = [...rules.warnings(next, pool, facts), ...undecided, ...told, ...overlapWarnings]
  if (old === undefined || !isTold) return allowed(warnings)
  const refusal = rules.refusal?.(old, next, () => facts.isHeld(pool.identity))
  if (refusal !== undefined) return refused(refusal, warnings)
  const lost = lostBlocks(old, pool, facts)
  return lost.length > 0 ? refused(rules.lost(lost), warnings) : allowed(warnings)
}

/**
 * Whether the answer may say what is held and which pools there are. A client that did not show that it is an API server may have
 * made the request up: it is told so only about a pool that it knows well enough to name its uid. A request that is passed
 * on by an API server, and that the cache does not know yet, loses no more than a warning.
 */
function isToldFacts({ old, isCallerProven }: PoolRequest, facts: PoolFacts): boolean {
  if (isCallerProven) return true
  const identity = identityOfObject(old)
  return identity !== undefined && facts.isStored(identity, uidOf(old))
}

function uidOf(object: unknown): string {
  const metadata = isRecord(object) ? fieldOf(object, 'metadata') : undefined
  const uid = isRecord(metadata) ? fieldOf(metadata, 'uid') : undefined
  return typeof uid === 'string' ? uid : ''
}

/** A space that was let go of later is written to the status: the author of another change is not to blame for it. */
function spaceRefusalOf(old: unknown, pool: Pool, facts: PoolFacts): Refusal | undefined {
  const before = old === undefined ? undefined : toPool(old)
  const isSame = before !== undefined && !isMalformed(before) && before.spaceAsked === pool.spaceAsked
  return isSame ? undefined : facts.whySpaceRefused(pool)
}

/** Faults of the spec do not matter here: a pool that is wrong must be deletable above all. */
function admitDelete(old: unknown, facts: PoolFacts): Ruling {
  const identity = identityOfObject(old)
  if (identity === undefined || mayGoAnyway(old) || !facts.isHeld(identity)) return allowed()
  const holders = holdersText(identity, facts)
  return refused(identity.apiGroup === ipamGroup ? `${inUse} ${holders}` : `the pool is in use: ${holders}`)
}

/** Users of the in-cluster kinds know this sentence. It sends them to IPAddresses, which go with their claims alone. */
const inUse = 'Pool has IPAddresses allocated. Cannot delete Pool until all IPAddresses have been removed.'

const namedMax = 3

/** Claims of a pool of a namespace are of that namespace, so its author can read them. */
function holdersText(pool: Identity, facts: PoolFacts): string {
  const claims = facts.claimsOf(pool)
  if (claims.length === 0) return 'IPAddresses without a hold name it: `kubectl get ipaddresses -A` shows them'
  const names = claims.map(({ namespace, name }) => (pool.namespace === '' ? `${namespace}/${name}` : name)).sort()
  const more = names.length > namedMax ? ` and ${names.length - namedMax} more` : ''
  const who = `${names.length} ${names.length === 1 ? 'claim holds' : 'claims hold'} addresses of it`
  const shown = `${names.slice(0, namedMax).join(', ')}${more}`
  return `${who} (${shown}): delete the claims; \`kubectl get holds\` shows what is held`
}

/**
 * They count with any value. A pool that moves lives on elsewhere, and its addresses with it; one that stays loses the mark
 * (pool/move-marks.ts).
 */
export const mayGoAnywayAnnotations = [skipDeleteCheckAnnotation, deleteForMoveAnnotation] as const

function mayGoAnyway(object: unknown): boolean {
  const metadata = isRecord(object) ? fieldOf(object, 'metadata') : undefined
  const annotations = isRecord(metadata) ? fieldOf(metadata, 'annotations') : undefined
  return isRecord(annotations) && mayGoAnywayAnnotations.some(key => Object.hasOwn(annotations, key))
}

/** The identity of the object, even if its spec cannot be read. */
function identityOfObject(object: unknown): Identity | undefined {
  if (!isRecord(object) || !isRecord(object.metadata)) return undefined
  const { apiVersion, kind, metadata } = object
  const { name, namespace } = metadata
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || typeof name !== 'string') return undefined
  const slash = apiVersion.indexOf('/')
  const known = ownPoolKindOf({ apiGroup: slash === -1 ? '' : apiVersion.slice(0, slash), kind })
  if (known === undefined) return undefined
  const place = known.isNamespaced && typeof namespace === 'string' ? namespace : ''
  return { apiGroup: known.group, kind, namespace: place, name }
}

// --- holders ---

/**
 * What is held, was offered until now and would be offered no more. What was outside already stays as it is: to refuse
 * that would keep its admin from repairing anything else. What the new spec lists as draining is meant to go.
 */
function lostBlocks(old: unknown, next: Pool, facts: PoolFacts): Block[] {
  const before = toPool(old)
  if (isMalformed(before) || identityKey(before.identity) !== identityKey(next.identity)) return []
  const lost: Block[] = []
  for (const block of facts.heldOf(before.identity)) {
    if (isOffered(before, block) && !isOffered(next, block) && !isDraining(next, block)) lost.push(block)
  }
  return lost
}

function isDraining({ draining, family }: Pool, { ip, bits }: Block): boolean {
  if (ip.family !== family || isEmpty(draining)) return false
  const range = { family, first: toValue(firstIP({ ip, bits })), last: toValue(lastIP({ ip, bits })) }
  return overlapsSet(draining, { family, ranges: [range] })
}

/** An IPAddress never changes: what its holder was told, it goes on to tell. */
function toldWarnings(old: unknown, next: Pool, facts: PoolFacts): string[] {
  const before = old === undefined ? undefined : toPool(old)
  if (before === undefined || isMalformed(before)) return []
  const count = (isOther: (told: ToldSubnet) => boolean) =>
    facts.toldOf(next.identity).reduce((sum, told) => sum + (isOther(told) ? told.count : 0), 0)
  const warnings: string[] = []
  const ofGateway = before.gatewayText === next.gatewayText ? 0 : count(({ gateway }) => gateway !== next.gatewayText)
  if (ofGateway > 0) {
    const then = 'a gateway that is told to a holder is given to no claim'
    warnings.push(`spec.gateway: ${addressesSay(ofGateway)} another gateway, or none, and will not change: ${then}`)
  }
  const ofPrefix = before.prefix === next.prefix ? 0 : count(({ prefix }) => prefix !== next.prefix)
  if (ofPrefix > 0) warnings.push(`spec.prefix: ${addressesSay(ofPrefix)} another prefix length, and will not change`)
  return warnings
}

const addressesSay = (count: number): string => (count === 1 ? '1 IPAddress says' : `${count} IPAddresses say`)

/** What a message lists of something that may be as long as the pool is large. */
const listedMax = 20

export function lostAddresses(blocks: readonly Block[]): string {
  const family = blocks[0]?.ip.family ?? 4
  const single = blocks.filter(({ ip, bits }) => ip.family === family && bits === bitsOf(family))
  const { ranges } = toRangeSet(
    family,
    single.map(({ ip }) => ({ family, first: toValue(ip), last: toValue(ip) })),
  )
  // Also a range of one has both ends written out: that is how users know this sentence.
  const texts = ranges.map(range => {
    const text = toRangeText(range)
    return text.includes('-') ? text : `${text}-${text}`
  })
  return `pool addresses do not contain allocated addresses: [${shorten(texts)}]`
}

export function lostPrefixes(blocks: readonly Block[]): string {
  const texts = blocks
    .map(({ ip }) => ip)
    .sort(compareIP)
    .map((ip: IP): string => toIPText(ip))
  return `existing allocations become non-allocatable: [${shorten(texts)}]`
}

function shorten(texts: readonly string[]): string {
  const shown = texts.slice(0, listedMax).join(' ')
  return texts.length <= listedMax ? shown : `${shown} ... and ${texts.length - listedMax} more`
}

// --- neighbours ---

interface OverlapJudgement {
  readonly denied: readonly Fault[]
  readonly warnings: readonly string[]
}

interface Judged {
  readonly old: unknown
  readonly next: unknown
  readonly pool: Pool
  /** Which pools there are may be told. */
  readonly isTold: boolean
}

/**
 * What both listed before the change is not refused anew, for else nothing else about the pool could be put right. The policy
 * "off" silences warnings to this pool's own author, and no more than that.
 */
function judgeOverlaps({ old, next, pool, isTold }: Judged, facts: PoolFacts): OverlapJudgement {
  const others = new Map<string, Pool>()
  for (const other of facts.pools()) others.set(identityKey(other.identity), other)
  const before = overlapsBefore(old, pool, others.values())
  const denied = new Map<string, Fault>()
  const warnings = new Set<string>()
  for (const overlap of overlapsOf(pool, others.values())) {
    const key = identityKey(overlap.other)
    const other = others.get(key)
    const known = before.get(key)
    const isNew = known === undefined || !isSubset(overlap.addresses, known.addresses)
    const isDenied = isNew && other !== undefined && deniesOverlap(pool, other)
    if (!isDenied && pool.overlapPolicy === 'off') continue
    const { field, value, sentence } = told({ pool, next, overlap, isTold })
    if (!isDenied) {
      warnings.add(`${field}: ${value}: ${sentence}`)
      continue
    }
    const why = pool.overlapPolicy === 'deny' ? '' : ': its overlapPolicy is deny'
    const fault = invalid(field, value, `${sentence}${why}`)
    denied.set(describeFault(fault), fault)
  }
  return { denied: [...denied.values()], warnings: [...warnings] }
}

interface Told {
  readonly field: string
  readonly value: string
  readonly sentence: string
}

/** Of a pool that the author cannot see: which entry of their own meets it, and nothing of what the other lists. */
function told({ pool, next, overlap, isTold }: Omit<Judged, 'old'> & { readonly overlap: Overlap }): Told {
  const { other, addresses, sharesSpace } = overlap
  if (isTold && isVisible(pool.identity, other)) {
    const text = `${poolText(other)} lists the same addresses`
    const sentence = sharesSpace ? `${text} in this space` : `${text}, and an address may come to be held twice`
    return { field: fieldOfAddresses(pool), value: rangesText(addresses), sentence }
  }
  const text = `${vagueText(pool.identity, other)} lists some of these addresses`
  return { ...ownEntry(pool, next, addresses), sentence: `${text}, and ${vagueRisk}` }
}

/** Each entry is held against the addresses; a longer list is shown by its field alone. */
const searchedMax = 500

function ownEntry(pool: Pool, next: unknown, addresses: RangeSet): { field: string; value: string } {
  const field = fieldOfAddresses(pool)
  const texts = textsAt(specOf(next), field.slice('spec.'.length), []).slice(0, searchedMax)
  const { entries } = readEntries(texts, field)
  const { family } = pool
  const entry = entries.find(({ range }) => overlapsSet(addresses, { family, ranges: [range] }))
  return entry === undefined ? { field, value: 'one of many' } : { field: `${field}[${entry.at}]`, value: entry.text }
}

/** By the other pool. Empty on create, and where the pool was less strict or in another space before. */
function overlapsBefore(old: unknown, pool: Pool, others: Iterable<Pool>): ReadonlyMap<string, Overlap> {
  const before = old === undefined ? undefined : toPool(old)
  if (before === undefined || isMalformed(before) || before.family !== pool.family) return new Map()
  if (before.space !== pool.space || (pool.overlapPolicy === 'deny' && before.overlapPolicy !== 'deny'))
    return new Map()
  return new Map(overlapsOf(before, others).map(overlap => [identityKey(overlap.other), overlap]))
}

const fieldOfAddresses = ({ identity }: Pool): string =>
  identity.kind === prefixPoolKind.kind || identity.kind === globalPrefixPoolKind.kind
    ? 'spec.prefixes'
    : 'spec.addresses'

/** True of any pool: nothing would ever be given out. */
export function nothingOffered(pool: Pool): string[] {
  return poolSetOf(pool).total > 0n
    ? []
    : ['spec: all listed addresses are excluded, reserved or the gateway: claims on this pool will wait']
}
