import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../test/harness/seeded-random.ts'
import { silentLog } from '../../test/harness/silent-log.ts'
import { ToyObjects } from '../../test/harness/toy-client.ts'
import { settle, VirtualClock } from '../../test/harness/virtual-clock.ts'
import { pause } from '../runtime/clock.ts'
import { Election, type Lease } from './lease.ts'
import { WireError } from './wire.ts'

function aCandidate(server: ToyObjects, clock: VirtualClock, identity: string, client = server.client) {
  const journal: string[] = []
  const election = new Election({
    client,
    clock,
    random: seededRandom(identity.charCodeAt(0)),
    log: silentLog,
    namespace: 'mooring-system',
    name: 'mooring',
    identity,
    onElected: () => journal.push('elected'),
    onLost: () => journal.push('lost'),
  })
  const abort = new AbortController()
  const ended = election.run(abort.signal)
  return {
    election,
    journal,
    stop: async () => {
      abort.abort()
      await ended
    },
  }
}

const leaseOf = (server: ToyObjects) => server.objects.get('mooring-system/mooring') as Lease | undefined

describe('an election', () => {
  test('takes a lease that no process holds, and renews it', async () => {
    const [server, clock] = [new ToyObjects(), new VirtualClock()]
    const one = aCandidate(server, clock, 'one')
    await settle()
    expect(one.election.isLeader).toBe(true)
    expect(leaseOf(server)?.spec).toEqual({
      holderIdentity: 'one',
      leaseDurationSeconds: 15,
      acquireTime: '2030-01-01T00:00:00.000000Z',
      renewTime: '2030-01-01T00:00:00.000000Z',
      leaseTransitions: 0,
    })
    await clock.advance(60_000)
    expect(one.election.isLeader).toBe(true)
    expect(leaseOf(server)?.spec).toMatchObject({ acquireTime: '2030-01-01T00:00:00.000000Z', leaseTransitions: 0 })
    expect(leaseOf(server)?.spec?.renewTime).toMatch(/^2030-01-01T00:00:5\d\.\d{6}Z$/)
    await one.stop()
    expect(clock.timers).toBe(0)
  })

  test('hands over at once when the leader stops in good order', async () => {
    const [server, clock] = [new ToyObjects(), new VirtualClock()]
    const one = aCandidate(server, clock, 'one')
    await settle()
    const two = aCandidate(server, clock, 'two')
    await clock.advance(60_000)
    expect([one.election.isLeader, two.election.isLeader, two.election.holder]).toEqual([true, false, 'one'])
    await one.stop()
    await clock.advance(3_000)
    expect(two.election.isLeader).toBe(true)
    expect(leaseOf(server)?.spec).toMatchObject({ holderIdentity: 'two', leaseTransitions: 1 })
    await two.stop()
  })

  test('gives the lease back also when a renewal that arrived was cut short by the order to stop', async () => {
    const [server, clock] = [new ToyObjects(), new VirtualClock()]
    let isCut = false
    const update: typeof server.client.update = async (kind, object, options) => {
      const answer = await server.client.update(kind, object)
      // The answer never comes: only the order to stop ends the wait.
      if (!isCut || options?.signal === undefined) return answer
      return new Promise((_, reject) => {
        options.signal?.addEventListener('abort', () => reject(new WireError('cut', true)))
      })
    }
    const one = aCandidate(server, clock, 'one', { ...server.client, update })
    await settle()
    isCut = true
    await clock.advance(5_000)
    expect(leaseOf(server)?.spec).toMatchObject({
      holderIdentity: 'one',
      renewTime: expect.stringMatching(/00:0[1-5]\./),
    })
    await one.stop()
    expect(leaseOf(server)?.spec?.holderIdentity).toBe('')
  })

  test('hands over after the whole duration when the leader vanishes, whatever the wall clocks say', async () => {
    const [server, clock] = [new ToyObjects(), new VirtualClock()]
    server.put({
      metadata: { namespace: 'mooring-system', name: 'mooring' },
      spec: { holderIdentity: 'ghost', leaseDurationSeconds: 15, renewTime: '2031-01-01T00:00:00.000000Z' },
    } as Lease)
    const two = aCandidate(server, clock, 'two')
    clock.jump(-86_400_000)
    await clock.advance(14_000)
    clock.jump(2 * 86_400_000)
    expect(two.election.isLeader).toBe(false)
    await clock.advance(4_000)
    expect(two.election.isLeader).toBe(true)
    await two.stop()
  })

  test('stops believing in itself in time when the server does not answer', async () => {
    const [server, clock] = [new ToyObjects(), new VirtualClock()]
    const one = aCandidate(server, clock, 'one')
    await settle()
    server.weather = () => Promise.reject(new WireError('down', true))
    await clock.advance(9_000)
    expect(one.election.isLeader).toBe(true)
    await clock.advance(1_001)
    expect(one.election.isLeader).toBe(false)
    expect(one.journal).toEqual(['elected', 'lost'])
    server.weather = () => Promise.resolve()
    await clock.advance(3_000)
    expect(one.journal).toEqual(['elected', 'lost', 'elected'])
    await one.stop()
  })

  test('counts from before it asked, so that a late answer does not make it believe for longer', async () => {
    const [server, clock] = [new ToyObjects(), new VirtualClock()]
    let isTroubled = false
    const update = async (...args: [never, never]) => {
      const answer = await server.client.update(...args)
      if (isTroubled) await pause(clock, 9_000)
      return answer
    }
    const get = (...args: [never, never]) =>
      isTroubled && clock.monotonicMs() > 60_000
        ? Promise.reject(new WireError('lost', true))
        : server.client.get(...args)
    const one = aCandidate(server, clock, 'one', { ...server.client, get, update } as never)
    await settle()
    const two = aCandidate(server, clock, 'two')
    await clock.advance(58_000)
    isTroubled = true
    for (let passed = 0; passed < 60_000; passed += 200) {
      await clock.advance(200)
      expect([one, two].filter(({ election }) => election.isLeader).length).toBeLessThanOrEqual(1)
    }
    expect(two.election.isLeader).toBe(true)
    isTroubled = false
    await Promise.all([one.stop(), two.stop()])
  })

  test('lets a caller wait for it', async () => {
    const [server, clock] = [new ToyObjects(), new VirtualClock()]
    const one = aCandidate(server, clock, 'one')
    await one.election.elected(new AbortController().signal)
    expect(one.election.isLeader).toBe(true)
    const two = aCandidate(server, clock, 'two')
    const abort = new AbortController()
    const waiting = two.election.elected(abort.signal)
    abort.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await Promise.all([one.stop(), two.stop()])
  })
})

