// I3: what an IPPool keeps is given to no other claim, however late the cache learns of it. So before something new is taken on a
// network, IPPools are read, by one read for all passes that wait for one.

import type { Client } from '../../kube/client.ts'
import { keyOf } from '../../kube/object.ts'
import { sharedRead } from '../../kube/shared-read.ts'
import { type Clock, pause } from '../../runtime/clock.ts'
import { ipPools } from './kinds.ts'
import type { Views } from './views.ts'

/** Between two reads, so much longer than a read takes: lists of many entries must not keep the API server busy. */
const restShare = 4

/**
 * The cache of IPPools knows, when it is answered, all that was written before it was asked. One that is gone may still be known. Rejects
 * where one was listed that is not in view and may be gone.
 */
export function createReservationsRead(
  client: Pick<Client, 'list'>,
  views: Pick<Views, 'ipPools'>,
  clock: Clock,
): () => Promise<void> {
  const read = sharedRead(
    async () => {
      const startMs = clock.monotonicMs()
      const { items, resourceVersion } = await client.list(ipPools)
      const [unknown] = views.ipPools.learnAll(items, resourceVersion)
      if (unknown !== undefined) throw new Error(`IPPool ${keyOf(unknown)} is not in view yet`)
      return clock.monotonicMs() - startMs
    },
    tookMs => (tookMs === 0 ? undefined : pause(clock, tookMs * restShare)),
  )
  return async () => void (await read(''))
}
