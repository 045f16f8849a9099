// Is this CustomResourceDefinition one the server can serve? All faults at once, at the paths kube-apiserver names:
// what all versions have in common is reported as if it stood above them (`spec.validation`, `spec.subresources`).

import { followPath } from '../cel/field-path.ts'
import {
  at,
  child,
  duplicate,
  type Fault,
  forbidden,
  invalid,
  notSupported,
  quote,
  required,
  tooMany,
} from '../faults.ts'
import { checkLabel1035, checkSubdomain } from '../names.ts'
import { equal, isObject, type KubeObject } from '../object.ts'
import { formatCheck, isRequestURI } from '../schema/formats.ts'
import { nodeCompiler } from '../schema/node.ts'
import type { Schema } from '../schema/schema.ts'
import { usesReferences } from './check-defaults.ts'
import { checkSchema } from './check-schema.ts'
import { withStoredVersion } from './defaults.ts'

interface Names {
  plural?: string
  singular?: string
  kind?: string
  listKind?: string
  shortNames?: string[]
  categories?: string[]
}

interface Scale {
  specReplicasPath?: string
  statusReplicasPath?: string
  labelSelectorPath?: string
}

interface Shared {
  schema?: { openAPIV3Schema?: Schema }
  subresources?: { status?: unknown; scale?: Scale }
  additionalPrinterColumns?: { name?: string; type?: string; format?: string; jsonPath?: string }[]
  selectableFields?: { jsonPath?: string }[]
}

interface Version extends Shared {
  name?: string
  served?: boolean
  storage?: boolean
  deprecated?: boolean
  deprecationWarning?: string
}

interface Spec {
  group?: string
  scope?: string
  names?: Names
  versions?: Version[]
  preserveUnknownFields?: boolean
  conversion?: {
    strategy?: string
    webhook?: { clientConfig?: Record<string, unknown>; conversionReviewVersions?: string[] }
  }
}

export function checkCRD(crd: KubeObject, old?: KubeObject): Fault[] {
  const spec = specOf(crd)
  const before = old && specOf(old)
  const faults = [
    ...(old === undefined ? nameFaults(crd, spec) : []),
    ...checkSpec(spec, before),
    ...(before === undefined ? [] : immutableFaults(spec, before, isEstablished(old))),
    ...storedVersionFaults(crd, spec),
    ...approvalFaults(crd, spec, old),
  ]
  if (spec.preserveUnknownFields === true && before?.preserveUnknownFields !== true) {
    const why =
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead'
    faults.push(invalid('spec.preserveUnknownFields', true, why))
  }
  return faults
}

/** Warnings for the client: the server ignores formats it does not know, which may surprise. */
export function warnAboutCRD(crd: KubeObject, old?: KubeObject): string[] {
  const known = new Set(old === undefined ? [] : unknownFormats(specOf(old)))
  return unknownFormats(specOf(crd))
    .filter(format => !known.has(format))
    .map(format => `unrecognized format ${quote(format)}`)
}

/** The shape of the fields is the decoder's business; here they are what their types say. */
function specOf(crd: KubeObject): Spec {
  return isObject(crd.spec) ? (crd.spec as Spec) : {}
}

function nameFaults(crd: KubeObject, { names, group }: Spec): Fault[] {
  const name = crd.metadata.name ?? ''
  if (name === `${names?.plural ?? ''}.${group ?? ''}`) return []
  return [invalid('metadata.name', name, 'must be spec.names.plural+"."+spec.group')]
}

function checkSpec(spec: Spec, old: Spec | undefined): Fault[] {
  const versions = spec.versions ?? []
  const common = inCommon(versions)
  const isUnchanged = (version: Version): boolean => {
    const before = old?.versions?.find(other => other.name === version.name)
    return before !== undefined && equal(before.schema, version.schema)
  }
  return [
    ...groupFaults(spec.group ?? ''),
    ...oneOf('spec.scope', spec.scope ?? '', ['Cluster', 'Namespaced']),
    ...missingSchemas(versions),
    ...versions.flatMap((version, i) => versionFaults(version, common, `spec.versions[${i}]`, isUnchanged(version))),
    ...versionListFaults(spec.versions),
    ...requiredNames(spec.names ?? {}),
    ...namesFaults(spec.names ?? {}, 'spec.names'),
    ...sharedFaults(common, 'spec', hasStatus(common) || versions.some(hasStatus), versions.every(isUnchanged)),
    ...conversionFaults(spec.conversion, 'spec.conversion'),
  ]
}

