// From a CustomResourceDefinition to a served resource: one kind per served version, stored in its storage version.

import type { Entry } from '../../store/store.ts'
import { builtinDefinitions } from '../builtin/types.ts'
import { compareVersions } from '../discovery/version-order.ts'
import { keyPrefix } from '../kinds/builtin-resources.ts'
import type { PrinterColumn, ServedKind, Subresource, Verb } from '../kinds/kind.ts'
import type { Resource, ServedVersion } from '../kinds/registry.ts'
import { clone, equal, type KubeObject, toAPIVersion } from '../object.ts'
import { decodeEntry } from '../objects.ts'
import type { Schema } from '../schema/schema.ts'
import { type CompiledSchema, compileSchema } from '../schema/structural.ts'
import { parseJSONPath } from '../table/jsonpath.ts'

export interface ConversionSpec {
  strategy: string
  webhook?: { clientConfig?: Record<string, unknown>; conversionReviewVersions: string[] }
}

export interface DefinitionSpec {
  group: string
  scope: string
  names: {
    plural: string
    singular?: string
    kind: string
    listKind?: string
    shortNames?: string[]
    categories?: string[]
  }
  versions: DefinitionVersion[]
  conversion?: ConversionSpec
  preserveUnknownFields?: boolean
}

interface DefinitionVersion {
  name: string
  served: boolean
  storage: boolean
  deprecated?: boolean
  deprecationWarning?: string
  schema?: { openAPIV3Schema?: Schema }
  subresources?: {
    status?: object
    scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath?: string }
  }
  additionalPrinterColumns?: PrinterColumn[]
  selectableFields?: { jsonPath: string }[]
}

/** Converts objects between versions where renaming is not enough. */
export type ConvertByWebhook = (
  objects: readonly KubeObject[],
  apiVersion: string,
  conversion: ConversionSpec,
  of: { group: string; kind: string },
) => Promise<KubeObject[]>

const allVerbs: readonly Verb[] = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
const editVerbs: readonly Verb[] = ['get', 'patch', 'update']

/** `writtenBefore` is the last revision that may have been written under an earlier form of the definition. */
export function toResource(
  definition: KubeObject,
  writtenBefore: number,
  convertByWebhook: ConvertByWebhook,
): Resource {
  const spec = definition.spec as DefinitionSpec
  const versions = spec.versions.filter(version => version.served).map(version => toServed(spec, version))
  const stored = spec.versions.find(version => version.storage) ?? spec.versions[0]
  if (stored === undefined) throw new Error(`${definition.metadata.name} has no version to store`)
  const storage = versions.find(({ kind }) => kind.version === stored.name)?.kind ?? toKind(spec, stored)
  const head = headOf(storage)
  const verdicts = new WeakMap<Entry, boolean>()
  const as = versions.find(({ kind }) => kind === storage)
  const isComplete = (entry: Entry): boolean => {
    const known = verdicts.get(entry)
    if (known !== undefined) return known
    const object = decodeEntry(entry)
    const verdict = as !== undefined && (as.compiled.isSurelyComplete(object) || equal(complete(object, as), object))
    verdicts.set(entry, verdict)
    return verdict
  }
  return {
    group: spec.group,
    plural: spec.names.plural,
    namespaced: spec.scope === 'Namespaced',
    keyPrefix: keyPrefix(spec.group, spec.names.plural),
    storage,
    isTerminating: !!definition.metadata.deletionTimestamp,
    versions: new Map(versions.map(version => [version.kind.version, version])),
    // What was written before the definition last changed may lack its defaults, hold fields it no longer knows, or be
    // of an earlier storage version: it is looked at once. What was written after is exact.
    isExact: (entry, kind) => {
      if (kind.version !== storage.version || !beginsWith(entry.value, head)) return false
      return entry.revision > writtenBefore || isComplete(entry)
    },
    read: async (entries, as) => {
      const objects = await convert(entries.map(decodeEntry), as.kind, spec, convertByWebhook)
      // What was written under this definition is as its own version has it, and may be more than another one knows.
      const isOwn = as.kind.version === storage.version && spec.conversion?.strategy !== 'Webhook'
      return objects.map((object, i) =>
        isOwn && (entries[i]?.revision ?? 0) > writtenBefore ? object : complete(object, as),
      )
    },
    convert: (objects, to) => convert(objects, to, spec, convertByWebhook),
  }
}

