// The client's wire, connected to the API server's handler by a function call: no socket, no port, no certificate check.

import type { Handler } from '../apiserver/edge/handler.ts'
import type { StreamBody } from '../apiserver/edge/wire.ts'
import { type Wire, WireError } from '../kube/wire.ts'

export interface EmbeddedWireOptions {
  /** The server of this moment: another one after a restart. */
  readonly handler: () => Handler
  readonly peerCertificate?: Buffer
  readonly headers?: Readonly<Record<string, string>>
}

export function embeddedWire({ handler, peerCertificate, headers: own = {} }: EmbeddedWireOptions): Wire {
  const always = Object.fromEntries(Object.entries(own).map(([name, value]) => [name, [value]]))
  return async ({ method, path, headers, body = '', signal }) => {
    if (signal.aborted) throw new WireError('aborted', false, { cause: signal.reason })
    const all: Record<string, readonly string[]> = {}
    for (const name in headers) all[name] = [headers[name] ?? '']
    const answer = handler()({
      method,
      target: path,
      headers: { ...all, ...always },
      body: Buffer.from(body),
      peerCertificate,
      signal,
      isOwn: true,
    })
    const { code, headers: answered, body: bytes } = await orAborted(answer, signal)
    const lower: Record<string, string> = {}
    for (const name in answered) lower[name.toLowerCase()] = String(answered[name])
    return {
      status: code,
      headers: lower,
      body: Buffer.isBuffer(bytes) ? bytes.toString('utf8') : chunksOf(bytes, signal),
    }
  }
}

/** Every request comes by here, so it takes one listener and one promise, not the helpers that make several of each. */
function orAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new WireError('aborted', true, { cause: signal.reason }))
    signal.addEventListener('abort', onAbort)
    const end = () => signal.removeEventListener('abort', onAbort)
    answer.then(
      value => {
        end()
        resolve(value)
      },
      error => {
        end()
        reject(error)
      },
    )
  })
}

async function* chunksOf(stream: StreamBody, signal: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
  const chunks: Uint8Array[] = []
  let pendingBytes = 0
  let hasEnded = false
  let wake = () => {}
  const close = stream.open({
    write(bytes) {
      chunks.push(bytes)
      pendingBytes += bytes.length
      wake()
    },
    get pendingBytes() {
      return pendingBytes
    },
    end() {
      hasEnded = true
      wake()
    },
  })
  const onAbort = () => wake()
  signal.addEventListener('abort', onAbort)
  try {
    for (;;) {
      if (signal.aborted) throw new WireError('aborted', true, { cause: signal.reason })
      const chunk = chunks.shift()
      if (chunk !== undefined) {
        pendingBytes -= chunk.length
        yield chunk
        continue
      }
      if (hasEnded) return
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
    close()
  }
}
