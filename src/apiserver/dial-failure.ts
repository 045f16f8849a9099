// Why a server could not be reached, in the words of a Go client, because users search for that text.

import { isIP } from 'node:net'
import { webhookAnswerBytesMax } from '../limits.ts'
import { isObject } from './object.ts'

export interface Dialed {
  /** What the certificate must say. */
  readonly serverName: string
  /** Where the connection went, `host:port`. */
  readonly dialed: string
}

const untrusted = 'tls: failed to verify certificate: x509: certificate signed by unknown authority'

export function describeDialFailure(error: unknown, target: Dialed, signal?: AbortSignal): string {
  if (signal?.aborted) return isTimeout(signal.reason) ? 'context deadline exceeded' : 'context canceled'
  switch (codeOf(error)) {
    case 'ECONNREFUSED':
      return `dial tcp ${target.dialed}: connect: connection refused`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `dial tcp: lookup ${target.serverName}: no such host`
    case 'EHOSTUNREACH':
      return `dial tcp ${target.dialed}: connect: no route to host`
    case 'ETIMEDOUT':
    case 'UND_ERR_CONNECT_TIMEOUT':
      return `dial tcp ${target.dialed}: i/o timeout`
    case 'UND_ERR_HEADERS_TIMEOUT':
    case 'UND_ERR_BODY_TIMEOUT':
      return 'context deadline exceeded'
    case 'UND_ERR_SOCKET':
    case 'ECONNRESET':
      return 'EOF'
    case 'UND_ERR_RES_EXCEEDED_MAX_SIZE':
      return `the answer is larger than ${webhookAnswerBytesMax} bytes`
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'CERT_SIGNATURE_FAILURE':
      return untrusted
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return 'tls: failed to verify certificate: x509: certificate has expired or is not yet valid'
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `tls: failed to verify certificate: ${describeMismatch(error, target.serverName)}`
    default:
      return error instanceof Error ? error.message : String(error)
  }
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError'
}

export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (typeof code === 'string') return code
  // Several addresses were tried; they failed alike.
  return error instanceof AggregateError && error.errors.length > 0 ? codeOf(error.errors[0]) : ''
}

function describeMismatch(error: unknown, wanted: string): string {
  const certificate = error instanceof Error && 'cert' in error ? error.cert : undefined
  const alternatives = isObject(certificate) ? textOf(certificate.subjectaltname).split(', ') : []
  const wantsAddress = isIP(wanted) !== 0
  const prefix = wantsAddress ? 'IP Address:' : 'DNS:'
  const names = alternatives.filter(name => name.startsWith(prefix)).map(name => name.slice(prefix.length))
  if (names.length > 0) return `x509: certificate is valid for ${names.join(', ')}, not ${wanted}`
  if (!wantsAddress) return `x509: certificate is not valid for any names, but wanted to match ${wanted}`
  return `x509: cannot validate certificate for ${wanted} because it doesn't contain any IP SANs`
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
