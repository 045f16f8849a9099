// `npm run test:takeover [-- --claims=N]`: the reference Cluster API IPAM provider serves claims on a real kube-apiserver, is
// stopped, and Mooring goes on; then Mooring is stopped, and the reference goes on. No address changes on the way, nothing
// is written that need not be, new claims are served and old ones released by the provider that runs. Ends with `N passed, N failed`.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { skippedExitCode, Unavailable } from '../../scripts/real/binaries.ts'
import { startCluster } from '../../scripts/real/cluster.ts'
import { type Connected, connect } from '../../scripts/real/connect.ts'
import { type Provider, startController } from '../../scripts/real/controller.ts'
import { installKinds, shippedDefinitions } from '../../scripts/real/kinds.ts'
import { startReferenceIpam } from '../../scripts/real/reference-ipam.ts'
import { claims, reports } from '../../src/controllers/capi/kinds.ts'
import { holds, pools } from '../../src/controllers/office/kinds.ts'
import type { Client } from '../../src/kube/client.ts'
import type { Kind, KubeObject } from '../../src/kube/object.ts'

const { values } = parseArgs({ options: { claims: { type: 'string', default: '1000' } } })
const claimCount = Number(values.claims)
const newcomers = 20
/** Consumers look again after 200 ms, and then only after half a minute. */
const newcomerMsMax = 1_000
const namespace = 'default'
const main = process.env.MOORING_MAIN ?? join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'dist', 'main.js')

interface Stored extends KubeObject {
  readonly spec: { readonly address: string }
  readonly status?: {
    readonly addressRef?: { readonly name: string }
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
    readonly ipAddresses?: { readonly used: number }
  }
}

const poolKind = pools.find(({ kind }) => kind === 'InClusterIPPool') as Kind

const verdicts: boolean[] = []

function check(what: string, isTrue: boolean, found = ''): void {
  verdicts.push(isTrue)
  console.log(`${isTrue ? 'ok    ' : 'FAILED'} ${what}${found === '' ? '' : `: ${found}`}`)
}

async function run(): Promise<number> {
  const say = (line: string): void => console.error(line)
  const dir = mkdtempSync(join(tmpdir(), 'mooring-takeover-'))
  const started: { stop(): Promise<void> }[] = []
  try {
    const cluster = await startCluster({ dir, say })
    started.push(cluster)
    const connected = connect(cluster.kubeconfig)
    started.push({ stop: () => connected.close() })
    await story(connected, { kubeconfig: cluster.kubeconfig, dir, say }, started)
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    console.log(`skipped, because ${error.message}`)
    console.log('0 passed, 0 failed')
    return skippedExitCode
  } finally {
    for (const one of started.reverse()) await one.stop()
    rmSync(dir, { recursive: true, force: true })
  }
  const failed = verdicts.filter(verdict => !verdict).length
  console.log(`${verdicts.length - failed} passed, ${failed} failed`)
  return failed === 0 ? 0 : 1
}

interface Place {
  readonly kubeconfig: string
  readonly dir: string
  readonly say: (line: string) => void
}

async function story({ client }: Connected, place: Place, started: { stop(): Promise<void> }[]): Promise<void> {
  await installKinds(client, shippedDefinitions)
  await createPool(client)
  const reference = await startReferenceIpam(place)
  started.push(reference)

  const since = performance.now()
  await inParallel(claimCount, 16, i => createClaim(client, `claim-${i}`))
  await until('the reference provider has bound all claims', async () => (await bound(client)) === claimCount)
  say(`${claimCount} claims bound by the reference provider in ${seconds(since)}`)
  await forward(client, place, reference, started)
  const addresses = await addressesOf(client)

  await back(client, place, addresses, started)
  await serves(client, 'the reference provider, back again', 'third', 10_000)
  await releases(client, 'the reference provider, back again', 'second-0')
  await releases(client, 'the reference provider, back again', 'claim-1')
  const used = claimCount + 2 * newcomers - 3
  await eventually(`the pool counts ${used} addresses`, async () => (await poolStatus(client))?.used === used)
}

