// clusterctl moves a namespace between two management clusters, with Mooring at work in both. Every claim keeps its address,
// whether or not it names a Cluster that is paused meanwhile; nothing stays behind, and nothing is stuck.

import { readFileSync } from 'node:fs'
import type { Client } from '../conformance/client.ts'
import { must } from './answers.ts'
import type { Clusterctl } from './clusterctl.ts'
import {
  addressesOf,
  addressPool,
  clusterAddressPool,
  createClaim,
  createCluster,
  createNamespace,
  createPool,
  globalInClusterIPPool,
  holdsIn,
  inClusterIPPool,
  inClusterPrefixPool,
  ipam,
  list,
  type PoolRef,
  poolPath,
  sayProvisioned,
  untilBound,
} from './ipam.ts'
import type { Managed } from './management.ts'
import type { Sentences } from './sentences.ts'
import { until, untilSame } from './until.ts'

const namespace = 'tenants'
const cluster = 'blue'

const pools: { readonly ref: PoolRef; readonly spec: object }[] = [
  {
    ref: { kind: inClusterIPPool, name: 'machines' },
    spec: { addresses: ['10.1.0.10-10.1.0.200'], prefix: 24, gateway: '10.1.0.1' },
  },
  {
    ref: { kind: globalInClusterIPPool, name: 'everywhere' },
    spec: { addresses: ['10.2.0.10-10.2.0.200'], prefix: 24, gateway: '10.2.0.1' },
  },
  {
    ref: { kind: inClusterPrefixPool, name: 'pods' },
    spec: { prefixes: ['2001:db8:3::/48'], allocationPrefixLength: 64 },
  },
  {
    ref: { kind: addressPool, name: 'vms' },
    spec: { addresses: ['10.4.0.10-10.4.0.200'], prefix: 24, gateway: '10.4.0.1', quarantineSeconds: 3600 },
  },
  {
    ref: { kind: clusterAddressPool, name: 'backbone' },
    spec: { addresses: ['10.5.0.10-10.5.0.200'], prefix: 24, gateway: '10.5.0.1', quarantineSeconds: 3600 },
  },
]

/** How a claim names its Cluster: in its spec, by the older label, or not at all; the last has none, and asks to be moved. */
const links = {
  named: { clusterName: cluster, isOwned: true },
  labelled: { labels: { 'cluster.x-k8s.io/cluster-name': cluster }, isOwned: true },
  unlinked: { isOwned: true },
  alone: { labels: { 'clusterctl.cluster.x-k8s.io/move': '' }, isOwned: false },
} as const

const claimCount = pools.length * Object.keys(links).length * 2

export async function checkMove(
  sentences: Sentences,
  source: Managed,
  target: Managed,
  clusterctl: Clusterctl,
): Promise<void> {
  let before = new Map<string, string>()
  await sentences.it(`${claimCount} claims on pools of five kinds have addresses`, async () => {
    before = await settle(source.client)
  })
  await sentences.it('a claim that has its address is not talked into another one', () =>
    checkChoice(source.client, before),
  )
  // A claim lives there already, on a pool of the same name.
  await createNamespace(target.client, 'residents')
  const [backbone] = pools.slice(-1)
  if (backbone) {
    await createPool(target.client, backbone.ref, '', backbone.spec)
    await createClaim(target.client, { namespace: 'residents', name: 'first', pool: backbone.ref })
    await untilBound(target.client, 'residents', 1)
  }

  await checkOneWay(sentences, source, target, clusterctl, before)

  await sentences.it('the namespace they left can be deleted', async () => {
    must(await source.client.delete(`/api/v1/namespaces/${namespace}`))
    await untilSame('the namespace is gone', '404', async () =>
      String((await source.client.get(`/api/v1/namespaces/${namespace}`)).code),
    )
  })
  await sentences.it('a claim that arrived is released like any other', async () => {
    const [name = ''] = before.keys()
    await deleteClaim(target.client, name)
    before.delete(name)
  })
  await sentences.it('the claim that lived there keeps its address', async () => {
    const [first] = (await untilBound(target.client, 'residents', 1)).values()
    if (first !== '10.5.0.10/24 via 10.5.0.1') throw new Error(`it has ${first}`)
  })

  await sayProvisioned(target.client, namespace, cluster)
  await checkOneWay(sentences, target, source, clusterctl, before)
  await checkClash(sentences, source, target, clusterctl)
}

