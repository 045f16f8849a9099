// Metrics, and profiles where they were asked for. Over HTTPS with the certificate of the webhooks, or one of its own making until
// there is one, and only for users with the permission; or over plain HTTP, metrics alone, for every client.

import { issueCA, issueServerCertificate } from '../apiserver/certificates/issue.ts'
import type { Client } from '../kube/client.ts'
import type { Clock } from '../runtime/clock.ts'
import { describeError, type Log } from '../telemetry/log.ts'
import { type Metrics, metricsContentType } from '../telemetry/metrics.ts'
import { exitCodes, Failure } from './failure.ts'
import type { HostPort } from './host-port.ts'
import { type FindPage, type Page, type Pages, servePages } from './listen.ts'
import { type Admission, createReaders } from './readers.ts'
import type { TLSChoice } from './tls.ts'

export interface DiagnosticsOptions {
  /** Which flag says where. */
  readonly flag?: string
  readonly address: HostPort
  readonly isInsecure: boolean
  readonly isProfiling: boolean
  readonly tls: TLSChoice
  readonly client: Pick<Client, 'create'>
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Log
}

export async function serveDiagnostics(options: DiagnosticsOptions): Promise<Pages> {
  const { flag = '--diagnostics-address', address, isInsecure, isProfiling, tls, clock, metrics, log } = options
  refuseOpenProfiles(isInsecure, isProfiling)
  const onError = (error: unknown) => log.error('diagnostics could not be shown', { error: describeError(error) })
  const showMetrics: FindPage = ({ path }) =>
    path === '/metrics' ? { type: metricsContentType, body: metrics.text() } : undefined
  if (isInsecure) return servePages({ flag, address, find: showMetrics, onError })

  const readers = createReaders(options)
  // The inspector is loaded where it is asked for.
  const profiler = isProfiling ? (await import('./profile.ts')).createProfiler(clock) : undefined
  const find: FindPage = async request => {
    const { authorization, path } = request
    const admission = await readers(authorization, path)
    if (admission !== 'allowed') return refusals[admission]
    return (await showMetrics(request)) ?? profiler?.(request)
  }
  return servePages({ flag, address, find, tls: { ...tls, ...ownCertificate(clock) }, onError })
}

export function refuseOpenProfiles(isInsecure: boolean, isProfiling: boolean): void {
  if (!isInsecure || !isProfiling) return
  throw new Failure(
    exitCodes.usage,
    '--profiling with --insecure-diagnostics would let any client slow this process down and look into it',
    'Leave one of the two out.',
  )
}

const refusals: Readonly<Record<Exclude<Admission, 'allowed'>, Page>> = {
  unknown: {
    status: 401,
    headers: { 'www-authenticate': 'Bearer' },
    body: 'show a token of the cluster, as in "Authorization: Bearer TOKEN"\n',
  },
  forbidden: {
    status: 403,
    body: 'this token may not get this path: a ClusterRole with its nonResourceURL allows it\n',
  },
  busy: { status: 429, headers: { 'retry-after': '1' }, body: 'too many unknown tokens at this moment\n' },
}

const day = 24 * 60 * 60 * 1000

/** No client can check it, for no client knows its authority: for a process without webhooks, and until their certificate comes. */
function ownCertificate(clock: Clock): { cert: string; key: string } {
  const now = clock.now()
  const lifetime = { notBefore: new Date(now - day), notAfter: new Date(now + 3650 * day) }
  const authority = issueCA('mooring-diagnostics-ca', lifetime)
  const names = { dns: ['localhost'], ips: ['127.0.0.1', '::1'] }
  const { certificate, key } = issueServerCertificate(authority, 'mooring-diagnostics', names, lifetime)
  return { cert: certificate, key }
}
