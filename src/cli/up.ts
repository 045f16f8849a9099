// `mooring up`: a Kubernetes API on this machine. Opens the data, brings up the API server, writes a kubeconfig, says
// when it is ready, and stops cleanly on a signal.

import { randomUUID } from 'node:crypto'
import { dirname, join, resolve } from 'node:path'
import { type Irreplaceable, type KeptCertificates, keepCertificates } from '../apiserver/certificates/keep.ts'
import { adminKubeconfig } from '../apiserver/certificates/kubeconfig.ts'
import { createListener } from '../apiserver/edge/listener.ts'
import { createAPIServer } from '../apiserver/server.ts'
import { badRequest, StatusError } from '../apiserver/status.ts'
import type { Desk } from '../controllers/desk.ts'
import { desks as table } from '../controllers/desks.ts'
import {
  defaultNetworkRules,
  type NetworkRules,
  type UDNMode,
  type VMIPAMMode,
} from '../controllers/office/networks.ts'
import type { MachineMode } from '../controllers/office/office.ts'
import { NotPrivateError, writePrivate } from '../files/private.ts'
import { certificateCheckMs } from '../limits.ts'
import { startPlayground } from '../playground/playground.ts'
import { realClock } from '../runtime/clock.ts'
import type { Domain } from '../runtime/domain.ts'
import type { Store } from '../store/store.ts'
import { createLog, type Level, type Log } from '../telemetry/log.ts'
import { createMetrics, type Metrics, metricsContentType, secondsBounds } from '../telemetry/metrics.ts'
import { measureProcess } from '../telemetry/process-metrics.ts'
import { type AuditTrail, keepAuditTrail, openAuditTarget } from './audit.ts'
import { backupPath, writeBackup } from './backup.ts'
import { parseDesks } from './desks.ts'
import { makeDirectory, refuseOpen } from './directory.ts'
import { connect, startEmbeddedDesks, withdrawWebhooks } from './embedded-desks.ts'
import { exitCodes, Failure, isErrno } from './failure.ts'
import { type HostPort, isLoopback, isSamePort, parseHostPort } from './host-port.ts'
import { keepKubeVirtDefinitions } from './kubevirt-definitions.ts'
import { bind, type PageRequest, type Pages, servePages } from './listen.ts'
import { notDurable, openData } from './open-data.ts'
import { healthPage, readinessOf } from './readiness.ts'
import { renew } from './renewal.ts'
import { parseNamespace } from './values.ts'
import { parseVCenters } from './vcenters.ts'
import { createWebhookClient } from './webhook-client.ts'

export interface UpOptions {
  readonly data: string
  readonly listen: string
  readonly kubeconfig?: string
  readonly dashboard: string
  readonly insecureDashboard?: boolean
  readonly allowGroupAccess?: boolean
  readonly desks: string
  readonly vmIpam?: VMIPAMMode
  readonly udn?: UDNMode
  readonly openNetworks?: boolean
  readonly defaultNetworkNamespace?: string
  readonly machineMode?: MachineMode
  readonly vcenters?: string
  /** `all`, `node` or `none`; by default all if the vm desk is on. */
  readonly playground?: string
  /** Seconds. */
  readonly history: string
  readonly logLevel: Level
  /** A file, or `-` for stdout; none without it. */
  readonly audit?: string
}

export interface Running {
  readonly api: string
  readonly dashboard: string
  readonly kubeconfig: string
  stop(): Promise<void>
}

