import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../test/harness/seeded-random.ts'
import { settle, VirtualClock } from '../../test/harness/virtual-clock.ts'
import { type Next, type QueueOptions, staleBackoff, WorkQueue } from './queue.ts'

const done: Next = { kind: 'done' }

function aQueue(options: Partial<QueueOptions> & Pick<QueueOptions, 'run'>) {
  const clock = new VirtualClock()
  const queue = new WorkQueue({
    clock,
    random: seededRandom(1),
    concurrency: 1,
    backoff: { firstMs: 100, maxMs: 1_000, factor: 2, jitter: 0 },
    ...options,
  })
  return { clock, queue }
}

/** Notes when each key ran, and answers what the test set. */
function aLog(answer: (key: string, times: number) => Next = () => done) {
  const ran: { key: string; atMs: number }[] = []
  const counts = new Map<string, number>()
  const time = { nowMs: () => 0 }
  return {
    ran,
    time,
    keys: () => ran.map(({ key }) => key),
    run: (key: string) => {
      ran.push({ key, atMs: time.nowMs() })
      const times = (counts.get(key) ?? 0) + 1
      counts.set(key, times)
      return Promise.resolve(answer(key, times))
    },
  }
}

describe('a queue', () => {
  test('runs nothing before it is started, and everything marked until then once', async () => {
    const log = aLog()
    const { queue } = aQueue({ run: log.run })
    for (const key of ['a', 'b', 'a']) queue.mark(key)
    await settle()
    expect(log.keys()).toEqual([])
    expect(queue.depth).toBe(2)
    queue.start()
    await settle()
    expect(log.keys()).toEqual(['a', 'b'])
    expect([queue.depth, queue.running, queue.size]).toEqual([0, 0, 0])
  })

  test('takes nothing from the moment it is paused, and goes on in order when it is started again', async () => {
    const log = aLog()
    const { queue, clock } = aQueue({ run: log.run })
    queue.start()
    queue.mark('a')
    queue.pause()
    queue.mark('b')
    queue.markAfter('c', 1_000)
    await clock.advance(5_000)
    expect([log.keys(), queue.depth]).toEqual([[], 3])
    queue.start()
    await settle()
    expect(log.keys()).toEqual(['a', 'b', 'c'])
  })

  test('runs a key again that was marked while it ran, and never beside itself', async () => {
    let finish = () => {}
    const keys: string[] = []
    const { queue } = aQueue({
      concurrency: 4,
      run: key => {
        keys.push(key)
        return new Promise(resolve => {
          finish = () => resolve(done)
        })
      },
    })
    queue.start()
    queue.mark('a')
    await settle()
    queue.mark('a')
    queue.mark('a')
    await settle()
    expect(keys).toEqual(['a'])
    finish()
    await settle()
    expect(keys).toEqual(['a', 'a'])
    finish()
    await settle()
    expect(keys).toEqual(['a', 'a'])
  })

  test('takes groups in turn, so that a large one does not hold up a small one', async () => {
    const log = aLog()
    const { queue } = aQueue({ run: log.run, groupOf: key => [key.charAt(0)] })
    for (const key of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']) queue.mark(key)
    queue.start()
    await settle()
    expect(log.keys()).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
  })

  test('takes the groups of a group within its turn, so that none gets more turns by having more of them', async () => {
    const log = aLog()
    const { queue } = aQueue({ run: log.run, groupOf: key => key.split('/').slice(0, -1) })
    for (const key of ['a/p/1', 'a/p/2', 'a/q/1', 'a/r/1', 'b/p/1', 'b/p/2', 'b/q/1']) queue.mark(key)
    queue.start()
    await settle()
    expect(log.keys()).toEqual(['a/p/1', 'b/p/1', 'a/q/1', 'b/q/1', 'a/r/1', 'b/p/2', 'a/p/2'])
    expect(queue.depth).toBe(0)
  })

  test.each([
    ['one pool', () => 'pool'],
    ['a pool each', (number: number) => `pool-${number}`],
  ])('begins a claim of one namespace as soon, however many another has made on %s', async (_, poolOf) => {
    const concurrency = 64
    /** Passes that end between the mark of the claim and the begin of its own. */
    const delayBehind = async (flood: number) => {
      const ends: (() => void)[] = []
      let hasBegun = false
      const { queue } = aQueue({
        concurrency,
        groupOf: key => key.split('/').slice(0, -1),
        run: key => {
          hasBegun ||= key.startsWith('b/')
          return new Promise(resolve => ends.push(() => resolve(done)))
        },
      })
      queue.start()
      for (let number = 0; number < flood; number++) queue.mark(`a/${poolOf(number)}/${number}`)
      await settle()
      queue.mark('b/pool/1')
      let delay = 0
      for (; !hasBegun; delay++) {
        ends.shift()?.()
        await settle()
      }
      void queue.stop()
      return delay
    }
    const [few, many] = [await delayBehind(200), await delayBehind(2_000)]
    expect(many).toBeLessThanOrEqual(2)
    expect(many / few).toBeLessThanOrEqual(1)
  })

  test('keeps the earliest of several delays', async () => {
    const log = aLog()
    const { queue, clock } = aQueue({ run: log.run })
    log.time.nowMs = () => clock.monotonicMs()
    queue.start()
    queue.markAfter('a', 500)
    queue.markAfter('a', 200)
    queue.markAfter('a', 900)
    await clock.advance(5_000)
    expect(log.ran).toEqual([{ key: 'a', atMs: 200 }])
    expect(clock.timers).toBe(0)
  })

  test('keeps a wish from outside through a pass that came before it was due', async () => {
    const log = aLog()
    const { queue, clock } = aQueue({ run: log.run })
    log.time.nowMs = () => clock.monotonicMs()
    queue.start()
    queue.markAfter('a', 500)
    await clock.advance(100)
    queue.mark('a')
    await clock.advance(5_000)
    expect(log.ran.map(({ atMs }) => atMs)).toEqual([100, 500])
  })

  test('replaces what a pass asked for by what the next one asks for', async () => {
    const log = aLog((_, times) => (times === 1 ? { kind: 'requeue after', delayMs: 1_000 } : done))
    const { queue, clock } = aQueue({ run: log.run })
    log.time.nowMs = () => clock.monotonicMs()
    queue.start()
    queue.mark('a')
    await clock.advance(300)
    queue.mark('a')
    await clock.advance(5_000)
    expect(log.ran.map(({ atMs }) => atMs)).toEqual([0, 300])
  })

  test('waits longer after each failure, starts anew after a success, and lets others pass', async () => {
    const log = aLog((key, times) => (key === 'bad' && times < 4 ? { kind: 'retry' } : done))
    const { queue, clock } = aQueue({ run: log.run })
    log.time.nowMs = () => clock.monotonicMs()
    queue.start()
    queue.mark('bad')
    queue.mark('good')
    await clock.advance(150)
    queue.mark('good')
    await clock.advance(5_000)
    const at = (key: string) => log.ran.filter(one => one.key === key).map(({ atMs }) => atMs)
    expect(at('bad')).toEqual([0, 100, 300, 700])
    expect(at('good')).toEqual([0, 150])
    expect(queue.size).toBe(0)
  })

  test('waits at least as long as it was asked to, and not all until the same moment', async () => {
    const log = aLog((_, times) => (times === 1 ? { kind: 'retry', atLeastMs: 3_000 } : done))
    const { queue, clock } = aQueue({ run: log.run, concurrency: 10 })
    log.time.nowMs = () => clock.monotonicMs()
    queue.start()
    for (const key of ['a', 'b', 'c']) queue.mark(key)
    await clock.advance(10_000)
    const later = log.ran.slice(3).map(({ atMs }) => atMs)
    expect(later.every(atMs => atMs >= 3_000 && atMs <= 3_750)).toBe(true)
    expect(new Set(later).size).toBe(3)
  })

  test('lets the event loop have its turn among passes that wait for nothing', async () => {
    const log = aLog()
    const { queue } = aQueue({ run: log.run })
    for (let i = 0; i < 5_000; i++) queue.mark(`key-${i}`)
    queue.start()
    await new Promise(resolve => setImmediate(resolve))
    expect(log.ran.length).toBeGreaterThan(0)
    expect(log.ran.length).toBeLessThan(5_000)
    for (let turn = 0; turn < 10; turn++) await settle()
    expect(log.ran.length).toBe(5_000)
  })

  test('runs a key again at once that was decided on an old cache, and then after pauses that stay short', async () => {
    const log = aLog(() => ({ kind: 'stale' }))
    const { queue, clock } = aQueue({ run: log.run })
    log.time.nowMs = () => clock.monotonicMs()
    queue.start()
    queue.mark('a')
    await clock.advance(60 * 60_000)
    const pauses = log.ran.slice(1).map(({ atMs }, i) => atMs - (log.ran[i]?.atMs ?? 0))
    expect(pauses.slice(0, 2)).toEqual([0, expect.closeTo(15, -1)])
    expect(Math.max(...pauses)).toBeLessThanOrEqual(staleBackoff.maxMs)
    expect(pauses.slice(10).every(pause => pause >= staleBackoff.maxMs / 2)).toBe(true)
    await queue.stop()
  })

  test('does not count an old cache among the failures, nor forget them for it', async () => {
    const answers: Next[] = [{ kind: 'retry' }, { kind: 'stale' }, { kind: 'retry' }, done]
    const log = aLog((_, times) => answers[times - 1] ?? done)
    const { queue, clock } = aQueue({ run: log.run })
    log.time.nowMs = () => clock.monotonicMs()
    queue.start()
    queue.mark('a')
    await clock.advance(60_000)
    expect(log.ran.map(({ atMs }) => atMs)).toEqual([0, 100, 100, 300])
    expect(queue.size).toBe(0)
  })

  test('slows a pass down that asks for more without end', async () => {
    const log = aLog(() => ({ kind: 'requeue' }))
    const { queue, clock } = aQueue({ run: log.run })
    queue.start()
    queue.mark('a')
    await clock.advance(10_000)
    expect(log.ran.length).toBeGreaterThan(100)
    expect(log.ran.length).toBeLessThan(130)
    await queue.stop()
  })

  test('says how long the oldest key has waited', async () => {
    const { queue, clock } = aQueue({ run: aLog().run })
    queue.mark('a')
    await clock.advance(700)
    queue.mark('b')
    expect(queue.oldestMs()).toBe(700)
  })

  test('when stopped, waits for what runs, forgets the rest and leaves no timer', async () => {
    let finish = () => {}
    const { queue, clock } = aQueue({
      run: () =>
        new Promise(resolve => {
          finish = () => resolve({ kind: 'requeue after', delayMs: 10 })
        }),
    })
    queue.start()
    queue.mark('a')
    queue.mark('b')
    queue.markAfter('c', 100)
    await settle()
    let hasStopped = false
    const stopped = queue.stop().then(() => {
      hasStopped = true
    })
    await settle()
    expect(hasStopped).toBe(false)
    finish()
    await stopped
    queue.mark('d')
    queue.markAfter('e', 5)
    expect([clock.timers, queue.size]).toEqual([0, 0])
  })
})

// The model: a due time per key, and a set of runs under way. Time, marks and ends of passes come in any order.

type Step =
  | { readonly do: 'mark'; readonly key: string }
  | { readonly do: 'markAfter'; readonly key: string; readonly delayMs: number }
  | { readonly do: 'end'; readonly which: number; readonly next: Next }
  | { readonly do: 'pass'; readonly milliseconds: number }

const keys = fc.constantFrom('a1', 'a2', 'b1', 'b2', 'c1')
const nexts: fc.Arbitrary<Next> = fc.oneof(
  fc.constant<Next>({ kind: 'done' }),
  fc.constant<Next>({ kind: 'requeue' }),
  fc.integer({ min: 1, max: 300 }).map((delayMs): Next => ({ kind: 'requeue after', delayMs })),
  fc.constant<Next>({ kind: 'retry' }),
)
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('mark' as const), key: keys }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('markAfter' as const),
      key: keys,
      delayMs: fc.integer({ min: 0, max: 400 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('end' as const), which: fc.nat(7), next: nexts }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('pass' as const), milliseconds: fc.integer({ min: 0, max: 250 }) }),
  },
)