/** From the reference provider to Mooring. */
async function forward(
  client: Client,
  place: Place,
  reference: Provider,
  started: { stop(): Promise<void> }[],
): Promise<void> {
  const forecast = adopt(place, '--from', 'in-cluster', '--dry-run')
  check('mooring adopt finds nothing to refuse', forecast.code === 0, forecast.text.trim().split('\n').at(-2))
  await reference.stop()

  const before = await snapshot(client)
  const writes = { claims: await countWrites(client, claims), reports: await countWrites(client, reports) }
  const mooring = await startController(place)
  started.push(mooring)
  const since = performance.now()
  await until('Mooring has adopted all claims', async () => (await ready(client)) === claimCount)
  say(`${claimCount} claims adopted ${seconds(since)} after Mooring was ready`)
  await delay(2_000)
  check('no address changed', sameAddresses(before, await snapshot(client)))
  check('no IPAddress was written', writes.reports.total() === 0, `${writes.reports.total()} writes`)
  const most = writes.claims.most()
  check('a claim was written twice at most: its choice, its status', most <= 2, `${most} at most`)
  const held = (await client.list(holds)).items.length
  check('every address has its hold', held === claimCount, `${held} holds`)
  const total = writes.claims.total()
  await delay(3_000)
  check('then nothing is written any more', writes.claims.total() === total && writes.reports.total() === 0)
  writes.claims.stop()
  writes.reports.stop()

  await serves(client, 'Mooring', 'second', newcomerMsMax)
  await releases(client, 'Mooring', 'claim-0')
  await mooring.stop()
  check('Mooring ended in good order', mooring.exitCode === 0, `code ${mooring.exitCode}`)
}

/** From Mooring to the reference provider. */
async function back(
  client: Client,
  place: Place,
  addresses: Map<string, string>,
  started: { stop(): Promise<void> }[],
): Promise<void> {
  const answer = adopt(place, '--back')
  check('mooring adopt --back refuses nothing', answer.code === 0, answer.text.trim().split('\n').slice(-2).join('; '))
  check('no hold is left', (await client.list(holds)).items.length === 0)
  const writes = { claims: await countWrites(client, claims), reports: await countWrites(client, reports) }
  const before = await substanceOf(client)
  const reference = await startReferenceIpam(place)
  started.push(reference)
  await delay(5_000)
  check('no address changed on the way back', isSameMap(addresses, await addressesOf(client)))
  check('no claim was written', writes.claims.total() === 0, `${writes.claims.total()} writes`)
  // It names the owners of an IPAddress in the version that it knows, and refreshes those that Mooring named in another.
  const isOnceAtMost = writes.reports.most() <= 1 && writes.reports.total() <= newcomers
  check('no IPAddress was written but those that Mooring made, once', isOnceAtMost, `${writes.reports.total()} writes`)
  check('and these say what they said', isSameMap(before, await substanceOf(client)))
  writes.claims.stop()
  writes.reports.stop()
}

function adopt({ kubeconfig }: Place, ...args: string[]): { code: number | null; text: string } {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [main, 'adopt', ...args, `--kubeconfig=${kubeconfig}`],
    { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
  )
  if (stderr !== '') console.error(stderr)
  return { code: status, text: stdout }
}

/** New claims, one after the other, each with its own time. */
async function serves(client: Client, provider: string, prefix: string, withinMs: number): Promise<void> {
  const times: number[] = []
  for (let i = 0; i < newcomers; i++) {
    const since = performance.now()
    const name = `${prefix}-${i}`
    await createClaim(client, name)
    await until(`${name} is bound`, async () => isBound(await client.get(claims, { namespace, name })), 5)
    times.push(performance.now() - since)
  }
  const slowest = Math.max(...times)
  check(`${provider} binds new claims within ${withinMs} ms`, slowest <= withinMs, `${Math.round(slowest)} ms at most`)
  const all = [...(await addressesOf(client)).values()]
  check('no two claims have one address', new Set(all).size === all.length, `${all.length} addresses`)
}

async function releases(client: Client, provider: string, name: string): Promise<void> {
  await client.delete(claims, { namespace, name })
  const isGone = async () => {
    const [claim, report] = [
      await client.get(claims, { namespace, name }),
      await client.get(reports, { namespace, name }),
    ]
    return claim === undefined && report === undefined
  }
  await eventually(`${provider} releases ${name}`, isGone)
}

// --- what is there ---

