// Every refusal a client can get, as the Status object Kubernetes answers with. Code throws a `StatusError`; only the
// HTTP edge turns it into bytes.

import { showHidden } from '../json.ts'
import { faultsNamedMax } from '../limits.ts'
import { describeFault, type Fault, quote } from './faults.ts'
import type { GroupResource, GroupVersionKind } from './object.ts'

export interface StatusCause {
  reason?: string
  message?: string
  field?: string
}

export interface StatusDetails {
  name?: string
  group?: string
  kind?: string
  uid?: string
  causes?: StatusCause[]
  retryAfterSeconds?: number
}

export interface Status {
  kind: 'Status'
  apiVersion: 'v1'
  metadata: Record<string, unknown>
  status: 'Success' | 'Failure'
  message?: string
  reason?: string
  details?: StatusDetails
  /** Absent where Kubernetes leaves it out: in the answer to a delete that succeeded. */
  code?: number
}

/** A refusal always has its code. */
export type FailureStatus = Status & { code: number }

export class StatusError extends Error {
  readonly status: FailureStatus

  constructor(code: number, reason: string, message: string, details?: StatusDetails, options?: ErrorOptions) {
    // Most messages repeat what a client wrote, and are read in a terminal by another.
    const shown = showHidden(message)
    super(shown, options)
    this.name = 'StatusError'
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: shown,
      ...(reason !== '' && { reason }),
      ...(details && { details: details.causes ? { ...details, causes: details.causes.map(showCause) } : details }),
      code,
    }
  }
}

function showCause(cause: StatusCause): StatusCause {
  return { ...cause, ...(cause.message !== undefined && { message: showHidden(cause.message) }) }
}

export function isStatus(error: unknown, reason: string): error is StatusError {
  return error instanceof StatusError && error.status.reason === reason
}

/** `pods`, or `holds.mooring.dev`: how messages name a resource. */
export function qualified(resource: GroupResource): string {
  return resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`
}

const detailsOf = (resource: GroupResource, name: string): StatusDetails => ({
  ...(name !== '' && { name }),
  ...(resource.group !== '' && { group: resource.group }),
  kind: resource.plural,
})

export function badRequest(message: string): StatusError {
  return new StatusError(400, 'BadRequest', message)
}

export function unauthorized(): StatusError {
  return new StatusError(401, 'Unauthorized', 'Unauthorized')
}

export function forbidden(resource: GroupResource, name: string, why: string): StatusError {
  const subject = name === '' ? qualified(resource) : `${qualified(resource)} ${quote(name)}`
  return new StatusError(403, 'Forbidden', `${subject} is forbidden: ${why}`, detailsOf(resource, name))
}

export function notFound(resource: GroupResource, name: string): StatusError {
  return new StatusError(404, 'NotFound', `${qualified(resource)} ${quote(name)} not found`, detailsOf(resource, name))
}

export const pageNotFoundReason = 'PageNotFound'

/** Nothing is at this path; unlike every other refusal it is told in plain text. */
export function pageNotFound(): StatusError {
  return new StatusError(404, pageNotFoundReason, '404 page not found')
}

/** No such path, kind or version. */
export function noSuchPath(): StatusError {
  return new StatusError(404, 'NotFound', 'the server could not find the requested resource', {})
}

export function methodNotAllowed(): StatusError {
  return new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {})
}

export function alreadyExists(resource: GroupResource, name: string): StatusError {
  return new StatusError(
    409,
    'AlreadyExists',
    `${qualified(resource)} ${quote(name)} already exists`,
    detailsOf(resource, name),
  )
}

export function conflict(resource: GroupResource, name: string, why: string): StatusError {
  return new StatusError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(resource)} ${quote(name)}: ${why}`,
    detailsOf(resource, name),
  )
}

export const modifiedMeanwhile =
  'the object has been modified; please apply your changes to the latest version and try again'

/** A 422 that lists all faults at once, up to a bound: each item of a body may have several. */
export function invalidObject(
  kind: GroupVersionKind | { group: string; kind: string },
  name: string,
  faults: readonly Fault[],
): StatusError {
  const byText = new Map(faults.toReversed().map(fault => [describeFault(fault), fault]))
  const named = [...byText].toReversed().slice(0, faultsNamedMax)
  const unique = named.map(([, fault]) => fault)
  const text = named.map(([line]) => line)
  if (byText.size > named.length) text.push(`and ${byText.size - named.length} more`)
  const list = text.length === 1 ? text[0] : `[${text.join(', ')}]`
  const shown = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`
  const details: StatusDetails = {
    ...(name !== '' && { name }),
    ...(kind.group !== '' && { group: kind.group }),
    ...(kind.kind !== '' && { kind: kind.kind }),
    causes: unique.map(fault => ({ reason: fault.type, message: fault.message, field: fault.field })),
  }
  return new StatusError(422, 'Invalid', `${shown} ${quote(name)} is invalid: ${list}`, details)
}

/** The asked version is older than what is kept. */
export function expired(message: string): StatusError {
  return new StatusError(410, 'Expired', message)
}

export function tooLarge(message: string): StatusError {
  return new StatusError(413, 'RequestEntityTooLarge', message)
}

export function unsupportedMediaType(message: string): StatusError {
  return new StatusError(415, 'UnsupportedMediaType', message)
}

export function notAcceptable(message: string): StatusError {
  return new StatusError(406, 'NotAcceptable', message)
}

export function tooManyRequests(message: string, retryAfterSeconds: number): StatusError {
  return new StatusError(429, 'TooManyRequests', message, { retryAfterSeconds })
}

export function timedOut(message: string, retryAfterSeconds = 0): StatusError {
  return new StatusError(
    504,
    'Timeout',
    `Timeout: ${message}`,
    retryAfterSeconds > 0 ? { retryAfterSeconds } : undefined,
  )
}

/** An error that Kubernetes returns as a 500 without a reason. */
export function bareError(message: string): StatusError {
  return new StatusError(500, '', message)
}

export function internalError(message: string, cause?: unknown): StatusError {
  const details = { causes: [{ message }] }
  return new StatusError(500, 'InternalError', `Internal error occurred: ${message}`, details, { cause })
}
