// One provider on a kube-apiserver of its own, and a bench that makes claims there and sees when each is bound. The server runs
// without request limits and without controllers, which would only take its processor away.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Cluster, startCluster } from '../scripts/real/cluster.ts'
import { connect } from '../scripts/real/connect.ts'
import { type Provider, startController } from '../scripts/real/controller.ts'
import { follow } from '../scripts/real/follow.ts'
import { installKinds, shippedDefinitions } from '../scripts/real/kinds.ts'
import { startReferenceIpam } from '../scripts/real/reference-ipam.ts'
import { claims, reports } from '../src/controllers/capi/kinds.ts'
import { holds, pools } from '../src/controllers/office/kinds.ts'
import type { Client } from '../src/kube/client.ts'
import type { Kind, KubeObject } from '../src/kube/object.ts'
import type { Wire } from '../src/kube/wire.ts'
import { readRow, type Sample, writeCopies } from './held.ts'

export const unlimited = [
  '--max-requests-inflight=0',
  '--max-mutating-requests-inflight=0',
  '--enable-priority-and-fairness=false',
]

export const namespace = 'default'
const poolKind = pools.find(({ kind }) => kind === 'InClusterIPPool') as Kind

export interface Side {
  readonly name: 'mooring' | 'reference'
  readonly client: Client
  readonly wire: Wire
  readonly cluster: Cluster
  readonly bound: Bound
  readonly provider: Provider | undefined
  /** `onSpawn` is given its process before it works. */
  startProvider(onSpawn?: (pid: number) => void): Promise<Provider>
  stopProvider(): Promise<void>
  close(): Promise<void>
}

export interface SideOptions {
  readonly name: Side['name']
  readonly dir: string
  readonly say: (line: string) => void
  /** For the node that runs Mooring. */
  readonly nodeArgs?: readonly string[]
}

export async function startSide({ name, dir: root, say, nodeArgs }: SideOptions): Promise<Side> {
  const dir = join(root, name)
  const cluster = await startCluster({ dir, apiserverArgs: unlimited, withControllers: false, say })
  const { client, wire, close } = connect(cluster.kubeconfig, 'bench')
  await installKinds(client, shippedDefinitions)
  const bound = await Bound.watch(client)
  let provider: Provider | undefined
  const side: Side = {
    name,
    client,
    wire,
    cluster,
    bound,
    get provider() {
      return provider
    },
    async startProvider(onSpawn) {
      const { kubeconfig } = cluster
      provider =
        name === 'mooring'
          ? await startController({
              kubeconfig,
              dir,
              args: ['--log-level=error'],
              onSpawn,
              ...(nodeArgs && { nodeArgs }),
            })
          : await startReferenceIpam({ kubeconfig, dir, say, onSpawn })
      return provider
    },
    async stopProvider() {
      await provider?.stop()
      provider = undefined
    },
    async close() {
      await side.stopProvider()
      bound.stop()
      await close()
      await cluster.stop()
    },
  }
  return side
}

/** When each claim was first seen with an address. */
class Bound {
  readonly #atMs = new Map<string, number>()
  readonly #waiting = new Map<string, () => void>()
  readonly #abort = new AbortController()

  static async watch(client: Client): Promise<Bound> {
    const bound = new Bound()
    await follow(client, claims, {
      signal: bound.#abort.signal,
      onChange: (object, isDeleted) => {
        if (!isDeleted) bound.#see(object)
      },
      onBroken: error => {
        console.error(error)
        process.exit(1)
      },
    })
    return bound
  }

  #see({ metadata, status }: KubeObject & { readonly status?: { readonly addressRef?: { readonly name?: string } } }) {
    const { name = '' } = metadata
    if (!status?.addressRef?.name || this.#atMs.has(name)) return
    this.#atMs.set(name, performance.now())
    this.#waiting.get(name)?.()
    this.#waiting.delete(name)
  }

  atMs(name: string): number | undefined {
    return this.#atMs.get(name)
  }

