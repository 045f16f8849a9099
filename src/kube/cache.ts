// What is known of one kind, kept by a reflector and read by all reconcilers. Readers get the stored objects themselves: they
// are not to be changed, and with `isFrozen` (tests, the demo) they cannot be. Subscribers get a change only so that they mark
// keys; what is true is read when the key is worked on.
//
// Of each object only what its readers read is kept (`keep`): tens of thousands are held at rest.
//
// The cache never goes back in time: of one uid the highest version stays, and an object that was seen to be deleted does
// not come back by an older event (the reflector drops those).

import { Waiters } from '../runtime/waiters.ts'
import { CacheIndex } from './cache-index.ts'
import { isOlder, type KubeObject, keyOf } from './object.ts'

/** Old alone: deleted. New alone: added. Both: changed, and of the same uid. */
export type Change<T> = Sides<T> & {
  /** The key of the object: the same text that the cache has it under. */
  readonly key: string
}

type Sides<T> =
  | { readonly old: T; readonly new?: undefined }
  | { readonly old?: undefined; readonly new: T }
  | { readonly old: T; readonly new: T }

/** Whether it came, went, or has another spec; what its controllers and owners write elsewhere is none. */
export function isSpecChange({ old, new: next }: Sides<KubeObject>): boolean {
  return old === undefined || next === undefined || old.metadata.generation !== next.metadata.generation
}

/** The values under which an object is found. */
export type IndexFunction<T> = (object: T) => readonly string[]

export interface CacheOptions<T, I extends string> {
  /**
   * What of an object stays: applied to each one that comes in, before it is indexed or published, also while a list is still
   * being read. Readers see nothing else, so it must keep what they read. Without it, all stays.
   *
   *   keep: ({ metadata, status }: Pod): Pod => ({ metadata: keyMetadata(metadata), status: { podIP: status?.podIP } })
   *
   * - `metadata` keeps at least name, namespace, uid and resourceVersion: the cache itself reads them.
   * - A list that a pass writes back or compares as one (finalizers, ownerReferences, conditions) stays whole.
   * - An object that events are recorded about keeps apiVersion and kind.
   * - It may be a shape of its own, made to be read, as `office/parsed.ts` does it. What it made is given to it again, and
   *   comes back as it is.
   * - What cannot be read is still kept: it does not throw.
   */
  readonly keep?: (object: T) => T
  readonly indexes?: Readonly<Record<I, IndexFunction<T>>>
  readonly isFrozen?: boolean
  /** Called when a subscriber or an index function throws; the cache goes on. */
  readonly onError?: (error: unknown) => void
}

export class Cache<T extends KubeObject, I extends string = never> {
  readonly #objects = new Map<string, T>()
  readonly #keep: (object: T) => T
  /** Made when it is first asked: after a start there are tens of thousands of objects, and most indexes are not asked yet. */
  readonly #indexes: Map<string, { readonly of: IndexFunction<T>; found: CacheIndex<T> | undefined }>
  readonly #subscribers = new Set<(change: Change<T>) => void>()
  readonly #isFrozen: boolean
  readonly #onError: (error: unknown) => void
  readonly #waiting = new Waiters()
  /** Removed after a read or a write, as they were known, and not yet confirmed by the stream: a later read may bring them back. */
  readonly #unlearned = new Map<string, T>()
  #hasSynced = false
  #version = ''

  constructor({ keep = object => object, indexes, isFrozen = false, onError = () => {} }: CacheOptions<T, I> = {}) {
    const entries = Object.entries<IndexFunction<T>>(indexes ?? {})
    this.#keep = keep
    this.#indexes = new Map(entries.map(([name, of]) => [name, { of, found: undefined }]))
    this.#isFrozen = isFrozen
    this.#onError = onError
  }

  /** By `namespace/name`, or `name` for kinds without namespaces. */
  get(key: string): T | undefined {
    return this.#objects.get(key)
  }

  values(): IterableIterator<T> {
    return this.#objects.values()
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys()
  }

  entries(): IterableIterator<[string, T]> {
    return this.#objects.entries()
  }

