// `npm run bench:cni [-- --held=0,1000,10000] [--calls=N] [--write]`: what an ADD and a DEL of the IPAM plugin take, beside `host-local` of
// Debian and `whereabouts`, in one run on one real kube-apiserver, by 1 and by 16 callers, with so many addresses held already. A call is
// a process, started as a container runtime starts it; its time is from start to end. Figures to compare are ratios of one run.
//
//   mooring, bound claim   the pod names a claim that has its addresses, and was seen by its node: what a virtual machine brings
//   mooring, new address   the pod was made this very moment; its ADD makes the claim, and waits until the controller has bound it
//   mooring, pod known     the same, a tenth of a second after the pod was made: a node prepares a pod when it sees it, while its kubelet
//                          mounts volumes and makes the sandbox, which come before an ADD. Other plugins hear of a pod by the ADD
//
// What is held already is put there before: of Mooring, copies of a bound claim and its hold, written while the controller is away, which
// then reads them and has come to rest before the next call; of whereabouts, which keeps a range in one object, allocations in it.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { parseAllDocuments } from 'yaml'
import { buildForwarder } from '../scripts/image/forwarder.ts'
import { binary, moduleDirectory, skippedExitCode, Unavailable } from '../scripts/real/binaries.ts'
import { startCluster } from '../scripts/real/cluster.ts'
import { connect } from '../scripts/real/connect.ts'
import { startController } from '../scripts/real/controller.ts'
import { needDebian } from '../scripts/real/debian.ts'
import { installKinds, shippedDefinitions } from '../scripts/real/kinds.ts'
import { nodeLabel } from '../src/api/names.ts'
import { claimUidLabel } from '../src/controllers/office/hold/steps.ts'
import { attachments, holds, ipamClaims, namespaces, pods } from '../src/controllers/office/kinds.ts'
import type { Client } from '../src/kube/client.ts'
import { defineKind, type KubeObject, refOf } from '../src/kube/object.ts'
import { Processes } from '../test/capi/processes.ts'
import { until } from '../test/capi/until.ts'
import { accountOf, installAccount } from '../test/cni/account.ts'
import { argsOf, Node, pluginDirectory } from '../test/cni/nodes.ts'
import { Agent, home, type Stored, untilPodsMayCome } from '../test/cni/world.ts'
import { run } from '../test/install/run.ts'
import { inParallel, memoryMiBOf, quantile, unlimited } from './claims-side.ts'
import { readRow, writeCopies } from './held.ts'
import { machine, writeSections } from './page.ts'

const { values } = parseArgs({
  options: {
    held: { type: 'string', default: '0,1000,10000' },
    calls: { type: 'string', default: '120' },
    pods: { type: 'string', default: '250' },
    write: { type: 'boolean', default: false },
  },
})
const calls = Number(values.calls)
const callersList = [1, 16]
/** Of whereabouts: its calls wait for each other by half seconds, and take seconds each when much is held. */
const peerCalls = Math.min(calls, 48)
const peerMsMax = 30_000
const peerCallsMin = 4
const network = 'bench'
const knownForMs = 100
const say = (line: string): void => console.error(line)

interface Side {
  readonly name: string
  readonly calls: number
  /** After so long no further call is begun, once there were enough to tell something. */
  readonly msMax?: number
  /** Whatever has to be there before the call, and is not timed. */
  prepare(count: number): Promise<readonly Subject[]>
  /** The same, of one call, right before it. */
  meet?(subject: Subject): Promise<Subject>
  call(verb: 'ADD' | 'DEL', subject: Subject): Promise<void>
  /** Until so many addresses are held as before. */
  settle(subjects: readonly Subject[]): Promise<void>
  hold(from: number, to: number): Promise<void>
}

interface Subject {
  readonly id: string
  readonly pod?: { readonly namespace: string; readonly name: string; readonly uid: string }
}

interface Row {
  readonly side: string
  readonly held: number
  readonly callers: number
  readonly verb: 'ADD' | 'DEL'
  readonly p50: number
  readonly p99: number
  readonly perSecond: number
  readonly failed: number
}

