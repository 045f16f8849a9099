// Watch events as bytes. An event that goes out as it is stored is encoded once, however many watches want it; events
// leave in the order they came, also when one must wait for a conversion.

import { stringify } from '../../json.ts'
import { watchBufferBytesMax } from '../../limits.ts'
import type { Entry } from '../../store/store.ts'
import type { Call, WatchEvent, WatchStream } from '../call.ts'
import { contentTypes, type Representation } from '../media.ts'
import { type KubeObject, toAPIVersion } from '../object.ts'
import { expired, internalError, type Status } from '../status.ts'
import { encodeWatchFrame } from '../wire/protobuf.ts'
import { canSendStored, readOne, toProtobuf, view } from './present.ts'
import type { ByteSink, WireResponse } from './wire.ts'

type Open = (stream: WatchStream) => () => void
type EventType = WatchEvent['type'] | 'ERROR'

export function presentWatch(call: Call, open: Open, form: Representation, now: () => Date): WireResponse {
  const type = contentTypes[form.encoding]
  return {
    code: 200,
    headers: { 'content-type': form.encoding === 'protobuf' ? `${type};stream=watch` : type },
    body: { open: sink => openOrdered(sink, createFrames(call, form, now), open) },
  }
}

interface Frames {
  /** The bytes of an event that needs no work; undefined when it does. */
  ready(event: WatchEvent): Buffer | undefined
  make(event: WatchEvent): Promise<Buffer>
  error(status: Status): Buffer
}

/**
 * A client that does not take its events is cut off with 410 before its backlog hurts other clients: it must list
 * anew. The initial events are always sent whole: no socket could have taken any of them meanwhile.
 */
function openOrdered(sink: ByteSink, frames: Frames, open: Open): () => void {
  let hasEnded = false
  let close = () => {}
  let waiting: Promise<void> | undefined
  let waitingBytes = 0
  let allowedBytes = Number.POSITIVE_INFINITY
  const finish = (error?: Status) => {
    if (hasEnded) return
    hasEnded = true
    close()
    if (error !== undefined) sink.write(frames.error(error))
    sink.end()
  }
  const refuseBacklog = () => {
    if (sink.pendingBytes + waitingBytes > allowedBytes) finish(tooSlow)
  }
  const put = (frame: Buffer) => {
    if (hasEnded) return
    sink.write(frame)
    refuseBacklog()
  }
  const later = (work: () => void | Promise<void>) => {
    waiting = (waiting ?? Promise.resolve()).then(work).catch((error: unknown) => {
      finish(internalError(error instanceof Error ? error.message : String(error)).status)
    })
  }
  close = open({
    send(event) {
      if (hasEnded) return
      const frame = waiting === undefined ? frames.ready(event) : undefined
      if (frame !== undefined) return put(frame)
      const bytes = event.type === 'BOOKMARK' ? 0 : event.entry.value.length
      waitingBytes += bytes
      refuseBacklog()
      later(async () => {
        const made = hasEnded ? undefined : await frames.make(event)
        waitingBytes -= bytes
        if (made !== undefined) put(made)
      })
    },
    end(error) {
      if (waiting === undefined) return finish(error)
      later(() => finish(error))
    },
  })
  if (hasEnded) close()
  allowedBytes = watchBufferBytesMax + sink.pendingBytes + waitingBytes
  return () => {
    hasEnded = true
    close()
  }
}

const tooSlow = expired('the watch was too slow to take its events; list again and start a new watch').status

function createFrames(call: Call, form: Representation, now: () => Date): Frames {
  let isFirst = true
  const shown = (object: KubeObject): Record<string, unknown> => {
    const seen = view(call, object, form, now())
    if (form.view?.kind !== 'Table' || isFirst) return seen
    // Only the first table of a stream says what its columns are.
    return { ...seen, columnDefinitions: null }
  }
  const frame = (type: EventType, object: KubeObject) => {
    const bytes = encodeFrame(type, shown(object), form)
    isFirst = false
    return bytes
  }
  return {
    ready(event) {
      if (event.type === 'BOOKMARK') return frame('BOOKMARK', bookmark(call, event))
      return canSendStored(call, [event.entry], form) ? storedFrame(event.type, event.entry) : undefined
    },
    async make(event) {
      return this.ready(event) ?? frame(event.type, await readEvent(call, event))
    },
    error: status => encodeFrame('ERROR', status, { ...form, view: undefined }),
  }
}

function readEvent(call: Call, event: WatchEvent): KubeObject | Promise<KubeObject> {
  return event.type === 'BOOKMARK' ? bookmark(call, event) : readOne(call, event.entry)
}

const storedFrames = new WeakMap<Entry, Map<string, Buffer>>()

function storedFrame(type: EventType, entry: Entry): Buffer {
  const known = storedFrames.get(entry) ?? new Map<string, Buffer>()
  storedFrames.set(entry, known)
  const made = known.get(type)
  if (made !== undefined) return made
  const frame = Buffer.concat([Buffer.from(`{"type":"${type}","object":`), entry.value, Buffer.from('}\n')])
  known.set(type, frame)
  return frame
}

function encodeFrame(type: EventType, object: unknown, form: Representation): Buffer {
  if (form.encoding === 'protobuf') return encodeWatchFrame(type, toProtobuf(object))
  return Buffer.from(`{"type":"${type}","object":${stringify(object)}}\n`)
}

function bookmark(call: Call, event: Extract<WatchEvent, { type: 'BOOKMARK' }>): KubeObject {
  const { kind } = call.served
  return {
    kind: kind.kind,
    apiVersion: toAPIVersion(kind.group, kind.version),
    metadata: {
      resourceVersion: String(event.revision),
      ...(event.endsInitialEvents && { annotations: { 'k8s.io/initial-events-end': 'true' } }),
    },
  }
}
