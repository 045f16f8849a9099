// I4: a namespace that lost the label a pool asks for is given nothing, however late the cache learns of it.

import type { Pool } from '../../api/pool.ts'
import type { Client } from '../../kube/client.ts'
import { refresh } from '../../kube/refresh.ts'
import { namespaces } from './kinds.ts'
import type { Views } from './views.ts'

interface OfferWorld {
  readonly client: Pick<Client, 'get'>
  readonly caches: Pick<Views, 'namespaces'>
}

/** Whether the namespace is no longer what the cache shows; the cache then knows better, and the pass begins again. */
export async function isOfferOutdated(
  namespace: string,
  pools: readonly Pick<Pool, 'allowedNamespaces'>[],
  { client, caches }: OfferWorld,
): Promise<boolean> {
  if (pools.every(({ allowedNamespaces }) => allowedNamespaces === undefined)) return false
  const seen = caches.namespaces.get(namespace)
  await refresh(client, namespaces, caches.namespaces, { name: namespace })
  return caches.namespaces.get(namespace) !== seen
}
