import { describe, expect, test } from 'vitest'
import { aClaim, aCluster, anAddressFor, anAddressPool, aPool, pausedAnnotation } from './builders.ts'
import { events } from './kinds.ts'
import { addressOf, aServedClaim, isGone, isServed, saysWhy } from './promises.ts'
import { aWorld, isInProcess, type Stored, type World } from './world.ts'

/** The number behind a name and its labels; undefined when there is none. */
function numberOf({ desk }: World, name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  const found = desk
    .metrics()
    .split('\n')
    .filter(line => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter(line => wanted.every(part => line.includes(part)))
    .map(line => Number(line.slice(line.lastIndexOf(' ') + 1)))
  return found.length === 0 ? undefined : found.reduce((sum, value) => sum + value, 0)
}

const passes = (world: World): number => numberOf(world, 'mooring_passes_total', { controller: 'claim.binding' }) ?? 0

describe('The numbers that are scraped', () => {
  test('count what is written again and again because another program undoes it, and the log names it', async () => {
    const world = await aWorld()
    const claim = await aServedClaim(world, aClaim().on(await world.create(aPool())))
    const repeated = () =>
      numberOf(world, 'mooring_repeated_writes_total', { desk: 'capi', controller: 'claim.binding' })
    expect(repeated()).toBe(0)
    for (let i = 0; i < 15; i++) {
      const report = (await world.report(claim)) as Stored
      await world.patch(report, { metadata: { finalizers: null } })
      await world.eventually(async () => expect((await world.report(claim))?.metadata.finalizers).toHaveLength(1))
    }
    await world.eventually(() => expect(repeated()).toBe(5))
    const lines = world.desk.log.filter(({ msg }) => msg === 'the same is written again and again')
    expect(lines).toEqual([expect.objectContaining({ key: `${world.home}/${claim.metadata.name}` })])
  })

  test('follow a pool: what is free, held and at rest', async () => {
    const world = await aWorld()
    const pool = await world.create(anAddressPool().withAddresses('10.0.1.1-10.0.1.4').with({ quarantineSeconds: 60 }))
    const labels = { kind: 'AddressPool', namespace: world.home, name: pool.metadata.name ?? '' }
    const states = () =>
      ['free', 'held', 'quarantined'].map(state => numberOf(world, 'mooring_pool_addresses', { ...labels, state }))
    const first = await aServedClaim(world, aClaim().on(pool))
    await aServedClaim(world, aClaim().on(pool))
    expect(states()).toEqual([2, 2, 0])
    expect(numberOf(world, 'mooring_pool_capacity', labels)).toBe(4)
    await world.delete(first)
    await isGone(world, first)
    await world.eventually(() => expect(states()).toEqual([2, 1, 1]))
    await world.patch(pool, { spec: { addresses: ['10.0.1.3-10.0.1.4'] } })
    await world.eventually(() => expect(numberOf(world, 'mooring_pool_out_of_range', labels)).toBe(1))
    expect(numberOf(world, 'mooring_releases_total', { kind: 'AddressPool' })).toBeGreaterThanOrEqual(1)
    await world.delete(pool)
  })

  test('are exact for a pool of more addresses than can be counted otherwise', async () => {
    const world = await aWorld()
    const pool = await world.create(anAddressPool().withAddresses('2001:db8::/64').withPrefix(64))
    await aServedClaim(world, aClaim().on(pool))
    expect(world.desk.metrics()).toMatch(/mooring_pool_addresses\{.*state="free"\} 1844674407370955161\d\n/)
  })

  test('show how many claims wait for which pool and why, and when a pool ran out', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses('10.0.1.1'))
    const labels = { kind: 'InClusterIPPool', name: pool.metadata.name ?? '' }
    const exhaustions = () => numberOf(world, 'mooring_pool_exhaustions_total', labels)
    await world.eventually(() => expect(exhaustions()).toBe(0))
    const first = await aServedClaim(world, aClaim().on(pool))
    const waiting = [aClaim().on(pool), aClaim().on(pool), aClaim().on(pool).asking('10.9.9.9')]
    for (const claim of waiting) await world.create(claim)
    for (const claim of waiting.slice(0, 2)) await saysWhy(world, claim, 'PoolExhausted')
    await saysWhy(world, waiting[2] ?? first, 'AllocationFailed')
    const waitingFor = (reason: string) => numberOf(world, 'mooring_claims_waiting', { ...labels, reason })
    expect([waitingFor('PoolExhausted'), waitingFor('AddressOutOfRange')]).toEqual([2, 1])
    await world.eventually(() => expect(exhaustions()).toBe(1))
    await world.delete(first)
    await world.eventually(() => expect(waitingFor('PoolExhausted')).toBe(1))
    for (const claim of waiting) await world.delete(claim)
    await world.delete(pool)
    await world.eventually(() => expect(exhaustions()).toBeUndefined())
  })

  // Where others left claims behind, those are counted too.
  test.runIf(isInProcess)('tell how many claims were bound, and how long that took', async () => {
    const world = await aWorld()
    const pool = aPool()
    const early = aClaim().on(pool)
    await world.create(early)
    await world.pass(20_000)
    await world.create(pool)
    await isServed(world, early)
    await aServedClaim(world, aClaim().on(pool))
    const kind = { kind: 'InClusterIPPool' }
    expect(numberOf(world, 'mooring_allocations_total', { ...kind, outcome: 'bound', strategy: 'lowestFree' })).toBe(2)
    expect(numberOf(world, 'mooring_claim_ready_seconds_count', kind)).toBe(2)
    expect(numberOf(world, 'mooring_claim_ready_seconds_bucket', { ...kind, le: '10' })).toBe(1)
    expect(numberOf(world, 'mooring_claim_ready_seconds_sum', kind)).toBeGreaterThanOrEqual(20)
  })

  test('show what is asked of the API server, how kinds are followed and what waits for its turn', async () => {
    const world = await aWorld()
    await aServedClaim(world, aClaim().on(await world.create(aPool())))
    const holds = { resource: 'holds.mooring.dev' }
    expect(numberOf(world, 'mooring_client_requests_total', { ...holds, verb: 'create', code: '201' })).toBeGreaterThan(
      0,
    )
    expect(numberOf(world, 'mooring_reflector_state', { ...holds, state: 'watching' })).toBe(1)
    expect(numberOf(world, 'mooring_reflector_lists_total', holds)).toBe(1)
    const ended = () => numberOf(world, 'mooring_reflector_streams_ended_total', { ...holds, why: 'ended' })
    expect([ended(), numberOf(world, 'mooring_reflector_streams_ended_total', { ...holds, why: 'gone' })]).toEqual([
      0, 0,
    ])
    await world.eventually(() => expect(numberOf(world, 'mooring_queue_depth')).toBe(0))
    world.desk.endWatches()
    await world.eventually(() => expect(ended()).toBe(1))
  })
})

