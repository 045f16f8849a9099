import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import type { LockState } from '../api/lock.ts'
import type { Pool } from '../api/pool.ts'
import { toPool } from '../api/to-pool.ts'
import { bitsOf, fromValue, highestValue, parseIP, toIPText, toValue } from '../ip/address.ts'
import { difference, hasValue, type RangeSet, toRangeSet } from '../ip/range-set.ts'
import { capacityOf } from './capacity.ts'
import { choose, type Wish } from './choose.ts'
import { poolSetOf } from './pool-set.ts'
import { type IndexedHold, SpaceIndex } from './space-index.ts'

// A universe of 64 addresses, at either end of either family or across a boundary of the index's own parts.
const universeSize = 64n
const bases = [
  { family: 4, base: 0n },
  { family: 4, base: highestValue(4) - universeSize + 1n },
  { family: 4, base: (10n << 24n) + 1024n - 32n },
  { family: 6, base: 0n },
  { family: 6, base: highestValue(6) - universeSize + 1n },
  { family: 6, base: (0xfd00n << 112n) + (1n << 32n) - 32n },
] as const
type Place = (typeof bases)[number]

const textAt = ({ family, base }: Place, offset: number): string => toIPText(fromValue(family, base + BigInt(offset)))

const offsets = fc.integer({ min: 0, max: Number(universeSize) - 1 })
const spans = fc.tuple(offsets, offsets).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const)

interface Step {
  readonly offset: number
  readonly state: LockState | 'removed'
  readonly holder: number
}

const steps = fc.array(
  fc.record<Step>({
    offset: offsets,
    state: fc.constantFrom('held', 'held', 'quarantined', 'removed'),
    holder: fc.integer({ min: 0, max: 3 }),
  }),
  { maxLength: 120 },
)

const strategies = ['lowestFree', 'random', 'leastRecentlyUsed'] as const

const worlds = fc.record({
  place: fc.constantFrom(...bases),
  listed: fc.array(spans, { minLength: 1, maxLength: 12 }),
  excluded: fc.array(spans, { maxLength: 4 }),
  draining: fc.array(spans, { maxLength: 1 }),
  kept: fc.uniqueArray(offsets, { maxLength: 2 }),
  gateway: fc.option(offsets, { nil: undefined }),
  prefix: fc.constantFrom(0, 24, 26, 28, 32),
  strategy: fc.constantFrom(...strategies),
  steps,
  random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  wisher: fc.integer({ min: 0, max: 5 }),
})
type Case = typeof worlds extends fc.Arbitrary<infer T> ? T : never

function poolOf({ place, listed, excluded, draining, kept, gateway, prefix, strategy }: Case): Pool {
  const range = ([first, last]: readonly [number, number]): string => `${textAt(place, first)}-${textAt(place, last)}`
  return orThrow(
    toPool({
      apiVersion: 'mooring.dev/v1alpha1',
      kind: 'ClusterAddressPool',
      metadata: { name: 'vms' },
      spec: {
        addresses: listed.map(range),
        excludedAddresses: excluded.map(range),
        draining: draining.map(range),
        preAllocations: Object.fromEntries(kept.map((offset, i) => [`kept-${i}`, textAt(place, offset)])),
        prefix: place.family === 4 ? prefix : prefix + 96,
        strategy,
        ...(gateway === undefined ? {} : { gateway: textAt(place, gateway) }),
      },
    }),
  )
}

const claimOf = (holder: number) => ({
  apiGroup: 'ipam.cluster.x-k8s.io',
  kind: 'IPAddressClaim',
  namespace: `ns-${holder % 2}`,
  name: `claim-${holder}`,
  uid: `uid-${holder}`,
})

function holdOf(pool: Pool, place: Place, { offset, holder }: Step, state: LockState): IndexedHold {
  const ip = orThrow(parseIP(textAt(place, offset)))
  const since = '2030-01-01T00:00:00Z'
  return { ip, bits: bitsOf(place.family), pool: pool.identity, claim: claimOf(holder), owner: undefined, state, since }
}

const wishOf = (wisher: number, random: number): Wish => ({
  claim: claimOf(wisher),
  namespaceLabels: {},
  owner: undefined,
  keptFor: [],
  requested: undefined,
  random,
})

/** The lowest aligned block of this length that lies wholly in the set. */
function lowestBlock({ family, ranges }: RangeSet, bits: number) {
  const shift = BigInt(bitsOf(family) - bits)
  for (const { first, last } of ranges) {
    const start = ((first + (1n << shift) - 1n) >> shift) << shift
    if (start + (1n << shift) - 1n <= last) return { ip: fromValue(family, start), bits }
  }
  return undefined
}