function groupFaults(group: string): Fault[] {
  if (group === '') return [required('spec.group')]
  const complaints = checkSubdomain(group)
  if (complaints.length > 0) return [invalid('spec.group', group, complaints.join(','))]
  return group.includes('.') ? [] : [invalid('spec.group', group, 'should be a domain with at least one dot')]
}

function oneOf(path: string, value: string, accepted: readonly string[]): Fault[] {
  if (value === '') return [required(path)]
  return accepted.includes(value) ? [] : [notSupported(path, value, accepted)]
}

function missingSchemas(versions: readonly Version[]): Fault[] {
  return versions.flatMap((version, i) =>
    version.schema?.openAPIV3Schema === undefined ? [required(`spec.versions[${i}].schema.openAPIV3Schema`)] : [],
  )
}

/** What all versions say alike. */
function inCommon(versions: readonly Version[]): Shared {
  const [first] = versions
  if (first === undefined) return {}
  const isShared = (field: keyof Shared): boolean => versions.every(version => equal(version[field], first[field]))
  return {
    ...(first.schema !== undefined && isShared('schema') && { schema: first.schema }),
    ...(first.subresources !== undefined && isShared('subresources') && { subresources: first.subresources }),
    ...(first.additionalPrinterColumns !== undefined &&
      isShared('additionalPrinterColumns') && { additionalPrinterColumns: first.additionalPrinterColumns }),
    ...(first.selectableFields !== undefined &&
      isShared('selectableFields') && { selectableFields: first.selectableFields }),
  }
}

function hasStatus({ subresources }: Shared): boolean {
  return subresources?.status !== undefined && subresources.status !== null
}

function versionFaults(version: Version, common: Shared, path: string, isUnchanged: boolean): Fault[] {
  const name = version.name ?? ''
  const complaints = checkLabel1035(name)
  const own: Shared = {
    ...(version.schema !== undefined && common.schema === undefined && { schema: version.schema }),
    ...(version.subresources !== undefined && !common.subresources && { subresources: version.subresources }),
    ...(version.additionalPrinterColumns !== undefined &&
      !common.additionalPrinterColumns && { additionalPrinterColumns: version.additionalPrinterColumns }),
    ...(version.selectableFields !== undefined &&
      !common.selectableFields && { selectableFields: version.selectableFields }),
  }
  return [
    ...(complaints.length > 0 ? [invalid(child(path, 'name'), name, complaints.join(','))] : []),
    ...deprecationFaults(version, child(path, 'deprecationWarning')),
    ...sharedFaults(own, path, hasStatus(version), isUnchanged, version.schema?.openAPIV3Schema),
  ]
}

function deprecationFaults({ deprecated, deprecationWarning: warning }: Version, path: string): Fault[] {
  if (warning === undefined) return []
  if (deprecated !== true) return [invalid(path, warning, 'can only be set for deprecated versions')]
  if (warning === '') return [invalid(path, warning, 'must not be an empty string')]
  if (Buffer.byteLength(warning) > 256) return [invalid(path, warning, 'must be <= 256 characters long')]
  const odd = /[^\P{C}]/u.exec(warning)?.index
  if (odd === undefined) return []
  const why = `must only contain printable UTF-8 characters; non-printable character found at index ${odd}`
  return [invalid(path, warning, why)]
}

/** What may stand in a version, or above them all when they agree. Above, the schema is called `validation`. */
function sharedFaults(
  shared: Shared,
  path: string,
  withStatus: boolean,
  isUnchanged: boolean,
  elsewhere?: Schema,
): Fault[] {
  const schema = shared.schema?.openAPIV3Schema
  const schemaPath = child(child(path, path === 'spec' ? 'validation' : 'schema'), 'openAPIV3Schema')
  return [
    ...(schema === undefined ? [] : checkSchema(schema, schemaPath, { hasStatus: withStatus, isUnchanged })),
    ...scaleFaults(shared.subresources?.scale, child(path, 'subresources')),
    ...(shared.additionalPrinterColumns ?? []).flatMap((column, i) =>
      columnFaults(column, at(child(path, 'additionalPrinterColumns'), i)),
    ),
    ...selectableFaults(shared.selectableFields ?? [], schema ?? elsewhere, child(path, 'selectableFields')),
  ]
}