async function main(): Promise<number> {
  needDebian({ '/usr/lib/cni/host-local': 'containernetworking-plugins' }, say)
  const whereabouts = await binary('whereabouts', say)
  const dir = mkdtempSync(join(tmpdir(), 'mooring-bench-cni-'))
  const processes = new Processes(dir)
  const end = () => void processes.stop().finally(() => process.exit(1))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end)
  try {
    const world = await start(dir, processes)
    const sides = [hostLocal(dir), peer(whereabouts, world, dir), bound(world), fresh(world), known(world)]
    const rows: Row[] = []
    let before = 0
    for (const held of values.held.split(',').map(Number)) {
      for (const side of sides) {
        say(`${side.name}: ${held} held`)
        if (held > before) await side.hold(before, held)
        for (const callers of callersList) rows.push(...(await measure(side, held, callers)))
      }
      before = held
    }
    const memory = await memoryAtRest(world)
    report(rows, memory)
    return 0
  } finally {
    await processes.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

// --- the world ---

interface BenchWorld {
  readonly client: Client
  readonly kubeconfig: string
  readonly agent: Agent
  readonly bin: string
  readonly socket: string
  readonly stateDir: string
  /** Ends the controller, does what is asked meanwhile, and has it start again; resolves when it is at rest. */
  readonly withoutController: (work: (etcdURL: string) => Promise<void>) => Promise<void>
  /** Until the controller has nothing to do. */
  readonly atRest: () => Promise<void>
}

async function start(dir: string, processes: Processes): Promise<BenchWorld> {
  const cluster = await startCluster({ dir: join(dir, 'cluster'), apiserverArgs: unlimited, say })
  processes.keep(() => cluster.stop())
  const { kubeconfig } = cluster
  const { client, close } = connect(kubeconfig)
  processes.keep(close)
  await installKinds(client, shippedDefinitions)
  await installKinds(client, whereaboutsDefinitions())
  const begin = () => startController({ kubeconfig, dir, args: ['--desks=vm'] })
  let controller = await begin()
  processes.keep(() => controller.stop())
  const atRest = () => untilIdle(controller.pid)
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: home } })
  await untilPodsMayCome(client)
  const nodes = defineKind<KubeObject>({
    group: '',
    versions: ['v1'],
    plural: 'nodes',
    kind: 'Node',
    namespaced: false,
  })
  await client.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-a' } })
  const ipam = { type: 'mooring', ranges: ['10.64.0.0/14'] }
  await client.create(attachments, {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { name: network, namespace: home },
    spec: { config: JSON.stringify({ cniVersion: '1.0.0', name: network, type: 'bridge', ipam }) },
  } as KubeObject)
  const bin = join(dir, 'bin')
  mkdirSync(bin)
  buildForwarder(bin)
  const node = new Node('node-a', '', { cnitool: '', bin, dir })
  await installAccount(kubeconfig)
  const agent = new Agent(node, await accountOf(node.name, kubeconfig, dir))
  await agent.start()
  processes.keep(() => agent.end('SIGTERM'))
  await agent.ready()
  const withoutController = async (work: (etcdURL: string) => Promise<void>) => {
    await controller.stop()
    await work(cluster.etcdURL)
    controller = await begin()
    await atRest()
  }
  const stateDir = join(node.dir, 'state')
  return { client, kubeconfig, agent, bin, socket: node.socket, stateDir, withoutController, atRest }
}

const ticksPerSecond = 100
/** Leases and probes take less of a second. */
const idleMsMax = 60

/** By the time that the process has had of the processors: three seconds in which it did next to nothing. */
async function untilIdle(pid: number): Promise<void> {
  const spentMs = () => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return ((Number(fields[11]) + Number(fields[12])) / ticksPerSecond) * 1000
  }
  const deadlineMs = performance.now() + 300_000
  for (let [quiet, before] = [0, spentMs()]; quiet < 3; ) {
    if (performance.now() > deadlineMs) throw new Error('the controller did not come to rest within 5 minutes')
    await delay(1000)
    const now = spentMs()
    quiet = now - before <= idleMsMax ? quiet + 1 : 0
    before = now
  }
}