/** The world as it is, step by step, in the plainest form there is. */
function play(
  world: Case,
  afterEach: (pool: Pool, index: SpaceIndex) => void = () => {},
): {
  pool: Pool
  index: SpaceIndex
  ledger: Map<number, IndexedHold>
  used: Map<number, number>
} {
  const pool = poolOf(world)
  const index = new SpaceIndex()
  const ledger = new Map<number, IndexedHold>()
  const used = new Map<number, number>()
  world.steps.forEach((step, time) => {
    if (step.state === 'removed') {
      const before = ledger.get(step.offset)
      if (before !== undefined) used.set(step.offset, before.state === 'held' ? time : Date.parse(before.since))
      ledger.delete(step.offset)
      const { ip, bits } = holdOf(pool, world.place, step, 'held')
      index.remove({ ip, bits }, time)
    } else {
      const hold = holdOf(pool, world.place, step, step.state)
      ledger.set(step.offset, hold)
      used.delete(step.offset)
      index.put(hold)
    }
    afterEach(pool, index)
  })
  return { pool, index, ledger, used }
}

/** Every rule once more, address by address. */
function isOpen(world: Case, offset: number): boolean {
  const { place, listed, excluded, draining, kept, gateway } = world
  const within = (spans: Case['listed']): boolean => spans.some(([first, last]) => first <= offset && offset <= last)
  return (
    within(listed) &&
    !within(excluded) &&
    !within(draining) &&
    !kept.includes(offset) &&
    gateway !== offset &&
    !reservedOffsets(world).includes(place.base + BigInt(offset))
  )
}

function reservedOffsets({ place, listed, prefix }: Case): bigint[] {
  const lowest = place.base + BigInt(Math.min(...listed.map(([first]) => first)))
  const hostBits = BigInt(32 - (place.family === 4 ? prefix : prefix))
  if (hostBits < 2n) return []
  const first = (lowest >> hostBits) << hostBits
  return place.family === 4 ? [first, first + (1n << hostBits) - 1n] : [first]
}

function byStrategy(
  world: Case,
  open: number[],
  free: number[],
  used: ReadonlyMap<number, number>,
): number | undefined {
  switch (world.strategy) {
    case 'lowestFree':
      return free[0]
    case 'random': {
      const start = open[Math.floor(world.random * open.length)] ?? 0
      return free.find(offset => offset >= start) ?? free[0]
    }
    case 'leastRecentlyUsed':
      return free.toSorted((a, b) => (used.get(a) ?? -1) - (used.get(b) ?? -1) || a - b)[0]
  }
}

describe('a choice', () => {
  test('is what looking at every address one by one would choose', () => {
    fc.assert(
      fc.property(worlds, world => {
        // Asked after every step too: what a search remembers for the next one must not outlive the truth.
        const wish = wishOf(world.wisher, world.random)
        const { pool, index, ledger, used } = play(world, (pool, index) => choose(pool, index, wish))
        const all = Array.from({ length: Number(universeSize) }, (_, offset) => offset)
        const open = all.filter(offset => isOpen(world, offset))
        const free = open.filter(offset => !ledger.has(offset))
        const mine = open.filter(offset => {
          const hold = ledger.get(offset)
          return hold?.state === 'quarantined' && hold.claim.name === claimOf(world.wisher).name
        })
        const choice = choose(pool, index, wish)
        if (choice.kind === 'refused') {
          expect([choice.reason, free, mine]).toEqual(['PoolExhausted', [], []])
          return
        }
        const chosen = Number(toValue(choice.ip) - world.place.base)
        expect(choice.kind).toBe(mine.length > 0 ? 'retake' : 'take')
        expect(chosen).toBe(mine[0] ?? byStrategy(world, open, free, used))
      }),
      { numRuns: 400 },
    )
  })
})

