// That no pool or network of the cluster has the name of a space is decided once for a pool, and stored: a cache that is behind,
// or empty for want of a permission, must not decide it. So what can have the name is listed first.

import { clusterAddressPoolKind } from '../../../api/address-pool.ts'
import { isApiError } from '../../../kube/api-error.ts'
import type { Cache } from '../../../kube/cache.ts'
import type { Client } from '../../../kube/client.ts'
import { type Kind, type KubeObject, nameOfKind } from '../../../kube/object.ts'
import { sharedRead } from '../../../kube/shared-read.ts'
import { type Clock, pause } from '../../../runtime/clock.ts'
import { describeError } from '../../../telemetry/log.ts'
import { attachments, kindAs } from '../kinds.ts'
import type { Scope } from '../scope.ts'
import { poolCacheOf, type Views } from '../views.ts'

const clusterAddressPools = kindAs(clusterAddressPoolKind)

/** Between two reads, so much longer than a read takes: many new pools must not keep the API server busy. */
const restShare = 4

/**
 * The caches know, when it is answered, all ClusterAddressPools and NetworkAttachmentDefinitions that were written before it was
 * asked. The answer says why they do not; undefined if they do. A kind that is not installed has no objects.
 */
export function createSpaceNamesRead(
  client: Pick<Client, 'list'>,
  views: Pick<Views, 'pools' | 'attachments'>,
  clock: Clock,
  { namespace }: Pick<Scope, 'namespace'>,
): () => Promise<string | undefined> {
  const learn = async (
    kind: Kind,
    cache: Pick<Cache<KubeObject>, 'learn'> | undefined,
  ): Promise<string | undefined> => {
    try {
      const { items } = await client.list(kind, kind.namespaced && namespace !== '' ? { namespace } : {})
      for (const item of items) cache?.learn(item)
      return undefined
    } catch (error) {
      return isApiError(error, 'NotInstalled')
        ? undefined
        : `${nameOfKind(kind)} cannot be read: ${describeError(error)}`
    }
  }
  const read = sharedRead(
    async () => {
      const startMs = clock.monotonicMs()
      const problems = [
        await learn(clusterAddressPools, poolCacheOf(views, clusterAddressPools)),
        await learn(attachments, views.attachments),
      ]
      return { why: problems.find(problem => problem !== undefined), tookMs: clock.monotonicMs() - startMs }
    },
    ({ tookMs }) => (tookMs === 0 ? undefined : pause(clock, tookMs * restShare)),
  )
  return async () => (await read('')).why
}
