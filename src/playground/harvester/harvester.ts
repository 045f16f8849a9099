// Harvester: a stand-in for what it brings to a cluster, as far as the network of migrations goes. The setting `vm-migration-network` is
// there, and empty; so is the cluster network `mgmt`, on every node. A VlanConfig that a user makes is carried out on the nodes that it
// selects, in words: which these are, and a VlanStatus for each.

import { crc32 } from 'node:zlib'
import { clusterNetworkLabel, matchedNodesAnnotation, witnessLabel } from '../../api/harvester.ts'
import { isApiError } from '../../kube/api-error.ts'
import { isDeleting } from '../../kube/finalizers.ts'
import { keyOf, refOf } from '../../kube/object.ts'
import { timestamp } from '../../kube/timestamp.ts'
import { managementNetwork, settingName } from '../../migration/names.ts'
import { Manager } from '../../runtime/manager.ts'
import { defineReconciler, done, type PassResult } from '../../runtime/reconciler.ts'
import { follow, type PlaygroundParts } from '../follow.ts'
import { clusterNetworks, nodes, settings, vlanConfigs, vlanStatuses } from '../kinds.ts'
import { failVlanAnnotation } from '../names.ts'
import { type HarvesterObject, isSame, type Node, type VlanConfig, withCondition } from '../shapes.ts'

/** Resolves when it works, or is known to wait for a kind that is not installed. */
export async function startHarvester(parts: PlaygroundParts): Promise<{ backlog(): number; stop(): Promise<void> }> {
  const { client, clock, random } = parts
  const log = parts.log.with({ playground: 'Harvester (stand-in)' })
  const manager = new Manager({ clock, random, log })
  const domain = manager.domain('harvester')
  const seen = { ...parts, log }
  const caches = {
    settings: follow<HarvesterObject>(seen, domain, settings),
    clusterNetworks: follow<HarvesterObject>(seen, domain, clusterNetworks),
    vlanConfigs: follow<VlanConfig>(seen, domain, vlanConfigs),
    vlanStatuses: follow<HarvesterObject>(seen, domain, vlanStatuses),
    nodes: follow<Node>(seen, domain, nodes),
  }
  const world = { client, clock, caches }
  const life = domain.addReconciler(
    defineReconciler({
      name: 'playground.harvester',
      concurrency: 1,
      reconcile: (_, pass) => keepHarvester({ ...world, client: client.withPass(pass) }),
    }),
  )
  for (const cache of Object.values(caches)) cache.subscribe(() => life.mark('all'))
  life.mark('all')
  await manager.start()
  log.info('playground (stand-in) Harvester keeps its setting and carries out VlanConfigs in words alone')
  return { backlog: () => manager.backlog, stop: () => manager.stop('shutdown') }
}

interface World extends Pick<PlaygroundParts, 'client' | 'clock'> {
  readonly caches: {
    readonly settings: ReturnType<typeof follow<HarvesterObject>>
    readonly clusterNetworks: ReturnType<typeof follow<HarvesterObject>>
    readonly vlanConfigs: ReturnType<typeof follow<VlanConfig>>
    readonly vlanStatuses: ReturnType<typeof follow<HarvesterObject>>
    readonly nodes: ReturnType<typeof follow<Node>>
  }
}

async function keepHarvester(world: World): Promise<PassResult> {
  const { client, caches } = world
  if (caches.settings.get(settingName) === undefined) {
    const setting = {
      apiVersion: 'harvesterhci.io/v1beta1',
      kind: 'Setting',
      metadata: { name: settingName },
      default: '',
      value: '',
    }
    const made = await client.create(settings, setting).catch(unlessThere)
    if (made !== undefined) caches.settings.learn(made)
  }
  if (caches.clusterNetworks.get(managementNetwork) === undefined) {
    const made = await client.create(clusterNetworks, toClusterNetwork(managementNetwork)).catch(unlessThere)
    if (made !== undefined) caches.clusterNetworks.learn(made)
  }
  const configs = [...caches.vlanConfigs.values()].filter(one => !isDeleting(one))
  const known = new Set([managementNetwork, ...configs.map(({ spec }) => spec?.clusterNetwork ?? '')])
  for (const network of caches.clusterNetworks.values())
    if (known.has(network.metadata.name ?? '')) await sayReady(network, world)
  for (const config of configs) await carryOut(config, world)
  return done()
}

