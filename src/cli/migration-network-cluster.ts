// What `mooring migration-network` reads of a cluster, through the same eyes as the controller.

import {
  attachments,
  clusterNetworks,
  kubeVirts,
  migrationNetworks,
  migrations,
  nodes,
  pods,
  settings,
  vlanConfigs,
  vlanStatuses,
} from '../controllers/migration/kinds.ts'
import { type KubeVirt, theKubeVirt } from '../controllers/migration/kubevirt.ts'
import { counting, type Order, readOrders } from '../controllers/migration/orders.ts'
import { type Handler, readHandler } from '../controllers/migration/rollout.ts'
import { createCaches } from '../controllers/migration/world.ts'
import { isApiError } from '../kube/api-error.ts'
import type { Cache } from '../kube/cache.ts'
import type { Client } from '../kube/client.ts'
import type { Kind, KubeObject } from '../kube/object.ts'
import type { ClusterFacts } from '../migration/check.ts'
import { migratingIn, readCluster } from '../migration/cluster.ts'
import { lastOf, type Went } from '../migration/went.ts'

export interface SeenCluster {
  readonly facts: ClusterFacts
  /** What asks for a migration network; undefined where nothing can. */
  readonly order: Order | undefined
  readonly kubeVirt: KubeVirt | undefined
  readonly handlers: readonly Handler[]
  /** Names of the pods of KubeVirt that restart when its network changes. */
  readonly components: readonly string[]
  /** NetworkAttachmentDefinitions in the namespace of KubeVirt. */
  readonly attachments: readonly KubeObject[]
  /** Virtual machines, as namespace/name. */
  readonly migrating: readonly string[]
  /** The last migrations that are over; none where no migration network is in force. */
  readonly last: readonly Went[]
}

const lastMax = 5

/** Those whose pod template has the configuration in it. */
const componentSelector =
  'kubevirt.io in (virt-handler,virt-controller,virt-api,virt-exportproxy,virt-synchronization-controller)'

export async function listCluster(client: Client): Promise<SeenCluster> {
  const all = (kind: Kind) => itemsOf(client, kind)
  const caches = createCaches(false)
  const fill = async (kind: Kind, cache: Cache<KubeObject>) => cache.replace([...(await all(kind))], '')
  await fill(settings, caches.settings)
  await fill(migrationNetworks, caches.migrationNetworks)
  const order = counting(readOrders(caches))
  const kubeVirtObjects = await all(kubeVirts)
  const kubeVirt = theKubeVirt(kubeVirtObjects)
  const place = { namespace: kubeVirt?.namespace ?? order?.kubeVirt.namespace ?? '' }
  const isPlaced = place.namespace !== ''
  const components = isPlaced ? await client.list(pods, { ...place, labelSelector: componentSelector }) : { items: [] }
  const allMigrations = await all(migrations)
  const isHandler = ({ metadata }: KubeObject) => metadata.labels?.['kubevirt.io'] === 'virt-handler'
  return {
    facts: readCluster({
      nodes: await all(nodes),
      clusterNetworks: await all(clusterNetworks),
      vlanConfigs: await all(vlanConfigs),
      vlanStatuses: await all(vlanStatuses),
      settings: caches.settings.values(),
      kubeVirt: kubeVirt?.object,
      // Which spaces are on the wire is for the ledger to say: the webhook asks it when something is written.
      spaces: [],
    }),
    order,
    kubeVirt,
    handlers: components.items.filter(isHandler).map(readHandler),
    components: components.items.map(({ metadata }) => metadata.name ?? '').sort(),
    attachments: isPlaced ? await itemsOf(client, attachments, place) : [],
    migrating: migratingIn(allMigrations),
    last: order?.before === undefined ? [] : lastOf(allMigrations, order.before.ranges, lastMax),
  }
}

/** None of a kind that the server does not know. */
async function itemsOf(
  client: Client,
  kind: Kind,
  place: { readonly namespace?: string } = {},
): Promise<readonly KubeObject[]> {
  try {
    return (await client.list(kind, place)).items
  } catch (error) {
    if (isApiError(error, 'NotInstalled', 'NotFound')) return []
    throw error
  }
}
