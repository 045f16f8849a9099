// The requests that a kind serves, from which both forms of OpenAPI are printed: path, method, parameters, body,
// answers. `kubectl` looks here for the parameters that a patch of a kind takes.

import type { ServedKind, Subresource, Verb } from '../kinds/kind.ts'
import type { Definitions } from '../schema/schema.ts'

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly type: 'string' | 'boolean' | 'integer'
  readonly description: string
}

export interface Operation {
  readonly path: string
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  readonly action: string
  readonly id: string
  readonly tag: string
  readonly description: string
  readonly parameters: readonly Parameter[]
  readonly body:
    | { readonly schemaName: string; readonly required: boolean; readonly types: readonly string[] }
    | undefined
  /** By status code; `string` stands for plain text. */
  readonly answers: readonly { readonly code: number; readonly text: string; readonly schemaName: string }[]
  readonly answerTypes: readonly string[]
  readonly gvk: { readonly group: string; readonly version: string; readonly kind: string } | undefined
}

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1.'
const query = (name: string, type: Parameter['type'], description: string): Parameter => ({
  name,
  in: 'query',
  type,
  description,
})

const pretty = query('pretty', 'string', "If 'true', the answer is indented for people.")
const dryRun = query('dryRun', 'string', "Do everything but store the result. The only valid value is 'All'.")
const fieldManager = query(
  'fieldManager',
  'string',
  'The name of the client that makes this change; required for apply, at most 128 printable characters.',
)
const fieldValidation = query(
  'fieldValidation',
  'string',
  'What to do about unknown and duplicate fields: Ignore drops them, Warn drops them and says so (the default), Strict refuses the request.',
)
const force = query('force', 'boolean', 'Take over fields that other managers own; for apply only.')
const resourceVersion = query('resourceVersion', 'string', 'How old the answer may be; unset means the newest state.')

const listOptions: readonly Parameter[] = [
  query(
    'allowWatchBookmarks',
    'boolean',
    'Let a watch send BOOKMARK events that carry nothing but a newer resourceVersion.',
  ),
  query('continue', 'string', 'The token of the previous page of the same list.'),
  query('fieldSelector', 'string', 'Only objects with these field values.'),
  query('labelSelector', 'string', 'Only objects with these labels.'),
  query('limit', 'integer', 'At most so many objects; the answer carries a token when there are more.'),
  resourceVersion,
  query('resourceVersionMatch', 'string', 'How resourceVersion is meant: Exact or NotOlderThan.'),
  query('sendInitialEvents', 'boolean', 'Begin a watch with the present state, followed by a bookmark.'),
  query('timeoutSeconds', 'integer', 'End the list or watch after so many seconds.'),
  query('watch', 'boolean', 'Send changes as they happen instead of a list.'),
]
const deleteOptions: readonly Parameter[] = [
  dryRun,
  query('gracePeriodSeconds', 'integer', 'How long the object may take to end; 0 is at once.'),
  query(
    'ignoreStoreReadErrorWithClusterBreakingPotential',
    'boolean',
    'Delete even an object that can no longer be read from the store.',
  ),
  query('orphanDependents', 'boolean', 'Deprecated; use propagationPolicy.'),
  query('propagationPolicy', 'string', 'What happens to dependents: Orphan, Background or Foreground.'),
]
const collectionOptions = [
  ...deleteOptions,
  ...listOptions.filter(({ name }) => name !== 'allowWatchBookmarks' && name !== 'watch'),
]

const patchTypes = ['application/apply-patch+yaml', 'application/json-patch+json', 'application/merge-patch+json']
const builtinPatchTypes = [...patchTypes, 'application/strategic-merge-patch+json']
const customTypes = ['application/json', 'application/yaml']
const builtinTypes = ['application/json', 'application/vnd.kubernetes.protobuf', 'application/yaml']
const listTypes = [
  'application/json',
  'application/json;stream=watch',
  'application/vnd.kubernetes.protobuf',
  'application/vnd.kubernetes.protobuf;stream=watch',
  'application/yaml',
]

/** `rbac.authorization.k8s.io` is `rbacAuthorization`; the core group is `core`. */
export function publicGroupName(group: string): string {
  if (group === '') return 'core'
  const parts = group.replace(/\.k8s\.io$/, '').split('.')
  return parts.map((part, i) => (i === 0 ? part : capitalize(part))).join('')
}

const capitalize = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1)

