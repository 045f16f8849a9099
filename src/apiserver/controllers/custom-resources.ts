// customresources - every accepted CustomResourceDefinition is served, and says so; a deleted one takes its objects
// along.
//
// Reads:   definitions, and the objects of one that is being deleted.
// Writes:  the registry; the definition's status; its finalizer, last.
// Safe:    a kind is served from the moment its definition says Established, so a client that waits for it gets no 404.

import type { World } from '../call.ts'
import { judgeNames, type Names } from '../crd/names.ts'
import { type ConvertByWebhook, type DefinitionSpec, toResource } from '../crd/resource.ts'
import { crdFinalizer } from '../kinds/deletion.ts'
import type { Resource } from '../kinds/registry.ts'
import type { LocalClient } from '../local-client.ts'
import { toTimestamp } from '../metadata.ts'
import { equal, isObject, type KubeObject } from '../object.ts'
import { getObject, listObjects } from '../objects.ts'
import { bareError } from '../status.ts'
import type { Controller, OnError } from './controller.ts'
import { createWorker } from './worker.ts'

interface Condition {
  type: string
  status: string
  reason?: string
  message?: string
  lastTransitionTime?: string
}

interface DefinitionStatus {
  conditions?: Condition[] | null
  acceptedNames?: Partial<Names> | null
  storedVersions?: string[] | null
}

export function createCustomResources(
  world: World,
  client: LocalClient,
  definitions: Resource,
  convertByWebhook: ConvertByWebhook,
  onError: OnError,
): Controller {
  /** What is served, and from which generation of its definition. */
  const serving = new Map<string, { uid: string; generation: number; group: string; plural: string }>()
  const worker = createWorker(look, (error, name) => onError(error, `definition ${name}`))
  let stopWatch = () => {}

  async function look(name: string): Promise<void> {
    const definition = getObject(world.store, definitions, '', name)
    if (definition === undefined) return unserve(name)
    const status = judge(definition)
    if (!equal(status, definition.status ?? {})) {
      const given = ((definition.status ?? {}) as DefinitionStatus).acceptedNames ?? {}
      const acceptedNames = { ...removalOf(given), ...status.acceptedNames }
      const target = { resource: definitions, name, subresource: 'status' }
      await client.mergePatch(target, { status: { ...status, acceptedNames } })
      markWaiting((definition.spec as DefinitionSpec).group)
    }
    // Nothing runs between the publication of the status and this line: a client that reads Established finds the kind
    // served, and a client that finds the kind served reads the definition as this controller left it.
    if (isEstablished(status)) serve(definition)
    if (definition.metadata.deletionTimestamp && definition.metadata.finalizers?.includes(crdFinalizer)) {
      await cleanUp(definition, status)
    }
  }

  function judge(definition: KubeObject): DefinitionStatus {
    const spec = definition.spec as DefinitionSpec
    const old = (definition.status ?? {}) as DefinitionStatus
    const others = [...listObjects(world.store, definitions)]
      .filter(other => other.metadata.uid !== definition.metadata.uid)
      .filter(other => (other.spec as DefinitionSpec).group === spec.group)
      .map(other => ((other.status ?? {}) as DefinitionStatus).acceptedNames ?? {})
    const { accepted, conflict } = judgeNames(spec.names, old.acceptedNames ?? {}, others)
    const now = toTimestamp(world.now())
    let conditions = old.conditions ?? []
    conditions = withCondition(conditions, now, {
      type: 'NamesAccepted',
      status: conflict === undefined ? 'True' : 'False',
      reason: conflict?.reason ?? 'NoConflicts',
      message: conflict?.message ?? 'no conflicts found',
    })
    if (!isEstablished(old)) {
      conditions = withCondition(conditions, now, {
        type: 'Established',
        status: conflict === undefined ? 'True' : 'False',
        reason: conflict === undefined ? 'InitialNamesAccepted' : 'NotAccepted',
        message: conflict === undefined ? 'the initial names have been accepted' : 'not all names are accepted',
      })
    }
    const storage = spec.versions.find(version => version.storage)?.name
    const stored = old.storedVersions ?? []
    const storedVersions = storage === undefined || stored.includes(storage) ? stored : [...stored, storage]
    return { ...old, acceptedNames: accepted, conditions, storedVersions }
  }

  function serve(definition: KubeObject): void {
    const name = definition.metadata.name ?? ''
    const generation = Number(definition.metadata.generation ?? 0)
    const uid = definition.metadata.uid ?? ''
    const known = serving.get(name)
    if (known?.uid === uid && known.generation === generation) return
    const resource = toResource(definition, world.store.last, convertByWebhook)
    serving.set(name, { uid, generation, group: resource.group, plural: resource.plural })
    world.registry.add(resource)
  }

  function unserve(name: string): void {
    const known = serving.get(name)
    if (known === undefined) return
    serving.delete(name)
    world.registry.remove(known.group, known.plural)
    markWaiting(known.group)
  }

  /** Names may be free again: the definitions that wait for them are looked at. */
  function markWaiting(group: string): void {
    for (const other of listObjects(world.store, definitions)) {
      const isWaiting = !isTrue(other.status as DefinitionStatus | undefined, 'NamesAccepted')
      if (isWaiting && (other.spec as DefinitionSpec).group === group) worker.mark(other.metadata.name ?? '')
    }
  }

  async function cleanUp(definition: KubeObject, status: DefinitionStatus): Promise<void> {
    const name = definition.metadata.name ?? ''
    const spec = definition.spec as DefinitionSpec
    const resource = world.registry.find(spec.group, spec.names.plural)
    if (resource !== undefined && isEstablished(status)) {
      const failures = await removeInstances(resource)
      if (failures.length > 0) {
        const message = `could not issue all deletes: ${failures.length === 1 ? failures[0] : `[${failures.join(', ')}]`}`
        await tellWhatHolds(definition, status, 'InstanceDeletionFailed', message)
        throw bareError(message)
      }
      const held = [...listObjects(world.store, resource)]
      if (held.length > 0) {
        const message = `CustomResource deletion is in progress: ${describeHeld(held)}`
        await tellWhatHolds(definition, status, 'InstanceDeletionInProgress', message)
        worker.markLater(name, finalizerPollMs)
        return
      }
    }
    const finalizers = definition.metadata.finalizers?.filter(finalizer => finalizer !== crdFinalizer) ?? []
    await client.mergePatch({ resource: definitions, name }, { metadata: { finalizers } })
  }

  /** Answers with why some could not be deleted: what a webhook refuses in one namespace does not keep the others. */
  async function removeInstances(resource: Resource): Promise<string[]> {
    const left = [...listObjects(world.store, resource)].filter(isNotDeleting)
    const failures: string[] = []
    for (const namespace of new Set(left.map(object => object.metadata.namespace ?? ''))) {
      try {
        await client.removeAll({ resource, namespace })
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error))
      }
    }
    return failures
  }

  async function tellWhatHolds(
    definition: KubeObject,
    { conditions }: DefinitionStatus,
    reason: string,
    message: string,
  ): Promise<void> {
    const wanted = { type: 'Terminating', status: 'True', reason, message }
    const told = withCondition(conditions ?? [], toTimestamp(world.now()), wanted)
    if (equal(told, conditions)) return
    const target = { resource: definitions, name: definition.metadata.name ?? '', subresource: 'status' }
    await client.mergePatch(target, { status: { conditions: told } })
  }

  return {
    start() {
      for (const definition of listObjects(world.store, definitions)) {
        if (isEstablished((definition.status ?? {}) as DefinitionStatus)) serve(definition)
        worker.mark(definition.metadata.name ?? '')
      }
      const watch = world.store.watch(definitions.keyPrefix, world.store.revision, change => {
        worker.mark(change.entry.key.slice(definitions.keyPrefix.length))
      })
      stopWatch = () => watch.stop()
    },
    stop() {
      stopWatch()
      worker.stop()
    },
  }
}