const unlessThere = (error: unknown): undefined => {
  if (!isApiError(error, 'AlreadyExists')) throw error
}

const toClusterNetwork = (name: string): HarvesterObject => ({
  apiVersion: 'network.harvesterhci.io/v1beta1',
  kind: 'ClusterNetwork',
  metadata: { name },
})

/** It says so from its first node on, not from its last. */
async function sayReady(network: HarvesterObject, { client, clock, caches }: World): Promise<void> {
  const conditions = withCondition(network.status?.conditions, { type: 'ready', status: 'True' }, timestamp(clock))
  if (isSame(network.status?.conditions, conditions)) return
  const patch = { status: { conditions } }
  caches.clusterNetworks.learn(
    await client.mergePatch(clusterNetworks, refOf(network), patch, { subresource: 'status' }),
  )
}

async function carryOut(config: VlanConfig, world: World): Promise<void> {
  const { client, caches } = world
  const clusterNetwork = config.spec?.clusterNetwork ?? ''
  const selected = [...caches.nodes.values()].filter(node => isSelected(node, config))
  const names = selected.map(({ metadata }) => metadata.name ?? '').toSorted()
  const metadata = {
    labels: { [clusterNetworkLabel]: clusterNetwork },
    annotations: { [matchedNodesAnnotation]: JSON.stringify(names) },
  }
  const { labels = {}, annotations = {} } = config.metadata
  const isMarked =
    labels[clusterNetworkLabel] === clusterNetwork && annotations[matchedNodesAnnotation] === JSON.stringify(names)
  if (!isMarked) caches.vlanConfigs.learn(await client.mergePatch(vlanConfigs, refOf(config), { metadata }))
  for (const node of selected) await showOn(node, config, clusterNetwork, world)
  for (const one of caches.vlanStatuses.values()) {
    const isOf = one.metadata.ownerReferences?.some(({ uid }) => uid === config.metadata.uid)
    if (!isOf || names.includes(one.status?.node ?? '')) continue
    await client.delete(vlanStatuses, refOf(one))
    caches.vlanStatuses.ended(keyOf(one), one.metadata.uid ?? '')
  }
}

function isSelected({ metadata: { labels = {} } }: Node, { spec }: VlanConfig): boolean {
  if (labels[witnessLabel] !== undefined) return false
  return Object.entries(spec?.nodeSelector ?? {}).every(([key, value]) => labels[key] === value)
}

async function showOn(node: Node, config: VlanConfig, clusterNetwork: string, world: World): Promise<void> {
  const { client, clock, caches } = world
  const name = statusName(clusterNetwork, node.metadata.name ?? '')
  const why = node.metadata.annotations?.[failVlanAnnotation]
  const ready = why === undefined ? { status: 'True' } : { status: 'False', message: why || 'it was told to fail' }
  const found = caches.vlanStatuses.get(name)
  const conditions = withCondition(found?.status?.conditions, { type: 'ready', ...ready }, timestamp(clock))
  const status = {
    clusterNetwork,
    vlanConfig: config.metadata.name ?? '',
    linkMonitor: clusterNetwork,
    node: node.metadata.name ?? '',
    conditions,
  }
  if (found !== undefined && isSame(found.status, status)) return
  const prefix = 'network.harvesterhci.io'
  const object: HarvesterObject = {
    apiVersion: `${prefix}/v1beta1`,
    kind: 'VlanStatus',
    metadata: {
      name,
      labels: {
        [clusterNetworkLabel]: clusterNetwork,
        [`${prefix}/vlanconfig`]: status.vlanConfig,
        [`${prefix}/node`]: status.node,
      },
      ownerReferences: [
        {
          apiVersion: `${prefix}/v1beta1`,
          kind: 'VlanConfig',
          name: status.vlanConfig,
          uid: config.metadata.uid ?? '',
        },
      ],
    },
  }
  if (found === undefined) await client.create(vlanStatuses, object).catch(unlessThere)
  caches.vlanStatuses.learn(await client.mergePatch(vlanStatuses, { name }, { status }, { subresource: 'status' }))
}

/** As Harvester calls it. */
function statusName(clusterNetwork: string, node: string): string {
  const whole = `${clusterNetwork}-${node}`
  return `${whole.slice(0, 54)}-${crc32(whole).toString(16).padStart(8, '0')}`
}
