import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { orThrow } from '../../../test/harness/or-throw.ts'
import { parseIP, toIPText } from '../../ip/address.ts'
import { parseMAC } from '../../ip/mac.ts'
import { done, requeue } from '../../runtime/reconciler.ts'
import type { Freed } from './ledger.ts'
import { type ClaimPass, type Need, settled, Waiting, type Waits } from './waiting.ts'

const pool = 'Pool.example/lab/vms'
const identity = { apiGroup: 'example', kind: 'Pool', namespace: 'lab', name: 'vms' }
const any: Need = { kind: 'any', pool }
const change: Need = { kind: 'change', pool }

const freed = (text: string, namespace = 'lab'): Freed => ({
  space: 'main',
  block: { ip: orThrow(parseIP(text)), bits: 32 },
  pool,
  namespace,
})

interface Claim {
  readonly key: string
  readonly waits: Waits
}

/** Made in the order of their numbers, the later with the lower name. */
function aClaim(number: number, needs: Need | readonly Need[] = any, namespace = 'lab', tenant = ''): Claim {
  const key = `${namespace}/claim-${String(9_999 - number)}`
  const createdAt = new Date(Date.UTC(2030, 0, 1) + number * 1_000).toISOString()
  const list = 'kind' in needs ? [needs] : needs
  return { key, waits: { needs: list, pool: identity, namespace, tenant, createdAt, reason: 'PoolExhausted' } }
}

/** A pool with so many free addresses, another with so many, and claims that are woken but not yet looked at. */
function aPool({ isShared = (): boolean => false } = {}) {
  const state = { free: 0, freeBeside: 0, woken: [] as string[] }
  const waiting = new Waiting({
    freeOf: key => (key === pool ? state.free : state.freeBeside),
    poolsOf: () => [pool, beside],
    isShared,
    isFree: () => state.free > 0,
  })
  const line = waiting.ofDesk({ desk: 'toy', claimKind: 'Berth' }, claim => state.woken.push(claim))
  const elsewhere = waiting.ofDesk({ desk: 'elsewhere', claimKind: 'Berth' }, claim => state.woken.push(claim))
  const run = (claim: Claim, pass: () => Promise<ClaimPass>) => line.during(claim.key, pass)
  const sleep = (claim: Claim, waits = claim.waits) => run(claim, async () => ({ next: done(), waits }))
  return {
    state,
    waiting,
    line,
    run,
    sleep,
    sleepElsewhere: ({ key, waits }: Claim) => elsewhere.during(key, async () => ({ next: done(), waits })),
    leave: (claim: Claim) => run(claim, async () => settled()),
    release(text = '10.0.0.1', namespace?: string) {
      state.free++
      waiting.freed(freed(text, namespace))
    },
    /** The pass of a claim, which takes something free if there is. */
    serve: (claim: Claim) =>
      run(claim, async () => {
        if (state.free === 0) return { next: done(), waits: claim.waits }
        state.free--
        return settled()
      }),
    take: () => state.woken.splice(0),
  }
}

const beside = 'Pool.example/lab/beside'

describe('a claim whose key rests', () => {
  const one: Need = { kind: 'one', pool, block: freed('10.0.0.1').block }

  test.each([
    ['any address', any],
    ['one address', one],
    ['room in a quota', { kind: 'quota', pool } as const],
  ])('is passed over by those that wait for %s, until it is looked at', async (_, need) => {
    const line = aPool()
    const [old, young] = [aClaim(1, need), aClaim(2, need)]
    await line.sleep(old)
    await line.sleep(young)
    line.line.rests(old.key)
    line.release()
    expect(line.take()).toEqual([young.key])
    await line.sleep(young)
    await line.sleep(old)
    line.state.free = 0
    line.release()
    expect(line.take()[0]).toBe(old.key)
  })

  test('after it was woken, passes the wake on', async () => {
    const line = aPool()
    const [old, young] = [aClaim(1), aClaim(2)]
    await line.sleep(old)
    await line.sleep(young)
    line.release()
    expect(line.take()).toEqual([old.key])
    line.line.rests(old.key)
    expect(line.take()).toEqual([young.key])
  })
})