function whereaboutsDefinitions(): KubeObject[] {
  const root = join(moduleDirectory('github.com/k8snetworkplumbingwg/whereabouts', 'whereabouts'), 'doc', 'crds')
  return ['ippools', 'overlappingrangeipreservations'].flatMap(plural =>
    parseAllDocuments(readFileSync(join(root, `whereabouts.cni.cncf.io_${plural}.yaml`), 'utf8'))
      .map(document => document.toJS() as KubeObject | null)
      .filter(object => object !== null),
  )
}

// --- sides ---

let count = 0

async function plugin(path: string, verb: string, subject: Subject, stdin: object, env: object = {}): Promise<void> {
  const { code, out, err } = await run(path, [], {
    input: JSON.stringify(stdin),
    env: {
      CNI_COMMAND: verb,
      CNI_CONTAINERID: subject.id,
      CNI_NETNS: `/run/netns/${subject.id}`,
      CNI_IFNAME: 'net1',
      CNI_PATH: pluginDirectory,
      CNI_ARGS: argsOf(subject.pod === undefined ? {} : { pod: subject.pod }).join(';'),
      ...env,
    },
  })
  if (code !== 0) throw new Error(`${path} ${verb} ended with ${code}: ${out}${err}`)
}

const noPods = async (count: number): Promise<Subject[]> => Array.from({ length: count }, () => ({ id: nextName() }))
const nextName = (): string => `bench-${++count}`

function hostLocal(dir: string): Side {
  const dataDir = join(dir, 'host-local')
  const ipam = { type: 'host-local', dataDir, ranges: [[{ subnet: '10.32.0.0/14' }]] }
  return {
    name: 'host-local',
    calls,
    prepare: noPods,
    call: (verb, subject) =>
      plugin(join(pluginDirectory, 'host-local'), verb, subject, {
        cniVersion: '1.0.0',
        name: network,
        type: 'bridge',
        ipam,
      }),
    settle: async () => {},
    async hold(from, to) {
      mkdirSync(join(dataDir, network), { recursive: true })
      // At the far end of its subnet, where it does not look for free ones.
      for (let i = from; i < to; i++) {
        writeFileSync(join(dataDir, network, `10.35.${200 - (i >> 8)}.${i & 255}`), `held-${i}\r\nnet1`)
      }
    },
  }
}

function peer(path: string, { client, kubeconfig }: BenchWorld, dir: string): Side {
  const configuration = join(dir, 'whereabouts.conf')
  writeFileSync(configuration, JSON.stringify({ kubernetes: { kubeconfig }, log_level: 'error' }))
  const range = '10.36.0.0/14'
  const ipam = { type: 'whereabouts', range, configuration_path: configuration, kubernetes: { kubeconfig } }
  const pools = defineKind<KubeObject>({
    group: 'whereabouts.cni.cncf.io',
    versions: ['v1alpha1'],
    plural: 'ippools',
    kind: 'IPPool',
    namespaced: true,
  })
  return {
    name: 'whereabouts',
    calls: peerCalls,
    msMax: peerMsMax,
    prepare: async count =>
      (await noPods(count)).map(one => ({ ...one, pod: { namespace: home, name: one.id, uid: one.id } })),
    call: (verb, subject) => plugin(path, verb, subject, { cniVersion: '1.0.0', name: network, type: 'bridge', ipam }),
    settle: async () => {},
    async hold(from, to) {
      // Far from where it looks for a free one first, so that the size of the object alone counts.
      const allocations = Object.fromEntries(
        Array.from({ length: to - from }, (_, i) => [
          String(200_000 + from + i),
          { id: `held-${from + i}`, podref: `${home}/held-${from + i}`, ifname: 'net1' },
        ]),
      )
      // It has made one by its first calls.
      const [pool] = (await client.list(pools)).items
      if (pool === undefined) throw new Error('whereabouts has no IPPool')
      await client.mergePatch(pools, refOf(pool), { spec: { allocations } })
    },
  }
}