// Three candidates, each with its own delays and losses on the way to the server: never do two believe at once.

test('in any order of delays and losses at most one takes itself for the leader, and one does once they stop', async () => {
  const trouble = fc.record({
    candidate: fc.nat(2),
    delayMs: fc.constantFrom(0, 100, 3_000, 9_000, 14_000, 40_000),
    fate: fc.constantFrom('comes late', 'is answered late', 'lost before', 'lost after'),
    skewMs: fc.constantFrom(-86_400_000, 0, 3_600_000),
    passMs: fc.constantFrom(0, 500, 2_000, 7_000, 16_000),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(trouble, { maxLength: 25 }), async story => {
      const [server, clock] = [new ToyObjects(), new VirtualClock()]
      const waiting: (typeof story)[] = [[], [], []]
      const candidates = ['a', 'b', 'c'].map((identity, index) => {
        const own = new ToyObjects()
        // Each has its own way to the one server.
        const way =
          (verb: 'get' | 'create' | 'update') =>
          async (...args: [never, never, { signal?: AbortSignal }?]) => {
            const bad = waiting[index]?.shift()
            const signal = args[2]?.signal
            if (bad?.fate === 'comes late' || bad?.fate === 'lost before') await pause(clock, bad.delayMs)
            if (bad?.fate === 'lost before') throw new WireError('lost', true)
            const answer = await (server.client[verb] as (...all: unknown[]) => Promise<unknown>)(...args)
            if (bad?.fate === 'is answered late' || bad?.fate === 'lost after') await pause(clock, bad.delayMs, signal)
            if (bad?.fate === 'lost after' || signal?.aborted) throw new WireError('lost', true)
            return answer
          }
        const client = { ...own.client, get: way('get'), create: way('create'), update: way('update') } as never
        return aCandidate(server, clock, identity, client)
      })
      const leaders = () => candidates.filter(({ election }) => election.isLeader).length
      for (const { candidate, passMs, skewMs, ...bad } of story) {
        waiting[candidate]?.push({ candidate, passMs, skewMs, ...bad })
        clock.jump(skewMs)
        for (let passed = 0; passed < passMs; passed += 500) {
          await clock.advance(500)
          expect(leaders()).toBeLessThanOrEqual(1)
        }
      }
      for (const list of waiting) list.length = 0
      for (let passed = 0; passed < 90_000; passed += 500) {
        await clock.advance(500)
        expect(leaders()).toBeLessThanOrEqual(1)
      }
      expect(leaders()).toBe(1)
      await Promise.all([...candidates.map(({ stop }) => stop()), clock.advance(60_000)])
      expect(clock.timers).toBe(0)
    }),
    { numRuns: 60 },
  )
})
