// clusterctl installs Mooring, replaces it by a later version, and takes it away again, as it does every provider.

import type { Body, Client } from '../conformance/client.ts'
import { must } from './answers.ts'
import type { Clusterctl } from './clusterctl.ts'
import { firstProviders, init, type Management } from './management.ts'
import type { Repository } from './repository.ts'
import type { Sentences } from './sentences.ts'
import { until } from './until.ts'

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const providers = '/apis/clusterctl.cluster.x-k8s.io/v1alpha3/providers'
const ours = '?labelSelector=cluster.x-k8s.io/provider=ipam-mooring'

/** Definitions stay when a provider is deleted, and with them all that people made. */
const poolKinds = [
  'addresspools.mooring.dev',
  'clusteraddresspools.mooring.dev',
  'globalinclusterippools.ipam.cluster.x-k8s.io',
  'globalinclusterprefixpools.ipam.cluster.x-k8s.io',
  'inclusterippools.ipam.cluster.x-k8s.io',
  'inclusterprefixpools.ipam.cluster.x-k8s.io',
]

export async function checkInit(
  sentences: Sentences,
  management: Management,
  clusterctl: Clusterctl,
  repository: Repository,
): Promise<void> {
  const { client, kubeconfig } = management
  const { version, laterVersion } = repository

  await sentences.it(
    `clusterctl init installs Mooring ${version} beside Cluster API ${repository.coreVersion}`,
    async () => {
      await init(management, clusterctl, firstProviders(repository))
      await untilDeployed(client, version)
      expectSame('the version in the inventory', version, await inventoryVersion(client))
    },
  )

  await sentences.it('its pools are kinds that clusterctl moves, and its holds are not', async () => {
    const crds = must(await client.get(definitions)).items
    const movable = crds.filter(crd => isOurs(crd) && isMoved(crd)).map(crd => crd.metadata.name)
    expectSame('kinds that move', poolKinds.join(' '), movable.toSorted().join(' '))
    // Below a pool of the whole cluster that is moved with its hierarchy, clusterctl deletes nothing on the source.
    const leaving = crds.filter(crd => crd.spec.scope === 'Cluster' && hasLabel(crd, 'move-hierarchy'))
    expectSame('kinds that would leave addresses behind', '', leaving.map(crd => crd.metadata.name).join(' '))
  })

  await sentences.it('its program runs in a container that clusterctl takes for the manager', async () => {
    const [deployment] = await deploymentsOf(client)
    const containers = containersOf(deployment).map(({ name }) => name)
    if (!containers.includes('manager')) throw new Error(`the containers are ${containers.join(', ')}`)
  })

  await sentences.it(`clusterctl upgrade offers and applies ${laterVersion}`, async () => {
    const plan = await clusterctl(['upgrade', 'plan'], kubeconfig)
    if (!plan.includes(laterVersion)) throw new Error(`the plan does not name ${laterVersion}:\n${plan}`)
    await clusterctl(['upgrade', 'apply', `--ipam=mooring:${laterVersion}`], kubeconfig)
    await untilDeployed(client, laterVersion)
    expectSame('the version in the inventory', laterVersion, await inventoryVersion(client))
  })

  await sentences.it('clusterctl delete takes Mooring away, and leaves the pools', async () => {
    await clusterctl(['delete', '--ipam=mooring'], kubeconfig)
    await until('the Deployment is gone', async () => {
      const left = await deploymentsOf(client)
      return left.length === 0 ? undefined : `${left.length} left`
    })
    const kinds = must(await client.get(definitions))
      .items.filter(isOurs)
      .map(crd => crd.metadata.name)
    for (const kind of poolKinds) if (!kinds.includes(kind)) throw new Error(`${kind} is gone`)
  })

  await sentences.it('and init brings it back', async () => {
    await init(management, clusterctl, [`--ipam=mooring:${version}`])
    await untilDeployed(client, version)
  })
}

function isOurs(crd: Body): boolean {
  return crd.metadata.labels?.['cluster.x-k8s.io/provider'] === 'ipam-mooring'
}

function hasLabel(crd: Body, label: string): boolean {
  return crd.metadata.labels?.[`clusterctl.cluster.x-k8s.io/${label}`] !== undefined
}

function isMoved(crd: Body): boolean {
  return hasLabel(crd, 'move') || hasLabel(crd, 'move-hierarchy')
}

async function inventoryVersion(client: Client): Promise<string> {
  const items = must(await client.get(providers)).items.filter(({ providerName }) => providerName === 'mooring')
  return items.map(({ version }) => String(version)).join(', ')
}

async function deploymentsOf(client: Client): Promise<Body[]> {
  return must(await client.get(`/apis/apps/v1/deployments${ours}`)).items
}

function containersOf(deployment: Body | undefined): { name: string; image: string }[] {
  const spec = deployment?.spec as
    | { template?: { spec?: { containers?: { name: string; image: string }[] } } }
    | undefined
  return spec?.template?.spec?.containers ?? []
}

async function untilDeployed(client: Client, version: string): Promise<void> {
  await until(`the Deployment names ${version}`, async () => {
    const images = (await deploymentsOf(client)).flatMap(containersOf).map(({ image }) => image)
    return images.length > 0 && images.every(image => image.endsWith(`:${version}`)) ? undefined : images.join(', ')
  })
}

function expectSame(what: string, expected: string, seen: string): void {
  if (seen !== expected) throw new Error(`${what}: expected "${expected}", saw "${seen}"`)
}
