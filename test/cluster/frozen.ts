// Two controllers at once without an election, one or the other of them stopped dead at random and woken again, while claims come,
// go and come back. A process that wakes up has the caches from before: whatever it then writes is refused or harmless, no
// address is ever had by two claims, and nothing is left behind.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startCluster } from '../../scripts/real/cluster.ts'
import { connect } from '../../scripts/real/connect.ts'
import { type Provider, startController } from '../../scripts/real/controller.ts'
import { installKinds, shippedDefinitions } from '../../scripts/real/kinds.ts'
import { claims, reports } from '../../src/controllers/capi/kinds.ts'
import { holds, pools } from '../../src/controllers/office/kinds.ts'
import { isApiError } from '../../src/kube/api-error.ts'
import type { Client } from '../../src/kube/client.ts'
import type { Kind, KubeObject } from '../../src/kube/object.ts'
import type { Random } from '../../src/runtime/random.ts'
import { seededRandom } from '../harness/seeded-random.ts'
import { retry, secondTry } from '../second-try.ts'
import { History, isReady, judge } from './history.ts'

const namespace = 'default'

interface PoolOfRun {
  readonly name: string
  readonly kind: string
  readonly addresses: string
  readonly prefix: number
  /** How many of every ten claims ask it. */
  readonly share: number
}

/** One with room; one in which claims have nearly every address, so that what is released is taken at once. */
const poolsOfRun: readonly PoolOfRun[] = [
  { name: 'wide', kind: 'InClusterIPPool', addresses: '10.40.0.0/16', prefix: 16, share: 6 },
  { name: 'tight', kind: 'GlobalInClusterIPPool', addresses: '', prefix: 16, share: 4 },
]

interface Run {
  readonly client: Client
  readonly random: Random
  readonly history: History
  readonly controllers: readonly Provider[]
  readonly count: number
  readonly frozenMs: number
  made: number
  remade: number
}

export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      claims: { type: 'string', default: '2000' },
      frozen: { type: 'string', default: '60' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      keep: { type: 'boolean', default: false },
    },
  })
  const first = await play(values)
  const wantsMore = first.length > 0 && retry > 0
  const faults = wantsMore ? await play({ ...values, seed: String(Number(values.seed) + 1) }) : first
  if (wantsMore && faults.length === 0) console.log(`${secondTry}two controllers, one frozen: ${first.join('; ')}`)
  console.log(faults.length === 0 ? '1 passed, 0 failed' : '0 passed, 1 failed')
  if (faults.length > 0) process.exitCode = 1
  process.exit()
}

interface Values {
  readonly claims: string
  readonly frozen: string
  readonly seed: string
  readonly keep: boolean
}

/** What was wrong in one run, on a server of its own. */
async function play(values: Values): Promise<string[]> {
  console.log(`seed ${values.seed}: --seed=${values.seed} freezes and deletes in the same order again`)
  let faults: string[] = []
  const say = (line: string): void => console.error(line)
  const dir = mkdtempSync(join(tmpdir(), 'mooring-frozen-'))
  const cluster = await startCluster({ dir, say })
  const { client, close } = connect(cluster.kubeconfig)
  const controllers: Provider[] = []
  try {
    await installKinds(client, shippedDefinitions)
    const history = await History.follow(client)
    for (const name of ['first', 'second']) {
      controllers.push(
        await startController({ kubeconfig: cluster.kubeconfig, dir, name, args: ['--log-level=error'] }),
      )
    }
    const story: Run = {
      client,
      random: seededRandom(Number(values.seed)),
      history,
      controllers,
      count: Number(values.claims),
      frozenMs: Number(values.frozen) * 1000,
      made: 0,
      remade: 0,
    }
    faults = await tell(story)
    history.stop()
    for (const fault of faults.slice(0, 40)) console.log(`FAULT ${fault}`)
    if (faults.length > 40) console.log(`... and ${faults.length - 40} more`)
    return faults
  } finally {
    await Promise.all(controllers.map(controller => controller.stop()))
    for (const { log } of faults.length > 0 ? controllers : []) {
      console.error(`${log}:\n${readFileSync(log, 'utf8').trimEnd().split('\n').slice(-5).join('\n')}`)
    }
    await close()
    await cluster.stop()
    if (!values.keep) rmSync(dir, { recursive: true, force: true })
  }
}