test('any story: no key beside itself, never more than allowed at once, nothing forgotten, nothing late', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 60 }), fc.integer({ min: 1, max: 3 }), async (story, concurrency) => {
      const running: { key: string; end: (next: Next) => void }[] = []
      // When each key must have begun a pass at the latest, if there is room.
      const owed = new Map<string, number>()
      // The earliest delay asked for that is not over: a later one is met by the pass that it brings.
      const wishes = new Map<string, number>()
      const { queue, clock } = aQueue({
        concurrency,
        groupOf: key => [key.charAt(0)],
        run: key =>
          new Promise(resolve => {
            expect(running.map(one => one.key)).not.toContain(key)
            const dueMs = owed.get(key)
            if (dueMs !== undefined && dueMs <= clock.monotonicMs()) owed.delete(key)
            if ((wishes.get(key) ?? Number.POSITIVE_INFINITY) <= clock.monotonicMs()) wishes.delete(key)
            running.push({ key, end: resolve })
            expect(running.length).toBeLessThanOrEqual(concurrency)
          }),
      })
      const owe = (key: string, dueMs: number) => {
        owed.set(key, Math.min(dueMs, owed.get(key) ?? Number.POSITIVE_INFINITY))
      }
      queue.start()
      for (const step of story) {
        if (step.do === 'mark') {
          owe(step.key, clock.monotonicMs())
          queue.mark(step.key)
        } else if (step.do === 'markAfter') {
          const wish = Math.min(clock.monotonicMs() + step.delayMs, wishes.get(step.key) ?? Number.POSITIVE_INFINITY)
          if (step.delayMs > 0) wishes.set(step.key, wish)
          owe(step.key, wish)
          queue.markAfter(step.key, step.delayMs)
        } else if (step.do === 'pass') {
          await clock.advance(step.milliseconds)
        } else if (running.length > 0) {
          const [one] = running.splice(step.which % running.length, 1)
          if (step.next.kind === 'requeue') owe(one?.key ?? '', clock.monotonicMs())
          one?.end(step.next)
        }
        await settle()
        // With room left, whatever is due runs.
        if (running.length < concurrency) {
          const late = [...owed].filter(
            ([key, dueMs]) => dueMs <= clock.monotonicMs() && !running.some(one => one.key === key),
          )
          expect(late).toEqual([])
        }
      }
      for (let turn = 0; turn < 200 && (running.length > 0 || queue.size > 0); turn++) {
        for (const one of running.splice(0)) one.end(done)
        await clock.advance(1_000)
      }
      expect([...owed.keys()]).toEqual([])
      expect([queue.size, queue.depth, queue.running, clock.timers]).toEqual([0, 0, 0, 0])
    }),
    {
      numRuns: 150,
      examples: [
        [
          [
            { do: 'markAfter', key: 'c1', delayMs: 1 },
            { do: 'mark', key: 'c1' },
            { do: 'markAfter', key: 'c1', delayMs: 2 },
          ],
          1,
        ],
      ],
    },
  )
})

