// From a verb's answer to bytes in the form the client asked for. Stored bytes go out as they are whenever the client
// wants plain JSON of the stored version: that is the common case, and it is why lists and watches are cheap.

import { stringify as stringifyYAML } from 'yaml'
import { watchBufferBytesMax } from '../../limits.ts'
import type { Entry } from '../../store/store.ts'
import type { Answer, Call, FoundList, WatchEvent, WatchStream } from '../call.ts'
import { stringify } from '../json.ts'
import { contentTypes, type Representation } from '../media.ts'
import { type KubeObject, toAPIVersion } from '../object.ts'
import { decodeEntry } from '../objects.ts'
import { expired, internalError, type Status } from '../status.ts'
import { type IncludeObject, partialMetadata, toTable } from '../table/table.ts'
import type { ByteSink, StreamBody, WireResponse } from './wire.ts'

type ObjectAnswer = Exclude<Answer, { type: 'watch' }>

export async function present(call: Call, answer: Answer, form: Representation, now: Date): Promise<WireResponse> {
  if (answer.type === 'watch') return presentWatch(call, answer.open, form, now)
  if (answer.type === 'status') return toResponse(answer.status.code, answer.status, form)
  if (canSendStored(call, form)) return presentStored(call, answer, form)
  return presentConverted(call, answer, form, now)
}

export function toResponse(code: number, value: unknown, form: Representation): WireResponse {
  return { code, headers: { 'content-type': contentTypes[form.encoding] }, body: encode(value, form) }
}

function encode(value: unknown, form: Representation): Buffer {
  if (form.encoding === 'yaml') return Buffer.from(stringifyYAML(value))
  const text = stringify(value)
  return Buffer.from(form.pretty ? `${JSON.stringify(JSON.parse(text), undefined, 2)}\n` : `${text}\n`)
}

function canSendStored(call: Call, form: Representation): boolean {
  return form.encoding === 'json' && !form.pretty && form.view === undefined && call.resource.isOf(call.served.kind)
}

const newline = Buffer.from('\n')
const comma = Buffer.from(',')

function presentStored(call: Call, answer: ObjectAnswer, form: Representation): WireResponse {
  const headers = { 'content-type': contentTypes.json }
  switch (answer.type) {
    case 'entry':
      return { code: answer.code, headers, body: Buffer.concat([answer.entry.value, newline]) }
    case 'list':
      return { code: 200, headers, body: joinList(call, answer) }
    case 'object':
      return toResponse(answer.code, answer.object, form)
    case 'status':
      return toResponse(answer.status.code, answer.status, form)
  }
}

function joinList(call: Call, found: FoundList): Buffer {
  const { kind } = call.served
  const head = stringify({ ...listHead(call, found) })
  const parts: Buffer[] = [Buffer.from(`${head.slice(0, -1)},"items":[`)]
  // Items of a built-in list do not repeat what the list's own kind says; stored bytes have it in front.
  const prefix = `"kind":${JSON.stringify(kind.kind)},"apiVersion":${JSON.stringify(toAPIVersion(kind.group, kind.version))},`
  const skip = kind.isCustom ? 0 : Buffer.byteLength(prefix) + 1
  found.entries.forEach((entry, i) => {
    if (i > 0) parts.push(comma)
    if (skip > 0) parts.push(Buffer.from('{'))
    parts.push(entry.value.subarray(skip))
  })
  parts.push(Buffer.from(']}\n'))
  return Buffer.concat(parts)
}

function listHead(call: Call, found: FoundList): Record<string, unknown> {
  const { kind } = call.served
  return {
    kind: kind.listKind,
    apiVersion: toAPIVersion(kind.group, kind.version),
    metadata: listMetadata(found),
  }
}

function listMetadata(found: FoundList): Record<string, unknown> {
  return {
    resourceVersion: String(found.revision),
    ...(found.next !== undefined && { continue: found.next }),
    ...(found.remaining !== undefined && { remainingItemCount: found.remaining }),
  }
}

async function presentConverted(
  call: Call,
  answer: ObjectAnswer,
  form: Representation,
  now: Date,
): Promise<WireResponse> {
  if (answer.type === 'status') return toResponse(answer.status.code, answer.status, form)
  const includeObject = readInclude(call)
  if (answer.type !== 'list') {
    const [object] = answer.type === 'object' ? [answer.object] : await convertEntries(call, [answer.entry])
    if (object === undefined) throw internalError('the object could not be converted')
    const viewed =
      form.view?.kind === 'Table'
        ? toTable(call.served.kind, [object], {
            includeObject,
            now,
            version: form.view.version,
            metadata: versionOf(object),
          })
        : viewOne(object, form.view)
    return toResponse(answer.code, viewed, form)
  }
  const objects = await convertEntries(call, answer.entries)
  const metadata = listMetadata(answer)
  if (form.view?.kind === 'Table') {
    const table = toTable(call.served.kind, objects, { includeObject, now, version: form.view.version, metadata })
    return toResponse(200, table, form)
  }
  if (form.view !== undefined) {
    const apiVersion = `meta.k8s.io/${form.view.version}`
    const items = objects.map(object => viewOne(object, form.view))
    return toResponse(200, { kind: 'PartialObjectMetadataList', apiVersion, metadata, items }, form)
  }
  return toResponse(200, { ...listHead(call, answer), items: objects }, form)
}

