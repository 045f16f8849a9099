// `npm run bench:vms [-- --only=PARTS] [--few=N] [--many=N,N] [--claims=N] [--write]`: virtual machines on `mooring up`, with the
// playground in place of KubeVirt and of nodes. Every figure that is compared comes from one run.
//
// Parts: start (many machines at once, and few of them), steady (authors who each wait for their machine before they ask for the
// next), webhook (what it adds to the creation of a pod), restart (a start with
// many claims, beside the time that it takes to list them).

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { connect } from '../scripts/real/connect.ts'
import { type Embedded, startEmbedded } from '../scripts/real/embedded.ts'
import { follow } from '../scripts/real/follow.ts'
import { attachments, holds, namespaces } from '../src/controllers/office/kinds.ts'
import { ipamClaims, pods, virtualMachines } from '../src/controllers/vm/kinds.ts'
import { ApiError } from '../src/kube/api-error.ts'
import type { Client } from '../src/kube/client.ts'
import type { Kind, KubeObject } from '../src/kube/object.ts'
import { cpuMsOf, inParallel, quantile } from './claims-side.ts'
import { writeCopies } from './copies.ts'
import { machine, writeSections } from './page.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'start,steady,webhook,restart' },
    few: { type: 'string', default: '500' },
    many: { type: 'string', default: '2000,5000' },
    claims: { type: 'string', default: '50000' },
    write: { type: 'boolean', default: false },
  },
})
const parts = new Set(values.only.split(','))
const clients = 16
const say = (line: string): void => console.error(line)
const toText = (count: number): string => count.toLocaleString('en')

interface Row {
  readonly what: string
  readonly figure: string
}

const rows: Row[] = []
function report(what: string, figure: string): void {
  rows.push({ what, figure })
  console.log(`${what.padEnd(64)} ${figure}`)
}

/** Seen of every object of a kind: when it first was as it should be, or in each of several states. */
class Sightings {
  readonly #atMs = new Map<string, number>()
  readonly #abort = new AbortController()
  readonly #onSeen = new Set<(key: string) => void>()

  static async of(
    client: Client,
    kind: Kind,
    keysOf: (object: KubeObject) => readonly (string | undefined)[],
  ): Promise<Sightings> {
    const sightings = new Sightings()
    await follow(client, kind, {
      signal: sightings.#abort.signal,
      onChange: (object, isDeleted) => {
        for (const key of isDeleted ? [] : keysOf(object)) {
          if (key === undefined || sightings.#atMs.has(key)) continue
          sightings.#atMs.set(key, performance.now())
          for (const onSeen of sightings.#onSeen) onSeen(key)
        }
      },
      onBroken: error => {
        console.error(error)
        process.exit(1)
      },
    })
    return sightings
  }

  atMs(key: string): number {
    return this.#atMs.get(key) ?? Number.NaN
  }

  all(keys: readonly string[]): Promise<void> {
    const left = new Set(keys.filter(key => !this.#atMs.has(key)))
    return new Promise(resolve => {
      if (left.size === 0) return resolve()
      const onSeen = (key: string): void => {
        left.delete(key)
        if (left.size > 0) return
        this.#onSeen.delete(onSeen)
        resolve()
      }
      this.#onSeen.add(onSeen)
    })
  }

  one(key: string): Promise<void> {
    return this.all([key])
  }

  stop(): void {
    this.#abort.abort()
  }
}

const objectOf = (kind: Kind, metadata: object, more: object): KubeObject =>
  ({ apiVersion: `${kind.group}/${kind.versions[0]}`, kind: kind.kind, metadata, ...more }) as KubeObject

const network = (name: string, namespace: string): KubeObject =>
  objectOf(
    attachments,
    { name, namespace },
    {
      spec: {
        config: JSON.stringify({
          cniVersion: '1.1.0',
          name,
          type: 'ovn-k8s-cni-overlay',
          topology: 'layer2',
          subnets: '10.0.0.0/12,fd00:10::/64',
          allowPersistentIPs: true,
        }),
      },
    },
  )

const vm = (name: string, namespace: string, networkName: string): KubeObject =>
  objectOf(
    virtualMachines,
    { name, namespace },
    {
      spec: {
        runStrategy: 'Always',
        template: {
          spec: {
            domain: { devices: { interfaces: [{ name: 'net1', bridge: {} }] } },
            networks: [{ name: 'net1', multus: { networkName } }],
          },
        },
      },
    },
  )

/** A server with too much to do asks to come again later; the time that passes counts. */
async function patiently(write: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await write()
      return
    } catch (error) {
      if (!(error instanceof ApiError) || error.retryAfterMs === undefined) throw error
      await delay(error.retryAfterMs)
    }
  }
}

async function makeNamespace(client: Client, name: string): Promise<void> {
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } } as KubeObject)
}

