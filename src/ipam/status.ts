// The status of a pool, computed whole: the same input gives the same bytes. Only the time at which a condition came about
// depends on the status before (`setCondition`).

import { addressPoolKind, clusterAddressPoolKind } from '../api/address-pool.ts'
import { type Condition, type ConditionFact, setCondition } from '../api/condition.ts'
import { ipamGroup, readyCondition } from '../api/names.ts'
import type { Pool } from '../api/pool.ts'
import type { Capacity } from './capacity.ts'
import type { Joining } from './joining.ts'
import { isVisible, type Overlap, rangesText, vagueRisk, vagueText } from './overlap.ts'
import { poolText } from './refusal.ts'

export interface PoolSeen {
  readonly pool: Pool
  readonly capacity: Capacity
  readonly overlaps: readonly Overlap[]
  /** Of a pool of a namespace that asks for a space: which it gets, or why not. */
  readonly joining?: Joining | undefined
}

/** Ready first, then what qualifies it. A condition that does not apply to the pool as it is written is not there. */
export function conditionsOfPool(seen: PoolSeen): ConditionFact[] {
  const { pool, overlaps } = seen
  const facts = [readyOfPool(seen), exhaustionOf(seen)]
  if (pool.overlapPolicy !== 'off') facts.push(overlapOf(pool, overlaps))
  if (pool.draining.ranges.length > 0) facts.push(drainOf(seen))
  const observedGeneration = pool.metadata.generation
  return observedGeneration > 0 ? facts.map(fact => ({ ...fact, observedGeneration })) : facts
}

export const malformedPoolCondition = (malformed: string, generation: number): ConditionFact => ({
  type: readyCondition,
  status: 'False',
  reason: 'PoolMalformed',
  message: `nothing is given out until the spec is corrected: ${malformed}`,
  ...(generation > 0 ? { observedGeneration: generation } : {}),
})

function readyOfPool({ pool, capacity, joining }: PoolSeen): ConditionFact {
  const no = (reason: string, message: string): ConditionFact => ({
    type: readyCondition,
    status: 'False',
    reason,
    message,
  })
  if (pool.isDeleting) return no('PoolDeleting', 'nothing new is given out; the pool goes when its last holder does')
  if (pool.isPaused) return no('PoolPaused', 'claims wait until the annotation cluster.x-k8s.io/paused is removed')
  if (joining !== undefined && 'refused' in joining) return no(joining.refused.reason, joining.refused.message)
  if (capacity.total === 0n) {
    return no('NothingOffered', 'all listed addresses are excluded, reserved or the gateway: list more addresses')
  }
  return { type: readyCondition, status: 'True', reason: 'PoolServes', message: '' }
}

function exhaustionOf({ capacity }: PoolSeen): ConditionFact {
  if (capacity.free > 0n) return { type: 'Exhausted', status: 'False', reason: 'AddressesFree', message: '' }
  const message = 'claims wait until an address is released or the pool grows'
  return { type: 'Exhausted', status: 'True', reason: 'NoAddressFree', message }
}

function overlapOf(pool: Pool, overlaps: readonly Overlap[]): ConditionFact {
  if (overlaps.length === 0) return { type: 'Overlapping', status: 'False', reason: 'NoOverlap', message: '' }
  const isHidden = overlaps.some(({ other }) => !isVisible(pool.identity, other))
  const isRisk = overlaps.some(({ sharesSpace }) => !sharesSpace)
  return {
    type: 'Overlapping',
    status: 'True',
    // The same in either case for pools that the reader does not see.
    reason: isRisk || isHidden ? 'AddressesShared' : 'AddressesSharedInSpace',
    message: `${overlapsText(pool, overlaps)}: ${overlapAdvice(pool, isHidden, isRisk)}`,
  }
}

function overlapAdvice(pool: Pool, isHidden: boolean, isRisk: boolean): string {
  if (isHidden) return hiddenAdvice(pool)
  return isRisk ? riskAdvice(pool) : 'each address is still held once, but both pools count it'
}

/** A server takes no message beyond some length, and hundreds of tenants may list the same addresses. */
const overlapsTold = 3