describe('a pool of many small ranges', () => {
  const count = 40
  const pairs = Array.from({ length: count }, (_, i) => `10.0.${i}.10-10.0.${i}.11`)
  const cases = fc.record({
    strategy: fc.constantFrom(...strategies),
    releases: fc.array(fc.nat({ max: 2 * count - 1 }), { minLength: 1, maxLength: 60 }),
    pauses: fc.infiniteStream(fc.boolean()),
  })

  test('is filled to the last address, again and again', () => {
    fc.assert(
      fc.property(cases, ({ strategy, releases, pauses }) => {
        const pool = orThrow(
          toPool({
            apiVersion: 'mooring.dev/v1alpha1',
            kind: 'ClusterAddressPool',
            metadata: { name: 'vms' },
            spec: { addresses: pairs, prefix: 16, strategy },
          }),
        )
        const index = new SpaceIndex()
        const template = holdOf(pool, bases[0], { offset: 0, state: 'held', holder: 0 }, 'held')
        const fill = (): string[] => {
          const given: string[] = []
          for (;;) {
            const choice = choose(pool, index, wishOf(1, 0.7))
            if (choice.kind === 'refused') return given.toSorted()
            given.push(toIPText(choice.ip))
            index.put({ ...template, ip: choice.ip })
          }
        }
        expect(fill()).toHaveLength(2 * count)
        const freed = new Set<string>()
        for (const [time, n] of releases.entries()) {
          const text = `10.0.${n >> 1}.${10 + (n & 1)}`
          index.remove({ ip: orThrow(parseIP(text)), bits: 32 }, time + 1)
          freed.add(text)
          if (pauses.next().value) continue
          expect(fill()).toEqual([...freed].toSorted())
          freed.clear()
        }
      }),
      { numRuns: 60 },
    )
  })
})

describe('the index', () => {
  test('after any sequence of changes is as one that was built from the result', () => {
    fc.assert(
      fc.property(worlds, world => {
        const { pool, index, ledger } = play(world)
        const rebuilt = new SpaceIndex()
        for (const hold of ledger.values()) rebuilt.put(hold)
        expect(index.size).toBe(ledger.size)
        expect(capacityOf(pool, index)).toEqual(capacityOf(pool, rebuilt))
        for (let offset = 0; offset < Number(universeSize); offset++) {
          const block = { ip: orThrow(parseIP(textAt(world.place, offset))), bits: bitsOf(world.place.family) }
          expect(index.stateOf(block)).toBe(ledger.get(offset)?.state ?? 'free')
        }
        for (let holder = 0; holder < 4; holder++) {
          const claim = claimOf(holder)
          const texts = (from: SpaceIndex): string[] =>
            from
              .leftBy(claim, undefined)
              .map(({ ip }) => toIPText(ip))
              .toSorted()
          expect(texts(index)).toEqual(texts(rebuilt))
          const { namespace } = claim
          expect(index.heldOfNamespace(pool, namespace)).toBe(rebuilt.heldOfNamespace(pool, namespace))
        }
      }),
      { numRuns: 200 },
    )
  })

  test('counts every offered address in exactly one column', () => {
    fc.assert(
      fc.property(worlds, world => {
        const { pool, index, ledger } = play(world)
        const count = capacityOf(pool, index)
        expect(count.free + count.held + count.quarantined + count.reserved + count.draining).toBe(count.total)
        for (const value of Object.values(count)) expect(value).toBeGreaterThanOrEqual(0n)
        const { offered } = poolSetOf(pool)
        const states = [...ledger].map(([offset, { state }]) => {
          const isOffered = hasValue(offered, world.place.base + BigInt(offset))
          return `${state} ${isOffered ? 'inside' : 'outside'}`
        })
        const many = (what: string): bigint => BigInt(states.filter(state => state === what).length)
        expect([count.held, count.quarantined]).toEqual([many('held inside'), many('quarantined inside')])
        expect(count.outOfRange).toBe(many('held outside'))
        const free = Array.from({ length: Number(universeSize) }, (_, i) => i).filter(
          offset => isOpen(world, offset) && !ledger.has(offset),
        )
        expect(count.free).toBe(BigInt(free.length))
      }),
      { numRuns: 200 },
    )
  })

  test('chooses the prefix that a search through all ranges finds', () => {
    const blocks = fc.array(fc.integer({ min: 0, max: 15 }), { maxLength: 16 })
    const lengths = fc.constantFrom(60, 62, 64, 66)
    fc.assert(
      fc.property(blocks, fc.array(spans, { maxLength: 2 }), lengths, (heldBlocks, excluded, length) => {
        const base = 0xfd00n << 112n
        const pool = orThrow(
          toPool({
            apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2',
            kind: 'GlobalInClusterPrefixPool',
            metadata: { name: 'nets' },
            spec: {
              prefixes: ['fd00::/60', 'fd00:0:0:20::/62'],
              allocationPrefixLength: length,
              // Exclusions that begin and end in the middle of a prefix.
              excludedPrefixes: excluded.map(([a, b]) =>
                [a, b].map(n => toIPText(fromValue(6, base + (BigInt(n) << 62n) + 5n))).join('-'),
              ),
            },
          }),
        )
        const index = new SpaceIndex()
        const shift = BigInt(128 - length)
        for (const n of heldBlocks) {
          const ip = fromValue(6, base + (BigInt(n) << shift))
          index.put({ ...holdOf(pool, bases[3], { offset: 0, state: 'held', holder: 9 }, 'held'), ip, bits: length })
        }
        const held = heldBlocks.map(n => {
          const first = base + (BigInt(n) << shift)
          return { family: 6 as const, first, last: first + (1n << shift) - 1n }
        })
        const blocked = toRangeSet(6, [...held, ...pool.excluded.ranges])
        const expected = lowestBlock(difference(pool.addresses, blocked), length)
        const choice = choose(pool, index, wishOf(0, 0))
        expect(choice.kind === 'refused' ? undefined : { ip: choice.ip, bits: choice.bits }).toEqual(expected)
      }),
      { numRuns: 300 },
    )
  })
})

