// The share of all plans that every test run takes: a few of each scenario, always the same, and those that were needed to
// show something once.

import { seededRandom } from '../harness/seeded-random.ts'
import type { Plan } from './plan.ts'

export function sampleOf(plans: readonly Plan[], count: number, seed: number): Plan[] {
  const random = seededRandom(seed)
  const rest = [...plans]
  const taken: Plan[] = []
  while (taken.length < count && rest.length > 0) {
    const [plan] = rest.splice(Math.floor(random() * rest.length), 1)
    if (plan !== undefined) taken.push(plan)
  }
  return taken
}

/** One desk gets the events of holds before those of claims, and cannot know the claims of the holds. */
export const claimsComeLate: Plan = {
  name: 'B learns of claims late',
  desks: 2,
  faults: [
    { point: { at: 'event', actor: 'B', nth: 1 }, action: { do: 'hold', kinds: ['ipaddressclaims'], forMs: 25_000 } },
  ],
}
