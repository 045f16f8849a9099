// What a claim with several parts gets: an address for each, or none at all and the first part that cannot have one. Pure, as
// `choose.ts` is: nothing is taken until the holds are created.

import { identityKey } from '../api/object.ts'
import type { Pool } from '../api/pool.ts'
import { toIPText } from '../ip/address.ts'
import { overlapsCIDR } from '../ip/cidr.ts'
import { rangeOfCIDR } from '../ip/range.ts'
import { toRangeSet } from '../ip/range-set.ts'
import { type Choice, choose, type Wish } from './choose.ts'
import { type Refusal, refuse } from './refusal.ts'
import type { Block, SpaceIndex } from './space-index.ts'

/** An interface, a family, an entry: whatever the desk calls it. */
export interface PartWish {
  readonly part: string
  readonly pool: Pool
  /** Of the pool's space. */
  readonly index: SpaceIndex
  readonly wish: Wish
}

export interface PartChoice extends Block {
  readonly kind: 'take' | 'retake'
  readonly part: string
  readonly pool: Pool
}

export type AllChoices =
  | { readonly kind: 'chosen'; readonly choices: readonly PartChoice[] }
  | (Refusal & { readonly part: string })

/** In the order of the list. No two parts get the same address of one space. */
export function chooseAll(wishes: readonly PartWish[]): AllChoices {
  const choices: PartChoice[] = []
  for (const one of wishes) {
    const choice = chooseBeside(one, choices)
    const { part, pool } = one
    if (choice.kind === 'refused') return { ...choice, part, message: `${part}: ${choice.message}` }
    choices.push({ ...choice, part, pool })
  }
  return { kind: 'chosen', choices }
}

function chooseBeside({ pool, index, wish }: PartWish, choices: readonly PartChoice[]): Choice {
  const key = identityKey(pool.identity)
  const ofPool = choices.filter(other => other.pool.family === pool.family && identityKey(other.pool.identity) === key)
  const counted = { ...wish, taking: ofPool.length }
  const choice = choose(pool, index, counted)
  if (choice.kind === 'refused') return choice
  const beside = choices.filter(other => other.pool.space === pool.space && other.ip.family === pool.family)
  const taken = beside.find(other => overlapsCIDR(other, choice))
  if (taken === undefined) return choice
  const again = choose(without(pool, beside), index, counted)
  // It was chosen before, so nothing but the other part excludes it: it must be just that one, or none.
  if (again.kind !== 'refused' || again.reason !== 'AddressExcluded') return again
  const why = `${toIPText(choice.ip)} is for ${taken.part} of this claim already`
  return refuse('RequestsConflict', `${why}: ask for two different addresses`)
}

function without(pool: Pool, blocks: readonly Block[]): Pool {
  const excluded = toRangeSet(pool.family, [...pool.excluded.ranges, ...blocks.map(rangeOfCIDR)])
  return { ...pool, excluded }
}