/** Under the registration that clusterctl installed, beside Cluster API's own. */
async function checkChoice(client: Client, before: ReadonlyMap<string, string>): Promise<void> {
  const [[name = '', shown = ''] = []] = before
  const [address = ''] = shown.split('/')
  for (const version of ['v1beta2', 'v1beta1']) {
    const path = `${ipam}/${version}/namespaces/${namespace}/ipaddressclaims/${name}`
    const say = (choice: string | null) =>
      client.merge(path, { metadata: { annotations: { 'mooring.dev/address': choice } } })
    const { code, text } = await say('10.1.0.199')
    const expected = `is bound to ${address} and does not move to 10.1.0.199`
    if (code !== 403 || !text.includes(expected))
      throw new Error(`${version}: the edit was answered with ${code}: ${text}`)
    must(await say(null))
    await untilSame('the choice is back', address, async () => {
      return `${must(await client.get(path)).metadata.annotations?.['mooring.dev/address']}`
    })
  }
}

const strangers = 'strangers'

/** Two clusters with a pool of the same name gave out the same address, and now the claims meet. */
async function checkClash(
  sentences: Sentences,
  source: Managed,
  target: Managed,
  clusterctl: Clusterctl,
): Promise<void> {
  const pool = { kind: globalInClusterIPPool, name: 'twice' }
  const spec = { addresses: ['10.6.0.10-10.6.0.20'], prefix: 24 }
  await createPool(source.client, pool, '', spec)
  await createPool(target.client, pool, '', spec)
  await createClaim(target.client, { namespace: 'residents', name: 'second', pool })
  await untilBound(target.client, 'residents', 2)
  await createNamespace(source.client, strangers)
  const owner = await createCluster(source.client, strangers, 'red')
  await createClaim(source.client, { namespace: strangers, name: 'newcomer', pool, owner, clusterName: 'red' })
  await createClaim(source.client, { namespace: strangers, name: 'neighbour', pool, owner, clusterName: 'red' })
  const before = await untilBound(source.client, strangers, 2)

  await sentences.it("an address that is another claim's where it arrives does not stop the move", async () => {
    await clusterctl(
      ['move', `--namespace=${strangers}`, `--to-kubeconfig=${target.kubeconfig}`, '-v=5'],
      source.kubeconfig,
    )
  })
  await sentences.it('the claim that arrived says so, and the other keeps its address', async () => {
    const path = `${ipam}/v1beta2/namespaces/${strangers}/ipaddressclaims/newcomer`
    await until('the claim says that its address is in use', async () => {
      const said = JSON.stringify(must(await target.client.get(path)).status ?? {})
      return /"status":"False"/.test(said) && /10\.6\.0\.10/.test(said) ? undefined : said
    })
    const residents = await untilBound(target.client, 'residents', 2)
    if (!residents.get('second')?.startsWith('10.6.0.10/')) throw new Error(`the other has ${residents.get('second')}`)
  })
  await sentences.it('its neighbour, whose address is free, is served', async () => {
    await untilSame('the neighbour has its address', `${before.get('neighbour')}`, async () => {
      return `${(await addressesOf(target.client, strangers)).get('neighbour')}`
    })
  })
  await sentences.it('it is served once the other is gone', async () => {
    must(await target.client.delete(`${ipam}/v1beta2/namespaces/residents/ipaddressclaims/second`))
    await untilSame('the newcomer has its address', `${before.get('newcomer')}`, async () => {
      return `${(await addressesOf(target.client, strangers)).get('newcomer')}`
    })
  })
}

