import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../test/harness/seeded-random.ts'
import { silentLog } from '../../test/harness/silent-log.ts'
import { type Mishap, type Toy, ToyKube } from '../../test/harness/toy-kube.ts'
import { settle, VirtualClock } from '../../test/harness/virtual-clock.ts'
import { Cache } from './cache.ts'
import { createClient } from './client.ts'
import { defineKind, keyOf } from './object.ts'
import { Reflector, type ReflectorTiming } from './reflector.ts'

const toys = defineKind<Toy>({ group: 'example.com', versions: ['v1'], plural: 'toys', kind: 'Toy', namespaced: false })

function aReflection(timing: Partial<ReflectorTiming> = {}, server = new ToyKube()) {
  const clock = new VirtualClock()
  const cache = new Cache<Toy>({ isFrozen: true })
  const client = createClient({ wire: server.wire, clock, versionOf: async kind => kind.versions[0], name: 'tester' })
  const changes: string[] = []
  const mirror = new Map<string, Toy>()
  cache.subscribe(change => {
    const object = change.new ?? change.old
    const type = change.old === undefined ? 'added' : change.new === undefined ? 'deleted' : 'changed'
    changes.push(`${type} ${keyOf(object)} ${object.metadata.uid}`)
    if (change.new === undefined) mirror.delete(keyOf(object))
    else mirror.set(keyOf(object), change.new)
  })
  const reflector = new Reflector({
    kind: toys,
    cache,
    client,
    clock,
    random: seededRandom(3),
    log: silentLog,
    timing: { pageSize: 2, ...timing },
  })
  reflector.start()
  const shown = () => Object.fromEntries([...cache.values()].map(({ metadata, value }) => [metadata.name, value]))
  return { server, clock, cache, reflector, changes, mirror, shown }
}

const lists = (server: ToyKube) =>
  server.requests.filter(path => !path.includes('watch=') && !path.includes('continue='))
const watches = (server: ToyKube) => server.requests.filter(path => path.includes('watch='))

