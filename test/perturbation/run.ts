// One run: a scenario under a plan, then healing, then the questions that every run must answer alike.

import type { Scenario } from '../scenarios/scenario.ts'
import { endStateOf, leftovers } from './end-state.ts'
import { peopleOf, Stuck } from './people.ts'
import type { ActorName, Plan } from './plan.ts'
import type { Passed } from './weather.ts'
import { type Distort, PerturbedWorld, Restless } from './world.ts'

export interface Run {
  readonly violations: readonly string[]
  readonly endState: readonly string[]
  readonly history: readonly string[]
  readonly passed: readonly Passed[]
  /** Virtual time until the scenario was over. */
  readonly tookMs: number
}

export interface RunOptions {
  readonly scenario: Scenario
  readonly seed: number
  readonly plan: Plan
  readonly distort?: Distort
  readonly server?: 'lean' | 'embedded'
  /** The end of an undisturbed run, to be met. */
  readonly expected?: readonly string[]
}

/** Longer than any quarantine of a scenario, and than the longest pause after many failures. */
const restMs = 320_000
const resyncMs = 120_000

export async function run({ scenario, seed, plan, distort, server, expected }: RunOptions): Promise<Run> {
  const { table, nodes, isFull = false } = scenario
  const world = await PerturbedWorld.begin({
    ...{ plan, seed, isFull },
    ...(distort && { distort }),
    ...(server && { server }),
    ...(table && { table }),
    ...(nodes && { nodes }),
  })
  let tookMs = 0
  let endState: string[] = []
  let passed: Passed[] = []
  try {
    await scenario.play(peopleOf(world, plan.patienceMs)).catch((error: unknown) => {
      if (!(error instanceof Stuck)) throw error
      world.say(error.message)
    })
    tookMs = world.clock.monotonicMs()
    await world.still()
    passed = [...world.weathers.values()].flatMap(weather => weather.passed)
    await world.heal()
    await world.pass(restMs)
    await checkResync(world)
    endState = endStateOf(world.observer, scenario.interchangeable)
    for (const leftover of leftovers(world.observer)) world.say(leftover)
    if (expected !== undefined) compare(world, expected, endState)
  } catch (error) {
    if (!(error instanceof Restless)) throw error
    world.say(error.message)
  } finally {
    await world.end()
  }
  const violations = [...world.observer.violations, ...world.violations]
  return { violations, endState, history: world.history, passed, tookMs }
}

/** Every desk is started anew and looks at everything: there is nothing to do. */
async function checkResync(world: PerturbedWorld): Promise<void> {
  for (const actor of world.weathers.keys()) world.restart(actor as ActorName)
  const before = world.deskWrites
  await world.pass(resyncMs)
  const writes = world.deskWrites - before
  if (writes > 0) world.say(`${writes} writes at rest`)
}

function compare(world: PerturbedWorld, expected: readonly string[], found: readonly string[]): void {
  const missing = [...expected]
  for (const line of found) {
    const at = missing.indexOf(line)
    if (at < 0) world.say(`at the end there is: ${line}`)
    else missing.splice(at, 1)
  }
  for (const line of missing) world.say(`at the end there is no: ${line}`)
}
