// Which resources are served right now. Built-in ones are there from the start; custom ones come and go with their
// CustomResourceDefinitions. Every change makes a new generation, so that documents derived from it know to be rebuilt.

import type { Entry } from '../../store/store.ts'
import type { KubeObject } from '../object.ts'
import type { CompiledSchema } from '../schema/structural.ts'
import type { ServedKind } from './kind.ts'

/** One stored resource and the versions it is served at. */
export interface Resource {
  readonly group: string
  readonly plural: string
  readonly namespaced: boolean
  /** Everything it stores lies below this, `/` at the end. Two groups that show one thing (events) share it. */
  readonly keyPrefix: string
  readonly storage: ServedKind
  /** Its definition is being deleted: nothing new is taken. */
  readonly isTerminating?: boolean
  readonly versions: ReadonlyMap<string, ServedVersion>
  /** From what is stored to what is asked for; same order, same length. */
  readonly convert: (objects: readonly KubeObject[], to: ServedKind) => Promise<KubeObject[]>
  /** True when the stored bytes are exactly what a client of this kind reads: same version, same schema. */
  readonly isExact: (entry: Entry, kind: ServedKind) => boolean
  /** Stored objects as clients of a kind read them: converted, and completed by a schema that came after them. */
  readonly read: (entries: readonly Entry[], as: ServedVersion) => Promise<KubeObject[]>
}

export interface ServedVersion {
  readonly kind: ServedKind
  readonly compiled: CompiledSchema
}

export class Registry {
  #generation = 0
  readonly #resources = new Map<string, Resource>()
  readonly #listeners = new Set<() => void>()

  get generation(): number {
    return this.#generation
  }

  add(resource: Resource): void {
    this.#resources.set(`${resource.group}/${resource.plural}`, resource)
    this.#changed()
  }

  addAll(resources: readonly Resource[]): void {
    for (const resource of resources) this.#resources.set(`${resource.group}/${resource.plural}`, resource)
    this.#changed()
  }

  remove(group: string, plural: string): void {
    if (this.#resources.delete(`${group}/${plural}`)) this.#changed()
  }

  find(group: string, plural: string): Resource | undefined {
    return this.#resources.get(`${group}/${plural}`)
  }

  /** The resource that serves a kind, as owner references name it. */
  findKind(group: string, version: string, kind: string): { resource: Resource; served: ServedVersion } | undefined {
    for (const resource of this.#resources.values()) {
      if (resource.group !== group) continue
      const served = resource.versions.get(version)
      if (served?.kind.kind === kind) return { resource, served }
    }
    return undefined
  }

  resources(): Iterable<Resource> {
    return this.#resources.values()
  }

  /** Every served kind at every version, in the order they were added. */
  kinds(): ServedKind[] {
    return [...this.#resources.values()].flatMap(resource => [...resource.versions.values()].map(served => served.kind))
  }

  hasGroupVersion(group: string, version: string): boolean {
    for (const resource of this.#resources.values()) {
      if (resource.group === group && resource.versions.has(version)) return true
    }
    return false
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #changed(): void {
    this.#generation++
    for (const listener of this.#listeners) listener()
  }
}
