// What all kinds of pool have in common when they are created, changed and deleted: the spec is judged first and by
// itself; then whether claims that hold an address can go on, and whether other pools list the same addresses.

import { type Fault, invalid } from '../../../admission/fault.ts'
import { allowed, type Ruling, refused } from '../../../admission/ruling.ts'
import { fieldOf, isSameSpec } from '../../../admission/spec.ts'
import { deleteForMoveAnnotation, skipDeleteCheckAnnotation } from '../../../api/names.ts'
import { type Identity, identityKey } from '../../../api/object.ts'
import type { Pool } from '../../../api/pool.ts'
import { globalPrefixPoolKind, prefixPoolKind } from '../../../api/prefix-pool.ts'
import { isRecord } from '../../../api/shape.ts'
import { ownPoolKindOf, toPool } from '../../../api/to-pool.ts'
import { bitsOf, compareIP, type IP, toIPText, toValue } from '../../../ip/address.ts'
import { firstIP, lastIP } from '../../../ip/cidr.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { toRangeText } from '../../../ip/range.ts'
import { isEmpty, isSubset, overlapsSet, toRangeSet } from '../../../ip/range-set.ts'
import { type Overlap, overlapsOf } from '../../../ipam/overlap.ts'
import { poolSetOf } from '../../../ipam/pool-set.ts'
import { isOffered } from '../../../ipam/prefixes.ts'
import { poolText } from '../../../ipam/refusal.ts'
import type { Block } from '../../../ipam/space-index.ts'
import type { PoolFacts } from '../pool-facts.ts'

/** What the kinds differ in. */
export interface PoolRules {
  /** Faults of the spec alone, in field order. */
  readonly faults: (object: unknown) => Fault[]
  /** Odd, but legal: warned about, not refused. */
  readonly warnings: (object: unknown, pool: Pool) => string[]
  /** Why a change is refused before it is asked what becomes of the holders. */
  readonly refusal?: (old: unknown, next: unknown, isHeld: () => boolean) => string | undefined
  /** The refusal of a change by which holders would stand outside of the pool. */
  readonly lost: (blocks: readonly Block[]) => string
}

export function admitPool(rules: PoolRules, old: unknown, next: unknown, facts: PoolFacts): Ruling {
  if (next === undefined) return admitDelete(old, facts)
  if (old !== undefined && isSameSpec(old, next)) return allowed()
  const faults = rules.faults(next)
  if (faults.length > 0) return { kind: 'invalid', faults, warnings: [] }
  const pool = toPool(next)
  // The ledger could not use it, whatever the checks above think: then claims would wait without end.
  if (isMalformed(pool)) return { kind: 'invalid', faults: [invalid('spec', null, pool.malformed)], warnings: [] }
  const space = spaceFaults(old, pool, facts)
  if (space.length > 0) return { kind: 'invalid', faults: space, warnings: [] }
  const { denied, warnings: overlapWarnings } = judgeOverlaps(old, pool, facts)
  if (denied.length > 0) return { kind: 'invalid', faults: denied, warnings: [] }
  const warnings = [...rules.warnings(next, pool), ...overlapWarnings]
  if (old === undefined) return allowed(warnings)
  const refusal = rules.refusal?.(old, next, () => facts.isHeld(pool.identity))
  if (refusal !== undefined) return refused(refusal, warnings)
  const lost = lostBlocks(old, pool, facts)
  return lost.length > 0 ? refused(rules.lost(lost), warnings) : allowed(warnings)
}

/** A space that was let go of later is written to the status: the author of another change is not to blame for it. */
function spaceFaults(old: unknown, pool: Pool, facts: PoolFacts): Fault[] {
  const before = old === undefined ? undefined : toPool(old)
  if (before !== undefined && !isMalformed(before) && before.spaceAsked === pool.spaceAsked) return []
  const refusal = facts.whySpaceRefused(pool)
  return refusal === undefined ? [] : [invalid('spec.space', pool.spaceAsked ?? null, refusal.message)]
}

/** Faults of the spec do not matter here: a pool that is wrong must be deletable above all. */
function admitDelete(old: unknown, facts: PoolFacts): Ruling {
  const identity = identityOfObject(old)
  if (identity === undefined || mayGoAnyway(old) || !facts.isHeld(identity)) return allowed()
  return refused('Pool has IPAddresses allocated. Cannot delete Pool until all IPAddresses have been removed.')
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

/**
 * The stricter of two pools decides: one that says "deny" is not overruled by a pool that comes later. What both listed before
 * the change is not refused anew, for else nothing else about the pool could be put right.
 */
function judgeOverlaps(old: unknown, pool: Pool, facts: PoolFacts): OverlapJudgement {
  const denied: Fault[] = []
  const warnings: string[] = []
  if (pool.overlapPolicy === 'off') return { denied, warnings }
  const others = new Map<string, Pool>()
  for (const other of facts.pools()) others.set(identityKey(other.identity), other)
  const before = overlapsBefore(old, pool, others.values())
  for (const overlap of overlapsOf(pool, others.values())) {
    const key = identityKey(overlap.other)
    const policy = others.get(key)?.overlapPolicy ?? 'warn'
    const known = before.get(key)
    const isNew = known === undefined || !isSubset(overlap.addresses, known.addresses)
    const sentence = overlapSentence(pool, overlap)
    if (isNew && (pool.overlapPolicy === 'deny' || policy === 'deny')) {
      denied.push(invalid(fieldOfAddresses(pool), shownOverlap(overlap), sentence))
    } else if (policy !== 'off') {
      warnings.push(`${fieldOfAddresses(pool)}: ${shownOverlap(overlap)}: ${sentence}`)
    }
  }
  return { denied, warnings }
}

/** By the other pool. Empty on create, and where the pool was less strict or in another space before. */
function overlapsBefore(old: unknown, pool: Pool, others: Iterable<Pool>): ReadonlyMap<string, Overlap> {
  const before = old === undefined ? undefined : toPool(old)
  if (before === undefined || isMalformed(before) || before.family !== pool.family) return new Map()
  if (before.space !== pool.space || (pool.overlapPolicy === 'deny' && before.overlapPolicy !== 'deny'))
    return new Map()
  return new Map(overlapsOf(before, others).map(overlap => [identityKey(overlap.other), overlap]))
}

/** A pool of another namespace is not named to a user that may not see it. */
function overlapSentence(pool: Pool, { other, sharesSpace }: Overlap): string {
  const isHidden = other.namespace !== '' && other.namespace !== pool.identity.namespace
  const text = `${isHidden ? 'a pool of another namespace' : poolText(other)} lists the same addresses`
  return sharesSpace ? `${text} in this space` : `${text}, and an address may come to be held twice`
}

function shownOverlap({ addresses }: Overlap): string {
  const [first, ...more] = addresses.ranges
  const text = first === undefined ? '' : toRangeText(first)
  return more.length === 0 ? text : `${text} and ${more.length} more ranges`
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
