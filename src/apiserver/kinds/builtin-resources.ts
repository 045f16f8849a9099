// The resources of the built-in kinds, each with the one version it is stored in.

import { toNewAutoscaler, toOldAutoscaler } from '../builtin/autoscaler.ts'
import { toCoreEvent, toEventsV1 } from '../builtin/event.ts'
import { builtinKinds } from '../builtin/kinds.ts'
import { definitionBehaviour } from '../crd/behaviour.ts'
import { compareVersions } from '../discovery/version-order.ts'
import { type KubeObject, toAPIVersion } from '../object.ts'
import { decodeEntry } from '../objects.ts'
import { type CompiledSchema, compileSchema } from '../schema/structural.ts'
import type { ServedKind } from './kind.ts'
import type { Resource, ServedVersion } from './registry.ts'

/** The definition of custom kinds is a built-in kind, with a folder of its own. */
const allKinds = builtinKinds.map(kind =>
  kind.kind === 'CustomResourceDefinition'
    ? { ...kind, behaviour: { ...kind.behaviour, ...definitionBehaviour } }
    : kind,
)

export function builtinResources(): Resource[] {
  const byResource = new Map<string, ServedKind[]>()
  for (const kind of allKinds) {
    const key = `${kind.group}/${kind.plural}`
    byResource.set(key, [...(byResource.get(key) ?? []), kind])
  }
  const coreEvent = builtinKinds.find(kind => kind.group === '' && kind.kind === 'Event')
  return [...byResource.values()].flatMap(kinds => {
    const [first] = kinds
    if (first === undefined) return []
    const isNewEvent = first.group === 'events.k8s.io' && coreEvent !== undefined
    return [toResource(kinds, isNewEvent ? coreEvent : newest(kinds, first))]
  })
}

/** The newest version can say the most, so it is the one that is stored. */
function newest(kinds: readonly ServedKind[], first: ServedKind): ServedKind {
  return kinds.toSorted((one, other) => compareVersions(one.version, other.version))[0] ?? first
}

function toResource(kinds: readonly ServedKind[], storage: ServedKind): Resource {
  const [first = storage] = kinds
  return {
    group: first.group,
    plural: first.plural,
    namespaced: first.namespaced,
    keyPrefix: keyPrefix(storage.group, storage.plural),
    storage,
    versions: new Map(kinds.map(kind => [kind.version, serve(kind)])),
    isExact: (_, kind) => kind.group === storage.group && kind.version === storage.version,
    read: async (entries, { kind }) => entries.map(entry => convert(decodeEntry(entry), kind)),
    convert: async (objects, to) => objects.map(object => convert(object, to)),
  }
}

/** `-` is no legal group name, so no custom group can ever share the core group's place. */
export function keyPrefix(group: string, plural: string): string {
  return `/${group === '' ? '-' : group}/${plural}/`
}

function convert(object: KubeObject, to: ServedKind): KubeObject {
  const apiVersion = toAPIVersion(to.group, to.version)
  if (object.apiVersion === apiVersion) return object
  if (to.kind === 'Event') return to.group === '' ? toCoreEvent(object) : toEventsV1(object)
  if (to.kind === 'HorizontalPodAutoscaler')
    return to.version === 'v1' ? toOldAutoscaler(object) : toNewAutoscaler(object)
  return { ...object, apiVersion }
}

/** Schemas are compiled on first use: most kinds are never touched in a short run. */
function serve(kind: ServedKind): ServedVersion {
  let compiled: CompiledSchema | undefined
  return {
    kind,
    get compiled() {
      compiled ??= compileSchema(kind.schema, kind.definitions, { isBuiltin: true })
      return compiled
    },
  }
}
