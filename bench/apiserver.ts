// The embedded server beside a real kube-apiserver with etcd, on one machine in one run: the same client does the same
// work on both, task by task in turn, so a busy machine slows both alike. Writes are durable on both sides; the real
// one runs without its request limits and without controllers, which would only take its processor away.
// Run alone: node --import tsx bench/apiserver.ts [--objects=N]

import { setMaxListeners } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Agent, type Dispatcher, request } from 'undici'
import { kubernetesVersion } from '../scripts/real/binaries.ts'
import { type Cluster, startCluster } from '../scripts/real/cluster.ts'
import { type Embedded, startEmbedded } from '../scripts/real/embedded.ts'
import { readKubeconfig } from '../scripts/real/kubeconfig.ts'

export interface Comparison {
  readonly task: string
  readonly unit: string
  readonly embedded: number
  readonly real: number
  /** How many times as good the embedded server is. */
  readonly ratio: number
}

export interface BenchOptions {
  /** How many objects there are when memory and start-up are measured. */
  readonly objects: number
  readonly report: (comparison: Comparison) => void
  readonly say: (line: string) => void
}

const unlimited = [
  '--max-requests-inflight=0',
  '--max-mutating-requests-inflight=0',
  '--enable-priority-and-fairness=false',
]
const group = 'bench.example.com'
const version = `/apis/${group}/v1`
const rounds = 3
const watchers = 1_000

interface Side {
  readonly name: string
  readonly client: BenchClient
}

export async function benchAPIServer(options: BenchOptions): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'mooring-bench-'))
  const dirs = { embedded: join(root, 'embedded'), real: join(root, 'real') }
  const startReal = (): Promise<Cluster> =>
    startCluster({ dir: dirs.real, apiserverArgs: unlimited, withControllers: false, say: options.say })
  const startOurs = (): Promise<Embedded> => startEmbedded({ dir: dirs.embedded, args: ['--desks=none'] })
  let real: Cluster | undefined
  let embedded: Embedded | undefined
  try {
    real = await startReal()
    embedded = await startOurs()
    const sides = [
      { name: 'embedded', client: new BenchClient(embedded.kubeconfig) },
      { name: 'real', client: new BenchClient(real.kubeconfig) },
    ] as const
    const both = async (
      task: string,
      unit: string,
      better: 'more' | 'less',
      measure: (side: Side) => Promise<number>,
    ) => {
      const figures: number[] = []
      for (const side of sides) {
        options.say(`${task}: ${side.name}`)
        figures.push(await measure(side))
      }
      options.report(compare(task, unit, better, figures[0] ?? 0, figures[1] ?? 0))
    }

    for (const { client } of sides) await define(client)
    for (const clients of [1, 16, 64]) {
      const count = clients === 1 ? 500 : 3_000
      await both(
        `durable creates by ${clients} ${clients === 1 ? 'client' : 'clients'}`,
        'per second',
        'more',
        ({ client }) => medianOf(rounds, round => createRate(client, `c${clients}-${round}`, clients, count)),
      )
    }
    await both('list of 10,000 objects', 'ms', 'less', async ({ client }) => {
      await createMany(client, 'list', 64, 10_000)
      return medianOf(rounds, () => listTime(client, 'list', 10_000))
    })
    await both('changes delivered to 10 watches', 'per second', 'more', ({ client }) => watchRate(client, 10, 3_000))
    await both(`one write to ${watchers.toLocaleString('en')} watches`, 'ms', 'less', ({ client }) =>
      fanOutTime(client),
    )

    const filled = options.objects.toLocaleString('en')
    for (const { name, client } of sides) {
      options.say(`filling ${name} with ${filled} objects`)
      await createMany(client, 'fill', 64, options.objects)
    }
    options.report(
      compare(
        `memory with ${filled} objects`,
        'MiB',
        'less',
        residentMiB([embedded.pid]),
        residentMiB(Object.values(real.pids)),
      ),
    )
    for (const { client } of sides) await client.close()
    await embedded.stop()
    await real.stop()
    // Each starts alone: start-up is bound by the processor.
    embedded = await startOurs()
    const embeddedStart = embedded.readyAfterMs
    await embedded.stop()
    real = await startReal()
    options.report(compare(`ready again with ${filled} objects`, 'ms', 'less', embeddedStart, real.readyAfterMs))
  } finally {
    await embedded?.stop()
    await real?.stop()
    rmSync(root, { recursive: true, force: true })
  }
}

