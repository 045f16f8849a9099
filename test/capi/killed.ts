// Moves that do not go well: clusterctl is killed, given up, run again; Mooring is away where it moves from; a claim stays
// without its pool. Each claim keeps its address, nothing stops the next move, and nothing is silent.

import type { Body, Client } from '../conformance/client.ts'
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
  inClusterIPPool,
  ipam,
  letGoOn,
  list,
  type PoolRef,
  poolPath,
  sayProvisioned,
  untilBound,
} from './ipam.ts'
import type { Managed } from './management.ts'
import type { Sentences } from './sentences.ts'
import { until, untilSame } from './until.ts'

const namespace = 'killed'
const cluster = 'amber'
const mark = 'clusterctl.cluster.x-k8s.io/delete-for-move'

const machines: PoolRef = { kind: inClusterIPPool, name: 'machines' }
const vms: PoolRef = { kind: addressPool, name: 'vms' }
const wide: PoolRef = { kind: clusterAddressPool, name: 'wide' }
const specs = new Map<PoolRef, object>([
  [machines, { addresses: ['10.1.0.10-10.1.0.200'], prefix: 24 }],
  [vms, { addresses: ['10.2.0.10-10.2.0.200'], prefix: 24 }],
  [wide, { addresses: ['10.3.0.10-10.3.0.200'], prefix: 24 }],
])

const addressPath = (name: string) => `${ipam}/v1beta2/namespaces/${namespace}/ipaddresses/${name}`
const claimPath = (name: string) => `${ipam}/v1beta2/namespaces/${namespace}/ipaddressclaims/${name}`

export async function checkKilledMove(
  sentences: Sentences,
  source: Managed,
  target: Managed,
  clusterctl: Clusterctl,
): Promise<void> {
  const move = ({ kubeconfig }: Managed, to: Managed, killAt?: RegExp) =>
    clusterctl(['move', `--namespace=${namespace}`, `--to-kubeconfig=${to.kubeconfig}`, '-v=5'], kubeconfig, killAt)
  const before = await settle(source.client)
  // A pool of the whole cluster is there already, under another uid.
  await createPool(target.client, wide, '', specs.get(wide) ?? {})
  const moving = new Map([...before].filter(([name]) => name !== 'stays'))

  await sentences.it('a move that is killed and given up leaves no claim without its IPAddress', async () => {
    await move(source, target, /(Deleting IPAddress=[\s\S]*){4}/)
    await letGoOn(source.client, namespace, cluster)
    await untilAddresses(source.client, before)
  })
  await sentences.it('an IPAddress that clusterctl had no time to free goes by itself, and comes back', async () => {
    await say(source.client, addressPath('vms-1'))
    must(await source.client.delete(addressPath('vms-1')))
    await until('another is there', async () => {
      const { code, body, text } = await source.client.get(addressPath('vms-1'))
      return code === 200 && body.metadata.deletionTimestamp === undefined ? undefined : text
    })
    await untilAddresses(source.client, before)
    await sayProvisioned(source.client, namespace, cluster)
  })
  await sentences.it('the move gets through when it is run again', async () => {
    for (const pool of [machines, vms]) await say(source.client, pathOf(pool))
    await move(source, target)
    await untilAddresses(target.client, moving)
  })
  await sentences.it('each IPAddress that arrived has its claim and its pool as owners', () =>
    until('the owners are those of this cluster', () => wrongOwners(target.client)),
  )
  await sentences.it('a pool that arrived marked cannot be deleted from under its holders', async () => {
    for (const pool of [machines, vms]) {
      await until('the mark is off', async () => {
        const { annotations = {} } = must(await target.client.get(pathOf(pool))).metadata
        return mark in annotations ? 'it is on' : undefined
      })
      const { code, text } = await target.client.delete(pathOf(pool))
      if (code !== 400) throw new Error(`the deletion was answered with ${code}: ${text}`)
    }
  })
  await sentences.it('a claim that stayed keeps its address, and says when its IPAddress is lost', async () => {
    await untilAddresses(source.client, new Map([['stays', `${before.get('stays')}`]]))
    must(await source.client.delete(addressPath('stays')))
    must(await source.client.merge(addressPath('stays'), { metadata: { finalizers: null } }))
    await until('it says so', async () => {
      const said = JSON.stringify(must(await source.client.get(claimPath('stays'))).status ?? {})
      return /"status":"False"[^}]*is gone/.test(said) || /is gone[^}]*"status":"False"/.test(said) ? undefined : said
    })
  })
  await sentences.it('a move passes while Mooring is away where it moves from', async () => {
    await sayProvisioned(target.client, namespace, cluster)
    await target.mooring.stop()
    await move(target, source)
    for (const pool of [machines, vms]) {
      const { code } = await target.client.get(pathOf(pool))
      if (code !== 404) throw new Error(`${pool.name} is still there: ${code}`)
    }
  })
  await sentences.it('every claim has the address it had, the one that stayed too', async () => {
    await untilAddresses(source.client, before)
    await until('the owners are those of this cluster', () => wrongOwners(source.client))
  })
}

/** Two claims of a Cluster on each pool, and one that nothing takes along. */
async function settle(client: Client): Promise<Map<string, string>> {
  await createNamespace(client, namespace)
  const owner = await createCluster(client, namespace, cluster)
  for (const [pool, spec] of specs) {
    await createPool(client, pool, namespace, spec)
    for (const number of [1, 2]) {
      await createClaim(client, { namespace, name: `${pool.name}-${number}`, pool, owner, clusterName: cluster })
    }
  }
  await createClaim(client, { namespace, name: 'stays', pool: machines })
  return untilBound(client, namespace, specs.size * 2 + 1)
}

const pathOf = ({ kind, name }: PoolRef): string => `${poolPath(kind, namespace)}/${name}`

/** As clusterctl does it: no annotation but its own. */
async function say(client: Client, path: string): Promise<void> {
  const others = Object.keys(must(await client.get(path)).metadata.annotations ?? {}).map(key => [key, null])
  must(await client.merge(path, { metadata: { annotations: { ...Object.fromEntries(others), [mark]: '' } } }))
}

async function untilAddresses(client: Client, expected: ReadonlyMap<string, string>): Promise<void> {
  const text = (addresses: ReadonlyMap<string, string>) => [...addresses].map(pair => pair.join(' ')).sort()
  await untilSame('each has its address', text(expected).join(', '), async () =>
    text(await addressesOf(client, namespace)).join(', '),
  )
}

async function wrongOwners(client: Client): Promise<string | undefined> {
  const uids = new Map<string, string>()
  const note = ({ kind = '', metadata }: Body, asKind = kind) => uids.set(`${asKind} ${metadata.name}`, metadata.uid)
  for (const claim of await list(client, 'ipaddressclaims', namespace)) note(claim, 'IPAddressClaim')
  for (const pool of specs.keys()) note(must(await client.get(pathOf(pool))))
  const wrong = (await list(client, 'ipaddresses', namespace)).flatMap(({ metadata, spec }) => {
    const owners = (metadata.ownerReferences ?? []).map(({ uid }) => uid)
    const pool = spec.poolRef as { kind: string; name: string }
    const wanted = [uids.get(`IPAddressClaim ${metadata.name}`), uids.get(`${pool.kind} ${pool.name}`)]
    return wanted.every(uid => owners.includes(uid))
      ? []
      : [`${metadata.name} has ${JSON.stringify(metadata.ownerReferences)}`]
  })
  return wrong.length === 0 ? undefined : wrong.join(', ')
}
