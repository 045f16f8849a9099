// What a choice costs in the ledger's index, and what a hold costs in memory: `npm run bench:ledger`. Time is the process's
// own, not the wall's, and each ratio compares two figures of one run: a busy machine is busy for both.

import { type Pool, strategies } from '../src/api/pool.ts'
import { toPool } from '../src/api/to-pool.ts'
import { fromValue, type IP } from '../src/ip/address.ts'
import { choose, type Wish } from '../src/ipam/choose.ts'
import { poolSetOf } from '../src/ipam/pool-set.ts'
import { type IndexedHold, SpaceIndex } from '../src/ipam/space-index.ts'
import { orThrow } from '../test/harness/or-throw.ts'

const fills = [0, 0.5, 0.99, 0.999]
const choicesPerSeries = 500
const seriesCount = 50
const claim = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'IPAddressClaim', namespace: 'default', name: 'c', uid: 'u' }
const wish: Wish = {
  claim,
  namespaceLabels: {},
  owner: undefined,
  keptFor: [],
  requested: undefined,
  random: 0,
}

function aPool(addresses: readonly string[], prefix: number, strategy: string): Pool {
  return orThrow(
    toPool({
      apiVersion: 'mooring.dev/v1alpha1',
      kind: 'ClusterAddressPool',
      metadata: { name: 'bench' },
      spec: { addresses, prefix, strategy, allocateReservedIPAddresses: true },
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

/** Holds this share of the addresses, scattered as after years of coming and going. Goes on from any lower share. */
function fill(pool: Pool, index: SpaceIndex, size: number, share: number): void {
  const first = pool.addresses.ranges[0]?.first ?? 0n
  const held = Math.min(Math.floor(size * share), size - 1)
  for (let i = 0; i < size; i++) {
    // An odd factor visits every address once, and neighbours far apart.
    if ((Math.imul(i, 0x9e37_79b1) & (size - 1)) >= held) continue
    const ip = fromValue(pool.family, first + BigInt(i))
    if (index.stateOf({ ip, bits: pool.bits }) === 'free') index.put(holdOf(pool, ip))
  }
}

const cpuNs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) * 1_000
}

/** One choice, its hold and its release, so that the index is afterwards as it was before: the median of many series. */
function nsPerChoice(pool: Pool, index: SpaceIndex): number {
  const random = repeatable()
  const series = (): number => {
    const started = cpuNs()
    for (let i = 0; i < choicesPerSeries; i++) {
      const choice = choose(pool, index, { ...wish, random: random() })
      if (choice.kind === 'refused') throw new Error(choice.message)
      index.put(holdOf(pool, choice.ip))
      index.remove(choice)
    }
    return (cpuNs() - started) / choicesPerSeries
  }
  for (let i = 0; i < 5; i++) series()
  return medianOf(Array.from({ length: seriesCount }, series))
}

const medianOf = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

/** Figures, and behind each how it compares to the one of the first row. */
function table(
  title: string,
  columns: readonly string[],
  rows: readonly (readonly [string, readonly number[]])[],
): void {
  console.log(`${title.padEnd(34)}${columns.map(column => column.padStart(18)).join('')}`)
  for (const [name, figures] of rows) {
    const cells = figures.map((ns, i) => `${ns.toFixed(0)} (${(ns / (rows[0]?.[1][i] ?? ns)).toFixed(1)}x)`)
    console.log(`${name.padEnd(34)}${cells.map(cell => cell.padStart(18)).join('')}`)
  }
  console.log('')
}

function choiceTables(): void {
  const figures = new Map<string, (readonly [string, number[]])[]>(strategies.map(strategy => [strategy, []]))
  const sizes = [8, 12, 16, 20, 24].map(bits => ({ name: `2^${bits}`, cidr: `10.0.0.0/${32 - bits}`, size: 2 ** bits }))
  // A /48 cannot be filled; these are the first million addresses of it, to the same share.
  for (const { name, cidr, size } of [...sizes, { name: '/48', cidr: '2001:db8::/48', size: 2 ** 20 }]) {
    const index = new SpaceIndex()
    const pools = strategies.map(strategy => aPool([cidr], Number(cidr.split('/')[1]), strategy))
    for (const rows of figures.values()) rows.push([name, []])
    for (const share of fills) {
      for (const pool of pools) {
        fill(pool, index, size, share)
        figures.get(pool.strategy)?.at(-1)?.[1].push(nsPerChoice(pool, index))
      }
    }
  }
  for (const [strategy, rows] of figures) {
    table(
      `ns per choice, ${strategy}`,
      fills.map(share => `${share * 100} % held`),
      rows,
    )
  }
}

/** Pools that are full but for their last range. */
function rangesTable(): void {
  const rows = [1, 10, 100, 1_000, 10_000].map(count => {
    const ranges = Array.from({ length: count }, (_, i) => {
      const base = `10.${i >> 8}.${i & 255}`
      return `${base}.16-${base}.31`
    })
    const index = new SpaceIndex()
    const figures = strategies.map(strategy => {
      const pool = aPool(ranges, 8, strategy)
      for (const { first, last } of pool.addresses.ranges.slice(0, -1)) {
        for (let value = first; value <= last; value++) index.put(holdOf(pool, fromValue(4, value)))
      }
      return nsPerChoice(pool, index)
    })
    return [`${count} ranges`, figures] as const
  })
  table('ns per choice', strategies, rows)
}

/** Beside the plainest thing that remembers the same addresses, in turn, so that a busy machine is busy for both. */
function fillRow(): void {
  const pool = aPool(['10.0.0.0/8'], 8, 'lowestFree')
  const index = new SpaceIndex()
  const plain = new Set<number>()
  const seconds = { choices: 0, plain: 0 }
  for (let done = 0; done < 2 ** 24; done += 2 ** 20) {
    let started = cpuNs()
    for (let i = 0; i < 2 ** 20; i++) {
      const choice = choose(pool, index, wish)
      if (choice.kind === 'refused') throw new Error(choice.message)
      index.put(holdOf(pool, choice.ip))
    }
    seconds.choices += (cpuNs() - started) / 1e9
    started = cpuNs()
    for (let i = done; i < done + 2 ** 20; i++) plain.add(i)
    seconds.plain += (cpuNs() - started) / 1e9
  }
  const times = (seconds.choices / seconds.plain).toFixed(1)
  console.log(`\na /8 filled one by one: ${index.size} choices in ${seconds.choices.toFixed(2)} s`)
  console.log(
    `  ${times} times what adding as many numbers to a JavaScript Set takes (${seconds.plain.toFixed(2)} s)\n`,
  )
}

function memoryRows(): void {
  console.log('memory per million holds')
  const million = 1_000_000
  const cases: readonly (readonly [string, Pool, (pool: Pool, index: SpaceIndex) => void])[] = [
    ['side by side, IPv4', aPool(['10.0.0.0/8'], 8, 'lowestFree'), takeMany(million)],
    ['scattered over a /8', aPool(['10.0.0.0/8'], 8, 'random'), takeMany(million)],
    ['side by side, IPv6', aPool(['2001:db8::/48'], 48, 'lowestFree'), takeMany(million)],
    ['scattered over a /64', aPool(['2001:db8::/64'], 64, 'random'), takeMany(million)],
  ]
  // All stay until the end: memory that is given back late must not be counted in favour of the next one.
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
// Once for nothing: the first table is else one of a program that is still being compiled.
for (const strategy of strategies) nsPerChoice(aPool(['10.0.0.0/16', '10.2.0.0/16'], 8, strategy), new SpaceIndex())
choiceTables()
rangesTable()
