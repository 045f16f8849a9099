// Our finalizer among others' (I13). The list is one field and is written whole, so every write carries the version of the
// list it was computed from, and a conflict means that another controller changed it. Others' finalizers stay as they are,
// in their order.

import { isApiError } from './api-error.ts'
import type { Client } from './client.ts'
import { type Kind, type KubeObject, refOf } from './object.ts'

export function hasFinalizer({ metadata }: KubeObject, finalizer: string): boolean {
  return metadata.finalizers?.includes(finalizer) ?? false
}

export function isDeleting({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.deletionTimestamp !== null
}

interface Guarded {
  readonly metadata: { readonly finalizers?: readonly string[] }
}

/** The list with ours in it, for a patch that also stores something else. */
export function withFinalizer({ metadata }: Guarded, finalizer: string): readonly string[] {
  const { finalizers = [] } = metadata
  return finalizers.includes(finalizer) ? finalizers : [...finalizers, finalizer]
}

export function withoutFinalizer({ metadata }: Guarded, finalizer: string): readonly string[] {
  return (metadata.finalizers ?? []).filter(name => name !== finalizer)
}

/** These are about the order in which owners and what they own go, and wait for us. */
const finalizersOfTheServer = ['foregroundDeletion', 'orphan']

/** Another controller still needs the object, as a rule because a machine still runs: until then what it has is in use. */
export function isKeptByOthers({ metadata }: Guarded, ours: string): boolean {
  return (metadata.finalizers ?? []).some(name => name !== ours && !finalizersOfTheServer.includes(name))
}

type Patcher = Pick<Client, 'mergePatch'>

/** One write at most. An object that is being deleted takes no new finalizer: it is answered as it is. */
export async function addFinalizer<T extends KubeObject>(
  client: Patcher,
  kind: Kind<T>,
  object: T,
  finalizer: string,
): Promise<T> {
  if (isDeleting(object) || hasFinalizer(object, finalizer)) return object
  return patchList(client, kind, object, withFinalizer(object, finalizer))
}

/** One write at most. The answer is the object without ours, or undefined when it is gone. */
export async function removeFinalizer<T extends KubeObject>(
  client: Patcher,
  kind: Kind<T>,
  object: T,
  finalizer: string,
): Promise<T | undefined> {
  if (!hasFinalizer(object, finalizer)) return object
  try {
    return await patchList(client, kind, object, withoutFinalizer(object, finalizer))
  } catch (error) {
    if (isApiError(error, 'NotFound')) return undefined
    throw error
  }
}

function patchList<T extends KubeObject>(
  client: Patcher,
  kind: Kind<T>,
  object: T,
  finalizers: readonly string[],
): Promise<T> {
  const { uid, resourceVersion } = object.metadata
  if (uid === undefined || resourceVersion === undefined) {
    throw new Error('the finalizers of an object that was never stored cannot be changed')
  }
  // A merge patch removes a field only by null.
  const patch = { metadata: { finalizers: finalizers.length === 0 ? null : finalizers } }
  return client.mergePatch(kind, refOf(object), patch, { uid, resourceVersion })
}
