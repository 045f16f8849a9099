// `mooring controller`: the desks, in a cluster. Connects, checks that everything is there that it needs, answers reviews and
// health, takes part in the election, and begins passes when it leads. A process that loses its lease ends, and is started
// anew by whoever keeps it running: nothing of an earlier life is carried on.
//
//   connected --> checked --> elected --> working --told to stop--> passes end, lease given back, ended
//                    |           '- reviews are answered from the moment the world is known, leader or not
//                    '- something needed is missing: said, not ready, asked again every few seconds

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { startEdge } from '../admission/edge.ts'
import { claims, clusters, holds, pools, reports } from '../controllers/office/kinds.ts'
import { Election } from '../kube/lease.ts'
import { realClock } from '../runtime/clock.ts'
import { createLog, type Log } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { measureProcess } from '../telemetry/process-metrics.ts'
import { type Connected, connect, readFile } from './connect.ts'
import type { ControllerOptions } from './controller-flags.ts'
import { createDesks, type Desks, knownDesks, refuseUnknownDesks } from './desks.ts'
import { refuseOpenProfiles, serveDiagnostics } from './diagnostics.ts'
import { exitCodes, Failure } from './failure.ts'
import { giveBackMemory } from './give-back.ts'
import { parseBindAddress } from './host-port.ts'
import { bind, type Page, type Pages, servePages } from './listen.ts'
import { leaseName, singlePermissions } from './permissions.ts'
import { type CertificateFiles, createCertificateFiles } from './serving-certificate.ts'
import { StartUpChecks, type WantedKind } from './start-up-checks.ts'
import { parseTLS, type TLSChoice } from './tls.ts'

export interface RunningController {
  /** Where it listens; undefined for what is switched off. */
  readonly ports: { readonly health?: number; readonly diagnostics?: number; readonly webhooks?: number }
  /** Resolves when it ended by itself, with the reason. */
  readonly ended: Promise<Failure>
  stop(): Promise<void>
}

const clock = realClock

/** The first passes are over by then, and what they needed is not needed any more. */
const settledAfterMs = 20_000

