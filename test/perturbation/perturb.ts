// Every plan that can be made for a scenario, played one after the other. What fails is written to a file with its
// scenario, seed, plan and history. To take part of it:
//
//   SCENARIO=race npm run test:perturbation     only scenarios with this in their name
//   PLAN='answer lost' npm run …                only plans with this in their name
//   SHARE=20 SHIFT=3 npm run …                  every twentieth plan, from the third on
//   SEED=5 npm run …                            other delays and chances

import { mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Scenario } from '../scenarios/scenario.ts'
import { calm, type Plan } from './plan.ts'
import { plansFor } from './plans.ts'
import { type Run, run } from './run.ts'
import { newborn } from './server.ts'

const { SCENARIO = '', PLAN = '', SHARE = '1', SHIFT = '0', SEED = '0' } = process.env
const seed = Number(SEED)
const folder = join(tmpdir(), 'mooring-perturbation')

export function perturb(scenarios: readonly Scenario[]): void {
  beforeAll(newborn)
  const chosen = scenarios.filter(({ name }) => name.includes(SCENARIO))
  if (chosen.length === 0) test.skip(`none of these is about ${SCENARIO}`)
  describe.each(chosen)('$name', scenario => {
    test.each([1, 2] as const)('under every plan, with desks: %i', async desks => {
      const reference = await run({ scenario, seed, plan: calm(desks) })
      expect(reference.violations).toEqual([])
      const plans = plansFor(scenario, reference.passed, desks)
        .filter(({ name }) => name.includes(PLAN))
        .filter((_, i) => i % Number(SHARE) === Number(SHIFT) % Number(SHARE))
      const failures: string[] = []
      for (const plan of plans) {
        const found = await run({ scenario, seed, plan, expected: reference.endState })
        if (found.violations.length > 0) failures.push(report(scenario, plan, found, failures.length))
      }
      console.log(`${scenario.name}, desks: ${desks}: ${plans.length} plans, ${failures.length} failed`)
      expect(failures).toEqual([])
    })
  })
}

function report(scenario: Scenario, plan: Plan, { violations, history }: Run, nth: number): string {
  const file = join(folder, `${scenario.name.replaceAll(/\W+/g, '-')}-${plan.desks}-${nth}.txt`)
  mkdirSync(folder, { recursive: true })
  const facts = [`scenario: ${scenario.name}`, `seed: ${seed}`, `plan: ${JSON.stringify(plan)}`]
  writeFileSync(file, [...facts, ...violations, '', ...history, ''].join('\n'))
  return `${facts.join(', ')}: ${violations[0]} (${file})`
}
