// A small API server for tens of thousands of short worlds: objects in maps, one counter of revisions, every change kept.
// It does what the protocol rests on and nothing else: versions and uids as preconditions, finalizers, the status as a
// door of its own, the definitions' schemas and rules, watches from any revision, lists of the past, owners and namespaces
// that take their objects with them. It is compared with the embedded server: the end of every plan that is played here must be
// the end of the same scenario played there.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { builtinDefinitions } from '../../src/apiserver/builtin/types.ts'
import type { DefinitionSpec } from '../../src/apiserver/crd/resource.ts'
import { checkMetadataUpdate, toTimestamp } from '../../src/apiserver/metadata.ts'
import { clone, equal, type KubeObject, type OwnerReference, toAPIVersion } from '../../src/apiserver/object.ts'
import { mergePatch } from '../../src/apiserver/patch/merge-patch.ts'
import type { Schema } from '../../src/apiserver/schema/schema.ts'
import { type CompiledSchema, compileSchema } from '../../src/apiserver/schema/structural.ts'
import {
  alreadyExists,
  conflict,
  forbidden,
  invalidObject,
  modifiedMeanwhile,
  notFound,
  StatusError,
} from '../../src/apiserver/status.ts'
import type { Wire, WireRequest, WireResponse } from '../../src/kube/wire.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import { toyDefinitions } from '../toy-desk/kinds.ts'
import type { Admin, Seen, Server } from './server.ts'

interface LeanKind {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
  readonly isNamespaced: boolean
  readonly hasStatus: boolean
  /** Undefined for what is built in. */
  readonly compiled: CompiledSchema | undefined
}

interface Row {
  readonly kind: LeanKind
  readonly key: string
  readonly object: KubeObject
  /** As it is sent. */
  readonly text: string
  readonly revision: number
}

interface Change {
  readonly type: 'put' | 'delete'
  readonly row: Row
  readonly previous: Row | undefined
}

type Query = ReadonlyMap<string, string>

interface Target {
  readonly kind: LeanKind
  readonly namespace: string
  readonly name: string
  readonly subresource: string
}

/** So that a list of the past can be older than anything that happened. */
const firstRevision = 200
const bookmarkMs = 60_000
/** As the embedded server looks at what is left of a namespace. */
const emptyingMs = 200

const shipped: readonly KubeObject[] = [
  'config/crd',
  'config/crd/cluster-api',
  'config/crd/networks',
  'config/crd/kubevirt',
  'config/crd/machine',
].flatMap(folder =>
  readdirSync(folder)
    .filter(name => name.endsWith('.yaml'))
    .toSorted()
    .flatMap(name => parseAllDocuments(readFileSync(join(folder, name), 'utf8')).map(document => document.toJS())),
)

/** With those of the toy desk, which most scenarios do not use. */
export const definitions: readonly KubeObject[] = [...shipped, ...(toyDefinitions as readonly KubeObject[])]

const namespaceKind: LeanKind = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  isNamespaced: false,
  hasStatus: true,
  compiled: undefined,
}

const nodeKind: LeanKind = { ...namespaceKind, plural: 'nodes', kind: 'Node' }

const podKind: LeanKind = { ...namespaceKind, plural: 'pods', kind: 'Pod', isNamespaced: true }
const secretKind: LeanKind = { ...podKind, plural: 'secrets', kind: 'Secret', hasStatus: false }

let kindsOnce: ReadonlyMap<string, LeanKind> | undefined

/** By group, version and plural. */
function allKinds(): ReadonlyMap<string, LeanKind> {
  kindsOnce ??= new Map(
    [namespaceKind, nodeKind, podKind, secretKind, ...definitions.map(toLeanKind)].map(kind => [
      pathOf(kind.group, kind.version, kind.plural),
      kind,
    ]),
  )
  return kindsOnce
}

function toLeanKind(definition: KubeObject): LeanKind {
  const { group, names, scope, versions } = definition.spec as DefinitionSpec
  const stored = versions.find(version => version.storage)
  if (stored === undefined) throw new Error(`${definition.metadata.name} has no version to store`)
  const schema = stored.schema?.openAPIV3Schema as Schema
  return {
    group,
    version: stored.name,
    plural: names.plural,
    kind: names.kind,
    isNamespaced: scope === 'Namespaced',
    hasStatus: stored.subresources?.status !== undefined,
    compiled: compileSchema(schema, builtinDefinitions),
  }
}

const pathOf = (group: string, version: string, plural: string): string => `${group}/${version}/${plural}`