/** A start that `signal` ends throws its reason, and leaves nothing running. */
export async function up(
  options: UpOptions,
  print: (line: string) => void,
  signal: AbortSignal = new AbortController().signal,
  desks: readonly Desk[] = table,
): Promise<Running> {
  const listen = parseHostPort('--listen', options.listen)
  const dashboard = parseHostPort('--dashboard', options.dashboard)
  refusePorts(listen, dashboard, options)
  const on = parseDesks(options.desks, { isNoneAllowed: true, desks })
  const networkRules = networkRulesOf(options)
  const vcenters = parseVCenters(options.vcenters ?? '')
  const extent = playgroundOf(options, on)
  const historyMs = parseHistory(options.history)
  const data = resolve(options.data)
  const kubeconfig = resolve(options.kubeconfig ?? join(data, 'kubeconfig'))
  const state: { unwritten?: unknown; isRunning: boolean } = { isRunning: false }
  const write = (line: string) => process.stderr.write(line)
  const log = createLog({ write, now: Date.now, level: options.logLevel, form: 'text' })

  const metrics = createMetrics()
  const commits = metrics.histogram('mooring_store_commit_seconds', 'Time of one sync to disk.', secondsBounds)
  const store = await openData(data, options, {
    historyMs,
    onFatal: error => {
      state.unwritten = error
      // A store that cannot promise durability must not go on answering.
      if (state.isRunning) endUnwritten(data, error)
    },
    onCommit: tookMs => commits.observe(tookMs / 1000),
  })
  const undo: (() => Promise<void> | void)[] = [() => store.close(), measureProcess(metrics)]
  try {
    signal.throwIfAborted()
    const audit = await openAudit(options.audit, log, metrics)
    if (audit !== undefined) undo.push(() => audit.stop())
    const certificates = keepPKI(data, listen)
    if (store.revision > 0) tellMade(data, certificates.made, log)
    let address = ''
    const controllers: (() => number)[] = []
    const server = createAPIServer({
      store,
      certificates,
      address: () => address,
      now: () => new Date(),
      random: Math.random,
      randomUUID,
      metrics,
      onAudit: audit?.record,
      webhookClient: createWebhookClient(certificates, () => new Date()),
      ownWork: () => controllers.reduce((sum, backlogOf) => sum + backlogOf(), 0),
      actions: {
        [backupPath]: body => orderBackup(store, data, body.target),
      },
      onError: (error, what) => {
        // It is said once, and ends the process.
        if (state.unwritten !== undefined) return
        // A refusal is the answer to a request, not a fault of ours: where in the code it was made helps no reader.
        console.error(`mooring: ${what}:`, error instanceof StatusError ? error.message : error)
      },
    })
    const listener = createListener({
      handler: server.handler,
      certificate: () => certificates.server(),
      ca: () => certificates.ca().certificate,
    })
    undo.push(() => server.stop())
    const bound = await bind('--listen', listen, () => listener.listen(listen.host, listen.port))
    undo.push(() => listener.close())
    address = `${urlHost(listen.host)}:${bound.port}`
    await server.start()
    signal.throwIfAborted()
    const connectAs = (as?: string) => connect(server.handler, certificates, as === undefined ? {} : { as })
    if (extent === 'all') {
      // Before the desks: one whose kinds are missing looks for them again only seconds later.
      const kept = await keepKubeVirtDefinitions(playgroundParts(connectAs(), log))
      undo.push(() => kept.stop())
      signal.throwIfAborted()
    }
    const embedded =
      on.length === 0
        ? undefined
        : await startEmbeddedDesks({
            handler: server.handler,
            certificates,
            desks,
            on,
            networkRules,
            machineMode: options.machineMode,
            vcenters,
            log,
            metrics,
          })
    if (embedded === undefined) await withdrawWebhooks(server.handler, certificates)
    else {
      undo.push(() => embedded.stop())
      controllers.push(...embedded.domains.map(domain => () => domain.backlog))
    }
    signal.throwIfAborted()
    if (extent !== 'none') {
      const playground = await openPlayground(extent, connectAs, log)
      undo.push(() => playground.stop())
      controllers.push(() => playground.backlog())
      signal.throwIfAborted()
    }
    const page = await serveDashboard(dashboard, metrics, embedded?.domains ?? [], () => embedded?.problems() ?? [])
    undo.push(() => page.stop())
    const reload = () => {
      listener.reload()
      embedded?.renew()
    }
    const renewal = setInterval(() => renew(certificates, log, reload), certificateCheckMs).unref()
    undo.push(() => clearInterval(renewal))

    const api = `https://${address}`
    await writeKubeconfig(kubeconfig, api, certificates)
    signal.throwIfAborted()
    if (state.unwritten !== undefined) throw state.unwritten
    state.isRunning = true
    const plain = `http://${urlHost(dashboard.host)}:${page.port}`
    print(`API server   ${api}`)
    print(`health       ${plain}/readyz`)
    print(`metrics      ${plain}/metrics`)
    print(`data         ${data}`)
    print(`kubeconfig   ${kubeconfig}`)
    if (extent !== 'none') print(`playground   ${standIns[extent]}`)
    // What holds up the deletion of a kind is ended through the API, which is served already.
    for (const problem of embedded?.problems() ?? []) print(`not ready    ${problem}`)
    const ready = () => print('mooring is ready')
    if (embedded === undefined || embedded.problems().length === 0) ready()
    else void embedded.complete().then(ready)
    return { api, dashboard: plain, kubeconfig, stop: () => stopAll(undo) }
  } catch (error) {
    await stopAll(undo)
    throw state.unwritten === undefined ? error : notDurable(data, state.unwritten)
  }
}