/** Reading is forgiving: what a newer schema does not know is dropped, what it would default is there. */
function complete(object: KubeObject, { compiled }: ServedVersion): KubeObject {
  const copy = clone(object)
  compiled.prune(copy)
  compiled.applyDefaults(copy)
  return copy
}

/** Stored bytes begin with kind and version: an object of an earlier storage version is told apart without decoding. */
function headOf({ group, version, kind }: ServedKind): Buffer {
  return Buffer.from(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(toAPIVersion(group, version))},`)
}

const beginsWith = (bytes: Buffer, head: Buffer): boolean =>
  bytes.length >= head.length && bytes.compare(head, 0, head.length, 0, head.length) === 0

async function convert(
  objects: readonly KubeObject[],
  to: ServedKind,
  spec: DefinitionSpec,
  convertByWebhook: ConvertByWebhook,
): Promise<KubeObject[]> {
  const apiVersion = toAPIVersion(to.group, to.version)
  if (objects.every(object => object.apiVersion === apiVersion)) return [...objects]
  if (spec.conversion?.strategy !== 'Webhook') return objects.map(object => ({ ...object, apiVersion }))
  const foreign = objects.filter(object => object.apiVersion !== apiVersion)
  const converted = await convertByWebhook(foreign, apiVersion, spec.conversion, { group: to.group, kind: to.kind })
  const next = converted[Symbol.iterator]()
  return objects.map(object => (object.apiVersion === apiVersion ? object : (next.next().value as KubeObject)))
}

function toServed(spec: DefinitionSpec, version: DefinitionVersion): ServedVersion {
  const kind = toKind(spec, version)
  let compiled: CompiledSchema | undefined
  return {
    kind,
    get compiled() {
      compiled ??= compileSchema(kind.schema, kind.definitions)
      return compiled
    },
  }
}

function toKind(spec: DefinitionSpec, version: DefinitionVersion): ServedKind {
  const { names, group } = spec
  const reversed = group.split('.').reverse().join('.')
  const schema: Schema = version.schema?.openAPIV3Schema ?? {
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
  }
  return {
    group,
    version: version.name,
    kind: names.kind,
    listKind: names.listKind ?? `${names.kind}List`,
    plural: names.plural,
    singular: names.singular ?? names.kind.toLowerCase(),
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    namespaced: spec.scope === 'Namespaced',
    verbs: allVerbs,
    subresources: subresourcesOf(version),
    schema: spec.preserveUnknownFields ? { ...schema, 'x-kubernetes-preserve-unknown-fields': true } : schema,
    definitions: builtinDefinitions,
    schemaName: `${reversed}.${version.name}.${names.kind}`,
    isCustom: true,
    ...(version.additionalPrinterColumns && { columns: version.additionalPrinterColumns }),
    ...(version.subresources?.scale && { scale: version.subresources.scale }),
    ...(version.deprecated && { deprecationWarning: version.deprecationWarning ?? deprecation(spec, version) }),
    behaviour: { fields: selectableFields(version) },
  }
}

function subresourcesOf({ subresources }: DefinitionVersion): Subresource[] {
  const served: Subresource[] = []
  if (subresources?.status) served.push({ name: 'status', verbs: editVerbs })
  if (subresources?.scale) {
    served.push({ name: 'scale', verbs: editVerbs, kind: 'Scale', group: 'autoscaling', version: 'v1' })
  }
  return served
}

/** Says which version to use instead, where there is a newer one that is not deprecated itself. */
function deprecation({ group, names, versions }: DefinitionSpec, { name }: DefinitionVersion): string {
  const warning = `${group}/${name} ${names.kind} is deprecated`
  const [newest] = versions
    .filter(version => version.served && !version.deprecated)
    .map(version => version.name)
    .sort(compareVersions)
  const isNewer = newest !== undefined && compareVersions(newest, name) < 0
  return isNewer ? `${warning}; use ${group}/${newest} ${names.kind}` : warning
}

function selectableFields(version: DefinitionVersion): Record<string, (object: KubeObject) => string> {
  const fields: Record<string, (object: KubeObject) => string> = {}
  for (const { jsonPath } of version.selectableFields ?? []) {
    const read = parseJSONPath(jsonPath)
    fields[jsonPath.replace(/^\./, '')] = object => {
      const [value] = read(object)
      return value === undefined || value === null ? '' : String(value)
    }
  }
  return fields
}