function versionListFaults(written: readonly Version[] | undefined): Fault[] {
  const faults: Fault[] = []
  const versions = written ?? []
  const shown = written?.map(version => ({
    Name: version.name ?? '',
    Served: version.served ?? false,
    Storage: version.storage ?? false,
    Deprecated: version.deprecated ?? false,
    DeprecationWarning: version.deprecationWarning ?? null,
    Schema: null,
    Subresources: null,
    AdditionalPrinterColumns: null,
    SelectableFields: null,
  }))
  if (new Set(versions.map(version => version.name)).size < versions.length) {
    faults.push(invalid('spec.versions', shown, 'must contain unique version names'))
  }
  if (versions.filter(version => version.storage === true).length !== 1) {
    faults.push(invalid('spec.versions', shown, 'must have exactly one version marked as storage version'))
  }
  return faults
}

function requiredNames(names: Names): Fault[] {
  const fields = ['plural', 'singular', 'kind', 'listKind'] as const
  return fields.filter(field => !names[field]).map(field => required(child('spec.names', field)))
}

function namesFaults(names: Names, path: string): Fault[] {
  const faults: Fault[] = []
  const label = (place: string, text: string): void => {
    const complaints = text === '' ? [] : checkLabel1035(text)
    if (complaints.length > 0) faults.push(invalid(place, text, complaints.join(',')))
  }
  label(child(path, 'plural'), names.plural ?? '')
  label(child(path, 'singular'), names.singular ?? '')
  for (const field of ['kind', 'listKind'] as const) {
    const text = names[field] ?? ''
    const complaints = text === '' ? [] : checkLabel1035(text.toLowerCase())
    if (complaints.length > 0) {
      const why = `may have mixed case, but should otherwise match: ${complaints.join(',')}`
      faults.push(invalid(child(path, field), text, why))
    }
  }
  for (const [i, name] of (names.shortNames ?? []).entries()) label(at(child(path, 'shortNames'), i), name)
  if (names.kind && names.kind === names.listKind) {
    faults.push(invalid(child(path, 'listKind'), names.listKind, 'kind and listKind may not be the same'))
  }
  for (const [i, name] of (names.categories ?? []).entries()) label(at(child(path, 'categories'), i), name)
  return faults
}

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string']
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password']

function columnFaults(column: NonNullable<Shared['additionalPrinterColumns']>[number], path: string): Fault[] {
  const faults: Fault[] = []
  const { name = '', type = '', format = '', jsonPath = '' } = column
  if (name === '') faults.push(required(child(path, 'name')))
  const oneOfTypes = `must be one of ${columnTypes.join(',')}`
  if (type === '') faults.push(required(child(path, 'type'), oneOfTypes))
  else if (!columnTypes.includes(type)) faults.push(invalid(child(path, 'type'), type, oneOfTypes))
  if (format !== '' && !columnFormats.includes(format)) {
    faults.push(invalid(child(path, 'format'), format, `must be one of ${columnFormats.join(',')}`))
  }
  if (jsonPath === '') faults.push(required(child(path, 'JSONPath')))
  else faults.push(...simplePathFaults(jsonPath, child(path, 'JSONPath')))
  return faults
}

function simplePathFaults(jsonPath: string, path: string): Fault[] {
  return jsonPath.startsWith('.') ? [] : [invalid(path, jsonPath, 'must be a simple json path starting with .')]
}

function scaleFaults(scale: Scale | undefined, path: string): Fault[] {
  if (scale === undefined || scale === null) return []
  return [
    ...replicasPathFaults(scale.specReplicasPath, '.spec', child(path, 'scale.specReplicasPath')),
    ...replicasPathFaults(scale.statusReplicasPath, '.status', child(path, 'scale.statusReplicasPath')),
    ...selectorPathFaults(scale.labelSelectorPath ?? '', child(path, 'scale.labelSelectorPath')),
  ]
}

function replicasPathFaults(jsonPath: string | undefined, under: string, path: string): Fault[] {
  if (!jsonPath) return [required(path)]
  const faults = simplePathFaults(jsonPath, path)
  if (faults.length > 0 || jsonPath.startsWith(`${under}.`)) return faults
  return [invalid(path, jsonPath, `should be a json path under ${under}`)]
}

function selectorPathFaults(jsonPath: string, path: string): Fault[] {
  if (jsonPath === '') return []
  const faults = simplePathFaults(jsonPath, path)
  if (faults.length > 0 || jsonPath.startsWith('.spec.') || jsonPath.startsWith('.status.')) return faults
  return [invalid(path, jsonPath, 'should be a json path under either .spec or .status')]
}

