// The socket side: TLS, HTTP/1.1 and HTTP/2 on one port, bodies with a bound, streams with back-pressure. It turns what
// arrives into a `WireRequest`, and a `WireResponse` into what leaves; it knows nothing of Kubernetes.

import { setMaxListeners } from 'node:events'
import { type IncomingMessage, ServerResponse } from 'node:http'
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import {
  bodyBytesMax,
  bodyMsMax,
  connectionsMax,
  refusedConnectionsMax,
  retryAfterSeconds,
  streamEndMsMax,
  streamsPerConnectionMax,
} from '../../limits.ts'
import { type FailureStatus, internalError, timedOut, tooLarge, tooManyRequests } from '../status.ts'
import type { Handler } from './handler.ts'
import type { StreamBody, WireResponse } from './wire.ts'

export interface ListenerOptions {
  readonly handler: Handler
  readonly certificate: () => { certificate: string; key: string }
  /** The authority whose client certificates are asked for. */
  readonly ca: () => string
  readonly timeouts?: Timeouts
  readonly connectionsMax?: number
}

export interface Timeouts {
  readonly bodyMs: number
  readonly streamEndMs: number
}

const defaultTimeouts: Timeouts = { bodyMs: bodyMsMax, streamEndMs: streamEndMsMax }

export interface Listener {
  listen(host: string, port: number): Promise<{ port: number }>
  /** Loads a renewed certificate; connections that are open keep theirs. */
  reload(): void
  /** Ends streams, waits for answers that are being written, closes. */
  close(): Promise<void>
}

export function createListener(options: ListenerOptions): Listener {
  const { handler, certificate, ca, timeouts = defaultTimeouts } = options
  const most = options.connectionsMax ?? connectionsMax
  const context = () => ({ cert: certificate().certificate, key: certificate().key, ca: ca() })
  const sockets = new Set<Socket>()
  /** Peers whose connection is one too many: they are told so, and hung up on. */
  const refused = new Set<string>()
  const stopping = new AbortController()
  // One listener per open stream, of which there may be many.
  setMaxListeners(0, stopping.signal)
  const server: Http2SecureServer = createSecureServer({
    ...context(),
    allowHTTP1: true,
    // Certificates are judged by the authenticator, which can say 401; TLS could only hang up.
    requestCert: true,
    rejectUnauthorized: false,
    settings: { maxConcurrentStreams: streamsPerConnectionMax },
  })
  server.maxConnections = most + refusedConnectionsMax
  server.on('request', (request, response) => answer(request, response))
  // HTTP/1.1 only. An answer that does not upgrade is an ordinary one, and the last on its connection.
  server.on('upgrade', (request: Http2ServerRequest, socket: TLSSocket, head: Buffer) => {
    const response = new ServerResponse(request as unknown as IncomingMessage)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    response.once('finish', () => socket.end())
    answer(request, response as unknown as Http2ServerResponse, { socket, head })
  })
  function answer(request: Http2ServerRequest, response: Http2ServerResponse, upgrade?: Upgrade): void {
    if (refused.has(peerOf(request.socket))) {
      sendAndHangUp(request, response, tooManyConnectionsResponse)
      response.once('finish', () => request.socket.end())
      return
    }
    serve({ handler, timeouts, stopping: stopping.signal }, request, response, upgrade).catch(() => {
      // An error ends this one request, never the server.
      response.destroyed || response.headersSent ? request.socket.destroy() : send(request, response, faultResponse)
    })
  }
  server.on('secureConnection', (socket: TLSSocket) => {
    const peer = peerOf(socket)
    sockets.add(socket)
    if (sockets.size > most) refused.add(peer)
    socket.on('close', () => {
      sockets.delete(socket)
      refused.delete(peer)
    })
    socket.on('error', () => socket.destroy())
    socket.setNoDelay(true)
  })
  // A client that speaks no TLS, or hangs up halfway, gets no answer.
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
        // Answers in flight are small and local; a client that has not read its own by the next turn is idle or gone.
        setImmediate(() => {
          for (const socket of sockets) socket.destroySoon()
        })
      }),
  }
}

/** HTTP/2 shows requests a stand-in for their socket: only the address tells which one it is. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

interface Serving {
  readonly handler: Handler
  readonly timeouts: Timeouts
  readonly stopping: AbortSignal
}

interface Upgrade {
  readonly socket: TLSSocket
  /** What the client sent already in its next protocol. */
  readonly head: Buffer
}

async function serve(
  serving: Serving,
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  upgrade?: Upgrade,
): Promise<void> {
  const { handler, timeouts } = serving
  const departure = watchDeparture(request, response)
  const body = upgrade === undefined ? await readBody(request, timeouts.bodyMs) : nothing
  if (body === 'broken') return
  if (body === 'too large' || body === 'too slow') {
    sendAndHangUp(request, response, body === 'too large' ? tooLargeResponse : tooSlowResponse)
    return
  }
  const answer = await handler({
    method: request.method,
    target: request.url,
    headers: distinct(request.rawHeaders),
    body,
    peerCertificate: peerCertificate(request.socket as TLSSocket),
    remoteAddress: request.socket.remoteAddress,
    get signal() {
      return departure.signal()
    },
    ...(upgrade && { isUpgrade: true }),
  })
  if (departure.hasLeft()) return
  if (upgrade !== undefined && answer.tunnel !== undefined) {
    giveAway(upgrade, response, answer, answer.tunnel)
    return
  }
  if (Buffer.isBuffer(answer.body)) send(request, response, answer)
  else stream(answer, answer.body, response, departure.signal(), serving)
}

