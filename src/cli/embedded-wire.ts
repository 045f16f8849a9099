// The client's wire, connected to the API server's handler by a function call: no socket, no port, no certificate check.

import { once } from 'node:events'
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
  return async ({ method, path, headers, body = '', signal }) => {
    if (signal.aborted) throw new WireError('aborted', false, { cause: signal.reason })
    const all = Object.entries({ ...headers, ...own }).map(([name, value]) => [name, [value]])
    const answer = handler()({
      method,
      target: path,
      headers: Object.fromEntries(all),
      body: Buffer.from(body),
      peerCertificate,
      signal,
    })
    const { code, headers: answered, body: bytes } = await Promise.race([answer, refusedBy(signal)])
    return {
      status: code,
      headers: Object.fromEntries(Object.entries(answered).map(([name, value]) => [name.toLowerCase(), String(value)])),
      body: Buffer.isBuffer(bytes) ? bytes.toString('utf8') : chunksOf(bytes, signal),
    }
  }
}

async function refusedBy(signal: AbortSignal): Promise<never> {
  await once(signal, 'abort')
  throw new WireError('aborted', true, { cause: signal.reason })
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
