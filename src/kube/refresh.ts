// One object as the API server has it now, where the cache may be too old to decide on. The cache then has it too, or knows
// that it is gone; what arrives in the cache while the read is under way stays.

import type { Cache } from './cache.ts'
import type { Client } from './client.ts'
import { type Kind, type KubeObject, keyOfRef, type ObjectRef } from './object.ts'

type View<T extends KubeObject> = Pick<Cache<T>, 'get' | 'learn' | 'unlearn'>

export async function refresh<T extends KubeObject>(
  client: Pick<Client, 'get'>,
  kind: Kind<T>,
  view: View<T>,
  ref: ObjectRef,
): Promise<T | undefined> {
  const key = keyOfRef(ref)
  const seen = view.get(key)
  const live = await client.get(kind, ref)
  if (live === undefined) view.unlearn(key, seen)
  else view.learn(live)
  return live
}
