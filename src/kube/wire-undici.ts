// The wire as HTTP/1.1 over one pool of kept-alive connections. The server's certificate is checked always and explicitly:
// no environment variable turns it off, and a kubeconfig that wants it off is refused unless the caller says otherwise.
// Deadlines are not set here: the caller has a clock and a signal.

import { isAscii } from 'node:buffer'
import { createSecureContext, type SecureContext } from 'node:tls'
import { gunzipSync } from 'node:zlib'
import type { Dispatcher } from 'undici'
import request from 'undici/lib/api/api-request.js'
import errors from 'undici/lib/core/errors.js'
import Agent from 'undici/lib/dispatcher/agent.js'
import type { Clock } from '../runtime/clock.ts'
import { bytesWithoutManagers } from './body.ts'
import { type Connection, KubeconfigError } from './kubeconfig.ts'
import { type Wire, WireError, type WireResponse } from './wire.ts'

export interface UndiciWireOptions {
  readonly connection: Connection
  readonly clock: Clock
  /** The text of a file; undefined when there is none. */
  readonly readFile: (path: string) => string | undefined
  /** For development alone: a kubeconfig may say that any certificate will do. */
  readonly mayTrustAnyServer?: boolean
  readonly connectionsMax?: number
}

export interface UndiciWire {
  readonly wire: Wire
  /** Drops every connection. */
  readonly close: () => Promise<void>
}

/** Kubelet replaces a token long before it runs out; a minute late is early enough. */
const tokenMs = 60_000

const connectMs = 10_000

/** A page of a list is unpacked into one piece, as long as it says that it is; what is longer comes in several. */
const unpackedAtOnceMin = 64 * 1024
const unpackedAtOnceMax = 4 * 1024 * 1024

/** A text of JavaScript has half a gigabyte at most. */
const textBytesMax = 512 * 1024 * 1024 - 32

/** An API server closes an idle connection after 90 s; closing it earlier, no request of ours crosses that close. */
const idleMs = 60_000

export function createUndiciWire(options: UndiciWireOptions): UndiciWire {
  const { connection, mayTrustAnyServer = false, connectionsMax = 128 } = options
  if (connection.trustsAnyServer && !mayTrustAnyServer) {
    throw new KubeconfigError(
      'the kubeconfig says insecure-skip-tls-verify: any host could answer as the server; give its certificate-authority',
    )
  }
  const agent = new Agent({
    connections: connectionsMax,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: idleMs,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: {
      timeout: connectMs,
      rejectUnauthorized: !connection.trustsAnyServer,
      secureContext: toSecureContext(connection),
      ...(connection.serverName !== undefined && { servername: connection.serverName }),
    },
  })
  const { origin, pathname } = new URL(connection.server)
  const prefix = pathname.replace(/\/+$/, '')
  const tokenOf = tokenReader(options)

  return {
    wire: async ({ method, path, headers, body, isStream = false, isLarge = false, signal }) => {
      const token = tokenOf()
      let response: Dispatcher.ResponseData
      try {
        response = await request.call(agent, {
          origin,
          path: prefix + path,
          method,
          headers: {
            ...headers,
            ...(isLarge && { 'accept-encoding': 'gzip' }),
            ...(token !== undefined && { authorization: `Bearer ${token}` }),
          },
          body: body ?? null,
          signal,
        })
        const isFollowed = isStream && response.statusCode === 200
        return toResponse(response, isFollowed ? chunksOf(response) : await textOf(response))
      } catch (error) {
        throw toWireError(error)
      }
    },
    close: () => agent.destroy(),
  }
}

/** Made once: reading certificates costs more than the rest of a handshake. */
function toSecureContext({ ca, clientCertificate }: Connection): SecureContext {
  try {
    return createSecureContext({
      ...(ca !== undefined && { ca }),
      ...(clientCertificate && { cert: clientCertificate.certificate, key: clientCertificate.key }),
    })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new KubeconfigError(`a certificate or key of the kubeconfig cannot be read: ${why}`)
  }
}

function tokenReader({ connection: { token }, clock, readFile }: UndiciWireOptions): () => string | undefined {
  if (token === undefined) return () => undefined
  if (token.kind === 'fixed') return () => token.token
  let known: { text: string; untilMs: number } | undefined
  return () => {
    const nowMs = clock.monotonicMs()
    if (known !== undefined && nowMs < known.untilMs) return known.text
    // A file that is just being replaced may be missing: the old token is still good.
    const text = readFile(token.path)?.trim() || known?.text
    if (text === undefined) throw new WireError(`the token file ${token.path} cannot be read`, false)
    known = { text, untilMs: nowMs + tokenMs }
    return text
  }
}

function toResponse({ statusCode, headers }: Dispatcher.ResponseData, body: WireResponse['body']): WireResponse {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value ?? '')])
  return { status: statusCode, headers: Object.fromEntries(entries), body }
}

/**
 * A server writes a list object by object, and each arrives by itself: taking in so many small pieces costs more than parsing them.
 * Compressed, a list is a twentieth as long, and comes in a few.
 */
async function textOf({ headers, body }: Dispatcher.ResponseData): Promise<string> {
  if (headers['content-encoding'] !== 'gzip') return body.text()
  const packed = Buffer.from(await body.arrayBuffer())
  try {
    // At once: it takes less time than parsing it will, and less than to hand it to another thread piece by piece.
    const bytes = bytesWithoutManagers(
      gunzipSync(packed, { maxOutputLength: textBytesMax, chunkSize: lengthUnpacked(packed) }),
    )
    // Nearly always: then a text is made without a look at each character.
    return bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8')
  } catch (error) {
    throw new WireError('the answer is compressed, and cannot be read', true, { cause: error })
  }
}

/** How long a piece to unpack into: the last four bytes of what is compressed say it, and nothing rests on that. */
function lengthUnpacked(packed: Buffer): number {
  const said = packed.length < 4 ? 0 : packed.readUInt32LE(packed.length - 4)
  // One that is filled to its end is followed by another.
  return Math.min(Math.max(said + 1, unpackedAtOnceMin), unpackedAtOnceMax)
}

async function* chunksOf({ body }: Dispatcher.ResponseData): AsyncGenerator<Uint8Array, void, void> {
  try {
    yield* body as AsyncIterable<Uint8Array>
  } catch (error) {
    throw toWireError(error)
  }
}

/** These happen before the first byte of a request is sent. */
const neverSent = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL'])

function toWireError(error: unknown): WireError {
  if (error instanceof WireError) return error
  const cause = error instanceof AggregateError ? error.errors[0] : error
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const isCertificate = /CERT|SIGNATURE/.test(code)
  const isUnsent = neverSent.has(code) || isCertificate || error instanceof errors.ConnectTimeoutError
  return new WireError(code === '' ? 'the connection failed' : `the connection failed (${code})`, !isUnsent, {
    cause: error,
  })
}