const selectableFieldsMax = 8

function selectableFaults(fields: readonly { jsonPath?: string }[], schema: Schema | undefined, path: string): Fault[] {
  if (fields.length === 0) return []
  if (schema === undefined || usesReferences(schema)) {
    return [invalid(path, '', 'may only be set when validations.schema is included')]
  }
  const root = nodeCompiler({})(schema)
  const seen = new Set<string>()
  const faults: Fault[] = []
  for (const [i, { jsonPath = '' }] of fields.entries()) {
    const place = child(at(path, i), 'jsonPath')
    if (jsonPath === '') {
      faults.push(required(place))
      continue
    }
    const found = followPath(jsonPath, root, false)
    if (found instanceof Error) {
      faults.push(invalid(place, jsonPath, `is an invalid path: ${found.message}`))
      continue
    }
    if (/^\.metadata(\.|$)/.test(found.path)) {
      faults.push(invalid(place, jsonPath, 'must not point to fields in metadata'))
    }
    if (!['string', 'boolean', 'integer'].includes(found.node.schema.type ?? '')) {
      const why =
        'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.'
      faults.push(invalid(place, jsonPath, why))
    }
    if (seen.has(found.path)) faults.push(duplicate(place, jsonPath))
    seen.add(found.path)
  }
  if (seen.size > selectableFieldsMax) faults.push(tooMany(path, seen.size, selectableFieldsMax))
  return faults
}

function conversionFaults(conversion: Spec['conversion'], path: string): Fault[] {
  if (conversion === undefined) return []
  const { strategy = '', webhook } = conversion
  const faults = oneOf(child(path, 'strategy'), strategy, ['None', 'Webhook'])
  const clientPath = child(path, 'webhookClientConfig')
  const reviewPath = child(path, 'conversionReviewVersions')
  const reviews = webhook?.conversionReviewVersions ?? []
  if (strategy === 'Webhook') {
    return [...faults, ...clientFaults(webhook?.clientConfig, clientPath), ...reviewFaults(reviews, reviewPath)]
  }
  const why = 'should not be set when strategy is not set to Webhook'
  if (webhook?.clientConfig !== undefined) faults.push(forbidden(clientPath, why))
  if (reviews.length > 0) faults.push(forbidden(reviewPath, why))
  return faults
}

function clientFaults(client: Record<string, unknown> | undefined, path: string): Fault[] {
  if (client === undefined || client === null) return [required(path, 'required when strategy is set to Webhook')]
  const { url, service } = client
  if ((url === undefined) === (service === undefined))
    return [required(path, 'exactly one of url or service is required')]
  if (typeof url === 'string') return urlFaults(url, child(path, 'url'))
  return isObject(service) ? serviceFaults(service, child(path, 'service')) : []
}

function urlFaults(url: string, path: string): Fault[] {
  const form = '; desired format: https://host[/path]'
  if (!isRequestURI(url))
    return [required(path, `url must be a valid URL: parse ${quote(url)}: invalid URI for request${form}`)]
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const faults: Fault[] = []
  if (parsed?.protocol !== 'https:')
    faults.push(invalid(path, parsed?.protocol.slice(0, -1) ?? '', `'https' is the only allowed URL scheme${form}`))
  if (!parsed?.host) faults.push(invalid(path, '', `host must be specified${form}`))
  if (parsed?.username) faults.push(invalid(path, parsed.username, 'user information is not permitted in the URL'))
  if (parsed?.hash) faults.push(invalid(path, parsed.hash.slice(1), 'fragments are not permitted in the URL'))
  if (parsed?.search)
    faults.push(invalid(path, parsed.search.slice(1), 'query parameters are not permitted in the URL'))
  return faults
}

function serviceFaults(service: Record<string, unknown>, path: string): Fault[] {
  const faults: Fault[] = []
  if (!service.name) faults.push(required(child(path, 'name'), 'service name is required'))
  if (!service.namespace) faults.push(required(child(path, 'namespace'), 'service namespace is required'))
  const port = typeof service.port === 'number' ? service.port : 443
  if (port < 1 || port > 65535) {
    faults.push(invalid(child(path, 'port'), port, 'port is not valid: must be between 1 and 65535, inclusive'))
  }
  if (typeof service.path === 'string' && !service.path.startsWith('/')) {
    faults.push(invalid(child(path, 'path'), service.path, "must start with a '/'"))
  }
  return faults
}

