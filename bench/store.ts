// How fast the store is on this machine: durable writes by number of writers, opening, memory, fan-out.
//
//   node --import tsx bench/store.ts

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openStore } from '../src/store/lmdb.ts'
import type { Store } from '../src/store/store.ts'
import { memoryStore } from '../test/harness/memory-store.ts'

export interface Measure {
  readonly name: string
  readonly value: number
  readonly unit: string
}

const value = Buffer.alloc(1024, 'v')
const records = 100_000

export async function benchStore(report: (measure: Measure) => void): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'mooring-bench-'))
  try {
    for (const writers of [1, 16, 64, 512]) await benchWrites(join(root, `writers-${writers}`), writers, report)
    await benchOpen(join(root, 'open'), report)
    await benchFanOut(report)
  } finally {
    await rm(root, { recursive: true })
  }
}

async function benchWrites(dir: string, writers: number, report: (measure: Measure) => void): Promise<void> {
  const store = await openStore(dir)
  const perWriter = Math.ceil((writers === 1 ? 2_000 : 30_000) / writers)
  const startedMs = performance.now()
  await Promise.all(Array.from({ length: writers }, (_, writer) => writeMany(store, `/w${writer}/`, perWriter)))
  const seconds = (performance.now() - startedMs) / 1_000
  report({ name: `durable writes, ${writers} writers`, value: (writers * perWriter) / seconds, unit: 'per second' })
  await store.close()
}

async function writeMany(store: Store, prefix: string, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) await store.create(prefix + at, () => value)
}

async function benchOpen(dir: string, report: (measure: Measure) => void): Promise<void> {
  const before = await openStore(dir)
  const prefix = '/registry/ipam.example/addresses/namespace/'
  await Promise.all(Array.from({ length: 500 }, (_, at) => writeMany(before, `${prefix}${at}-`, records / 500)))
  await before.close()

  collectGarbage()
  const emptyBytes = usedBytes()
  const startedMs = performance.now()
  const store = await openStore(dir)
  report({ name: `opening with ${records} records`, value: performance.now() - startedMs, unit: 'ms' })
  collectGarbage()
  report({
    name: 'memory beside the values',
    value: (usedBytes() - emptyBytes) / records - 1024,
    unit: 'bytes per record',
  })

  const gets = 200_000
  const getsMs = performance.now()
  for (let at = 0; at < gets; at += 1) store.get(`${prefix}${at % 500}-${at % 200}`)
  report({ name: 'gets', value: gets / ((performance.now() - getsMs) / 1_000), unit: 'per second' })

  const pageMs = performance.now()
  for (let page = 0; page < 1_000; page += 1) store.list(prefix, { limit: 500, after: `${prefix}${page % 500}-` })
  report({ name: 'a page of 500', value: performance.now() - pageMs, unit: 'µs' })
  await store.close()
}

async function benchFanOut(report: (measure: Measure) => void): Promise<void> {
  const store = memoryStore()
  let delivered = 0
  for (let at = 0; at < 10_000; at += 1) store.watch(`/namespace-${at}/`, 0, () => delivered++)
  for (let at = 0; at < 100; at += 1) store.watch('/', 0, () => delivered++)
  const startedMs = performance.now()
  const count = 20_000
  await Promise.all(
    Array.from({ length: count }, (_, at) => store.create(`/namespace-${at % 10_000}/${at}`, () => value)),
  )
  const seconds = (performance.now() - startedMs) / 1_000
  report({ name: 'writes in memory under 10100 watchers', value: count / seconds, unit: 'per second' })
  report({ name: 'changes delivered', value: delivered / seconds, unit: 'per second' })
  await store.close()
}

function collectGarbage(): void {
  // Present when Node was started with --expose-gc; without it the memory figure is only a rough upper bound.
  for (let times = 0; times < 3; times += 1) globalThis.gc?.()
}

function usedBytes(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await benchStore(({ name, value: figure, unit }) => {
    process.stdout.write(`${name.padEnd(44)} ${figure.toFixed(0).padStart(12)} ${unit}\n`)
  })
}