const aPod = (name: string, claim?: string): KubeObject => {
  const element = { name: network, namespace: home, interface: 'net1', ...(claim && { 'ipam-claim-reference': claim }) }
  const annotations = { 'k8s.v1.cni.cncf.io/networks': JSON.stringify([element]) }
  const spec = { nodeName: 'node-a', containers: [{ name: 'main', image: 'main' }] }
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: home, annotations }, spec }
  return pod
}

/** Of claims that calls are made for; those that are only held have none. */
const benchLabel = 'bench'

const aClaim = (name: string, labels: Readonly<Record<string, string>> = {}): KubeObject => {
  const spec = { network, interface: 'net1' }
  const metadata = { name, namespace: home, labels }
  const claim = { apiVersion: 'k8s.cni.cncf.io/v1alpha1', kind: 'IPAMClaim', metadata, spec }
  return claim
}

const subjectOf = ({ metadata: { name = '', uid = '' } }: KubeObject): Subject => ({
  id: name,
  pod: { namespace: home, name, uid },
})

const mooringConfig = { cniVersion: '1.0.0', name: network, type: 'bridge', ipam: { type: 'mooring' } }

const isBound = async (client: Client, name: string): Promise<boolean> =>
  (((await client.get(ipamClaims, { namespace: home, name })) as Stored | undefined)?.status?.ips ?? []).length > 0

const askMooring =
  ({ bin, socket }: BenchWorld) =>
  (verb: 'ADD' | 'DEL', subject: Subject): Promise<void> =>
    plugin(join(bin, 'mooring'), verb, subject, mooringConfig, { MOORING_CNI_SOCKET: socket })

function bound(world: BenchWorld): Side {
  const { client, stateDir } = world
  return {
    name: 'mooring, bound claim',
    calls,
    async prepare(count) {
      const subjects: Subject[] = []
      await inParallel(Array.from({ length: count }, nextName), 8, async name => {
        await client.create(ipamClaims, aClaim(name, { [benchLabel]: 'call' }))
        await until(`${name} is bound`, async () => ((await isBound(client, name)) ? undefined : 'it is not'))
        subjects.push(subjectOf(await client.create(pods, aPod(name, name))))
      })
      await until('the node has seen all', async () => {
        const known = new Set(readdirSync(stateDir))
        const missing = subjects.filter(({ pod }) => !known.has(`${pod?.uid}_net1.json`))
        return missing.length === 0 ? undefined : `${missing.length} are not known`
      })
      return subjects
    },
    call: askMooring(world),
    async settle(subjects) {
      await endPods(client, subjects)
      await inParallel(subjects, 8, ({ id }) => client.delete(ipamClaims, { namespace: home, name: id }))
      await noneLeft(world)
    },
    hold: (from, to) => holdClaims(world, from, to),
  }
}

function fresh(world: BenchWorld): Side {
  const { client } = world
  return {
    name: 'mooring, new address',
    calls,
    prepare: noPods,
    meet: async ({ id }) => subjectOf(await client.create(pods, aPod(id))),
    call: askMooring(world),
    async settle(subjects) {
      await endPods(client, subjects)
      await noneLeft(world)
    },
    // The ledger is the same as that of the other side.
    hold: async () => {},
  }
}

function known(world: BenchWorld): Side {
  const side = fresh(world)
  const meet = async (one: Subject): Promise<Subject> => {
    const subject = (await side.meet?.(one)) ?? one
    await delay(knownForMs)
    return subject
  }
  return { ...side, name: 'mooring, pod known', meet }
}

async function endPods(client: Client, subjects: readonly Subject[]): Promise<void> {
  await inParallel(subjects, 8, ({ id }) => client.delete(pods, { namespace: home, name: id }, { graceSeconds: 0 }))
}