describe('holds of several lengths in one space', () => {
  const prefixes = orThrow(
    toPool({
      apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2',
      kind: 'GlobalInClusterPrefixPool',
      metadata: { name: 'nets' },
      spec: { prefixes: ['10.0.0.0/16'], allocationPrefixLength: 24 },
    }),
  )
  const single = holdOf(prefixes, bases[0], { offset: 0, state: 'held', holder: 0 }, 'held')
  const hold = (text: string, bits: number): IndexedHold => ({ ...single, ip: orThrow(parseIP(text)), bits })
  const addresses = (strategy: string): Pool =>
    orThrow(
      toPool({
        apiVersion: 'mooring.dev/v1alpha1',
        kind: 'ClusterAddressPool',
        metadata: { name: 'vms' },
        spec: {
          addresses: ['10.0.0.0-10.0.0.255', '10.0.2.0-10.0.3.255', '10.1.0.0/24'],
          prefix: 15,
          strategy,
          allocateReservedIPAddresses: true,
        },
      }),
    )

  test.each(strategies)('no address within a prefix that is held is given (%s)', strategy => {
    const index = new SpaceIndex()
    index.put(hold('10.0.0.0', 24))
    expect(index.stateOf({ ip: orThrow(parseIP('10.0.0.7')), bits: 32 })).toBe('held')
    const chosen = (): string => {
      const choice = choose(addresses(strategy), index, wishOf(0, 0))
      return choice.kind === 'refused' ? choice.reason : toIPText(choice.ip)
    }
    expect(chosen()).toBe('10.0.2.0')
    index.put(hold('10.0.2.0', 24))
    expect(chosen()).toBe('10.0.3.0')
    index.put(hold('10.0.0.0', 16))
    expect(chosen()).toBe('10.1.0.0')
    index.put(hold('10.1.0.0', 16))
    expect(chosen()).toBe('PoolExhausted')
  })

  test('what lies within something larger that is shown is counted once, and is not free', () => {
    const index = new SpaceIndex()
    const shown = (text: string, bits: number) => ({ ...hold(text, bits), claim: { ...single.claim, uid: '' } })
    const pool = addresses('lowestFree')
    index.put(hold('10.0.2.9', 32))
    index.put(shown('10.0.2.10', 32))
    for (const bits of [24, 25]) index.put(shown('10.0.2.0', bits))
    const { total, free, held, shown: covered } = capacityOf(pool, index)
    expect({ total, free, held, covered }).toEqual({ total: 1024n, free: 768n, held: 1n, covered: 255n })
    expect(index.lowestFree(poolSetOf(pool))).toEqual(parseIP('10.0.0.0'))
  })

  test('no prefix around an address that is held is given', () => {
    const index = new SpaceIndex()
    index.put(hold('10.0.0.255', 32))
    index.put(hold('10.0.1.0', 32))
    expect(index.lowestFree(poolSetOf(prefixes))).toEqual(parseIP('10.0.2.0'))
    index.remove({ ip: orThrow(parseIP('10.0.0.255')), bits: 32 })
    expect(index.lowestFree(poolSetOf(prefixes))).toEqual(parseIP('10.0.0.0'))
  })
})

