// garbagecollector - objects follow their owners: when the last owner is gone, so is the object.
//
// Reads:   every object's metadata, kept as a graph by uid.
// Writes:  deletes of objects without owners; owner references to absent owners; the two finalizers that a foreground
//          or orphaning delete leaves on the owner.
// Safe:    absence is judged by looking in the store at that moment, by name and uid, never by the graph alone; deletes
//          carry the uid and version they were decided on.
//
//   owner of an object                      it is
//   exists, same uid                        solid: the object stays
//   exists, same uid, foreground deletion   waiting: the object goes, if no solid owner is left
//   absent, or the name has another uid     dangling: the reference is dropped, or the object goes
//   of a kind that is not served            unknown: nothing is decided, the object stays
//   namespaced, while the object is not     unknown: such an owner cannot exist

import type { Change, Entry } from '../../store/store.ts'
import type { World } from '../call.ts'
import type { Resource } from '../kinds/registry.ts'
import type { LocalClient, Target } from '../local-client.ts'
import { foregroundFinalizer, orphanFinalizer } from '../metadata.ts'
import { type KubeObject, type OwnerReference, parseAPIVersion } from '../object.ts'
import { decodeEntry, getObject } from '../objects.ts'
import { isStatus } from '../status.ts'
import type { Controller, OnError } from './controller.ts'
import { createWorker } from './worker.ts'

interface Node {
  readonly key: string
  readonly uid: string
  readonly owners: ReadonlySet<string>
}

/**
 * How a list of owners begins in stored bytes, and how the two finalizers stand there that this controller takes off. Data may
 * contain the same text; then an object is decoded needlessly.
 */
const marks = ['"ownerReferences":', JSON.stringify(foregroundFinalizer), JSON.stringify(orphanFinalizer)]

type OwnerState = 'solid' | 'waiting' | 'dangling' | 'unknown'