/** From here on the connection is in another protocol, and no longer ours. */
function giveAway(
  { socket, head }: Upgrade,
  response: Http2ServerResponse,
  answer: WireResponse,
  tunnel: NonNullable<WireResponse['tunnel']>,
): void {
  ;(response as unknown as ServerResponse).detachSocket(socket)
  const lines = Object.entries(answer.headers).flatMap(([name, value]) => [value].flat().map(one => `${name}: ${one}`))
  socket.write(`${['HTTP/1.1 101 Switching Protocols', ...lines].join('\r\n')}\r\n\r\n`, 'latin1')
  if (head.length > 0) socket.unshift(head)
  tunnel(socket)
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

/** From names and values in turn, as they were sent: Node's own reading joins two headers of one name into one value. */
function distinct(raw: readonly string[]): Record<string, readonly string[]> {
  const result: Record<string, string[]> = Object.create(null)
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = (raw[i] ?? '').toLowerCase()
    if (name.startsWith(':')) continue
    const values = result[name]
    if (values === undefined) result[name] = [raw[i + 1] ?? '']
    else values.push(raw[i + 1] ?? '')
  }
  return result
}

/** The rest of the body is not wanted, so the connection cannot be used again. */
function refusal(status: FailureStatus): WireResponse {
  const headers = { 'content-type': 'application/json', connection: 'close' }
  return { code: status.code, headers, body: Buffer.from(JSON.stringify(status)) }
}

const tooLargeResponse = refusal(tooLarge(`Request entity too large: limit is ${bodyBytesMax}`).status)
const tooSlowResponse = refusal(timedOut('request did not complete within the allotted timeout').status)
const tooManyConnectionsResponse = refusal(
  tooManyRequests('too many connections, please try again later', retryAfterSeconds).status,
)
const faultResponse = refusal(internalError('the answer could not be sent').status)

const nothing = Buffer.alloc(0)
const noContent = 204

type ReadBody = Buffer | 'too large' | 'too slow' | 'broken'

function readBody(request: Http2ServerRequest, msMax: number): Promise<ReadBody> | ReadBody {
  if (request.method === 'GET' || request.method === 'HEAD') return nothing
  if (Number(request.headers['content-length'] ?? 0) > bodyBytesMax) return 'too large'
  return new Promise(resolve => {
    const chunks: Buffer[] = []
    let bytes = 0
    const timer = setTimeout(() => settle('too slow'), msMax)
    const settle = (result: ReadBody) => {
      clearTimeout(timer)
      request.off('data', take)
      resolve(result)
    }
    const take = (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > bodyBytesMax) return settle('too large')
      chunks.push(chunk)
    }
    request.on('data', take)
    request.once('end', () => settle(chunks.length === 1 ? (chunks[0] ?? nothing) : Buffer.concat(chunks)))
    for (const event of ['error', 'aborted', 'close']) request.once(event, () => settle('broken'))
  })
}

/** Answers a client that is still sending: what it sends is thrown away until the answer is out, then it is cut off. */
function sendAndHangUp(request: Http2ServerRequest, response: Http2ServerResponse, answer: WireResponse): void {
  request.resume()
  if (request.httpVersionMajor >= 2) {
    const { stream } = response
    stream.once('finish', () => stream.close())
  }
  send(request, response, answer)
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
  if (answer.code !== noContent) response.setHeader('content-length', body.length)
  if (request.method === 'HEAD') response.end()
  else response.end(body)
}

function stream(
  answer: WireResponse,
  body: StreamBody,
  response: Http2ServerResponse,
  departed: AbortSignal,
  { timeouts, stopping }: Serving,
): void {
  writeHead(undefined, response, answer)
  // Node types know it on HTTP/1 answers only; both have it, and a watch must be seen to begin.
  ;(response as unknown as { flushHeaders(): void }).flushHeaders()
  const isHTTP2 = response.req.httpVersionMajor >= 2
  const end = () => {
    response.end()
    // A client that no longer reads would keep its backlog, and its place, for as long as it likes.
    const timer = setTimeout(() => (isHTTP2 ? response.stream.destroy() : response.destroy()), timeouts.streamEndMs)
    response.once('close', () => clearTimeout(timer))
  }
  const close = body.open({
    write: bytes => void response.write(bytes),
    get pendingBytes() {
      return isHTTP2
        ? (response.stream?.writableLength ?? 0)
        : (response as unknown as { writableLength: number }).writableLength
    },
    end,
    onDrained: resume => void response.once('drain', resume),
    cut: () => void (isHTTP2 ? response.stream.destroy() : response.req.socket.destroy()),
  })
  departed.addEventListener('abort', close, { once: true })
  const stop = () => {
    close()
    end()
  }
  stopping.addEventListener('abort', stop, { once: true })
  response.on('close', () => stopping.removeEventListener('abort', stop))
}
