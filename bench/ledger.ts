// What a choice costs in the ledger's index, and what a hold costs in memory: `npm run bench:ledger`. Time is the process's
// own, not the wall's, so that a busy machine does not make the figures look worse than they are.

import type { Pool } from '../src/api/pool.ts'
import { toPool } from '../src/api/to-pool.ts'
import { fromValue, type IP } from '../src/ip/address.ts'
import { orThrow } from '../src/ip/malformed.ts'
import { choose, type Wish } from '../src/ipam/choose.ts'
import { poolSetOf } from '../src/ipam/pool-set.ts'
import { type IndexedHold, SpaceIndex } from '../src/ipam/space-index.ts'

const fills = [0, 0.5, 0.99, 0.999]
const choices = 100_000
const claim = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'IPAddressClaim', namespace: 'default', name: 'c', uid: 'u' }
const wish: Wish = {
  claim,
  namespaceLabels: {},
  owner: undefined,
  settled: undefined,
  requested: undefined,
  random: 0,
}

function aPool(addresses: string, prefix: number, strategy: string): Pool {
  return orThrow(
    toPool({
      apiVersion: 'mooring.dev/v1alpha1',
      kind: 'ClusterAddressPool',
      metadata: { name: 'bench' },
      spec: { addresses: [addresses], prefix, strategy, allocateReservedIPAddresses: true },
    }),
  )
}

const holdOf = (pool: Pool, ip: IP): IndexedHold => ({
  ip,
  bits: pool.bits,
  pool: pool.identity,
  claim,
  owner: undefined,
  state: 'held',
  since: '',
})

/** Numbers in [0, 1) that repeat from run to run. */
function repeatable(): () => number {
  let state = 1
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** Fills evenly, so that free addresses lie scattered as after years of coming and going. */
function fill(pool: Pool, index: SpaceIndex, size: number, share: number): void {
  const first = pool.addresses.ranges[0]?.first ?? 0n
  const held = Math.floor(size * share)
  for (let i = 0; i < size; i++) {
    if (Math.floor(((i + 1) * held) / size) === Math.floor((i * held) / size)) continue
    index.put(holdOf(pool, fromValue(pool.family, first + BigInt(i))))
  }
}

const cpuNs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) * 1_000
}

/** One choice, its hold, and its release: the index is afterwards as it was before. */
function nsPerChoice(pool: Pool, index: SpaceIndex, count: number): number {
  const random = repeatable()
  const started = cpuNs()
  for (let i = 0; i < count; i++) {
    const choice = choose(pool, index, { ...wish, random: random() })
    if (choice.kind === 'refused') throw new Error(choice.message)
    index.put(holdOf(pool, choice.ip))
    index.remove(choice)
  }
  return (cpuNs() - started) / count
}

function choiceRows(): void {
  console.log('ns per choice, with its hold and its release')
  console.log(
    `${'addresses'.padEnd(12)}${'strategy'.padEnd(20)}${fills.map(share => `${share * 100} %`.padStart(9)).join('')}`,
  )
  for (const strategy of ['lowestFree', 'random', 'leastRecentlyUsed']) {
    for (const bits of [8, 12, 16, 20, 24]) {
      // The others differ from it in where they start to look, which a smaller pool shows as well.
      if (bits === 24 && strategy !== 'lowestFree') continue
      const pool = aPool(`10.0.0.0/${32 - bits}`, 32 - bits, strategy)
      const row = fills.map(share => {
        const index = new SpaceIndex()
        fill(pool, index, 2 ** bits, share)
        nsPerChoice(pool, index, 2_000)
        return nsPerChoice(pool, index, choices)
      })
      console.log(`${`2^${bits}`.padEnd(12)}${strategy.padEnd(20)}${row.map(ns => ns.toFixed(0).padStart(9)).join('')}`)
    }
    const pool = aPool('2001:db8::/48', 48, strategy)
    // A /48 cannot be filled; these are the first million addresses of it, to the same share.
    const row = fills.map(share => {
      const index = new SpaceIndex()
      fill(pool, index, 2 ** 20, share)
      nsPerChoice(pool, index, 2_000)
      return nsPerChoice(pool, index, choices)
    })
    console.log(`${'/48'.padEnd(12)}${strategy.padEnd(20)}${row.map(ns => ns.toFixed(0).padStart(9)).join('')}`)
  }
}

function fillRow(): void {
  const pool = aPool('10.0.0.0/8', 8, 'lowestFree')
  const index = new SpaceIndex()
  const started = cpuNs()
  let count = 0
  for (;;) {
    const choice = choose(pool, index, wish)
    if (choice.kind === 'refused') break
    index.put(holdOf(pool, choice.ip))
    count++
  }
  console.log(`\na /8 filled one by one: ${count} choices in ${((cpuNs() - started) / 1e9).toFixed(2)} s`)
}

function memoryRows(): void {
  console.log('memory per million holds')
  const million = 1_000_000
  const cases: readonly (readonly [string, Pool, (pool: Pool, index: SpaceIndex) => void])[] = [
    ['side by side, IPv4', aPool('10.0.0.0/8', 8, 'lowestFree'), takeMany(million)],
    ['scattered over a /8', aPool('10.0.0.0/8', 8, 'random'), takeMany(million)],
    ['side by side, IPv6', aPool('2001:db8::/48', 48, 'lowestFree'), takeMany(million)],
    ['scattered over a /64', aPool('2001:db8::/64', 64, 'random'), takeMany(million)],
  ]
  // All stay until the end: memory that is given back late must not be counted in favour of whoever comes next.
  const kept: SpaceIndex[] = []
  for (const [name, pool, run] of cases) {
    globalThis.gc?.()
    const before = memoryNow()
    const index = new SpaceIndex()
    kept.push(index)
    run(pool, index)
    globalThis.gc?.()
    const megabytes = (memoryNow() - before) / 1e6
    console.log(`${name.padEnd(24)}${megabytes.toFixed(1).padStart(9)} MB in ${index.chunks} chunks`)
  }
}

function takeMany(count: number) {
  return (pool: Pool, index: SpaceIndex): void => {
    const set = poolSetOf(pool)
    const random = repeatable()
    for (let i = 0; i < count; i++) {
      // Two draws make a number fine enough for a /64.
      const ip =
        pool.strategy === 'random' ? index.randomFree(set, random() + random() / 2 ** 32) : index.lowestFree(set)
      if (ip !== undefined) index.put(holdOf(pool, ip))
    }
  }
}

function memoryNow(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

memoryRows()
fillRow()
console.log('')
choiceRows()
