// `mooring controller`: the desks, in a cluster. Connects, checks that everything is there that it needs, answers webhooks and
// health, takes part in the election, and begins passes when it leads. A process that loses its lease ends, and is started
// anew by its Deployment: nothing of an earlier life is carried on.
//
//   connected --> checked --> elected --> working --stopped--> passes end, lease given back, ended
//                    |           '- webhooks are answered from the moment the caches are filled, leader or not
//                    '- something that a desk needs is missing: logged, the desk waits, asked for again and again
//
// It is ready when the office has what it needs, and one desk has too (readiness.ts). A desk that waits is named in /readyz.

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { CallerRules } from '../admission/caller.ts'
import { startWebhookServer } from '../admission/server.ts'
import { setOfOff } from '../admission/webhook.ts'
import { type Assembled, assemble, componentsOf, conversionsOf } from '../controllers/assemble.ts'
import type { Desk } from '../controllers/desk.ts'
import { desks as table } from '../controllers/desks.ts'
import { defaultNetworkRules } from '../controllers/office/networks.ts'
import { defaultMachineMode } from '../controllers/office/office.ts'
import { Election } from '../kube/lease.ts'
import { realClock } from '../runtime/clock.ts'
import type { Domain } from '../runtime/domain.ts'
import { createLog, type Log } from '../telemetry/log.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { measureProcess } from '../telemetry/process-metrics.ts'
import { type Connected, connect, readFile } from './connect.ts'
import type { ControllerOptions } from './controller-flags.ts'
import { parseDesks } from './desks.ts'
import { refuseOpenProfiles, serveDiagnostics } from './diagnostics.ts'
import { exitCodes, Failure } from './failure.ts'
import { giveBackMemory } from './give-back.ts'
import { parseBindAddress } from './host-port.ts'
import { bind, type Pages, servePages } from './listen.ts'
import { fullPermissionSets, leaseName, permissionSets, singlePermissions } from './permissions.ts'
import { healthPage, type Readiness, readinessOf } from './readiness.ts'
import { createRegistrationCheck, type RegistrationCheck } from './registration-check.ts'
import { type CertificateFiles, createCertificateFiles } from './serving-certificate.ts'
import { StartUpChecks } from './start-up-checks.ts'
import { parseTLS, type TLSChoice } from './tls.ts'
import { parseVCenters } from './vcenters.ts'

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
  desks: readonly Desk[] = table,
): Promise<RunningController> {
  const on = parseDesks(options.desks, { desks })
  refuseOpenProfiles(options.insecureDiagnostics, options.profiling)
  refuseHastyLease(options)
  const callers = callersIn(options)
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
  const parts = { options, desks, on, connected, log, tls, callers, undo }
  try {
    const checks = createChecks(parts)
    const { election, ended } = createElection(parts)
    const assembled = assemble({
      client: connected.client,
      discovery: connected.discovery,
      clock,
      random: Math.random,
      log,
      metrics,
      instance: hostname(),
      desks,
      on,
      scope: { namespace: options.namespace, watchFilter: options.watchFilter },
      networkRules: {
        vmIPAM: options.vmIpam,
        udn: options.udn,
        openNetworks: options.openNetworks,
        defaultNetworkNamespace: options.defaultNetworkNamespace,
      },
      machineMode: options.machineMode,
      vcenters: parseVCenters(options.vcenters),
      admitted: signal => election?.elected(signal) ?? Promise.resolve(),
      admissionOf: part => checks.admissionOf(part),
    })
    metrics.gauge('mooring_leader', '1 for a desk that works in this process, because it is the leader.', () => ({
      labels: ['desk'],
      samples: assembled.domains.map(({ name, state }) => [[name], Number(state === 'working')]),
    }))
    // From the socket inwards: webhooks are the last to end, for the other replicas' writes ask for them too.
    const diagnostics = await serveMetrics(parts, metrics)
    const webhooks = await answerWebhooks(parts, assembled, metrics, diagnostics)
    metrics.gauge(
      'mooring_webhook_certificate_end_time_seconds',
      'When the certificate of the webhooks ends, in seconds since 1970.',
      () => {
        const endsAtMs = webhooks.certificate?.endsAtMs
        return { labels: [], samples: endsAtMs === undefined ? [] : [[[], endsAtMs / 1000]] }
      },
    )
    const registration = followRegistration(parts, assembled, metrics)
    const readiness = (): Readiness => {
      if (state.isStopping) return { isReady: false, lines: ['it is stopping'] }
      const problem = webhooks.certificate?.problem
      // A replica that can never lead would let a rollout pass in which no replica works.
      const problems = [...(problem === undefined ? [] : [problem]), ...checks.reasons('election')]
      const notes = [...assembled.problems(), ...checks.notes(['office', 'election', ...on])]
      return readinessOf(assembled.domains, problems, [...notes, ...(registration?.problems() ?? [])])
    }
    const health = await serveHealth(parts, readiness, assembled.domains)

    log.info('mooring controller starts', { server: connected.server, ...settings(options) })
    for (const [flag, why] of Object.entries(options.idle)) log.info('a flag changes nothing here', { flag, why })
    runInBackground(undo, signal => checks.run(signal))
    // A process that cannot work does not stand for election: it would keep those from leading that can.
    if (election !== undefined) {
      runInBackground(undo, async signal => {
        await canWork(checks, on, signal).catch(() => {})
        await election.run(signal)
      })
    }
    // The lease is given back after this, when no pass runs any more.
    undo.push(() => assembled.stop('shutdown'))
    assembled.start().then(
      () => {
        log.info('mooring controller is working')
        undo.push(clock.setTimer(settledAfterMs, giveBackMemory))
      },
      error => log.info('mooring controller ended before it worked', { error }),
    )
    const ports = {
      ...(health !== undefined && { health: health.port }),
      ...(diagnostics !== undefined && { diagnostics: diagnostics.port }),
      ...(webhooks.port !== undefined && { webhooks: webhooks.port }),
    }
    return { ports, ended, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

interface Parts {
  readonly options: ControllerOptions
  /** Every desk there is. */
  readonly desks: readonly Desk[]
  /** Names of the desks that are on. */
  readonly on: readonly string[]
  readonly connected: Connected
  readonly log: Log
  readonly tls: TLSChoice
  /** Which clients webhooks are answered to; undefined for every one. */
  readonly callers: CallerRules | undefined
  readonly undo: (() => Promise<void> | void)[]
}

const offOf = ({ desks, on }: Pick<Parts, 'desks' | 'on'>) => desks.filter(({ name }) => !on.includes(name))

/** Runs until it is stopped; what is undone after it waits for its end. */
function runInBackground(undo: Parts['undo'], run: (signal: AbortSignal) => Promise<void>): void {
  const stop = new AbortController()
  const running = run(stop.signal)
  undo.push(async () => {
    stop.abort()
    await running
  })
}

function createChecks({ options, desks, on, connected, log }: Parts): StartUpChecks {
  const kinds = componentsOf(desks, on).flatMap(({ name, kinds }) => kinds.map(kind => ({ of: name, ...kind })))
  const permissions = singlePermissions({
    sets: [...permissionSets(desks, on), ...(options.machineMode === 'full' ? fullPermissionSets(desks, on) : [])],
    watchedNamespace: options.namespace,
    ownNamespace: options.leaderElectNamespace ?? connected.namespace,
    isElecting: options.leaderElect,
    isDiagnosing: !options.insecureDiagnostics && options.diagnosticsAddress !== nowhere,
    isAnswering: options.webhookPort !== 'none',
  })
  return new StartUpChecks({
    client: connected.client,
    discovery: connected.discovery,
    clock,
    log,
    kinds,
    permissions,
  })
}

/** Resolves when the office and the election have what they need, and one desk has too, or none has a fault. */
async function canWork(checks: StartUpChecks, on: readonly string[], signal: AbortSignal): Promise<void> {
  for (const part of ['office', 'election']) await checks.passed(part, signal)
  await checks.oneOrNoFault(on, signal)
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

interface ServedWebhooks {
  readonly port?: number
  readonly certificate?: CertificateFiles
}

/** Their certificate is the one that a reader of metrics can check, too. */
async function answerWebhooks(
  parts: Parts,
  assembled: Assembled,
  metrics: Metrics,
  diagnostics: Pages | undefined,
): Promise<ServedWebhooks> {
  const { options, desks, log, tls, callers, undo } = parts
  const { webhookHost: host, webhookPort: port } = options
  if (port === 'none') return {}
  const conversions = conversionsOf(desks)
  const sets = [...assembled.webhookSets, ...offOf(parts).map(setOfOff)]
  const server = await bind('--webhook-port', { host, port, isIP: false }, () =>
    startWebhookServer({ host, port, sets, conversions, clock, log, metrics, tls, callers }),
  )
  undo.push(() => server.stop())
  const certificate = createCertificateFiles({
    directory: options.webhookCertDir,
    certificateName: options.webhookCertName,
    keyName: options.webhookKeyName,
    clientCAFile: options.webhookClientCa,
    readFile,
    clock,
    log,
    onChange: renewed => {
      server.renew(renewed)
      diagnostics?.renew(renewed)
    },
  })
  runInBackground(undo, signal => certificate.follow(signal))
  return { port: server.port, certificate }
}

/** Every replica looks: also one that does not lead answers webhooks. */
function followRegistration(
  parts: Parts,
  { webhookSets }: Assembled,
  metrics: ReturnType<typeof createMetrics>,
): RegistrationCheck | undefined {
  const { options, connected, log, undo } = parts
  if (options.webhookPort === 'none') return undefined
  const webhooks = webhookSets.flatMap(set => set.webhooks)
  const { client, namespace } = connected
  const check = createRegistrationCheck({ client, webhooks, off: offOf(parts), namespace, clock, log, metrics })
  runInBackground(undo, signal => check.run(signal))
  return check
}

/** What is given instead of an address for what is not to be served. */
const nowhere = '0'

async function serveHealth(
  { options, undo }: Parts,
  readiness: () => Readiness,
  domains: readonly Domain[],
): Promise<Pages | undefined> {
  const flag = '--health-probe-bind-address'
  if (options.healthProbeBindAddress === nowhere) return undefined
  const address = parseBindAddress(flag, options.healthProbeBindAddress)
  const pages = await servePages({ flag, address, find: request => healthPage(request, readiness, domains) })
  undo.push(() => pages.stop())
  return pages
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

function callersIn({ webhookClientCa, webhookClientNames }: ControllerOptions): CallerRules | undefined {
  const names = webhookClientNames.split(',').filter(name => name !== '')
  if (webhookClientCa !== undefined && webhookClientCa !== '') return { names, areConversionsOpen: true }
  if (names.length === 0 && webhookClientCa === undefined) return undefined
  throw new Failure(
    exitCodes.usage,
    '--webhook-client-ca does not name the authority that signs the certificates of API servers',
    'Name the file with the authority, or leave both --webhook-client-ca and --webhook-client-names out.',
  )
}

/** What an operator would like to see of how it was started. */
function settings(options: ControllerOptions) {
  const { namespace, watchFilter, leaderElect, vmIpam, udn, openNetworks, defaultNetworkNamespace, machineMode } =
    options
  return {
    leaderElect,
    ...(namespace !== '' && { namespace }),
    ...(watchFilter !== '' && { watchFilter }),
    ...(vmIpam !== defaultNetworkRules.vmIPAM && { vmIpam }),
    ...(udn !== defaultNetworkRules.udn && { udn }),
    ...(openNetworks && { openNetworks }),
    ...(defaultNetworkNamespace !== defaultNetworkRules.defaultNetworkNamespace && { defaultNetworkNamespace }),
    ...(machineMode !== defaultMachineMode && { machineMode }),
  }
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