export function createGarbageCollector(world: World, client: LocalClient, onError: OnError): Controller {
  const { store, registry } = world
  const nodes = new Map<string, Node>()
  const dependants = new Map<string, Set<string>>()
  /** Keys of the nodes. */
  const keys = new Set<string>()
  const worker = createWorker(look, onError)
  const stops: (() => void)[] = []

  /** Most objects neither own nor are owned, and saying so takes no decoding. */
  function isPlain(entry: Entry): boolean {
    return !keys.has(entry.key) && !marks.some(mark => entry.value.includes(mark))
  }

  function note(entry: Entry): void {
    if (isPlain(entry)) return
    const object = decodeEntry(entry)
    const uid = object.metadata.uid ?? ''
    const owners = new Set((object.metadata.ownerReferences ?? []).map(owner => owner.uid))
    for (const owner of nodes.get(uid)?.owners ?? []) if (!owners.has(owner)) unlink(owner, uid)
    for (const owner of owners) link(owner, uid)
    nodes.set(uid, { key: entry.key, uid, owners })
    keys.add(entry.key)
    if (owners.size > 0 || needsAttention(object)) worker.mark(entry.key)
  }

  function link(owner: string, dependant: string): void {
    const set = dependants.get(owner) ?? new Set()
    set.add(dependant)
    dependants.set(owner, set)
  }

  function unlink(owner: string, dependant: string): void {
    const set = dependants.get(owner)
    set?.delete(dependant)
    if (set?.size === 0) dependants.delete(owner)
    markOwner(owner)
  }

  function markOwner(uid: string): void {
    const node = nodes.get(uid)
    if (node !== undefined) worker.mark(node.key)
  }

  function onChange(change: Change): void {
    if (change.type === 'put') return note(change.entry)
    const uid = decodeEntry(change.entry).metadata.uid ?? ''
    keys.delete(change.entry.key)
    for (const owner of nodes.get(uid)?.owners ?? []) unlink(owner, uid)
    nodes.delete(uid)
    markDependants(uid)
  }

  function markDependants(uid: string): void {
    for (const dependant of dependants.get(uid) ?? []) {
      const node = nodes.get(dependant)
      if (node !== undefined) worker.mark(node.key)
    }
  }

  async function look(key: string): Promise<void> {
    const entry = store.get(key)
    const found = entry && locate(key)
    if (entry === undefined || found === undefined) return
    const object = decodeEntry(entry)
    const target: Target = {
      resource: found,
      namespace: object.metadata.namespace ?? '',
      name: object.metadata.name ?? '',
    }
    try {
      if (object.metadata.deletionTimestamp) await settleDeleting(object, target)
      if (!object.metadata.deletionTimestamp || hasFinalizer(object, foregroundFinalizer))
        await settleOwned(object, target)
    } catch (error) {
      // It was changed or removed meanwhile: the change marks it again, or it is gone.
      if (isStatus(error, 'NotFound')) return
      if (isStatus(error, 'Conflict')) return worker.mark(key)
      throw error
    }
  }

  async function settleDeleting(object: KubeObject, target: Target): Promise<void> {
    const uid = object.metadata.uid ?? ''
    if (hasFinalizer(object, orphanFinalizer)) {
      for (const dependant of dependantsOf(uid)) await dropOwners(dependant, new Set([uid]))
      return dropFinalizer(object, target, orphanFinalizer)
    }
    if (!hasFinalizer(object, foregroundFinalizer)) return
    const blocking = dependantsOf(uid).filter(({ object: dependant }) =>
      dependant.metadata.ownerReferences?.some(owner => owner.uid === uid && owner.blockOwnerDeletion === true),
    )
    if (blocking.length === 0) return dropFinalizer(object, target, foregroundFinalizer)
    for (const { key } of dependantsOf(uid)) worker.mark(key)
  }

  async function settleOwned(object: KubeObject, target: Target): Promise<void> {
    const owners = object.metadata.ownerReferences ?? []
    if (owners.length === 0) return
    const states = owners.map(owner => ({ owner, state: stateOf(owner, target) }))
    const of = (state: OwnerState) => states.filter(entry => entry.state === state).map(entry => entry.owner)
    if (of('unknown').length > 0 && of('solid').length === 0) return
    if (of('solid').length > 0) {
      const leaving = new Set([...of('dangling'), ...of('waiting')].map(owner => owner.uid))
      if (leaving.size > 0) await dropOwners({ object, target, key: '' }, leaving)
      return
    }
    if (object.metadata.deletionTimestamp) return
    const isWaitedFor = of('waiting').length > 0 && dependantsOf(object.metadata.uid ?? '').length > 0
    // The decision holds for the version that was read: an object that changed meanwhile is looked at again.
    const { uid = '', resourceVersion = '' } = isWaitedFor ? await unblockCircle(object, target) : object.metadata
    await client.remove(target, {
      propagationPolicy: isWaitedFor ? 'Foreground' : policyOf(object),
      preconditions: { uid, resourceVersion },
    })
  }

  /** Two owners that wait for each other would wait for ever: a dependant that is being deleted stops blocking. */
  async function unblockCircle(object: KubeObject, target: Target): Promise<KubeObject['metadata']> {
    const isInCircle = dependantsOf(object.metadata.uid ?? '').some(({ object: dependant }) =>
      hasFinalizer(dependant, foregroundFinalizer),
    )
    if (!isInCircle) return object.metadata
    const owners = object.metadata.ownerReferences?.map(owner => ({ ...owner, blockOwnerDeletion: false }))
    const { resourceVersion } = object.metadata
    const patched = await client.mergePatch(target, { metadata: { ownerReferences: owners, resourceVersion } })
    return patched.metadata
  }

  function stateOf(owner: OwnerReference, target: Target): OwnerState {
    const { group, version } = parseAPIVersion(owner.apiVersion)
    const found = registry.findKind(group, version, owner.kind)
    if (found === undefined) return 'unknown'
    if (found.resource.namespaced && !target.resource.namespaced) return 'unknown'
    const live = getObject(store, found.resource, found.resource.namespaced ? (target.namespace ?? '') : '', owner.name)
    if (live === undefined || live.metadata.uid !== owner.uid) return 'dangling'
    const waits = live.metadata.deletionTimestamp && hasFinalizer(live, foregroundFinalizer)
    return waits ? 'waiting' : 'solid'
  }

  interface Dependant {
    readonly key: string
    readonly object: KubeObject
    readonly target: Target
  }

  function dependantsOf(uid: string): Dependant[] {
    const found: Dependant[] = []
    for (const dependant of dependants.get(uid) ?? []) {
      const key = nodes.get(dependant)?.key
      const entry = key === undefined ? undefined : store.get(key)
      const resource = key === undefined ? undefined : locate(key)
      if (key === undefined || entry === undefined || resource === undefined) continue
      const object = decodeEntry(entry)
      const { name = '', namespace = '' } = object.metadata
      found.push({ key, object, target: { resource, name, namespace } })
    }
    return found
  }

  async function dropOwners({ object, target }: Dependant, uids: ReadonlySet<string>): Promise<void> {
    const owners = (object.metadata.ownerReferences ?? []).filter(owner => !uids.has(owner.uid))
    const { resourceVersion, uid } = object.metadata
    const ownerReferences = owners.length > 0 ? owners : null
    await client.mergePatch(target, { metadata: { ownerReferences, resourceVersion, uid } })
  }

  async function dropFinalizer(object: KubeObject, target: Target, finalizer: string): Promise<void> {
    const finalizers = (object.metadata.finalizers ?? []).filter(name => name !== finalizer)
    const { resourceVersion, uid } = object.metadata
    await client.mergePatch(target, { metadata: { finalizers, resourceVersion, uid } })
  }

  function locate(key: string): Resource | undefined {
    const [, group = '', plural = ''] = key.split('/', 3)
    return registry.find(group === '-' ? '' : group, plural)
  }

  return {
    start() {
      // An owner that was deleted while the server was down left its dependants behind: each of them is checked.
      for (const entry of store.list('/').entries) note(entry)
      const watch = store.watch('/', store.revision, onChange)
      // A kind that was unknown and is served now may be the kind of an owner.
      const unsubscribe = registry.onChange(() => {
        for (const node of nodes.values()) if (node.owners.size > 0) worker.mark(node.key)
      })
      stops.push(() => watch.stop(), unsubscribe)
    },
    stop() {
      for (const stop of stops) stop()
      worker.stop()
    },
  }
}

function needsAttention(object: KubeObject): boolean {
  return hasFinalizer(object, orphanFinalizer) || hasFinalizer(object, foregroundFinalizer)
}

function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false
}

/** The propagation policy with which the object was deleted. */
function policyOf(object: KubeObject): string {
  if (hasFinalizer(object, orphanFinalizer)) return 'Orphan'
  return hasFinalizer(object, foregroundFinalizer) ? 'Foreground' : 'Background'
}