  /** False when it was not bound in time. */
  async wait(name: string, withinMs: number): Promise<boolean> {
    if (this.#atMs.has(name)) return true
    const isLate = delay(withinMs, true, { ref: false })
    const isBound = new Promise<boolean>(resolve => this.#waiting.set(name, () => resolve(false)))
    return !(await Promise.race([isBound, isLate]))
  }

  stop(): void {
    this.#abort.abort()
  }
}

export async function createPool({ client }: Side, name: string, addresses: string, prefix: number): Promise<void> {
  await client.create(poolKind, {
    apiVersion: `${poolKind.group}/${poolKind.versions[0]}`,
    kind: poolKind.kind,
    metadata: { name, namespace },
    spec: { addresses: [addresses], prefix },
  } as KubeObject)
}

export async function pausePool({ client }: Side, name: string, isPaused: boolean): Promise<void> {
  const annotations = { 'cluster.x-k8s.io/paused': isPaused ? '' : null }
  await client.mergePatch(poolKind, { name, namespace }, { metadata: { annotations } })
}

export async function createClaim({ client }: Side, name: string, pool: string): Promise<KubeObject> {
  return client.create(claims, {
    apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
    kind: 'IPAddressClaim',
    metadata: { name, namespace },
    spec: { poolRef: { apiGroup: poolKind.group, kind: poolKind.kind, name: pool } },
  } as KubeObject)
}

export interface Arrivals {
  readonly asked: number
  readonly bound: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Of the provider alone. */
  readonly cpuMsPerClaim: number
}

/** Claims made by 16 clients as fast as they can; each one's time runs from when it is asked for until it is seen bound. */
export async function arrivals(side: Side, names: readonly string[], pool: string, capMs: number): Promise<Arrivals> {
  const startedMs = performance.now()
  const cpu = stopwatchOfCpu(side)
  const askedMs = new Map<string, number>()
  await inParallel(names, 16, async name => {
    askedMs.set(name, performance.now())
    await createClaim(side, name, pool)
  })
  await allBound(side, names, capMs - (performance.now() - startedMs))
  return summary(side, names, name => askedMs.get(name) ?? startedMs, startedMs, cpu)
}

export async function allBound({ bound }: Side, names: readonly string[], capMs: number): Promise<void> {
  const deadlineMs = performance.now() + capMs
  for (const name of names) {
    const isBound = await bound.wait(name, Math.max(0, deadlineMs - performance.now()))
    if (!isBound) return
  }
}

export function summary(
  { bound }: Side,
  names: readonly string[],
  sinceMs: (name: string) => number,
  startedMs: number,
  cpuMs: () => number,
): Arrivals {
  const done = names.flatMap(name => {
    const atMs = bound.atMs(name)
    return atMs === undefined ? [] : [{ atMs, tookMs: atMs - sinceMs(name) }]
  })
  const lastMs = done.reduce((last, { atMs }) => Math.max(last, atMs), startedMs)
  const times = done.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b)
  return {
    asked: names.length,
    bound: done.length,
    perSecond: done.length / ((lastMs - startedMs) / 1000),
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
    cpuMsPerClaim: cpuMs() / Math.max(1, done.length),
  }
}

export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Processor time that the provider has used since. */
export function stopwatchOfCpu({ provider }: Side): () => number {
  const before = provider ? cpuMsOf(provider.pid) : 0
  return () => (provider ? cpuMsOf(provider.pid) - before : Number.NaN)
}

/** Processor time of all processes that take part: on a machine with few cores it is what all of them share. */
export class CpuOfAll {
  readonly #pids: ReadonlyMap<string, number>
  readonly #before: ReadonlyMap<string, number>

  constructor({ cluster, provider }: Side) {
    const pids = new Map(Object.entries({ ...cluster.pids, bench: process.pid }))
    if (provider !== undefined) pids.set('provider', provider.pid)
    this.#pids = pids
    this.#before = this.#now()
  }

  per(count: number): string {
    const now = this.#now()
    const used = [...now].map(([name, ms]) => `${name} ${((ms - (this.#before.get(name) ?? 0)) / count).toFixed(1)} ms`)
    return used.join(', ')
  }