export function leanServer(clock: Clock): Server {
  const state = new Map<string, Row>()
  const changes: Change[] = []
  const watchers = new Set<(change: Change) => void>()
  const observers = new Set<(seen: Seen) => void>()
  const emptying = new Map<string, () => void>()
  let revision = firstRevision
  let uids = 0
  let isStopped = false

  // --- what is stored ---

  function publish(type: 'put' | 'delete', kind: LeanKind, object: KubeObject): Row {
    revision++
    object.metadata.resourceVersion = String(revision)
    const key = keyOf(kind, object.metadata.namespace ?? '', object.metadata.name ?? '')
    const row: Row = { kind, key, object, text: JSON.stringify(object), revision }
    const change: Change = { type, row, previous: state.get(key) }
    if (type === 'put') state.set(key, row)
    else state.delete(key)
    changes.push(change)
    for (const tell of observers) {
      tell({ type, key, revision, object, ...(change.previous && { previous: change.previous.object }) })
    }
    for (const tell of watchers) tell(change)
    follow(change)
    return row
  }

  function write(kind: LeanKind, object: KubeObject): Row {
    const { deletionTimestamp, finalizers = [] } = object.metadata
    const goes = deletionTimestamp !== undefined && finalizers.length === 0 && !isHeldBack(object)
    return publish(goes ? 'delete' : 'put', kind, object)
  }

  function rowsAt(kind: LeanKind, namespace: string, at: number): Row[] {
    const prefix = keyOf(kind, namespace, '')
    if (at >= revision) return [...state.values()].filter(({ key }) => key.startsWith(prefix))
    const then = new Map<string, Row>()
    for (const { type, row } of changes) {
      if (row.revision > at || !row.key.startsWith(prefix)) continue
      if (type === 'put') then.set(row.key, row)
      else then.delete(row.key)
    }
    return [...then.values()]
  }

  // --- verbs ---

  function create({ kind, namespace }: Target, sent: KubeObject): Row {
    const { name = '' } = sent.metadata
    const key = keyOf(kind, namespace, name)
    const home = namespace === '' ? undefined : state.get(keyOf(namespaceKind, '', namespace))
    if (namespace !== '' && home === undefined) throw notFound(namespaceKind, namespace)
    if (state.has(key)) throw alreadyExists(kind, name)
    if (home?.object.metadata.deletionTimestamp !== undefined) {
      throw forbidden(
        kind,
        name,
        `unable to create new content in namespace ${namespace} because it is being terminated`,
      )
    }
    const { deletionTimestamp: _, resourceVersion: __, ...metadata } = sent.metadata
    const object: KubeObject = {
      ...sent,
      kind: kind.kind,
      apiVersion: toAPIVersion(kind.group, kind.version),
      metadata: {
        ...metadata,
        ...(namespace !== '' && { namespace }),
        uid: toUid(++uids),
        creationTimestamp: toTimestamp(new Date(clock.now())),
        ...(kind.compiled !== undefined && { generation: 1 }),
      },
    }
    if (kind === namespaceKind) furnish(object)
    if (kind.hasStatus && kind.compiled !== undefined) delete object.status
    complete(kind, object)
    refuse(kind, object, kind.compiled?.validate(object) ?? [])
    return publish('put', kind, object)
  }

  /**
   * What people change is judged by schema and rules, as everything is that is created. That desks write sense into
   * what is there already is judged where the same scenarios are played on the embedded server: here it would take as
   * long as everything else.
   */
  function patch({ kind, namespace, name, subresource }: Target, body: object, isJudged = false): Row {
    const row = state.get(keyOf(kind, namespace, name))
    if (row === undefined) throw notFound(kind, name)
    const old = row.object
    const object = mergePatch(old as never, body as never) as unknown as KubeObject
    if (object.metadata.resourceVersion !== old.metadata.resourceVersion) throw conflict(kind, name, modifiedMeanwhile)
    // Annotations of a pod can be written with its status.
    if (subresource === 'status') keepAllBut('status', object, old, kind === podKind)
    else if (kind.hasStatus) keep('status', object, old)
    keepSystemFields(object, old)
    complete(kind, object)
    const counts = (field: string) => field !== 'metadata' && !(kind.hasStatus && field === 'status')
    const fields = Object.keys({ ...object, ...old }).filter(counts)
    const isSame = fields.every(field => equal(object[field], old[field]))
    if (!isSame && kind.compiled !== undefined) object.metadata.generation = Number(old.metadata.generation ?? 0) + 1
    if (isSame && equal(object, old)) return row
    const compiled = isJudged ? kind.compiled : undefined
    const faults = subresource === 'status' ? compiled?.validateStatus(object, old) : compiled?.validate(object, old)
    refuse(kind, object, [...checkMetadataUpdate(object.metadata, old.metadata), ...(faults ?? [])])
    return write(kind, object)
  }

  function remove({ kind, namespace, name }: Target, preconditions: Preconditions = {}): Row | undefined {
    const row = state.get(keyOf(kind, namespace, name))
    if (row === undefined) throw notFound(kind, name)
    const { metadata } = row.object
    const isOther =
      (preconditions.uid !== undefined && preconditions.uid !== metadata.uid) ||
      (preconditions.resourceVersion !== undefined && preconditions.resourceVersion !== metadata.resourceVersion)
    if (isOther) throw conflict(kind, name, 'the precondition does not match')
    const stays = (metadata.finalizers ?? []).length > 0 || isHeldBack(row.object)
    if (!stays) {
      publish('delete', kind, clone(row.object))
      return undefined
    }
    if (metadata.deletionTimestamp !== undefined) return row
    const object = clone(row.object)
    object.metadata.deletionTimestamp = toTimestamp(new Date(clock.now()))
    object.metadata.deletionGracePeriodSeconds = 0
    if (metadata.generation !== undefined) object.metadata.generation = Number(metadata.generation) + 1
    if (kind === namespaceKind) object.status = { phase: 'Terminating' }
    return publish('put', kind, object)
  }

  // --- the server's own controllers ---

  /** Objects follow their owners, a namespace's content follows its namespace; both a turn later. */
  function follow({ type, row, previous }: Change): void {
    const { metadata } = row.object
    if (metadata.ownerReferences !== undefined) setImmediate(() => collect(row.key))
    if (type === 'delete' || previous?.object.metadata.uid !== metadata.uid)
      setImmediate(() => orphan(metadata.uid ?? ''))
    if (row.kind === namespaceKind && metadata.deletionTimestamp !== undefined && type === 'put') {
      setImmediate(() => empty(metadata.name ?? ''))
    }
  }

  function orphan(uid: string): void {
    for (const { key, object } of state.values()) {
      if (object.metadata.ownerReferences?.some(owner => owner.uid === uid)) collect(key)
    }
  }

  function collect(key: string): void {
    const row = state.get(key)
    const { deletionTimestamp, ownerReferences = [], namespace = '', name = '' } = row?.object.metadata ?? {}
    if (isStopped || row === undefined || deletionTimestamp !== undefined) return
    const gone = ownerReferences.filter(owner => stateOf(owner, namespace) === 'gone')
    if (gone.length === 0) return
    const target = { kind: row.kind, namespace, name, subresource: '' }
    if (gone.length === ownerReferences.length) {
      remove(target)
      return
    }
    patch(target, { metadata: { ownerReferences: ownerReferences.filter(owner => !gone.includes(owner)) } })
  }

  /** Of an owner whose kind is not served nothing is known. */
  function stateOf({ apiVersion, kind, name, uid }: OwnerReference, namespace: string): 'there' | 'gone' | 'unknown' {
    const group = apiVersion.split('/')[0]
    const served = [...allKinds().values()].find(one => one.kind === kind && one.group === group)
    if (served === undefined) return 'unknown'
    const found = state.get(keyOf(served, served.isNamespaced ? namespace : '', name))
    return found?.object.metadata.uid === uid ? 'there' : 'gone'
  }

  function empty(name: string): void {
    const row = state.get(keyOf(namespaceKind, '', name))
    if (isStopped || row?.object.metadata.deletionTimestamp === undefined) return
    const content = () => [...state.values()].filter(({ object }) => object.metadata.namespace === name)
    for (const { kind, object } of content()) {
      remove({ kind, namespace: name, name: object.metadata.name ?? '', subresource: '' })
    }
    if (content().length === 0) {
      publish('delete', namespaceKind, { ...clone(row.object), spec: { finalizers: [] } })
      return
    }
    emptying.get(name)?.()
    const cancel = clock.setTimer(emptyingMs, () => empty(name))
    emptying.set(name, cancel)
  }

  // --- requests ---

  async function answer(method: string, path: string, body: unknown, isJudged = false): Promise<WireResponse> {
    await undefined
    try {
      return serve(method, path, body, isJudged)
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      return reply(error.status.code, JSON.stringify(error.status))
    }
  }

  function serve(method: string, path: string, body: unknown, isJudged: boolean): WireResponse {
    const [plain = '', search = ''] = path.split('?')
    const parts = plain.split('/').slice(1).map(decodeURIComponent)
    const isCore = parts[0] === 'api'
    const group = isCore ? '' : (parts[1] ?? '')
    const version = (isCore ? parts[1] : parts[2]) ?? ''
    const rest = parts.slice(isCore ? 2 : 3)
    if (rest.length === 0) return discover(group, version)
    // Events of desks are read by users alone, and no desk reads them.
    if (rest.includes('events')) return reply(201, JSON.stringify(body))
    const target = toTarget(group, version, rest)
    switch (method) {
      case 'GET':
        return target.name === '' ? list(target, toQuery(search)) : get(target)
      case 'POST':
        return reply(201, create(target, body as KubeObject).text)
      case 'PATCH':
        return reply(200, patch(target, body as object, isJudged).text)
      case 'DELETE': {
        const row = remove(target, (body as { preconditions?: Preconditions } | undefined)?.preconditions)
        return reply(200, row?.text ?? '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}')
      }
      default:
        throw new Error(`no desk here sends ${method}`)
    }
  }

  function get({ kind, namespace, name }: Target): WireResponse {
    const row = state.get(keyOf(kind, namespace, name))
    if (row === undefined) throw notFound(kind, name)
    return reply(200, row.text)
  }

  function list({ kind, namespace }: Target, query: Query): WireResponse {
    const at = Number(query.get('resourceVersion') ?? revision)
    const matches = selected(query.get('labelSelector') ?? '')
    const texts = rowsAt(kind, namespace, at)
      .filter(({ object }) => matches(object))
      .toSorted((one, other) => (one.key < other.key ? -1 : 1))
      .map(({ text }) => text)
    return reply(200, `{"kind":"List","metadata":{"resourceVersion":"${at}"},"items":[${texts.join()}]}`)
  }

  function watch({ path, signal }: WireRequest): WireResponse {
    const [plain = '', search = ''] = path.split('?')
    const parts = plain.split('/').slice(1).map(decodeURIComponent)
    const isCore = parts[0] === 'api'
    const { kind, namespace } = toTarget(
      isCore ? '' : (parts[1] ?? ''),
      (isCore ? parts[1] : parts[2]) ?? '',
      parts.slice(isCore ? 2 : 3),
    )
    const query = toQuery(search)
    const prefix = keyOf(kind, namespace, '')
    const from = Number(query.get('resourceVersion'))
    const lines = new Lines()
    // Labels that are selected by do not change in these worlds.
    const matches = selected(query.get('labelSelector') ?? '')
    const tell = ({ type, row, previous }: Change) => {
      if (!row.key.startsWith(prefix) || !matches(row.object)) return
      const event = type === 'delete' ? 'DELETED' : previous === undefined ? 'ADDED' : 'MODIFIED'
      lines.push(`{"type":"${event}","object":${row.text}}\n`)
    }
    for (const change of changes) if (change.row.revision > from) tell(change)
    watchers.add(tell)
    let marked = from
    const bookmark = () => {
      const metadata = `"metadata":{"resourceVersion":"${revision}"}`
      if (revision > marked) lines.push(`{"type":"BOOKMARK","object":{"kind":"${kind.kind}",${metadata}}}\n`)
      marked = revision
    }
    let cancelBookmark = () => {}
    const arm = () => {
      cancelBookmark = clock.setTimer(bookmarkMs, () => {
        bookmark()
        arm()
      })
    }
    arm()
    const close = () => {
      watchers.delete(tell)
      cancelBookmark()
      cancelEnd()
      lines.end()
    }
    const cancelEnd = clock.setTimer(Number(query.get('timeoutSeconds')) * 1000, () => {
      bookmark()
      close()
    })
    signal.addEventListener('abort', close, { once: true })
    if (signal.aborted) close()
    return { status: 200, headers: {}, body: lines.read() }
  }

  const wire: Wire = async request => {
    if (request.isStream === true) {
      await undefined
      return watch(request)
    }
    const { method, path, body } = request
    return answer(method, path, body === undefined || body === '' ? undefined : JSON.parse(body))
  }

  const admin: Admin = {
    async request(method, path, body) {
      const { status, body: text } = await answer(method, path, body, true)
      return { code: status, text: String(text) }
    },
  }

  for (const name of ['default', 'kube-node-lease', 'kube-public', 'kube-system']) {
    create(
      { kind: namespaceKind, namespace: '', name, subresource: '' },
      { kind: 'Namespace', apiVersion: 'v1', metadata: { name } },
    )
  }

  return {
    wire: () => wire,
    admin,
    faults: [],
    get revision() {
      return revision
    },
    onChange(tell) {
      observers.add(tell)
      return () => observers.delete(tell)
    },
    async stop() {
      isStopped = true
      for (const cancel of emptying.values()) cancel()
    },
  }
}

