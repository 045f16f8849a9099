// A merge patch of an object as it was seen: under its uid and version. What the API server answers is in the cache at once, so
// that the next pass of this process sees it. Where it refuses because the object has changed, or is gone, the cache is behind, and
// may stay so for long: a pass that runs again on the same cache would do the same again and again. So the cache is refreshed
// before the refusal is passed on.

import { isApiError } from './api-error.ts'
import type { Cache } from './cache.ts'
import type { Client } from './client.ts'
import type { Kind, KubeObject } from './object.ts'
import { refresh } from './refresh.ts'

interface Seen {
  readonly metadata: {
    readonly name: string
    /** Empty for an object without a namespace. */
    readonly namespace: string
    readonly uid: string
    readonly resourceVersion: string
  }
}

export async function patchSeen(
  client: Pick<Client, 'mergePatch' | 'get'>,
  kind: Kind,
  cache: Pick<Cache<KubeObject>, 'get' | 'learn' | 'unlearn'>,
  { metadata }: Seen,
  patch: object,
  subresource?: 'status',
): Promise<KubeObject> {
  const { name, namespace, uid, resourceVersion } = metadata
  const ref = kind.namespaced ? { name, namespace } : { name }
  try {
    const options = { resourceVersion, uid, ...(subresource && { subresource }) }
    const answer = await client.mergePatch(kind, ref, patch, options)
    cache.learn(answer)
    return answer
  } catch (error) {
    if (isApiError(error, 'Conflict', 'NotFound')) await refresh(client, kind, cache, ref)
    throw error
  }
}