/** What was wrong; nothing is the promise. */
async function tell(story: Run): Promise<string[]> {
  const { history, count } = story
  for (const pool of poolsOfRun) await createPool(story, pool)
  const progress = setInterval(() => console.error(toProgress(story)), 5_000)
  try {
    let isOver = false
    const freezing = freeze(story).finally(() => {
      isOver = true
    })
    await load(story, () => isOver)
    const frozen = await freezing
    console.log(`${frozen.times} freezes, ${(frozen.ms / 1000).toFixed(1)} s in all`)

    const faults: string[] = []
    const isServed = await within(180_000, () => readyCount(history) === count)
    await calm(history)
    if (!isServed) faults.push(`${count - readyCount(history)} of ${count} claims were not served`)
    faults.push(...(await restFaults(story, count)))

    console.log(`${readyCount(history)} claims are served, ${story.remade} were deleted and made again; now all go`)
    await inParallel(history.live('claim'), 16, ({ metadata }) =>
      story.client.delete(claims, { name: metadata.name ?? '', namespace }),
    )
    const isEmpty = await within(180_000, () =>
      (['claim', 'report', 'hold'] as const).every(kind => history.live(kind).length === 0),
    )
    await calm(history)
    if (!isEmpty) faults.push('claims that were deleted left something behind')
    faults.push(...(await restFaults(story, 0)))

    if (history.gap !== undefined) faults.push(history.gap)
    for (const controller of story.controllers) {
      if (controller.exitCode !== undefined) faults.push(`a controller ended with ${controller.exitCode}`)
    }
    const { faults: found, strays } = judge(history.revisions)
    faults.push(...found)
    console.log(`${history.revisions.length} revisions of claims, IPAddresses and Holds were looked at`)
    console.log(`${strays} IPAddresses were written for a claim that was gone, and went again`)
    return faults
  } finally {
    clearInterval(progress)
  }
}

function toProgress({ history, made, remade }: Run): string {
  return `${made} claims made, ${readyCount(history)} ready, ${remade} deleted and made again`
}

const readyCount = (history: History): number => history.live('claim').filter(isReady).length

/** Stops one of the two, for a moment or for long, until they were stopped for as long as was asked. */
async function freeze({ random, controllers, frozenMs }: Run): Promise<{ times: number; ms: number }> {
  let times = 0
  let ms = 0
  while (ms < frozenMs) {
    await delay(200 + random() * 1_800)
    const controller = controllers[random() < 0.5 ? 0 : 1]
    // Most are short, some longer than any request or watch is waited for.
    const forMs = Math.min(frozenMs - ms, 200 + random() ** 3 * 20_000)
    controller?.signal('SIGSTOP')
    await delay(forMs)
    controller?.signal('SIGCONT')
    times++
    ms += forMs
  }
  return { times, ms }
}

/** Every name is made; while controllers freeze, some go and come back under the same name. */
async function load(story: Run, isOver: () => boolean): Promise<void> {
  const { client, random, count, frozenMs } = story
  const names = Array.from({ length: count }, (_, i) => `claim-${i}`)
  const started = performance.now()
  // Spread over the freezes, so that no freeze is without work.
  const dueMs = (i: number): number => (i / count) * frozenMs * 0.7
  /** Claims that exist and are not about to be deleted. */
  const idle: number[] = []
  const come = async (): Promise<void> => {
    await inParallel([...names.entries()], 16, async ([i, name]) => {
      const waitMs = started + dueMs(i) - performance.now()
      if (waitMs > 0 && !isOver()) await delay(waitMs)
      await createClaim(client, name, poolOf(i))
      story.made++
      idle.push(i)
    })
  }
  const goAndComeBack = async (): Promise<void> => {
    while (!isOver()) {
      await delay(20 + random() * 80)
      const [i] = idle.splice(Math.floor(random() * idle.length), 1)
      if (i === undefined) continue
      const name = names[i] ?? ''
      await client.delete(claims, { name, namespace })
      // At once, where the old one has gone already, or as soon as it has.
      for (;;) {
        try {
          await createClaim(client, name, poolOf(i))
          break
        } catch (error) {
          if (!isApiError(error, 'AlreadyExists') && !isApiError(error, 'Conflict')) throw error
          await delay(50)
        }
      }
      story.remade++
      idle.push(i)
    }
  }
  await Promise.all([come(), ...Array.from({ length: 8 }, goAndComeBack)])
}

