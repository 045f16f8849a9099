// Pools, claims and what became of them, in the words of the API server.

import type { Body, Client } from '../conformance/client.ts'
import { must } from './answers.ts'
import { until } from './until.ts'

export const ipam = '/apis/ipam.cluster.x-k8s.io'
const holds = '/apis/mooring.dev/v1alpha1/holds'
const clusters = '/apis/cluster.x-k8s.io/v1beta2'

export interface PoolKind {
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  readonly isNamespaced: boolean
}

const inCluster = 'ipam.cluster.x-k8s.io/v1alpha2'
const own = 'mooring.dev/v1alpha1'
const kind = (apiVersion: string, name: string, isNamespaced: boolean): PoolKind => ({
  apiVersion,
  kind: name,
  plural: `${name.toLowerCase()}s`,
  isNamespaced,
})

export const inClusterIPPool = kind(inCluster, 'InClusterIPPool', true)
export const globalInClusterIPPool = kind(inCluster, 'GlobalInClusterIPPool', false)
export const inClusterPrefixPool = kind(inCluster, 'InClusterPrefixPool', true)
export const addressPool = kind(own, 'AddressPool', true)
export const clusterAddressPool = kind(own, 'ClusterAddressPool', false)

export interface PoolRef {
  readonly kind: PoolKind
  readonly name: string
}

export function poolPath({ apiVersion, plural, isNamespaced }: PoolKind, namespace: string): string {
  return `/apis/${apiVersion}/${isNamespaced ? `namespaces/${namespace}/` : ''}${plural}`
}

export async function createPool(client: Client, ref: PoolRef, namespace: string, spec: object): Promise<void> {
  const { apiVersion, kind } = ref.kind
  must(await client.create(poolPath(ref.kind, namespace), { apiVersion, kind, metadata: { name: ref.name }, spec }))
}

export async function createNamespace(client: Client, name: string): Promise<void> {
  must(await client.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }))
}

export interface ClaimWish {
  readonly namespace: string
  readonly name: string
  readonly pool: PoolRef
  readonly clusterName?: string
  readonly owner?: Body
  readonly labels?: Readonly<Record<string, string>>
}

export async function createClaim(client: Client, wish: ClaimWish): Promise<void> {
  const { namespace, name, pool, clusterName, owner, labels } = wish
  const ownerReferences = owner && [
    { apiVersion: owner.apiVersion, kind: owner.kind, name: owner.metadata.name, uid: owner.metadata.uid },
  ]
  const [apiGroup] = pool.kind.apiVersion.split('/')
  must(
    await client.create(`${ipam}/v1beta2/namespaces/${namespace}/ipaddressclaims`, {
      apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
      kind: 'IPAddressClaim',
      metadata: { name, ...(ownerReferences && { ownerReferences }), ...(labels && { labels }) },
      spec: {
        poolRef: { apiGroup, kind: pool.kind.kind, name: pool.name },
        ...(clusterName && { clusterName }),
      },
    }),
  )
}

export async function list(
  client: Client,
  plural: 'ipaddressclaims' | 'ipaddresses',
  namespace: string,
): Promise<Body[]> {
  return must(await client.get(`${ipam}/v1beta2/namespaces/${namespace}/${plural}`)).items
}

/** The address of every claim of a namespace that says it is ready, by name; what its IPAddress shows. */
export async function addressesOf(client: Client, namespace: string): Promise<Map<string, string>> {
  const shown = new Map<string, string>()
  for (const { metadata, spec } of await list(client, 'ipaddresses', namespace)) {
    shown.set(metadata.name, `${spec.address}/${spec.prefix} via ${spec.gateway ?? 'none'}`)
  }
  const found = new Map<string, string>()
  for (const { metadata, status } of await list(client, 'ipaddressclaims', namespace)) {
    const { addressRef, conditions } = (status ?? {}) as {
      addressRef?: { name: string }
      conditions?: { type: string; status: string }[]
    }
    const isReady = conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')
    const address = addressRef && shown.get(addressRef.name)
    if (isReady && address !== undefined) found.set(metadata.name, address)
  }
  return found
}

export async function untilBound(client: Client, namespace: string, count: number): Promise<Map<string, string>> {
  let bound = new Map<string, string>()
  await until(`${count} claims of ${namespace} have an address`, async () => {
    bound = await addressesOf(client, namespace)
    return bound.size === count ? undefined : `${bound.size} have; ${await whyNot(client, namespace, bound)}`
  })
  return bound
}

/** What the claims that have none say. */
async function whyNot(client: Client, namespace: string, bound: ReadonlyMap<string, string>): Promise<string> {
  const without = (await list(client, 'ipaddressclaims', namespace)).filter(({ metadata }) => !bound.has(metadata.name))
  return without.map(({ metadata, status }) => `${metadata.name} says ${JSON.stringify(status ?? {})}`).join('; ')
}

/** `address claim-namespace/claim-name state`, in the order of addresses. */
export async function holdsIn(client: Client, namespace: string): Promise<string[]> {
  const rows = must(await client.get(holds)).items.flatMap(({ spec, status }) => {
    const claim = spec.claimRef as { namespace: string; name: string; uid: string }
    if (claim.namespace !== namespace) return []
    return [
      `${spec.address} ${claim.namespace}/${claim.name} ${(status as { state?: string } | undefined)?.state ?? 'held'}`,
    ]
  })
  return rows.sort()
}

/** A Cluster that is as far as clusterctl wants it to be before it moves it. */
export async function createCluster(client: Client, namespace: string, name: string): Promise<Body> {
  const path = `${clusters}/namespaces/${namespace}/clusters`
  const made = must(
    await client.create(path, {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: { name },
      // No controller serves this kind: its status is written by hand.
      spec: { infrastructureRef: { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'NoSuchCluster', name } },
    }),
  )
  await sayProvisioned(client, namespace, name)
  return made
}

/** clusterctl pauses what it moves, and does not move what is paused. */
export async function letGoOn(client: Client, namespace: string, name: string): Promise<void> {
  must(await client.merge(`${clusters}/namespaces/${namespace}/clusters/${name}`, { spec: { paused: false } }))
}

/** Status does not move; what no infrastructure provider writes here is written again by hand. */
export async function sayProvisioned(client: Client, namespace: string, name: string): Promise<void> {
  const path = `${clusters}/namespaces/${namespace}/clusters/${name}`
  const condition = {
    type: 'ControlPlaneInitialized',
    status: 'True',
    reason: 'Initialized',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }
  await until(`Cluster ${name} counts as provisioned`, async () => {
    const { status } = must(await client.get(path))
    const { conditions = [], initialization } = (status ?? {}) as {
      conditions?: { type: string; status: string }[]
      initialization?: { infrastructureProvisioned?: boolean }
    }
    const isInitialized = conditions.some(({ type, status }) => type === condition.type && status === 'True')
    if (isInitialized && initialization?.infrastructureProvisioned) return undefined
    const others = conditions.filter(({ type }) => type !== condition.type)
    const answer = await client.merge(`${path}/status`, {
      status: {
        initialization: { infrastructureProvisioned: true, controlPlaneInitialized: true },
        conditions: [...others, condition],
      },
    })
    return `the last answer was ${answer.code}`
  })
}