/** The claims are gone, which is after their holds. */
async function noneLeft({ client, atRest }: BenchWorld): Promise<void> {
  await until(
    'all is given back',
    async () => {
      const selectors = [`${benchLabel}=call`, `${nodeLabel}=node-a`]
      const lists = await Promise.all(
        selectors.map(labelSelector => client.list(ipamClaims, { namespace: home, labelSelector })),
      )
      const left = lists.flatMap(({ items }) => items).length
      return left === 0 ? undefined : `${left} claims are left`
    },
    180_000,
  )
  await atRest()
}

/** What the controller stored for one claim, written for many, far from where it looks for a free address first. */
async function holdClaims({ client, withoutController }: BenchWorld, from: number, to: number): Promise<void> {
  const claim = 'original'
  if ((await client.get(ipamClaims, { namespace: home, name: claim })) === undefined) {
    await client.create(ipamClaims, aClaim(claim))
    await until(`${claim} is bound`, async () => ((await isBound(client, claim)) ? undefined : 'it is not'))
  }
  const stored = (await client.get(ipamClaims, { namespace: home, name: claim })) as Stored
  const claimUid: string = stored.metadata.uid ?? ''
  const [address = ''] = String(stored.status.ips[0]).split('/')
  const { items } = await client.list(holds, { labelSelector: `${claimUidLabel}=${claimUid}` })
  const keys = [
    `/registry/${ipamClaims.group}/${ipamClaims.plural}/${home}/${claim}`,
    ...items.map(({ metadata: { name } }) => `/registry/${holds.group}/${holds.plural}/${name}`),
  ]
  await withoutController(async etcdURL => {
    const rows = await Promise.all(keys.map(key => readRow(etcdURL, key)))
    const nameOf = (i: number) => `held-${from + i}`
    const addressOf = (i: number) => `10.66.${(from + i) >> 8}.${(from + i) & 255}`
    await writeCopies(etcdURL, { rows, claim, claimUid, address }, to - from, nameOf, addressOf)
  })
}

// --- measuring ---

async function measure(side: Side, held: number, callers: number): Promise<Row[]> {
  const subjects = await side.prepare(side.calls)
  const met: Subject[] = []
  const timed = async (verb: 'ADD' | 'DEL', all: readonly Subject[]): Promise<Row> => {
    const times: number[] = []
    let waitedMs = 0
    let failed = 0
    const startedMs = performance.now()
    await inParallel(all, callers, async one => {
      const isEnough = times.length >= peerCallsMin && performance.now() - startedMs > (side.msMax ?? Infinity)
      // What was added is let go of all the same.
      if (isEnough && verb === 'ADD') return
      const beforeMs = performance.now()
      const subject = verb === 'ADD' && side.meet !== undefined ? await side.meet(one) : one
      if (verb === 'ADD') met.push(subject)
      const calledMs = performance.now()
      waitedMs += calledMs - beforeMs
      // One that fails is said again by a runtime: it took its time all the same, and is counted.
      await side.call(verb, subject).catch((error: unknown) => {
        failed++
        say(error instanceof Error ? error.message.slice(0, 300) : String(error))
      })
      times.push(performance.now() - calledMs)
    })
    times.sort((a, b) => a - b)
    // What was not timed of a call is not counted, by as many callers as there are.
    const seconds = (performance.now() - startedMs - waitedMs / callers) / 1000
    const row = { p50: quantile(times, 0.5), p99: quantile(times, 0.99), perSecond: times.length / seconds, failed }
    const figures = `p50 ${row.p50.toFixed(1)} ms, p99 ${row.p99.toFixed(1)} ms, ${row.perSecond.toFixed(1)}/s, ${failed} failed`
    console.log(
      `${side.name.padEnd(22)} held ${String(held).padStart(6)}  ${String(callers).padStart(2)} callers  ${verb}  ${figures}`,
    )
    return { side: side.name, held, callers, verb, ...row }
  }
  const rows = [await timed('ADD', subjects), await timed('DEL', met)]
  await side.settle(met)
  return rows
}