export function rootPath(group: string, version: string): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`
}

export function listSchemaName(kind: ServedKind): string {
  const prefix = kind.schemaName.slice(0, kind.schemaName.lastIndexOf('.') + 1)
  return prefix + kind.listKind
}

/** Everything that a group version answers; `definitions` tells the schema of a subresource that has its own kind. */
export function operationsOf(kinds: readonly ServedKind[], definitions: Definitions): Operation[] {
  return kinds.flatMap(kind => [...collection(kind), ...item(kind), ...subresources(kind, definitions)])
}

/** `GET /apis/GROUP/VERSION/` */
export function discoveryOperation(group: string, version: string): Operation {
  const name = publicGroupName(group)
  return {
    path: `${rootPath(group, version)}/`,
    method: 'get',
    action: '',
    id: `get${capitalize(name)}${capitalize(version)}APIResources`,
    tag: `${name}_${version}`,
    description: 'get available resources',
    parameters: [],
    body: undefined,
    answers: [{ code: 200, text: 'OK', schemaName: `${meta}APIResourceList` }],
    answerTypes: builtinTypes,
    gvk: undefined,
  }
}

function collection(kind: ServedKind): Operation[] {
  const root = rootPath(kind.group, kind.version)
  const path = kind.namespaced ? `${root}/namespaces/{namespace}/${kind.plural}` : `${root}/${kind.plural}`
  const operations: Operation[] = []
  if (kind.verbs.includes('list')) {
    if (kind.namespaced) {
      operations.push({
        ...operation(kind, { path: `${root}/${kind.plural}`, verb: 'list' }),
        id: operationId(kind, 'list', `${kind.kind}ForAllNamespaces`),
      })
    }
    operations.push(operation(kind, { path, verb: 'list' }))
  }
  if (kind.verbs.includes('create')) operations.push(operation(kind, { path, verb: 'create' }))
  if (kind.verbs.includes('deletecollection')) operations.push(operation(kind, { path, verb: 'deletecollection' }))
  return operations
}

function item(kind: ServedKind): Operation[] {
  const verbs: readonly Verb[] = ['get', 'update', 'delete', 'patch']
  return verbs.filter(verb => kind.verbs.includes(verb)).map(verb => operation(kind, { path: itemPath(kind), verb }))
}

function subresources(kind: ServedKind, definitions: Definitions): Operation[] {
  // Streams and proxies take no body that a schema could describe.
  const described = kind.subresources.filter(sub => sub.kind?.endsWith('Options') !== true)
  return described.flatMap(sub =>
    sub.verbs.map(verb =>
      operation(kind, {
        path: `${itemPath(kind)}/${sub.name}`,
        verb,
        sub,
        schemaName: subSchema(kind, sub, definitions),
      }),
    ),
  )
}

function itemPath(kind: ServedKind): string {
  const root = rootPath(kind.group, kind.version)
  return kind.namespaced ? `${root}/namespaces/{namespace}/${kind.plural}/{name}` : `${root}/${kind.plural}/{name}`
}

function subSchema(kind: ServedKind, sub: Subresource, definitions: Definitions): string {
  if (sub.name === 'log') return 'string'
  if (sub.kind === undefined) return kind.schemaName
  const wanted = { group: sub.group ?? kind.group, version: sub.version ?? kind.version, kind: sub.kind }
  for (const [name, schema] of Object.entries(definitions)) {
    const gvks = schema['x-kubernetes-group-version-kind'] ?? []
    if (gvks.some(g => g.group === wanted.group && g.version === wanted.version && g.kind === wanted.kind)) return name
  }
  return kind.schemaName
}

interface Place {
  readonly path: string
  readonly verb: Verb
  readonly sub?: Subresource
  readonly schemaName?: string
}

const shapes = {
  list: { method: 'get', action: 'list', word: 'list' },
  watch: { method: 'get', action: 'watch', word: 'watch' },
  create: { method: 'post', action: 'post', word: 'create' },
  deletecollection: { method: 'delete', action: 'deletecollection', word: 'delete' },
  get: { method: 'get', action: 'get', word: 'read' },
  update: { method: 'put', action: 'put', word: 'replace' },
  delete: { method: 'delete', action: 'delete', word: 'delete' },
  patch: { method: 'patch', action: 'patch', word: 'patch' },
} as const

function operation(kind: ServedKind, { path, verb, sub, schemaName = kind.schemaName }: Place): Operation {
  const { method, action, word } = shapes[verb]
  const scope = kind.namespaced ? 'Namespaced' : ''
  const subject = `${verb === 'deletecollection' ? 'Collection' : ''}${scope}${kind.kind}${capitalize(sub?.name ?? '')}`
  const own = sub?.kind !== undefined && !kind.isCustom
  return {
    path,
    method,
    action,
    id: operationId(kind, word, subject),
    tag: `${publicGroupName(kind.group)}_${kind.version}`,
    description: describe(kind, verb, sub),
    parameters: [...pathParameters(kind, path), pretty, ...parametersOf(kind, verb)].sort((a, b) =>
      a.name < b.name ? -1 : 1,
    ),
    body: bodyOf(kind, verb, schemaName),
    answers: answersOf(kind, verb, schemaName),
    answerTypes: kind.isCustom ? customTypes : verb === 'list' ? listTypes : builtinTypes,
    gvk: {
      group: own ? (sub.group ?? kind.group) : kind.group,
      version: own ? (sub.version ?? kind.version) : kind.version,
      kind: own ? (sub.kind ?? kind.kind) : kind.kind,
    },
  }
}

function operationId(kind: ServedKind, word: string, subject: string): string {
  return `${word}${capitalize(publicGroupName(kind.group))}${capitalize(kind.version)}${subject}`
}

function describe(kind: ServedKind, verb: Verb, sub: Subresource | undefined): string {
  const of = sub === undefined ? '' : ` ${sub.name} of`
  const article = /^[AEIOU]/.test(kind.kind) ? 'an' : 'a'
  switch (verb) {
    case 'list':
    case 'watch':
      return `${verb} objects of kind ${kind.kind}`
    case 'create':
      return `create${of} ${article} ${kind.kind}`
    case 'delete':
      return `delete${of} ${article} ${kind.kind}`
    case 'deletecollection':
      return `delete collection of ${kind.kind}`
    case 'get':
      return `read${of} the specified ${kind.kind}`
    case 'update':
      return `replace${of} the specified ${kind.kind}`
    case 'patch':
      return `partially update${of} the specified ${kind.kind}`
  }
}

function pathParameters(kind: ServedKind, path: string): Parameter[] {
  const parameters: Parameter[] = []
  if (path.includes('{name}')) {
    parameters.push({ name: 'name', in: 'path', type: 'string', description: `name of the ${kind.kind}` })
  }
  if (path.includes('{namespace}')) {
    parameters.push({ name: 'namespace', in: 'path', type: 'string', description: 'the namespace of the object' })
  }
  return parameters
}

function parametersOf(kind: ServedKind, verb: Verb): readonly Parameter[] {
  switch (verb) {
    case 'list':
    case 'watch':
      return listOptions
    case 'create':
    case 'update':
      return [dryRun, fieldManager, fieldValidation]
    case 'patch':
      return [dryRun, fieldManager, fieldValidation, force]
    case 'delete':
      return deleteOptions
    case 'deletecollection':
      return kind.isCustom ? listOptions : collectionOptions
    case 'get':
      return kind.isCustom ? [resourceVersion] : []
  }
}

function bodyOf(kind: ServedKind, verb: Verb, schemaName: string): Operation['body'] {
  const any = kind.isCustom ? customTypes : ['*/*']
  switch (verb) {
    case 'create':
    case 'update':
      return { schemaName, required: true, types: any }
    case 'patch':
      return { schemaName: `${meta}Patch`, required: true, types: kind.isCustom ? patchTypes : builtinPatchTypes }
    case 'delete':
      return { schemaName: `${meta}DeleteOptions`, required: false, types: any }
    case 'deletecollection':
      return kind.isCustom ? undefined : { schemaName: `${meta}DeleteOptions`, required: false, types: any }
    default:
      return undefined
  }
}

// Kinds whose deletion is answered with the object, for reasons as old as the kinds.
const answersWithObject: ReadonlySet<string> = new Set([
  '/PersistentVolume',
  '/PersistentVolumeClaim',
  '/Pod',
  '/PodTemplate',
  '/ResourceQuota',
  '/Service',
  '/ServiceAccount',
  'storage.k8s.io/CSIDriver',
  'storage.k8s.io/CSINode',
  'storage.k8s.io/StorageClass',
  'storage.k8s.io/VolumeAttachment',
  'storage.k8s.io/VolumeAttributesClass',
])

function answersOf(kind: ServedKind, verb: Verb, schemaName: string): Operation['answers'] {
  const ok = (name: string) => ({ code: 200, text: 'OK', schemaName: name })
  const created = { code: 201, text: 'Created', schemaName }
  const accepted = (name: string) => ({ code: 202, text: 'Accepted', schemaName: name })
  switch (verb) {
    case 'list':
    case 'watch':
      return [ok(listSchemaName(kind))]
    case 'create':
      return [ok(schemaName), created, accepted(schemaName)]
    case 'update':
      return [ok(schemaName), created]
    case 'patch':
      return kind.isCustom ? [ok(schemaName)] : [ok(schemaName), created]
    case 'delete': {
      const answer = answersWithObject.has(`${kind.group}/${kind.kind}`) ? schemaName : `${meta}Status`
      return [ok(answer), accepted(answer)]
    }
    case 'deletecollection':
      return [ok(`${meta}Status`)]
    case 'get':
      return [ok(schemaName)]
  }
}

export interface PathOperations {
  readonly path: string
  readonly operations: readonly Operation[]
  /** What all operations of the path share is said once. */
  readonly shared: readonly Parameter[]
}

export function byPath(operations: readonly Operation[]): PathOperations[] {
  const paths = new Map<string, Operation[]>()
  for (const one of operations) {
    const there = paths.get(one.path)
    if (there === undefined) paths.set(one.path, [one])
    else there.push(one)
  }
  return [...paths]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, there]) => {
      const [first, ...others] = there
      const shared = (first?.parameters ?? []).filter(p =>
        others.every(other => other.parameters.includes(p) || hasPath(other, p)),
      )
      return { path, operations: there, shared }
    })
}

/** Path parameters are made anew for every operation, so they are told by name. */
function hasPath(operation: Operation, parameter: Parameter): boolean {
  return parameter.in === 'path' && operation.parameters.some(({ name }) => name === parameter.name)
}