function poolOf(i: number): PoolOfRun {
  let place = i % 10
  for (const pool of poolsOfRun) {
    place -= pool.share
    if (place < 0) return pool
  }
  throw new Error('the shares do not add up')
}

/** What the objects show when nothing happens any more. */
async function restFaults({ client, count: whole }: Run, count: number): Promise<string[]> {
  const faults: string[] = []
  const [allClaims, allReports, allHolds] = await Promise.all([
    client.list(claims),
    client.list(reports),
    client.list(holds),
  ])
  const uids = new Set(allClaims.items.map(({ metadata }) => metadata.uid))
  const expect = (what: string, is: number, should = count): void => {
    if (is !== should) faults.push(`at rest there are ${is} ${what}, and ${should} should be`)
  }
  expect('claims', allClaims.items.length)
  expect('claims that are ready', allClaims.items.filter(isReady).length)
  expect('claims on their way out', allClaims.items.filter(({ metadata }) => metadata.deletionTimestamp).length, 0)
  expect('IPAddresses', allReports.items.length)
  expect('Holds', allHolds.items.length)
  for (const { metadata } of allReports.items) {
    const owner = metadata.ownerReferences?.find(({ kind }) => kind === 'IPAddressClaim')
    if (!uids.has(owner?.uid)) faults.push(`IPAddress ${metadata.name} has no claim`)
  }
  const holders = new Set<string | undefined>()
  for (const hold of allHolds.items as (KubeObject & { spec?: { claimRef?: { uid?: string } } })[]) {
    const uid = hold.spec?.claimRef?.uid
    if (!uids.has(uid)) faults.push(`Hold ${hold.metadata.name} has no claim`)
    if (holders.has(uid)) faults.push(`Hold ${hold.metadata.name} is the second of its claim`)
    holders.add(uid)
  }
  for (const pool of poolsOfRun) {
    const kind = kindNamed(pool.kind)
    const should = Array.from({ length: whole }, (_, i) => poolOf(i)).filter(one => one === pool).length
    const used = count === 0 ? 0 : should
    const ref = { name: pool.name, ...(kind.namespaced && { namespace }) }
    const said = await eventually(async () => {
      const object = (await client.get(kind, ref)) as { status?: { ipAddresses?: { used?: number } } } | undefined
      return object?.status?.ipAddresses?.used ?? 0
    }, used)
    expect(`addresses used by the word of ${pool.name}`, said, used)
  }
  return faults
}

/** The figure, when it is as it should be or does not become so. */
async function eventually(read: () => Promise<number>, should: number): Promise<number> {
  let is = await read()
  for (let left = 50; left > 0 && is !== should; left--) {
    await delay(200)
    is = await read()
  }
  return is
}

function kindNamed(name: string): Kind {
  const kind = pools.find(one => one.kind === name)
  if (kind === undefined) throw new Error(`no pool is a ${name}`)
  return kind
}

async function createPool({ client, count }: Run, { name, kind: kindName, addresses, prefix, share }: PoolOfRun) {
  const kind = kindNamed(kindName)
  // Two more than there are claims for it.
  const last = Math.ceil((count * share) / 10) + 2
  const exact = `10.41.0.1-10.41.${last >> 8}.${last & 255}`
  await client.create(kind, {
    apiVersion: `${kind.group}/${kind.versions[0]}`,
    kind: kind.kind,
    metadata: { name, ...(kind.namespaced && { namespace }) },
    spec: { addresses: [addresses === '' ? exact : addresses], prefix },
  } as KubeObject)
}

async function createClaim(client: Client, name: string, pool: PoolOfRun): Promise<void> {
  const poolRef = { apiGroup: 'ipam.cluster.x-k8s.io', kind: pool.kind, name: pool.name }
  await client.create(claims, {
    apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
    kind: 'IPAddressClaim',
    metadata: { name, namespace },
    spec: { poolRef },
  } as KubeObject)
}

async function within(ms: number, holds: () => boolean): Promise<boolean> {
  for (const until = performance.now() + ms; performance.now() < until; await delay(100)) if (holds()) return true
  return holds()
}

/** Until nothing was stored for a while. */
async function calm(history: History): Promise<void> {
  await within(60_000, () => performance.now() - history.lastMs > 3_000)
}

async function inParallel<T>(items: readonly T[], workers: number, work: (item: T) => Promise<unknown>): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: workers }, async () => {
      while (next < items.length) await work(items[next++] as T)
    }),
  )
}