interface Preconditions {
  readonly uid?: string
  readonly resourceVersion?: string
}

const reply = (status: number, body: string): WireResponse => ({ status, headers: {}, body })

function keyOf({ group, plural, isNamespaced }: LeanKind, namespace: string, name: string): string {
  const place = isNamespaced && namespace !== '' ? `${namespace}/` : ''
  return `/${group}/${plural}/${place}${name}`
}

function toTarget(group: string, version: string, rest: readonly string[]): Target {
  const isInside = rest[0] === 'namespaces' && rest.length > 2
  const [plural = '', name = '', subresource = ''] = isInside ? rest.slice(2) : rest
  const kind = allKinds().get(pathOf(group, version, plural))
  if (kind === undefined) throw notFound({ group, plural }, '')
  return { kind, namespace: isInside ? (rest[1] ?? '') : '', name, subresource }
}

function toQuery(search: string): Query {
  return new Map(new URLSearchParams(search))
}

function discover(group: string, version: string): WireResponse {
  const served = [...allKinds().values()].filter(kind => kind.group === group && kind.version === version)
  if (served.length === 0 && group !== 'events.k8s.io') throw notFound({ group, plural: '' }, '')
  const resources = [...served.map(({ plural }) => plural), 'events'].map(name => ({ name }))
  return reply(200, JSON.stringify({ kind: 'APIResourceList', resources }))
}

