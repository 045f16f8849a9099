// The socket side: TLS, HTTP/1.1 and HTTP/2 on one port, bodies with a bound, streams with back-pressure. It turns what
// arrives into a `WireRequest`, and a `WireResponse` into what leaves; it knows nothing of Kubernetes.

import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { bodyBytesMax, streamsPerConnectionMax } from '../../limits.ts'
import { tooLarge } from '../status.ts'
import type { Handler } from './handler.ts'
import type { StreamBody, WireResponse } from './wire.ts'

export interface ListenerOptions {
  readonly handler: Handler
  readonly certificate: () => { certificate: string; key: string }
  /** The authority whose client certificates are asked for. */
  readonly ca: () => string
}

export interface Listener {
  listen(host: string, port: number): Promise<{ port: number }>
  /** Loads a renewed certificate; connections that are open keep theirs. */
  reload(): void
  /** Ends streams, waits for answers that are being written, closes. */
  close(): Promise<void>
}

export function createListener({ handler, certificate, ca }: ListenerOptions): Listener {
  const context = () => ({ cert: certificate().certificate, key: certificate().key, ca: ca() })
  const sockets = new Set<Socket>()
  const stopping = new AbortController()
  const server: Http2SecureServer = createSecureServer({
    ...context(),
    allowHTTP1: true,
    // Certificates are judged by the authenticator, which can say 401; TLS could only hang up.
    requestCert: true,
    rejectUnauthorized: false,
    settings: { maxConcurrentStreams: streamsPerConnectionMax },
  })
  server.on('request', (request, response) => {
    void serve(handler, request, response, stopping.signal)
  })
  server.on('secureConnection', (socket: TLSSocket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    socket.setNoDelay(true)
  })
  // A client that speaks no TLS, or hangs up halfway, is its own problem.
  server.on('tlsClientError', (_error, socket) => socket.destroy())
  server.on('sessionError', () => {})

  return {
    listen: (host, port) =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, host, () => {
          server.off('error', reject)
          const address = server.address()
          resolve({ port: typeof address === 'object' && address !== null ? address.port : port })
        })
      }),
    reload: () => server.setSecureContext(context()),
    close: () =>
      new Promise(resolve => {
        stopping.abort(new Error('the server is stopping'))
        server.close(() => resolve())
        // Answers in flight are small and local; whoever has not taken theirs by the next turn is idle or gone.
        setImmediate(() => {
          for (const socket of sockets) socket.destroySoon()
        })
      }),
  }
}

async function serve(
  handler: Handler,
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  stopping: AbortSignal,
): Promise<void> {
  const departure = watchDeparture(request, response)
  const body = await readBody(request)
  if (body === 'too large') {
    send(request, response, tooLargeResponse)
    return
  }
  if (body === 'broken') return
  const answer = await handler({
    method: request.method,
    target: request.url,
    headers: distinct(request.headers),
    body,
    peerCertificate: peerCertificate(request.socket as TLSSocket),
    get signal() {
      return departure.signal()
    },
  })
  if (departure.hasLeft()) return
  if (Buffer.isBuffer(answer.body)) send(request, response, answer)
  else stream(answer, answer.body, response, departure.signal(), stopping)
}

/** Whether the client is still there. Most requests never ask, so the signal is made for those that do. */
function watchDeparture(request: Http2ServerRequest, response: Http2ServerResponse) {
  let controller: AbortController | undefined
  let isGone = false
  const leave = () => {
    isGone = true
    controller?.abort(gone)
  }
  response.on('close', leave)
  request.on('error', leave)
  response.on('error', leave)
  return {
    hasLeft: () => isGone,
    signal() {
      controller ??= new AbortController()
      if (isGone) controller.abort(gone)
      return controller.signal
    },
  }
}

const gone = new Error('the client is gone')

const certificates = new WeakMap<object, Buffer | undefined>()

/** Asked once per connection: reading it from the TLS layer costs more than most requests. */
function peerCertificate(socket: TLSSocket): Buffer | undefined {
  if (certificates.has(socket)) return certificates.get(socket)
  const found = socket.getPeerCertificate?.()?.raw
  certificates.set(socket, found)
  return found
}

function distinct(headers: NodeJS.Dict<string | string[]>): Record<string, readonly string[]> {
  const result: Record<string, readonly string[]> = Object.create(null)
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !name.startsWith(':')) result[name] = Array.isArray(value) ? value : [value]
  }
  return result
}

const tooLargeStatus = tooLarge(`Request entity too large: limit is ${bodyBytesMax}`).status
const tooLargeResponse: WireResponse = {
  code: 413,
  headers: { 'content-type': 'application/json', connection: 'close' },
  body: Buffer.from(JSON.stringify(tooLargeStatus)),
}

const nothing = Buffer.alloc(0)

function readBody(request: Http2ServerRequest): Promise<Buffer | 'too large' | 'broken'> | Buffer {
  if (request.method === 'GET' || request.method === 'HEAD') return nothing
  return new Promise(resolve => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > bodyBytesMax) resolve('too large')
      else chunks.push(chunk)
    })
    request.on('end', () => resolve(chunks.length === 1 ? (chunks[0] ?? nothing) : Buffer.concat(chunks)))
    request.on('error', () => resolve('broken'))
    request.on('aborted', () => resolve('broken'))
  })
}

function writeHead(request: Http2ServerRequest | undefined, response: Http2ServerResponse, answer: WireResponse): void {
  response.statusCode = answer.code
  const isHTTP2 = (request?.httpVersionMajor ?? response.req.httpVersionMajor) >= 2
  for (const [name, value] of Object.entries(answer.headers)) {
    // HTTP/2 has no connections to close, and Node throws when told to.
    if (isHTTP2 && name === 'connection') continue
    response.setHeader(name, value as string | string[])
  }
  if (answer.headers['cache-control'] === undefined) response.setHeader('cache-control', 'no-cache, private')
}

function send(request: Http2ServerRequest, response: Http2ServerResponse, answer: WireResponse): void {
  if (response.writableEnded || response.destroyed) return
  const body = answer.body as Buffer
  writeHead(request, response, answer)
  response.setHeader('content-length', body.length)
  if (request.method === 'HEAD') response.end()
  else response.end(body)
}

function stream(
  answer: WireResponse,
  body: StreamBody,
  response: Http2ServerResponse,
  departed: AbortSignal,
  stopping: AbortSignal,
): void {
  writeHead(undefined, response, answer)
  // Node types know it on HTTP/1 answers only; both have it, and a watch must be seen to begin.
  ;(response as unknown as { flushHeaders(): void }).flushHeaders()
  const isHTTP2 = response.req.httpVersionMajor >= 2
  const close = body.open({
    write: bytes => void response.write(bytes),
    get pendingBytes() {
      return isHTTP2
        ? (response.stream?.writableLength ?? 0)
        : (response as unknown as { writableLength: number }).writableLength
    },
    end: () => void response.end(),
  })
  departed.addEventListener('abort', close, { once: true })
  const stop = () => {
    close()
    response.end()
  }
  stopping.addEventListener('abort', stop, { once: true })
  response.on('close', () => stopping.removeEventListener('abort', stop))
}
