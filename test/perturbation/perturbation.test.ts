// Every scenario in calm weather, with one desk and with two that do not know of each other, and under a sample of faults;
// that a run repeats; and that desks which are broken on purpose are caught. All plans: `npm run test:perturbation`.

import { beforeAll, describe, expect, test } from 'vitest'
import { scenarios } from '../scenarios/all.ts'
import { brokenBuilds } from './broken.ts'
import { calm, type Plan } from './plan.ts'
import { plansFor } from './plans.ts'
import { run } from './run.ts'
import { claimsComeLate, sampleOf } from './sample.ts'
import { newborn } from './server.ts'

beforeAll(newborn)

const plansPerScenario = { one: 1, two: 1 }

describe.each(scenarios.map((scenario, i) => ({ ...scenario, i })))('$name', ({ i, ...scenario }) => {
  test('comes out the same with one desk, with two, and when something goes wrong', async () => {
    const one = await run({ scenario, seed: 0, plan: calm(1) })
    expect(one.violations).toEqual([])
    const expected = one.endState
    const two = await run({ scenario, seed: 1, plan: calm(2), expected })
    expect(two.violations).toEqual([])
    for (const plan of sampleOf(plansFor(scenario, one.passed, 1), plansPerScenario.one, i)) {
      expect((await run({ scenario, seed: 0, plan, expected })).violations, plan.name).toEqual([])
    }
    for (const plan of sampleOf(plansFor(scenario, two.passed, 2), plansPerScenario.two, i)) {
      expect((await run({ scenario, seed: 1, plan, expected })).violations, plan.name).toEqual([])
    }
  })
})

const [first] = scenarios
if (first === undefined) throw new Error('there is no scenario')

test('claims that come late to one desk harm nobody', async () => {
  expect((await run({ scenario: first, seed: 0, plan: claimsComeLate })).violations).toEqual([])
})

test('the same scenario, seed and plan make the same history', async () => {
  const plan: Plan = {
    name: 'a crash, late events and a lost answer',
    desks: 2,
    faults: [
      { point: { at: 'write', actor: 'A', nth: 2 }, action: { do: 'crash', when: 'after' } },
      { point: { at: 'event', actor: 'B', nth: 3 }, action: { do: 'hold', kinds: 'all', forMs: 20_000 } },
      { point: { at: 'write', actor: 'B', nth: 4 }, action: { do: 'lose', what: 'answer' } },
    ],
  }
  const once = await run({ scenario: first, seed: 7, plan })
  const twice = await run({ scenario: first, seed: 7, plan })
  expect(once.violations).toEqual([])
  expect(twice.history).toEqual(once.history)
  const otherwise = await run({ scenario: first, seed: 8, plan })
  expect(otherwise.history).not.toEqual(once.history)
})

describe('a desk that', () => {
  test.each(Object.entries(brokenBuilds))('%s is caught', async (_, distort) => {
    const caught: string[] = []
    for (const plan of [calm(1), claimsComeLate]) {
      const { violations } = await run({ scenario: first, seed: 0, plan, distort })
      caught.push(...violations)
      if (caught.length > 0) break
    }
    expect(caught).not.toEqual([])
  })
})
