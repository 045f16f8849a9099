// A few objects behind the client's methods, with versions, uids and preconditions as a server has them, and with
// answers that come when the test says so, so that the test decides every race.

import { ApiError } from '../../src/kube/api-error.ts'
import type { Client, DeleteResult } from '../../src/kube/client.ts'
import { type KubeObject, keyOf, keyOfRef } from '../../src/kube/object.ts'

export type ToyClient = Pick<Client, 'get' | 'create' | 'update' | 'mergePatch' | 'delete'>

export class ToyObjects {
  readonly objects = new Map<string, KubeObject>()
  #revision = 0
  #uids = 0
  /** Called before a request takes effect and again before it is answered; throwing loses the request or the answer. */
  weather: (moment: 'before' | 'after', verb: string) => Promise<void> = () => Promise.resolve()

  put(object: KubeObject): KubeObject {
    const metadata = { uid: `uid-${++this.#uids}`, ...object.metadata, resourceVersion: String(++this.#revision) }
    const stored = { ...object, metadata }
    this.objects.set(keyOf(stored), stored)
    return stored
  }

  /** A delete by another client: the object is gone, or waits for its finalizers. */
  remove(key: string): DeleteResult {
    const object = this.objects.get(key)
    if (object === undefined) return 'absent'
    if ((object.metadata.finalizers ?? []).length === 0) {
      this.objects.delete(key)
      return 'deleted'
    }
    if (object.metadata.deletionTimestamp === undefined) {
      this.put({ ...object, metadata: { ...object.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' } })
    }
    return 'deleting'
  }

  readonly client = {
    get: (_: unknown, ref: { name: string; namespace?: string }) =>
      this.#serve('get', () => this.objects.get(keyOfRef(ref))),
    create: (_: unknown, object: KubeObject) =>
      this.#serve('create', () => {
        if (this.objects.has(keyOf(object))) throw refusal('AlreadyExists', 409)
        return this.put(object)
      }),
    update: (_: unknown, object: KubeObject) =>
      this.#serve('update', () => {
        const old = this.#need(keyOf(object))
        this.#check(old, object.metadata)
        return this.put({ ...object, metadata: { ...old.metadata, ...object.metadata } })
      }),
    mergePatch: (
      _: unknown,
      ref: { name: string; namespace?: string },
      patch: object,
      options: { uid?: string; resourceVersion?: string } = {},
    ) =>
      this.#serve('patch', () => {
        const old = this.#need(keyOfRef(ref))
        this.#check(old, options)
        const next = merge(old, patch) as KubeObject
        const isReleased = next.metadata.deletionTimestamp !== undefined && !next.metadata.finalizers?.length
        if (!isReleased) return this.put(next)
        this.objects.delete(keyOfRef(ref))
        return next
      }),
    delete: (_: unknown, ref: { name: string; namespace?: string }) =>
      this.#serve('delete', () => this.remove(keyOfRef(ref))),
  } as unknown as ToyClient

  async #serve<T>(verb: string, act: () => T): Promise<T> {
    await this.weather('before', verb)
    const answer = act()
    await this.weather('after', verb)
    return answer
  }

  #need(key: string): KubeObject {
    const object = this.objects.get(key)
    if (object === undefined) throw refusal('NotFound', 404)
    return object
  }

  #check({ metadata }: KubeObject, { uid, resourceVersion }: { uid?: string; resourceVersion?: string }): void {
    if (uid !== undefined && uid !== metadata.uid) throw refusal('Conflict', 409)
    if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) throw refusal('Conflict', 409)
  }
}

function refusal(reason: 'AlreadyExists' | 'NotFound' | 'Conflict', code: number): ApiError {
  return new ApiError(reason, { reason, code })
}

function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const result: Record<string, unknown> = { ...(target as object) }
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = merge(result[key], value)
  }
  return result
}
