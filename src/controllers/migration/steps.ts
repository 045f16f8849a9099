// Every write of the migration desk, one function each. What exists is written under the uid and version it was decided on; what a
// write answers is put into the cache at once.

import type { ConditionFact } from '../../api/condition.ts'
import { migrationNetworkFinalizer } from '../../api/names.ts'
import { isRecord, ownText } from '../../api/shape.ts'
import { isApiError } from '../../kube/api-error.ts'
import { withFinalizer, withoutFinalizer } from '../../kube/finalizers.ts'
import { type Kind, type KubeObject, keyOf, refOf } from '../../kube/object.ts'
import { patchSeen } from '../../kube/patch-seen.ts'
import { refresh } from '../../kube/refresh.ts'
import { timestamp } from '../../kube/timestamp.ts'
import { configOf, toAttachment } from '../../migration/attachment.ts'
import { hashKey, markerAnnotation } from '../../migration/names.ts'
import { attachments, kubeVirts, migrationNetworks } from './kinds.ts'
import { type Order, toAnnotations } from './orders.ts'
import type { Memory, Step } from './plan.ts'
import type { MigrationWorld } from './world.ts'

type World = Pick<MigrationWorld, 'client' | 'caches' | 'clock' | 'recorder' | 'note'>

type StepOf<K extends Step['kind']> = Extract<Step, { kind: K }>

/** Its name follows from what it says: one that is there already was made by a pass that was cut off, and is judged by the next. */
export async function makeAttachment({ client, caches, note }: World, { network }: StepOf<'make'>): Promise<void> {
  const wanted: KubeObject = toAttachment(network)
  try {
    caches.made.learn(await client.create(attachments, wanted))
    note({ what: 'made', about: { ...aboutOf(wanted), kind: attachments.kind } })
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists')) throw error
    const found = await client.get(attachments, refOf(wanted))
    if (found === undefined) throw error
    caches.made.learn(found)
  }
}

/** What others added to its configuration that says nothing of addresses, as an MTU, stays where it is not asked for. */
export async function restoreAttachment(
  { client, caches, note }: World,
  { made, network }: StepOf<'restore'>,
): Promise<void> {
  const before = parsed(made.config)
  const config = {
    ...configOf(network),
    ...(before?.mtu !== undefined && network.wire.mtu === 0 && { mtu: before.mtu }),
  }
  const patch = {
    metadata: { labels: { [hashKey]: network.hash }, annotations: { [markerAnnotation]: 'true' } },
    spec: { config: JSON.stringify(config) },
  }
  await patchSeen(client, attachments, caches.made, seenAs(made.object), patch)
  note({ what: 'changed', about: { ...aboutOf(made.object), kind: attachments.kind } })
}

