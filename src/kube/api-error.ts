// What can come back instead of an answer, as a closed list. It is read from the fields of the server's Status and from
// the HTTP code, never from text. Each error also says what it means for the work that met it, and whether the write may
// have happened all the same: an unknown outcome is resolved by reading, never by guessing.

import type { RetryPolicy } from '../runtime/retry-policy.ts'

export type Reason =
  /** The object is not there. */
  | 'NotFound'
  /** The server does not know the kind, or not in this version. */
  | 'NotInstalled'
  | 'AlreadyExists'
  /** The version or the uid that was expected is not the one that is stored. */
  | 'Conflict'
  /** The version asked for is too old to be served: list again. */
  | 'Gone'
  | 'Invalid'
  | 'BadRequest'
  | 'Unauthorized'
  | 'Forbidden'
  | 'TooManyRequests'
  /** The server asks to try again; nothing was done. */
  | 'ServerTimeout'
  | 'Unavailable'
  | 'InternalError'
  /** The request did not arrive, or it was a read whose answer was lost. */
  | 'Unreachable'
  /** A write whose answer was lost: it may have happened. */
  | 'UnknownOutcome'
  /** The answer is no JSON, or not what was asked for. */
  | 'Unreadable'
  /** Stopped from this side; the cause says why. */
  | 'Cancelled'
  /** Any other refusal; see the code. */
  | 'Other'

export interface Cause {
  readonly reason?: string
  readonly message?: string
  readonly field?: string
}

export interface ErrorFacts {
  readonly reason: Reason
  /** HTTP code; 0 when there was no answer. */
  readonly code: number
  readonly retryAfterMs?: number
  readonly causes?: readonly Cause[]
  /** Whether the write may have happened although it was not confirmed. */
  readonly mayHaveHappened?: boolean
}

export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly reason: Reason
  readonly code: number
  readonly retryAfterMs: number | undefined
  readonly causes: readonly Cause[]
  readonly mayHaveHappened: boolean

  constructor(message: string, facts: ErrorFacts, options?: ErrorOptions) {
    super(message, options)
    this.reason = facts.reason
    this.code = facts.code
    this.retryAfterMs = facts.retryAfterMs
    this.causes = facts.causes ?? []
    this.mayHaveHappened = facts.mayHaveHappened ?? false
  }

  get retryPolicy(): RetryPolicy {
    // It was decided on an object that has changed since, or is gone.
    if (this.reason === 'Conflict' || this.reason === 'NotFound') return { kind: 'stale' }
    return this.retryAfterMs === undefined ? { kind: 'retry' } : { kind: 'retry', atLeastMs: this.retryAfterMs }
  }
}

export function isApiError(error: unknown, ...reasons: readonly Reason[]): error is ApiError {
  return error instanceof ApiError && (reasons.length === 0 || reasons.includes(error.reason))
}

interface Status {
  readonly message?: string
  readonly reason?: string
  readonly code?: number
  readonly details?: {
    readonly name?: string
    readonly causes?: readonly Cause[]
    readonly retryAfterSeconds?: number
  }
}

const reasonByStatus: Readonly<Record<string, Reason>> = {
  AlreadyExists: 'AlreadyExists',
  Conflict: 'Conflict',
  Gone: 'Gone',
  Expired: 'Gone',
  Invalid: 'Invalid',
  BadRequest: 'BadRequest',
  Unauthorized: 'Unauthorized',
  Forbidden: 'Forbidden',
  TooManyRequests: 'TooManyRequests',
  ServerTimeout: 'ServerTimeout',
  ServiceUnavailable: 'Unavailable',
  InternalError: 'InternalError',
}

const reasonByCode: Readonly<Record<number, Reason>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  409: 'Conflict',
  410: 'Gone',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  502: 'Unavailable',
  503: 'Unavailable',
}

export interface Refused {
  /** What was attempted, on what: the beginning of the message. */
  readonly what: string
  readonly isWrite: boolean
  readonly code: number
  /** The body as parsed, if it could be. */
  readonly status: unknown
  /** The header of that name, if any. */
  readonly retryAfter?: string | undefined
}

export function toApiError({ what, isWrite, code, status: body, retryAfter }: Refused): ApiError {
  const status = toStatus(body)
  const reason = reasonOf(code, status)
  const seconds = status.details?.retryAfterSeconds ?? toSeconds(retryAfter)
  const found = status.message ?? `the server answered ${code}`
  return new ApiError(`${what}: ${found}`, {
    reason,
    code,
    ...(seconds !== undefined && { retryAfterMs: seconds * 1000 }),
    ...(status.details?.causes && { causes: status.details.causes }),
    mayHaveHappened: isWrite && isVague(code, status.reason),
  })
}

/** A gateway that gave up, or a server that broke while it worked, cannot say whether the write is stored. */
function isVague(code: number, reason: string | undefined): boolean {
  if (reason === 'ServerTimeout') return false
  return code === 500 || code === 502 || code === 504
}

function reasonOf(code: number, status: Status): Reason {
  // The server names the object that is missing; when it names none, it is the path that it does not know.
  if (code === 404) return status.details?.name ? 'NotFound' : 'NotInstalled'
  const named = status.reason === undefined ? undefined : reasonByStatus[status.reason]
  return named ?? reasonByCode[code] ?? (code === 504 ? 'ServerTimeout' : 'Other')
}

/** The Status of an ERROR event in a watch. */
export function toStreamError(what: string, object: unknown): ApiError {
  const code = toStatus(object).code ?? 500
  return toApiError({ what, isWrite: false, code, status: object })
}

function toStatus(body: unknown): Status {
  if (typeof body !== 'object' || body === null) return {}
  const { kind } = body as { kind?: unknown }
  return kind === 'Status' ? (body as Status) : {}
}

function toSeconds(header: string | undefined): number | undefined {
  if (header === undefined || !/^\d{1,6}$/.test(header)) return undefined
  return Number(header)
}