describe('a key that is settled', () => {
  test('is not run, and can be marked again', async () => {
    const clock = new VirtualClock()
    const ran: string[] = []
    const settledKeys = new Set(['a'])
    const run = async (key: string) => {
      ran.push(key)
      return { kind: 'done' } as const
    }
    const isSettled = (key: string) => settledKeys.has(key)
    const queue = new WorkQueue({ clock, random: () => 0, concurrency: 1, run, isSettled })
    queue.start()
    queue.mark('a')
    queue.mark('b')
    await settle()
    expect(ran).toEqual(['b'])
    expect(queue.size).toBe(0)
    settledKeys.clear()
    queue.mark('a')
    await settle()
    expect(ran).toEqual(['b', 'a'])
  })

  test('holds up none behind it, however many there are', async () => {
    const clock = new VirtualClock()
    const ran: string[] = []
    const run = async (key: string) => {
      ran.push(key)
      return { kind: 'done' } as const
    }
    const queue = new WorkQueue({ clock, random: () => 0, concurrency: 1, run, isSettled: key => key !== 'last' })
    for (let number = 0; number < 5_000; number++) queue.mark(String(number))
    queue.mark('last')
    queue.start()
    await clock.advance(5_000)
    expect(ran).toEqual(['last'])
    expect(queue.size).toBe(0)
  })

  test('is looked at a few at a time: what needs a pass gets it before, also while another pass does not end', async () => {
    const clock = new VirtualClock()
    const ran: string[] = []
    let looked = 0
    const run = (key: string) => {
      ran.push(key)
      return new Promise<Next>(() => {})
    }
    const isSettled = (key: string) => {
      looked++
      return key !== 'first' && key !== 'last'
    }
    const queue = new WorkQueue({ clock, random: () => 0, concurrency: 2, run, isSettled })
    queue.mark('first')
    for (let number = 0; number < 5_000; number++) queue.mark(String(number))
    queue.mark('last')
    queue.start()
    await settle()
    expect(ran).toEqual(['first'])
    expect(looked).toBeLessThan(1_000)
    await clock.advance(5_000)
    expect(ran).toEqual(['first', 'last'])
  })

  test('that cannot be told is run', async () => {
    const clock = new VirtualClock()
    const ran: string[] = []
    const run = async (key: string) => {
      ran.push(key)
      return { kind: 'done' } as const
    }
    const isSettled = () => {
      throw new Error('unreadable')
    }
    const queue = new WorkQueue({ clock, random: () => 0, concurrency: 1, run, isSettled })
    queue.start()
    queue.mark('a')
    await settle()
    expect(ran).toEqual(['a'])
  })
})