describe('of a claim whose pass ends asleep, while it ran', () => {
  const one: Need = { kind: 'one', pool, block: freed('10.0.0.1').block }
  const mac: Need = { kind: 'mac', pool, mac: orThrow(parseMAC('02:00:00:00:00:01')) }
  const quota: Need = { kind: 'quota', pool }

  test.each<[string, Need, (line: ReturnType<typeof aPool>) => void]>([
    ['an address was freed', any, ({ release }) => release()],
    ['the address that it waits for was freed', one, ({ release }) => release('10.0.0.1')],
    ['the MAC that it waits for was freed', mac, ({ waiting }) => waiting.macFreed('main', mac.mac)],
    ['its namespace gave one back', quota, ({ release }) => release('10.0.0.9')],
    ['the pool changed', change, ({ waiting }) => waiting.poolChanged(pool)],
    ['the namespace changed', any, ({ waiting }) => waiting.namespaceChanged('lab')],
  ])('%s: it is woken', async (_, need, happens) => {
    const line = aPool()
    const claim = aClaim(1, need)
    await line.sleep(claim)
    line.waiting.poolChanged(pool)
    expect(line.take()).toEqual([claim.key])
    await line.run(claim, async () => {
      happens(line)
      return { next: done(), waits: claim.waits }
    })
    expect(line.take()).toEqual([claim.key])
  })

  test('a MAC was freed, and then an address: it is woken for the address', async () => {
    const line = aPool()
    const claim = aClaim(1)
    await line.run(claim, async () => {
      line.waiting.macFreed('main', mac.mac)
      line.release()
      return { next: done(), waits: claim.waits }
    })
    expect(line.take()).toEqual([claim.key])
  })

  test('something else was freed: it sleeps on', async () => {
    const line = aPool()
    const claim = aClaim(1, one)
    await line.run(claim, async () => {
      line.release('10.0.0.2')
      return { next: done(), waits: claim.waits }
    })
    expect(line.take()).toEqual([])
  })

  test('one address was freed, and an older claim was woken for it: it sleeps on', async () => {
    const line = aPool()
    const [older, younger] = [aClaim(1), aClaim(2)]
    await line.sleep(older)
    await line.run(younger, async () => {
      line.release()
      return { next: done(), waits: younger.waits }
    })
    expect(line.take()).toEqual([older.key])
  })
})

describe('of the claims that wait for any address', () => {
  test('as many are woken as were freed, oldest first', async () => {
    const { sleep, release, take } = aPool()
    const claims = Array.from({ length: 1_000 }, (_, number) => aClaim(number))
    for (const claim of claims.toReversed()) await sleep(claim)
    release()
    expect(take()).toEqual([claims[0]?.key])
    release()
    release()
    expect(take()).toEqual([claims[1]?.key, claims[2]?.key])
  })

  test('the oldest of all desks is woken first', async () => {
    const { waiting, state, sleep, release } = aPool()
    const other = waiting.ofDesk({ desk: 'other', claimKind: 'Claim' }, claim => state.woken.push(`other ${claim}`))
    const [first, second] = [aClaim(1), aClaim(2)]
    await sleep(second)
    await other.during('x', async () => ({ next: done(), waits: first.waits }))
    release()
    expect(state.woken).toEqual(['other x'])
    release()
    expect(state.woken).toEqual(['other x', second.key])
  })

  test('one that comes second to a newcomer sleeps on, and no other is woken for nothing', async () => {
    const { sleep, state, release, serve, take } = aPool()
    const [first, second] = [aClaim(1), aClaim(2)]
    await sleep(first)
    await sleep(second)
    release()
    state.free = 0
    expect(take()).toEqual([first.key])
    await serve(first)
    expect(take()).toEqual([])
    release()
    expect(take()).toEqual([first.key])
  })

  test.each<[string, (line: ReturnType<typeof aPool>, woken: Claim) => Promise<unknown>]>([
    ['is gone', ({ leave }, woken) => leave(woken)],
    ['fails', ({ run }, woken) => run(woken, () => Promise.reject(new Error('down'))).catch(() => {})],
    ['wants something else by now', ({ sleep }, woken) => sleep(woken, { ...woken.waits, needs: [change] })],
  ])('one that %s passes the wake on', async (_, pass) => {
    const line = aPool()
    const [first, second, third] = [aClaim(1), aClaim(2), aClaim(3)]
    for (const claim of [first, second, third]) await line.sleep(claim)
    line.release()
    expect(line.take()).toEqual([first.key])
    await pass(line, first)
    expect(line.take()).toEqual([second.key])
  })

  test('one whose pass is requeued keeps its turn', async () => {
    const { sleep, run, leave, release, take } = aPool()
    const [first, second] = [aClaim(1), aClaim(2)]
    await sleep(first)
    await sleep(second)
    release()
    await run(first, async () => settled(requeue()))
    expect(take()).toEqual([first.key])
    await leave(first)
    expect(take()).toEqual([second.key])
  })

  test('one that sleeps keeps its place when a pass of it fails', async () => {
    const { sleep, run, release, take } = aPool()
    const [first, second] = [aClaim(1), aClaim(2)]
    await sleep(first)
    await sleep(second)
    await run(first, () => Promise.reject(new Error('down'))).catch(() => {})
    release()
    expect(take()).toEqual([first.key])
  })

  test('none sleeps while an address is free, whatever becomes of those that are woken', async () => {
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
        const { waiting, state, run, sleep, leave, release, serve } = aPool()
        const known = new Map(Array.from({ length: 41 }, (_, number) => [aClaim(number).key, aClaim(number)]))
        const pass = async (end: 'serve' | 'fail' | 'pause' | 'want') => {
          const claim = known.get(state.woken.shift() ?? '')
          if (claim === undefined) return
          if (end === 'serve') await serve(claim)
          else if (end === 'pause') await leave(claim)
          else if (end === 'want') await sleep(claim, { ...claim.waits, needs: [change] })
          else await run(claim, () => Promise.reject(new Error('down'))).catch(() => {})
        }
        for (const one of steps) {
          if (one.kind === 'arrive') await serve(aClaim(one.number))
          else if (one.kind === 'release') release()
          else if (one.kind === 'go') await leave(aClaim(one.number))
          else if (one.kind === 'pass') await pass(one.end)
          else {
            state.free += one.by
            waiting.poolChanged(pool)
          }
        }
        while (state.woken.length > 0) await pass('serve')
        const asleep = [...waiting.all()].filter(({ needs }) => needs.some(({ kind }) => kind === 'any'))
        expect(state.free === 0 || asleep.length === 0).toBe(true)
      }),
      { numRuns: 300 },
    )
  })
})

