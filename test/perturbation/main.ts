// Every plan that can be made for every scenario, played by as many processes as there are cores. Each scenario is played
// once in calm weather on the embedded API server; that is how it has to end, whatever goes wrong. What fails is written to
// a file with its scenario, seed, plan and history.
//
// A desk that has nothing to do in a scenario only lists and watches, and costs most of the time: plans are played with the
// desks that the scenario concerns, every tenth with all of them. All must end as the calm one did, in which every desk was on.
//
// To take part of it:
//
//   SCENARIO=race npm run test:perturbation     only scenarios with this in their name
//   PLAN='answer lost' npm run …                only plans with this in their name
//   SHARE=20 SHIFT=3 npm run …                  every twentieth plan, from the third on
//   SEED=5 npm run …                            other delays and chances
//   JOBS=1 npm run …                            fewer processes
//   MINUTES=10 npm run …                        as many as can be played in that time, from all scenarios
//   SERVER=embedded npm run …                   every plan on the embedded server: several times as long

import { fork } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { desks } from '../../src/controllers/desks.ts'
import { seededRandom } from '../harness/seeded-random.ts'
import { scenarios } from '../scenarios/all.ts'
import type { Scenario } from '../scenarios/scenario.ts'
import { calm, type Plan } from './plan.ts'
import { plansFor } from './plans.ts'
import { type Run, run } from './run.ts'
import { newborn } from './server.ts'

const {
  SCENARIO = '',
  PLAN = '',
  SHARE = '1',
  SHIFT = '0',
  SEED = '0',
  JOBS,
  MINUTES = 'Infinity',
  SERVER,
} = process.env
const seed = Number(SEED)
const server = SERVER === 'embedded' ? 'embedded' : 'lean'
const folder = join(tmpdir(), 'mooring-perturbation')
/** Plans that are handed out at once: some seconds of work. */
const portion = 20
/** Of so many plans one is played with every desk. */
const wholeEvery = 10

/** One scenario with so many desks; the plans are made where they are played. */
interface Task {
  readonly scenario: number
  readonly desks: 1 | 2
  readonly from: number
}

interface Done {
  readonly task: Task
  /** How many plans there are for it, and how many of them were played now. */
  readonly plans: number
  readonly played: number
  readonly failures: readonly string[]
}

// --- the workers ---

interface Prepared {
  readonly trials: readonly Trial[]
  readonly expected: readonly string[]
  readonly failures: readonly string[]
}

interface Trial {
  readonly scenario: Scenario
  readonly plan: Plan
}

const prepared = new Map<string, Promise<Prepared>>()

async function prepare(scenario: Scenario, desks: 1 | 2): Promise<Prepared> {
  const reference = await run({ scenario, seed, plan: calm(1), server: 'embedded' })
  const expected = reference.endState
  const calmly = (which: Scenario) => run({ scenario: which, seed, plan: calm(desks), server, expected })
  const lean = concerned(scenario)
  const here = await calmly(lean)
  const whole = lean === scenario ? here : await calmly(scenario)
  const trialsOf = (which: Scenario, { passed }: Run): Trial[] =>
    plansFor(which, passed, desks).map(plan => ({ scenario: which, plan }))
  const others = lean === scenario ? [] : trialsOf(scenario, whole).filter((_, i) => i % wholeEvery === 0)
  const trials = [...trialsOf(lean, here), ...others]
    .filter(({ plan }) => plan.name.includes(PLAN))
    .filter((_, i) => i % Number(SHARE) === Number(SHIFT) % Number(SHARE))
  const failures = [reference, here, whole]
    .filter(({ violations }) => violations.length > 0)
    .map(found => report(scenario, calm(desks), found))
  return { trials, expected, failures }
}

function concerned(scenario: Scenario): Scenario {
  const { concerns } = scenario
  return concerns === undefined ? scenario : { ...scenario, table: desks.filter(({ name }) => concerns.includes(name)) }
}

