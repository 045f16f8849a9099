// What sets say of themselves. The same again is no write.

import { isDeepStrictEqual } from 'node:util'
import type { Cache } from '../../../kube/cache.ts'
import type { Kind, KubeObject } from '../../../kube/object.ts'
import { patchSeen } from '../../../kube/patch-seen.ts'
import type { SetsWorld } from './world.ts'

export interface SetObject {
  readonly kind: Kind
  readonly cache: Cache<KubeObject>
  readonly object: KubeObject
}

/** True where it was not said before. A field that is null is taken out. */
export async function sayOfSet(
  { client }: Pick<SetsWorld, 'client'>,
  { kind, cache, object }: SetObject,
  status: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  const { status: before = {} } = object as { readonly status?: Readonly<Record<string, unknown>> }
  const isSaid = Object.entries(status).every(([key, value]) => isDeepStrictEqual(before[key] ?? null, value))
  if (isSaid) return false
  const { name = '', namespace = '', uid = '', resourceVersion = '' } = object.metadata
  await patchSeen(client, kind, cache, { metadata: { name, namespace, uid, resourceVersion } }, { status }, 'status')
  return true
}