/** Each sentence once. It does not say how many more there are: every pool that comes would be a write to all the others. */
function overlapsText(pool: Pool, overlaps: readonly Overlap[]): string {
  const told = new Set<string>()
  for (const overlap of overlaps) {
    const text = overlapText(pool, overlap)
    if (told.size === overlapsTold && !told.has(text)) return [...told, 'and so do others'].join('; ')
    told.add(text)
  }
  return [...told].join('; ')
}

/** With its quotes: YAML reads a bare off as false. */
const offAdvice = 'set spec.overlapPolicy to "off" (in quotes) if that is meant'

/** The in-cluster kinds have neither a space nor a policy to set. */
function riskAdvice({ identity }: Pool): string {
  if (identity.apiGroup !== ipamGroup) {
    return `an address may be held twice: give both pools the same spec.space, or ${offAdvice}`
  }
  const kinds = `${addressPoolKind.kind}s or ${clusterAddressPoolKind.kind}s`
  return `an address may be held twice: take it out of one of the pools, or make them ${kinds} of one spec.space`
}

function hiddenAdvice({ identity }: Pool): string {
  const advice = 'take it out of this pool, or ask an administrator'
  return `${vagueRisk}: ${identity.apiGroup === ipamGroup ? advice : `${advice}, or ${offAdvice}`}`
}

/** Pools that readers of this one cannot see are not named, and nothing is said of what they list. */
function overlapText({ identity }: Pool, { other, addresses }: Overlap): string {
  if (!isVisible(identity, other)) return `${vagueText(identity, other)} lists some of these addresses too`
  return `${poolText(other)} lists ${rangesText(addresses)} too`
}

function drainOf({ capacity }: PoolSeen): ConditionFact {
  if (capacity.drainingHeld === 0n) {
    const message = 'no claim holds an address of spec.draining any more: it can be taken out of the pool'
    return { type: 'Drained', status: 'True', reason: 'NoHolders', message }
  }
  const message = `${capacity.drainingHeld} addresses of spec.draining are still held`
  return { type: 'Drained', status: 'False', reason: 'HoldersRemain', message }
}

/** Status has 64 signed bits for a count; a pool with more shows the largest of them. */
const countMax = 2n ** 63n - 1n

/** Plain numbers where they are exact, else a bigint, which has to be printed by a writer that knows them. */
function countOf(value: bigint): number | bigint {
  const count = value > countMax ? countMax : value
  return count <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(count) : count
}

/**
 * The status of a pool. The in-cluster kinds keep their four counts under their own names; the others have all of them.
 * Conditions of types that are not ours stay; ours that no longer apply go.
 */
export function statusOfPool(seen: PoolSeen, before: readonly Condition[], now: string) {
  const { pool, capacity } = seen
  const common = {
    conditions: nextConditions(before, conditionsOfPool(seen), now),
    ...(pool.metadata.generation > 0 ? { observedGeneration: pool.metadata.generation } : {}),
  }
  const { total, free, used, outOfRange, held, shown, quarantined, reserved, draining } = capacity
  if (pool.identity.apiGroup === ipamGroup) {
    const ipAddresses = {
      total: countOf(total),
      free: countOf(free),
      used: countOf(used),
      outOfRange: countOf(outOfRange),
    }
    return { ipAddresses, ...common }
  }
  const addresses = {
    total: countOf(total),
    free: countOf(free),
    held: countOf(held),
    shown: countOf(shown),
    quarantined: countOf(quarantined),
    reserved: countOf(reserved),
    draining: countOf(draining),
    outOfRange: countOf(outOfRange),
  }
  return { addresses, ...spaceOf(seen), ...common }
}

/** The space that a pool asked for and was given. A refusal says nothing about it: what was decided before stays. */
function spaceOf({ joining }: PoolSeen): { space?: string } {
  return joining !== undefined && 'space' in joining ? { space: joining.space } : {}
}

const poolConditionTypes = [readyCondition, 'Exhausted', 'Overlapping', 'Drained']

function nextConditions(
  before: readonly Condition[],
  facts: readonly ConditionFact[],
  now: string,
): readonly Condition[] {
  const types = new Set(facts.map(({ type }) => type))
  const isKept = ({ type }: Condition): boolean => types.has(type) || !poolConditionTypes.includes(type)
  const kept = before.every(isKept) ? before : before.filter(isKept)
  return facts.reduce((conditions, fact) => setCondition(conditions, fact, now), kept)
}