/** HTTP/1.1 with keep-alive, one connection per concurrent request, bodies read and dropped. */
class BenchClient {
  readonly #server: string
  readonly #headers: Record<string, string>
  readonly #dispatcher: Dispatcher

  constructor(kubeconfig: string) {
    const { server, token, ca, cert, key } = readKubeconfig(kubeconfig)
    this.#server = server
    this.#headers = token ? { authorization: `Bearer ${token}` } : {}
    this.#dispatcher = new Agent({
      connect: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }), timeout: 60_000 },
      headersTimeout: 120_000,
      bodyTimeout: 0,
    })
  }

  async create(path: string, body: string): Promise<void> {
    const answer = await request(this.#server + path, {
      method: 'POST',
      headers: { ...this.#headers, 'content-type': 'application/json' },
      body,
      dispatcher: this.#dispatcher,
    })
    const text = await answer.body.text()
    if (answer.statusCode !== 201) throw new Error(`expected 201, got ${answer.statusCode}: ${text}`)
  }

  async get(path: string): Promise<{ code: number; text: string }> {
    const answer = await request(this.#server + path, { headers: this.#headers, dispatcher: this.#dispatcher })
    return { code: answer.statusCode, text: await answer.body.text() }
  }

  /** Calls `seen` for every event until aborted. */
  async watch(path: string, seen: () => void, signal: AbortSignal): Promise<void> {
    const answer = await request(`${this.#server}${path}`, {
      headers: this.#headers,
      dispatcher: this.#dispatcher,
      signal,
    })
    if (answer.statusCode !== 200) throw new Error(`watch: ${answer.statusCode} ${await answer.body.text()}`)
    answer.body.on('data', (chunk: Buffer) => {
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) seen()
    })
    answer.body.on('error', () => {})
  }

  close(): Promise<void> {
    return this.#dispatcher.destroy()
  }
}