describe('A claim costs the API server', () => {
  const requests = (world: World) =>
    ['get', 'list', 'create', 'patch', 'delete'].map(verb =>
      ['holds.mooring.dev', 'ipaddressclaims.ipam.cluster.x-k8s.io', 'ipaddresses.ipam.cluster.x-k8s.io']
        .map(resource => numberOf(world, 'mooring_client_requests_total', { verb, resource }) ?? 0)
        .reduce((sum, count) => sum + count),
    )

  test.runIf(isInProcess)(
    'four writes to be bound and five to be released, and no read that is not needed',
    async () => {
      const world = await aWorld()
      const pool = await world.create(aPool())
      await world.pass(1_000)
      const [gets = 0, lists = 0, creates = 0, patches = 0, deletes = 0] = requests(world)
      const claim = await aServedClaim(world, aClaim().on(pool))
      await world.pass(1_000)
      expect(requests(world)).toEqual([gets, lists, creates + 2, patches + 2, deletes])
      await world.delete(claim)
      await isGone(world, claim)
      await world.pass(1_000)
      // The IPAddress of a claim that goes is read where it is kept, and once more for the version that its delete made. Its
      // holds are not listed: the server would look through every hold there is.
      expect(requests(world)).toEqual([gets + 2, lists, creates + 2, patches + 5, deletes + 2])
    },
  )

  test.runIf(isInProcess)('no more to be released when what it wrote itself comes back late', async () => {
    const world = await aWorld()
    const claim = await aServedClaim(world, aClaim().on(await world.create(aPool())))
    await world.pass(1_000)
    const [gets = 0, lists = 0, creates = 0, patches = 0, deletes = 0] = requests(world)
    world.desk.watchDelayMs = 500
    await world.delete(claim)
    await isGone(world, claim)
    await world.pass(3_000)
    expect(requests(world)).toEqual([gets + 2, lists, creates, patches + 3, deletes + 2])
  })
})