type Extent = 'all' | 'node' | 'none'

const standIns = {
  all: '(stand-in) of KubeVirt and of three nodes: virtual machines come to life, nothing runs',
  node: '(stand-in) of three nodes, beside your KubeVirt: nothing runs',
} as const

function playgroundOf({ playground }: UpOptions, on: readonly string[]): Extent {
  if (playground === undefined) return on.includes('vm') ? 'all' : 'none'
  if (playground === 'all' || playground === 'node' || playground === 'none') return playground
  const what = `--playground does not know ${JSON.stringify(playground)}`
  throw new Failure(exitCodes.usage, what, 'It takes one of: all, node, none.')
}

const kubevirtHandler = 'system:serviceaccount:kubevirt:kubevirt-handler'

/** It knows the server through its API alone, and is started here and nowhere else: a cluster has nodes of its own. */
function openPlayground(
  extent: 'all' | 'node',
  connectAs: (user?: string) => ReturnType<typeof connect>,
  log: Log,
): ReturnType<typeof startPlayground> {
  // KubeVirt's webhooks drop what users other than its own write into the status of an instance.
  const handler = extent === 'node' ? { handler: connectAs(kubevirtHandler).client } : {}
  return startPlayground({ ...playgroundParts(connectAs(), log), ...handler }, extent)
}

function playgroundParts({ client, discovery }: ReturnType<typeof connect>, log: Log) {
  return { client, discovery, clock: realClock, random: Math.random, log }
}

function endUnwritten(data: string, error: unknown): never {
  const { message, advice, exitCode } = notDurable(data, error)
  console.error(`mooring: ${message}\n${advice}`)
  process.exit(exitCode)
}

function refusePorts(listen: HostPort, dashboard: HostPort, { insecureDashboard, ...options }: UpOptions): void {
  if (isSamePort(listen, dashboard)) {
    const what = `--listen ${options.listen} and --dashboard ${options.dashboard} are one port`
    throw new Failure(exitCodes.usage, what, 'Choose another port for one of them.')
  }
  if (insecureDashboard || isLoopback(dashboard.host)) return
  throw new Failure(
    exitCodes.usage,
    `--dashboard ${options.dashboard} is not an address of this machine alone: every client that reaches it could read there, without a token`,
    'Choose one, as 127.0.0.1:7080; or add --insecure-dashboard.',
  )
}

const madeAnew: Readonly<Record<Irreplaceable, string>> = {
  ca: 'the authority was missing and is made anew: kubeconfigs and client certificates from before are void',
  admin: "the administrator's certificate was missing and is made anew: the one from before is valid until it ends",
  'service-account': 'the key for tokens was missing and is made anew: service account tokens from before are void',
}

