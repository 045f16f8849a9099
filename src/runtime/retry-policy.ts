// What a failure means for the work that met it. Errors say it of themselves in a field, so the runtime needs no list of
// error types and knows no server.

export type RetryPolicy =
  /** The cache was old: run again, at once the first time. */
  | { readonly kind: 'stale' }
  /** Try again later, and not before `atLeastMs` when the server asked for it. */
  | { readonly kind: 'retry'; readonly atLeastMs?: number }

export interface HasRetryPolicy {
  readonly retryPolicy: RetryPolicy
}

export type CancelReason = 'shutdown' | 'lost-lease' | 'deadline' | 'not-needed'

/** Why work was stopped from outside. Never a failure of the work. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled'
  readonly reason: CancelReason

  constructor(reason: CancelReason) {
    super(`cancelled: ${reason}`)
    this.reason = reason
  }
}

export function retryPolicyOf(error: unknown): RetryPolicy {
  if (error instanceof Error && 'retryPolicy' in error) return (error as Error & HasRetryPolicy).retryPolicy
  return { kind: 'retry' }
}

/** Anything can be thrown; what handles it wants an Error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(`something that is no error was thrown: ${String(thrown)}`)
}
