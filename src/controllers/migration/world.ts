// What the migration desk knows and may touch. Its reconciler and its webhooks take all of it from here and nothing from anywhere
// else.

import { Cache } from '../../kube/cache.ts'
import type { Client } from '../../kube/client.ts'
import type { Recorder } from '../../kube/events.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { Wanted } from '../../migration/wanted.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Note } from '../office/journal.ts'
import type { Views } from '../office/views.ts'
import { keepHandler, keepMigration, keepNode, keepSetting } from './kept.ts'
import type { Unaddressed } from './plan.ts'

/** `kept.ts` says what stays of those that are large or hold what is none of our business. The others are few and small: whole. */
export interface Caches {
  readonly settings: Cache<KubeObject>
  readonly migrationNetworks: Cache<KubeObject>
  readonly clusterNetworks: Cache<KubeObject>
  readonly vlanConfigs: Cache<KubeObject>
  readonly vlanStatuses: Cache<KubeObject>
  /** Large, and there is one. */
  readonly kubeVirts: Cache<KubeObject>
  readonly migrations: Cache<KubeObject>
  readonly nodes: Cache<KubeObject>
  /** Those of virt-handler, in whichever namespace. */
  readonly handlers: Cache<KubeObject>
  /** NetworkAttachmentDefinitions with the label of those that this desk makes. */
  readonly made: Cache<KubeObject>
}

export interface MigrationWorld {
  readonly client: Client
  readonly clock: Clock
  readonly recorder: Pick<Recorder, 'event'>
  /** Of the pass that runs. */
  readonly note: Note
  readonly caches: Caches
  readonly views: Views
  /** Nodes that have no address of the network yet, each with the reason. */
  unaddressed(network: Wanted, attachment: string): Unaddressed
}

export function createCaches(isFrozen: boolean): Caches {
  const cache = (keep?: (object: KubeObject) => KubeObject) =>
    new Cache<KubeObject>({ isFrozen, ...(keep && { keep }) })
  return {
    settings: cache(keepSetting),
    migrationNetworks: cache(),
    clusterNetworks: cache(),
    vlanConfigs: cache(),
    vlanStatuses: cache(),
    kubeVirts: cache(),
    migrations: cache(keepMigration),
    nodes: cache(keepNode),
    handlers: cache(keepHandler),
    made: cache(),
  }
}
