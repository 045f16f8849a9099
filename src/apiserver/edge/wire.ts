// A request and a response without a socket: what the HTTPS listener hands in and takes out, and what a test or the
// server's own controllers use to call the API as a function.

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
}

export interface WireResponse {
  readonly code: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: Buffer | StreamBody
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