/** With its pods attached, after a minute in which nothing is asked. */
async function memoryAtRest(world: BenchWorld): Promise<{ readonly pods: number; readonly mib: number }> {
  const side = fresh(world)
  const subjects: Subject[] = []
  await inParallel(await noPods(Number(values.pods)), 8, async one => {
    const subject = (await side.meet?.(one)) ?? one
    await side.call('ADD', subject)
    subjects.push(subject)
  })
  await delay(30_000)
  const mib = memoryMiBOf(world.agent.pid)
  console.log(`mooring node at rest with ${subjects.length} pods: ${mib.toFixed(0)} MiB`)
  return { pods: subjects.length, mib }
}

// --- what is told ---

const newAddresses = [
  ['mooring, new address', ''],
  ['mooring, pod known', `, where the pod was made ${knownForMs} ms before`],
] as const

function report(rows: readonly Row[], memory: { readonly pods: number; readonly mib: number }): void {
  const at = (side: string, held: number, callers: number, verb: Row['verb']) =>
    rows.find(row => row.side === side && row.held === held && row.callers === callers && row.verb === verb)
  const levels = [...new Set(rows.map(({ held }) => held))]
  const lines: string[] = []
  for (const held of levels) {
    const [local, claim] = [at('host-local', held, 1, 'ADD'), at('mooring, bound claim', held, 1, 'ADD')]
    if (local && claim)
      lines.push(
        `- ${held} held, 1 caller: a bound claim takes ${claim.p50.toFixed(1)} ms at p50, host-local ${local.p50.toFixed(1)} ms`,
      )
    for (const callers of callersList) {
      const theirs = at('whereabouts', held, callers, 'ADD')
      const by = callers === 1 ? '1 caller' : `${callers} callers`
      for (const [side, what] of newAddresses) {
        const ours = at(side, held, callers, 'ADD')
        if (theirs === undefined || ours === undefined) continue
        const [p50, p99, perSecond] = [
          theirs.p50 / ours.p50,
          theirs.p99 / ours.p99,
          ours.perSecond / theirs.perSecond,
        ].map(ratio => ratio.toFixed(1))
        lines.push(
          `- ${held} held, ${by}: for a new address whereabouts takes ${p50} times as long at p50, ${p99} times at p99; Mooring serves ${perSecond} times as many per second${what}`,
        )
      }
    }
  }
  lines.push(`- mooring node at rest with ${memory.pods} pods: ${memory.mib.toFixed(0)} MiB`)
  const table = rows.map(
    ({ side, held, callers, verb, p50, p99, perSecond, failed }) =>
      `| ${side} | ${held.toLocaleString('en')} | ${callers} | ${verb} | ${p50.toFixed(1)} | ${p99.toFixed(1)} | ${perSecond.toFixed(1)} | ${failed} |`,
  )
  const text = [
    '## CNI calls',
    '',
    `\`npm run bench:cni\`, one run on ${machine()}: ADD and DEL of IPAM plugins, each a process, on one real kube-apiserver. whereabouts is`,
    `measured with at most ${peerCalls} calls in each row, begun within ${peerMsMax / 1000} seconds, the others with ${calls}: of fewer than a hundred, p99 is the slowest.`,
    'Of 16 callers of whereabouts the one that was served is often served again, and the others wait: p50 is the time of a call that did not wait, p99 that of one that did.',
    '',
    ...lines,
    '',
    '| plugin | held | callers | verb | p50 ms | p99 ms | per second | failed |',
    '| ------ | ---: | ------: | ---- | -----: | -----: | ---------: | -----: |',
    ...table,
    '',
  ].join('\n')
  console.log(text)
  if (values.write) writeSections(text)
}

try {
  process.exit(await main())
} catch (error) {
  if (!(error instanceof Unavailable)) throw error
  console.log(`skipped, because ${error.message}`)
  process.exit(skippedExitCode)
}
