// The group versions that another server answers for: each an APIService that names a Service. What this server serves itself
// stays its own, whatever an APIService says of it.

import { items, part, text } from '../builtin/fields.ts'
import { numberOf } from '../builtin/number-checks.ts'
import type { World } from '../call.ts'
import type { Resource } from '../kinds/registry.ts'
import type { KubeObject } from '../object.ts'
import { decodeEntry, listObjects } from '../objects.ts'
import type { ForeignResource } from './resources.ts'

export interface ServiceReference {
  readonly namespace: string
  readonly name: string
  readonly port: number
}

/** One APIService that names a Service. */
export interface ForeignVersion {
  /** Of the APIService. */
  readonly name: string
  readonly group: string
  readonly version: string
  readonly service: ServiceReference
  /** Authorities to trust, as PEM; without them, those of the system. */
  readonly ca: string | undefined
  readonly isVerified: boolean
  readonly groupPriority: number
  readonly versionPriority: number
  /** As its condition says. */
  readonly isAvailable: boolean
}

/** What the server behind a group version told of it when it was last asked. */
export interface Told {
  readonly resources: readonly ForeignResource[]
  /** Where it describes itself in OpenAPI v3, with the hash of the content; undefined when it does not. */
  readonly openAPI: string | undefined
}

export interface Foreign {
  /** Moves when anything below does. */
  readonly generation: number
  find(group: string, version: string): ForeignVersion | undefined
  all(): readonly ForeignVersion[]
  /** Of all APIServices that name a Service, also those of which this server serves the group version itself. */
  names(): readonly string[]
  told(name: string): Told | undefined
  /** Keeps what a group version told; undefined when it did not answer. */
  learn(name: string, told: Told | undefined): void
  stop(): void
}

export function followForeign({ store, registry }: Pick<World, 'store' | 'registry'>, resource: Resource): Foreign {
  const versions = new Map<string, ForeignVersion>()
  const told = new Map<string, { readonly content: string; readonly told: Told }>()
  let generation = 0

  /** Most APIServices are local, and most writes are about those: documents are not made anew for them. */
  function keep(name: string, found: ForeignVersion | undefined): void {
    const before = versions.get(name)
    if (JSON.stringify(before) === JSON.stringify(found)) return
    if (found !== undefined) versions.set(name, found)
    else versions.delete(name)
    if (found === undefined) told.delete(name)
    generation++
  }

  const isOurs = ({ group, version }: ForeignVersion) => registry.hasGroupVersion(group, version)

  for (const object of listObjects(store, resource)) keep(object.metadata.name ?? '', parseForeign(object))
  const watch = store.watch(resource.keyPrefix, store.revision, ({ type, entry }) => {
    const name = entry.key.slice(resource.keyPrefix.length)
    keep(name, type === 'put' ? parseForeign(decodeEntry(entry)) : undefined)
  })
  return {
    get generation() {
      return generation
    },
    find(group, version) {
      const found = versions.get(`${version}.${group}`)
      return found === undefined || isOurs(found) ? undefined : found
    },
    all: () => [...versions.values()].filter(one => !isOurs(one)),
    names: () => [...versions.keys()],
    told: name => told.get(name)?.told,
    learn(name, fresh) {
      const content = JSON.stringify(fresh)
      if (told.get(name)?.content === content || (fresh === undefined && !told.has(name))) return
      if (fresh === undefined) told.delete(name)
      else told.set(name, { content, told: fresh })
      generation++
    },
    stop: () => watch.stop(),
  }
}

export function parseForeign(object: KubeObject): ForeignVersion | undefined {
  const spec = part(object, 'spec')
  const service = part(spec, 'service')
  // The group of pods and namespaces has no name, and is never another server's.
  if (spec === undefined || service === undefined || text(spec.group) === '') return undefined
  const bundle = text(spec.caBundle)
  const conditions = items(part(object, 'status')?.conditions)
  return {
    name: object.metadata.name ?? '',
    group: text(spec.group),
    version: text(spec.version),
    service: { namespace: text(service.namespace), name: text(service.name), port: numberOf(service.port) ?? 443 },
    ca: bundle === '' ? undefined : Buffer.from(bundle, 'base64').toString('utf8'),
    isVerified: spec.insecureSkipTLSVerify !== true,
    groupPriority: numberOf(spec.groupPriorityMinimum) ?? 0,
    versionPriority: numberOf(spec.versionPriority) ?? 0,
    isAvailable: conditions.some(({ type, status }) => type === 'Available' && status === 'True'),
  }
}
