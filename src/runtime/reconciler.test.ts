import { expect, test } from 'vitest'
import { seededRandom } from '../../test/harness/seeded-random.ts'
import { silentLog } from '../../test/harness/silent-log.ts'
import { VirtualClock } from '../../test/harness/virtual-clock.ts'
import { createLog } from '../telemetry/log.ts'
import { noMetrics, type PassOutcome } from './metrics.ts'
import {
  defineReconciler,
  done,
  type Pass,
  type PassResult,
  requeue,
  requeueAfter,
  runReconciler,
} from './reconciler.ts'
import type { RetryPolicy } from './retry-policy.ts'

const backoff = { firstMs: 100, maxMs: 1_000, factor: 2, jitter: 0 }

class ErrorWithPolicy extends Error {
  readonly retryPolicy: RetryPolicy

  constructor(retryPolicy: RetryPolicy) {
    super('judged')
    this.retryPolicy = retryPolicy
  }
}

function aRun(reconcile: (times: number, pass: Pass) => Promise<PassResult>, passMsMax = 60_000) {
  const clock = new VirtualClock()
  const atMs: number[] = []
  const outcomes: PassOutcome[] = []
  const running = runReconciler(
    defineReconciler({
      name: 'test.pass',
      backoff,
      passMsMax,
      reconcile: (_, pass) => {
        atMs.push(clock.monotonicMs())
        return reconcile(atMs.length, pass)
      },
    }),
    {
      clock,
      random: seededRandom(1),
      log: silentLog,
      metrics: { ...noMetrics, passed: (_desk, _name, outcome) => outcomes.push(outcome) },
    },
  )
  running.start()
  running.mark('a')
  return { clock, running, atMs, outcomes }
}

const first = (error: unknown) => (times: number) => (times === 1 ? Promise.reject(error) : Promise.resolve(done()))

test.each<[string, (times: number) => Promise<PassResult>, number[], PassOutcome[]]>([
  ['done is done', () => Promise.resolve(done()), [0], ['done']],
  [
    'again runs again at once',
    times => Promise.resolve(times < 3 ? requeue() : done()),
    [0, 0, 0],
    ['requeue', 'requeue', 'done'],
  ],
  [
    'after waits',
    times => Promise.resolve(times < 2 ? requeueAfter(700) : done()),
    [0, 700],
    ['requeue_after', 'done'],
  ],
  ['an error backs off', first(new Error('down')), [0, 100], ['failed', 'done']],
  ['something that is no error backs off too', first('oops'), [0, 100], ['failed', 'done']],
  ['a conflict is requeued at once', first(new ErrorWithPolicy({ kind: 'stale' })), [0, 0], ['conflict', 'done']],
])('%s', async (_, reconcile, times, outcomes) => {
  const run = aRun(reconcile)
  await run.clock.advance(10_000)
  expect(run.atMs).toEqual(times)
  expect(run.outcomes).toEqual(outcomes)
  expect(run.clock.timers).toBe(0)
})

test('a delay that was asked for is kept', async () => {
  const run = aRun(first(new ErrorWithPolicy({ kind: 'retry', atLeastMs: 900 })))
  await run.clock.advance(899)
  expect(run.outcomes).toEqual(['failed'])
  await run.clock.advance(400)
  expect(run.outcomes).toEqual(['failed', 'done'])
})

test('an exception thrown before the first await is an error like any other', async () => {
  const run = aRun(times => {
    if (times === 1) throw new TypeError('cannot read properties of undefined')
    return Promise.resolve(done())
  })
  await run.clock.advance(10_000)
  expect(run.outcomes).toEqual(['failed', 'done'])
})

test('a pass that takes too long is aborted, and tried again', async () => {
  const run = aRun((times, { signal }) => {
    if (times > 1) return Promise.resolve(done())
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }, 5_000)
  await run.clock.advance(10_000)
  expect(run.atMs).toEqual([0, 5_100])
  expect(run.outcomes).toEqual(['failed', 'done'])
})

test('a line of the log says which desk and which reconciler it is of, and the kind of claim', async () => {
  const clock = new VirtualClock()
  const lines: string[] = []
  const running = runReconciler(
    defineReconciler({
      name: 'claim.binding',
      claimKind: 'IPAddressClaim',
      reconcile: () => Promise.reject(new Error('no route')),
    }),
    {
      clock,
      random: seededRandom(1),
      log: createLog({ write: line => lines.push(line), now: () => clock.now() }),
      desk: 'capi',
    },
  )
  running.start()
  running.mark('red/a')
  await clock.advance(0)
  await running.stop('shutdown')
  const of = { desk: 'capi', claimKind: 'IPAddressClaim', reconciler: 'claim.binding', key: 'red/a' }
  expect(lines.map(line => JSON.parse(line))).toEqual([expect.objectContaining(of)])
})

test('a key whose writes wake it again is slowed down, and counted', async () => {
  const clock = new VirtualClock()
  const lines: string[] = []
  const repeated: string[] = []
  const resting: string[] = []
  let passes = 0
  const running = runReconciler(
    defineReconciler({
      name: 'test.pass',
      onRest: key => resting.push(key),
      reconcile: (key, pass) => {
        passes++
        pass.wrote({ request: 'PATCH /holds/a', body: `{"at":"${new Date(clock.now()).toISOString()}"}` })
        running.mark(key)
        return Promise.resolve(done())
      },
    }),
    {
      clock,
      random: seededRandom(1),
      log: createLog({ write: line => lines.push(line), now: () => clock.now() }),
      metrics: { ...noMetrics, repeated: (...what) => repeated.push(what.join(' ')) },
      desk: 'capi',
    },
  )
  running.start()
  running.mark('a')
  // Also what marks it from outside waits.
  for (let i = 0; i < 600; i++) {
    await clock.advance(1_000)
    running.mark('a')
  }
  expect(passes).toBeGreaterThan(15)
  expect(passes).toBeLessThan(50)
  expect(repeated).toEqual(Array(passes - 10).fill('capi test.pass'))
  expect(resting).toEqual(Array(passes - 10).fill('a'))
  expect(lines.map(line => JSON.parse(line))).toEqual([
    expect.objectContaining({
      level: 'error',
      msg: 'the same is written again and again',
      key: 'a',
      write: 'PATCH /holds/a',
    }),
  ])
  await running.stop('shutdown')
})