async function checkOneWay(
  sentences: Sentences,
  from: Managed,
  to: Managed,
  clusterctl: Clusterctl,
  before: ReadonlyMap<string, string>,
): Promise<void> {
  const way = `from ${from.name} to ${to.name}`
  const restoredBefore = restoredIn(from)
  await sentences.it(`clusterctl move takes ${before.size} claims ${way}`, async () => {
    await clusterctl(['move', `--namespace=${namespace}`, `--to-kubeconfig=${to.kubeconfig}`, '-v=5'], from.kubeconfig)
  })
  await sentences.it(`every claim has the address it had, ${way}`, async () => {
    const after = await untilBound(to.client, namespace, before.size)
    const differences = [...before].flatMap(([claim, address]) =>
      after.get(claim) === address ? [] : [`${claim} had ${address} and has ${after.get(claim)}`],
    )
    if (differences.length > 0) throw new Error(differences.join('\n'))
  })
  await sentences.it(`each of them is held once, by the claim that arrived, ${way}`, async () => {
    const expected = [...before].map(([claim, text]) => `${text.split('/')[0]} ${namespace}/${claim} held`).sort()
    await until('the ledger knows them', async () => {
      const held = (await holdsIn(to.client, namespace)).filter(isHeld)
      const wrong = [...expected.filter(row => !held.includes(row)), ...held.filter(row => !expected.includes(row))]
      return wrong.length === 0 ? undefined : `these are missing or too many: ${wrong.join(', ')}`
    })
  })
  await sentences.it(`nothing is left behind, ${way}`, async () => {
    await until('claims, IPAddresses, holds and pools of the namespace are gone', () => leftovers(from.client))
  })
  await sentences.it(`no IPAddress that clusterctl deleted was made anew meanwhile, ${way}`, async () => {
    const restored = restoredIn(from) - restoredBefore
    if (restored > 0) throw new Error(`${restored} were`)
  })
}

/** Addresses that are not the lowest ones, so that a new choice would be another one. */
async function settle(client: Client): Promise<Map<string, string>> {
  await createNamespace(client, namespace)
  const owner = await createCluster(client, namespace, cluster)
  const fillers: string[] = []
  for (const { ref, spec } of pools) {
    await createPool(client, ref, namespace, spec)
    for (const number of [1, 2]) {
      const name = `filler-${ref.name}-${number}`
      fillers.push(name)
      await createClaim(client, { namespace, name, pool: ref })
    }
  }
  await untilBound(client, namespace, fillers.length)
  for (const { ref } of pools) {
    for (const [link, { isOwned, ...wish }] of Object.entries(links)) {
      for (const number of [1, 2]) {
        const name = `${ref.name}-${link}-${number}`
        await createClaim(client, { namespace, name, pool: ref, ...(isOwned && { owner }), ...wish })
      }
    }
  }
  await untilBound(client, namespace, fillers.length + claimCount)
  for (const name of fillers) await deleteClaim(client, name)
  // As the guide says: clusterctl finds the IPAddress of a claim without an owner by its label alone.
  for (const { ref } of pools) {
    for (const number of [1, 2]) {
      const address = `${ipam}/v1beta2/namespaces/${namespace}/ipaddresses/${ref.name}-alone-${number}`
      must(await client.merge(address, { metadata: { labels: links.alone.labels } }))
    }
  }
  // What an IPAddress shows is what its pool said when it was made, and stays so.
  for (const { ref } of pools.slice(0, 2)) {
    must(await client.merge(`${poolPath(ref.kind, namespace)}/${ref.name}`, { spec: { gateway: null } }))
  }
  return untilBound(client, namespace, claimCount)
}

async function deleteClaim(client: Client, name: string): Promise<void> {
  const [claim, address] = ['ipaddressclaims', 'ipaddresses'].map(
    plural => `${ipam}/v1beta2/namespaces/${namespace}/${plural}/${name}`,
  )
  must(await client.delete(claim ?? ''))
  await untilSame(`claim ${name} and its address are gone`, '404 404', async () => {
    const codes = [await client.get(claim ?? ''), await client.get(address ?? '')].map(({ code }) => code)
    return codes.join(' ')
  })
}

function restoredIn({ log }: Managed): number {
  return readFileSync(log, 'utf8').split('an IPAddress that was lost is restored').length - 1
}

/** Rest after use is not being held; it ends by itself. */
function isHeld(row: string): boolean {
  return row.endsWith(' held')
}

async function leftovers(client: Client): Promise<string | undefined> {
  const left: string[] = []
  for (const plural of ['ipaddressclaims', 'ipaddresses'] as const) {
    for (const { metadata } of await list(client, plural, namespace)) left.push(`${plural}/${metadata.name}`)
  }
  for (const { ref } of pools.filter(({ ref }) => ref.kind.isNamespaced)) {
    for (const { metadata } of must(await client.get(poolPath(ref.kind, namespace))).items) {
      left.push(`${ref.kind.plural}/${metadata.name}`)
    }
  }
  for (const row of await holdsIn(client, namespace)) if (isHeld(row)) left.push(`hold ${row}`)
  return left.length === 0 ? undefined : left.join(', ')
}
