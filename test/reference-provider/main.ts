// `npm run test:reference-provider [-- --server=embedded|cluster] [--claims=N]`: the reference Cluster API IPAM provider,
// unchanged, on our server. Claims are bound while the server is killed without warning and started again on the same
// data; in the end every claim has an address of its own, and deleting the claims leaves no address behind.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { parseAllDocuments } from 'yaml'
import { moduleDirectory, skippedExitCode, Unavailable } from '../../scripts/real/binaries.ts'
import { startCluster } from '../../scripts/real/cluster.ts'
import type { Provider } from '../../scripts/real/controller.ts'
import { type Embedded, startEmbedded } from '../../scripts/real/embedded.ts'
import { startReferenceIpam } from '../../scripts/real/reference-ipam.ts'
import { type Answer, type Client, connect } from '../conformance/client.ts'

const { values } = parseArgs({
  options: {
    server: { type: 'string', default: 'embedded' },
    claims: { type: 'string', default: '200' },
  },
})
const claimCount = Number(values.claims)
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const ipam = '/apis/ipam.cluster.x-k8s.io'
const claims = `${ipam}/v1beta1/namespaces/default/ipaddressclaims`
const addresses = `${ipam}/v1beta1/namespaces/default/ipaddresses`
const pools = `${ipam}/v1alpha2/namespaces/default/inclusterippools`

try {
  await main()
} catch (error) {
  if (!(error instanceof Unavailable)) throw error
  console.log(`skipped, because ${error.message}`)
  process.exitCode = skippedExitCode
}

async function main(): Promise<void> {
  const say = (line: string): void => console.error(line)
  const definitions = [
    ...definitionsIn(moduleDirectory('sigs.k8s.io/cluster-api-ipam-provider-in-cluster')),
    ...definitionsIn(moduleDirectory('sigs.k8s.io/cluster-api')).filter(isNeeded),
  ]
  const dir = mkdtempSync(join(tmpdir(), 'mooring-reference-'))
  const isEmbedded = values.server !== 'cluster'
  const cluster = isEmbedded ? undefined : await startCluster({ dir, say })
  let embedded = isEmbedded ? await startEmbedded({ dir, args: ['--desks=none'] }) : undefined
  let provider: Provider | undefined
  try {
    const kubeconfig = cluster?.kubeconfig ?? embedded?.kubeconfig ?? ''
    const client = connect(kubeconfig)
    await define(client, definitions)
    provider = await startReferenceIpam({ kubeconfig, dir, say })

    must(
      await client.create(pools, {
        apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2',
        kind: 'InClusterIPPool',
        metadata: { name: 'pool' },
        spec: { addresses: ['10.0.0.10-10.0.3.250'], prefix: 16, gateway: '10.0.0.1' },
      }),
    )
    const started = performance.now()
    await inParallel(claimCount, 16, async i => {
      must(
        await client.create(claims, {
          apiVersion: 'ipam.cluster.x-k8s.io/v1beta1',
          kind: 'IPAddressClaim',
          metadata: { name: `claim-${i}` },
          spec: { poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'pool' } },
        }),
      )
    })
    console.log(`${claimCount} claims created in ${seconds(started)}`)

    let outage = 0
    if (embedded) {
      await until('a third of the claims is bound', async () => (await bound(client)).length >= claimCount / 3)
      const before = (await bound(client)).length
      const killed = performance.now()
      embedded = await crashAndRestart(embedded, dir)
      outage = performance.now() - killed
      console.log(`server killed with ${before} claims bound; back after ${Math.round(outage)} ms`)
    }
    await until(`all ${claimCount} claims are bound`, async () => (await bound(client)).length === claimCount)
    const total = (performance.now() - started) / 1000
    console.log(`${claimCount} claims bound in ${total.toFixed(1)} s, ${(claimCount / total).toFixed(1)} per second`)

    const handedOut = must(await client.get(addresses)).items.map(item => String(item.spec.address))
    const distinct = new Set(handedOut).size
    if (handedOut.length !== claimCount || distinct !== claimCount) {
      throw new Error(`${handedOut.length} addresses exist, ${distinct} of them distinct, for ${claimCount} claims`)
    }
    const pool = must(await client.get(`${pools}/pool`)).status as { ipAddresses?: { used?: number } }
    console.log(`${distinct} distinct addresses; the pool says ${pool.ipAddresses?.used} used`)

    const deleting = performance.now()
    await inParallel(claimCount, 16, async i => void must(await client.delete(`${claims}/claim-${i}`)))
    await until('all claims and addresses are gone', async () => {
      const left = await Promise.all([client.get(claims), client.get(addresses)])
      return left.every(answer => must(answer).items.length === 0)
    })
    console.log(`all claims and addresses gone in ${seconds(deleting)}`)
    console.log('the reference provider works')
  } finally {
    provider?.signal('SIGKILL')
    await embedded?.stop()
    await cluster?.stop()
    if (process.exitCode === undefined) rmSync(dir, { recursive: true, force: true })
  }
}

async function crashAndRestart(server: Embedded, dir: string): Promise<Embedded> {
  const listen = new URL(server.url).host
  await server.kill()
  return startEmbedded({ dir, listen, args: ['--desks=none'] })
}

interface Definition {
  readonly metadata: { readonly name: string }
}

function definitionsIn(module: string): Definition[] {
  const folder = join(module, 'config', 'crd', 'bases')
  return readdirSync(folder)
    .filter(file => file.endsWith('.yaml'))
    .flatMap(file => parseAllDocuments(readFileSync(join(folder, file), 'utf8')))
    .map(document => document.toJS() as Definition)
}

function isNeeded({ metadata }: Definition): boolean {
  return metadata.name.endsWith('.ipam.cluster.x-k8s.io') || metadata.name === 'clusters.cluster.x-k8s.io'
}

async function define(client: Client, definitions: Definition[]): Promise<void> {
  for (const definition of definitions) must(await client.create(crds, definition))
  await until('all definitions are established', async () => {
    const list = must(await client.get(crds))
    return list.items.every(item => {
      const { conditions } = item.status as { conditions: { type: string; status: string }[] | null }
      return conditions?.some(condition => condition.type === 'Established' && condition.status === 'True')
    })
  })
  await until(
    'the kinds are served',
    async () => (await client.get(claims)).code === 200 && (await client.get(pools)).code === 200,
  )
}

async function bound(client: Client): Promise<string[]> {
  const list = must(await client.get(claims))
  return list.items.flatMap(item => {
    const status = item.status as { addressRef?: { name?: string } } | undefined
    return status?.addressRef?.name ? [status.addressRef.name] : []
  })
}

function must(answer: Answer) {
  if (answer.code < 200 || answer.code > 299) throw new Error(`expected success, got ${answer.code}: ${answer.text}`)
  return answer.body
}

async function until(what: string, holds: () => Promise<boolean>, withinMs = 180_000): Promise<void> {
  const deadline = Date.now() + withinMs
  while (Date.now() < deadline) {
    if (await holds()) return
    await delay(100)
  }
  throw new Error(`waited ${withinMs / 1000} s until ${what}, in vain`)
}

async function inParallel(count: number, workers: number, work: (i: number) => Promise<void>): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: workers }, async () => {
      while (next < count) await work(next++)
    }),
  )
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`
}