/** From when its author asks for the machine until its pod runs with its addresses. */
async function measureStart(server: Embedded, count: number, namespace = `start-${count}`): Promise<number> {
  const { client, close } = connect(server.kubeconfig, 'bench')
  await makeNamespace(client, namespace)
  await client.create(attachments, network(namespace, namespace))
  const seen = await podsIn(client, namespace)
  const names = Array.from({ length: count }, (_, i) => `vm-${i}`)
  const askedMs = new Map<string, number>()
  say(`${toText(count)} machines at once`)
  const cpuBefore = cpuMsOf(server.pid)
  const startedMs = performance.now()
  await inParallel(names, clients, async name => {
    askedMs.set(name, performance.now())
    await patiently(() => client.create(virtualMachines, vm(name, namespace, namespace)))
  })
  const createdMs = performance.now() - startedMs
  await seen.all(names.map(running))
  const wholeMs = performance.now() - startedMs
  const cpuMs = (cpuMsOf(server.pid) - cpuBefore) / count
  seen.stop()
  await mustBeDistinct(client, namespace, count)
  report(`${toText(count)} machines at once: all asked for after`, `${(createdMs / 1000).toFixed(1)} s`)
  report(`${toText(count)} machines at once: every pod served after`, `${(wholeMs / 1000).toFixed(1)} s`)
  const spans: Record<string, (name: string) => number> = {
    'asked for until served': name => seen.atMs(running(name)) - (askedMs.get(name) ?? 0),
    'its pod created until it has its addresses': name => seen.atMs(told(name)) - seen.atMs(made(name)),
  }
  for (const [what, tookMs] of Object.entries(spans)) {
    const sorted = names.map(tookMs).toSorted((a, b) => a - b)
    for (const share of [0.5, 0.99]) {
      const figure = `${(quantile(sorted, share) / 1000).toFixed(2)} s`
      report(`${toText(count)} machines at once: ${what}, p${share * 100}`, figure)
    }
  }
  report(`${toText(count)} machines at once: the whole process`, `${cpuMs.toFixed(1)} CPU ms per machine`)
  await close()
  return cpuMs
}

/** Each author waits until the machine runs: what one of them waits for, and no queue that the burst of others made. */
async function measureSteady(server: Embedded): Promise<void> {
  const { client, close } = connect(server.kubeconfig, 'bench')
  const namespace = 'steady'
  await makeNamespace(client, namespace)
  await client.create(attachments, network(namespace, namespace))
  const seen = await podsIn(client, namespace)
  // What the machines before it left to do is done by the time it runs.
  await client.create(virtualMachines, vm('first', namespace, namespace))
  await seen.one(running('first'))
  for (const authors of [1, 16]) {
    const names = Array.from({ length: authors === 1 ? 100 : 30 * authors }, (_, i) => `vm-${authors}-${i}`)
    const tookMs: number[] = []
    await inParallel(names, authors, async name => {
      const askedMs = performance.now()
      await patiently(() => client.create(virtualMachines, vm(name, namespace, namespace)))
      await seen.one(running(name))
      tookMs.push(seen.atMs(running(name)) - askedMs)
    })
    tookMs.sort((a, b) => a - b)
    const [p50, p99] = [0.5, 0.99].map(share => `${(quantile(tookMs, share) / 1000).toFixed(2)} s`)
    const who = authors === 1 ? 'one author who waits' : `${authors} authors who each wait`
    report(`${who} for each machine: asked for until served, p50 and p99`, `${p50}, ${p99}`)
  }
  seen.stop()
  await close()
}