describe('a reflector', () => {
  test('shows nothing before the first whole list, then everything', async () => {
    const server = new ToyKube()
    for (const name of ['a', 'b', 'c', 'd', 'e']) server.write(name, 1)
    server.mishaps.push('refused')
    const { cache, clock, shown } = aReflection({}, server)
    await settle()
    expect([cache.hasSynced, shown()]).toEqual([false, {}])
    await clock.advance(1_000)
    expect([cache.hasSynced, shown()]).toEqual([true, { a: 1, b: 1, c: 1, d: 1, e: 1 }])
  })

  test('never ends by itself, whatever goes wrong and how often', async () => {
    const { server, clock, shown } = aReflection()
    const all: Mishap[] = ['refused', 'silent', 'broken', 'throttled', 'gone', 'garbage', 'outdated', 'missing']
    for (let round = 0; round < 5; round++) {
      server.mishaps.push(...all)
      server.cut()
      server.write('a', round)
      await clock.advance(30 * 60_000)
      expect(server.mishaps).toEqual([])
      expect(shown()).toEqual({ a: round })
    }
  })

  test('lists again after a line that cannot be read', async () => {
    const { server, clock, shown } = aReflection()
    server.write('a', 1)
    await settle()
    expect(lists(server)).toHaveLength(1)
    server.garbage()
    server.write('a', 2)
    await clock.advance(1_000)
    expect(lists(server)).toHaveLength(2)
    expect(shown()).toEqual({ a: 2 })
  })

  test('goes on when a subscriber throws', async () => {
    const { server, cache, shown } = aReflection()
    cache.subscribe(() => {
      throw new Error('not my day')
    })
    await settle()
    server.write('a', 1)
    server.write('a', 2)
    await settle()
    expect(shown()).toEqual({ a: 2 })
    expect(server.streams).toBe(1)
  })

  test('reports a deletion and an addition when an object was made again in a gap', async () => {
    const { server, clock, changes } = aReflection()
    server.write('a', 1)
    await settle()
    server.stall()
    server.remove('a')
    server.write('a', 2)
    server.compact()
    server.cut()
    await clock.advance(60_000)
    expect(changes).toEqual(['added a uid-1', 'deleted a uid-1', 'added a uid-2'])
  })

  test('does not go back when an older list is shown, and says nothing of it', async () => {
    const { server, clock, changes, shown } = aReflection()
    for (const value of [1, 2, 3, 4]) server.write('a', value)
    await settle()
    server.compact()
    server.elsewhere()
    server.mishaps.push('gone', 'outdated', 'outdated')
    server.cut()
    await clock.advance(60_000)
    expect(shown()).toEqual({ a: 4 })
    expect(changes).toEqual(['added a uid-1'])
    expect(lists(server)).toHaveLength(4)
  })

  test('follows a server that shows an older world for minutes', async () => {
    const { server, clock, shown } = aReflection()
    server.write('a', 1)
    await settle()
    for (const value of [2, 3, 4]) server.write('a', value)
    server.write('b', 1)
    await settle()
    server.restore(2)
    server.compact()
    await clock.advance(60_000)
    expect(shown()).toEqual({ a: 4, b: 1 })
    server.bookmark()
    await clock.advance(10 * 60_000)
    expect(shown()).toEqual({ a: 1 })
    server.write('a', 7)
    await settle()
    expect(shown()).toEqual({ a: 7 })
  })

  test('asks for bookmarks and goes on from them, so that a quiet kind needs no new list', async () => {
    const { server, clock, cache } = aReflection()
    server.write('a', 1)
    await settle()
    for (let i = 0; i < 5; i++) server.elsewhere()
    server.bookmark()
    await settle()
    expect(cache.version).toBe(String(server.revision))
    server.compact()
    server.cut()
    await clock.advance(10_000)
    expect(lists(server)).toHaveLength(1)
    expect(watches(server)).toHaveLength(2)
    expect(watches(server).every(path => path.includes('allowWatchBookmarks=true'))).toBe(true)
  })

  test('keeps a quiet stream for as long as it shows a sign of life', async () => {
    const { server, clock } = aReflection({ idleMs: 100_000 })
    for (let minute = 0; minute < 60; minute++) {
      await clock.advance(60_000)
      server.bookmark()
      await settle()
    }
    expect(watches(server)).toHaveLength(1)
    await clock.advance(100_000)
    expect(watches(server)).toHaveLength(2)
  })

  test('gives up a stream that fell silent, and misses nothing', async () => {
    const { server, clock, shown } = aReflection({ idleMs: 100_000 })
    server.write('a', 1)
    await settle()
    server.stall()
    server.write('a', 2)
    await clock.advance(99_000)
    expect(shown()).toEqual({ a: 1 })
    await clock.advance(2_000)
    expect(shown()).toEqual({ a: 2 })
    expect(lists(server)).toHaveLength(1)
  })

  test('asks the server to end each stream at a time of its own', async () => {
    const { server, clock } = aReflection()
    for (let i = 0; i < 4; i++) {
      await clock.advance(20_000)
      server.end()
      await settle()
    }
    const seconds = watches(server).map(path => Number(/timeoutSeconds=(\d+)/.exec(path)?.[1]))
    expect(seconds.every(one => one >= 300 && one < 600)).toBe(true)
    expect(new Set(seconds).size).toBeGreaterThan(3)
  })

  test('never shows half a list', async () => {
    const server = new ToyKube()
    for (const name of ['a', 'b', 'c', 'd', 'e']) server.write(name, 1)
    const { clock, cache, shown } = aReflection({}, server)
    await settle()
    server.stall()
    for (const name of ['a', 'b', 'c', 'd', 'e']) server.write(name, 2)
    const sizes = new Set<string>()
    cache.subscribe(() => sizes.add(JSON.stringify(shown())))
    server.compact()
    server.mishaps.push('gone')
    server.cut()
    await clock.advance(60_000)
    expect([...sizes]).toEqual([JSON.stringify({ a: 2, b: 2, c: 2, d: 2, e: 2 })])
  })

  test('begins the list anew when a page has run out', async () => {
    const server = new ToyKube()
    for (const name of ['a', 'b', 'c', 'd', 'e']) server.write(name, 1)
    const { clock, shown } = aReflection({}, server)
    server.write('f', 1)
    server.compact()
    await clock.advance(10_000)
    expect(shown()).toEqual({ a: 1, b: 1, c: 1, d: 1, e: 1, f: 1 })
  })

  test('reads a list of many pages to its end', async () => {
    const server = new ToyKube()
    for (let i = 0; i < 101; i++) server.write(`toy-${i}`, i)
    const { cache } = aReflection({}, server)
    for (let turn = 0; turn < 20; turn++) await settle()
    expect(cache.size).toBe(101)
    expect(server.requests.filter(path => path.includes('continue='))).toHaveLength(50)
  })

  test('comes back at once after an orderly end, however quiet it was', async () => {
    const { server, clock, shown } = aReflection({ idleMs: 1_000_000 })
    await clock.advance(400_000)
    for (let i = 1; i <= 5; i++) {
      server.end()
      await settle()
      expect(watches(server)).toHaveLength(1 + i)
      server.write('a', i)
      await settle()
      expect(shown()).toEqual({ a: i })
      await clock.advance(400_000)
    }
  })

  test('slows down when every stream ends as soon as it is opened', async () => {
    const { server, clock } = aReflection()
    for (let second = 0; second < 300; second++) {
      server.end()
      await clock.advance(1_000)
    }
    expect(watches(server).length).toBeLessThan(40)
  })

  test('waits longer after each failure, with chance, and as long as it was asked to', async () => {
    const { server, clock } = aReflection()
    await settle()
    server.mishaps.push(...Array.from({ length: 40 }, (): Mishap => 'refused'))
    server.cut()
    await clock.advance(60_000)
    expect(server.requests.length).toBeGreaterThan(6)
    expect(server.requests.length).toBeLessThan(16)
    await clock.advance(30 * 60_000)
    server.mishaps.push('throttled')
    const before = server.requests.length
    server.cut()
    await clock.advance(3_000)
    expect(server.requests.length - before).toBe(1)
    await clock.advance(1_000)
    expect(server.requests.length - before).toBe(2)
  })

  test('waits for a kind that is not installed, without hammering, and counts as synced meanwhile', async () => {
    const server = new ToyKube()
    server.mishaps.push(...Array.from({ length: 5 }, (): Mishap => 'missing'))
    const { clock, cache, reflector, shown } = aReflection({ recheckMs: 10_000 }, server)
    server.write('a', 1)
    await settle()
    expect([cache.hasSynced, reflector.state, reflector.isInstalled]).toEqual([true, 'not installed', false])
    await clock.advance(30_000)
    expect(server.requests.length).toBeLessThan(6)
    await clock.advance(60_000)
    expect(shown()).toEqual({ a: 1 })
    expect([reflector.state, reflector.isInstalled]).toEqual(['watching', true])
  })

  test('keeps what it knows when a kind is missing for moments, and lets go when it stays away', async () => {
    const { server, clock, shown, reflector } = aReflection({ recheckMs: 5_000, goneAfterMs: 30_000 })
    server.write('a', 1)
    await settle()
    server.mishaps.push('missing', 'missing')
    server.cut()
    await clock.advance(2_000)
    expect([reflector.state, shown()]).toEqual(['not installed', { a: 1 }])
    await clock.advance(20_000)
    expect([reflector.state, shown()]).toEqual(['watching', { a: 1 }])
    server.mishaps.push(...Array.from({ length: 12 }, (): Mishap => 'missing'))
    server.cut()
    await clock.advance(40_000)
    expect([reflector.state, shown()]).toEqual(['not installed', {}])
    await clock.advance(60_000)
    expect([reflector.state, shown()]).toEqual(['watching', { a: 1 }])
  })

  test('stops in any state, and leaves nothing behind', async () => {
    for (const mishap of [undefined, 'refused', 'silent', 'missing'] as const) {
      const server = new ToyKube()
      if (mishap !== undefined) server.mishaps.push(mishap)
      const { clock, reflector } = aReflection({}, server)
      await settle()
      await reflector.stop('shutdown')
      expect([clock.timers, server.streams, reflector.state]).toEqual([0, 0, 'stopped'])
    }
  })

  test('does not bring back what is gone when an old event is repeated', async () => {
    const { server, changes } = aReflection()
    await settle()
    server.write('a', 1)
    server.remove('a')
    await settle()
    server.repeat(1, 1)
    await settle()
    expect(changes).toEqual(['added a uid-1', 'deleted a uid-1'])
  })

  test.each(['expire', 'compact'] as const)('lists again at once when its version has run out (%s)', async how => {
    const { server, clock, shown } = aReflection()
    await clock.advance(60_000)
    if (how === 'compact') {
      server.stall()
      server.write('a', 1)
      server.compact()
      server.end()
    } else {
      server.expire()
      server.write('a', 1)
    }
    await settle()
    expect([lists(server).length, shown()]).toEqual([2, { a: 1 }])
  })

  /** What the reflector says of itself each time that it says something else. */
  const followProblem = (reflector: Reflector<Toy>) => {
    const problems: (string | undefined)[] = []
    reflector.onProblemChange(() => {
      const problem = reflector.problem()
      if (problem !== problems.at(-1)) problems.push(problem)
    })
    return problems
  }

  test('tells of no state while nothing is amiss, and of every state until a failure is over', async () => {
    const server = new ToyKube()
    const { clock, reflector } = aReflection({}, server)
    let calls = 0
    reflector.onProblemChange(() => calls++)
    await clock.advance(1_000)
    expect([reflector.state, calls]).toEqual(['watching', 0])
    const seen: string[] = []
    reflector.onProblemChange(() => seen.push(reflector.state))
    server.mishaps.push('refused')
    server.cut()
    await clock.advance(10_000)
    expect([reflector.problem(), seen.at(0), seen.at(-1)]).toEqual([undefined, 'backing off', 'watching'])
  })

  test('has a problem as soon as it is refused, and none once it is not', async () => {
    const { server, clock, reflector } = aReflection()
    await clock.advance(1_000)
    const problems = followProblem(reflector)
    server.mishaps.push('forbidden', 'forbidden')
    server.cut()
    await clock.advance(10_000)
    expect(problems).toEqual([
      'toys.example.com cannot be read: watch toys.example.com: toys are like that',
      'toys.example.com cannot be read: list toys.example.com: toys are like that',
      undefined,
    ])
    expect(reflector.problem()).toBeUndefined()
  })

  test.each<[string, Mishap, number, number]>([
    ['has no problem while it fails for moments', 'broken', 3, 0],
    ['has a problem when it fails for long, until it could list', 'broken', 12, 1],
    ['has a problem when it fails for long, until it could go on watching', 'refused', 12, 1],
  ])('%s', async (_, mishap, times, count) => {
    const { server, clock, reflector } = aReflection()
    await clock.advance(1_000)
    const problems = followProblem(reflector)
    server.mishaps.push(...Array.from({ length: times }, () => mishap))
    server.cut()
    await clock.advance(10 * 60_000)
    expect(problems.filter(problem => problem !== undefined)).toHaveLength(count)
    expect([server.mishaps, reflector.problem()]).toEqual([[], undefined])
  })

  test('has a problem while its kind is not installed', async () => {
    const server = new ToyKube()
    server.mishaps.push('missing', 'missing')
    const { clock, reflector } = aReflection({}, server)
    const problems = followProblem(reflector)
    await clock.advance(20_000)
    expect(problems).toEqual(['toys.example.com is not installed', undefined])
  })

  test.each<Mishap>(['forbidden', 'broken'])(
    'knows at once that a kind which was installed later is there and cannot be read (%s)',
    async mishap => {
      const server = new ToyKube()
      server.mishaps.push('missing', ...Array.from({ length: 200 }, () => mishap))
      const { clock, reflector } = aReflection({}, server)
      await clock.advance(10_000)
      const problem = 'toys.example.com cannot be read: list toys.example.com: toys are like that'
      expect([reflector.isInstalled, reflector.hasListed, reflector.problem()]).toEqual([true, false, problem])
      await clock.advance(10 * 60_000)
      expect([reflector.isInstalled, reflector.problem()]).toEqual([true, problem])
      server.mishaps.length = 0
      await clock.advance(60_000)
      expect([reflector.hasListed, reflector.problem()]).toEqual([true, undefined])
    },
  )

  test('takes a kind that is not installed for one that is not, while the server does not answer', async () => {
    const server = new ToyKube()
    server.mishaps.push('missing', ...Array.from({ length: 200 }, (): Mishap => 'refused'))
    const { clock, reflector } = aReflection({}, server)
    await clock.advance(10 * 60_000)
    expect([reflector.isInstalled, reflector.problem()]).toEqual([false, 'toys.example.com is not installed'])
  })

  test('has a problem from a refusal until it is read, whatever other errors come between', async () => {
    const server = new ToyKube()
    server.mishaps.push('forbidden', ...Array.from({ length: 5 }, (): Mishap => 'broken'))
    const { clock, reflector } = aReflection({}, server)
    const seen = new Set<string>()
    reflector.onProblemChange(() => {
      const isRead = reflector.hasListed ? 'listed' : 'not listed'
      seen.add(reflector.problem() === undefined ? isRead : `${isRead}, with a problem`)
    })
    await clock.advance(60_000)
    expect([server.mishaps, [...seen]]).toEqual([[], ['not listed, with a problem', 'listed']])
  })

  test('hands out objects that cannot be changed', async () => {
    const { server, cache } = aReflection()
    server.write('a', 1)
    await settle()
    const toy = cache.get('a')
    expect(() => Object.assign(toy?.metadata ?? {}, { name: 'b' })).toThrow(TypeError)
  })
})