describe('a claim that needs an address of each of two pools', () => {
  const both: readonly Need[] = [any, { kind: 'any', pool: beside }]

  test('is woken when both have one', async () => {
    const { sleep, state, release, take, waiting } = aPool()
    const claim = aClaim(1, both)
    await sleep(claim)
    release()
    expect(take()).toEqual([])
    state.freeBeside = 1
    waiting.freed(freed('fd00::1'))
    expect(take()).toEqual([claim.key])
  })

  test('holds up no claim behind it that needs less', async () => {
    const { sleep, release, take } = aPool()
    const [first, second] = [aClaim(1, both), aClaim(2)]
    await sleep(first)
    await sleep(second)
    release()
    expect(take()).toEqual([second.key])
  })

  test('counts as awake in both', async () => {
    const { sleep, state, release, take } = aPool()
    const [first, second, third] = [aClaim(1, both), aClaim(2, { kind: 'any', pool: beside }), aClaim(3)]
    for (const claim of [first, second, third]) await sleep(claim)
    state.freeBeside = 1
    release()
    expect(take()).toEqual([first.key])
  })
})

describe('of claims that wait for two pools with the same addresses', () => {
  const anyBeside: Need = { kind: 'any', pool: beside }

  test('the oldest is woken, and the next when it has found something or nothing', async () => {
    const { sleep, state, release, take, leave } = aPool({ isShared: () => true })
    const [first, second, third] = [aClaim(1, anyBeside), aClaim(2), aClaim(3, anyBeside)]
    for (const claim of [third, second, first]) await sleep(claim)
    state.freeBeside = 1
    release()
    expect(take()).toEqual([first.key])
    await sleep(first)
    expect(take()).toEqual([second.key])
    await leave(second)
    expect(take()).toEqual([first.key])
  })

  test('two that find nothing do not wake each other for ever', async () => {
    const { sleep, state, release, take } = aPool({ isShared: () => true })
    const claims = [aClaim(1, anyBeside), aClaim(2)]
    for (const claim of claims) await sleep(claim)
    state.freeBeside = 1
    release()
    const woken: string[] = []
    for (let key = take()[0]; key !== undefined && woken.length < 10; key = take()[0]) {
      woken.push(key)
      const claim = claims.find(one => one.key === key)
      if (claim !== undefined) await sleep(claim)
    }
    expect(woken).toEqual(claims.map(({ key }) => key))
  })
})