function createPool(client: Client): Promise<KubeObject> {
  const spec = { addresses: ['10.0.0.10-10.0.15.250'], prefix: 16, gateway: '10.0.0.1' }
  const metadata = { name: 'pool', namespace }
  const object = { apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2', kind: 'InClusterIPPool', metadata, spec }
  return client.create(poolKind, object)
}

async function createClaim(client: Client, name: string): Promise<void> {
  const poolRef = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'pool' }
  const object = {
    apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
    kind: 'IPAddressClaim',
    metadata: { name, namespace },
    spec: { poolRef },
  }
  await client.create(claims, object)
}

const isBound = (claim: KubeObject | undefined): boolean =>
  (claim as Stored | undefined)?.status?.addressRef !== undefined

async function bound(client: Client): Promise<number> {
  return (await client.list(claims)).items.filter(isBound).length
}

async function ready(client: Client): Promise<number> {
  const items = (await client.list(claims)).items as readonly Stored[]
  return items.filter(({ status }) => status?.conditions?.some(one => one.type === 'Ready' && one.status === 'True'))
    .length
}

async function poolStatus(client: Client): Promise<{ used: number } | undefined> {
  return ((await client.get(poolKind, { namespace, name: 'pool' })) as Stored | undefined)?.status?.ipAddresses
}

async function addressesOf(client: Client): Promise<Map<string, string>> {
  const items = (await client.list(reports)).items as readonly Stored[]
  return new Map(items.map(({ metadata, spec }) => [metadata.name ?? '', spec.address]))
}

/** All of an IPAddress but its version, and the version in which its owners are named. */
async function substanceOf(client: Client): Promise<Map<string, string>> {
  const items = (await client.list(reports)).items as readonly Stored[]
  return new Map(
    items.map(({ metadata, spec }) => {
      const { name = '', uid, labels, annotations, finalizers, ownerReferences = [] } = metadata
      const owners = ownerReferences.map(({ kind, uid, controller }) => ({ kind, uid, controller }))
      return [name, JSON.stringify({ uid, labels, annotations, finalizers, owners, spec })]
    }),
  )
}

interface Snapshot {
  readonly addresses: Map<string, string>
  readonly named: Map<string, string>
}

/** What a consumer finds: the claim's reference, and the IPAddress behind it. */
async function snapshot(client: Client): Promise<Snapshot> {
  const items = (await client.list(claims)).items as readonly Stored[]
  const named = new Map(items.map(({ metadata, status }) => [metadata.name ?? '', status?.addressRef?.name ?? '']))
  return { addresses: await addressesOf(client), named }
}

const sameAddresses = (one: Snapshot, other: Snapshot): boolean =>
  isSameMap(one.addresses, other.addresses) && isSameMap(one.named, other.named)

const isSameMap = (one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean =>
  one.size === other.size && [...one].every(([key, value]) => other.get(key) === value)

interface Writes {
  total(): number
  /** To any one object. */
  most(): number
  stop(): void
}

/** Every change that is seen on a watch is one write. */
async function countWrites(client: Client, kind: Kind): Promise<Writes> {
  const { resourceVersion } = await client.list(kind)
  const end = new AbortController()
  const counts = new Map<string, number>()
  const events = await client.watch(kind, { resourceVersion, timeoutSeconds: 3_600, signal: end.signal })
  const follow = async () => {
    for await (const event of events) {
      if (event.type !== 'ADDED' && event.type !== 'MODIFIED' && event.type !== 'DELETED') continue
      const { name = '' } = event.object.metadata
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
  }
  follow().catch(error => {
    if (!end.signal.aborted) throw error
  })
  return {
    total: () => [...counts.values()].reduce((sum, one) => sum + one, 0),
    most: () => Math.max(0, ...counts.values()),
    stop: () => end.abort(),
  }
}

// --- time ---

async function until(what: string, holds: () => Promise<boolean>, everyMs = 200): Promise<void> {
  const deadline = Date.now() + 600_000
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`waited ten minutes until ${what}, in vain`)
    await delay(everyMs)
  }
}

async function eventually(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 30_000
  let isTrue = await holds()
  while (!isTrue && Date.now() < deadline) {
    await delay(100)
    isTrue = await holds()
  }
  check(what, isTrue)
}

async function inParallel(count: number, workers: number, work: (i: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: workers }, worker))
}

function say(line: string): void {
  console.log(`       ${line}`)
}

const seconds = (sinceMs: number): string => `${((performance.now() - sinceMs) / 1000).toFixed(1)} s`

process.exitCode = await run()