/** In a merge patch only `null` takes a field away. */
function removalOf(fields: object): Record<string, null> {
  return Object.fromEntries(Object.keys(fields).map(field => [field, null]))
}

/** Objects with finalizers of their own take their time; nothing tells this worker when the last one is gone. */
const finalizerPollMs = 200

function describeHeld(objects: readonly KubeObject[]): string {
  const finalizers = [...new Set(objects.flatMap(({ metadata }) => metadata.finalizers ?? []))].sort()
  const by = finalizers.length === 0 ? '' : `, held by ${finalizers.slice(0, finalizersNamedMax).join(', ')}`
  return `${objects.length} ${objects.length === 1 ? 'instance remains' : 'instances remain'}${by}`
}

const finalizersNamedMax = 10

function isNotDeleting(object: KubeObject): boolean {
  return !object.metadata.deletionTimestamp
}

function isEstablished(status: DefinitionStatus): boolean {
  return isTrue(status, 'Established')
}

function isTrue(status: DefinitionStatus | undefined, type: string): boolean {
  return (status?.conditions ?? []).some(
    condition => isObject(condition) && condition.type === type && condition.status === 'True',
  )
}

function withCondition(conditions: readonly Condition[], now: string, wanted: Condition): Condition[] {
  const old = conditions.find(condition => condition.type === wanted.type)
  const lastTransitionTime = old?.status === wanted.status ? (old.lastTransitionTime ?? now) : now
  const made: Condition = {
    lastTransitionTime,
    message: wanted.message ?? '',
    reason: wanted.reason ?? '',
    status: wanted.status,
    type: wanted.type,
  }
  if (old === undefined) return [...conditions, made]
  return conditions.map(condition => (condition === old ? made : condition))
}
