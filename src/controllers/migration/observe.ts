// Everything that one decision about the migration network needs, gathered from caches. What a decision that takes something away
// rests on is asked of the API server (`askAgain`): a cache may show a state that is past.

import { ownText } from '../../api/shape.ts'
import type { KubeObject } from '../../kube/object.ts'
import { attachmentPrefix, hashKey, markerAnnotation } from '../../migration/names.ts'
import { nodesToServe } from '../../migration/nodes.ts'
import { attachments, kubeVirts, migrations, pods } from './kinds.ts'
import { readKubeVirt } from './kubevirt.ts'
import type { Order } from './orders.ts'
import type { Made, Seen } from './plan.ts'
import { type Handler, readHandler, type SelectedNode } from './rollout.ts'
import type { MigrationWorld } from './world.ts'

type World = Pick<MigrationWorld, 'client' | 'clock' | 'caches' | 'unaddressed'>

export const handlerSelector = 'kubevirt.io=virt-handler'
/** On a node, by virt-handler: whichever its value, virt-handler runs there or did. */
const schedulableLabel = 'kubevirt.io/schedulable'

export function observe(order: Order, world: World): Seen {
  const { caches } = world
  const { namespace, name } = order.kubeVirt
  return toSeen(order, world, {
    kubeVirt: caches.kubeVirts.get(`${namespace}/${name}`),
    handlers: [...caches.handlers.values()],
    migrations: [...caches.migrations.values()],
    made: [...caches.made.values()],
  })
}

/** The same, as the API server has it now. */
export async function askAgain(order: Order, world: World): Promise<Seen> {
  const { client, caches } = world
  const { namespace, name } = order.kubeVirt
  const kubeVirt = await client.get(kubeVirts, { namespace, name })
  if (kubeVirt !== undefined) caches.kubeVirts.learn(kubeVirt)
  const handlers = await client.list(pods, { namespace, labelSelector: handlerSelector })
  const running = await client.list(migrations)
  const made = await client.list(attachments, { namespace, labelSelector: hashKey })
  return toSeen(order, world, { kubeVirt, handlers: handlers.items, migrations: running.items, made: made.items })
}

/** What KubeVirt names, if a user took the label away by which the cache finds what this desk made. */
export async function unlabelledOf({ kubeVirt, made }: Seen, { client }: World): Promise<readonly Made[]> {
  const { namespace = '', network: name = '' } = kubeVirt ?? {}
  if (!name.startsWith(attachmentPrefix) || made.some(one => one.name === name)) return []
  const found = await client.get(attachments, { namespace, name })
  return found === undefined ? [] : [readMade(found)]
}

interface Objects {
  readonly kubeVirt: KubeObject | undefined
  readonly handlers: readonly KubeObject[]
  readonly migrations: readonly KubeObject[]
  readonly made: readonly KubeObject[]
}

function toSeen(order: Order, { caches, clock, unaddressed }: World, objects: Objects): Seen {
  const { asks, memory, before, kubeVirt } = order
  const isThere = ({ metadata }: KubeObject) => metadata.namespace === kubeVirt.namespace
  // Of other namespaces, they are not KubeVirt's, whatever a tenant labels them.
  const handlers = objects.handlers.filter(isThere).map(readHandler)
  return {
    asks,
    memory,
    before,
    kubeVirt: objects.kubeVirt && readKubeVirt(objects.kubeVirt),
    noKubeVirt: `kubevirts.kubevirt.io "${kubeVirt.namespace}/${kubeVirt.name}" not found`,
    made: objects.made.filter(isThere).map(readMade),
    ...selectedNodes(order, caches.nodes.values(), handlers),
    handlers,
    running: objects.migrations.filter(copiesMemory).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
    unaddressed,
    nowMs: clock.now(),
  }
}

function readMade(object: KubeObject): Made {
  const { metadata, spec } = object as KubeObject & { readonly spec?: { readonly config?: unknown } }
  const { name = '', labels = {}, annotations = {}, creationTimestamp, deletionTimestamp } = metadata
  const hash = ownText(labels, hashKey)
  return {
    name,
    hash: hash ?? '',
    config: typeof spec?.config === 'string' ? spec.config : '',
    hasMarks: hash !== undefined && ownText(annotations, markerAnnotation) === 'true',
    isDeleting: Boolean(deletionTimestamp),
    createdAt: creationTimestamp ?? '',
    object,
  }
}

interface NodeObject extends KubeObject {
  readonly status?: { readonly conditions?: readonly { readonly type?: string; readonly status?: string }[] }
}

/** Those that virt-handler runs on: others have nothing to roll out. */
function selectedNodes({ asks, before }: Order, objects: Iterable<KubeObject>, handlers: readonly Handler[]) {
  const { nodeSelector } = (asks.kind === 'network' ? asks.network : before) ?? { nodeSelector: {} }
  const all = [...objects].map(object => {
    const { metadata, status } = object as NodeObject
    const conditions = Array.isArray(status?.conditions) ? status.conditions : []
    const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
    return { name: metadata.name ?? '', uid: metadata.uid ?? '', labels: metadata.labels ?? {}, isReady }
  })
  const running = new Set(handlers.map(({ node }) => node))
  const selected = nodesToServe(all, { nodeSelector })
  const served = selected.filter(
    ({ name, labels }) => running.has(name) || ownText(labels, schedulableLabel) !== undefined,
  )
  const nodes = served.map(({ name, uid, isReady }): SelectedNode => ({ name, uid, isReady }))
  return { nodes, needed: selected.length }
}

/** From here on memory is copied, or about to be; what has only been asked for waits in KubeVirt, and is not cut by a restart. */
const copying = new Set(['PreparingTarget', 'TargetReady', 'Running', 'WaitingForSync', 'Synchronizing'])

function copiesMemory(object: KubeObject): boolean {
  const { status } = object as KubeObject & { readonly status?: { readonly phase?: unknown } }
  return typeof status?.phase === 'string' && copying.has(status.phase)
}