export async function controller(
  options: ControllerOptions,
  write: (line: string) => void = line => process.stderr.write(line),
): Promise<RunningController> {
  refuseUnknownDesks(options.desks, knownDesks)
  refuseOpenProfiles(options.insecureDiagnostics, options.profiling)
  refuseHastyLease(options)
  const tls = parseTLS({ minVersion: options.tlsMinVersion, cipherSuites: options.tlsCipherSuites })
  const log = createLog({ write, now: Date.now, level: options.logLevel, form: options.logFormat })
  const metrics = createMetrics()
  const connected = connect(options, 'mooring-controller', metrics)
  const undo: (() => Promise<void> | void)[] = [() => connected.close(), measureProcess(metrics)]
  const state = { isStopping: false }
  const stop = async () => {
    state.isStopping = true
    for (const step of undo.splice(0).reverse()) await step()
  }
  const parts = { options, connected, log, tls, undo }
  try {
    const checks = createChecks(parts)
    const { election, ended } = createElection(parts)
    const desks = createDesks({
      client: connected.client,
      discovery: connected.discovery,
      log,
      metrics,
      scope: { namespace: options.namespace, watchFilter: options.watchFilter },
      async admitted(signal) {
        await checks.passed(signal)
        await election?.elected(signal)
      },
    })
    metrics.gauge('mooring_leader', '1 if this process leads, and works.', () =>
      Number(election?.isLeading ?? desks.state === 'running'),
    )
    // From the socket inwards: reviews are the last to end, for the other replicas' writes ask for them too.
    const reviews = await answerReviews(parts, desks)
    metrics.gauge(
      'mooring_webhook_certificate_end_time_seconds',
      'When the certificate of the reviews ends, in seconds since 1970.',
      () => {
        const endsAtMs = reviews.certificate?.endsAtMs
        return { labels: [], samples: endsAtMs === undefined ? [] : [[[], endsAtMs / 1000]] }
      },
    )
    const notReady = () => {
      if (state.isStopping) return ['it is stopping']
      const problem = reviews.certificate?.problem
      return [...checks.reasons(), ...(problem === undefined ? [] : [problem]), ...unlistedReason(desks)]
    }
    const health = await serveHealth(parts, notReady)
    const diagnostics = await serveMetrics(parts, metrics)

    log.info('mooring controller starts', { server: connected.server, ...settings(options) })
    for (const [flag, why] of Object.entries(options.idle)) log.info('a flag changes nothing here', { flag, why })
    runInBackground(undo, signal => checks.run(signal))
    // Who cannot work does not stand for election: it would keep those from leading who can.
    if (election !== undefined) {
      runInBackground(undo, async signal => {
        await checks.passed(signal).catch(() => {})
        await election.run(signal)
      })
    }
    // The lease is given back after this, when no pass runs any more.
    undo.push(() => desks.stop('shutdown'))
    desks.start().then(
      () => {
        log.info('mooring controller is working')
        undo.push(clock.setTimer(settledAfterMs, giveBackMemory))
      },
      error => log.info('mooring controller ended before it worked', { error }),
    )
    const ports = {
      ...(health !== undefined && { health: health.port }),
      ...(diagnostics !== undefined && { diagnostics: diagnostics.port }),
      ...(reviews.port !== undefined && { webhooks: reviews.port }),
    }
    return { ports, ended, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

interface Parts {
  readonly options: ControllerOptions
  readonly connected: Connected
  readonly log: Log
  readonly tls: TLSChoice
  readonly undo: (() => Promise<void> | void)[]
}

/** Until it is told to stop; what is undone after it waits for its end. */
function runInBackground(undo: Parts['undo'], run: (signal: AbortSignal) => Promise<void>): void {
  const stop = new AbortController()
  const running = run(stop.signal)
  undo.push(async () => {
    stop.abort()
    await running
  })
}

function createChecks({ options, connected, log }: Parts): StartUpChecks {
  const ours = "Mooring's definitions, config/crd"
  const clusterAPI = 'Cluster API'
  const kinds: WantedKind[] = [
    { kind: holds, isNeeded: true, comesWith: ours },
    ...pools.map(kind => ({ kind, isNeeded: false, comesWith: ours })),
    ...[claims, reports, clusters].map(kind => ({ kind, isNeeded: false, comesWith: clusterAPI })),
  ]
  const permissions = singlePermissions({
    watchedNamespace: options.namespace,
    ownNamespace: options.leaderElectNamespace ?? connected.namespace,
    isElecting: options.leaderElect,
    isDiagnosing: !options.insecureDiagnostics && options.diagnosticsAddress !== nowhere,
  })
  return new StartUpChecks({ client: connected.client, served: connected.served, clock, log, kinds, permissions })
}

function createElection({ options, connected, log }: Parts): { election?: Election; ended: Promise<Failure> } {
  if (!options.leaderElect) return { ended: new Promise(() => {}) }
  const { promise: ended, resolve } = deferred<Failure>()
  const election = new Election({
    client: connected.client,
    clock,
    random: Math.random,
    log,
    namespace: options.leaderElectNamespace ?? connected.namespace,
    name: leaseName,
    identity: `${hostname()}_${randomUUID()}`,
    durationSeconds: Math.ceil(options.leaderElectLeaseDuration / 1000),
    renewMsMax: options.leaderElectRenewDeadline,
    periodMs: options.leaderElectRetryPeriod,
    onLost: () => resolve(lostLease()),
  })
  return { election, ended }
}

function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>(settle => {
    resolve = settle
  })
  return { promise, resolve }
}

interface Reviews {
  readonly port?: number
  readonly certificate?: CertificateFiles
}

async function answerReviews({ options, log, tls, undo }: Parts, desks: Desks): Promise<Reviews> {
  const { webhookHost: host, webhookPort: port } = options
  if (port === 'none') return {}
  const edge = await bind('--webhook-port', { host, port, isIP: false }, () =>
    startEdge({ host, port, facts: () => desks.facts(), log, tls }),
  )
  undo.push(() => edge.stop())
  const certificate = createCertificateFiles({
    directory: options.webhookCertDir,
    certificateName: options.webhookCertName,
    keyName: options.webhookKeyName,
    readFile,
    clock,
    log,
    onChange: renewed => edge.renew(renewed),
  })
  runInBackground(undo, signal => certificate.follow(signal))
  return { port: edge.port, certificate }
}

/** What is given instead of an address for what is not to be served. */
const nowhere = '0'

async function serveHealth({ options, undo }: Parts, notReady: () => string[]): Promise<Pages | undefined> {
  const flag = '--health-probe-bind-address'
  if (options.healthProbeBindAddress === nowhere) return undefined
  const address = parseBindAddress(flag, options.healthProbeBindAddress)
  const pages = await servePages({ flag, address, find: ({ path }) => healthPage(path, notReady) })
  undo.push(() => pages.stop())
  return pages
}

function healthPage(path: string, notReady: () => string[]): Page | undefined {
  if (path === '/healthz' || path === '/livez') return { body: 'ok' }
  if (path !== '/readyz') return undefined
  const reasons = notReady()
  return reasons.length === 0 ? { body: 'ok' } : { status: 503, body: reasons.map(reason => `${reason}\n`).join('') }
}

function unlistedReason(desks: Desks): string[] {
  const kinds = desks.unlisted()
  return kinds.length === 0 ? [] : [`not listed yet: ${kinds.join(', ')}`]
}

async function serveMetrics(
  { options, connected, log, tls, undo }: Parts,
  metrics: ReturnType<typeof createMetrics>,
): Promise<Pages | undefined> {
  if (options.diagnosticsAddress === nowhere) return undefined
  const pages = await serveDiagnostics({
    address: parseBindAddress('--diagnostics-address', options.diagnosticsAddress),
    isInsecure: options.insecureDiagnostics,
    isProfiling: options.profiling,
    tls,
    client: connected.client,
    clock,
    metrics,
    log,
  })
  undo.push(() => pages.stop())
  return pages
}

/** What an operator would like to see of how it was started. */
function settings({ namespace, watchFilter, leaderElect }: ControllerOptions) {
  return { leaderElect, ...(namespace !== '' && { namespace }), ...(watchFilter !== '' && { watchFilter }) }
}

function refuseHastyLease(options: ControllerOptions): void {
  const { leaderElectLeaseDuration, leaderElectRenewDeadline, leaderElectRetryPeriod } = options
  if (leaderElectRetryPeriod < leaderElectRenewDeadline && leaderElectRenewDeadline < leaderElectLeaseDuration) return
  throw new Failure(
    exitCodes.usage,
    '--leader-elect-retry-period, --leader-elect-renew-deadline and --leader-elect-lease-duration must grow in this order',
    'A leader tries several times before it gives up, and gives up before others take over: 2s, 10s and 15s, say.',
  )
}

function lostLease(): Failure {
  return new Failure(
    exitCodes.environment,
    `the lease ${leaseName} was lost`,
    'Another process leads now, or the API server did not answer in time. Start this one again.',
  )
}
