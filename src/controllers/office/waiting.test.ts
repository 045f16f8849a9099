import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type IP, parseIP } from '../../ip/address.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { done, requeue } from '../../runtime/reconciler.ts'
import type { Freed } from './ledger.ts'
import { type Need, type Sleeper, Waiting } from './waiting.ts'

const pool = 'Pool.example/lab/vms'
const identity = { apiGroup: 'example', kind: 'Pool', namespace: 'lab', name: 'vms' }
const any: Need = { kind: 'any' }

function address(text: string): IP {
  const ip = parseIP(text)
  if (isMalformed(ip)) throw new Error(ip.malformed)
  return ip
}

const freed = (text: string, namespace = 'lab'): Freed => ({
  space: 'main',
  block: { ip: address(text), bits: 32 },
  pool,
  namespace,
})

/** Made in the order of their numbers, the later with the lower name. */
function aSleeper(number: number, need: Need = any, namespace = 'lab', clusterName = ''): Sleeper {
  const key = `${namespace}/claim-${String(9_999 - number)}`
  const createdAt = new Date(Date.UTC(2030, 0, 1) + number * 1_000).toISOString()
  return { key, pool, identity, namespace, clusterName, createdAt, need, reason: 'PoolExhausted' }
}

/** A pool with so many free addresses, and claims that are woken but not yet looked at. */
function aPool() {
  const state = { free: 0, woken: [] as string[] }
  const waiting = new Waiting({
    wake: claim => state.woken.push(claim),
    freeOf: () => state.free,
    poolsOf: () => [pool],
  })
  return {
    state,
    waiting,
    release(text = '10.0.0.1', namespace?: string) {
      state.free++
      waiting.freed(freed(text, namespace))
    },
    /** The pass of whoever was woken first, which takes something free if there is. */
    async serve(sleeper: Sleeper) {
      await waiting.during(sleeper.key, async () => {
        if (state.free === 0) waiting.sleep(sleeper)
        else {
          state.free--
          waiting.leave(sleeper.key)
        }
        return done()
      })
    },
    take: () => state.woken.splice(0),
  }
}

function leaving(waiting: Waiting, key: string) {
  waiting.leave(key)
  return done()
}

describe('of those who wait for any address', () => {
  test('as many are woken as were freed, oldest first', () => {
    const { waiting, release, take } = aPool()
    const sleepers = Array.from({ length: 1_000 }, (_, number) => aSleeper(number))
    for (const sleeper of sleepers.toReversed()) waiting.sleep(sleeper)
    release()
    expect(take()).toEqual([sleepers[0]?.key])
    release()
    release()
    expect(take()).toEqual([sleepers[1]?.key, sleepers[2]?.key])
  })

  test('one that comes second to a newcomer sleeps on, and no other is woken for nothing', async () => {
    const { waiting, state, release, serve, take } = aPool()
    const [first, second] = [aSleeper(1), aSleeper(2)]
    waiting.sleep(first)
    waiting.sleep(second)
    release()
    state.free = 0
    expect(take()).toEqual([first.key])
    await serve(first)
    expect(take()).toEqual([])
    release()
    expect(take()).toEqual([first.key])
  })

  test.each<[string, (waiting: Waiting, woken: Sleeper) => Promise<unknown>]>([
    ['is gone', (waiting, { key }) => waiting.during(key, async () => leaving(waiting, key))],
    ['fails', (waiting, { key }) => waiting.during(key, () => Promise.reject(new Error('down'))).catch(() => {})],
    ['ends without a word', (waiting, { key }) => waiting.during(key, async () => done())],
    [
      'wants something else by now',
      (waiting, woken) =>
        waiting.during(woken.key, async () => {
          waiting.sleep({ ...woken, need: { kind: 'change' } })
          return done()
        }),
    ],
  ])('one that %s passes the wake on', async (_, pass) => {
    const { waiting, release, take } = aPool()
    const [first, second, third] = [aSleeper(1), aSleeper(2), aSleeper(3)]
    for (const sleeper of [first, second, third]) waiting.sleep(sleeper)
    release()
    expect(take()).toEqual([first.key])
    await pass(waiting, first)
    expect(take()).toEqual([second.key])
  })

  test('one that is to look again keeps its turn', async () => {
    const { waiting, release, take } = aPool()
    const [first, second] = [aSleeper(1), aSleeper(2)]
    waiting.sleep(first)
    waiting.sleep(second)
    release()
    await waiting.during(first.key, async () => requeue())
    expect(take()).toEqual([first.key])
    await waiting.during(first.key, async () => done())
    expect(take()).toEqual([second.key])
  })

  test('one that is woken in the middle of an earlier pass keeps its turn until the next', async () => {
    const { waiting, release, take } = aPool()
    const [first, second] = [aSleeper(1), aSleeper(2)]
    waiting.sleep(second)
    await waiting.during(first.key, async () => {
      waiting.sleep(first)
      await Promise.resolve()
      release()
      return done()
    })
    expect(take()).toEqual([first.key])
  })

  test('none sleeps while an address is free, whatever becomes of those who are woken', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('arrive' as const), number: fc.integer({ min: 0, max: 40 }) }),
      fc.record({ kind: fc.constant('release' as const) }),
      fc.record({ kind: fc.constant('grow' as const), by: fc.integer({ min: 0, max: 5 }) }),
      fc.record({ kind: fc.constant('go' as const), number: fc.integer({ min: 0, max: 40 }) }),
      fc.record({
        kind: fc.constant('pass' as const),
        end: fc.constantFrom('serve' as const, 'fail' as const, 'pause' as const, 'want' as const),
      }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async steps => {
        const { waiting, state, release, serve } = aPool()
        const known = new Map(Array.from({ length: 41 }, (_, number) => [aSleeper(number).key, aSleeper(number)]))
        const pass = async (end: 'serve' | 'fail' | 'pause' | 'want') => {
          const sleeper = known.get(state.woken.shift() ?? '')
          if (sleeper === undefined) return
          if (end === 'serve') return serve(sleeper)
          await waiting
            .during(sleeper.key, async () => {
              if (end === 'fail') throw new Error('down')
              if (end === 'pause') waiting.leave(sleeper.key)
              else waiting.sleep({ ...sleeper, need: { kind: 'change' } })
              return done()
            })
            .catch(() => {})
        }
        for (const one of steps) {
          if (one.kind === 'arrive') await serve(aSleeper(one.number))
          else if (one.kind === 'release') release()
          else if (one.kind === 'go') waiting.leave(aSleeper(one.number).key)
          else if (one.kind === 'pass') await pass(one.end)
          else {
            state.free += one.by
            waiting.poolChanged(pool)
          }
        }
        while (state.woken.length > 0) await pass('serve')
        const asleep = [...waiting.all()].filter(({ need }) => need.kind === 'any')
        expect(state.free === 0 || asleep.length === 0).toBe(true)
      }),
      { numRuns: 300 },
    )
  })
})