/** That a label is there, or what it says: nothing else is asked for here. */
function selected(selector: string): (object: KubeObject) => boolean {
  if (selector === '') return () => true
  const [key = '', value] = selector.split('=')
  return ({ metadata: { labels = {} } }) => (value === undefined ? Object.hasOwn(labels, key) : labels[key] === value)
}

function toUid(count: number): string {
  return `00000000-0000-4000-8000-${count.toString(16).padStart(12, '0')}`
}

function isHeldBack({ kind, spec }: KubeObject): boolean {
  return kind === 'Namespace' && ((spec as { finalizers?: string[] } | undefined)?.finalizers ?? []).length > 0
}

function furnish(namespace: KubeObject): void {
  const { metadata } = namespace
  metadata.labels = { ...metadata.labels, 'kubernetes.io/metadata.name': metadata.name ?? '' }
  namespace.spec = { finalizers: ['kubernetes'] }
  namespace.status = { phase: 'Active' }
}

/** `labels: {}` says nothing, and nothing is what is stored. */
function complete({ compiled }: LeanKind, object: KubeObject): void {
  for (const [field, value] of Object.entries(object.metadata)) {
    const isEmpty = value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0)
    if (isEmpty) delete object.metadata[field as keyof typeof object.metadata]
  }
  compiled?.prune(object)
  compiled?.applyDefaults(object)
}

