// The one seam to a Kubernetes API: a function from a plain request to a plain response. A pooled HTTPS client is behind
// it in a cluster, the embedded server's own handler in one process, and a test's idea of bad weather in between.

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface WireRequest {
  readonly method: Method
  /** Path and query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** The answer may go on for long: it is wanted as it comes. A refusal is still answered whole. */
  readonly isStream?: boolean
  /** The answer may be megabytes long: a wire over a network asks for it compressed, and may leave `managedFields` out of it. */
  readonly isLarge?: boolean
  readonly signal: AbortSignal
}

export interface WireResponse {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** A stream of bytes only where one was asked for; it ends, or throws, soon after the signal is aborted. */
  readonly body: string | AsyncIterable<Uint8Array>
}

/** Rejects with a `WireError` when there is no answer. */
export type Wire = (request: WireRequest) => Promise<WireResponse>

/** No answer came. Whether the request arrived is sometimes known and always said. */
export class WireError extends Error {
  override readonly name = 'WireError'
  /** False only when the request certainly did not reach the server. */
  readonly mayHaveArrived: boolean

  constructor(message: string, mayHaveArrived: boolean, options?: ErrorOptions) {
    super(message, options)
    this.mayHaveArrived = mayHaveArrived
  }
}