describe('memory', () => {
  const aPool = (addresses: string, prefix: number, strategy = 'lowestFree'): Pool =>
    orThrow(
      toPool({
        apiVersion: 'mooring.dev/v1alpha1',
        kind: 'ClusterAddressPool',
        metadata: { name: 'vms' },
        spec: { addresses: [addresses], prefix, strategy },
      }),
    )

  test('grows with what is held, and not with what is offered', () => {
    const pool = aPool('2001:db8::/48', 48)
    const index = new SpaceIndex()
    for (let i = 0; i < 5_000; i++) {
      const choice = choose(pool, index, wishOf(0, 0))
      if (choice.kind === 'refused') throw new Error(choice.message)
      expect(toValue(choice.ip)).toBe((0x20010db8n << 96n) + 1n + BigInt(i))
      index.put({ ...holdOf(pool, bases[3], { offset: 0, state: 'held', holder: 0 }, 'held'), ip: choice.ip })
    }
    expect(index.chunks).toBe(Math.ceil(5_001 / 1_024))
    expect(capacityOf(pool, index)).toMatchObject({ total: 2n ** 80n - 1n, held: 5_000n, free: 2n ** 80n - 5_001n })
  })

  test('a range of a /8 that is filled one by one is filled in order, without a gap', () => {
    const pool = aPool('10.0.0.0/8', 8)
    const index = new SpaceIndex()
    const hold = holdOf(pool, bases[0], { offset: 0, state: 'held', holder: 0 }, 'held')
    let last = 10 * 2 ** 24
    const count = 2 ** 20 + 3_000
    for (let i = 0; i < count; i++) {
      const ip = index.lowestFree(poolSetOf(pool))
      if (ip === undefined || ip.w3 !== last + 1) throw new Error(`after ${i} addresses comes ${ip?.w3}`)
      last = ip.w3
      index.put({ ...hold, ip })
    }
    expect(index.size).toBe(count)
    expect(index.chunks).toBe(Math.ceil((count + 1) / 1_024))
    // One that is given back in the middle of what is full is found again.
    index.remove({ ip: fromValue(4, (10n << 24n) + 500_000n), bits: 32 })
    expect(index.lowestFree(poolSetOf(pool))?.w3).toBe(10 * 2 ** 24 + 500_000)
  })

  test('is given back with the last hold', () => {
    const pool = aPool('10.0.0.0/16', 16)
    const index = new SpaceIndex()
    const hold = holdOf(pool, bases[0], { offset: 0, state: 'held', holder: 0 }, 'held')
    const ips = Array.from({ length: 3_000 }, (_, i) => fromValue(4, (10n << 24n) + BigInt(i)))
    for (const ip of ips) index.put({ ...hold, ip })
    for (const ip of ips) index.remove({ ip, bits: 32 })
    expect([index.size, index.chunks]).toEqual([0, 0])
    expect(index.heldOfPool(pool)).toBe(0)
  })
})

describe('a source of both families', () => {
  const identity = { apiGroup: 'k8s.cni.cncf.io', kind: 'NetworkAttachmentDefinition', namespace: 'lab', name: 'wire' }
  const claim = {
    apiGroup: 'k8s.cni.cncf.io',
    kind: 'IPAMClaim',
    namespace: 'lab',
    name: 'c',
    uid: 'u',
    clusterName: 'k',
  }
  const [v4, v6] = [
    { identity, family: 4 },
    { identity, family: 6 },
  ] as const
  const put = (index: SpaceIndex, ...addresses: string[]) => {
    for (const address of addresses) {
      const ip = orThrow(parseIP(address))
      index.put({ ip, bits: bitsOf(ip.family), pool: identity, claim, owner: undefined, state: 'held', since: '' })
    }
  }

  test('has each family counted by itself', () => {
    const index = new SpaceIndex()
    put(index, '10.0.0.1', 'fd00::1', '10.0.0.2')
    expect([v4, v6].map(pool => index.heldOfPool(pool))).toEqual([2, 1])
    expect([v4, v6].map(pool => index.heldOfNamespace(pool, 'lab'))).toEqual([2, 1])
    expect([v4, v6].map(pool => index.heldOfCluster(pool, 'lab', 'k'))).toEqual([2, 1])
    const all = (family: 4 | 6) => toRangeSet(family, [{ family, first: 0n, last: highestValue(family) }])
    expect(index.heldFrom(v4, all(4), 32)).toBe(2)
    expect(index.heldFrom(v6, all(6), 128)).toBe(1)
    expect(index.isOnlyPool(v4)).toBe(false)
  })

  test('is the only one of its space again when the other family is gone', () => {
    const index = new SpaceIndex()
    put(index, '10.0.0.1', 'fd00::1')
    index.remove({ ip: orThrow(parseIP('fd00::1')), bits: 128 })
    expect([index.isOnlyPool(v4), index.isOnlyPool(v6)]).toEqual([true, false])
  })
})