function reviewFaults(versions: readonly string[], path: string): Fault[] {
  if (versions.length === 0) return [required(path)]
  const faults: Fault[] = []
  const seen = new Set<string>()
  for (const [i, version] of versions.entries()) {
    if (seen.has(version)) {
      faults.push(invalid(at(path, i), version, 'duplicate version'))
      continue
    }
    seen.add(version)
    for (const complaint of checkLabel1035(version)) faults.push(invalid(at(path, i), version, complaint))
  }
  if (!seen.has('v1') && !seen.has('v1beta1'))
    faults.push(invalid(path, versions, 'must include at least one of v1, v1beta1'))
  return faults
}

function immutableFaults(spec: Spec, old: Spec, isFixed: boolean): Fault[] {
  const faults: Fault[] = []
  const fixed = (path: string, value: string | undefined, before: string | undefined): void => {
    if (value !== before) faults.push(invalid(path, value ?? '', 'field is immutable'))
  }
  if (isFixed) {
    fixed('spec.scope', spec.scope, old.scope)
    fixed('spec.names.kind', spec.names?.kind, old.names?.kind)
  }
  fixed('spec.group', spec.group, old.group)
  fixed('spec.names.plural', spec.names?.plural, old.names?.plural)
  return faults
}

function isEstablished(crd: KubeObject | undefined): boolean {
  const conditions = isObject(crd?.status) && Array.isArray(crd.status.conditions) ? crd.status.conditions : []
  return conditions.some(
    condition => isObject(condition) && condition.type === 'Established' && condition.status === 'True',
  )
}

/** A version that may still hold stored objects must stay in the list. */
function storedVersionFaults(crd: KubeObject, spec: Spec): Fault[] {
  const written = isObject(crd.status) && Array.isArray(crd.status.storedVersions) ? crd.status.storedVersions : []
  const stored = withStoredVersion(written as string[], spec)
  if (stored.length === 0) return [invalid('status.storedVersions', null, 'must have at least one stored version')]
  const faults: Fault[] = []
  for (const [i, name] of stored.entries()) {
    if (spec.versions?.some(version => version.name === name)) continue
    const why = `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`
    faults.push(invalid(at('status.storedVersions', i), name, why))
  }
  return faults
}

const approvalAnnotation = 'api-approved.kubernetes.io'

/** Groups of the Kubernetes project itself need a pointer to their approval. */
function approvalFaults(crd: KubeObject, { group = '' }: Spec, old: KubeObject | undefined): Fault[] {
  const isProtected = /(^|\.)(k8s|kubernetes)\.io$/.test(group)
  const approval = crd.metadata.annotations?.[approvalAnnotation] ?? ''
  if (!isProtected || (old !== undefined && approvalState(old) === approvalState(crd))) return []
  const see = 'see https://github.com/kubernetes/enhancements/pull/1111'
  const path = at('metadata.annotations', approvalAnnotation)
  const why = `protected groups must have approval annotation ${quote(approvalAnnotation)}`
  switch (approvalState(crd)) {
    case 'missing':
      return [required(path, `${why}, ${see}`)]
    case 'invalid':
      return [invalid(path, approval, `${why} with either a URL or a reason starting with "unapproved", ${see}`)]
    default:
      return []
  }
}

function approvalState(crd: KubeObject): 'missing' | 'bypassed' | 'approved' | 'invalid' {
  const approval = crd.metadata.annotations?.[approvalAnnotation] ?? ''
  if (approval === '') return 'missing'
  if (approval.startsWith('unapproved')) return 'bypassed'
  return /^[a-z][a-z0-9+.-]*:\/\/[^/]/i.test(approval) && isRequestURI(approval) ? 'approved' : 'invalid'
}

const numberFormats: ReadonlySet<string> = new Set(['int32', 'int64', 'float', 'double'])

function unknownFormats({ versions = [] }: Spec): string[] {
  const found = new Set<string>()
  const visit = (schema: Schema): void => {
    const { format } = schema
    if (schema.type === 'string' && format && formatCheck(format) === undefined) found.add(format)
    for (const property of Object.values(schema.properties ?? {})) visit(property)
    if (typeof schema.additionalProperties === 'object') visit(schema.additionalProperties)
    if (schema.items !== undefined && !Array.isArray(schema.items)) visit(schema.items)
  }
  for (const version of versions) if (version.schema?.openAPIV3Schema) visit(version.schema.openAPIV3Schema)
  return [...found].filter(format => !numberFormats.has(format))
}