async function play(task: Task): Promise<Done> {
  const scenario = scenarios[task.scenario]
  if (scenario === undefined) throw new Error(`there is no scenario ${task.scenario}`)
  const key = `${task.scenario} ${task.desks}`
  const preparing = prepared.get(key) ?? prepare(scenario, task.desks)
  prepared.set(key, preparing)
  const { trials, expected, failures: before } = await preparing
  const failures = task.from === 0 ? [...before] : []
  const mine = trials.slice(task.from, task.from + portion)
  for (const trial of mine) {
    const found = await run({ ...trial, seed, server, expected })
    if (found.violations.length > 0) failures.push(report(trial.scenario, trial.plan, found))
  }
  return { task, plans: trials.length, played: mine.length, failures }
}

function report(scenario: Scenario, plan: Plan, { violations, history }: Run): string {
  const name = `${scenario.name} ${plan.desks} ${plan.name}`.replaceAll(/\W+/g, '-').slice(0, 200)
  const file = join(folder, `${name}.txt`)
  mkdirSync(folder, { recursive: true })
  const facts = [`scenario: ${scenario.name}`, `seed: ${seed}`, `plan: ${JSON.stringify(plan)}`]
  writeFileSync(file, [...facts, ...violations, '', ...history, ''].join('\n'))
  return `${scenario.name}, desks: ${plan.desks}, ${plan.name}: ${violations[0]} (${file})`
}

async function beWorker(): Promise<void> {
  await newborn()
  process.on('message', task => {
    void play(task as Task).then(
      done => process.send?.(done),
      error => {
        console.error(error)
        process.exit(1)
      },
    )
  })
  process.send?.('ready')
}

// --- the lead ---

async function beLead(): Promise<void> {
  const startMs = Date.now()
  const todo: Task[] = scenarios.flatMap((scenario, i) =>
    scenario.name.includes(SCENARIO) ? ([1, 2] as const).map(desks => ({ scenario: i, desks, from: 0 })) : [],
  )
  const random = seededRandom(seed)
  let made = 0
  let passed = 0
  let failed = 0
  const seconds = () => Math.round((Date.now() - startMs) / 1000)

  function take({ task, plans, played, failures }: Done): void {
    passed += Math.max(played - failures.length, 0)
    failed += failures.length
    for (const failure of failures) console.log(`FAILED ${failure}`)
    if (task.from === 0) {
      made += plans
      for (let from = portion; from < plans; from += portion) todo.push({ ...task, from })
      console.log(`${scenarios[task.scenario]?.name}, desks: ${task.desks}: ${plans} plans`)
    }
  }

  /** First the beginnings, for they say how much there is; then here and there, so that an early end has seen all sorts. */
  function next(): Task | undefined {
    if (seconds() > Number(MINUTES) * 60) return undefined
    const first = todo.findIndex(({ from }) => from === 0)
    const [task] = todo.splice(first >= 0 ? first : Math.floor(random() * todo.length), 1)
    return task
  }

  async function employ(): Promise<void> {
    const worker = fork(fileURLToPath(import.meta.url), ['worker'], {
      execArgv: ['--import', 'tsx', '--max-semi-space-size=32', '--stack-trace-limit=0'],
    })
    await new Promise<void>((resolve, reject) => {
      worker.on('exit', code =>
        code === 0 || code === null ? resolve() : reject(new Error(`a process ended: ${code}`)),
      )
      worker.on('message', message => {
        if (message !== 'ready') take(message as Done)
        const task = next()
        if (task === undefined) worker.disconnect()
        else worker.send(task)
      })
    })
  }

  const progress = setInterval(() => {
    console.log(`${seconds()} s: ${passed + failed} plans played, ${failed} failed, ${todo.length} portions to go`)
  }, 15_000)
  try {
    const jobs = Number(JOBS ?? availableParallelism())
    await Promise.all(Array.from({ length: jobs }, employ))
  } finally {
    clearInterval(progress)
  }
  console.log(`${passed + failed} of ${made} plans in ${seconds()} s`)
  console.log(`${passed} passed, ${failed} failed`)
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0
}

const [argument] = process.argv.slice(2)
if (argument === 'worker') await beWorker()
else if (argument === undefined) await beLead()
else {
  console.error(
    'What is played is chosen by SCENARIO, PLAN, SHARE, SHIFT, SEED, JOBS, MINUTES and SERVER in the environment.',
  )
  console.error('The head of test/perturbation/main.ts says how. Without any of them every plan is played, for hours.')
  process.exitCode = 2
}