/** The pod of a machine exists; its annotation has its addresses; it runs with them. */
const [made, told, running] = ['made', 'told', 'running'].map(state => (machine: string) => `${machine} ${state}`) as [
  (machine: string) => string,
  (machine: string) => string,
  (machine: string) => string,
]

/** By one watch, so that no state is seen later than another for being read elsewhere. */
function podsIn(client: Client, namespace: string): Promise<Sightings> {
  return Sightings.of(client, pods, object => {
    const { metadata, status } = object as KubeObject & { status?: { phase?: string } }
    const machine = metadata.annotations?.['kubevirt.io/domain']
    if (metadata.namespace !== namespace || machine === undefined) return []
    const isTold = metadata.annotations?.['k8s.ovn.org/pod-networks'] !== undefined
    const runs = isTold && status?.phase === 'Running'
    return [made(machine), isTold ? told(machine) : undefined, runs ? running(machine) : undefined]
  })
}

async function mustBeDistinct(client: Client, space: string, count: number): Promise<void> {
  const { items } = await client.list(holds)
  const held = items.filter(item => (item as { spec?: { space?: string } }).spec?.space === space)
  if (held.length !== 2 * count) throw new Error(`${held.length} holds for ${count} machines of two families`)
}

/** Pods with the label of KubeVirt, which the webhook is asked about, and pods without it, by turns. */
async function measureWebhook(server: Embedded): Promise<void> {
  const { client, close } = connect(server.kubeconfig, 'bench')
  const namespace = 'webhook'
  await makeNamespace(client, namespace)
  await client.create(attachments, network(namespace, namespace))
  await client.create(virtualMachines, vm('vm', namespace, namespace))
  const seen = await podsIn(client, namespace)
  await seen.one(made('vm'))
  seen.stop()
  const pod = (name: string, labels: object): KubeObject =>
    ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name,
        namespace,
        labels,
        annotations: {
          'kubevirt.io/domain': 'vm',
          'k8s.v1.cni.cncf.io/networks': JSON.stringify([{ name: namespace, namespace, interface: 'pod6c270ef2f25' }]),
        },
      },
      // No node: it is not told anything, and is only stored.
      spec: { schedulerName: 'none', containers: [{ name: 'compute', image: 'launcher' }] },
    }) as KubeObject
  const tookMs: Record<'asked' | 'unasked', number[]> = { asked: [], unasked: [] }
  for (let i = 0; i < 1_000; i++) {
    for (const which of ['asked', 'unasked'] as const) {
      const labels = which === 'asked' ? { 'kubevirt.io': 'virt-launcher' } : { app: 'other' }
      const startedMs = performance.now()
      await client.create(pods, pod(`${which}-${i}`, labels))
      if (i >= 100) tookMs[which].push(performance.now() - startedMs)
    }
  }
  for (const share of [0.5, 0.99]) {
    const [asked, unasked] = [tookMs.asked, tookMs.unasked].map(list =>
      quantile(
        list.toSorted((a, b) => a - b),
        share,
      ),
    )
    report(
      `a pod is created, p${share * 100}, with the webhook asked and without`,
      `${asked?.toFixed(1)} ms, ${unasked?.toFixed(1)} ms: ${((asked ?? 0) - (unasked ?? 0)).toFixed(1)} ms more`,
    )
  }
  await close()
}

