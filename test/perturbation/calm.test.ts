// Every scenario in calm weather, with one desk and with two that do not know of each other; and that a run repeats.

import { beforeAll, describe, expect, test } from 'vitest'
import { scenarios } from '../scenarios/all.ts'
import { calm, type Plan } from './plan.ts'
import { run } from './run.ts'
import { newborn } from './server.ts'

beforeAll(newborn)

describe.each(scenarios)('$name', scenario => {
  test('comes out well with one desk, and the same with two', async () => {
    const one = await run({ scenario, seed: 0, plan: calm(1) })
    expect(one.violations).toEqual([])
    const two = await run({ scenario, seed: 1, plan: calm(2), expected: one.endState })
    expect(two.violations).toEqual([])
  })
})

test('the same scenario, seed and plan make the same history', async () => {
  const [scenario] = scenarios
  if (scenario === undefined) throw new Error('there is no scenario')
  const plan: Plan = {
    name: 'a crash and late events',
    desks: 2,
    faults: [
      { point: { at: 'write', actor: 'A', nth: 2 }, action: { do: 'crash', when: 'after' } },
      { point: { at: 'event', actor: 'B', nth: 3 }, action: { do: 'hold', kinds: 'all', forMs: 20_000 } },
      { point: { at: 'write', actor: 'B', nth: 4 }, action: { do: 'lose', what: 'answer' } },
    ],
  }
  const first = await run({ scenario, seed: 7, plan })
  const second = await run({ scenario, seed: 7, plan })
  expect(first.violations).toEqual([])
  expect(second.history).toEqual(first.history)
  const other = await run({ scenario, seed: 8, plan })
  expect(other.history).not.toEqual(first.history)
})
