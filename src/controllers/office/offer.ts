// I4: a namespace that lost the label a pool asks for is given nothing, however late the cache learns of it. I5: nor is one
// that was made again under its name given what rests for the former one.

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
  return isNamespaceOutdated(namespace, { client, caches })
}

/** The same, before something is taken back out of quarantine: by a claim of the namespace that left it. */
export async function isNamespaceOutdated(namespace: string, { client, caches }: OfferWorld): Promise<boolean> {
  const seen = caches.namespaces.get(namespace)
  await refresh(client, namespaces, caches.namespaces, { name: namespace })
  return caches.namespaces.get(namespace) !== seen
}
