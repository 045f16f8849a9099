// Every write of the renderers, one function each. What exists is written under the uid and version it was decided on; what a
// write answers is put into the cache at once. A refusal is thrown, and the key is requeued.

import { type ConditionFact, setCondition } from '../../../api/condition.ts'
import { protectNetworkFinalizer } from '../../../api/names.ts'
import type { Metadata } from '../../../api/object.ts'
import type { UserDefinedNetwork } from '../../../api/user-defined-network.ts'
import { isApiError } from '../../../kube/api-error.ts'
import type { Cache } from '../../../kube/cache.ts'
import { removeFinalizer, withFinalizer, withoutFinalizer } from '../../../kube/finalizers.ts'
import { type Kind, type KubeObject, keyOf, refOf } from '../../../kube/object.ts'
import { patchSeen } from '../../../kube/patch-seen.ts'
import { refresh } from '../../../kube/refresh.ts'
import { timestamp } from '../../../kube/timestamp.ts'
import { attachments, clusterUserDefinedNetworks } from '../../office/kinds.ts'
import type { ImportWorld } from '../world.ts'

type World = Pick<ImportWorld, 'client' | 'caches' | 'clock' | 'note'>

const aboutOf = (kind: Kind, { namespace = '', name = '' }: Partial<Metadata>) => ({ kind: kind.kind, namespace, name })

const cacheOf = ({ caches }: World, kind: Kind): Pick<Cache<KubeObject>, 'get' | 'learn' | 'unlearn' | 'ended'> =>
  kind.kind === clusterUserDefinedNetworks.kind ? caches.clusterUDNs : caches.udns

/** The finalizer and what is shown on it, in one request: by both together a network is known to be rendered by Mooring. */
export function mark(
  world: World,
  kind: Kind,
  metadata: Metadata,
  shown: Readonly<Record<string, string>>,
): Promise<KubeObject> {
  const finalizers = withFinalizer({ metadata }, protectNetworkFinalizer)
  return patchNetwork(world, kind, metadata, { metadata: { annotations: shown, finalizers } })
}

/** Nothing is left of it: it may go. */
export async function unmark(world: World, kind: Kind, metadata: Metadata): Promise<void> {
  const finalizers = withoutFinalizer({ metadata }, protectNetworkFinalizer)
  await patchNetwork(world, kind, metadata, { metadata: { finalizers: finalizers.length === 0 ? null : finalizers } })
}

/**
 * Said once: the same again is no write. The definition of OVN-Kubernetes itself has no room for the name, and drops it; so a
 * name that is missing is not written again and again.
 */
export async function tell(
  world: World,
  kind: Kind,
  { metadata, networkName, shownName, conditions }: UserDefinedNetwork,
  fact: ConditionFact,
): Promise<void> {
  const next = setCondition(conditions, fact, timestamp(world.clock))
  if (next === conditions && [undefined, networkName].includes(shownName)) return
  await patchNetwork(world, kind, metadata, { status: { networkName, conditions: next } }, 'status')
  if (next !== conditions)
    world.note({ what: 'told', about: aboutOf(kind, metadata), reason: fact.reason, message: fact.message })
}

const patchNetwork = (world: World, kind: Kind, metadata: Metadata, patch: object, subresource?: 'status') =>
  patchSeen(world.client, kind, cacheOf(world, kind), { metadata }, patch, subresource)

/** What is there under this name already is answered instead: it is judged by its controller. */
export async function make({ client, caches, note }: World, wanted: KubeObject): Promise<KubeObject> {
  try {
    const stored = await client.create(attachments, wanted)
    caches.rendered.learn(stored)
    note({ what: 'made', about: aboutOf(attachments, refOf(stored)) })
    return stored
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists')) throw error
    const there = await client.get(attachments, refOf(wanted))
    if (there === undefined) throw error
    return there
  }
}

/** Labels as they are rendered and no others; annotations of others stay. */
export async function restore(
  { client, caches, note }: World,
  there: KubeObject,
  wanted: KubeObject,
): Promise<KubeObject> {
  const { name = '', namespace = '', uid = '', resourceVersion = '', labels: before = {} } = there.metadata
  const labels = { ...Object.fromEntries(Object.keys(before).map(key => [key, null])), ...wanted.metadata.labels }
  const finalizers = withFinalizer(there, protectNetworkFinalizer)
  const { spec } = wanted as { spec?: object }
  const patch = { metadata: { labels, annotations: wanted.metadata.annotations, finalizers }, spec }
  const metadata = { name, namespace, uid, resourceVersion }
  const stored = await patchSeen(client, attachments, caches.rendered, { metadata }, patch)
  note({ what: 'changed', about: aboutOf(attachments, metadata) })
  return stored
}

/** Deleted first, so that no pass in between finds it whole and without its finalizer. */
export async function remove({ client, caches, note }: World, attachment: KubeObject): Promise<void> {
  const { uid = '', resourceVersion = '' } = attachment.metadata
  const left = await client.delete(attachments, refOf(attachment), { uid, resourceVersion }).catch(async error => {
    // The cache is behind, and may stay so for long.
    if (isApiError(error, 'Conflict')) await refresh(client, attachments, caches.rendered, refOf(attachment))
    throw error
  })
  const now = left === 'deleting' ? await client.get(attachments, refOf(attachment)) : undefined
  if (now?.metadata.uid === uid) await removeFinalizer(client, attachments, now, protectNetworkFinalizer)
  caches.rendered.ended(keyOf(attachment), uid)
  note({ what: 'removed', about: aboutOf(attachments, refOf(attachment)) })
}
