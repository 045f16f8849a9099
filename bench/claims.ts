// `npm run bench:claims [-- --only=PARTS] [--sides=mooring,reference] [--held=0,1000,...] [--quick] [--write] [--profile=DIR]`:
// how fast claims are bound on a real kube-apiserver, by Mooring and by the reference provider, each alone on a fresh server
// on this machine in one run, and how fast Mooring's own four writes could be sent at all.
//
// Parts: idle (one claim at a time), bare (the four writes alone, without a decision), backlog (claims that wait, let go at once), fill (a
// /22 to the last address), rebind (release in a full pool), held (claims beside many held addresses), restart.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { kubernetesVersion, referenceIpamVersion, skippedExitCode, Unavailable } from '../scripts/real/binaries.ts'
import { claims, reports } from '../src/controllers/capi/kinds.ts'
import { bareLists, bareRate, bareTimes } from './claims-bare.ts'
import {
  type Arrivals,
  allBound,
  arrivals,
  CpuOfAll,
  cpuMsOf,
  createClaim,
  createPool,
  fillUp,
  heldRange,
  inParallel,
  memoryMiBOf,
  namespace,
  pausePool,
  quantile,
  requestsPer,
  requestsSoFar,
  type Side,
  startSide,
  stopwatchOfCpu,
  summary,
} from './claims-side.ts'
import { machine, writeSections } from './page.ts'

const parts = ['idle', 'bare', 'backlog', 'fill', 'rebind', 'held', 'restart'] as const
type Part = (typeof parts)[number]
type SideName = Side['name']

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: parts.join(',') },
    sides: { type: 'string', default: 'mooring,reference' },
    held: { type: 'string' },
    quick: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    profile: { type: 'string' },
  },
})
const wanted = new Set(values.only.split(','))
const levels = (values.held ?? (values.quick ? '0,1000,10000' : '0,1000,10000,50000')).split(',').map(Number)
const restMs = 60_000
const betweenMs = 20
const bareIdle = 'one claim on an idle server, the four writes bare'
const listsOf = (level: number): string => `the lists of ${many(level)} held, read and parsed bare`
const restartAt = values.quick ? 5_000 : 20_000
const startRounds = 5
const wants = (part: Part): boolean => wanted.has(part)
const say = (line: string): void => console.error(line)
const many = (count: number): string => count.toLocaleString('en')

/** How much of each is measured: the reference provider is an order of magnitude slower. */
const sizes = values.quick
  ? { idle: 50, warm: 200, bare: 500, rounds: 1, rebind: 20, arrivals: 500, referenceIdle: 5, referenceArrivals: 60 }
  : {
      idle: 200,
      warm: 300,
      bare: 1_000,
      rounds: 3,
      rebind: 100,
      arrivals: 1_000,
      referenceIdle: 20,
      referenceArrivals: 200,
    }
const capMs = { mooring: 180_000, reference: values.quick ? 30_000 : 60_000 }

interface Row {
  readonly task: string
  readonly unit: string
  readonly figures: Partial<Record<SideName, string>>
  readonly ratio?: string
}

const figures = new Map<string, number>()
const rows = new Map<string, Row>()

function report(side: SideName, task: string, unit: string, value: number, note = ''): void {
  figures.set(`${side} ${task} ${unit}`, value)
  const text = `${toText(value)}${note}`
  const before = rows.get(`${task} ${unit}`)
  rows.set(`${task} ${unit}`, { task, unit, figures: { ...before?.figures, [side]: text } })
  console.log(`${side.padEnd(10)} ${task.padEnd(52)} ${text.padStart(12)} ${unit}`)
}

function toText(value: number): string {
  if (!Number.isFinite(value)) return '-'
  if (value >= 100) return many(Math.round(value))
  return value.toFixed(1)
}

function reportArrivals(side: SideName, task: string, { asked, bound, perSecond, p50Ms, p99Ms }: Arrivals): void {
  const note = bound === asked ? '' : ` (${many(bound)} of ${many(asked)} in time)`
  report(side, task, 'bound/s', perSecond, note)
  report(side, task, 'p50 ms', p50Ms)
  report(side, task, 'p99 ms', p99Ms)
}