test('a claim that waits for a MAC is woken when that one is freed, oldest first', async () => {
  const { sleep, waiting, take } = aPool()
  const [mine, other] = ['02:00:5e:10:00:01', '02:00:5e:10:00:02'].map(text => orThrow(parseMAC(text)))
  const wanting = (number: number, mac = mine) => aClaim(number, mac === undefined ? any : { kind: 'mac', pool, mac })
  const claims = [wanting(2), wanting(1), wanting(3, other)]
  for (const claim of claims) await sleep(claim)
  waiting.freed(freed('10.0.0.1'))
  expect(take()).toEqual([])
  if (mine !== undefined) waiting.macFreed('main', mine)
  expect(take()).toEqual([claims[1]?.key, claims[0]?.key])
})

test('a claim that waits for one address is woken when that one is freed, or a block around it', async () => {
  const { sleep, waiting, take } = aPool()
  const wanting = (number: number, text: string, bits = 32) =>
    aClaim(number, { kind: 'one', pool, block: { ip: orThrow(parseIP(text)), bits } })
  const [ten, eleven, block, unknown] = [
    wanting(1, '10.0.0.10'),
    wanting(2, '10.0.0.11'),
    wanting(3, '10.0.0.8', 30),
    aClaim(4, { kind: 'one', pool, block: undefined }),
  ]
  for (const claim of [ten, eleven, block, unknown]) await sleep(claim)
  waiting.freed(freed('10.0.0.10'))
  expect(take().toSorted()).toEqual([ten.key, block.key, unknown.key].toSorted())
})

