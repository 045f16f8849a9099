// A request and a response without a socket: what the HTTPS listener hands in and takes out, and what a test or the
// server's own controllers use to call the API as a function.

import type { Duplex } from 'node:stream'

export interface WireRequest {
  readonly method: string
  /** Path and query, as sent. */
  readonly target: string
  /** Lower-case names with all their values. */
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>
  readonly body: Buffer
  /** The client's certificate as DER, trusted or not. */
  readonly peerCertificate?: Buffer | undefined
  /** Of the client's socket; absent where there is none. */
  readonly remoteAddress?: string | undefined
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal
  /** The client asks to go on in another protocol on the same connection. */
  readonly isUpgrade?: boolean
  /** From a controller in this process. */
  readonly isOwn?: boolean
}

export interface WireResponse {
  readonly code: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: Buffer | StreamBody
  /** Only to an upgrade: after the head of the answer the connection is given to this function. */
  readonly tunnel?: ((client: Duplex) => void) | undefined
}

/** A body that goes on: `open` starts it and answers with the function that ends it from this side. */
export interface StreamBody {
  readonly open: (sink: ByteSink) => () => void
}

export interface ByteSink {
  write(bytes: Buffer): void
  /** Bytes written but not yet taken by the client. */
  readonly pendingBytes: number
  end(): void
  /** Calls once when the client has taken what is pending. */
  onDrained?(resume: () => void): void
  /** Ends it so that the client sees that it is not whole. */
  cut?(): void
}

export function header(request: WireRequest, name: string): string | undefined {
  const values = request.headers[name]
  return values === undefined || values.length === 0 ? undefined : values.join(', ')
}

/** Plain text, marked so that no browser guesses another type. */
export function text(code: number, body: string): WireResponse {
  return {
    code,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
    body: Buffer.from(body),
  }
}