function parsed(config: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(config)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Other fields of `migrations` belong to others, and stay. */
export async function switchKubeVirt(
  { client, caches, note }: World,
  { kubeVirt, network }: StepOf<'switch'>,
): Promise<void> {
  const patch = { spec: { configuration: { migrations: { network: network === '' ? null : network } } } }
  await patchSeen(client, kubeVirts, caches.kubeVirts, seenAs(kubeVirt.object), patch)
  const message = network === '' ? 'its migrations go over the management network' : `its migrations go over ${network}`
  note({ what: 'changed', about: { ...aboutOf(kubeVirt.object), kind: kubeVirts.kind }, message })
}

export async function removeAttachment({ client, caches, note }: World, { made }: StepOf<'remove'>): Promise<void> {
  const { object } = made
  const { uid = '', resourceVersion = '' } = object.metadata
  const left = await client.delete(attachments, refOf(object), { uid, resourceVersion }).catch(async error => {
    if (isApiError(error, 'Conflict')) await refresh(client, attachments, caches.made, refOf(object))
    throw error
  })
  if (left === 'deleting') await refresh(client, attachments, caches.made, refOf(object))
  else caches.made.ended(keyOf(object), uid)
  note({ what: 'removed', about: { ...aboutOf(object), kind: attachments.kind } })
}

// --- the order itself ---

export async function hold({ client, caches }: World, order: Order): Promise<void> {
  const finalizers = withFinalizer(order.object, migrationNetworkFinalizer)
  await patchSeen(client, order.kind, caches.migrationNetworks, seenAs(order.object), { metadata: { finalizers } })
}

export async function letGo({ client, caches }: World, order: Order): Promise<void> {
  const finalizers = withoutFinalizer(order.object, migrationNetworkFinalizer)
  const patch = { metadata: { finalizers: finalizers.length === 0 ? null : finalizers } }
  await patchSeen(client, order.kind, caches.migrationNetworks, seenAs(order.object), patch)
}

/** What an order is to say, by the type of the condition; undefined takes one away. */
export type Facts = Readonly<Record<string, ConditionFact | undefined>>

/**
 * What the order says, and what it remembers. The same again is no write. A Setting has no status subresource: both go in one request.
 * Of a MigrationNetwork what it remembers is written first: what it says follows from that. Answers whether it remembers something else now.
 */
export async function tell(world: World, order: Order, facts: Facts, memory: Memory): Promise<boolean> {
  const { kind, object, kubeVirt } = order
  const news = Object.values(facts).filter(fact => fact !== undefined && !isSaid(object, fact))
  const isDropped = conditionsOf(object).some(({ type }) => typeof type === 'string' && dropsIn(facts, type))
  const conditions = conditionsWith(object, facts, timestamp(world.clock))
  const status = news.length === 0 && !isDropped ? undefined : { status: { conditions } }
  const { annotations = {} } = object.metadata
  const wanted = Object.entries(toAnnotations(memory, kubeVirt.namespace))
  const changed = wanted.filter(([key, text]) => ownText(annotations, key) !== (text ?? undefined))
  const metadata = changed.length === 0 ? undefined : { metadata: { annotations: Object.fromEntries(changed) } }
  if (!isOfOurKind(kind)) {
    if (metadata !== undefined || status !== undefined) await write(world, kind, object, { ...metadata, ...status })
  } else {
    const now = metadata === undefined ? object : await write(world, kind, object, metadata)
    if (status !== undefined) await write(world, kind, now, status, 'status')
  }
  for (const fact of news) if (fact !== undefined) announce(world, object, fact)
  return changed.length > 0
}

const dropsIn = (facts: Facts, type: string): boolean => Object.hasOwn(facts, type) && facts[type] === undefined

const isOfOurKind = (kind: Kind): boolean => kind === migrationNetworks

const write = (world: World, kind: Kind, object: KubeObject, patch: object, subresource?: 'status') => {
  const cache = isOfOurKind(kind) ? world.caches.migrationNetworks : world.caches.settings
  return patchSeen(world.client, kind, cache, seenAs(object), patch, subresource)
}

interface Said {
  readonly type?: unknown
  readonly status?: unknown
  readonly reason?: unknown
  readonly message?: unknown
  readonly lastTransitionTime?: unknown
}

function conditionsOf(object: KubeObject): readonly Said[] {
  const { status } = object as KubeObject & { readonly status?: { readonly conditions?: unknown } }
  return Array.isArray(status?.conditions) ? status.conditions.filter(isRecord) : []
}

/** The object has this condition, word by word. */
export const isSaid = (object: KubeObject, { type, status, reason, message }: ConditionFact): boolean =>
  conditionsOf(object).some(
    one => one.type === type && one.status === status && one.reason === reason && one.message === message,
  )

/** Harvester's conditions have fields of their own, which stay. */
function conditionsWith(object: KubeObject, facts: Facts, now: string): readonly object[] {
  const before = conditionsOf(object)
  const kept = before.filter(({ type }) => typeof type !== 'string' || !dropsIn(facts, type))
  const next = kept.map(old => {
    const fact = typeof old.type === 'string' && Object.hasOwn(facts, old.type) ? facts[old.type] : undefined
    if (fact === undefined || isSaid(object, fact)) return old
    const since = old.status === fact.status ? (old.lastTransitionTime ?? now) : now
    return { ...old, ...fact, lastUpdateTime: now, lastTransitionTime: since }
  })
  const added = Object.values(facts).flatMap(fact =>
    fact === undefined || before.some(({ type }) => type === fact.type)
      ? []
      : [{ ...fact, lastUpdateTime: now, lastTransitionTime: now }],
  )
  return [...next, ...added]
}

const aboutOf = ({ kind = '', metadata: { namespace = '', name = '' } }: KubeObject) => ({ kind, namespace, name })

const alarming = new Set([
  'RollingBack',
  'RolledBack',
  'NodesNotReady',
  'InvalidValue',
  'WaitingForAddresses',
  'NoSpareAddress',
  'RangeUsedUp',
])

function announce({ recorder, note }: World, about: KubeObject, { reason, message }: ConditionFact): void {
  note({ what: 'told', about: aboutOf(about), reason, message })
  const type = alarming.has(reason) || reason.endsWith('Error') ? 'Warning' : 'Normal'
  recorder.event({ about, type, reason, action: 'ConfigureMigrationNetwork', note: message })
}

function seenAs({ metadata: { name = '', namespace = '', uid = '', resourceVersion = '' } }: KubeObject) {
  return { metadata: { name, namespace, uid, resourceVersion } }
}