function versionOf(object: KubeObject) {
  return { resourceVersion: object.metadata.resourceVersion ?? '' }
}

function viewOne(object: KubeObject, view: Representation['view']): unknown {
  if (view === undefined) return object
  return partialMetadata(object, view.version)
}

function convertEntries(call: Call, entries: readonly Entry[]): Promise<KubeObject[]> {
  return call.resource.convert(entries.map(decodeEntry), call.served.kind)
}

function readInclude(call: Call): IncludeObject {
  const asked = call.request.query.get('includeObject')
  return asked === 'Object' || asked === 'None' ? asked : 'Metadata'
}

// ---- watch

type Open = (stream: WatchStream) => () => void

function presentWatch(call: Call, open: Open, form: Representation, now: Date): WireResponse {
  const body: StreamBody = {
    open: sink => {
      const toFrame = canSendStored(call, form) ? storedFrame : convertedFrame(call, form, now)
      return open(orderedStream(call, sink, toFrame))
    },
  }
  return { code: 200, headers: { 'content-type': `${contentTypes[form.encoding]}` }, body }
}

type ToFrame = (call: Call, event: WatchEvent) => Buffer | Promise<Buffer>

/**
 * Events leave in the order they came, also when one must wait for a conversion. A client that does not take its events
 * is cut off with 410 before its backlog can hurt anybody else: it must list anew.
 */
function orderedStream(call: Call, sink: ByteSink, toFrame: ToFrame): WatchStream {
  let hasEnded = false
  let waiting: Promise<void> | undefined
  const finish = (error?: Status) => {
    if (hasEnded) return
    hasEnded = true
    if (error !== undefined) sink.write(errorFrame(error))
    sink.end()
  }
  const put = (frame: Buffer) => {
    if (hasEnded) return
    sink.write(frame)
    if (sink.pendingBytes > watchBufferBytesMax) finish(tooSlow)
  }
  const later = (work: () => void | Promise<void>) => {
    waiting = (waiting ?? Promise.resolve()).then(work).catch((error: unknown) => {
      finish(internalError(error instanceof Error ? error.message : String(error)).status)
    })
  }
  return {
    send(event) {
      const frame = toFrame(call, event)
      if (waiting === undefined && Buffer.isBuffer(frame)) return put(frame)
      later(async () => put(await frame))
    },
    end(error) {
      if (waiting === undefined) return finish(error)
      later(() => finish(error))
    },
  }
}

const tooSlow = expired('the watch was too slow to take its events; list again and start a new watch').status

const frames = new WeakMap<Entry, Map<string, Buffer>>()

/** One event is encoded once, however many watches want it. */
function storedFrame(call: Call, event: WatchEvent): Buffer {
  if (event.type === 'BOOKMARK') return bookmarkFrame(call, event)
  const known = frames.get(event.entry) ?? new Map<string, Buffer>()
  frames.set(event.entry, known)
  const made = known.get(event.type)
  if (made !== undefined) return made
  const frame = Buffer.concat([Buffer.from(`{"type":"${event.type}","object":`), event.entry.value, Buffer.from('}\n')])
  known.set(event.type, frame)
  return frame
}

function convertedFrame(call: Call, form: Representation, now: Date): ToFrame {
  let isFirst = true
  return async (_, event) => {
    if (event.type === 'BOOKMARK') return bookmarkFrame(call, event)
    const withColumns = isFirst
    isFirst = false
    const [object] = await convertEntries(call, [event.entry])
    if (object === undefined) throw new Error('the object could not be converted')
    if (form.view?.kind !== 'Table') return frame(event.type, viewOne(object, form.view))
    const options = { includeObject: readInclude(call), now, version: form.view.version, metadata: versionOf(object) }
    const table = toTable(call.served.kind, [object], options)
    return frame(event.type, withColumns ? table : { ...table, columnDefinitions: null })
  }
}

function bookmarkFrame(call: Call, event: Extract<WatchEvent, { type: 'BOOKMARK' }>): Buffer {
  const { kind } = call.served
  return frame('BOOKMARK', {
    kind: kind.kind,
    apiVersion: toAPIVersion(kind.group, kind.version),
    metadata: {
      resourceVersion: String(event.revision),
      creationTimestamp: null,
      ...(event.endsInitialEvents && { annotations: { 'k8s.io/initial-events-end': 'true' } }),
    },
  })
}

function errorFrame(error: Status): Buffer {
  return frame('ERROR', error)
}

function frame(type: string, object: unknown): Buffer {
  return Buffer.from(`{"type":"${type}","object":${stringify(object)}}\n`)
}