describe('A released address', () => {
  test('wakes one of many waiting claims, the oldest', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses('10.0.1.1'))
    const first = await aServedClaim(world, aClaim().on(pool))
    const oldest = await world.create(aClaim().named('zz-oldest').on(pool))
    await saysWhy(world, oldest, 'PoolExhausted')
    await world.pass(1_100)
    const others = Array.from({ length: 60 }, () => aClaim().on(pool))
    await Promise.all(others.map(claim => world.create(claim)))
    for (const claim of others) await saysWhy(world, claim, 'PoolExhausted')
    await world.pass(1_000)
    const before = passes(world)
    await world.delete(first)
    await isServed(world, oldest, '10.0.1.1')
    await world.pass(2_000)
    // On a server that others use too, their passes are counted as well.
    if (isInProcess) expect(passes(world) - before).toBeLessThan(15)
  })

  test('goes to the next waiting claim when the oldest is gone or paused by then', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses('10.0.1.1'))
    const first = await aServedClaim(world, aClaim().on(pool))
    const waiting: Stored[] = []
    for (const name of ['d', 'c', 'b', 'a']) {
      waiting.push(await world.create(aClaim().named(name).on(pool)))
      await world.pass(1_100)
    }
    for (const claim of waiting) await saysWhy(world, claim, 'PoolExhausted')
    const [oldest, second, third, fourth] = waiting as [Stored, Stored, Stored, Stored]
    await world.patch(second, { metadata: { annotations: pausedAnnotation } })
    await Promise.all([world.delete(first), world.delete(oldest)])
    await isServed(world, third, '10.0.1.1')
    expect(await addressOf(world, second)).toBeUndefined()
    await world.delete(third)
    await isServed(world, fourth, '10.0.1.1')
  })

  test('of a namespace that has reached its quota goes to its next claim', async () => {
    const world = await aWorld()
    const pool = await world.create(anAddressPool().with({ quota: { perNamespace: 1 } }))
    const first = await aServedClaim(world, aClaim().on(pool))
    const [second, third] = [aClaim().named('second').on(pool), aClaim().named('third').on(pool)]
    for (const claim of [second, third]) {
      await world.create(claim)
      await saysWhy(world, claim, 'AllocationFailed', 'already holds its quota of 1 address')
      await world.pass(1_100)
    }
    const before = passes(world)
    await world.delete(first)
    await isServed(world, second)
    await world.pass(2_000)
    await saysWhy(world, third, 'AllocationFailed', 'already holds its quota of 1 address')
    // On a server that others use too, their passes are counted as well.
    if (isInProcess) expect(passes(world) - before).toBeLessThan(15)
    await world.delete(second)
    await isServed(world, third)
  })
})

