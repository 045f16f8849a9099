// A migration that ends is announced once, with the network that it went over: by the process that sees it end. What was over before
// is not announced again, so nothing has to be remembered; `mooring migration-network status` reads it from the objects.

import type { Change } from '../../kube/cache.ts'
import type { KubeObject } from '../../kube/object.ts'
import { wentOf } from '../../migration/went.ts'
import { counting, readOrders } from './orders.ts'
import type { MigrationWorld } from './world.ts'

/** Nothing is said where no migration network is in force. */
export function announceEnd(
  { old, new: next }: Change<KubeObject>,
  { caches, recorder }: Pick<MigrationWorld, 'caches' | 'recorder'>,
): void {
  const network = counting(readOrders(caches))?.before
  if (network === undefined || old === undefined || next === undefined) return
  const went = wentOf(next, network.ranges)
  if (went === undefined || wentOf(old, network.ranges) !== undefined) return
  const { machine, targetNode, targetAddress } = went
  const what = `${machine} migrated to ${targetNode || 'its node'} by ${targetAddress}`
  const action = 'Migrate'
  if (went.network === 'Migration') {
    const note = `${what}, of the migration network`
    recorder.event({ about: next, type: 'Normal', reason: 'MigrationNetworkUsed', action, note })
    return
  }
  const note = `${what}, which is not of the migration network: look at ${targetNode} in mooring migration-network status`
  recorder.event({ about: next, type: 'Warning', reason: 'MigrationNetworkNotUsed', action, note })
}