/** On the first start there is nothing that could be void. */
function tellMade(data: string, made: readonly Irreplaceable[], log: Log): void {
  const told = made.includes('ca') ? made.filter(name => name !== 'admin') : made
  for (const name of told) log.error(madeAnew[name], { file: join(data, 'pki', `${name}.pem`) })
}

async function openAudit(path: string | undefined, log: Log, metrics: Metrics): Promise<AuditTrail | undefined> {
  if (path === undefined) return undefined
  return keepAuditTrail({ target: await openAuditTarget(path), log, metrics, now: () => new Date() })
}

async function orderBackup(store: Store, data: string, target: unknown): Promise<object> {
  if (typeof target !== 'string') throw badRequest('target must name the directory to write to')
  try {
    return await writeBackup(store, data, target)
  } catch (error) {
    if (error instanceof Failure) throw badRequest(`${error.message}. ${error.advice}`)
    throw error
  }
}

async function stopAll(undo: (() => Promise<void> | void)[]): Promise<void> {
  for (const step of undo.reverse()) await step()
  undo.length = 0
}

function keepPKI(data: string, listen: HostPort): KeptCertificates {
  const dns = [
    'localhost',
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
  ]
  const ips = new Set(['127.0.0.1', '::1', '10.96.0.1'])
  if (listen.isIP && listen.host !== '0.0.0.0' && listen.host !== '::') ips.add(listen.host)
  const names = { dns: listen.isIP ? dns : [...new Set([...dns, listen.host])], ips: [...ips] }
  try {
    return keepCertificates({ directory: join(data, 'pki'), names, clock: () => new Date() })
  } catch (error) {
    if (error instanceof NotPrivateError) throw refuseOpen(error)
    const cause = error
    const why = error instanceof Error ? error.message : String(error)
    if (isErrno(error)) {
      const advice = `Look after the directory ${join(data, 'pki')} and its disk.`
      throw new Failure(exitCodes.environment, `the keys cannot be kept: ${why}`, advice, { cause })
    }
    const advice = 'Bring the file back from a backup, or move it away to have a new one made.'
    throw new Failure(exitCodes.data, why, advice, { cause })
  }
}

function serveDashboard(
  address: HostPort,
  metrics: Metrics,
  domains: readonly Domain[],
  problems: () => string[],
): Promise<Pages> {
  const find = (request: PageRequest) => {
    if (request.path === '/metrics') return { type: metricsContentType, body: metrics.text() }
    return healthPage(request, () => readinessOf(domains, problems()), domains)
  }
  return servePages({ flag: '--dashboard', address, find })
}

async function writeKubeconfig(file: string, server: string, certificates: KeptCertificates): Promise<void> {
  const advice = 'Choose another place with --kubeconfig.'
  await makeDirectory(dirname(file), advice)
  try {
    writePrivate(file, adminKubeconfig({ server, caCertificate: certificates.ca().certificate }, certificates.admin()))
  } catch (cause) {
    if (!isErrno(cause)) throw cause
    const why = cause.code === 'EISDIR' ? 'is a directory' : `cannot be written (${cause.code})`
    throw new Failure(exitCodes.environment, `the kubeconfig ${file} ${why}`, advice, { cause })
  }
}

function parseHistory(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text) * 1000
  throw new Failure(
    exitCodes.usage,
    `--history is ${JSON.stringify(text)}, which is not a whole number of seconds from 1 on`,
    'Write how long past changes are kept, as in --history 300.',
  )
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

function networkRulesOf({ vmIpam, udn, openNetworks, defaultNetworkNamespace: namespace }: UpOptions): NetworkRules {
  return {
    vmIPAM: vmIpam ?? defaultNetworkRules.vmIPAM,
    udn: udn ?? defaultNetworkRules.udn,
    openNetworks: openNetworks ?? defaultNetworkRules.openNetworks,
    defaultNetworkNamespace: parseNamespace(
      '--default-network-namespace',
      namespace ?? defaultNetworkRules.defaultNetworkNamespace,
    ),
  }
}