/** Wall time says little on a machine that has other work: beside it is the processor time of the whole process. */
async function measureRestart(dir: string, count: number): Promise<void> {
  const args = ['--log-level=error']
  const first = await startEmbedded({ dir, args })
  const { client, close } = connect(first.kubeconfig, 'bench')
  const namespace = 'restart'
  const name = 'sample-of-what-is-bound'
  await makeNamespace(client, namespace)
  await client.create(attachments, network(namespace, namespace))
  let ips: readonly string[] = []
  const bound = await Sightings.of(client, ipamClaims, object => {
    const { metadata, status } = object as KubeObject & { status?: { ips?: string[] } }
    ips = status?.ips ?? ips
    return ips.length > 0 ? [metadata.name] : []
  })
  const spec = { network: namespace, interface: '' }
  await client.create(ipamClaims, objectOf(ipamClaims, { name, namespace }, { spec }))
  await bound.one(name)
  bound.stop()
  await close()
  await first.stop()
  say(`${toText(count)} claims`)
  await writeCopies(dir, { name, space: namespace, ips }, count - 1)
  const alone = await startEmbedded({ dir, args: ['--desks=none', '--playground=none', ...args] })
  const aloneMs = cpuMsOf(alone.pid)
  const reader = connect(alone.kubeconfig, 'bench')
  const before = process.cpuUsage()
  const listedMs = performance.now()
  for (const kind of [ipamClaims, holds]) await readList(reader.client, kind)
  const listMs = performance.now() - listedMs
  const { user, system } = process.cpuUsage(before)
  const serverMs = cpuMsOf(alone.pid) - aloneMs
  await reader.close()
  await alone.stop()
  const second = await startEmbedded({ dir, args })
  const secondMs = cpuMsOf(second.pid)
  await second.stop()
  const figure = (wallMs: number, cpuMs: number) =>
    `${(wallMs / 1000).toFixed(1)} s, ${(cpuMs / 1000).toFixed(1)} CPU s`
  const many = toText(count)
  report(`a start with ${many} claims, until it is ready`, figure(second.readyAfterMs, secondMs))
  report('the API server alone, on the same data', figure(alone.readyAfterMs, aloneMs))
  const listCpuMs = serverMs + (user + system) / 1000
  report('the lists of its claims and holds, server and client', figure(listMs, listCpuMs))
  report('that start over both', `${(secondMs / (aloneMs + listCpuMs)).toFixed(2)} of the CPU s`)
}

/** Page by page, as a reflector reads it, and nothing of it is kept. */
async function readList(client: Client, kind: Kind): Promise<void> {
  for (let continueAt: string | undefined, isFirst = true; isFirst || continueAt !== undefined; isFirst = false) {
    ;({ continueAt } = await client.listPage(kind, { limit: 500, ...(continueAt !== undefined && { continueAt }) }))
  }
}

const root = mkdtempSync(join(tmpdir(), 'mooring-bench-vms-'))
try {
  if (['start', 'steady', 'webhook'].some(part => parts.has(part))) {
    const server = await startEmbedded({ dir: join(root, 'start'), args: ['--log-level=error'] })
    try {
      if (parts.has('start')) {
        // Once before it counts: a program that has just started is slower.
        await measureStart(server, 100, 'warm')
        const few = await measureStart(server, Number(values.few))
        for (const many of values.many.split(',').map(Number)) {
          const ratio = `${((await measureStart(server, many)) / few).toFixed(2)} (goal 1.2)`
          report(`cost per machine at ${toText(many)} over that at ${toText(Number(values.few))}`, ratio)
        }
      }
      if (parts.has('steady')) await measureSteady(server)
      if (parts.has('webhook')) await measureWebhook(server)
    } finally {
      await server.stop()
    }
  }
  if (parts.has('restart')) await measureRestart(join(root, 'restart'), Number(values.claims))
  const table = ['| what | figure |', '|---|---|', ...rows.map(({ what, figure }) => `| ${what} | ${figure} |`)].join(
    '\n',
  )
  if (values.write) {
    writeSections(`## Virtual machines

By \`npm run bench:vms -- --write\` on ${machine()}.
\`mooring up\` with the playground, stand-ins for KubeVirt and for nodes, in the same process: their work is in the figures. Each machine
has one interface on a network of both families. ${clients} clients ask.

${clients} clients ask faster than one process serves. While the controllers are busy, the API server lets a creation wait, so clients
ask at the speed at which they are served. What one author waits for without a burst is in the rows of authors who wait. The first 100 machines, right after
the start of the process, only warm it up. A difference of two p99 is noise to some milliseconds.

${table}`)
  }
} finally {
  rmSync(root, { recursive: true, force: true })
}
process.exit()