function refuse(kind: LeanKind, { metadata }: KubeObject, faults: Parameters<typeof invalidObject>[2]): void {
  if (faults.length > 0) throw invalidObject(kind, metadata.name ?? '', faults)
}

function keep(field: string, object: KubeObject, old: KubeObject): void {
  if (old[field] === undefined) delete object[field]
  else object[field] = clone(old[field])
}

function keepAllBut(kept: string, object: KubeObject, old: KubeObject, withMetadata: boolean): void {
  for (const field of Object.keys({ ...object, ...old })) {
    if (field !== kept && !(withMetadata && field === 'metadata')) keep(field, object, old)
  }
}

function keepSystemFields({ metadata }: KubeObject, { metadata: old }: KubeObject): void {
  for (const field of ['creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generation'] as const) {
    if (old[field] === undefined) delete metadata[field]
    else Object.assign(metadata, { [field]: old[field] })
  }
}

/** The body of a watch. */
class Lines {
  readonly #lines: string[] = []
  #hasEnded = false
  #wake = () => {}

  push(line: string): void {
    this.#lines.push(line)
    this.#wake()
  }

  end(): void {
    this.#hasEnded = true
    this.#wake()
  }

  async *read(): AsyncGenerator<Uint8Array, void, void> {
    for (;;) {
      const line = this.#lines.shift()
      if (line !== undefined) {
        yield Buffer.from(line)
        continue
      }
      if (this.#hasEnded) return
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }
}