  #now(): Map<string, number> {
    return new Map([...this.#pids].map(([name, pid]) => [name, cpuMsOf(pid)]))
  }
}

/** Requests that the API server has answered, by verb and resource, as it counts them itself. */
export async function requestsSoFar({ wire }: Pick<Side, 'wire'>): Promise<ReadonlyMap<string, number>> {
  const { signal } = new AbortController()
  const { body } = await wire({ method: 'GET', path: '/metrics', headers: {}, signal })
  const counts = new Map<string, number>()
  for (const line of typeof body === 'string' ? body.split('\n') : []) {
    if (!line.startsWith('apiserver_request_total{')) continue
    const label = (name: string): string => new RegExp(`[{,]${name}="([^"]*)"`).exec(line)?.[1] ?? ''
    const [verb, code, resource] = [label('verb'), label('code'), [label('resource'), label('subresource')]]
    if (verb === 'WATCH' || resource[0] === '') continue
    const what = `${verb} ${resource.filter(Boolean).join('/')}${code.startsWith('2') ? '' : ` ${code}`}`
    counts.set(what, (counts.get(what) ?? 0) + Number(line.slice(line.lastIndexOf(' ') + 1)))
  }
  return counts
}

/** Those that came often enough to matter, per claim. */
export function requestsPer(
  count: number,
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): string {
  return [...after]
    .map(([what, number]) => ({ what, per: (number - (before.get(what) ?? 0)) / count }))
    .filter(({ per }) => per >= 0.02)
    .map(({ what, per }) => `${what} ${per.toFixed(2)}`)
    .join(', ')
}

/** User and system, in ticks of 10 ms. */
export function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

export function memoryMiBOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
}

/** Adds as many held addresses as are missing, as copies of a claim that is bound. The provider must not run. */
export async function fillUp(side: Side, sampleName: string, from: number, count: number): Promise<void> {
  if (count <= 0) return
  const { client, cluster } = side
  const ref = { name: sampleName, namespace }
  const [claim, report] = await Promise.all([client.get(claims, ref), client.get(reports, ref)])
  const address = (report as { spec?: { address?: string } } | undefined)?.spec?.address
  const uid = claim?.metadata.uid
  if (address === undefined || uid === undefined) throw new Error(`${sampleName} is not bound`)
  const keys = [`/registry/${reports.group}/${reports.plural}/${namespace}/${sampleName}`]
  // The reference provider asks about every claim when it starts, twenty a second: only addresses are put beside it.
  if (side.name === 'mooring') {
    keys.unshift(`/registry/${claims.group}/${claims.plural}/${namespace}/${sampleName}`)
    const { items } = await client.list(holds, { labelSelector: `mooring.dev/claim-uid=${uid}` })
    const hold = items[0]?.metadata.name
    if (hold === undefined) throw new Error(`${sampleName} has no hold`)
    keys.unshift(`/registry/${holds.group}/${holds.plural}/${hold}`)
  }
  const rows = await Promise.all(keys.map(key => readRow(cluster.etcdURL, key)))
  const sample: Sample = { rows, claim: sampleName, claimUid: uid, address }
  const nameOf = (i: number): string => `held-${from + i}`
  await writeCopies(cluster.etcdURL, sample, count, nameOf, i => nthAddress(from + i))
  await caughtUp(client)
}

/** What is written behind its back the API server has yet to read: until then lists wait, or are refused. */
async function caughtUp(client: Client): Promise<void> {
  for (const kind of [claims, reports, holds]) {
    for (let quick = 0; quick < 3; ) {
      const startedMs = performance.now()
      const page = await client.listPage(kind, { limit: 1 }).catch(() => undefined)
      quick = page !== undefined && performance.now() - startedMs < 500 ? quick + 1 : 0
      await delay(100)
    }
  }
}

/** The pool of held addresses begins here; 262,142 of them. */
export const heldRange = '10.64.0.0/14'

/** The n-th that is given out of the range, from 0. */
export function nthAddress(n: number): string {
  const value = ((10 << 24) | (64 << 16)) + 1 + n
  return [24, 16, 8, 0].map(shift => (value >> shift) & 255).join('.')
}

export async function inParallel<T>(
  items: readonly T[],
  workers: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: workers }, async () => {
      while (next < items.length) await work(items[next++] as T)
    }),
  )
}