test('who waits for one address is woken when that one is freed, or a block around it', () => {
  const { waiting, take } = aPool()
  const wanting = (number: number, text: string, bits = 32) =>
    aSleeper(number, { kind: 'one', block: { ip: address(text), bits } })
  const [ten, eleven, block, unknown] = [
    wanting(1, '10.0.0.10'),
    wanting(2, '10.0.0.11'),
    wanting(3, '10.0.0.8', 30),
    aSleeper(4, { kind: 'one', block: undefined }),
  ]
  for (const sleeper of [ten, eleven, block, unknown]) waiting.sleep(sleeper)
  waiting.freed(freed('10.0.0.10'))
  expect(take().toSorted()).toEqual([ten.key, block.key, unknown.key].toSorted())
})

test('of those who wait for room in a quota the oldest of each Cluster is woken, where an address was given back', async () => {
  const { waiting, take } = aPool()
  const quota: Need = { kind: 'quota' }
  const [a1, a2, b1, other] = [
    aSleeper(1, quota, 'lab', 'a'),
    aSleeper(2, quota, 'lab', 'a'),
    aSleeper(3, quota, 'lab', 'b'),
    aSleeper(4, quota, 'shop'),
  ]
  for (const sleeper of [a2, a1, other, b1]) waiting.sleep(sleeper)
  waiting.freed(freed('10.0.0.1', 'lab'))
  expect(take().toSorted()).toEqual([a1.key, b1.key].toSorted())
  await waiting.during(b1.key, async () => {
    waiting.sleep(b1)
    return done()
  })
  expect(take()).toEqual([])
  await waiting.during(a1.key, async () => done())
  expect(take().toSorted()).toEqual([a2.key, b1.key].toSorted())
})

test('a change of the pool wakes everybody, oldest first; a change of a namespace everybody in it', () => {
  const { waiting, take } = aPool()
  const change: Need = { kind: 'change' }
  const sleepers = [
    aSleeper(1, change),
    aSleeper(2),
    aSleeper(3, { kind: 'quota' }, 'shop'),
    aSleeper(4, change, 'shop'),
  ]
  for (const sleeper of sleepers.toReversed()) waiting.sleep(sleeper)
  waiting.namespaceChanged('shop')
  expect(take()).toEqual([sleepers[2]?.key, sleepers[3]?.key])
  for (const sleeper of sleepers) waiting.sleep(sleeper)
  waiting.poolChanged(pool)
  expect(take()).toEqual(sleepers.map(({ key }) => key))
  expect([...waiting.all()]).toHaveLength(4)
})
