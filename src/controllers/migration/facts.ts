// What the webhooks of the migration desk ask about the cluster. Answers come from caches: what these do not know yet, the controller
// meets a moment later, and says.

import type { SpaceOnWire } from '../../migration/check.ts'
import type { Sources } from '../office/sources.ts'
import { type KubeVirt, theKubeVirt } from './kubevirt.ts'
import { observe } from './observe.ts'
import { counting, readOrders } from './orders.ts'
import { decide } from './plan.ts'
import { spacesOnWires } from './wires.ts'
import type { Caches, MigrationWorld } from './world.ts'

export interface MigrationFacts {
  readonly caches: Caches
  /** Of which it is known on which wire they are. */
  spaces(): readonly SpaceOnWire[]
  /** The one of the cluster. */
  kubeVirt(): KubeVirt | undefined
  /** Why no migration should begin though KubeVirt is ready: its network is about to change. */
  pendingChange(): string | undefined
}

/** Undefined until what it is decided on has been listed once. */
export function migrationFacts(
  world: Omit<MigrationWorld, 'recorder' | 'note'>,
  sources: Sources,
): MigrationFacts | undefined {
  const { caches } = world
  if (!caches.kubeVirts.hasSynced || !caches.nodes.hasSynced) return undefined
  return {
    caches,
    spaces: () => spacesOnWires(world.views, sources, theKubeVirt(caches.kubeVirts.values())?.namespace ?? ''),
    kubeVirt: () => theKubeVirt(caches.kubeVirts.values()),
    pendingChange() {
      const order = counting(readOrders(caches))
      if (order === undefined) return undefined
      const { step, says } = decide(observe(order, world))
      const isPending = step?.kind === 'switch' || says?.reason === 'WaitingForMigrations'
      return isPending
        ? `the migration network is about to change, by ${order.kind.kind} ${order.object.metadata.name}`
        : undefined
    },
  }
}