async function main(): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'mooring-bench-claims-'))
  try {
    for (const name of ['mooring', 'reference'] as const) {
      if (!values.sides.split(',').includes(name)) continue
      say(`${name}: starting a kube-apiserver`)
      const nodeArgs = values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`]
      const side = await startSide({ name, dir: root, say, nodeArgs })
      try {
        await measure(side)
      } finally {
        await side.close()
      }
    }
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

async function measure(side: Side): Promise<void> {
  if (side.name === 'mooring' && wants('idle')) await measureBareIdle(side)
  if (side.name === 'mooring' && (wants('bare') || wants('backlog'))) await measureWrites(side)
  await ready(side)
  if (wants('idle')) await measureIdle(side)
  if (wants('fill') || wants('rebind')) await measureFill(side)
  if (wants('held') || wants('restart')) await measureHeld(side)
}

/** One after the other on a server that has nothing else to do. */
async function measureIdle(side: Side): Promise<void> {
  const count = side.name === 'mooring' ? sizes.idle : sizes.referenceIdle
  say(`${side.name}: ${count} claims, one at a time`)
  await createPool(side, 'idle', '10.16.0.0/22', 22)
  await createClaim(side, 'idle-first', 'idle')
  await side.bound.wait('idle-first', 60_000)
  const times: number[] = []
  await quiet(side)
  for (let i = 0; i < count; i++) {
    const name = `idle-${i}`
    const startedMs = performance.now()
    await createClaim(side, name, 'idle')
    if (!(await side.bound.wait(name, 60_000))) throw new Error(`${name} was not bound within a minute`)
    times.push((side.bound.atMs(name) ?? 0) - startedMs)
    await delay(betweenMs)
  }
  reportTimes(side.name, 'one claim on an idle server', times)
}

/** The same writes by a client that decides nothing: what the server alone takes. */
async function measureBareIdle(side: Side): Promise<void> {
  say(`${side.name}: the four writes of ${sizes.idle} claims, one at a time`)
  await bareTimes(side, 'bare-warm', sizes.warm, 0)
  await quiet(side)
  reportTimes(side.name, bareIdle, await bareTimes(side, 'bare-idle', sizes.idle, betweenMs))
}

function reportTimes(side: SideName, task: string, times: readonly number[]): void {
  const sorted = times.toSorted((a, b) => a - b)
  report(side, task, 'p50 ms', quantile(sorted, 0.5))
  report(side, task, 'p99 ms', quantile(sorted, 0.99))
}

/**
 * The four writes without a decision, and the same by Mooring for claims that are there already, of a pool that is paused and
 * then is not. Both in turn, so that a busy machine slows both alike.
 */
async function measureWrites(side: Side): Promise<void> {
  const bare = new Map<number, number[]>([16, 64].map(clients => [clients, []]))
  const backlogs: Arrivals[] = []
  for (let round = 0; round < sizes.rounds; round++) {
    if (wants('bare')) {
      await side.stopProvider()
      for (const [clients, rates] of bare) {
        say(`${side.name}: the four writes of ${many(sizes.bare)} claims by ${clients} clients`)
        rates.push(await bareRate(side, `bare-${clients}-${round}`, sizes.bare, clients))
      }
    }
    if (wants('backlog')) {
      await ready(side)
      await warmUp(side, round)
      say(`${side.name}: ${many(sizes.bare)} claims that wait, let go at once`)
      backlogs.push(await backlog(side, `backlog-${round}`, `10.${32 + round}.0.0/16`))
    }
  }
  for (const [clients, rates] of wants('bare') ? bare : []) {
    report(side.name, `the four writes bare, by ${clients} clients`, 'bound/s', medianOf(rates))
  }
  if (!wants('backlog')) return
  report(side.name, 'a backlog of claims', 'bound/s', medianOf(backlogs.map(({ perSecond }) => perSecond)))
  report(side.name, 'a backlog of claims', 'CPU ms/claim', medianOf(backlogs.map(({ cpuMsPerClaim }) => cpuMsPerClaim)))
}

async function backlog(side: Side, pool: string, addresses: string): Promise<Arrivals> {
  await createPool(side, pool, addresses, 16)
  await pausePool(side, pool, true)
  const names = Array.from({ length: sizes.bare }, (_, i) => `${pool}-${i}`)
  await inParallel(names, 64, name => createClaim(side, name, pool))
  await quiet(side)
  return accounted(side, names.length, async () => {
    const cpu = stopwatchOfCpu(side)
    const startedMs = performance.now()
    await pausePool(side, pool, false)
    await allBound(side, names, capMs[side.name])
    return summary(side, names, () => startedMs, startedMs, cpu)
  })
}

/** Prints beside it what each claim cost all processes. */
async function accounted<T>(side: Side, claims: number, work: () => Promise<T>): Promise<T> {
  const before = await requestsSoFar(side)
  const all = new CpuOfAll(side)
  const result = await work()
  say(`  processor time per claim: ${all.per(claims)}`)
  say(`  requests per claim: ${requestsPer(claims, before, await requestsSoFar(side))}`)
  return result
}

/** A program that has just started has not been compiled yet; a controller runs for weeks. */
async function warmUp(side: Side, round: number): Promise<void> {
  const pool = `warm-${round}`
  await createPool(side, pool, `10.${64 + 8 + round}.0.0/16`, 16)
  const names = Array.from({ length: sizes.warm }, (_, i) => `${pool}-${i}`)
  await arrivals(side, names, pool, capMs[side.name])
  await quiet(side)
}

async function ready(side: Side): Promise<void> {
  if (side.provider === undefined) await side.startProvider()
}

async function measureFill(side: Side): Promise<void> {
  const usable = 1022
  const waiters = sizes.rebind
  say(`${side.name}: filling a /22, with ${waiters} claims more than it has addresses`)
  await createPool(side, 'fill', '10.24.0.0/22', 22)
  const names = Array.from({ length: usable }, (_, i) => `fill-${i}`)
  const cap = side.name === 'mooring' ? capMs.mooring : 180_000
  const filled = await arrivals(side, names, 'fill', cap)
  reportArrivals(side.name, 'a /22 filled to the last address', filled)
  if (filled.bound < usable) return
  await mustBeDistinct(side, 'fill-', usable)
  if (!wants('rebind')) return
  const late = Array.from({ length: waiters }, (_, i) => `late-${i}`)
  await inParallel(late, 16, name => createClaim(side, name, 'fill'))
  await quiet(side)
  say(`${side.name}: ${waiters} of them released, ${waiters} claims wait`)
  const rebound = await accounted(side, waiters, async () => {
    const cpu = stopwatchOfCpu(side)
    const startedMs = performance.now()
    await inParallel(names.slice(0, waiters), 16, name => side.client.delete(claims, { name, namespace }))
    await allBound(side, late, capMs[side.name])
    return summary(side, late, () => startedMs, startedMs, cpu)
  })
  reportArrivals(side.name, `release and re-bind of ${waiters} in a full pool`, rebound)
}

async function measureHeld(side: Side): Promise<void> {
  await createPool(side, 'held', heldRange, 14)
  const count = side.name === 'mooring' ? sizes.arrivals : sizes.referenceArrivals
  let held = 0
  const sample = 'sample-of-what-is-held'
  const steps = [
    ...(wants('held') ? levels.map(level => ({ level, isRestart: false })) : []),
    ...(wants('restart') ? [{ level: restartAt, isRestart: true }] : []),
  ].toSorted((a, b) => a.level - b.level)
  for (const { level, isRestart } of steps) {
    if (level > 0) {
      if (held === 0) {
        await createClaim(side, sample, 'held')
        if (!(await side.bound.wait(sample, 60_000))) throw new Error('the first claim was not bound within a minute')
        held = 1
      } else if (side.bound.atMs(sample) === undefined) {
        await createClaim(side, sample, 'held')
        await side.bound.wait(sample, 60_000)
        held++
      }
      await side.stopProvider()
      say(`${side.name}: ${many(level)} addresses held`)
      await fillUp(side, sample, held, level - held)
      held = Math.max(held, level)
      if (!isRestart && side.name === 'mooring') {
        const rate = await bareRate(side, `bare-beside-${level}`, sizes.bare, 64)
        report(side.name, `${many(level)} held, the four writes bare`, 'bound/s', rate)
      }
      if (isRestart) held += await measureStarts(side, level)
      else {
        await start(side, `first-beside-${level}`)
        await quiet(side)
        held++
      }
    }
    if (isRestart) continue
    const names = Array.from({ length: count }, (_, i) => `beside-${level}-${i}`)
    say(`${side.name}: ${many(count)} claims beside ${many(level)} held addresses`)
    const result = await accounted(side, names.length, () => arrivals(side, names, 'held', capMs[side.name]))
    held += result.bound
    reportArrivals(side.name, `${many(level)} held, claims by 16 clients`, result)
    report(side.name, `${many(level)} held, claims by 16 clients`, 'CPU ms/claim', result.cpuMsPerClaim)
    if (result.bound < names.length) await abandon(side, names)
  }
}

/** Answers how often it was started, each time with a claim that waits for it. */
async function measureStarts(side: Side, level: number): Promise<number> {
  const readLists = side.name === 'mooring' ? await bareLists(side) : undefined
  const [starts, lists]: [Start[], number[]] = [[], []]
  const rounds = side.name === 'mooring' ? startRounds : 1
  for (let round = 0; round < rounds; round++) {
    await side.stopProvider()
    // In turns, so that a busy machine slows both alike.
    if (readLists !== undefined) lists.push(await readLists())
    starts.push(await start(side, `first-beside-${level}-${round}`))
    await quiet(side)
  }
  if (lists.length > 0) report(side.name, listsOf(level), 'CPU ms', medianOf(lists))
  const of = `start with ${many(level)} held, until the first bind`
  report(side.name, of, 'ms', medianOf(starts.map(({ tookMs }) => tookMs)))
  report(side.name, of, 'CPU ms', medianOf(starts.map(({ cpuMs }) => cpuMs)))
  // What a start leaves behind is thrown away when a program has had nothing to do for some time.
  await delay(restMs)
  report(side.name, `start with ${many(level)} held, at rest`, 'MiB', memoryMiBOf(side.provider?.pid ?? 0))
  return rounds
}

interface Start {
  readonly tookMs: number
  readonly cpuMs: number
}

/** With a claim that waits for it, until that is bound. */
async function start(side: Side, name: string): Promise<Start> {
  await createClaim(side, name, 'held')
  const startedMs = performance.now()
  // A claim may be bound before the provider is asked again whether it is ready; what it does after that is not looked at.
  let cpuMs = Number.NaN
  const isBound = side.bound.wait(name, 300_000)
  await side.startProvider(pid => void isBound.then(() => (cpuMs = cpuMsOf(pid))))
  if (!(await isBound)) throw new Error(`${name} was not bound within five minutes`)
  const tookMs = (side.bound.atMs(name) ?? 0) - startedMs
  say(
    `${side.name}: bound its first claim ${Math.round(tookMs)} ms after its start, with ${cpuMs} ms of processor time`,
  )
  return { tookMs, cpuMs }
}

/** What is not served in time must not be served in the next measurement. */
async function abandon(side: Side, names: readonly string[]): Promise<void> {
  const left = names.filter(name => side.bound.atMs(name) === undefined)
  await inParallel(left, 16, name => side.client.delete(claims, { name, namespace }))
}

/** Until neither the provider nor the servers have anything to do for a while; one that is busy for ever is left alone. */
async function quiet({ provider, cluster }: Side): Promise<void> {
  const pids = [...Object.values(cluster.pids), ...(provider ? [provider.pid] : [])]
  const used = (): number => pids.reduce((sum, pid) => sum + cpuMsOf(pid), 0)
  let before = used()
  for (let calm = 0, tries = 0; calm < 4 && tries < 120; tries++) {
    await delay(250)
    const now = used()
    calm = now - before <= 40 ? calm + 1 : 0
    before = now
  }
}

async function mustBeDistinct({ client, name }: Side, prefix: string, count: number): Promise<void> {
  const { items } = await client.list(reports, { namespace })
  const addresses = items
    .filter(({ metadata }) => metadata.name?.startsWith(prefix))
    .map(item => (item as { spec?: { address?: string } }).spec?.address)
  if (addresses.length === count && new Set(addresses).size === count) return
  throw new Error(`${name} gave ${addresses.length} addresses, ${new Set(addresses).size} distinct, to ${count} claims`)
}

function medianOf(list: readonly number[]): number {
  return list.toSorted((a, b) => a - b)[list.length >> 1] ?? Number.NaN
}

interface Goal {
  readonly goal: string
  readonly measured: string
  readonly isMet: boolean
}

function goals(): Goal[] {
  const found: Goal[] = []
  const figure = (key: string): number | undefined => figures.get(`mooring ${key}`)
  const bare = [16, 64].flatMap(clients => figure(`the four writes bare, by ${clients} clients bound/s`) ?? [])
  const backlog = figure('a backlog of claims bound/s')
  if (bare.length > 0 && backlog !== undefined) {
    const share = backlog / Math.max(...bare)
    const measured = `${share.toFixed(2)} of the better of both`
    found.push({ goal: 'at least 0.8 of the rate of the bare writes', measured, isMet: share >= 0.8 })
  }
  const few = figure('1,000 held, claims by 16 clients bound/s')
  const lots = figure('50,000 held, claims by 16 clients bound/s')
  if (few !== undefined && lots !== undefined) {
    const cost = few / lots
    const [bareFew, bareLots] = [1_000, 50_000].map(level =>
      figure(`${many(level)} held, the four writes bare bound/s`),
    )
    const server = bareFew && bareLots ? `; the bare writes alone ${(bareFew / bareLots).toFixed(2)}` : ''
    found.push({
      goal: 'a claim beside 50,000 costs at most 1.2 of one beside 1,000',
      measured: `${cost.toFixed(2)}${server}`,
      isMet: cost <= 1.2,
    })
  }
  const lists = figure(`${listsOf(restartAt)} CPU ms`)
  const start = figure(`start with ${many(restartAt)} held, until the first bind CPU ms`)
  if (lists !== undefined && start !== undefined) {
    found.push({
      goal: `a start with ${many(restartAt)} held costs at most 1.5 of reading and parsing the lists bare`,
      measured: (start / lists).toFixed(2),
      isMet: start <= 1.5 * lists,
    })
  }
  const atRest = `start with ${many(restartAt)} held, at rest MiB`
  const [ours, theirs] = [figure(atRest), figures.get(`reference ${atRest}`)]
  if (ours !== undefined && theirs !== undefined) {
    found.push({
      goal: `${many(restartAt)} held at rest take no more memory than beside the reference provider`,
      measured: `${(ours / theirs).toFixed(2)} of it`,
      isMet: ours <= theirs,
    })
  }
  const p99 = figure('one claim on an idle server p99 ms')
  if (p99 !== undefined) {
    const bareP99 = figure(`${bareIdle} p99 ms`)
    const server = bareP99 === undefined ? '' : `; the bare writes alone ${bareP99.toFixed(1)} ms`
    found.push({
      goal: 'p99 of one claim on an idle server under 50 ms',
      measured: `${p99.toFixed(1)} ms${server}`,
      isMet: p99 < 50,
    })
  }
  return found
}

function toMarkdown(): string {
  const lines = [...rows.values()].map(({ task, unit, figures: shown }) => {
    const [ours, theirs] = (['mooring', 'reference'] as const).map(side => figures.get(`${side} ${task} ${unit}`))
    const isMoreBetter = unit === 'bound/s'
    const ratio = ours === undefined || theirs === undefined ? undefined : isMoreBetter ? ours / theirs : theirs / ours
    const better = ratio === undefined || !Number.isFinite(ratio) ? '' : `${ratio.toFixed(1)}x`
    return `| ${task} | ${unit} | ${shown.mooring ?? ''} | ${shown.reference ?? ''} | ${better} |`
  })
  const table = [
    `| task | unit | Mooring | reference provider ${referenceIpamVersion} | Mooring is better |`,
    '|---|---|---|---|---|',
    ...lines,
  ]
  const verdicts = goals().map(({ goal, measured, isMet }) => `| ${goal} | ${measured} | ${isMet ? 'yes' : 'no'} |`)
  const goalTable = verdicts.length === 0 ? [] : ['', '| goal | measured | met |', '|---|---|---|', ...verdicts]
  return [...table, ...goalTable].join('\n')
}

try {
  await main()
  const markdown = toMarkdown()
  console.log(`\n${markdown}`)
  if (values.write) {
    const text = `## Claims

By \`npm run bench:claims -- --write\` on ${machine()}.
Each provider alone on a fresh kube-apiserver ${kubernetesVersion} with etcd, without request limits, with the same kinds and the same
pools, one after the other in one run. A claim's time runs from when its author asks for it until its author sees its address.
Addresses that are held already are copies of a bound claim, and of all that belongs to it, written to etcd; beside the reference
provider only its addresses are, for at its start it asks about every claim, twenty a second. It waits between its requests (20
per second), so its figures say little about the machine, and only ${sizes.referenceIdle} single claims are asked of it before it has to: its p99 there is the slowest
of these, Mooring's is one of ${sizes.idle}.

${markdown}`
    writeSections(text)
  }
  process.exit()
} catch (error) {
  if (!(error instanceof Unavailable)) throw error
  console.log(`skipped, because ${error.message}`)
  process.exit(skippedExitCode)
}