// Any history under any weather: what is shown was true at one moment, that moment never moves back, and after the
// weather has cleared it is now.

const names = fc.constantFrom('a', 'b', 'c', 'd', 'e')
const acts = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant('write' as const), names, fc.nat(9)) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('remove' as const), names) },
  {
    weight: 8,
    arbitrary: fc.tuple(
      fc.constantFrom(
        ...([
          'elsewhere',
          'compact',
          'bookmark',
          'end',
          'cut',
          'cutInside',
          'stall',
          'resume',
          'garbage',
          'expire',
        ] as const),
      ),
    ),
  },
  { weight: 3, arbitrary: fc.tuple(fc.constant('repeat' as const), fc.integer({ min: 1, max: 4 }), fc.nat(3)) },
  {
    weight: 3,
    arbitrary: fc.tuple(
      fc.constant('mishap' as const),
      fc.constantFrom<Mishap>('refused', 'silent', 'broken', 'throttled', 'gone', 'garbage', 'outdated', 'missing'),
    ),
  },
  { weight: 6, arbitrary: fc.tuple(fc.constant('pass' as const), fc.constantFrom(0, 10, 500, 5_000, 60_000, 200_000)) },
)

test('any history under any weather is shown truly, forwards, and in the end completely', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(acts, { maxLength: 50 }), async story => {
      const { server, clock, cache, mirror, reflector } = aReflection({ believeOlderAfterMs: 1e12, goneAfterMs: 1e12 })
      let seen = 0
      const check = () => {
        expect(Object.fromEntries(mirror)).toEqual(
          Object.fromEntries([...cache.values()].map(toy => [keyOf(toy), toy])),
        )
        if (cache.version === '') return
        const version = Number(cache.version)
        expect(version).toBeGreaterThanOrEqual(seen)
        seen = version
        expect(Object.fromEntries(mirror)).toEqual(Object.fromEntries(server.stateAt(version)))
      }
      for (const [act, ...args] of story) {
        if (act === 'write') server.write(args[0] as string, args[1] as number)
        else if (act === 'remove') server.remove(args[0] as string)
        else if (act === 'repeat') server.repeat(args[0] as number, args[1] as number)
        else if (act === 'mishap') server.mishaps.push(args[0] as Mishap)
        else if (act === 'pass') await clock.advance(args[0] as number)
        else server[act]()
        if (act !== 'pass') await settle()
        check()
      }
      server.mishaps.length = 0
      await clock.advance(10 * 60_000)
      check()
      expect(Object.fromEntries(mirror)).toEqual(Object.fromEntries(server.stateAt(server.revision)))
      await reflector.stop('shutdown')
      expect([clock.timers, server.streams]).toEqual([0, 0])
    }),
    { numRuns: 150 },
  )
})
