// Where in the ledger the addresses of a network lie.

import type { Pool } from '../../api/pool.ts'
import type { Network } from '../../networks/network.ts'
import type { VMWorld } from './world.ts'

/** One pool per family, to whichever namespaces they are offered. */
export const placesOf = (network: Network, { sources }: Pick<VMWorld, 'sources'>): readonly Pool[] =>
  network.pools.length > 0 ? network.pools : sources.poolsOf(network.source)