describe('an address that is free is offered', () => {
  const one: Need = { kind: 'one', pool, block: freed('10.0.0.1').block }
  const mac: Need = { kind: 'mac', pool, mac: orThrow(parseMAC('02:00:00:00:00:01')) }

  test.each<[string, readonly Need[]]>([
    ['those that wait for just that one', [one, one, one]],
    ['one that waits for just that one and those that wait for any', [one, any, any]],
    ['one that waits for any and those that wait for just that one', [any, one, one]],
  ])('to the oldest of %s, and to no other if that takes it', async (_, needs) => {
    const { sleep, release, serve, take } = aPool()
    const claims = needs.map((need, number) => aClaim(number, need))
    for (const claim of claims.toReversed()) await sleep(claim)
    release('10.0.0.1')
    expect(take()).toEqual([claims[0]?.key])
    for (const claim of claims.slice(0, 1)) await serve(claim)
    expect(take()).toEqual([])
    release('10.0.0.1')
    expect(take()).toEqual([claims[1]?.key])
  })

  test.each<[string, Need, (line: ReturnType<typeof aPool>, woken: Claim) => unknown]>([
    ['is gone', one, ({ leave }, woken) => leave(woken)],
    ['fails', one, ({ run }, woken) => run(woken, () => Promise.reject(new Error('down'))).catch(() => {})],
    ['cannot have it', one, ({ sleep }, woken) => sleep(woken)],
    ['wants something else by now', one, ({ sleep }, woken) => sleep(woken, { ...woken.waits, needs: [change] })],
    ['waits for any, and took another', any, ({ leave }, woken) => leave(woken)],
    ['is of a desk that cannot work', one, ({ line }) => line.pause()],
  ])('to all others if the oldest %s', async (_, need, pass) => {
    const line = aPool()
    const first = aClaim(1, need)
    const others = [aClaim(2, one), aClaim(3, one)]
    await line.sleep(first)
    for (const claim of others) await line.sleepElsewhere(claim)
    line.release('10.0.0.1')
    expect(line.take()).toEqual([first.key])
    await pass(line, first)
    expect(line.take()).toEqual(others.map(({ key }) => key))
  })

  test('to one that waits for any, if the older one that waits for just that cannot have it', async () => {
    const { sleep, release, take } = aPool()
    const [first, second] = [aClaim(1, one), aClaim(2)]
    await sleep(first)
    await sleep(second)
    release('10.0.0.1')
    expect(take()).toEqual([first.key])
    await sleep(first)
    expect(take()).toEqual([second.key])
    await sleep(second)
    expect(take()).toEqual([])
  })

  test('not first to one whose last pass failed: it may be a while until its next', async () => {
    const { sleep, run, release, take } = aPool()
    const [failing, sound] = [aClaim(1, one), aClaim(2, one)]
    await sleep(failing)
    await sleep(sound)
    await run(failing, () => Promise.reject(new Error('down'))).catch(() => {})
    release('10.0.0.1')
    expect(take()).toEqual([sound.key])
    await sleep(sound)
    expect(take()).toEqual([failing.key])
  })

  test('as a MAC is, to the oldest that waits for it', async () => {
    const { sleep, leave, state, waiting, take } = aPool()
    const claims = [aClaim(1, mac), aClaim(2, mac), aClaim(3, mac)]
    for (const claim of claims.toReversed()) await sleep(claim)
    state.free = 1
    waiting.macFreed('main', mac.mac)
    expect(take()).toEqual([claims[0]?.key])
    for (const claim of claims.slice(0, 1)) await leave(claim)
    expect(take()).toEqual(claims.slice(1).map(({ key }) => key))
  })

  test('and none that waits for it sleeps while it is free, whatever becomes of those that are woken', async () => {
    const number = fc.integer({ min: 0, max: 11 })
    const step = fc.oneof(
      fc.record({ kind: fc.constantFrom('arrive' as const, 'go' as const), number }),
      fc.record({ kind: fc.constantFrom('release' as const, 'pause' as const), number }),
      fc.record({ kind: fc.constant('pass' as const), end: fc.constantFrom('serve', 'fail', 'want', 'vain') }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async steps => {
        const free = new Set<string>()
        const texts = ['10.0.0.1', '10.0.0.2', '10.0.0.3']
        const woken: string[] = []
        const waiting = new Waiting({
          freeOf: () => free.size,
          poolsOf: () => [pool],
          isShared: () => false,
          isFree: (_, what) => typeof what !== 'string' && free.has(toIPText(what.ip)),
        })
        const lines = ['one', 'other'].map(desk =>
          waiting.ofDesk({ desk, claimKind: 'Claim' }, claim => woken.push(claim)),
        )
        const isPaused = [false, false]
        const wishOf = (number: number) => [undefined, ...texts][number % 4]
        const claims = Array.from({ length: 12 }, (_, number) => {
          const text = wishOf(number)
          return aClaim(number, text === undefined ? any : { kind: 'one', pool, block: freed(text).block })
        })
        const run = async (number: number, end: string) => {
          const { waits } = claims[number] as Claim
          const pass = async (): Promise<ClaimPass> => {
            if (end === 'fail') throw new Error('down')
            if (end === 'go') return settled()
            if (end === 'want') return { next: done(), waits: { ...waits, needs: [change] } }
            const wanted = wishOf(number) ?? [...free][0]
            if (end === 'vain' || wanted === undefined || !free.delete(wanted)) return { next: done(), waits }
            return settled()
          }
          await lines[number % 2]?.during(claims[number]?.key ?? '', pass).catch(() => {})
        }
        // A desk that is paused looks at what it is told when it goes on.
        const next = async (end: string) => {
          const place = woken.findIndex(key => !isPaused[claims.findIndex(claim => claim.key === key) % 2])
          const [key] = place < 0 ? [] : woken.splice(place, 1)
          if (key !== undefined)
            await run(
              claims.findIndex(claim => claim.key === key),
              end,
            )
          return key !== undefined
        }
        const inVain = new Set<string>()
        for (const one of steps) {
          if (one.kind === 'pass') {
            if (one.end === 'vain' && woken[0] !== undefined) inVain.add(woken[0])
            await next(one.end)
          } else if (one.kind === 'release') {
            const text = texts[one.number % 3] as string
            free.add(text)
            waiting.freed(freed(text))
          } else if (one.kind === 'pause') {
            const desk = one.number % 2
            isPaused[desk] = !isPaused[desk]
            if (isPaused[desk]) lines[desk]?.pause()
            else lines[desk]?.goOn()
          } else if (!isPaused[one.number % 2]) await run(one.number, one.kind === 'go' ? 'go' : 'serve')
        }
        while (await next('serve'));
        const asleep = [...waiting.all()].filter(({ key, desk }) => {
          const isOfPaused = isPaused[desk === 'one' ? 0 : 1]
          return !isOfPaused && !inVain.has(key.split(' ')[1] ?? '')
        })
        const missed = asleep.filter(({ needs: [need] }) => {
          if (need?.kind === 'any') return free.size > 0
          return need?.kind === 'one' && need.block !== undefined && free.has(toIPText(need.block.ip))
        })
        expect(missed).toEqual([])
      }),
      { numRuns: 500 },
    )
  })
})

