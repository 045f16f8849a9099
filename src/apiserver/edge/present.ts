// From a verb's answer to bytes in the form the client asked for. Stored bytes go out as they are whenever the client
// wants plain JSON of the stored version: that is the common case, and it is why lists and watches are cheap.

import { stringify as stringifyYAML } from 'yaml'
import { stringify } from '../../json.ts'
import type { Entry } from '../../store/store.ts'
import { builtinDefinitions } from '../builtin/types.ts'
import type { Answer, Call, FoundList } from '../call.ts'
import type { ServedKind } from '../kinds/kind.ts'
import { contentTypes, type Representation } from '../media.ts'
import { type KubeObject, toAPIVersion } from '../object.ts'
import { internalError, notAcceptable } from '../status.ts'
import { type IncludeObject, parseIncludeObject, partialMetadata, toTable } from '../table/table.ts'
import { encodeProtobuf } from '../wire/protobuf.ts'
import { presentWatch } from './present-watch.ts'
import type { WireResponse } from './wire.ts'

export async function present(
  call: Call,
  answer: Answer,
  form: Representation,
  clock: () => Date,
): Promise<WireResponse> {
  const now = clock()
  switch (answer.type) {
    case 'watch':
      return presentWatch(call, answer.open, form, clock)
    case 'status':
      return toResponse(answer.status.code ?? 200, answer.status, form)
    case 'nothing':
      return { code: 204, headers: {}, body: Buffer.alloc(0) }
    case 'entry':
      if (canSendStored(call, [answer.entry], form)) return stored(answer.code, [answer.entry.value, newline])
      return presentOne(call, answer.code, await readOne(call, answer.entry), form, now)
    case 'object':
      return presentOne(call, answer.code, answer.object, form, now)
    case 'list':
      if (canSendStored(call, answer.entries, form)) return stored(200, joinList(call, answer))
      return presentList(call, answer, form, now)
  }
}

export function toResponse(code: number, value: unknown, form: Representation): WireResponse {
  return { code, headers: { 'content-type': contentTypes[form.encoding] }, body: encode(value, form) }
}

function encode(value: unknown, form: Representation): Buffer {
  if (form.encoding === 'yaml') return Buffer.from(stringifyYAML(value))
  if (form.encoding === 'protobuf') return toProtobuf(value)
  const text = stringify(value)
  return Buffer.from(form.pretty ? `${JSON.stringify(JSON.parse(text), undefined, 2)}\n` : `${text}\n`)
}

/** Custom kinds have no protobuf form; a client that accepts nothing else cannot be answered. */
export function toProtobuf(value: unknown): Buffer {
  const bytes = encodeProtobuf(value as KubeObject, builtinDefinitions)
  if (bytes === undefined)
    throw notAcceptable('only the following media types are accepted: application/json, application/yaml')
  return bytes
}

export function canSendStored(call: Call, entries: readonly Entry[], form: Representation): boolean {
  if (form.encoding !== 'json' || form.pretty || form.view !== undefined) return false
  return entries.every(entry => call.resource.isExact(entry, call.served.kind))
}

const newline = Buffer.from('\n')
const comma = Buffer.from(',')
const brace = Buffer.from('{')

function stored(code: number, parts: readonly Buffer[]): WireResponse {
  return { code, headers: { 'content-type': contentTypes.json }, body: Buffer.concat(parts) }
}

function joinList(call: Call, found: FoundList): Buffer[] {
  const { kind } = call.served
  const parts: Buffer[] = [Buffer.from(`${stringify(listHead(call, found)).slice(0, -1)},"items":[`)]
  // Items of a built-in list do not repeat what the list's own kind says; stored bytes have it in front.
  const prefix = `{"kind":${JSON.stringify(kind.kind)},"apiVersion":${JSON.stringify(toAPIVersion(kind.group, kind.version))},`
  const skip = kind.isCustom ? 0 : Buffer.byteLength(prefix)
  found.entries.forEach((entry, i) => {
    if (i > 0) parts.push(comma)
    if (skip > 0) parts.push(brace)
    parts.push(entry.value.subarray(skip))
  })
  parts.push(Buffer.from(']}\n'))
  return parts
}

function listHead(call: Call, found: FoundList): Record<string, unknown> {
  const { kind } = call.served
  return {
    kind: kind.listKind,
    apiVersion: toAPIVersion(kind.group, kind.version),
    metadata: wholeListMetadata(kind, found),
  }
}

/** A list of custom objects has no struct that would leave out an empty field. */
function wholeListMetadata({ isCustom }: ServedKind, found: FoundList) {
  const metadata = listMetadata(found)
  return isCustom ? { continue: '', ...metadata } : metadata
}

function listMetadata(found: FoundList) {
  return {
    resourceVersion: String(found.revision),
    ...(found.next !== undefined && { continue: found.next }),
    ...(found.remaining !== undefined && { remainingItemCount: found.remaining }),
  }
}

function presentOne(call: Call, code: number, object: KubeObject, form: Representation, now: Date): WireResponse {
  return toResponse(code, view(call, object, form, now), form)
}

async function presentList(call: Call, found: FoundList, form: Representation, now: Date): Promise<WireResponse> {
  const objects = await call.resource.read(found.entries, call.served)
  const metadata = listMetadata(found)
  if (form.view?.kind === 'Table') {
    const options = { includeObject: readInclude(call), now, version: form.view.version, metadata }
    return toResponse(200, toTable(call.served.kind, objects, options), form)
  }
  if (form.view !== undefined) {
    const apiVersion = `meta.k8s.io/${form.view.version}`
    const items = objects.map(object => view(call, object, form, now))
    return toResponse(200, { kind: 'PartialObjectMetadataList', apiVersion, metadata, items }, form)
  }
  const items = call.served.kind.isCustom ? objects : objects.map(({ kind: _, apiVersion: __, ...rest }) => rest)
  return toResponse(200, { ...listHead(call, found), items }, form)
}

/** One object as the client wants to see it: whole, as a row of a table, or reduced to its metadata. */
export function view(call: Call, object: KubeObject, form: Representation, now: Date): Record<string, unknown> {
  if (form.view === undefined) return object
  const { version } = form.view
  if (form.view.kind !== 'Table') return { ...partialMetadata(object, version) }
  const metadata = { resourceVersion: object.metadata.resourceVersion ?? '' }
  return { ...toTable(call.served.kind, [object], { includeObject: readInclude(call), now, version, metadata }) }
}

export async function readOne(call: Call, entry: Entry): Promise<KubeObject> {
  const [object] = await call.resource.read([entry], call.served)
  if (object === undefined) throw internalError('the object could not be converted')
  return object
}

function readInclude(call: Call): IncludeObject {
  return parseIncludeObject(call.request.query.get('includeObject'))
}