describe('The log of a claim', () => {
  const story = ({ desk, home }: World, claim: string) =>
    desk.log
      .filter(line => line.claim === claim && line.namespace === home && line.ledger === undefined)
      .map(({ msg, reason }) => (reason === undefined ? msg : `${msg}: ${reason}`))

  /** Each write to a hold of the claim. */
  const writes = ({ desk, home }: World, claim: string) =>
    desk.log.filter(line => line.claim === claim && line.namespace === home).flatMap(({ ledger }) => ledger ?? [])

  test('has its life in a few sentences, each once', async () => {
    const world = await aWorld()
    const cluster = aCluster()
    const pool = aPool().withAddresses('10.0.1.1')
    const claim = aClaim().named('mine').on(pool).forCluster(cluster.name)
    await world.create(claim)
    await world.pass(1_000)
    await world.create(cluster)
    await saysWhy(world, claim, 'PoolNotReady')
    const created = await world.create(pool)
    await isServed(world, claim)
    await world.idle(5_000)
    await world.delete(claim)
    await isGone(world, claim)
    await world.idle(5_000)
    expect(story(world, 'mine')).toEqual([
      'a claim is left alone: ClusterNotFound',
      'a claim waits: PoolNotFound',
      'a claim is bound',
      'a claim gives its address back',
    ])
    expect(writes(world, 'mine')).toEqual(['taken', 'rests', 'freed'])
    expect(world.desk.log.find(({ msg, claim }) => msg === 'a claim is bound' && claim === 'mine')).toMatchObject({
      level: 'info',
      reconciler: 'claim.binding',
      reconcileId: expect.stringMatching(/^[0-9a-f]{8}$/),
      namespace: world.home,
      uid: expect.any(String),
      pool: `InClusterIPPool ${world.home}/${created.metadata.name}`,
      address: '10.0.1.1',
      hold: expect.stringContaining('10-0-1-1'),
      by: 'take',
    })
  })

  test('says that it waits, that its pool is exhausted, and that both are over', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses('10.0.1.1'))
    const first = await aServedClaim(world, aClaim().named('first').on(pool))
    const second = await world.create(aClaim().named('second').on(pool))
    await saysWhy(world, second, 'PoolExhausted')
    await world.pass(2_000)
    await world.delete(first)
    await isServed(world, second)
    await world.delete(second)
    await isGone(world, second)
    await world.idle(5_000)
    expect(story(world, 'second')).toEqual([
      'a claim waits: PoolExhausted',
      'a claim is bound',
      'a claim gives its address back',
    ])
    const ofPool = world.desk.log.filter(({ reconciler }) => reconciler === 'pool.capacity').map(({ msg }) => msg)
    expect([ofPool[0], ofPool.at(-1)]).toEqual(['a pool is exhausted', 'a pool has addresses again'])
  })

  test('says that an IPAddress was adopted, and that a lost one was restored', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const claim = aClaim().named('mine').on(pool)
    await world.create(anAddressFor(claim, '10.0.1.50'))
    await aServedClaim(world, claim, '10.0.1.50')
    const report = await world.report(claim)
    if (report === undefined) throw new Error('it is served')
    await world.patch(report, { metadata: { finalizers: null } })
    await world.delete(report)
    await world.eventually(() => expect(story(world, 'mine')).toContain('an IPAddress that was lost is restored'))
    expect(story(world, 'mine').slice(0, 2)).toEqual(['an IPAddress that was there is adopted', 'a claim is bound'])
  })

  test('holds nothing that a pass found as it should be, also not after a restart', async () => {
    const world = await aWorld()
    await aServedClaim(world, aClaim().on(await world.create(aPool())))
    await world.idle(5_000)
    await world.desk.stop()
    const before = world.desk.log.length
    await world.desk.start()
    await world.idle(10_000)
    const lines = world.desk.log.slice(before).filter(({ namespace = world.home }) => namespace === world.home)
    // Which of the desks begins first is decided by whose lists come first.
    expect(lines.map(({ msg, desk }) => `${desk}: ${msg}`).toSorted()).toEqual([
      'capi: the desk begins to work',
      'import: the desk begins to work',
      'machine: the desk begins to work',
      'migration: the desk begins to work',
      'office: the desk begins to work',
      'vm: the desk begins to work',
    ])
  })
})