test.each([
  ['something was freed', (line: ReturnType<typeof aPool>) => line.release()],
  ['nothing happened', () => {}],
])(
  'a pass that ends asleep when its desk has paused keeps no claim of another desk waiting: %s meanwhile',
  async (_, happens) => {
    const line = aPool()
    const [first, second] = [aClaim(1), aClaim(2)]
    await line.sleepElsewhere(second)
    await line.run(first, async () => {
      line.line.pause()
      happens(line)
      return { next: done(), waits: first.waits }
    })
    line.take()
    await line.sleepElsewhere(second)
    line.state.free = 0
    line.release()
    expect(line.take()).toEqual([second.key])
    line.line.goOn()
    expect(line.take()).toEqual([first.key])
  },
)

test('a desk that goes on looks at its claims again, oldest first', async () => {
  const { line, sleep, leave, release, take, waiting } = aPool()
  const claims = [aClaim(1), aClaim(2)]
  for (const claim of claims.toReversed()) await sleep(claim)
  line.pause()
  release()
  expect(take()).toEqual([])
  expect([...waiting.all()]).toHaveLength(2)
  line.goOn()
  expect(take()).toEqual(claims.map(({ key }) => key))
  for (const claim of claims) {
    expect(line.has(claim.key)).toBe(true)
    await leave(claim)
    expect(line.has(claim.key)).toBe(false)
  }
})

test('of the claims that wait for room in a quota the oldest of each tenant is woken, where an address was given back', async () => {
  const { sleep, leave, waiting, take } = aPool()
  const quota: Need = { kind: 'quota', pool }
  const [a1, a2, b1, other] = [
    aClaim(1, quota, 'lab', 'a'),
    aClaim(2, quota, 'lab', 'a'),
    aClaim(3, quota, 'lab', 'b'),
    aClaim(4, quota, 'shop'),
  ]
  for (const claim of [a2, a1, other, b1]) await sleep(claim)
  waiting.freed(freed('10.0.0.1', 'lab'))
  expect(take().toSorted()).toEqual([a1.key, b1.key].toSorted())
  await sleep(b1)
  expect(take()).toEqual([])
  await leave(a1)
  expect(take().toSorted()).toEqual([a2.key, b1.key].toSorted())
})

test('a change of the pool wakes every claim, oldest first; a change of a namespace every claim in it', async () => {
  const { sleep, waiting, take } = aPool()
  const claims = [aClaim(1, change), aClaim(2), aClaim(3, { kind: 'quota', pool }, 'shop'), aClaim(4, change, 'shop')]
  for (const claim of claims.toReversed()) await sleep(claim)
  waiting.namespaceChanged('shop')
  expect(take()).toEqual([claims[2]?.key, claims[3]?.key])
  for (const claim of claims) await sleep(claim)
  waiting.poolChanged(pool)
  expect(take()).toEqual(claims.map(({ key }) => key))
  expect([...waiting.all()]).toHaveLength(4)
})

describe('a release is not slowed down by the thousands of claims of another namespace', () => {
  const anAddress = (number: number) => ({ ip: orThrow(parseIP(`10.8.${number >> 8}.${number & 255}`)), bits: 32 })
  const wishes: Readonly<Record<string, (number: number) => Need>> = {
    'that wait for one address each': number => ({ kind: 'one', pool, block: anAddress(number) }),
    'that wait for the same address': () => ({ kind: 'one', pool, block: anAddress(1) }),
    'that wait for any address of another pool': () => ({ kind: 'any', pool: beside }),
    'that wait for pools which do not exist': number => ({ kind: 'change', pool: `Pool.example/crowd/${number}` }),
  }

  test.each(Object.keys(wishes))('%s', async name => {
    const looksAmong = async (flood: number) => {
      const looks = { count: 0 }
      const { waiting, sleep, release, take, leave } = aPool({
        isShared: () => {
          looks.count++
          return false
        },
      })
      for (let number = 0; number < flood; number++) {
        const need = wishes[name]?.(number) as Need
        const counted = new Proxy(need, {
          get: (target, field) => {
            looks.count++
            return Reflect.get(target, field)
          },
        })
        await sleep(aClaim(number, [counted], 'crowd', `cluster-${number}`))
      }
      const late = aClaim(5_000)
      await sleep(late)
      looks.count = 0
      release('10.0.0.1')
      expect(take()).toEqual([late.key])
      await leave(late)
      expect([...waiting.all()]).toHaveLength(flood)
      return looks.count
    }
    const [few, many] = [await looksAmong(10), await looksAmong(2_000)]
    expect(many).toBeLessThanOrEqual(2 * few)
    expect(many).toBeLessThanOrEqual(10)
  })
})