  get size(): number {
    return this.#objects.size
  }

  /** All objects for which the index function names this value. */
  byIndex(index: I, value: string): readonly T[] {
    return this.#indexed(index)?.all(value) ?? []
  }

  countByIndex(index: I, value: string): number {
    return this.#indexed(index)?.count(value) ?? 0
  }

  #indexed(name: I): CacheIndex<T> | undefined {
    const index = this.#indexes.get(name)
    if (index === undefined || this.#objects.size === 0) return undefined
    if (index.found !== undefined) return index.found
    const found = new CacheIndex<T>()
    for (const [key, object] of this.#objects) {
      for (const value of this.#valuesOf(index.of, object)) found.put(value, key, object)
    }
    index.found = found
    return found
  }

  /** The answer ends it. What is there already is not published. */
  subscribe(onChange: (change: Change<T>) => void): () => void {
    this.#subscribers.add(onChange)
    return () => this.#subscribers.delete(onChange)
  }

  /** Whether the first whole list has arrived, or the kind is known not to be installed. */
  get hasSynced(): boolean {
    return this.#hasSynced
  }

  /** The server's version up to which everything is known. */
  get version(): string {
    return this.#version
  }

  synced(signal?: AbortSignal): Promise<void> {
    return this.#waiting.until(this.#hasSynced, signal)
  }

  /** What of an object will stay here: a caller that collects many to hand them over together need not hold the rest of them. */
  kept(object: T): T {
    return this.#keep(object)
  }

  /** The reflector's: everything there is, at one version. What is not in it is gone. */
  replace(items: readonly T[], version: string): void {
    const changes: Change<T>[] = []
    const gone = new Set(this.#objects.keys())
    this.#unlearned.clear()
    for (const item of items) {
      const key = keyOf(item)
      gone.delete(key)
      this.#put(key, item, changes)
    }
    for (const key of gone) {
      // What was learned beyond the list's version is not in it, and not gone.
      if (!isOlder(version, this.#objects.get(key)?.metadata.resourceVersion ?? '')) this.#remove(key, changes)
    }
    this.#version = version
    // Subscribers are called when everything is in place: none of them sees half a list.
    this.#publish(changes)
    this.markSynced()
  }

  /**
   * A write or read of this process answered with this object. How far the whole kind is known does not change. An answer
   * that comes after the stream has passed it is dropped where the object is not known: it may be gone again.
   *
   * Streams lose events, and this puts them right: an object that is known gets its newer version; and one that is not, if it was read
   * when the stream had long passed it. `askedAt` is the version here before such a read.
   */
  learn(object: T, askedAt = ''): void {
    const [key, { uid, resourceVersion = '' }] = [keyOf(object), object.metadata]
    const isPassed = !isOlder(this.#version, resourceVersion)
    const isKnown = this.#objects.get(key)?.metadata.uid === uid
    const isLost = askedAt !== '' && !isOlder(askedAt, resourceVersion)
    if (isPassed && !isKnown && !isLost && !this.#unlearned.has(key)) return
    const changes: Change<T>[] = []
    this.#put(key, object, changes)
    this.#publish(changes)
  }

  /**
   * A read of the whole kind answered with these, as of this version. One that the stream lost is learned, unless the stream is ahead
   * of the answer: it may have told that the object is gone. Answers with those that are not known.
   */
  learnAll(items: readonly T[], version: string): readonly T[] {
    return items.filter(item => {
      this.learn(item, isOlder(version, this.#version) ? '' : this.#version)
      return !this.#objects.has(keyOf(item))
    })
  }

  /**
   * A read of this process found nothing under this key. `seen` is what the cache showed before the read, also when that was
   * nothing: what came since was made after the read, and stays.
   */
  unlearn(key: string, seen: T | undefined): void {
    if (seen === undefined || this.#objects.get(key) !== seen) return
    const changes: Change<T>[] = []
    this.#remove(key, changes)
    this.#unlearned.set(key, seen)
    this.#publish(changes)
  }

  /** A write of this process ended the object of this uid. Such a write does not answer with a newer version of it. */
  ended(key: string, uid: string): void {
    const known = this.#objects.get(key)
    if (known?.metadata.uid === uid) this.unlearn(key, known)
  }

  /** The reflector's: nothing of what was known is true any more. */
  clear(): void {
    const changes: Change<T>[] = []
    for (const key of this.#objects.keys()) this.#remove(key, changes)
    this.#publish(changes)
  }

  /** The reflector's: one object came or changed. */
  put(object: T): void {
    const changes: Change<T>[] = []
    if (!this.#isUnlearned(object)) this.#put(keyOf(object), object, changes)
    this.#advance(object)
    this.#publish(changes)
  }

  /** The reflector's: one object is gone. A namesake with another uid stays. */
  remove(object: T): void {
    const changes: Change<T>[] = []
    const key = keyOf(object)
    this.#unlearned.delete(key)
    if (this.#objects.get(key)?.metadata.uid === object.metadata.uid) this.#remove(key, changes)
    this.#advance(object)
    this.#publish(changes)
  }

  /** The reflector's: nothing happened up to this version. */
  bookmark(version: string): void {
    this.#version = version
  }

  /** The reflector's: what is here is all there is to know for now. */
  markSynced(): void {
    this.#hasSynced = true
    this.#waiting.resolve()
  }

  #advance({ metadata: { resourceVersion = '' } }: T): void {
    if (isOlder(this.#version, resourceVersion)) this.#version = resourceVersion
  }

  /** A late stream repeats what was known before it was unlearned. */
  #isUnlearned({ metadata }: T): boolean {
    const last = this.#unlearned.get(keyOf({ metadata }))?.metadata
    return last?.uid === metadata.uid && !isOlder(last?.resourceVersion ?? '', metadata.resourceVersion ?? '')
  }

  #put(key: string, whole: T, changes: Change<T>[]): void {
    const object = this.#keep(whole)
    const old = this.#objects.get(key)
    if (old === undefined) {
      this.#store(key, object)
      changes.push({ key, old: undefined, new: object })
      return
    }
    if (!isOlder(old.metadata.resourceVersion ?? '', object.metadata.resourceVersion ?? '')) return
    if (old.metadata.uid !== object.metadata.uid) {
      // Deleted and made again between two events: two facts, not a change of one object.
      this.#remove(key, changes)
      this.#store(key, object)
      changes.push({ key, old: undefined, new: object })
      return
    }
    this.#unindex(key, old)
    this.#store(key, object)
    changes.push({ key, old, new: object })
  }

  #store(key: string, object: T): void {
    this.#unlearned.delete(key)
    if (this.#isFrozen) deepFreeze(object)
    this.#objects.set(key, object)
    for (const { of, found } of this.#indexes.values()) {
      if (found === undefined) continue
      for (const value of this.#valuesOf(of, object)) found.put(value, key, object)
    }
  }

  #remove(key: string, changes: Change<T>[]): void {
    const old = this.#objects.get(key)
    if (old === undefined) return
    this.#unindex(key, old)
    this.#objects.delete(key)
    changes.push({ key, old, new: undefined })
  }

  #unindex(key: string, object: T): void {
    for (const { of, found } of this.#indexes.values()) {
      if (found === undefined) continue
      for (const value of this.#valuesOf(of, object)) found.delete(value, key)
    }
  }

  /** An object may have any shape: one that an index function cannot read is in no place of that index. */
  #valuesOf(of: IndexFunction<T>, object: T): readonly string[] {
    try {
      return of(object)
    } catch (error) {
      this.#onError(error)
      return []
    }
  }

  #publish(changes: readonly Change<T>[]): void {
    // One subscriber after the other: after a start each is called for tens of thousands of objects, which is quicker in a row.
    for (const subscriber of this.#subscribers) {
      for (const change of changes) {
        try {
          subscriber(change)
        } catch (error) {
          this.#onError(error)
        }
      }
    }
  }
}

function deepFreeze(root: object): void {
  const waiting: object[] = [root]
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (Object.isFrozen(at)) continue
    Object.freeze(at)
    for (const value of Object.values(at)) if (typeof value === 'object' && value !== null) waiting.push(value)
  }
}