describe('A user that asks why a claim waits', () => {
  async function eventsOf(world: World, claim: Stored): Promise<string[]> {
    const { items } = await world.client.list(events, { namespace: world.home })
    return (items as unknown as { regarding: { uid: string }; reason: string; note: string }[])
      .filter(({ regarding }) => regarding.uid === claim.metadata.uid)
      .map(({ reason, note }) => `${reason}: ${note}`)
  }

  test.each([
    [
      'is paused',
      'ClaimPaused: the claim is paused: this claim is served when its annotation cluster.x-k8s.io/paused is',
    ],
    [
      'has a Cluster that is not there',
      'ClusterNotFound: Cluster blue does not exist: this claim is served when it does',
    ],
    ['has a Cluster that is paused', 'ClusterPaused: Cluster blue is paused: this claim is served when it goes on'],
    [
      'has a pool that is paused',
      /^PoolPaused: InClusterIPPool .* is paused: this claim is served when the annotation/,
    ],
  ])('and %s finds an event, told once', async (story, expected) => {
    const world = await aWorld()
    const pool = await world.create(story.includes('pool') ? aPool().paused() : aPool())
    const claim = aClaim().on(pool)
    if (story.includes('Cluster that is paused')) await world.create(aCluster().named('blue').pausedBySpec())
    const draft = story === 'is paused' ? claim.paused() : story.includes('Cluster') ? claim.forCluster('blue') : claim
    const stored = await world.create(draft)
    await world.eventually(async () => {
      expect(await eventsOf(world, stored)).toEqual([
        typeof expected === 'string' ? expect.stringContaining(expected) : expect.stringMatching(expected),
      ])
    })
    await world.patch(stored, { metadata: { labels: { touched: 'yes' } } })
    await world.idle(5_000)
    expect(await eventsOf(world, stored)).toHaveLength(1)
    expect((await world.get(stored))?.status?.conditions ?? []).toEqual([])
  })

  test('or why it does not go, finds what holds its release up', async () => {
    const world = await aWorld()
    const claim = await aServedClaim(
      world,
      aClaim()
        .on(await world.create(aPool()))
        .guardedBy('example.org/machine'),
    )
    await world.delete(claim)
    await world.eventually(async () =>
      expect(await eventsOf(world, claim)).toContain(
        'KeptByOthers: others still need the claim: the address of this claim is given back when their finalizers are gone',
      ),
    )
  })

  test('for an address finds which claim of its own namespace has it, and until when it rests', async () => {
    const world = await aWorld()
    const pool = await world.create(anAddressPool().with({ quarantineSeconds: 60 }))
    const holder = await aServedClaim(world, aClaim().on(pool).asking('10.0.1.7'))
    const claim = await world.create(aClaim().on(pool).asking('10.0.1.7'))
    const has = `10.0.1.7 is held by claim ${holder.metadata.name}: it is given once it is free; or ask for another`
    await saysWhy(world, claim, 'AllocationFailed', has)
    await world.delete(holder)
    const rests =
      /^10\.0\.1\.7 was released by claim .* and rests: it is given after \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ; or/
    await saysWhy(world, claim, 'AllocationFailed', rests)
  })

  test('finds that its pool was deleted, or can no longer be read, although it waited for something else', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses('10.0.1.1'))
    const first = await aServedClaim(world, aClaim().on(pool))
    const claim = await world.create(aClaim().on(pool))
    await saysWhy(world, claim, 'PoolExhausted')
    await world.delete(pool)
    await saysWhy(world, claim, 'PoolNotReady', 'is being deleted')
    await world.delete(first)
    await saysWhy(world, claim, 'PoolNotReady', 'does not exist')
  })
})
