// What the reconciler of IPPools knows and may touch.

import type { Client } from '../../../kube/client.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { NetworksView } from '../../office/networks.ts'
import type { Sources } from '../../office/sources.ts'
import type { Views } from '../../office/views.ts'

export interface PoolsWorld {
  readonly client: Client
  readonly clock: Clock
  readonly views: Views
  readonly networks: NetworksView
  readonly sources: Pick<Sources, 'poolsIn'>
}
