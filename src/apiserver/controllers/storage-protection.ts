// storage protection - a claim to a volume that is deleted stays while a pod on a node uses it, a volume while it is
// bound. The finalizer that keeps it is there from the start (`admission/volumes.ts`); here it is taken off.
//
// Safe:    use is judged by looking in the store at that moment.

import type { Entry } from '../../store/store.ts'
import { protectionFinalizers } from '../admission/volumes.ts'
import { items, part, text } from '../builtin/fields.ts'
import type { World } from '../call.ts'
import type { Resource } from '../kinds/registry.ts'
import type { LocalClient } from '../local-client.ts'
import type { KubeObject } from '../object.ts'
import { decodeEntry, keyOf, listObjects } from '../objects.ts'
import { isStatus } from '../status.ts'
import type { Controller, OnError } from './controller.ts'
import { createWorker } from './worker.ts'

/** How a use of a claim begins in stored bytes; most pods have none, and saying so takes no decoding. */
const useMark = '"persistentVolumeClaim":'

export function createStorageProtection(
  { store }: Pick<World, 'store'>,
  client: LocalClient,
  { claims, volumes, pods }: { claims: Resource; volumes: Resource; pods: Resource },
  onError: OnError,
): Controller {
  const worker = createWorker(look, onError)
  const stops: (() => void)[] = []

  async function look(key: string): Promise<void> {
    const entry = store.get(key)
    if (entry === undefined) return
    const object = decodeEntry(entry)
    const resource = key.startsWith(claims.keyPrefix) ? claims : volumes
    const finalizer = protectionFinalizers.get(resource.plural) ?? ''
    const present = object.metadata.finalizers ?? []
    const { name = '', namespace = '', resourceVersion, uid } = object.metadata
    const isProtected = present.includes(finalizer)
    const isDeleted = !!object.metadata.deletionTimestamp
    const isWrong = isDeleted ? isProtected && !isUsed(resource, object) : !isProtected
    if (!isWrong) return
    const finalizers = isDeleted ? present.filter(other => other !== finalizer) : [...present, finalizer]
    try {
      await client.mergePatch({ resource, namespace, name }, { metadata: { finalizers, resourceVersion, uid } })
    } catch (error) {
      if (isStatus(error, 'NotFound')) return
      if (isStatus(error, 'Conflict')) return worker.mark(key)
      throw error
    }
  }

  function isUsed(resource: Resource, object: KubeObject): boolean {
    if (resource === volumes) return part(object, 'status')?.phase === 'Bound'
    const { name = '', namespace = '' } = object.metadata
    return [...listObjects(store, pods, namespace)].some(
      pod => text(part(pod, 'spec')?.nodeName) !== '' && claimsOf(pod).includes(name),
    )
  }

  function markClaims({ value }: Entry, pod: () => KubeObject): void {
    if (!value.includes(useMark)) return
    for (const claim of claimsOf(pod())) worker.mark(keyOf(claims, pod().metadata.namespace ?? '', claim))
  }

  return {
    start() {
      for (const { keyPrefix } of [claims, volumes]) {
        for (const { key } of store.list(keyPrefix).entries) worker.mark(key)
        const watch = store.watch(keyPrefix, store.revision, ({ type, entry }) => {
          if (type === 'put') worker.mark(entry.key)
        })
        stops.push(() => watch.stop())
      }
      const watch = store.watch(pods.keyPrefix, store.revision, ({ entry }) =>
        markClaims(entry, () => decodeEntry(entry)),
      )
      stops.push(() => watch.stop())
    },
    stop() {
      for (const stop of stops) stop()
      worker.stop()
    },
  }
}

function claimsOf(pod: KubeObject): string[] {
  return items(part(pod, 'spec')?.volumes).flatMap(volume => {
    const name = text(part(volume, 'persistentVolumeClaim')?.claimName)
    return name === '' ? [] : [name]
  })
}
