// The desk of the migration network: over which network virtual machines move from node to node. What it brings, what it sees, and what
// wakes its reconciler: everything does, because there is one network, and what it is to be depends on all of it.

import type { Cache } from '../../kube/cache.ts'
import type { Kind, KubeObject } from '../../kube/object.ts'
import { hashKey } from '../../migration/names.ts'
import { defineReconciler } from '../../runtime/reconciler.ts'
import type { Desk, DeskInView } from '../desk.ts'
import { noteIn } from '../office/journal.ts'
import type { Office } from '../office/office.ts'
import { type Refusals, unaddressedOf } from './addresses/node-addresses.ts'
import { openAddresses } from './addresses/open.ts'
import { migrationFacts } from './facts.ts'
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
} from './kinds.ts'
import { handlerSelector } from './observe.ts'
import { migrationPermissions } from './permissions.ts'
import { reconcileNetwork } from './reconcile.ts'
import { migrationWebhooks } from './webhooks/webhooks.ts'
import { announceEnd } from './went.ts'
import { createCaches, type MigrationWorld } from './world.ts'

const harvester = 'Harvester'

export const migration: Desk = {
  name: 'migration',
  about: 'Virtual machines migrate over a network of their own',
  kinds: [
    { kind: kubeVirts, isNeeded: true, comesWith: 'KubeVirt' },
    { kind: migrations, isNeeded: true, comesWith: 'KubeVirt' },
    { kind: attachments, isNeeded: true, comesWith: 'Multus, KubeVirt or OVN-Kubernetes' },
    { kind: nodes, isNeeded: true, comesWith: 'every API server' },
    { kind: migrationNetworks, isNeeded: false, comesWith: "Mooring's definitions, config/crd" },
    { kind: settings, isNeeded: false, comesWith: harvester },
    { kind: clusterNetworks, isNeeded: false, comesWith: harvester },
    { kind: vlanConfigs, isNeeded: false, comesWith: harvester },
    { kind: vlanStatuses, isNeeded: false, comesWith: harvester },
  ],
  permissions: migrationPermissions,
  webhooks: migrationWebhooks,
  conversions: [],
  definitions: [],
  standIns: ['crd/harvester/'],
  see: seeMigration,
}

/** There is one network, so there is one key. */
const theNetwork = 'vm-migration-network'

function seeMigration(office: Office): DeskInView {
  const { client, clock, views, sources } = office
  const caches = createCaches(office.isFrozen)
  const refusals: Refusals = new Map()
  const unaddressed: MigrationWorld['unaddressed'] = (network, attachment) =>
    unaddressedOf(network, attachment, refusals, { caches, views, sources })
  const world = { client, clock, caches, views, unaddressed }
  return {
    facts: () => migrationFacts(world, sources),
    open(domain) {
      const recorder = office.recorderOf(migration.name)
      const network = domain.addReconciler(
        defineReconciler({
          name: 'migration.network',
          concurrency: 1,
          reconcile: (_, pass) =>
            reconcileNetwork({
              ...world,
              recorder,
              client: client.withPass(pass),
              note: noteIn(pass, undefined, { desk: migration.name, claimKind: '' }),
            } satisfies MigrationWorld),
        }),
      )
      office.needNetworks(domain)
      openAddresses(domain, office, caches, refusals, () => network.mark(theNetwork))
      const follow = (kind: Kind, cache: Cache<KubeObject>, isNeeded: boolean, labelSelector?: string) => {
        cache.subscribe(() => network.mark(theNetwork))
        office.watch(domain, kind, cache, { isNeeded, ...(labelSelector !== undefined && { labelSelector }) })
      }
      follow(nodes, caches.nodes, true)
      follow(kubeVirts, caches.kubeVirts, true)
      follow(migrations, caches.migrations, true)
      caches.migrations.subscribe(change => announceEnd(change, { caches, recorder }))
      follow(pods, caches.handlers, true, handlerSelector)
      follow(attachments, caches.made, true, hashKey)
      follow(settings, caches.settings, false)
      follow(migrationNetworks, caches.migrationNetworks, false)
      follow(clusterNetworks, caches.clusterNetworks, false)
      follow(vlanConfigs, caches.vlanConfigs, false)
      follow(vlanStatuses, caches.vlanStatuses, false)
    },
  }
}