async function define(client: BenchClient): Promise<void> {
  const schema = {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: { pool: { type: 'string' }, address: { type: 'string' }, prefix: { type: 'integer' } },
      },
    },
  }
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `leases.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'leases', kind: 'Lease' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  }
  await client.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', JSON.stringify(definition))
  while ((await client.get(`${version}/leases`)).code !== 200) await delay(50)
  for (const name of ['list', 'fill', 'watch', 'fan-out']) await createNamespace(client, name)
}

function createNamespace(client: BenchClient, name: string): Promise<void> {
  return client.create(
    '/api/v1/namespaces',
    JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }),
  )
}

const collection = (ns: string): string => `${version}/namespaces/${ns}/leases`

function lease(name: string, i: number): string {
  const spec = { pool: 'pool-a', address: `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`, prefix: 24 }
  return JSON.stringify({ apiVersion: `${group}/v1`, kind: 'Lease', metadata: { name, labels: { pool: 'a' } }, spec })
}

async function createMany(client: BenchClient, ns: string, clients: number, count: number, from = 0): Promise<void> {
  let next = from
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (next < from + count) {
        const i = next++
        await client.create(collection(ns), lease(`lease-${i}`, i))
      }
    }),
  )
}

async function createRate(client: BenchClient, ns: string, clients: number, count: number): Promise<number> {
  await createNamespace(client, ns)
  // Connections are opened before the clock starts.
  await createMany(client, ns, clients, clients)
  const started = performance.now()
  await createMany(client, ns, clients, count, clients)
  return count / ((performance.now() - started) / 1000)
}

async function listTime(client: BenchClient, ns: string, count: number): Promise<number> {
  const started = performance.now()
  const { text } = await client.get(collection(ns))
  const ms = performance.now() - started
  const { items } = JSON.parse(text) as { items: unknown[] }
  if (items.length !== count) throw new Error(`listed ${items.length} of ${count}`)
  return ms
}

async function watchRate(client: BenchClient, count: number, writes: number): Promise<number> {
  const stop = new AbortController()
  setMaxListeners(0, stop.signal)
  let delivered = 0
  const all = deferred()
  const seen = (): void => {
    delivered++
    if (delivered === count * writes) all.resolve()
  }
  const path = `${collection('watch')}?watch=true`
  await Promise.all(Array.from({ length: count }, () => client.watch(path, seen, stop.signal)))
  const started = performance.now()
  await createMany(client, 'watch', 64, writes)
  await all.promise
  const rate = (count * writes) / ((performance.now() - started) / 1000)
  stop.abort()
  return rate
}

async function fanOutTime(client: BenchClient): Promise<number> {
  const stop = new AbortController()
  setMaxListeners(0, stop.signal)
  let delivered = 0
  let all = deferred()
  const seen = (): void => {
    delivered++
    if (delivered === watchers) all.resolve()
  }
  const path = `${collection('fan-out')}?watch=true`
  for (let opened = 0; opened < watchers; opened += 50) {
    await Promise.all(Array.from({ length: 50 }, () => client.watch(path, seen, stop.signal)))
  }
  const time = await medianOf(10, async i => {
    delivered = 0
    all = deferred()
    const started = performance.now()
    await client.create(collection('fan-out'), lease(`lease-${i}`, i))
    await all.promise
    return performance.now() - started
  })
  stop.abort()
  return time
}

interface Deferred {
  readonly promise: Promise<void>
  resolve(): void
}

function deferred(): Deferred {
  let resolve: () => void = () => {}
  const promise = new Promise<void>(done => {
    resolve = done
  })
  return { promise, resolve: () => resolve() }
}

async function medianOf(times: number, measure: (round: number) => Promise<number>): Promise<number> {
  const figures: number[] = []
  for (let round = 0; round < times; round++) figures.push(await measure(round))
  return figures.toSorted((a, b) => a - b)[times >> 1] ?? 0
}

function residentMiB(pids: readonly number[]): number {
  const kib = pids.map(pid =>
    Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0),
  )
  return kib.reduce((sum, one) => sum + one, 0) / 1024
}

function compare(task: string, unit: string, better: 'more' | 'less', embedded: number, real: number): Comparison {
  return { task, unit, embedded, real, ratio: better === 'more' ? embedded / real : real / embedded }
}

export function toMarkdown(rows: readonly Comparison[]): string {
  const figure = (value: number): string => (value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(1))
  const lines = rows.map(
    row => `| ${row.task} | ${row.unit} | ${figure(row.embedded)} | ${figure(row.real)} | ${row.ratio.toFixed(1)}x |`,
  )
  return [
    `| task | unit | embedded | kube-apiserver ${kubernetesVersion} + etcd | the embedded is better |`,
    '|---|---|---|---|---|',
    ...lines,
  ].join('\n')
}

export function toLine({ task, unit, embedded, real, ratio }: Comparison): string {
  const figures = `${embedded.toFixed(1).padStart(10)} ${real.toFixed(1).padStart(10)} ${unit.padEnd(10)}`
  return `${task.padEnd(36)} ${figures} ${ratio.toFixed(2)}x`
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({ options: { objects: { type: 'string', default: '100000' } } })
  await benchAPIServer({
    objects: Number(values.objects),
    report: comparison => console.log(toLine(comparison)),
    say: line => console.error(line),
  })
}
