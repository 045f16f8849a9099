import { expect, test } from 'vitest'
import { silentLog } from '../telemetry/log.ts'
import { Manager, type Source } from './manager.ts'
import type { PassOutcome } from './metrics.ts'
import { seededRandom } from './random.ts'
import {
  defineReconciler,
  done,
  type Pass,
  type PassResult,
  requeue,
  requeueAfter,
  runReconciler,
} from './reconciler.ts'
import { Cancelled, type RetryPolicy, TerminalError } from './retry-policy.ts'
import { settle, VirtualClock } from './virtual-clock.ts'

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
      metrics: { waited: () => {}, passed: (_, outcome) => outcomes.push(outcome) },
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
  ['a conflict looks again at once', first(new ErrorWithPolicy({ kind: 'stale' })), [0, 0], ['conflict', 'done']],
  ['a terminal error is not tried again', first(new TerminalError('never')), [0], ['terminal']],
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

test('a pass that takes too long is told to stop, and tried again', async () => {
  const run = aRun((times, { signal }) => {
    if (times > 1) return Promise.resolve(done())
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }, 5_000)
  await run.clock.advance(10_000)
  expect(run.atMs).toEqual([0, 5_100])
  expect(run.outcomes).toEqual(['failed', 'done'])
})

function aSource(name: string, journal: string[]) {
  let sync = () => {}
  const synced = new Promise<void>(resolve => {
    sync = resolve
  })
  const source: Source = {
    name,
    start: () => journal.push(`${name} starts`),
    synced: signal =>
      Promise.race([
        synced,
        new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      ]),
    stop: reason => {
      journal.push(`${name} stops: ${reason}`)
      return Promise.resolve()
    },
  }
  return { source, sync }
}

test('passes begin when every source is synced, and end before the sources do', async () => {
  const journal: string[] = []
  const clock = new VirtualClock()
  const manager = new Manager({ clock, random: seededRandom(1), log: silentLog })
  const [pools, claims] = [aSource('pools', journal), aSource('claims', journal)]
  manager.addSource(pools.source)
  manager.addSource(claims.source)
  manager.addSource(pools.source)
  const binding = manager.addReconciler(
    defineReconciler({
      name: 'claim.binding',
      reconcile: (key, { signal }) => {
        journal.push(`pass over ${key}`)
        return new Promise((_, reject) =>
          signal.addEventListener('abort', () => {
            journal.push(`pass ends: ${(signal.reason as Cancelled).reason}`)
            reject(signal.reason)
          }),
        )
      },
    }),
  )
  binding.mark('a')
  const started = manager.start()
  pools.sync()
  await settle()
  expect(journal).toEqual(['pools starts', 'claims starts'])
  claims.sync()
  await started
  await settle()
  await manager.stop('shutdown')
  expect(journal.slice(2)).toEqual([
    'pass over a',
    'pass ends: shutdown',
    'pools stops: shutdown',
    'claims stops: shutdown',
  ])
  expect(manager.state).toBe('stopped')
  expect(clock.timers).toBe(0)
})

test('a manager that is stopped while it waits for its sources says so', async () => {
  const manager = new Manager({ clock: new VirtualClock(), random: seededRandom(1), log: silentLog })
  manager.addSource(aSource('pools', []).source)
  const started = manager.start()
  const refused = expect(started).rejects.toThrow(new Cancelled('lost-lease').message)
  await manager.stop('lost-lease')
  await refused
})

test('a pass that does not listen is waited for only so long', async () => {
  const clock = new VirtualClock()
  const manager = new Manager({ clock, random: seededRandom(1), log: silentLog, stopMsMax: 5_000 })
  const deaf = manager.addReconciler(defineReconciler({ name: 'deaf', reconcile: () => new Promise(() => {}) }))
  deaf.mark('a')
  await manager.start()
  await settle()
  const stopped = manager.stop('shutdown')
  await clock.advance(4_999)
  expect(manager.state).toBe('stopping')
  await clock.advance(1)
  await stopped
  expect(manager.state).toBe('stopped')
})

test('a task that ends by itself is told to whoever owns the process', async () => {
  const ended: string[] = []
  const clock = new VirtualClock()
  const manager = new Manager({
    clock,
    random: seededRandom(1),
    log: silentLog,
    onTaskEnd: (task, error) => ended.push(`${task}: ${String(error)}`),
  })
  manager.addTask({ name: 'webhooks', run: () => Promise.reject(new Error('port taken')) })
  manager.addTask({
    name: 'audit',
    run: signal => new Promise(resolve => signal.addEventListener('abort', () => resolve())),
  })
  await manager.start()
  await settle()
  await manager.stop('shutdown')
  expect(ended).toEqual(['webhooks: Error: port taken'])
})
