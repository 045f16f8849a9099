// Every scenario in calm weather, on the embedded server and on the lean one, and under a sample of faults; that a run
// repeats; and that desks which are broken on purpose are caught. All plans: `npm run test:perturbation`.

import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { scenarios } from '../scenarios/all.ts'
import { brokenBuilds } from './broken.ts'
import { calm, type Plan } from './plan.ts'
import { families, plansFor } from './plans.ts'
import { run } from './run.ts'
import { claimsComeLate, sampleOf } from './sample.ts'
import { newborn } from './server.ts'

beforeAll(newborn)

/** Of each scenario. */
const sampled = 2

/** Of every third scenario one is played on the embedded server, which takes several times as long. */
const isOnEmbedded = (i: number): boolean => i % 3 === 0

describe.each(scenarios.map((scenario, i) => ({ ...scenario, i })))('$name', ({ i, ...scenario }) => {
  test('comes out the same on either server, with one desk, with two, and when something goes wrong', async () => {
    const embedded = await run({ scenario, seed: 0, plan: calm(1), server: 'embedded' })
    expect(embedded.violations).toEqual([])
    const expected = embedded.endState
    // Without any delay everything happens between two turns: what a delay of some milliseconds hides.
    for (const desks of [1, 2] as const) {
      const { violations } = await run({ scenario, seed: 0, plan: calm(desks), expected })
      expect(violations, `${desks} without delays`).toEqual([])
    }
    const desks = i % 2 === 0 ? 1 : 2
    const other = await run({ scenario, seed: i, plan: calm(desks), expected })
    expect(other.violations).toEqual([])
    for (const [nth, plan] of sampleOf(plansFor(scenario, other.passed, desks), sampled, i).entries()) {
      const server = nth === 0 && isOnEmbedded(i) ? 'embedded' : 'lean'
      expect((await run({ scenario, seed: i, plan, expected, server })).violations, plan.name).toEqual([])
    }
  })
})

test('the page about fault plans lists every family', () => {
  const page = readFileSync('docs/explanation/fault-plans.md', 'utf8')
  const found = page.matchAll(/^\| (write|read|event|task|ask) +\| (.+?) +\| (.+?) +\|$/gm)
  const rows = [...found].map(([, at, name, what]) => ({ at, name, what }))
  expect(rows).toEqual(families.map(({ at, name, what }) => ({ at, name, what })))
})

const [first] = scenarios
if (first === undefined) throw new Error('there is no scenario')

test('claims that come late to one desk do no harm', async () => {
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
