// A server under attack: real sockets, real TLS, everything else in memory. After every attack it must still answer,
// must not have reported a fault of its own, and must not have been changed from the outside.

import { once } from 'node:events'
import { connect as connectHTTP2 } from 'node:http2'
import { Agent, request as httpsRequest } from 'node:https'
import { connect, type TLSSocket } from 'node:tls'
import { expect } from 'vitest'
import type { InFlightLimits } from '../../src/apiserver/edge/in-flight.ts'
import { createListener, type Timeouts } from '../../src/apiserver/edge/listener.ts'
import { type APIServer, createAPIServer } from '../../src/apiserver/server.ts'
import { parseJSON } from '../../src/json.ts'
import type { Store } from '../../src/store/store.ts'
import { memoryStore } from '../harness/memory-store.ts'
import { certificates } from '../harness/world.ts'

export interface Reply {
  readonly code: number
  readonly text: string
  readonly headers: NodeJS.Dict<string | string[]>
  readonly body: Record<string, unknown>
}

export interface Target {
  readonly port: number
  readonly server: APIServer
  send(
    method: string,
    path: string,
    body?: string | Buffer,
    headers?: Record<string, string | string[]>,
  ): Promise<Reply>
  /** Text straight onto the wire; answers with everything that came back until the server hung up. */
  raw(bytes: string | Buffer): Promise<string>
  socket(): Promise<TLSSocket>
  /** Subscriptions to the store beyond those of the server itself. */
  openWatches(): number
  /** The server still answers, reported no fault of its own, and no shared prototype was changed. */
  expectUnharmed(): Promise<void>
  close(): Promise<void>
}

export interface TargetOptions {
  readonly timeouts?: Timeouts
  readonly inFlight?: InFlightLimits
  readonly connectionsMax?: number
}

export async function aTarget(options: TargetOptions = {}): Promise<Target> {
  const kept = certificates()
  const faults: string[] = []
  let port = 0
  const { store, count } = countingWatches(memoryStore())
  const server = createAPIServer({
    store,
    certificates: kept,
    address: () => `127.0.0.1:${port}`,
    now: () => birth,
    random: Math.random,
    randomUUID: () => crypto.randomUUID(),
    onError: (error, what) => faults.push(`${what}: ${String(error)}`),
    ...(options.inFlight && { inFlight: options.inFlight }),
  })
  const listener = createListener({
    handler: server.handler,
    certificate: () => kept.server(),
    ca: () => kept.ca().certificate,
    ...(options.timeouts && { timeouts: options.timeouts }),
    ...(options.connectionsMax && { connectionsMax: options.connectionsMax }),
  })
  port = (await listener.listen('127.0.0.1', 0)).port
  await server.start()
  const own = count()
  const onRejection = (error: unknown) => faults.push(`unhandled: ${String(error)}`)
  process.on('unhandledRejection', onRejection)
  process.on('uncaughtExceptionMonitor', onRejection)

  const { certificate: cert, key } = kept.admin()
  const secure = {
    ca: kept.ca().certificate,
    cert,
    key,
    checkServerIdentity: () => undefined,
    rejectUnauthorized: false,
  }
  const agent = new Agent({ keepAlive: true, ...secure })
  const innocence = prototypes()

  async function socket(): Promise<TLSSocket> {
    const made = connect({ host: '127.0.0.1', port, ...secure })
    made.on('error', () => {})
    await once(made, 'secureConnect')
    return made
  }

  const send: Target['send'] = (method, path, body, headers = {}) =>
    new Promise((resolve, reject) => {
      const type = body === undefined ? {} : { 'content-type': 'application/json' }
      const outgoing = httpsRequest(
        { host: '127.0.0.1', port, method, path, headers: { ...type, ...headers }, agent },
        incoming => {
          const chunks: Buffer[] = []
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
          incoming.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8')
            resolve({ code: incoming.statusCode ?? 0, text, headers: incoming.headers, body: readJSON(text) })
          })
          incoming.on('error', reject)
        },
      )
      outgoing.on('error', reject)
      outgoing.end(body)
    })

  return {
    port,
    server,
    send,
    socket,
    openWatches: () => count() - own,
    async raw(bytes) {
      const wire = await socket()
      let text = ''
      wire.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1')
      })
      wire.write(bytes)
      await once(wire, 'close')
      return text
    },
    async expectUnharmed() {
      expect(faults).toEqual([])
      expect(prototypes()).toEqual(innocence)
      expect((await send('GET', '/api/v1/namespaces/default')).code).toBe(200)
    },
    async close() {
      agent.destroy()
      server.stop()
      await listener.close()
      process.off('unhandledRejection', onRejection)
      process.off('uncaughtExceptionMonitor', onRejection)
    },
  }
}

/** A client that may send any method and any header, which HTTP/1 parsers refuse. */
export async function http2(
  target: Target,
  headers: Record<string, string | string[]>,
  body?: string,
): Promise<{ readonly code: number; readonly text: string }> {
  const kept = certificates()
  const { certificate: cert, key } = kept.admin()
  const session = connectHTTP2(`https://127.0.0.1:${target.port}`, { cert, key, rejectUnauthorized: false })
  session.on('error', () => {})
  try {
    const stream = session.request(headers, { endStream: body === undefined })
    if (body !== undefined) stream.end(body)
    const [answer] = (await once(stream, 'response')) as [Record<string, unknown>]
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk as Buffer)
    return { code: Number(answer[':status']), text: Buffer.concat(chunks).toString('utf8') }
  } finally {
    session.destroy()
  }
}

function countingWatches(store: Store): { store: Store; count: () => number } {
  let open = 0
  const begin = store.watch.bind(store)
  const watch: Store['watch'] = (prefix, from, sink) => {
    const subscription = begin(prefix, from, sink)
    let isOpen = true
    open++
    return {
      stop() {
        if (isOpen) open--
        isOpen = false
        subscription.stop()
      },
    }
  }
  return { store: Object.assign(store, { watch }), count: () => open }
}

const birth = new Date('2030-01-01T00:00:00Z')

function prototypes(): string[][] {
  return [Object.prototype, Array.prototype, String.prototype, Function.prototype].map(prototype =>
    Object.getOwnPropertyNames(prototype).sort(),
  )
}

function readJSON(text: string): Record<string, unknown> {
  try {
    return parseJSON(text).value as Record<string, unknown>
  } catch {
    return {}
  }
}
